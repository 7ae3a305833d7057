"""Publish notebooks of results as pages, on the command line and in JupyterLab."""

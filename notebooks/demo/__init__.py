"""The shipped sweep: a small sequence VAE on symbolic tasks, trained on a CPU and measured.

Needs torch (``pip install 'traincost[torch]'``); `sweep.ipynb` beside this folder runs it.
"""

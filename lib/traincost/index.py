def opened(runs_dir):
    return None

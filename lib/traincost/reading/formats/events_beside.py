"""What TensorBoard's event files in a run's own directory tell, for readers whose files have no time."""


def log_in(folder, run_id=""):
    """Return the run that the event files in a `files.Folder` tell; None where there are none."""
    from traincost.reading.formats import READERS  # which is made of those readers too

    reader = READERS["tensorboard"]
    logs = (
        log
        for name in reader.sources(folder.path, folder.names)
        for log in reader.read(folder.of(name), run_id)
    )
    return next(logs, None)


def add(run, folder):
    """Give a run the start and runtime of the event files in its folder; say whether there are any."""
    log = log_in(folder)
    if log is None or log.runtime_s is None:
        return False
    run.runtime_s, run.started_at = log.runtime_s, log.started_at
    run.scores = {**log.scores, **run.scores}
    run.notes += log.notes
    return True

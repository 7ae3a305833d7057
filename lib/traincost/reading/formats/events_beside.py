"""What TensorBoard's event files in a run's own directory tell, for readers whose files have no time."""

import os


def add(run, folder, found):
    """Give a run the start and runtime of the event files in its folder; say whether there are any."""
    from traincost.reading.formats import READERS  # which is made of those readers too

    reader = READERS["tensorboard"]
    logs = [
        log for name in reader.sources(folder, found) for log in reader.read(os.path.join(folder, name), "")
    ]
    if not logs or logs[0].runtime_s is None:
        return False
    log = logs[0]
    run.runtime_s, run.started_at = log.runtime_s, log.started_at
    run.scores = {**log.scores, **run.scores}
    run.notes += log.notes
    return True

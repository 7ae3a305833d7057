"""Stores that a server or database holds: MLflow's by its own client, Optuna's by its own storage.

``mlflow:http://localhost:5000`` (or any other tracking URI) and ``optuna:postgresql://host/database``.
Both are only read. A password comes from the environment (``MLFLOW_TRACKING_PASSWORD``,
``PGPASSWORD``): one in the address is refused, as addresses end up in histories and logs.
"""

import socket
import warnings
from urllib.parse import urlsplit

from traincost.errors import NothingToReport, ParameterError, brief
from traincost.reading import remote, sensitive
from traincost.reading.formats import mlflow, optuna
from traincost.reading.formats.mlflow_stores import TAGS, Record
from traincost.reading.formats.optuna import Trial
from traincost.reading.listing import LIVE, Listing, shown
from traincost.reading.listing import is_live as is_live  # beside the rest of what stores need

PAGE = 1_000  # runs asked for at a time
MAX_RUNS = 1_000_000
CONNECT_S = 5
_PASSWORDS = {"mlflow": "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD", "optuna": "PGPASSWORD"}


def name_of(path):
    """Return what a page of a store is called."""
    return LIVE.fullmatch(path)[1]


def runs(address, format="auto"):
    """Return the `listing.Listing` of a store, which is its one source, and the runs in it.

    Raises `ParameterError` where the address holds a password, the tool's package is missing or `format` is
    another reader's, and `NothingToReport` where the store cannot be reached or read.
    """
    kind, uri = LIVE.fullmatch(address).groups()
    if format not in ("auto", kind):
        raise ParameterError(f"`format` must be auto or {kind} for {shown(address)!r}, got {brief(format)}")
    login = sensitive.USERINFO.search(uri)
    if login and ":" in login[0]:
        raise ParameterError(
            f"{kind}:{shown(uri)} must hold no password: give it by the environment ({_PASSWORDS[kind]})"
        )
    try:
        found = list({"mlflow": _mlflow, "optuna": _optuna}[kind](uri))
    except ImportError as problem:
        raise ParameterError(f"{kind}:… needs {kind}: pip install 'traincost[{kind}]' ({problem})") from None
    except (NothingToReport, ParameterError):
        raise
    except Exception as problem:
        raise NothingToReport(f"{kind}:{shown(uri)} cannot be read: {remote.why(problem)}") from None
    return Listing(shown(address), kind, [(kind, kind)], []), found


# -- MLflow --------------------------------------------------------------------------------


def _mlflow(uri):
    _greet(uri)
    from mlflow.entities import ViewType
    from mlflow.tracking import MlflowClient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = MlflowClient(tracking_uri=uri)
        found = _pages(client.search_experiments, ViewType.ALL, PAGE)
        experiments = {experiment.experiment_id: experiment for experiment in found}
        records = {}
        for run in _pages(client.search_runs, [*experiments], "", ViewType.ALL, PAGE):
            if len(records) >= MAX_RUNS:
                raise NothingToReport(f"mlflow:{shown(uri)} holds more than {MAX_RUNS} runs")
            records[run.info.run_id] = _record(run, experiments)
    # The server gives the newest first; the order in which they began is the same tomorrow.
    ordered = sorted(records.values(), key=lambda record: (record.start_ms or 0, record.run_id))
    return mlflow.resolved({record.run_id: record for record in ordered})


def _greet(uri):
    """Refuse a server that does not answer; MLflow's client would try for minutes."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https"):
        return
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        socket.create_connection((parts.hostname, port), timeout=CONNECT_S).close()
    except (OSError, TypeError, ValueError) as problem:
        raise NothingToReport(f"mlflow:{shown(uri)} does not answer: {remote.why(problem)}") from None


def _pages(search, *arguments):
    """Yield what all pages of a search hold."""
    page = search(*arguments)
    yield from page
    while page.token:
        page = search(*arguments, page_token=page.token)
        yield from page


def _record(run, experiments):
    info, data = run.info, run.data
    experiment = experiments.get(info.experiment_id)
    record = Record(
        info.run_id, info.run_name or "", experiment_id=info.experiment_id, status=str(info.status)
    )
    record.experiment = experiment.name if experiment else ""
    record.start_ms, record.end_ms = info.start_time, info.end_time
    record.deleted = "deleted" in (info.lifecycle_stage, experiment.lifecycle_stage if experiment else "")
    for tag, name in TAGS.items():
        if tag in data.tags:
            setattr(record, name, data.tags[tag])
    record.params, record.metrics = dict(data.params), dict(data.metrics)
    return record


# -- Optuna --------------------------------------------------------------------------------


def _optuna(uri):
    from optuna.storages import RDBStorage

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The tables are those of the studies: none is made for being looked at.
        storage = RDBStorage(uri, skip_table_creation=True, engine_kwargs={"pool_pre_ping": True})
        try:
            trials = [
                _trial(study.study_name, frozen)
                for study in storage.get_all_studies()
                for frozen in storage.get_all_trials(study._study_id, deepcopy=False)
            ]
        finally:
            storage.remove_session()
            storage.engine.dispose()
    return optuna.runs(trials)


def _trial(study, frozen):
    times = (at.isoformat() if at else "" for at in (frozen.datetime_start, frozen.datetime_complete))
    trial = Trial(study, frozen.number, frozen.state.name, *times)
    trial.params = {name: (value, "") for name, value in frozen.params.items()}
    trial.values = dict(enumerate(frozen.values or ()))
    return trial

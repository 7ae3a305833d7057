"""Files that lie among runs and are none: what they are, and why they are not read."""

import os
import re

from traincost.reading.formats.files import Unreadable, mapping_in, names, parse_json, read_bytes, read_head
from traincost.reading.formats.yaml_text import parse_yaml

MAX_JSON_MIB = 4  # of a larger one, the first keys tell
_HEAD = 65_536
_PSTATS = (".pstats", ".prof", ".cprof")
_PICKLES = re.compile(r".*\.(pt|pth|ckpt|p(kl|ickle)|joblib)|training_args\.bin", re.DOTALL)
# A marshalled mapping that begins with a tuple or with its end, as a profile's does.
_MARSHAL = re.compile(rb"[{\xfb][()\xa8\xa90]", re.DOTALL)
_KEY = re.compile(rb'"([^"\\]{1,80})"\s*:')
_FLOPS = b"Flops Profiler -----"

PSTATS = "a cProfile profile: marshalled data, which is not opened; its cumulative times overlap"
PICKLE = "may hold pickled objects, which are not opened"
FLOPS = "a flops profile of DeepSpeed: one step of a model, not a run"
PYTEST = "results of pytest-benchmark: functions timed over and over, not a run"
ASV = "results of asv: benchmarks of one commit, not a run"
ASV_MACHINE = "asv's description of a machine"
ASV_BENCHMARKS = "asv's list of benchmarks, without their results"
ASV_STRAY = "lies among results of asv and holds none"
ASV_BROKEN = "lies among results of asv and is not whole JSON"
PYINSTRUMENT = "a pyinstrument profile: stacks sampled in one process, without counts or settings"
SPEEDSCOPE = "a speedscope profile: stacks of one process, without settings"
REGISTRY = "MLflow's model registry: a registered model or a version of one, no run"
LOGGED_MODEL = "a model that MLflow logged, no run"
EXPERIMENT = "an experiment of MLflow's in which there is no run"
RUN_JSON = "a run.json of another tool: neither a record of traincost nor of Sacred"
LM_EVAL = "results of lm-evaluation-harness: scores of a finished model, without a training's time"
HF_RESULTS = "results without the time of a training (train_runtime)"
OTHER_RESULTS = "a results.json of another tool than pyhighlights: it lists no runs with seeds"
SCALENE = "a Scalene profile: percentages of time by line, not seconds of sections"


def recognise(path):
    """Return what the file at `path` is and why it is not read, or an empty text."""
    name = os.path.basename(path)
    if _PICKLES.fullmatch(name):
        return PICKLE
    if name.endswith(_PSTATS):
        return PSTATS
    try:
        head = read_head(path, _HEAD)
    except Unreadable:
        return ""
    if _MARSHAL.match(head):
        return PSTATS
    if _FLOPS in head:
        return FLOPS
    if name == "meta.yaml":
        return _of_mlflow(path)
    if not name.endswith(".json"):
        return ""
    return _among_json(path, head) or _beside_asv(path) or _by_name(name, head)


def _of_mlflow(path):
    """Name a description of MLflow's that is no run's, by its keys and where it lies."""
    found = mapping_in(path, parse_yaml, [], limit_mib=1)
    folder = os.path.dirname(path)
    if "model_id" in found:
        return LOGGED_MODEL
    in_models = os.path.basename(os.path.dirname(folder)) == "models"
    if in_models or {"name", "creation_timestamp"} <= found.keys():
        return EXPERIMENT if "experiment_id" in found else REGISTRY
    return EXPERIMENT if "experiment_id" in found and "run_id" not in found else ""


def _by_name(name, head):
    """Name a file that bears a name of ours or of a tool's, and is none of theirs."""
    if name == "run.json":
        return RUN_JSON
    if name == "results.json":
        return LM_EVAL if b'"versions"' in head and b'"results"' in head else OTHER_RESULTS
    is_result = name in ("all_results.json", "eval_results.json", "test_results.json", "predict_results.json")
    return HF_RESULTS if is_result else ""


def _among_json(path, head):
    """Name a JSON file by its keys."""
    try:
        value = parse_json(read_bytes(path, MAX_JSON_MIB))
    except Unreadable:
        keys = {key.decode("utf-8", "replace") for key in _KEY.findall(head)} if len(head) == _HEAD else set()
        value = dict.fromkeys(keys)
    if not isinstance(value, dict):
        return ""
    if "speedscope" in str(value.get("$schema", "")) or {"$schema", "shared", "profiles"} <= set(value):
        return SPEEDSCOPE
    for keys, what in (
        ({"root_frame", "sample_count"}, PYINSTRUMENT),
        ({"session", "frame_tree"}, PYINSTRUMENT),
        ({"benchmarks", "machine_info"}, PYTEST),
        ({"elapsed_time_sec", "files"}, SCALENE),
        ({"commit_hash", "params", "results"}, ASV),
        ({"arch", "cpu", "machine", "os", "ram"}, ASV_MACHINE),
    ):
        if keys <= set(value):
            return what
    benchmarks = [entry for entry in value.values() if isinstance(entry, dict)]
    is_list = benchmarks and all({"code", "name", "type", "unit"} <= set(entry) for entry in benchmarks)
    return ASV_BENCHMARKS if is_list else ""


def _beside_asv(path):
    """Say what lies in a directory of asv's results, which has a description of its machine."""
    folder = os.path.dirname(path)
    if "machine.json" not in names(folder):
        return ""
    machine = mapping_in(os.path.join(folder, "machine.json"), parse_json, [], limit_mib=MAX_JSON_MIB)
    if not {"arch", "cpu", "machine"} <= machine.keys():
        return ""
    try:
        parse_json(read_bytes(path, MAX_JSON_MIB))
    except Unreadable:
        return ASV_BROKEN
    return ASV_STRAY

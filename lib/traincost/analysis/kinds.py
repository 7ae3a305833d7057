"""What kind of work a section is, by its name: evaluation, training, setup and files, data loading, other.

A kind decides how a section is called and coloured, and never a number. The last part of its path is
read, word by word (``ModelCheckpoint`` is two, ``val_loss`` two): the name behind the last dot first
(``[Strategy].backward``), then the class in front of it. A hook of a framework (``on_train_start``) says when
it runs and not what it does, so it is of no kind, unless a checkpoint's class hooks in.

The lists below hold the words of the tools we read: Lightning, Hugging Face, PyTorch's profiler, MMLab,
Megatron, DeepSpeed and Keras.
"""

import re
from functools import lru_cache

from traincost.errors import ParameterError, brief

EVALUATION, TRAINING, SETUP = "evaluation", "training", "setup and files"
LOADING, OTHER = "data loading", "other"
KINDS = (EVALUATION, TRAINING, SETUP, LOADING, OTHER)
CHECKPOINTS, FILES, DIAGNOSTICS = "checkpoints", "writing files", "diagnostics"

# Words of a name that decide; a dash behind one stands for any ending. The first kind that has one is it.
_WORDS = {
    LOADING: "dataload- datamodule prefetch- collate collating",
    EVALUATION: "eval- val valid- dev test tests testing sanity generat- gen predict- infer- metric metrics "
    "benchmark-",
    SETUP: "setup configur- initiali- init compil- warmup teardown load loads loading export- download- "
    "upload- checkpoint- ckpt snapshot- save saves saving write writes writing",
    TRAINING: "train- fit forward- fwd backward- bwd microstep optimi- optim grad gradient gradients loss",
}
# Words that make a name with `_OF_DATA` in it one of data loading.
_FETCHES = "load loading loader fetch fetching next wait get read iter generator"
_OF_DATA = "data dataset batch batches"
# Whole names that are data loading in an epoch or a step, and loading of a model or a checkpoint elsewhere.
_IN_A_LOOP = ("load", "loading", "fetch", "next")
_LOOP = "epoch epochs train- fit step steps batch batches iter iteration iterations"
# Whole names whose words would tell nothing, or wrongly.
_NAMES = dict.fromkeys(("data", "data_time"), LOADING)
_NAMES |= dict.fromkeys(("batch_time", "configure_gradient_clipping"), TRAINING)
_CHECKPOINTS = "checkpoint- ckpt snapshot-"
_WRITTEN = f"{_CHECKPOINTS} save saves saving write writes writing"
# What a person looks at while a run goes on: it may be left out, or done less often.
_DIAGNOSTICS = (
    "diagnos- log logs logging plot plots plotting animat- visuali- histogram- figure figures render- video "
    "videos image images sample samples sampling dump print report reports monitor- profile profiling"
)
_MATHS = "prob probs likelihood"  # a logarithm is no log
# Of these, each occurrence is a piece of the work: to run one of them once is no schedule.
_PIECES = "step steps batch batches next iter sample samples token tokens"
_HOOK = re.compile(r"on_")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def kind_of(path, section_kinds=None):
    """Return the kind of a section (``epoch/eval_val_loss``), one of `KINDS`.

    `section_kinds` maps paths, or patterns in which ``*`` matches anything, to kinds that hold instead; the
    first that matches does (`checked_kinds`).

    >>> kind_of("epoch/eval_val_loss"), kind_of("[LightningModule].on_train_start")
    ('evaluation', 'other')
    >>> kind_of("run/warm", {"run/*": "training"})
    'training'
    """
    for wanted, kind in (section_kinds or {}).items():
        if pattern(wanted).fullmatch(path):
            return kind
    return _by_name(path)


def hue_of(path, section_kinds=None):
    """Return the kind that a section is coloured as: data loading looks like setup and files."""
    kind = kind_of(path, section_kinds)
    return SETUP if kind == LOADING else kind


def subject_of(paths, section_kinds=None):
    """Return in a word what sections are that a knob governs, or nothing where they are of several kinds.

    >>> subject_of(["epoch/checkpoint", "run/write_outputs"]), subject_of(["eval", "train"])
    ('checkpoints', '')
    >>> subject_of(["run/setup"])
    'setup'
    """
    kinds = {kind_of(path, section_kinds) for path in paths}
    if len(kinds) != 1 or kinds == {OTHER}:
        return ""
    (kind,) = kinds
    if kind != SETUP:
        return kind
    words = [_words(_part(path)) for path in paths]
    if all(_has(each, _WRITTEN) for each in words):
        return CHECKPOINTS if any(_has(each, _CHECKPOINTS) for each in words) else FILES
    return "setup"


def proposal_of(path, section_kinds=None):
    """Return why a section may be done less often, or left out, by its name; nothing where it may not.

    That is `EVALUATION`, `CHECKPOINTS`, `LOADING` or `DIAGNOSTICS`. Training itself and setup are the work,
    and a section whose name says nothing may be.

    >>> proposal_of("epoch/eval"), proposal_of("epoch/train"), proposal_of("epoch/train/log_images")
    ('evaluation', '', 'diagnostics')
    """
    kind = kind_of(path, section_kinds)
    if kind in (EVALUATION, LOADING):
        return kind
    if kind == SETUP:
        return CHECKPOINTS if _has(_words(_part(path)), _WRITTEN) else ""
    words = _words(bare(path))
    return DIAGNOSTICS if kind == OTHER and _has(words, _DIAGNOSTICS) and not _has(words, _MATHS) else ""


def bare(path):
    """Return the last part of a path without the class in front of a dot.

    >>> bare("run_training_epoch/[Strategy].validation_step")
    'validation_step'
    """
    return _part(path).rsplit(".", 1)[-1]


def is_hook(path):
    """Say whether a section is named after when it runs, and not after what it does.

    >>> is_hook("[Callback]ModelCheckpoint.on_train_epoch_end"), is_hook("once")
    (True, False)
    """
    return bool(_HOOK.match(bare(path)))


def is_piece(path):
    """Say whether a section is one step or batch of the work, by its name, and not all of it at a time.

    >>> is_piece("[Strategy].validation_step"), is_piece("epoch/eval")
    (True, False)
    """
    return _has(_words(bare(path)), _PIECES)


def checked_kinds(section_kinds):
    """Return a mapping of sections to kinds; `ParameterError` where it is none of text to `KINDS`."""
    if not isinstance(section_kinds, dict):
        raise ParameterError(f"`section_kinds` must map sections to kinds, got {brief(section_kinds)}")
    for path, kind in section_kinds.items():
        if not isinstance(path, str) or kind not in KINDS:
            raise ParameterError(
                f"`section_kinds`: the kind of {path!r} must be one of {', '.join(KINDS)}, got {brief(kind)}"
            )
    return section_kinds


@lru_cache(maxsize=1_000)
def pattern(text):
    """Return the expression of a section's path in which ``*`` matches anything, slashes too."""
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def _by_name(path):
    part, name = _part(path), bare(path)
    if _HOOK.match(name):
        return SETUP if "checkpoint" in _words(part.removesuffix(name)) else OTHER
    words = _words(name)
    whole = "_".join(words)
    if whole in _NAMES:
        return _NAMES[whole]
    if whole in _IN_A_LOOP and _has(_words(path.removesuffix(part)), _LOOP):
        return LOADING
    for each in (words, _words(part)):
        if _has(each, _OF_DATA) and _has(each, _FETCHES):
            return LOADING
        for kind, listed in _WORDS.items():
            if _has(each, listed):
                return kind
    return OTHER


def _part(path):
    return path.rsplit("/", 1)[-1]


def _has(words, listed):
    return any(
        word.startswith(one[:-1]) if one.endswith("-") else word == one
        for word in words
        for one in listed.split()
    )


def _words(name):
    return [word.lower() for word in _WORD.findall(name)]

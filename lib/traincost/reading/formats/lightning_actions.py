"""Lightning's timed actions as a tree: which of them runs inside which.

A SimpleProfiler report is flat, though its actions contain each other: their sum is several times the
runtime. ``lightning_calls.txt`` says where Lightning calls each, from its source in versions 1.0 to
2.6; an action goes below the nearest one around it that was recorded, and one that is not known
stands beside them.

An action is named after what it is, not after the class at work: ``[Strategy].training_step``
for ``[Strategy]DDPStrategy.training_step``, so that runs of different models and devices compare.
A callback keeps its class, without its arguments. Actions of one name are added.

Two things the report does not tell apart are settled so that parts never exceed the whole:

- The sanity check before training runs validation outside the epochs, under the same names.
  What cannot have run inside the epochs is given to ``sanity_check``, which is at
  least that long.
- Where gradients are accumulated, a forward and backward pass runs inside ``optimizer_step`` only in some
  batches. It is put beside it, and ``optimizer_step`` is left with its own time, the passes
  taken to be equally long.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from traincost.reading.formats.run import added, one_level

EVALUATIONS = ("validate", "test", "predict")
SANITY_CHECK = "sanity_check"
# Before hooks bore their owner in brackets (1.6) these were called inside the epoch, and now are not.
_PLAIN_ONLY = {"on_train_epoch_end", "on_epoch_end"}
# The step in one closure; which optimizer's it was is in a number behind the name.
_STEPS = {"optimizer_step_and_closure", "optimizer_step_with_closure", "optimizer_step_without_closure"}
# Optimizing by hand, the user's training step calls these.
_BY_HAND = {
    "optimizer_step": "training_step",
    "backward": "training_step",
    "training_step_and_backward": "run_training_batch",
}
_SAVES = ("save_checkpoint", "on_save_checkpoint")
_OWNED = re.compile(r"\[(\w+)\](.*)\.(\w+)", re.DOTALL)
_NUMBERED = re.compile(r"_[0-9]+$")


@cache
def _outlines():
    """Return the name of each outline to {action: the action around it}."""
    outlines, path = {}, []
    for line in Path(__file__).with_name("lightning_calls.txt").read_text(encoding="utf-8").splitlines():
        name = line.strip()
        if name.startswith("["):
            around = outlines[name.strip("[]")] = {}
        elif name and not name.startswith("#"):
            del path[(len(line) - len(name)) // 2 :]
            around[name] = path[-1] if path else None
            path.append(name)
    outlines["fit"] |= outlines["validation"]
    return outlines


@dataclass
class Action:
    """One action: `kind` is its name in the outlines, `owner` what stands in its brackets."""

    kind: str
    owner: str
    seconds: float
    count: int | None
    inside: str | None = None


def sections(report):
    """Return section path to (seconds, calls) of what one stage added (`simple_profiler.elapsed`).

    The paths of an evaluation begin with its stage.
    """
    evaluation = report.stage in EVALUATIONS
    actions = _actions(report.rows, report.stage if evaluation else "")
    around = _outlines()["evaluation" if evaluation else "fit"]
    if not evaluation and _by_hand(actions):
        around = {**around, **_BY_HAND}
    recorded = _recorded(actions)
    for name, action in actions.items():
        action.inside = _enclosing(name, actions, around, recorded)
    if not evaluation:
        _part_accumulation(actions, recorded)
        _part_sanity_check(actions, recorded)
    prefix = f"{report.stage}/" if evaluation else ""
    return {prefix + _path(name, actions): (action.seconds, action.count) for name, action in actions.items()}


def merged(reports):
    """Return the sections of several reports together: seconds and calls of one path are added."""
    total = {}
    for report in reports:
        for path, timed in sections(report).items():
            total[path] = added(total.get(path, (0.0, 0)), timed)
    return total


def _actions(rows, stage):
    actions = {}
    for full_name, timed in rows.items():
        name, kind, owner = _named(full_name, stage)
        known = actions.get(name)
        timed = added((known.seconds, known.count), timed) if known else timed
        actions[name] = Action(kind, owner, *timed)
    return actions


def _named(full_name, stage):
    """Return an action's name among the sections, its kind and its owner."""
    owned = _OWNED.fullmatch(full_name)
    if owned:
        owner, who, kind = owned.groups()
        who = who.partition("{")[0] if owner == "Callback" else ""
        name = f"[{owner}]{who}.{kind}"
    else:
        name = _NUMBERED.sub("", full_name)
        owner, kind = "", "optimizer_step"
        if name not in _STEPS:
            name = kind = full_name
    if stage:
        kind = _of_any_evaluation(kind, stage)
    return one_level(name), kind, owner


def _of_any_evaluation(kind, stage):
    if kind == f"run_{stage}_evaluation":
        return "run_evaluation"
    word = "validation" if stage == "validate" else stage
    return re.sub(rf"(^|_)({word}|{stage})_(?!next|batch_to)", r"\1evaluation_", kind)


def _enclosing(name, actions, around, recorded):
    """Return the name of the nearest recorded action around one, or None."""
    action = actions[name]
    if action.kind in _SAVES:
        return _saving(action, actions)
    if action.kind in _PLAIN_ONLY and action.owner:
        return None
    kind = around.get(action.kind)
    while kind is not None and kind not in recorded:
        kind = around.get(kind)
    return recorded.get(kind)


def _recorded(actions):
    """Return {kind: the name of its longest action}; a callback's hook encloses nothing of the loop."""
    recorded = {}
    for name, action in sorted(actions.items(), key=lambda item: item[1].seconds):
        if action.owner != "Callback":
            recorded[action.kind] = name
    return recorded


def _by_hand(actions):
    steps = [action for action in actions.values() if action.kind == "optimizer_step"]
    if any(action.owner == "LightningModule" for action in steps):
        return False
    return any(action.kind == "training_step" and action.owner for action in actions.values())


def _saving(action, actions):
    """Return what a checkpoint was saved in: the save, or the callback's hook that is long enough."""
    if action.kind == "on_save_checkpoint" and "save_checkpoint" in actions:
        return "save_checkpoint"
    hooks = {
        name: other.seconds
        for name, other in actions.items()
        if other.owner == "Callback" and "Checkpoint" in name and other.kind not in _SAVES
    }
    longest = max(hooks, key=hooks.get, default=None)
    return longest if longest is not None and hooks[longest] >= action.seconds else None


def _path(name, actions):
    parts = [name]
    while actions[parts[-1]].inside is not None:
        parts.append(actions[parts[-1]].inside)
    return "/".join(reversed(parts))


def _inside(name, actions):
    return [other for other, action in actions.items() if action.inside == name]


# -- what the report does not tell apart -----------------------------------------------------


def _part_accumulation(actions, recorded):
    """Put forward and backward passes beside the optimizer step where it holds only some of them."""
    step, batch = recorded.get("optimizer_step"), recorded.get("run_training_batch")
    if step is None or batch is None or actions[step].inside != batch:
        return
    n_steps, n_batches = actions[step].count, actions[batch].count
    if not n_steps or not n_batches or n_batches <= n_steps:
        return
    for name in _inside(step, actions):
        if actions[name].kind in ("on_before_optimizer_step", "configure_gradient_clipping"):
            continue
        actions[name].inside = batch
        held = actions[name].seconds * n_steps / n_batches
        actions[step].seconds = max(actions[step].seconds - held, 0.0)


def _part_sanity_check(actions, recorded):
    """Give what validation cannot have taken inside the epochs to the sanity check."""
    epoch = recorded.get("run_training_epoch")
    checks = [action.count for action in actions.values() if action.kind == "on_sanity_check_start"]
    if epoch is None or not checks or SANITY_CHECK in actions:
        return
    inside = _inside(epoch, actions)
    by_both = _outlines()["validation"].keys() - {"run_training_epoch"}  # by the epochs and the check
    shared = [name for name in inside if actions[name].kind in by_both]
    shared_s = sum(actions[name].seconds for name in shared)
    others_s = sum(actions[name].seconds for name in inside) - shared_s
    room_s = max(actions[epoch].seconds - others_s, 0.0)
    if shared_s <= room_s:
        return
    fitting = room_s / shared_s * (1 - 1e-12)  # rounded down, so that the rest is never below zero
    while shared:  # with all that runs inside
        name = shared.pop()
        actions[name].seconds *= fitting
        shared += _inside(name, actions)
    actions[SANITY_CHECK] = Action(SANITY_CHECK, "", shared_s - room_s, checks[0])

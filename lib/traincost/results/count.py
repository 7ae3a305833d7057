"""How many parameters and FLOP a model has: of a config.json by formula, or of a torch module as it runs."""

import json
import os
from collections.abc import Mapping

import pandas as pd

from traincost.errors import NothingToReport, ParameterError, brief
from traincost.estimation import architectures, counting, quantities
from traincost.measure.meter import parameters as parameters_of
from traincost.printing import count as as_count
from traincost.printing import significant
from traincost.reading.formats.files import Unreadable, parse_json, read_bytes
from traincost.results import arguments
from traincost.results.prose import Name, Number, key, plural, say
from traincost.results.result import Result
from traincost.results.tables import Heading, Table

FORMAT = "traincost/count/1"
GIB = 2**30
MAX_CONTEXT = 100_000_000


@arguments.checked
def count(model, *, tokens=None, context=None, inputs=(), name=""):
    """Count the parameters of a model and the FLOP of training it.

    A multiply-add is two FLOP; only matrix products and convolutions count. A training step is three
    forward passes, four where all activations are recomputed.

    Parameters
    ----------
    model : str, path, mapping or torch.nn.Module
        A ``config.json`` of Hugging Face, or what it holds: counted by formula. A module: counted as it
        runs on `inputs`.
    tokens : float or str, optional
        Processed in the whole training, a number or as papers write it ("2T"); images or clips for models
        of these, examples for a module. Without it, FLOP are of one.
    context : int, optional
        Tokens of a sequence; that of the configuration if left out.
    inputs : tuple
        What a module takes: of integers (batch, tokens), each is a token; of anything else, the first
        dimension is the examples.
    name : str
        Stands before the keys of its numbers on a page.

    Returns
    -------
    Result
        ``frame`` has a row per ``quantity``, with ``value``, ``unit`` and ``note``.

    Raises
    ------
    NothingToReport
        The file cannot be read.
    ParameterError
        It is no configuration of a known family, or an argument cannot be used.
    ValueError
        A module runs an operator that cannot be counted; the message names it.

    Examples
    --------
    >>> gpt2 = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "vocab_size": 50257}
    >>> int(count(gpt2, context=1024).frame["value"].iloc[0])
    124439808
    """
    tokens = _tokens(tokens)
    if hasattr(model, "named_parameters"):
        rows, of, said = _of_module(model, inputs, tokens)
    else:
        rows, of, said = _of_config(model, tokens, context)
    frame = pd.DataFrame(rows, columns=["quantity", "value", "unit", "note"])
    return Result.showing("count", frame, said, _table(frame), prefix=name, of=of)


def _tokens(given):
    if given is None:
        return None
    try:
        value = quantities.read(given, "count").value
    except ValueError as problem:
        raise ParameterError(f"`tokens` {problem}") from None
    if not value > 0:
        raise ParameterError(f"`tokens` must be above zero, got {brief(given)}")
    return value


def _configuration(model):
    if isinstance(model, Mapping):
        return dict(model), str(model.get("_name_or_path") or model.get("model_type", "model"))
    path = os.fspath(model)
    if os.path.isdir(path):
        path = os.path.join(path, "config.json")
    try:
        return parse_json(read_bytes(path)), os.path.basename(path).removesuffix(".json")
    except Unreadable as problem:
        raise NothingToReport(f"{path!r} {problem}") from None


def _of_config(given, tokens, context):
    config, of = _configuration(given)
    model = architectures.count(config)
    if context is not None and not (isinstance(context, int) and 1 <= context <= MAX_CONTEXT):
        raise ParameterError(
            f"`context` must be a whole number from 1 to {MAX_CONTEXT:,}, got {brief(context)}"
        )
    found = architectures.train(model, tokens, context)
    unit = model.unit
    of_all = f"of {_printed(found.tokens)} {plural(found.tokens, unit)}"
    seen = f"a sequence of {found.context:,} tokens" if unit == "token" else f"one {unit}"
    per = f"forward, {{}}, per {unit}".format
    rows = [
        ("parameters", model.parameters, "", ", ".join(model.notes)),
        ("active parameters", model.active_parameters, "", f"that one {unit} uses"),
        (
            "non-embedding parameters",
            model.non_embedding_parameters,
            "",
            "without embeddings, positions and head",
        ),
        (per("linear"), found.linear_flop_per_token, "FLOP", "2 × the weights that multiply it"),
        (per("attention"), found.attention_full_flop_per_token, "FLOP", f"all scores of {seen}"),
        (
            per("causal attention"),
            found.attention_causal_flop_per_token,
            "FLOP",
            "the scores that masks and windows leave",
        ),
        ("training", found.flop, "FLOP", f"3 × forward, all scores, {of_all}: PaLM, Megatron"),
        ("training, causal attention", found.flop_causal, "FLOP", f"3 × forward, {of_all}"),
        ("training, all activations recomputed", found.flop_recomputed, "FLOP", f"4 × forward, {of_all}"),
        ("6 N D", found.flop_6n, "FLOP", "with all parameters: Hoffmann, Epoch AI"),
        ("6 N D, N active", found.flop_6n_active, "FLOP", "mixture of experts"),
        ("6 N D, N without embeddings", found.flop_6n_non_embedding, "FLOP", "Kaplan"),
        ("weights", found.weights_bytes, "bytes", "bf16"),
        ("gradients", found.gradients_bytes, "bytes", "bf16"),
        ("optimizer", found.optimizer_bytes, "bytes", "Adam: fp32 weights and two moments"),
    ]
    if model.active_parameters == model.parameters:
        rows = [row for row in rows if "active" not in row[0]]
    if model.unit != "token":  # of an image, each patch is one
        rows = [row for row in rows if not row[0].startswith("6 N D")]
    return rows, of, _said(model, found, of_all)


def _said(model, found, of_all):
    memory_gib = (found.weights_bytes + found.gradients_bytes + found.optimizer_bytes) / GIB
    attention = found.attention_full_flop_per_token / found.linear_flop_per_token
    is_sparse = model.active_parameters < model.parameters
    yield say(
        "A {family} model of {n} parameters[, {active} of them active].",
        family=Name(model.family),
        n=Number.count("count.parameters", model.parameters),
        active=Number.count("count.active_parameters", model.active_parameters) if is_sparse else None,
    )
    yield say(
        "Training it takes {flop} FLOP ({of}), {causal} with causal attention alone, and {more} executed "
        "where all activations are recomputed.",
        flop=_flop("flop", found.flop),
        of=of_all,
        causal=_flop("flop_causal", found.flop_causal),
        more=_flop("flop_recomputed", found.flop_recomputed),
    )
    yield say(
        "Attention adds {share} % to the linear layers at {n} tokens of context.",
        share=Number("count.attention_share", attention, significant(100 * attention, 2)),
        n=Number.count("count.context", found.context),
    )
    memory = Number.of("count.memory_gib", memory_gib, significant)
    yield say("Weights, gradients and Adam take {gib} GiB, without activations.", gib=memory)


def _flop(name, value):
    return Number(key("count", name), float(value), significant(value, 4))


def _of_module(module, inputs, tokens):
    if not inputs:
        raise ParameterError("`inputs` must hold what the module takes, to run it once, got none")
    n = parameters_of(module)
    frozen = parameters_of(module, trainable=False)
    units, unit = _units(inputs[0])
    forward, uncounted = counting.count_forward_flop(module, *inputs)
    each = forward / units
    total = each * architectures.FORWARD_BACKWARD * (tokens or 1)
    of_all = f"of {_printed(tokens or 1)} {plural(tokens or 1, unit)}"
    upper = f": an upper figure, as {frozen:,} parameters are frozen" if frozen else ""
    rows = [
        ("parameters", n, "", "shared ones once"),
        ("frozen parameters", frozen, "", "that gradient descent does not move"),
        (f"forward, per {unit}", each, "FLOP", f"counted as it ran on {units:,} {plural(units, unit)}"),
        ("training", total, "FLOP", f"3 × forward, {of_all}{upper}"),
        ("training, all activations recomputed", total / 3 * 4, "FLOP", f"4 × forward, {of_all}"),
        ("weights", architectures.BYTES_OF_WEIGHTS * n, "bytes", "bf16"),
        ("gradients", architectures.BYTES_OF_GRADIENTS * (n - frozen), "bytes", "bf16"),
        (
            "optimizer",
            architectures.BYTES_OF_ADAM * (n - frozen),
            "bytes",
            "Adam: fp32 weights and two moments",
        ),
    ]
    kinds = {name.split(".")[1] if name.startswith("aten.") else name for name in uncounted}
    said = [
        say(
            "{n} parameters; a forward pass takes {f} FLOP per {unit}.",
            n=Number.count("count.parameters", n),
            f=_flop("forward", each),
            unit=unit,
        ),
        say("Training takes {flop} FLOP ({of}).", flop=_flop("flop", total), of=of_all),
        say(
            "{n} {n:operator|operators} ran that count as nothing: element-wise ones, views and look-ups.",
            n=Number.count("count.n_uncounted", len(kinds)),
        ),
    ]
    return rows, type(module).__name__, said


def _units(given):
    """Return how many tokens or examples are in a module's first input, and which these are."""
    shape = getattr(given, "shape", None)
    if shape is None or not len(shape):
        return 1, "pass"
    is_tokens = len(shape) == 2 and not getattr(given, "is_floating_point", lambda: True)()
    return (int(shape[0] * shape[1]), "token") if is_tokens else (int(shape[0]), "example")


def _printed(value):
    return as_count(value) if value < 1e15 and float(value).is_integer() else significant(value, 4)


def _table(frame):
    return Table(
        "count",
        say("Parameters, FLOP and memory."),
        (
            Heading("quantity", "quantity"),
            Heading("value", "value", _printed),
            Heading("unit", "unit"),
            Heading("note", "note"),
        ),
        frame,
        filter="the model",
    )


def lines(counted):
    """Return a count as lines of text."""
    width = max(map(len, counted.frame["quantity"]))
    rows = counted.frame.itertuples(index=False)
    return [f"{r.quantity:<{width}}  {_printed(r.value):>24} {r.unit:<5}  {r.note}".rstrip() for r in rows]


def as_json(counted):
    """Return a count as JSON text."""
    content = {"format": FORMAT, "of": counted.of, "quantities": counted.frame.to_dict("records")}
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1) + "\n"

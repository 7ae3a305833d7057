"""FLOP of a torch model as it runs: torch's own counter, with what that misses or counts wrongly put right.

Put right: attention kernels on a CPU, and their backward (twice the forward, as the model needs, not the 2.5
times that a flash kernel executes); LSTM on a CPU and recurrent layers on CUDA; the fast path of
``nn.TransformerEncoder``; the backward of grouped convolutions; grouped products of mixtures of experts;
products with vectors. A kernel that may do much and that nobody has a formula for is named and refused.

torch is imported by the functions that need it.
"""

import contextlib
import math
import re

NEARLY = 0.95  # of what linear layers and convolutions alone must have done
MAX_NAMED = 12
# Operators whose names say that they multiply matrices, where no formula is known for them.
_HEAVY = re.compile(
    r"(^|[._:])_?\w*(mm|matmul|linear|conv\w*|attention|attn|sdpa|rnn|lstm|gru|einsum|bilinear|cdist|fft|solve|svd|eigh?"
    r"|inv|cholesky|lu|qr)(_\w*)?(\.|$)",
    re.IGNORECASE,
)
_LIGHT = re.compile(
    r"lu_?(\.|$)|relu|gelu|silu|celu|elu|glu|_fused_lstm_cell|_fused_gru_cell|fftfreq|inverse|invert"
)


def count_forward_flop(model, *inputs, **named):
    """Count the FLOP of one forward pass of a torch model, with its inputs as it takes them.

    Returns
    -------
    tuple of (int, list of str)
        FLOP, and the operators that ran and are not counted, sorted: views and element-wise ones.

    Raises
    ------
    ValueError
        An operator that may do much is not counted, or less was counted than the model's linear layers and
        convolutions do: the message names the operators.
    """
    import torch

    needed = []
    with contextlib.ExitStack() as stack:
        for module in model.modules():
            stack.callback(module.register_forward_hook(_watched(needed)).remove)
        with torch.no_grad():
            total, uncounted = count_flop(lambda: model(*inputs, **named))
    named = ", ".join(uncounted[:MAX_NAMED])
    if total == 0 and any(p.numel() for p in model.parameters()):
        raise ValueError(
            f"torch's counter found no operation it can count in a model with parameters; it ran: {named}"
        )
    if total < NEARLY * sum(needed):
        raise ValueError(
            f"counted {total:.4g} FLOP where linear layers and convolutions alone take {sum(needed):.4g}; "
            f"not counted are among: {named}"
        )
    return total, uncounted


def count_step_flop(model, loss, *inputs, **named):
    """Count the FLOP of a forward and a backward pass, as `count_forward_flop` does of a forward pass.

    `loss` takes what the model returns and returns a scalar to go backward from. Frozen parameters and a
    first layer, whose input needs no gradient, take less than three forward passes; recomputed activations
    more.
    """
    return count_flop(lambda: loss(model(*inputs, **named)).backward())


def count_flop(function):
    """Return the FLOP of what a function runs, and the operators that ran and are not counted, sorted.

    ValueError where an operator that may do much is not counted.
    """
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import FlopCounterMode, flop_registry

    formulas, uncounted = _formulas(), set()
    known = {*flop_registry, *formulas}

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            if getattr(operator, "_overloadpacket", operator) not in known:
                uncounted.add(str(operator))
            return operator(*args, **(kwargs or {}))

    with _no_fast_path(), FlopCounterMode(display=False, custom_mapping=formulas) as counter, Seen():
        function()
    heavy = sorted(name for name in uncounted if _HEAVY.search(name) and not _LIGHT.search(name))
    if heavy:
        raise ValueError(
            f"no formula is known for {', '.join(heavy[:MAX_NAMED])}, which may be most of the work"
        )
    return counter.get_total_flops(), sorted(uncounted)


@contextlib.contextmanager
def _no_fast_path():
    """Switch the fused inference path of torch's encoder off for a while: its operator counts as nothing."""
    import torch

    enabled = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(enabled)


def _watched(needed):
    """Return a hook that notes what a linear layer or convolution takes at least."""
    import torch

    linear, convolutions = torch.nn.Linear, torch.nn.modules.conv._ConvNd

    def hook(module, inputs, output):
        if isinstance(module, linear):
            needed.append(2 * module.weight.numel() * (output.numel() // max(1, module.out_features)))
        elif isinstance(module, convolutions) and not module.transposed:
            needed.append(2 * module.weight.numel() * (output.numel() // max(1, module.out_channels)))

    return hook


# -- formulas, of shapes --------------------------------------------------------------------------------


def _attention(query, key, value, *_, **__):
    """Scores and what they weigh, all of them: masked ones too."""
    *batch, q, k = query
    return 2 * math.prod(batch) * q * key[-2] * (k + value[-1])


def _attention_backward(_, *shapes, **__):
    return 2 * _attention(*shapes)


def _lstm(inputs, weight, recurrent, *_, **__):
    return 2 * math.prod(inputs[:-1]) * (math.prod(weight) + math.prod(recurrent))


def _recurrent(inputs, weights, *_, **__):
    """Recurrent layers of CUDA: each matrix of them takes each step of each sequence."""
    return 2 * math.prod(inputs[:-1]) * sum(math.prod(w) for w in weights if len(w) == 2)


def _twice(formula):
    return lambda *shapes, **named: 2 * formula(*shapes, **named)


def _grouped(first, second, *_, out_shape=None, **__):
    """Rows in groups × a matrix for each group, or one of the other forms of a grouped product."""
    if len(first) == 2 and len(second) == 3:  # rows by group
        return 2 * first[0] * first[1] * second[2]
    if len(first) == 3 and len(second) == 2:  # columns by group
        return 2 * first[1] * first[2] * second[1]
    if len(first) == 2:  # inner dimension by group
        return 2 * first[0] * first[1] * second[1]
    return 2 * math.prod(first) * second[2]


def _convolution_backward(grad, inputs, weight, _b, _s, _p, _d, transposed, _o, _groups, mask, *_, **__):
    """The gradient of the input and that of the weights each take what the forward pass did."""
    places = math.prod((inputs if transposed else grad)[2:])
    forward = 2 * inputs[0] * places * math.prod(weight)
    return forward * (bool(mask[0]) + bool(mask[1]))


def _first(first, *_, **__):
    """A product with a vector, or of two."""
    return 2 * math.prod(first)


def _second(_, second, *__, **___):
    return 2 * math.prod(second)


def _trilinear(first, second, third, expand1, expand2, expand3, *_, **__):
    """Products of three tensors, each stretched along the dimensions it lacks."""
    sizes = []
    for shape, missing in ((first, expand1), (second, expand2), (third, expand3)):
        full = list(shape)
        for at in sorted(missing):
            full.insert(at, 1)
        sizes.append(full)
    # A product of two and one with the third: as nn.Bilinear does it, two FLOP each.
    return 2 * math.prod(max(each) for each in zip(*sizes, strict=True))


def _formulas():
    import torch

    aten = torch.ops.aten
    ours = "flash_attention_for_cpu", "fused_attention_overrideable"  # of the others torch counts the forward
    attention = *ours, "flash_attention", "efficient_attention", "cudnn_attention"
    recurrent = {"mkldnn_rnn_layer": _lstm, "_cudnn_rnn": _recurrent, "miopen_rnn": _recurrent}
    named = {
        **{f"_scaled_dot_product_{name}": _attention for name in ours},
        **{f"_scaled_dot_product_{name}_backward": _attention_backward for name in attention},
        **recurrent,
        **{f"{name}_backward": _twice(formula) for name, formula in recurrent.items()},
        "_grouped_mm": _grouped,
        "_scaled_grouped_mm": _grouped,
        "convolution_backward": _convolution_backward,
        "_addmm_activation": lambda _, a, b, *__, **___: 2 * math.prod(a) * b[-1],
        "_int_mm": lambda a, b, *_, **__: 2 * math.prod(a) * b[-1],
        **dict.fromkeys(("mv", "dot", "vdot"), _first),
        **dict.fromkeys(("addmv", "addmv_"), _second),
        "_trilinear": _trilinear,
        "_cdist_forward": lambda a, b, *_, **__: 2 * math.prod(a) * b[-2],
    }
    return {getattr(aten, name): formula for name, formula in named.items() if hasattr(aten, name)}

"""Normalisation over batches, layers, groups and instances: the functional side of such layers.

The records are in `normalization_records`; complex input is described there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ... import dtypes, modes
from ...engine.dispatch import as_non_view, write_out
from ...engine.namespaces import recorded
from ...engine.record import attach
from ...engine.registry import name_node, renamed
from ...engine.tensor import Tensor, wrap, wrote
from ...engine.writable import check_memory
from ...errors import conversion
from ...kernels.allocation import has_class, has_memory
from ...kernels.layout import channels_inside, is_formatted
from ...quiet import copyto, quietly
from ..core.dims import sequence
from ..core.pointwise import check_constant, check_floating
from ..creation.memory_format import in_order_of
from ..shape.pad import constant_pad_nd
from .normalization_records import native_batch_norm, native_layer_norm
from .pool import avg_pool_record

_each_sample = renamed(native_batch_norm, "ViewBackward0")  # what PyTorch's ends with

UNBATCHED = (
    "{name}: Batch norm got a batched tensor as input while the running_mean or running_var, which "
    "will be updated in place, were not batched. Batch the statistics too (stack_module_state), "
    "use eval mode, or set track_running_stats=False"
)


# -- arguments ---------------------------------------------------------------------------------


def _check_width(input: Tensor, *parameters: Tensor | None) -> None:
    """Raise where a parameter has another precision than the input; half floats take float32."""
    kind = input._array.dtype
    if {kind}.issuperset(t._array.dtype for t in parameters if t is not None):  # the usual case
        return
    width = dtypes.real_of(kind)
    for t in parameters:
        if t is None or (width.itemsize == 2 and t._array.dtype == np.float32):
            continue
        if dtypes.real_of(t._array.dtype) != width:
            raise RuntimeError(
                "mixed dtype (CPU): expect parameter to have scalar type of "
                f"{dtypes.legacy_name(input.dtype)}, but got {dtypes.legacy_name(t.dtype)}. "
                f"{conversion(input._array.dtype, t._array.dtype, 'weight')}"
            )


def _per_channel(t: Tensor | None, ndim: int) -> Any:
    """A tensor of shape (C,) so that it broadcasts along dim 1 of an input with `ndim` dims."""
    if t is None or ndim <= 2:
        return t
    return t.reshape(1, -1, *(1,) * (ndim - 2))


def _check_channels(channels: int, **tensors: Tensor | None) -> None:
    for name, t in tensors.items():
        if t is None:
            continue
        if t._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t._array.size}")
        if t._array.ndim != 1 and name.startswith("running"):
            raise RuntimeError(
                f"{name} should have 1 dimension, one element per channel, but has shape "
                f"{list(t._array.shape)}: {name}.reshape(-1)"
            )


def _track(
    running: Tensor | None, found: Tensor, factor: float, momentum: float, name: str
) -> None:
    """Move a running statistic towards `factor` times what this batch gave, outside the graph."""
    if running is None:
        return
    if found._array.dtype.kind == "c" and running._array.dtype.kind != "c":
        raise RuntimeError(
            f"{name}(): running_mean of a complex input must be complex, but is {running.dtype}. "
            f"{conversion(found._array.dtype, running._array.dtype, 'running_mean')}"
        )
    if not in_memory(found, running):
        if in_memory(running) and not has_class(found._array):
            raise RuntimeError(UNBATCHED.format(name=name))
        share = found.detach().reshape(running.shape) * (factor * momentum)
        with modes.Changed(grad=False):
            running.mul_(1.0 - momentum).add_(share)
        return
    check_memory(running._array, name)
    old = running._array
    share = (momentum * factor) * found._array.reshape(old.shape)
    if old.dtype.kind in "biu":  # its numbers are cut off, as in PyTorch
        copyto(old, old * (1.0 - momentum) + share, casting="unsafe")
    else:
        old *= 1.0 - momentum
        old += share
    wrote(running, name, counted=name != "batch_norm")  # as PyTorch counts


def _normalized(op: Any, input: Tensor, *parameters: Tensor | None, **params: Any) -> Any:
    """(out, mean, var) of a record; half floats in single precision, lest their sums overflow."""
    kind = input._array.dtype
    if kind.itemsize > 2:
        return op(input, *parameters, **params)
    out, mean, var = op(*[_single(t) for t in (input, *parameters)], **params)
    return name_node(recorded.cast(out, dtype=kind), op.op.node_name), mean, var


def _single(t: Tensor | None) -> Any:
    """A tensor, if there is one, in single precision."""
    return None if t is None else recorded.cast(t, dtype=np.dtype(np.float32))


def in_memory(*tensors: Tensor) -> bool:
    """Whether NumPy computes on the arrays of all these tensors."""
    return all(has_memory(t._array) for t in tensors)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Standardise each channel of `input`, (N, C) or (N, C, ...), then scale and shift it.

    When training, mean and (biased) variance are those of the batch, and the running statistics of
    shape (C,) move towards them by `momentum` (the variance unbiased); otherwise the running ones
    are used, as constants. `weight` and `bias` have shape (C,). Complex input: see
    `normalization_records`, rule 3; `running_mean` is then complex. Raises ValueError for one
    value per channel when training and for a negative `eps`, RuntimeError for missing statistics or
    other sizes, IndexError for fewer than two dimensions. Source: Ioffe and Szegedy, 2015.

    >>> x = rg.tensor([[1.0], [3.0]])
    >>> rg.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    """
    shape = input._array.shape
    check_floating("batch_norm", input)
    check_constant("batch_norm", running_mean=running_mean, running_var=running_var)
    if shape == (0,):  # no channels, and nothing to standardise
        out = input.clone()
        out = out if weight is None else out * weight[0]
        return out if bias is None else out + bias[0]
    if len(shape) < 2:
        raise IndexError(f"batch_norm expects input (N, C) or (N, C, ...), got shape {list(shape)}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    channels, count = shape[1], shape[0] * math.prod(shape[2:])
    if training and count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}. "
            "Train with larger batches (DataLoader(..., drop_last=True)); to predict, model.eval()"
        )
    if training and (running_mean is None) != (running_var is None):
        raise ValueError(
            "batch_norm(): running_mean and running_var must either both be None or neither be None"
        )
    if not training and (running_mean is None or running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise RuntimeError(f"{missing} must be defined in evaluation mode")
    _check_channels(channels, running_mean=running_mean, running_var=running_var,
                    weight=weight, bias=bias)  # fmt: skip
    _check_width(input, weight, bias, running_mean, running_var)
    if not training:
        made = _with_running(input, running_mean, running_var, weight, bias, eps)
        return name_node(made, "NativeBatchNormBackward0")
    dim = (0, *range(2, len(shape)))
    scale, shift = _per_channel(weight, len(shape)), _per_channel(bias, len(shape))
    packed_later = bool(modes.state.saved_hooks) and in_memory(input)
    with modes.Changed(saved_hooks=()) if packed_later else nullcontext():
        out, mean, var = _normalized(native_batch_norm, input, scale, shift, dim=dim, eps=eps)
    if count:
        _track(running_mean, mean, 1.0, momentum, "batch_norm")
        _track(running_var, var, count / (count - 1), momentum, "batch_norm")
    if packed_later and out._node is not None:  # a checkpoint's hooks may end the run here
        half = out._array.dtype.itemsize == 2
        attach(out._node.edges[0] if half else out._node)
    return out  # type: ignore[no-any-return]


@quietly
def _inverse_root(var: Any, eps: float) -> Any:
    return (1.0 / np.sqrt(var + eps)).astype(var.dtype)


def _with_running(
    input: Tensor, mean: Any, var: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """`input * scale + shift` per channel, by given statistics."""
    ndim, kind = input._array.ndim, input._array.dtype
    if kind.itemsize == 2:  # in single precision
        single = [_single(t) for t in (mean, var, weight, bias)]
        out = _with_running(_single(input), single[0], single[1], single[2], single[3], eps)
        return recorded.cast(out, dtype=kind)
    if in_memory(mean, var):
        scale: Any = wrap(_inverse_root(var._array, eps))
    else:
        scale = (var.detach() + eps).rsqrt()
    if weight is not None:
        scale = weight * scale
    shift = -scale * mean.detach()
    if bias is not None:
        shift = shift + bias
    if not (in_memory(input) and is_formatted(input._array)):
        input = input.contiguous()
    return input * _per_channel(scale, ndim) + _per_channel(shift, ndim)  # type: ignore[no-any-return]


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Standardise each channel of each sample of `input`, (N, C, ...), then scale and shift it.

    Without `use_input_stats` the running statistics are used as in `batch_norm`; with it they move
    towards the averages over the batch. Raises ValueError for one value per channel, RuntimeError
    where the running statistics to be used are missing.

    >>> rg.nn.functional.instance_norm(rg.tensor([[[1.0, 3.0], [5.0, 5.0]]]), eps=0.0625)
    tensor([[[-0.9701,  0.9701],
             [ 0.0000,  0.0000]]])
    """
    shape, ndim = input._array.shape, input._array.ndim
    check_floating("instance_norm", input)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    check_constant("instance_norm", running_mean=running_mean, running_var=running_var)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        _check_channels(shape[1], running_mean=running_mean, running_var=running_var)
        made = _with_running(input, running_mean, running_var, weight, bias, eps)
        return name_node(made, "ViewBackward0")
    count = math.prod(shape[2:])
    if count == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    _check_channels(shape[1], running_mean=running_mean, running_var=running_var,
                    weight=weight, bias=bias)  # fmt: skip
    _check_width(input, weight, bias)
    scale, shift = _per_channel(weight, ndim), _per_channel(bias, ndim)
    out, mean, var = _normalized(
        _each_sample, input, scale, shift, dim=tuple(range(2, ndim)), eps=eps
    )
    if count and shape[0]:
        average, spread = mean.detach().mean(0), var.detach().mean(0)
        _track(running_mean, average, 1.0, momentum, "instance_norm")
        _track(running_var, spread, count / (count - 1), momentum, "instance_norm")
    return out  # type: ignore[no-any-return]


def _trailing(
    name: str, input: Tensor, normalized_shape: Any, **parameters: Any
) -> tuple[int, ...]:
    """The dims that `normalized_shape` stands for, the last ones, after checking all shapes."""
    check_floating(name, input)
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}. Write ({normalized_shape},)"
        )
    wanted, shape = tuple(normalized_shape), input._array.shape
    if not wanted:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    if shape[len(shape) - len(wanted) :] != wanted or len(shape) < len(wanted):
        wanted = sequence(wanted, name, "normalized_shape")
        sizes = ", ".join(map(str, wanted))
        raise RuntimeError(
            f"Given normalized_shape=[{sizes}], expected input with shape [*, {sizes}], but got "
            f"input of size{list(shape)}"
        )
    for parameter, t in parameters.items():
        if t is not None and t._array.shape != wanted:
            raise RuntimeError(
                f"Expected {parameter} to be of same shape as normalized_shape, but got "
                f"{parameter} of shape {list(t.shape)} and normalized_shape = {list(wanted)}"
            )
    return tuple(range(len(shape) - len(wanted), len(shape)))


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Standardise over the last dims, those of `normalized_shape`, then scale and shift.

    `input` has shape (..., *normalized_shape); `weight` and `bias` have shape `normalized_shape`.
    Complex input: `normalization_records`, rule 3. Raises RuntimeError for other shapes. Source:
    Ba, Kiros and Hinton, 2016.

    >>> rg.nn.functional.layer_norm(rg.tensor([[1.0, 3.0]]), (2,), eps=0.0)
    tensor([[-1.,  1.]])
    """
    dim = _trailing("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    _check_width(input, weight, bias)
    return _normalized(native_layer_norm, input, weight, bias, dim=dim, eps=eps)[0]  # type: ignore[no-any-return]


def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root mean square over the last dims, those of `normalized_shape`, then scale.

    The mean is of x^2, also for complex x as in PyTorch, and `eps` is added to it: by default that
    of the dtype in which it is computed, float32 for half floats. The result has the input's dtype,
    whatever that of `weight`. Raises RuntimeError for other shapes. Source: Zhang and Sennrich,
    2019.

    >>> rg.nn.functional.rms_norm(rg.tensor([[1.0, 7.0]]), (2,))
    tensor([[0.2000, 1.4000]])
    """
    dim = _trailing("rms_norm", input, normalized_shape, weight=weight)
    kind = input._array.dtype
    if kind.itemsize == 2:  # in single precision, lest squares overflow
        out = rms_norm(_single(input), normalized_shape, _single(weight), eps)
        return recorded.cast(out, dtype=kind)
    eps = float(np.finfo(kind).eps) if eps is None else eps
    input = input if channels_inside(input._array) else input.contiguous()
    scale = ((input * input).mean(dim, keepdim=True) + eps).rsqrt()
    out = input * scale
    return out if weight is None else (out * weight).to(input.dtype)


def squared_modulus(input: Tensor) -> Tensor:
    """|x|^2, real, with no kink at 0."""
    if input._array.dtype.kind == "c":
        return (input * input.conj()).real
    return input * input


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Standardise each of `num_groups` groups of channels of each sample, then scale and shift.

    `input` has shape (N, C, ...), `weight` and `bias` have shape (C,). Raises RuntimeError where
    the groups do not divide the channels, ValueError for one value per group. Source: Wu and He,
    2018.

    >>> rg.nn.functional.group_norm(rg.tensor([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0)
    tensor([[-1.,  1., -1.,  1.]])
    """
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {len(shape)}"
        )
    check_floating("group_norm", input)
    if num_groups < 1 or shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={num_groups}"
        )
    if shape[0] * (shape[1] // num_groups) * math.prod(shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._array.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(t.shape)} and input of shape {list(shape)}"
            )
    _check_width(input, weight, bias)
    inner = (num_groups, shape[1] // num_groups)
    grouped = input.reshape(shape[0], *inner, math.prod(shape[2:]))
    scale = None if weight is None else weight.reshape(1, *inner, 1)
    shift = None if bias is None else bias.reshape(1, *inner, 1)
    out = _normalized(native_layer_norm, grouped, scale, shift, dim=(2, 3), eps=eps)[0]
    return name_node(
        as_non_view(in_order_of(input, out.reshape(shape))), "NativeGroupNormBackward0"
    )


def local_response_norm(
    input: Tensor,
    size: int,
    alpha: float | Tensor = 1e-4,
    beta: float | Tensor = 0.75,
    k: float | Tensor = 1.0,
) -> Tensor:
    """Divide by (k + alpha * mean of |x|^2 over `size` neighbouring channels)^beta.

    `input` has shape (N, C, ...); channels beyond the ends count as zero. Raises ValueError for
    fewer than three dimensions. Source: Krizhevsky et al., 2012.

    >>> rg.nn.functional.local_response_norm(rg.ones(1, 1, 2), 1, alpha=1.0, beta=1.0)
    tensor([[[0.5000, 0.5000]]])
    """
    shape = input._array.shape
    if len(shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)"
        )
    if not input._array.size:
        return input
    squares = squared_modulus(input) if input._array.dtype.kind in "fcV" else input * input
    rows = squares.reshape(shape[0], shape[1], -1)
    padded = constant_pad_nd(rows, (0, 0, size // 2, (size - 1) // 2))
    means = avg_pool_record(
        padded, kernel=(size, 1), stride=(1, 1), padding=(0, 0), ceil=False, count_pad=True,
        divisor=None,
    ).reshape(shape)  # fmt: skip
    return input / (means * alpha + k) ** beta


def normalize(
    input: Tensor,
    p: float | str = 2.0,
    dim: int | Sequence[int] = 1,
    eps: float | Tensor = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """Divide by the p-norm along `dim`, or by `eps` where that is larger.

    `p` is a number, or a string as in `norm`.

    >>> rg.nn.functional.normalize(rg.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    if out is not None:
        return write_out(normalize, out, (input, p, dim, eps), {})  # type: ignore[no-any-return]
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps)

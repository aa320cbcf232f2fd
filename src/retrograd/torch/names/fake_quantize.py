"""Values as integers of few bits would hold them, in floating tensors: PyTorch's fake quantization.

Rounding has no slope of use, so the gradient is that of the identity where a value is in range, and
0 beyond: the straight-through estimator. Source: Y. Bengio et al. (2013). The derivatives by scale
and zero point: S. K. Esser et al., Learned step size quantization (2020).
"""

from __future__ import annotations

from operator import index
from typing import Any

from ... import dtypes
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ...ops.core.arguments import number_in, public
from ...ops.core.dims import wrap_dim
from ...ops.creation.from_data import tensor
from ...ops.elementwise.clamp_where import clamp, where

__all__ = [
    "_fake_quantize_learnable_per_channel_affine",
    "_fake_quantize_learnable_per_tensor_affine",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_tensor_affine",
]

# Dtypes by name: bfloat16 is loaded when it is asked for.
HALVES = ("float16", "bfloat16")
SCALES = ("float32", "bfloat16")
NODE = "FakeQuantizePer{}AffineCachemask{}Backward0"
ZEROS = ("int32", "float32", "float16")


@public()
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """(q - zero_point) * scale, of the integer q = round(input / scale) + zero_point.

    q is bounded by `quant_min` and `quant_max`; halves are rounded to even, NaN counts as below.
    The gradient is that of `input` where q is in bounds, else 0. scale, zero_point: numbers,
    or tensors of one. Raises RuntimeError for a zero_point out of bounds, NotImplementedError for
    an input that is not floating. The arithmetic is in float32.

    >>> x = rg.tensor([-9.0, 0.26, 0.5], requires_grad=True)
    >>> y = rg.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7)
    >>> y, rg.autograd.grad(y.sum(), x)
    (tensor([-0.8000,  0.3000,  0.5000],
           grad_fn=<FakeQuantizePerTensorAffineCachemaskBackward0>), (tensor([0., 1., 1.]),))
    """
    given = "TensorQparams" if isinstance(scale, Tensor) else ""
    scale = tensor(
        number_in(scale, "fake_quantize_per_tensor_affine", "scale"), dtype=dtypes.float32
    )
    zero = tensor(zero_point.item() if isinstance(zero_point, Tensor) else index(zero_point))
    found = quantized(input, scale, zero, quant_min, quant_max)
    made = straight_through(input, found, scale, zero, dtypes.float32, quant_min, quant_max)
    return name_node(made, NODE.format("Tensor", given))


@public()
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each place along `axis`.

    scale: a vector of float32 or bfloat16; zero_point: one of int32, float32 or float16. Raises
    RuntimeError where they are of other dtypes or sizes.

    >>> x = rg.tensor([[0.26, 9.0], [0.26, 9.0]])
    >>> zero = rg.zeros(2, dtype=rg.int32)
    >>> rg.fake_quantize_per_channel_affine(x, rg.tensor([0.1, 0.5]), zero, 0, -8, 7)
    tensor([[0.3000, 0.7000],
            [0.5000, 3.5000]])
    """
    if scale.dtype.name not in SCALES or zero_point.dtype.name not in ZEROS:
        raise RuntimeError(
            "Scale must be Float or BFloat16, and Zero-point must be Int32, Float or Half, found "
            f"{scale.dtype} and {zero_point.dtype}. Convert them"
        )
    scale, zero = along(input, scale.detach(), zero_point.detach(), axis)
    found = quantized(input, scale, zero, quant_min, quant_max)
    made = straight_through(input, found, scale, zero, found.dtype, quant_min, quant_max)
    return name_node(made, NODE.format("Channel", ""))


@public()
def _fake_quantize_learnable_per_tensor_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with derivatives by `scale` and `zero_point`.

    scale, zero_point: vectors, of which the first elements are taken; the zero point is rounded,
    and bounded. Their derivatives are multiplied by `grad_factor`.

    >>> scale = rg.tensor([0.1], requires_grad=True)
    >>> x, zero = rg.tensor([-9.0, 0.26, 0.5]), rg.zeros(1)
    >>> y = rg._fake_quantize_learnable_per_tensor_affine(x, scale, zero, -8, 7)
    >>> rg.autograd.grad(y.sum(), scale)
    (tensor([-7.6000]),)
    """
    bounds = quant_min, quant_max
    return learnable("Tensor", input, scale[0], zero_point[0], bounds, grad_factor)


@public()
def _fake_quantize_learnable_per_channel_affine(
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> Tensor:
    """`_fake_quantize_learnable_per_tensor_affine` with elements for each place along `axis`.

    >>> scale = rg.tensor([0.1, 0.5], requires_grad=True)
    >>> x = rg.tensor([[0.26, 9.0], [0.26, 9.0]])
    >>> y = rg._fake_quantize_learnable_per_channel_affine(x, scale, rg.zeros(2), 0, -8, 7)
    >>> rg.autograd.grad(y.sum(), scale)
    (tensor([7.4000, 7.4800]),)
    """
    scale, zero = along(input, scale, zero_point, axis)
    return learnable("Channel", input, scale, zero, (quant_min, quant_max), grad_factor)


def along(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The vectors `scale` and `zero_point`, in the shape in which they lie along `axis`."""
    dim = wrap_dim(input, axis)
    if scale.shape != zero_point.shape or scale.shape != (input.shape[dim],):
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor: expected "
            f"{input.shape[dim]} of each along dimension {dim}, but their shapes are "
            f"{tuple(scale.shape)} and {tuple(zero_point.shape)}"
        )
    sizes = [-1 if d == dim else 1 for d in range(input.ndim)]
    return scale.reshape(sizes), zero_point.reshape(sizes)


def learnable(
    kind: str,
    input: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    bounds: tuple[int, int],
    grad_factor: float,
) -> Tensor:
    """The values, with the gradients of `input`, and those of scale and zero point times a factor.

    Within the bounds, only the rounding depends on the scale; beyond, the bound minus the zero
    point is multiplied by it.
    """
    step = scale.detach()
    zero = clamp(zero_point.detach().round(), *bounds).to(dtypes.int32)
    found = quantized(input, step, zero, *bounds)
    inside = (found >= bounds[0]) & (found <= bounds[1])
    bounded = clamp(where(found.isnan(), bounds[0], found), *bounds) - zero
    by_scale = bounded - where(inside, input.detach() / step, 0)
    learned = (by_scale * scale - where(inside, 0, step) * zero_point) * grad_factor
    made = straight_through(input, found, step, zero, found.dtype, *bounds, learned)
    return name_node(made, f"FakeQuantizeLearnablePer{kind}AffineBackward0")


def quantized(input: Tensor, scale: Tensor, zero: Tensor, low: int, high: int) -> Tensor:
    """The integers, not yet bounded, as floating numbers."""
    if not input.is_floating_point():
        raise NotImplementedError(
            f'"fake_quantize" not implemented for {input.dtype}. Convert first: x.float()'
        )
    if low > high:
        raise RuntimeError(
            f"`quant_min` should be less than or equal to `quant_max`, but got {low} and {high}"
        )
    if not ((zero >= low) & (zero <= high)).all():
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    wide = input.detach().to(dtypes.float32 if input.dtype.name in HALVES else input.dtype)
    places = wide * scale.reciprocal()
    return (places + zero).round() if zero.is_floating_point() else places.round() + zero


def straight_through(
    input: Tensor,
    found: Tensor,
    scale: Tensor,
    zero: Tensor,
    kind: Any,
    low: int,
    high: int,
    learned: Tensor | int = 0,
) -> Tensor:
    """The values of integers, times their scales in a dtype, with the gradient of `input`.

    `learned` adds its gradient, but not its values.
    """
    inside = (found >= low) & (found <= high)
    bounded = clamp(where(found.isnan(), low, found), low, high)
    values = ((bounded.to(kind) - zero) * scale).to(input.dtype)
    kept = input.masked_fill(~inside, 0) + learned
    # The value of `kept` is taken away again, not its gradient.
    return values + (kept - kept.detach()).to(input.dtype)

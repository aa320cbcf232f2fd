"""Losses between a prediction and a target, elementwise ones first, with PyTorch's reductions.

Losses of |input - target| take complex values too: |z| is the modulus, the loss is real, and its
gradient is the direction of steepest ascent (PyTorch refuses complex input for mse_loss and
huber_loss). Losses of classes are in `classification`, of pairs and triples of vectors in `metric`,
of distributions in `divergence`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.backward.fitting import expands
from ...engine.dispatch import check_broadcast
from ...engine.namespaces import recorded
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor, concrete
from ...engine.writable import check_cast
from ...errors import wrong_type
from ...kernels import sums
from ...kernels.allocation import known_true
from ...kernels.layout import apply_binary
from ...kernels.native.small import quick
from ..core import batching
from ..core.pointwise import check_floating, holds_complex, pointwise, unsupported
from ..shape.expand import broadcast_tensors

OTHER_SIZE = (
    "Using a target size ({target}) that is different to the input size ({input}). This will "
    "likely lead to incorrect results due to broadcasting. Please ensure they have the same size: "
    "target.view_as(input) where it has as many elements, or input.squeeze(dim)"
)
OLDER = "size_average and reduce args will be deprecated, please use reduction='{}' instead."


# -- reductions and checks ----------------------------------------------------------------------


def reduction_of(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """The reduction asked for, by its name or by the two older arguments.

    Raises ValueError for another name than "none", "mean" and "sum".
    """
    if size_average is not None or reduce is not None:
        reduction = older_reduction(size_average, reduce)
        warnings.warn(OLDER.format(reduction), stacklevel=3)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def older_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """The name of the reduction that the two older arguments say."""
    if reduce is not None and not reduce:
        return "none"
    return "mean" if size_average is None or size_average else "sum"


def reduced(loss: Tensor, reduction: str, node_name: str = "") -> Tensor:
    """The mean, the sum, or the loss itself; of PyTorch's kernels, with their nodes' name."""
    if reduction == "mean":
        loss = loss.mean()
    elif reduction == "sum":
        loss = loss.sum()
    return name_node(loss, node_name) if node_name else loss


def check_tensors(name: str, **tensors: Any) -> None:
    """Raise TypeError unless all are tensors."""
    for position, (key, value) in enumerate(tensors.items(), 1):
        if not isinstance(value, Tensor):
            raise wrong_type(name, key, "Tensor", value, position)


def check_real(name: str, *tensors: Tensor) -> None:
    """Raise NotImplementedError for complex values."""
    for t in tensors:
        if t._array.dtype.kind == "c":
            raise unsupported(
                name, t._array.dtype, "It is defined for real numbers: take x.real, or x.abs()"
            )


def in_one_shape(name: str, input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Input and target; broadcast, with a warning, where one has another shape.

    So both count as tensors with dimensions when their dtypes promote, as in PyTorch.
    """
    if input._array.shape == target._array.shape:
        return input, target
    warnings.warn(OTHER_SIZE.format(target=target.shape, input=input.shape), stacklevel=3)
    check_broadcast(input._array.shape, target._array.shape, name)
    return broadcast_tensors(input, target)


def _weighted(loss: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """The loss with a weight for each element; "mean" divides by the sum of the weights."""
    if weight is None:
        return reduced(loss, reduction)
    if weight._array.shape != loss._array.shape:
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return loss.sum() / weight.sum() if reduction == "mean" else reduced(loss, reduction)


# -- losses of a distance -------------------------------------------------------------------------


def _mse_forward(input: Any, target: Any, *, reduction: str) -> Any:
    d = apply_binary(np.subtract, *dtypes.promote(input, target))
    if reduction == "none":
        return (d * d.conj()).real
    if d.dtype.char == "e":  # whose sum may overflow where the mean does not
        return _mse_forward(d.astype(np.float32), np.float32(0), reduction=reduction).astype("e")
    flat = d.ravel()
    few = flat.size <= sums.CHUNK  # then half the time
    total = np.vdot(flat, flat) if few else sums.inner(flat, flat).astype(flat.dtype)
    total = total.real
    return total if reduction == "sum" else total / flat.dtype.type(d.size).real


def mse_input(xp: Any, g: Any, input: Any, target: Any, reduction: str) -> Any:
    """The input's gradient 2 g (input - target), with g real; complex input needs no other
    formula."""
    d = input - target
    factor = 2.0 / max(1, math.prod(d.shape)) if reduction == "mean" else 2.0
    return d * (g * factor)


squared_distance = declare(
    "mse_loss(input, target, *, reduction)",
    _mse_forward,
    input=mse_input,
    target=lambda xp, g, input, target, reduction: -mse_input(xp, g, input, target, reduction),
    contiguous="input, target",
    batch=batching.mse_loss,
    examples=[
        example("3x4, 3x4", reduction="mean"),
        example("3x1, 4", reduction="sum"),
        example("3, 3", reduction="none"),
        example(", ", reduction="mean"),
    ],
    saved={"reduction": lambda reduction: ("none", "mean", "sum").index(reduction)},
    doc="""The squared modulus of the difference, reduced; fused, as the loss of most regressions:
    one node instead of three, and the difference is not kept.""",
)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared modulus |input - target|^2, reduced by "mean", "sum" or "none".

    Input and target broadcast, with a warning; the result is real. For complex input the gradient
    is 2 (input - target) per element. Raises NotImplementedError for integers.
    PyTorch's is real only.

    >>> rg.nn.functional.mse_loss(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("mse_loss", input=input, target=target)
    if input._array.dtype.kind not in "fcV" and target._array.dtype.kind not in "fcV":
        check_floating("mse_loss", input)
    input, target = in_one_shape("mse_loss", input, target)
    if weight is not None:
        return _weighted(squared_distance(input, target, reduction="none"), weight, reduction)
    return squared_distance(input, target, reduction=reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The modulus |input - target|, reduced; its gradient is 0 where they are equal.

    >>> rg.nn.functional.l1_loss(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("l1_loss", input=input, target=target)
    input, target = in_one_shape("l1_loss", input, target)
    return _weighted((input - target).abs(), weight, reduction)


def _huber_arrays(d: Any, *, delta: float) -> Any:
    size = np.abs(d)
    return np.where(size < delta, d * d * 0.5, (size - 0.5 * delta) * delta)


_huber_of_reals = pointwise(
    "huber(input, *, delta)",
    _huber_arrays,
    derivative=lambda xp, input, delta: xp.where(
        xp.abs(input) < delta, input, xp.sign(input) * delta
    ),
    contiguous="input",
    complex=False,
    examples=[example("3x4", delta=0.5), example("", delta=1.0)],
    doc="""input^2 / 2 below `delta`, then linear: one node instead of ten, a fifth of the time.""",
)


def _huber(d: Tensor, delta: float) -> Tensor:
    """|d|^2 / 2 below `delta`, then linear; each branch sees only its own values.

    The squared branch is no function of |d|, so that second derivatives at d = 0 exist.
    """
    if d._array.dtype.kind == "f":
        return _huber_of_reals(d, delta=delta)
    size = d.abs()
    inner = size < delta
    near = d.where(inner, 0.0)
    far = (size - 0.5 * delta).where(~inner, 0.0)
    square = (near * near.conj()).real if d._array.dtype.kind == "c" else near * near
    return square * 0.5 + far * delta


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """|d|^2 / 2 where |d| < delta, else delta (|d| - delta/2), for d = input - target; reduced.

    The result has the dtype of `input`, real for a complex one; that of `target` is no higher.
    Raises RuntimeError unless delta > 0. Source: Huber, 1964.

    >>> rg.nn.functional.huber_loss(rg.tensor([0.0, 3.0]), rg.tensor([1.0, 0.0]), reduction="none")
    tensor([0.5000, 2.5000])
    """
    reduction = reduction_of(reduction)
    check_tensors("huber_loss", input=input, target=target)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    check_floating("huber_loss", input)
    input, target = in_one_shape("huber_loss", input, target)
    if target._array.dtype.kind == "b":  # which is not subtracted
        target = target.to(input.dtype)
    difference = input - target
    check_cast(difference._array.dtype, input._array.dtype)
    loss = _huber(difference, delta).to(dtypes.of_numpy(dtypes.real_of(input._array.dtype)))
    if weight is not None:
        return reduced(loss * weight, reduction)
    return reduced(loss, reduction, "HuberLossBackward0")


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """`huber_loss` with delta = beta, divided by beta; `l1_loss` for beta = 0.

    Dtypes promote. Raises RuntimeError for beta < 0, NotImplementedError for two tensors of
    integers.

    >>> rg.nn.functional.smooth_l1_loss(rg.tensor([0.0, 3.0]), rg.tensor([1.0, 0.0]))
    tensor(1.5000)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("smooth_l1_loss", input=input, target=target)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    input, target = in_one_shape("smooth_l1_loss", input, target)
    if beta == 0:
        return reduced((input - target).abs(), reduction)
    dtype = dtypes.common(input._array, target._array)
    input, target = (
        t if t._array.dtype == dtype else recorded.cast(t, dtype=dtype) for t in (input, target)
    )
    check_floating("smooth_l1_loss", input)
    return reduced(_huber(input - target, beta) / beta, reduction, "SmoothL1LossBackward0")


# -- binary classes -----------------------------------------------------------------------------


def _log_at_least(x: Any) -> Any:
    return np.maximum(np.log(x), x.dtype.type(-100))


_bce = pointwise(
    "binary_cross_entropy(input, target)",
    lambda input, target: (
        (target - 1) * np.maximum(np.log1p(-input), input.dtype.type(-100))
        - target * _log_at_least(input)
    ),
    input=lambda xp, g, input, target: (
        g * ((input - target) / xp.maximum((1.0 - input) * input, 1e-12))
    ),
    target=lambda xp, g, input: g * (xp.log1p(-input) - xp.log(input)),
    leads="input",
    complex=False,
    domain=(0.2, 0.8),
    examples=["3x4, 3x4", ", "],
    doc="""The cross-entropy of two coins, with logarithms not below -100; one formula, because the
    logarithms' own derivatives at 0 and 1 would be infinite where PyTorch's stay finite.""",
)


def in_parts(loss: Any, input: Tensor, target: Tensor, *args: Any) -> Tensor:
    """The mean of the losses of real and imaginary parts; a real target holds for both of them."""
    pairs = [
        (part(input), part(target) if holds_complex(target) else target)
        for part in (recorded.real, recorded.imag)
    ]
    first, second = (loss(*pair, *args) for pair in pairs)
    return (first + second) / 2  # type: ignore[no-any-return]


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) for probabilities p in [0, 1], reduced.

    The logarithms are at least -100, and the gradient's denominator p (1 - p) at least 1e-12.
    `weight` broadcasts. Of complex input it is the mean over both parts. Raises ValueError for a
    target of another shape, RuntimeError for p or t outside [0, 1]. Source: Barrachina
    et al., ICASSP 2021.

    >>> rg.nn.functional.binary_cross_entropy(rg.tensor([0.5]), rg.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("binary_cross_entropy", input=input, target=target)
    if holds_complex(input):
        return in_parts(binary_cross_entropy, input, target, weight, None, None, reduction)
    check_real("binary_cross_entropy", target)
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size: "
            "target.view_as(input) where it has as many elements"
        )
    if input._array.dtype != target._array.dtype:
        names = [dtypes.legacy_name(t.dtype) for t in (target, input)]
        raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
    check_floating("binary_cross_entropy", input)
    for name, t in (("input", input), ("target", target)):
        values = concrete(t._array)
        if known_true(~((values >= 0) & (values <= 1)).all()):
            do = f"; {name} holds {values.min()} to {values.max()}"
            if name == "input":
                do += (
                    ". Apply sigmoid() first, or give scores to binary_cross_entropy_with_logits()"
                )
            raise RuntimeError(f"all elements of {name} should be between 0 and 1{do}")
    loss = _bce(input, target)
    loss = loss if weight is None else loss * weight
    return reduced(loss, reduction, "BinaryCrossEntropyBackward0")


@quick("bce_with_logits")
def _bce_logits_forward(input: Any, target: Any) -> Any:
    share = np.where(input > 0, 1 - target, -target)  # lest infinities are subtracted
    return np.log1p(np.exp(-np.abs(input))) + share * input


_bce_with_logits = pointwise(
    "binary_cross_entropy_with_logits(input, target)",
    _bce_logits_forward,
    input=lambda xp, g, input, target: g * (xp.sigmoid(input) - target),
    target=lambda xp, g, input: -g * input,
    leads="input",
    complex=False,
    examples=["3x4, 3x4", ", "],
    doc="""softplus(input) - input * target without overflow; fused for speed: one node.""",
)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), stable for inputs of any size; reduced.

    `weight` broadcasts to the loss; `pos_weight` multiplies the term of the positive class. Of
    complex input it is the mean over both parts. Raises ValueError for a target of another shape.
    For complex input see `binary_cross_entropy`.

    >>> rg.nn.functional.binary_cross_entropy_with_logits(rg.tensor([0.0]), rg.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("binary_cross_entropy_with_logits", input=input, target=target)
    if holds_complex(input):
        more = (weight, None, None, reduction, pos_weight)
        return in_parts(binary_cross_entropy_with_logits, input, target, *more)
    check_real("binary_cross_entropy_with_logits", target)
    check_floating("binary_cross_entropy_with_logits", input)
    if input._array.shape != target._array.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    if pos_weight is None:
        loss = _bce_with_logits(input, target)
    else:
        ones = recorded.zeros_like(input) + 1
        positive = _bce_with_logits(input, ones)  # softplus(-input)
        loss = (1 - target) * input + (1 + (pos_weight - 1) * target) * positive
    loss = loss if weight is None else loss * weight
    return reduced(loss, reduction, "BinaryCrossEntropyWithLogitsBackward0")


SOFT_MARGIN = "SoftMarginLossBackward0"


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1, reduced; holomorphic.

    Raises RuntimeError for a target that does not expand to the shape of `input`.
    PyTorch's is real only.

    >>> rg.nn.functional.soft_margin_loss(rg.tensor([0.0]), rg.tensor([1.0]))
    tensor(0.6931)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("soft_margin_loss", input=input, target=target)
    if not expands(target._array.shape, input._array.shape):
        raise RuntimeError(
            f"soft_margin_loss(): output with shape {list(input.shape)} doesn't match the "
            f"broadcast shape of target, {list(target.shape)}. Expand input first"
        )
    check_floating("soft_margin_loss", input)
    product = -(input * target)
    if holds_complex(product):
        return reduced(-recorded.log_sigmoid(-product), reduction, SOFT_MARGIN)
    product = recorded.cast(product, dtype=input._array.dtype)
    return reduced(_bce_with_logits(product, recorded.zeros_like(product)), reduction, SOFT_MARGIN)

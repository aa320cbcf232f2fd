"""Distances between vectors, and losses of pairs and triples of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import dtypes
from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ..core.arguments import public
from ..core.dims import broadcast_shapes
from ..core.engine_ops import cast
from .elementwise import check_tensors, reduced, reduction_of


@public()
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along `dim`, with norms taken as at least `eps`.

    The inputs broadcast. For complex vectors it is the complex sum(x1 * conj(x2)) over the product
    of the norms (PyTorch refuses them). Dtypes promote; raises RuntimeError for two of integers.

    >>> rg.nn.functional.cosine_similarity(rg.tensor([[1.0, 0.0]]), rg.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    dtype = dtypes.common(x1._array, x2._array)
    if dtype.kind not in "fcV":
        raise RuntimeError(
            "expected common dtype to be floating point, yet common dtype is "
            f"{dtypes.legacy_name(dtype)}. Convert first: x1.float()"
        )
    x1, x2 = (t if t._array.dtype == dtype else cast(t, dtype=dtype) for t in (x1, x2))
    shape = broadcast_shapes(x1.shape, x2.shape)
    if (
        not x1._array.shape == x2._array.shape == shape
    ):  # the norms, too, are along the common shape
        x1, x2 = x1.expand(shape), x2.expand(shape)
    first = x1 / x1.norm(2, dim, keepdim=True).clamp_min(eps)
    second = x2 / x2.norm(2, dim, keepdim=True).clamp_min(eps)
    if x2._array.dtype.kind == "c":
        second = second.conj()
    return (first * second).sum(dim)


@public()
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension; the inputs broadcast.

    >>> rg.nn.functional.pairwise_distance(rg.tensor([[3.0, 0.0]]), rg.tensor([[0.0, 4.0]]))
    tensor([5.])
    """
    return name_node((x1 - x2 + eps).norm(p, -1, keepdim=keepdim), "NormBackward1")


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The distance `input` where the target is 1, max(0, margin - input) where it is -1; reduced.

    >>> rg.nn.functional.hinge_embedding_loss(rg.tensor([0.25, 0.25]), rg.tensor([1, -1]))
    tensor(0.5000)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    check_tensors("hinge_embedding_loss", input=input, target=target)
    apart = (margin - input).clamp_min(0.0).where(target != 1, 0.0)
    return reduced(apart + input.where(target != -1, 0.0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1; reduced.

    The inputs are (N, D) or (D,), the target (N,) or 0-d. Raises RuntimeError for other shapes.

    >>> x, y = rg.tensor([[1.0, 0.0]]), rg.tensor([[0.0, 1.0]])
    >>> rg.nn.functional.cosine_embedding_loss(x, y, rg.tensor([1]))
    tensor(1.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if target._array.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1._array.ndim != target._array.ndim + 1 or input2._array.ndim != target._array.ndim + 1:
        raise RuntimeError(
            f"{target._array.ndim}D target tensor expects {target._array.ndim + 1}D input tensors, "
            f"but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    dim = target._array.ndim
    product = (input1 * input2).sum(dim)
    # PyTorch's own bound here: eps is added to the squared norms.
    squares = ((input1 * input1).sum(dim) + 1e-12) * ((input2 * input2).sum(dim) + 1e-12)
    cos = product / squares.sqrt()
    alike = (1.0 - cos).where(target == 1, 0.0)
    return reduced(alike + (cos - margin).clamp_min(0.0).where(target == -1, 0.0), reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin), for a target 1 or -1; reduced.

    Raises RuntimeError where the numbers of dimensions differ.

    >>> first, second = rg.tensor([1.0]), rg.tensor([3.0])
    >>> rg.nn.functional.margin_ranking_loss(first, second, rg.tensor([1.0]))
    tensor(2.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if not input1._array.ndim == input2._array.ndim == target._array.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced((-target * (input1 - input2) + margin).clamp_min(0.0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d a `pairwise_distance`; reduced.

    With `swap` the negative's distance is the smaller of those to anchor and positive. Raises
    ValueError unless margin > 0, RuntimeError for other numbers of dimensions. Source: Balntas et
    al., 2016 (swap).

    >>> a, p, n = rg.tensor([[0.0]]), rg.tensor([[2.0]]), rg.tensor([[1.0]])
    >>> rg.nn.functional.triplet_margin_loss(a, p, n)
    tensor(2.)
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(x: Tensor, y: Tensor) -> Tensor:
        return pairwise_distance(x, y, p, eps)

    return _triplet(anchor, positive, negative, distance, margin, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float | Tensor = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with a distance of your own (default: `pairwise_distance`).

    Raises ValueError unless `margin` is positive.

    >>> a, p, n = rg.tensor([[0.0]]), rg.tensor([[2.0]]), rg.tensor([[1.0]])
    >>> rg.nn.functional.triplet_margin_with_distance_loss(a, p, n)
    tensor(2.)
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(anchor, positive, negative, distance, margin, swap, reduction_of(reduction))


def _triplet(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Any,
    margin: float | Tensor,
    swap: bool,
    reduction: str,
) -> Tensor:
    dims = [t._array.ndim for t in (anchor, positive, negative)]
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D "
            "inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0.0), reduction)

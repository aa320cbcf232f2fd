"""`associative_scan`: all partial results of an associative function along a dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import pytree
from ...engine.tensor import Tensor
from ...func import vmap
from ...ops.shape.join import cat, stack

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["associative_scan"]

UNEQUAL = (
    "associative_scan: the tensors need one size > 0 along the dimension of the scan, but got the "
    "shapes {}"
)


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """The partial results of `combine_fn` along `dim`, from the start or, if `reverse`, the end.

    xs: a tensor, or nested tensors of one size along `dim`; `combine_fn` takes two of their slices,
    without that dimension, the one that comes first in the scan first, and gives one of the same
    structure and shapes. It has to be associative: there are about 2 log2(n) calls, which see many
    slices at once by `vmap`. Both modes are alike. Raises ValueError for no function, another mode,
    and sizes that differ or are 0. Source: Blelloch, 1990; PyTorch's `torch._higher_order_ops`.

    >>> from retrograd._higher_order_ops import associative_scan
    >>> x = rg.tensor([[1.0, 2.0, 3.0, 4.0]])
    >>> associative_scan(lambda a, b: a * b, x, dim=1)
    tensor([[ 1.,  2.,  6., 24.]])
    >>> associative_scan(lambda a, b: a + b, x, dim=1, reverse=True)
    tensor([[10.,  9.,  7.,  4.]])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves = [x.movedim(dim, 0) for x in pytree.flatten(xs)]
    if len({len(x) for x in leaves}) != 1 or not len(leaves[0]):
        raise ValueError(UNEQUAL.format([tuple(x.shape) for x in pytree.flatten(xs)]))

    def slices(*both: Tensor) -> tuple[Tensor, ...]:
        parts = both[: len(leaves)], both[len(leaves) :]
        found = pytree.flatten(combine_fn(*[pytree.unflatten(xs, part) for part in parts]))
        if [f.shape for f in found] != [x.shape for x in parts[0]]:
            raise ValueError(
                f"associative_scan: combine_fn gave the shapes {[tuple(f.shape) for f in found]} "
                f"for two times {[tuple(x.shape) for x in parts[0]]}. It must give the same"
            )
        return tuple(found)

    combine = vmap(slices)
    if reverse:
        leaves = [x.flip(0) for x in leaves]
    found = scanned(lambda a, b: combine(*a, *b), leaves)
    if reverse:
        found = [x.flip(0) for x in found]
    return pytree.unflatten(xs, [x.movedim(0, dim) for x in found])


def scanned(combine: Callable[[Any, Any], Any], xs: list[Tensor]) -> list[Tensor]:
    """`associative_scan` along the first dimension: combine pairs, scan those, fill the gaps."""
    n = len(xs[0])
    if n < 2:
        return xs
    odd = scanned(combine, combine([x[: n - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    even = [x[:1] for x in xs]
    if n > 2:
        later = combine([x[: (n - 1) // 2] for x in odd], [x[2::2] for x in xs])
        even = [cat([first, rest]) for first, rest in zip(even, later, strict=True)]
    return [interleaved(a, b) for a, b in zip(even, odd, strict=True)]


def interleaved(a: Tensor, b: Tensor) -> Tensor:
    """One of `a`, one of `b` and so on, where `a` has as many or one more."""
    paired: Tensor = stack([a[: len(b)], b], 1).flatten(0, 1)
    return cat([paired, a[len(b) :]]) if len(a) > len(b) else paired

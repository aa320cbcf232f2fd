"""All partial results of an associative function, in a number of steps that is a logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import pytree
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor
from ..func import vmap

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable[[Any, Any], Any],
    xs: Any,
    dim: int,
    reverse: bool = False,
    combine_mode: str = "pointwise",
) -> Any:
    """What `combine_fn` makes of the items up to each, along `dim`: sums, if it adds.

    combine_fn: an associative function of two items, which runs under `vmap`; xs: a tensor, or
    several in containers. combine_mode: "generic"; "pointwise" is of accelerators. With `reverse`,
    of the items from each to the last. Raises ValueError for "pointwise", and where there is no
    item. Source: PyTorch's operator.

    >>> from retrograd._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, rg.arange(1.0, 5.0), 0, combine_mode="generic")
    tensor([ 1.,  2.,  6., 24.])
    """
    if combine_mode != "generic":
        raise ValueError(
            f"For combine_mode={combine_mode!r}, all input tensors need to be on CUDA or XPU. "
            "Write combine_mode='generic'"
        )
    leaves = pytree.flatten(xs)
    if not all(isinstance(x, Tensor) and x.ndim > dim and x.shape[dim] for x in leaves):
        raise ValueError(
            "All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0"
        )
    together = vmap(combine_fn)

    def combine(left: list[Tensor], right: list[Tensor]) -> list[Tensor]:
        if not left[0].shape[0]:
            return left
        a, b = pytree.unflatten(xs, left), pytree.unflatten(xs, right)
        return list(pytree.flatten(together(a, b)))

    items = [x.movedim(dim, 0) for x in leaves]
    found = partial(combine, [x.flip(0) for x in items] if reverse else items)
    found = [x.flip(0) for x in found] if reverse else found
    return pytree.unflatten(xs, [x.movedim(0, dim) for x in found])


def partial(combine: Callable[..., list[Tensor]], items: list[Tensor]) -> list[Tensor]:
    """The partial results of items: of pairs first, from which those at even places follow."""
    count = items[0].shape[0]
    if count < 2:
        return items
    pairs = combine([x[:-1:2] for x in items], [x[1::2] for x in items])
    odd = partial(combine, pairs)
    before = [x[: (count - 1) // 2] for x in odd]
    even = combine(before, [x[2::2] for x in items])
    even = [recorded.cat(x[:1], e, dim=0) for x, e in zip(items, even, strict=True)]
    return [woven(e, o) for e, o in zip(even, odd, strict=True)]


def woven(even: Tensor, odd: Tensor) -> Tensor:
    """The items of two tensors in turn; the first may have one more."""
    count = odd.shape[0]
    both = recorded.stack(even[:count], odd, dim=1).flatten(0, 1)
    return both if even.shape[0] == count else recorded.cat(both, even[count:], dim=0)

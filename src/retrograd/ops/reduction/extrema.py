"""Largest, smallest, middle and commonest elements, and where they are.

Over everything or over several dimensions (`max()`, `amax`, `median()`), equal elements share the
cotangent evenly; along one dimension (`max(dim)`, `median(dim)`, `mode`), the element whose index
is returned gets it. NaN counts as larger than every number and smaller than every number: where
there is one, it is the result. Complex numbers have no order: NOTE [Order of complex numbers] in
`sorting/complex_order.py` says what is chosen among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.namespaces import recorded
from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...errors import UnorderedError
from ...kernels import sums
from ...kernels.allocation import full, known_true, table, zeros
from ...kernels.memory import in_rows
from ...kernels.native.small import quick
from ...kernels.search import kth, ranked
from ..core import batching, return_types
from ..core.arguments import ORDERED, public
from ..core.dims import as_number, check_kept, wrap_dim, wrap_dims
from ..core.pointwise import shared
from ..indexing.take_along import pick
from .sum_prod import ALL, DIMS

__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "max", "median", "min", "mode", "nanmedian",
]  # fmt: skip

FULL = ALL[:2]
SEVERAL = [e for e in DIMS if "3x0" not in e.specs]
ONE = [
    example("3x4", dim=(0,), keepdim=False),
    example("2x3x2", dim=(1,), keepdim=True),
    example("5", dim=(0,), keepdim=False),
    example("", dim=(), keepdim=False),
]


def ordered(x: Any, name: str) -> Any:
    """`x`, or UnorderedError for complex numbers, with the name of the function."""
    if x.dtype.kind == "c":
        raise UnorderedError(name, name in ORDERED)
    return x


def least(x: Any) -> complex:
    """What no element is smaller than: of complex numbers, by modulus and then by angle."""
    return complex(-0.0, -0.0) if x.dtype.kind == "c" else -np.inf


def check_elements(input: Tensor, dims: tuple[int, ...], name: str) -> None:
    """Raise IndexError if one of `dims` has no elements to choose from."""
    for d in dims:
        if input.shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


def empty_error(name: str, kind: type[Exception] = RuntimeError) -> Exception:
    """What to raise for a reduction of no elements over everything."""
    return kind(
        f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
        "reduction dim with the 'dim' argument."
    )


# -- over everything or several dimensions: ties share -------------------------------------------


def _tie_share(x: Any, out: Any, *, dim: Any, keepdim: bool) -> Any:
    if dim is not None and not keepdim:
        out = np.expand_dims(out, dim)
    ties = (x == out) | (np.isnan(x) & np.isnan(out))
    number = ties.sum(dim, np.float64, keepdims=dim is not None)
    share = np.true_divide(ties, np.maximum(number, 1))
    return share.astype(x.dtype, "C" if dim is None else "K")


tie_share = declare(
    "tie_share(input, out, *, dim, keepdim)",
    _tie_share,
    complex=False,
    batch=batching.tie_share,
    examples=[example("3x4, 3", dim=(1,), keepdim=False), example("3, ", dim=None, keepdim=False)],
    doc="""1 / their number for the elements that equal the extremum `out` over `dim`, 0 else.""",
)


def whole_extremum(ufunc: Any, name: str) -> Any:
    """The forward of `max` or `min` over everything."""

    def forward(input: Any) -> Any:
        if input.size == 0:
            raise empty_error(name)
        return sums.reduced(ufunc, ordered(input, name), None)

    return forward


def extrema_over(ufunc: Any, name: str) -> Any:
    """The forward of `amax` or `amin`."""

    def forward(input: Any, *, dim: Any, keepdim: bool) -> Any:
        return sums.reduced(ufunc, ordered(input, name), dim, None, keepdim)

    return forward


def _median(x: Any) -> Any:
    flat = ordered(x, "median").reshape(-1)
    if flat.size == 0:
        return full(x, (), np.nan if x.dtype.kind in "fV" else np.iinfo(x.dtype).min)
    bad, middle = np.isnan(flat), (flat.size - 1) // 2
    found, spoilt = np.partition(flat, middle)[middle], bad.any()
    return found if known_true(~spoilt) else np.where(spoilt, flat[bad.argmax()], found)


def _nanmedian(x: Any) -> Any:
    flat = x.reshape(-1)
    present = flat[~np.isnan(flat)]
    return _median(present if present.size else flat)


_full = {
    name: declare(
        f"{name}(input)",
        forward,
        input=lambda xp, g, input, out: shared(
            xp, g, xp.tie_share(input, out, dim=None, keepdim=False)
        ),
        complex=False,
        examples=FULL,
        batch={"max": batching.full_reduction("amax"), "min": batching.full_reduction("amin")}.get(
            name
        ),
        node_name=node_name,
    )
    for name, forward, node_name in (
        ("max", whole_extremum(np.maximum, "max"), "MaxBackward1"),
        ("min", whole_extremum(np.minimum, "min"), "MinBackward1"),
        ("median", _median, "MedianBackward0"),
        ("nanmedian", _nanmedian, "NanmedianBackward0"),
    )
}

_several = {
    name: declare(
        f"{name}(input, *, dim, keepdim)",
        extrema_over(ufunc, name),
        input=lambda xp, g, input, out, dim, keepdim: shared(
            xp,
            xp.unreduce(g, dim=dim, keepdim=keepdim, shape=None),
            xp.tie_share(input, out, dim=dim, keepdim=keepdim),
        ),
        complex=False,
        examples=SEVERAL,
    )
    for name, ufunc in (("amax", np.maximum), ("amin", np.minimum))
}

# -- along one dimension: the named element takes all --------------------------------------------


def choice(choose: Any, name: str) -> Any:
    """The forward of a choice along one dim: `choose(lines, axis)` gives indices, the size kept."""

    def forward(input: Any, *, dim: Any, keepdim: bool, **params: Any) -> Any:
        data = np.atleast_1d(ordered(input, name))
        axis = dim[0] if dim else 0
        places = in_rows(choose(data, axis, **params))
        values = pick(data, places, axis)
        shape = [1 if i in dim else n for i, n in enumerate(input.shape) if keepdim or i not in dim]
        return values.reshape(shape), places.reshape(shape)

    return quick(name)(forward) if choose in (largest, smallest) else forward


def chosen_input(
    xp: Any, g: Any, indices: Any, dim: Any, keepdim: bool, input_shape: tuple[int, ...]
) -> Any:
    """The formula of every choice: the cotangent goes where the index points."""
    return xp.place_along(
        xp.unreduce(g, dim=dim, keepdim=keepdim, shape=None),
        xp.unreduce(indices, dim=dim, keepdim=keepdim, shape=None),
        dim=dim[0] if dim else 0,
        shape=input_shape,
    )


def largest(x: Any, axis: int) -> Any:
    """The place of the first largest element, or of the first NaN."""
    return np.argmax(x, axis, keepdims=True)


def smallest(x: Any, axis: int) -> Any:
    """The place of the first smallest element, or of the first NaN."""
    return np.argmin(x, axis, keepdims=True)


def middle(x: Any, axis: int) -> Any:
    """The place of the lower median, or of the first NaN."""
    places = kth(x, axis, (x.shape[axis] + 1) // 2)
    bad = np.isnan(x)
    return np.where(bad.any(axis, keepdims=True), np.argmax(bad, axis, keepdims=True), places)


def middle_present(x: Any, axis: int) -> Any:
    """Where the lower median of what is not NaN is; the first NaN if nothing else is there."""
    order = ranked(x, axis)  # NaN last
    present = np.add.reduce(~np.isnan(x), axis, np.int64, keepdims=True)
    return pick(order, np.maximum(present - 1, 0) // 2, axis)


def commonest(x: Any, axis: int) -> Any:
    """The last place of the commonest element, the smallest of several."""
    order = ranked(x, axis).swapaxes(0, axis)
    s = pick(x.swapaxes(0, axis), order, 0)
    steps = table(s, np.arange(len(s)).reshape([-1] + [1] * (s.ndim - 1)))
    starts = zeros(s, s.shape, np.int64)
    starts[1:] = np.where(s[1:] != s[:-1], steps[1:], 0)
    run = steps - sums.accumulated(np.maximum, starts)
    return pick(order, np.argmax(run, 0, keepdims=True), 0).swapaxes(0, axis)


_along = {
    name: declare(
        f"{name}_dim(input, *, dim, keepdim) -> values, indices",
        choice(choose, name),
        input=chosen_input,
        nondiff=["indices"],
        complex=False,
        examples=ONE,
        node_name=node_name,
        saved={"dim": as_number},
    )
    for name, choose, node_name in (
        ("max", largest, "MaxBackward0"),
        ("min", smallest, "MinBackward0"),
        ("median", middle, "MedianBackward1"),
        ("nanmedian", middle_present, "NanmedianBackward1"),
        ("mode", commonest, "ModeBackward0"),
    )
}


def _pair(name: str, input: Tensor, dim: Any, keepdim: bool) -> Any:
    """(values, indices) of a choice along one dim, as the named tuple of PyTorch."""
    at = wrap_dim(input, dim)
    dims = (at,) if input.ndim else ()
    check_elements(input, dims, name)
    return getattr(return_types, name)(*_along[name](input, dim=dims, keepdim=keepdim))


def _of_all_or_along(name: str, input: Tensor, dim: Any, keepdim: bool) -> Any:
    check_kept(name, dim, keepdim)
    return _full[name](input) if dim is None else _pair(name, input, dim, keepdim)


def _max_or_min(name: str, several: Any, input: Tensor, dim: Any, keepdim: bool, other: Any) -> Any:
    if isinstance(dim, Tensor) and not keepdim:
        dim, other = None, dim
    if other is None:
        return _of_all_or_along(name, input, dim, keepdim)
    check_kept(name, dim, keepdim)
    return several(input, other)


@public(out=True, methods="max")
def max(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Any:
    """The largest element; along `dim` a pair (values, indices); of two tensors `maximum`.

    Over everything, equal elements share the cotangent evenly; along `dim`, the first gets it, and
    is the one named. Complex numbers are compared as `by` says: by "modulus", the default (those of
    equal one by their angle), "lexicographic" (real, then imaginary parts), or in their "parts".
    Raises RuntimeError or IndexError where there are no elements. PyTorch's takes real numbers
    only.

    >>> x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> rg.max(x), rg.max(x, 0).indices
    (tensor(5.), tensor([1, 0]))
    >>> z = rg.tensor([1 + 1j, -3j, 2.0])
    >>> rg.max(z), rg.max(z, by="lexicographic")
    (tensor(-0.-3.j), tensor(2.+0.j))
    """
    return _max_or_min("max", recorded.maximum, input, dim, keepdim, other)


@public(out=True, methods="min")
def min(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None
) -> Any:
    """The smallest element; along `dim` a pair (values, indices); of two tensors `minimum`.

    Like `max`.

    >>> rg.min(rg.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1).values
    tensor([1., 2.])
    """
    return _max_or_min("min", recorded.minimum, input, dim, keepdim, other)


def _amax_or_amin(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    dims = wrap_dims(input, dim)
    if (dim is None or (isinstance(dim, (tuple, list)) and not dim)) and 0 in input.shape:
        raise empty_error(name)
    check_elements(input, dims, name)
    return _several[name](input, dim=dims, keepdim=keepdim)


@public(out=True, methods="amax")
def amax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The largest elements over `dim` (an int, a tuple, or all); equal ones share the cotangent.

    Raises as `max`.

    >>> rg.amax(rg.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=0)
    tensor([3., 5.])
    """
    return _amax_or_amin("amax", input, dim, keepdim)


@public(out=True, methods="amin")
def amin(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The smallest elements over `dim`; like `amax`.

    >>> rg.amin(rg.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=0)
    tensor([1., 2.])
    """
    return _amax_or_amin("amin", input, dim, keepdim)


@public(out=True, methods="aminmax")
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The pair (`amin`, `amax`) over everything or one dimension, with the names min and max.

    Raises RuntimeError where there are no elements, IndexError where there are none along `dim`.

    >>> rg.aminmax(rg.tensor([3.0, 1.0])).max
    tensor(3.)
    """
    place = None if dim is None else wrap_dim(input, dim)
    if 0 in [input.shape[d] for d in wrap_dims(input, dim)]:
        if place is not None:
            raise IndexError(f"aminmax: Expected reduction dim {place} to have non-zero size.")
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no "
            "identity."
        )
    both = amin(input, dim, keepdim), amax(input, dim, keepdim)
    return return_types.aminmax(*[name_node(extremum, "AminmaxBackward0") for extremum in both])


@public(out=True, methods="median")
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median, the lower one of an even number; along `dim` a pair (values, indices).

    NaN if an element is NaN. Over everything, elements that equal the median share the cotangent;
    along `dim` the one named gets it. Raises IndexError for an empty `dim`.

    >>> rg.median(rg.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    return _of_all_or_along("median", input, dim, keepdim)


@public(out=True, methods="nanmedian")
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """`median` of the elements that are not NaN.

    >>> rg.nanmedian(rg.tensor([4.0, float("nan"), 3.0]))
    tensor(3.)
    """
    return _of_all_or_along("nanmedian", input, dim, keepdim)


@public(out=True, methods="mode")
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along `dim`, the smallest of several: a pair (values, indices).

    The index is that of its last occurrence, which gets the cotangent.

    >>> rg.mode(rg.tensor([3, 1, 3, 1, 1]))
    retrograd.return_types.mode(
    values=tensor(1),
    indices=tensor(4))
    """
    return _pair("mode", input, dim, keepdim)


# -- places alone, without derivatives -----------------------------------------------------------


def place_forward(choose: Any, name: str) -> Any:
    """The forward of `argmax` or `argmin`; `dim` None numbers the elements in C order."""

    def forward(input: Any, *, dim: int | None, keepdim: bool) -> Any:
        if dim is None or input.ndim == 0:
            found = choose(ordered(input, name), None)
            return np.reshape(found, [1] * input.ndim if keepdim else ())
        return choose(ordered(input, name), dim, keepdims=keepdim)

    return forward


_place = {
    name: declare(
        f"{name}(input, *, dim, keepdim)",
        place_forward(choose, name),
        complex=False,
        batch=batching.position(name),
        examples=[example("3x4", dim=1, keepdim=False), example("3", dim=None, keepdim=True)],
    )
    for name, choose in (("argmax", np.argmax), ("argmin", np.argmin))
}


def _arg(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    at = None if dim is None else wrap_dim(input, dim)
    if at is not None and input.ndim:
        check_elements(input, (at,), name)
    elif 0 in input.shape:
        raise empty_error(name, IndexError)
    return _place[name](input, dim=at, keepdim=keepdim)


@public(out=True, methods="argmax")
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, in C order or along `dim`; int64.

    Of complex numbers that of the largest modulus, unless `by` says otherwise. Raises IndexError
    where there are no elements.

    >>> x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> rg.argmax(x), rg.argmax(x, dim=0)
    (tensor(1), tensor([1, 0]))
    """
    return _arg("argmax", input, dim, keepdim)


@public(out=True, methods="argmin")
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element, in C order or along `dim`; like `argmax`.

    >>> rg.argmin(rg.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([0, 1])
    """
    return _arg("argmin", input, dim, keepdim)

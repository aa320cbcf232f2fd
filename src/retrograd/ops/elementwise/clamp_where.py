"""Choosing between values: larger and smaller, bounds, `where`, replacing NaN and infinities.

NOTE [Derivatives where two values tie]
1. `maximum` and `minimum` share the derivative evenly at equal elements, the subgradient of least
   norm; where an element is NaN both get all of it.
2. `fmax` and `fmin` of equal elements give all of it to `input`.
3. `clamp` at a bound passes the derivative to `input`.
These are PyTorch's choices; 2 and 3 are subgradients too, though not the shortest.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, modes
from ...engine.dispatch import as_tensor
from ...engine.registry import example, renamed
from ...engine.tensor import Tensor, method
from ...errors import UnorderedError, wrong_type
from ...kernels.allocation import copied
from ...kernels.layout import laid_out
from ..core.arguments import public
from ..core.pointwise import binary, holds_complex, only, pointwise, promoted, unsupported, where_op
from ..creation.from_data import filler
from .complex import by_parts

__all__ = [
    "clamp", "clamp_max", "clamp_min", "clip", "fmax", "fmin", "maximum", "minimum", "nan_to_num",
    "where",
]  # fmt: skip

BOUNDS = "A complex number bounds both parts of a complex tensor: write clamp(x + 0j, ...)"
NO_BOUND = "torch.clamp: At least one of 'min' or 'max' must not be None"
NOT_BOOL = (
    "where expected condition to be a boolean tensor, but got a tensor with dtype {dtype}. Write "
    "the comparison: where(x != 0, ...)"
)
OLDER = (
    "where received a uint8 condition tensor. This behavior is deprecated. Write the comparison: "
    "where(x != 0, ...)"
)


def _larger_share(input: Any, left: Any, right: Any) -> Any:
    return np.where(left < right, 0, np.where(left == right, input * 0.5, input))


pointwise(
    "larger_share(input, left, right)",
    _larger_share,
    input=lambda xp, g, left, right: xp.larger_share(g, left, right),
    linear="input",
    complex=False,
    examples=["3x4, 3x4, 3x4", "4, 3x1, 4"],
    doc="""What of `input` goes to `left` if the larger of two gets it: half where they tie.""",
)


def _ordered(name: str, function: Any) -> Any:
    """A forward that raises UnorderedError for complex numbers."""

    def on_ordered(x: Any, y: Any) -> Any:
        if x.dtype.kind == "c":
            raise UnorderedError(name)
        return function(x, y)

    return on_ordered


maximum = binary(
    "maximum",
    _ordered("maximum", np.maximum),
    "The larger of two elements, NaN if either is; equal ones share the derivative evenly.",
    ("[1.0, 5.0]", "[3.0, 2.0]", "[3., 5.]"),
    input=lambda xp, g, input, other: xp.larger_share(g, input, other),
    other=lambda xp, g, input, other: xp.larger_share(g, other, input),
    leads="input",
    complex=False,
    inplace=False,
)

minimum = binary(
    "minimum",
    _ordered("minimum", np.minimum),
    "The smaller of two elements, NaN if either is; equal ones share the derivative evenly.",
    ("[1.0, 5.0]", "[3.0, 2.0]", "[1., 2.]"),
    input=lambda xp, g, input, other: xp.larger_share(g, other, input),
    other=lambda xp, g, input, other: xp.larger_share(g, input, other),
    leads="input",
    complex=False,
    inplace=False,
)

fmax = binary(
    "fmax",
    _ordered("fmax", np.fmax),
    "The larger of two elements, the other one if one is NaN; the derivative goes to one of them.",
    ("[1.0, float('nan')]", "[3.0, 2.0]", "[3., 2.]"),
    input=lambda xp, g, input, other: xp.zero_where(g, ~((input >= other) | xp.isnan(other))),
    other=lambda xp, g, input, other: xp.zero_where(g, (input >= other) | xp.isnan(other)),
    contiguous="input, other",
    complex=False,
    inplace=False,
)

fmin = binary(
    "fmin",
    _ordered("fmin", np.fmin),
    "The smaller of two elements, the other one if one is NaN; the derivative goes to one of them.",
    ("[1.0, float('nan')]", "[3.0, 2.0]", "[1., 2.]"),
    input=lambda xp, g, input, other: xp.zero_where(g, ~((input <= other) | xp.isnan(other))),
    other=lambda xp, g, input, other: xp.zero_where(g, (input <= other) | xp.isnan(other)),
    contiguous="input, other",
    complex=False,
    inplace=False,
)


def _bounded(ufunc: Any, x: Any, bound: Any) -> Any:
    """np.maximum or np.minimum of `x` and a bound: of two zeros the one in `x`, as in PyTorch.

    NumPy gives the second of equal elements, but the first where they are float16.
    """
    return ufunc(x, bound) if x.dtype.char == "e" else ufunc(bound, x)


def _clip(x: Any, min: Any, max: Any) -> Any:
    """x between numbers, of which one may be None; the upper one wins if they cross."""
    low = x if min is None else _bounded(np.maximum, x, min)
    return low if max is None else _bounded(np.minimum, low, max)


def _clamp_numbers(input: Any, *, min: Any, max: Any) -> Any:
    if input.dtype.kind == "f":
        return _clip(input, min, max)
    bounds = [None if b is None else as_tensor(b, input.dtype)._array for b in (min, max)]
    x, *_ = promoted(input, *[b for b in bounds if b is not None])
    return _clip(x, *[None if b is None else b.astype(x.dtype) for b in bounds])


def _outside(input: Any, min: Any, max: Any) -> Any:
    """Where `input` is not within the bounds, NaN included."""
    if min is None:
        return ~(input <= max)
    return ~(input >= min) if max is None else ~((input >= min) & (input <= max))


_clamp = pointwise(
    "clamp_numbers(input, *, min, max)",
    only("clamp", "fiub", _clamp_numbers),
    input=lambda xp, g, input, min, max: xp.zero_where(g, _outside(input, min, max)),
    leads="input",
    complex=False,
    examples=[
        example("3x4", min=-1.0, max=1.0),
        example("", min=0.1, max=None),
        example("0", min=None, max=0.2),
    ],
    node_name="ClampBackward1",
)


def _clamp_tensors(input: Any, min: Any, max: Any) -> Any:
    """Elements bounded by real arrays of any dtypes, in the common one."""
    x, *_ = promoted(*[array for array in (input, min, max) if array is not None])
    low = x if min is None else np.maximum(x, min.astype(x.dtype, copy=False))
    found = low if max is None else np.minimum(low, max.astype(x.dtype, copy=False))
    return laid_out(found, input, min, max)


def _clamp_min(xp: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    chosen = input < min
    return xp.zero_where(g, ~(chosen if max is None else chosen & (min < max)))


def _clamp_max(xp: Any, g: Any, input: Any, min: Any, max: Any) -> Any:
    chosen = input > max
    return xp.zero_where(g, ~(chosen if min is None else chosen | (max < min)))


_clamp_by_tensors = pointwise(
    "clamp_tensors(input, min, max)",
    _clamp_tensors,
    input=lambda xp, g, input, min, max: xp.zero_where(g, _outside(input, min, max)),
    leads="input",
    min=_clamp_min,
    max=_clamp_max,
    complex=False,
    examples=["3x4, 3x4, 3x4", "3x1, 4, none", "3x4, none, "],
    node_name="ClampBackward0",
)

_clamp_min_by_number = renamed(_clamp, "ClampMinBackward0")
_clamp_min_by_tensor = renamed(_clamp_by_tensors, "ClampMinBackward1", lambda node: (0, 1))
_clamp_max_by_number = renamed(_clamp, "ClampMaxBackward0")
_clamp_max_by_tensor = renamed(_clamp_by_tensors, "ClampMaxBackward1", lambda node: (0, 2))


@public(out=True, methods="clamp clamp_")
def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Each element, but not below `min` nor above `max`; the upper bound wins if they cross.

    The bounds are numbers or tensors, broadcast with `input`; one may be left out. A complex tensor
    is bounded in its real and in its imaginary part, by those of a complex bound; with by="modulus"
    in its modulus. The derivative at a bound goes to `input`. Raises RuntimeError without any bound
    and for a complex number as a bound, TypeError for a bound that is neither number nor tensor,
    NotImplementedError for a complex bound of a real tensor.

    >>> rg.clamp(rg.tensor([-2.0, 0.5, 3.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return bounded(input, min, max, _clamp, _clamp_by_tensors)


PLAIN_BOUNDS = frozenset({int, float, type(None)})


def bounded(input: Tensor, min: Any, max: Any, by_numbers: Any, by_tensors: Any) -> Tensor:
    """What `clamp` and its like have in common: they differ in the names of their nodes."""
    if min is None and max is None:
        raise RuntimeError(NO_BOUND)
    kinds = {min.__class__, max.__class__}
    if kinds <= PLAIN_BOUNDS and input._array.dtype.char in "fd":  # the usual case, at once
        for bound in (min, max):
            if bound is not None:
                dtypes.check_scalar(bound, input._array.dtype)
        return by_numbers(input, min=min, max=max)  # type: ignore[no-any-return]
    tensors = isinstance(min, Tensor) or isinstance(max, Tensor)
    for bound in (min, max):
        if isinstance(bound, complex) and (bound.imag or holds_complex(input)):
            raise RuntimeError(
                f"value cannot be converted to type double without overflow: {bound}. A bound is "
                "real; that of a complex tensor holds for both of its parts"
            )
        if bound is not None and not isinstance(bound, (Tensor, int, float, complex, np.generic)):
            raise TypeError(f"clamp(): a bound must be a Tensor or a number, not {bound!r}")
    if holds_complex(input):
        return by_parts(clamp, input, min, max)
    if any(isinstance(bound, Tensor) and holds_complex(bound) for bound in (min, max)):
        raise unsupported("clamp", np.result_type(input._array, np.complex64), BOUNDS)
    dtype = input._array.dtype
    min, max = [
        bound if bound is None or isinstance(bound, Tensor) else dtypes.real_scalar(bound, dtype)
        for bound in (min, max)
    ]
    if not tensors:
        return by_numbers(input, min=min, max=max)  # type: ignore[no-any-return]
    bounds = [None if bound is None else as_tensor(bound, dtype) for bound in (min, max)]
    return by_tensors(input, *bounds)  # type: ignore[no-any-return]


@public(out=True, methods="clip clip_")
def clip(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """`clamp` by another name.

    >>> rg.clip(rg.tensor([-2, 0, 5]), -1, 3)
    tensor([-1,  0,  3])
    """
    return clamp(input, min, max)


@public(out=True, methods="clamp_min clamp_min_")
def clamp_min(input: Tensor, min: Any) -> Tensor:
    """Each element, but not below `min`, as `clamp(input, min)`.

    >>> rg.clamp_min(rg.tensor([-2.0, 0.5]), 0)
    tensor([0.0000, 0.5000])
    """
    if min is None:
        raise wrong_type("clamp_min", "min", "Tensor or Number", min, 2)
    return bounded(input, min, None, _clamp_min_by_number, _clamp_min_by_tensor)


@public(out=True, methods="clamp_max clamp_max_")
def clamp_max(input: Tensor, max: Any) -> Tensor:
    """Each element, but not above `max`, as `clamp(input, max=max)`.

    >>> rg.clamp_max(rg.tensor([0.5, 3.0]), 1)
    tensor([0.5000, 1.0000])
    """
    if max is None:
        raise wrong_type("clamp_max", "max", "Tensor or Number", max, 2)
    return bounded(input, None, max, _clamp_max_by_number, _clamp_max_by_tensor)


@public(out=True)
def where(condition: Tensor, input: Any = ..., other: Any = ...) -> Any:
    """`input` where the condition holds, else `other`, elementwise.

    All three broadcast; `input` and `other` are tensors or numbers, promoted together. The
    derivative of an element goes to the one chosen, and exactly 0 to the other, even where that
    one is NaN. With the condition alone: the indices of its true elements, one tensor per
    dimension. Raises RuntimeError for a condition that is neither bool nor uint8, TypeError for
    one that is no tensor, for `out` with the condition alone, and for one choice without the
    other.

    >>> rg.where(rg.tensor([True, False]), rg.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    >>> rg.where(rg.tensor([[0, 1], [1, 0]]))
    (tensor([0, 1]), tensor([1, 0]))
    """
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): condition must be Tensor, not {type(condition).__name__}")
    if input is ... and other is ...:
        return condition.nonzero(as_tuple=True)
    if any(choice is ... or choice is None for choice in (input, other)):
        raise TypeError(
            "where(): received an invalid combination of arguments: give the condition alone, or "
            "what to choose where it holds and what elsewhere: where(condition, input, other)"
        )
    kind = condition._array.dtype
    if kind != np.bool_:
        if kind != np.uint8:
            raise RuntimeError(NOT_BOOL.format(dtype=dtypes.of_numpy(kind).name))
        modes.warn_once(OLDER)
        condition = condition.bool()
    first = next((t for t in (input, other) if isinstance(t, Tensor)), condition)
    like = first._array.dtype
    return where_op(
        condition,
        filler(input, like, "where", "input", 2),
        filler(other, like, "where", "other", 3),
    )


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """`where(condition, self, other)`: the elements of `self` where the condition holds."""
    chosen: Tensor = where(condition, self, other)
    return chosen


def _nan_to_num(input: Any, *, nan: Any, posinf: Any, neginf: Any) -> Any:
    if input.dtype.kind != "f":
        return copied(input)
    return np.nan_to_num(copied(input), False, nan, posinf, neginf)


_nan_to_num_op = pointwise(
    "nan_to_num(input, *, nan, posinf, neginf)",
    only("nan_to_num", "fiub", _nan_to_num),
    input=lambda xp, g, input: xp.zero_where(g, ~xp.isfinite(input)),
    complex=False,
    examples=[example("3x4", nan=0.0, posinf=None, neginf=None)],
)


@public(out=True, methods="nan_to_num nan_to_num_")
def nan_to_num(
    input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN, inf and -inf replaced by numbers: 0 and the largest finite ones, unless given.

    In a complex tensor, in each part. The derivative is 0 where an element was replaced.

    >>> rg.nan_to_num(rg.tensor([float("nan"), 1.0, float("inf")]), posinf=9.0)
    tensor([0., 1., 9.])
    """
    if holds_complex(input):
        return by_parts(nan_to_num, input, nan, posinf, neginf)
    if input.dtype.is_floating_point:  # the op may compute in another dtype, with other limits
        most = dtypes.finfo(input.dtype).max
        posinf = most if posinf is None else posinf
        neginf = -most if neginf is None else neginf
    filled = 0.0 if nan is None else nan
    return _nan_to_num_op(input, nan=filled, posinf=posinf, neginf=neginf)


method(_where_method, "where")

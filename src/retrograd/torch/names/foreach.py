"""`_foreach_add` and its relatives, by which programs written for PyTorch update many tensors.

Each is a method, of every tensor of a list. An operand that is a list has one item for each tensor,
a tensor or a number; any other is the same for all. A list of tensors or a tensor is `other` by
name, a number `scalar`, a list of numbers `scalars`, as in PyTorch.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...engine.tensor import Tensor
from ...engine.writable import check_writable, is_tracked
from ..tables import older

if TYPE_CHECKING:
    from collections.abc import Callable

EMPTY = "{}(): Tensor list must have at least one tensor."
WANTED = "{}() takes one operand beside the tensors, got {}. Write other=, scalar= or scalars="
LENGTHS = "{}(): Tensor lists must have the same number of tensors, got {} and {}"
NO_LIST = "{}(): argument 'self' (position 1) must be tuple of Tensors, not {}. Write [x]"


def each(name: str, method: str, tensors: Any, *operands: Any, **options: Any) -> Any:
    """The results of `method` for each tensor, with the operands' items in the same place."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(NO_LIST.format(name, type(tensors).__name__))
    if not tensors:
        raise RuntimeError(EMPTY.format(name))
    count = len(tensors)
    columns = []
    for value in (*operands, *options.values()):
        columns.append(value if isinstance(value, (list, tuple)) else (value,) * count)
        if len(columns[-1]) != count:
            raise RuntimeError(LENGTHS.format(name, count, len(columns[-1])))
    rows = list(zip(tensors, *columns, strict=True))
    if name.endswith("_"):  # nothing is written if one must not be
        for tensor, *values in rows:
            others = [value for value in values if isinstance(value, Tensor)]
            check_writable(tensor, name, is_tracked(tensor, others))
    found = []
    for tensor, *values in rows:
        given = dict(zip(options, values[len(operands) :], strict=True))
        found.append(getattr(tensor, method)(*values[: len(operands)], **given))
    return tensors if name.endswith("_") else tuple(found)


def operand(of: Any, *given: Any) -> Any:
    """The one operand that was given, by any of its names."""
    found = [value for value in given if value is not None]
    if len(found) != 1:
        raise TypeError(WANTED.format(of.args[0], len(found)))
    return found[0]


def unary(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: of(self)


def binary(of: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None) -> Any:
        return of(self, operand(of, other, scalar, scalars))

    return call


def scaled(of: Callable[..., Any]) -> Callable[..., Any]:
    def call(
        self: Any, other: Any = None, *, alpha: Any = 1, scalar: Any = None, scalars: Any = None
    ) -> Any:
        return of(self, operand(of, other, scalar, scalars), alpha=alpha)

    return call


def weighted(of: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        given = value if scalars is None else scalars
        several = isinstance(given, Tensor) and given.ndim
        return of(self, tensor1, tensor2, value=given.tolist() if several else given)

    return call


def power(of: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, exponent: Any) -> Any:
        if isinstance(self, (list, tuple)):
            return of(self, exponent)
        return each("_foreach_pow", "__rpow__", exponent, self)

    return call


def between(of: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
        return of(self, tensors1, operand(of, weight, weights))

    return call


def normed(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, ord=2, dtype=None: of(self, ord, dtype=dtype)


def copied(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, src, non_blocking=False: of(self, src)


Row = tuple[str, "Callable[..., Any]", str]

# What follows `_foreach_`; the arguments; those of an example after the list [x, x].
TABLE: list[Row] = [
    (
        "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p "
        "log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc",
        unary,
        "",
    ),
    ("clamp_max clamp_min div maximum minimum mul", binary, ", 2"),
    ("add sub", scaled, ", [x, x]"),
    ("pow", power, ", 2"),
    ("addcdiv addcmul", weighted, ", [x, x], [x, x]"),
    ("lerp", between, ", [x, x], 0.5"),
]
ALONE: list[Row] = [  # the same, without an in-place form
    ("clone max zero_", unary, ""),
    ("norm", normed, ""),
    ("copy_", copied, ", [x, x]"),
]
METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}  # these have in-place forms, too


def foreach_function(kind: str, form: Callable[..., Any], given: str) -> Callable[..., Any]:
    """The function whose name ends in `kind`."""
    name, plain = f"_foreach_{kind}", kind.removesuffix("_")
    method = METHODS.get(plain, plain) + kind[len(plain) :]
    return older(
        name,
        form(partial(each, name, method)),
        f"`{method}` of each tensor of a list. Source: PyTorch's `{name}`.",
        f"x = rg.ones(2)\nlen(rg.{name}([x, x]{given}))",
        "2",
        returns="Any",
    )


ROWS: list[Row] = [(kind, form, given) for kinds, form, given in TABLE for kind in kinds.split()]
ROWS += [(f"{kind}_", form, given) for kind, form, given in ROWS]
ROWS += [(kind, form, given) for kinds, form, given in ALONE for kind in kinds.split()]
globals().update({f"_foreach_{row[0]}": foreach_function(*row) for row in ROWS})
__all__ = [f"_foreach_{row[0]}" for row in ROWS]

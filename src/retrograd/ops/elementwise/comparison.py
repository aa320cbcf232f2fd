"""Comparisons and tests, elementwise, giving bool tensors without history.

Complex numbers can be equal; an order they have not, and asking for one raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.inplace import in_place
from ...engine.registry import declare, example, operator
from ...engine.tensor import Tensor, method
from ...kernels.allocation import has_values
from ...kernels.layout import laid_out
from ..core.arguments import public
from ..core.pointwise import PAIRS, only, pointwise, unary, unsupported, with_doctest
from ..tensor.operators import show_operators

__all__ = [
    "allclose", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose", "isfinite",
    "isinf", "isnan", "isneginf", "isposinf", "isreal", "le", "less", "less_equal", "lt", "ne",
    "not_equal",
]  # fmt: skip

NO_ORDER = (
    "Complex numbers have no order: compare abs(), or real and imag, or ask for equality with eq()"
)


def _ordered(name: str, function: Any) -> Any:
    def on_ordered(x: Any, y: Any) -> Any:
        if x.dtype.kind == "c":
            raise unsupported(name, x.dtype, NO_ORDER)
        return function(x, y)

    return on_ordered


def _compare(name: str, function: Any, about: str, shown: str, alias: str = "") -> Any:
    """Declare one comparison, with its methods, in-place forms and operator."""
    doc = with_doctest(
        f"Whether {about}, elementwise; `other` is a tensor or a number, and both broadcast.",
        f"{name}(rg.tensor([1.0, 2.0, 3.0]), 2)",
        shown,
    )
    call = declare(
        f"{name}(input, other)",
        function if name in ("eq", "ne") else _ordered(name, function),
        elementwise=True,
        complex=name in ("eq", "ne"),
        examples=PAIRS,
        doc=doc,
    )

    for known in filter(None, (name, alias)):
        method(call, known)
        method(in_place(call, f"{known}_"), f"{known}_")
    method(operator(call, f"__{name}__"), f"__{name}__")
    return call


eq = _compare("eq", np.equal, "`input` equals `other`", "[False,  True, False]")
ne = not_equal = _compare(
    "ne", np.not_equal, "`input` differs from `other`", "[ True, False,  True]", "not_equal"
)
lt = less = _compare("lt", np.less, "`input` < `other`", "[ True, False, False]", "less")
le = less_equal = _compare(
    "le", np.less_equal, "`input` <= `other`", "[ True,  True, False]", "less_equal"
)
gt = greater = _compare("gt", np.greater, "`input` > `other`", "[False, False,  True]", "greater")
ge = greater_equal = _compare(
    "ge", np.greater_equal, "`input` >= `other`", "[False,  True,  True]", "greater_equal"
)


def _test(name: str, function: Any, about: str, shown: tuple[str, str], **options: Any) -> Any:
    return unary(name, function, f"Whether each element {about}.", shown, inplace=False, **options)


def _isreal(x: Any) -> Any:
    return x.imag == 0 if x.dtype.kind == "c" else laid_out(np.ones_like(x, np.bool_), x)


isnan = _test("isnan", np.isnan, "is NaN, or has such a part", ("[1.0, float('nan')]",
              "[False,  True]"))  # fmt: skip
isinf = _test("isinf", np.isinf, "is infinite, or has such a part", ("[1.0, -float('inf')]",
              "[False,  True]"))  # fmt: skip
isfinite = _test("isfinite", np.isfinite, "is neither infinite nor NaN", ("[1.0, float('inf')]",
                 "[ True, False]"))  # fmt: skip
isposinf = _test("isposinf", only("isposinf", "fiub", np.isposinf), "is +inf",
                 ("[1.0, float('inf')]", "[False,  True]"), complex=False)  # fmt: skip
isneginf = _test("isneginf", only("isneginf", "fiub", np.isneginf), "is -inf",
                 ("[1.0, -float('inf')]", "[False,  True]"), complex=False)  # fmt: skip
isreal = _test("isreal", _isreal, "has imaginary part 0", ("[1.0 + 0j, 1j]", "[ True, False]"))


def _isclose(input: Any, other: Any, *, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = np.equal(input, other)  # exact for integers, too, which NumPy's isclose makes floats
    if equal_nan:
        close = close | (np.isnan(input) & np.isnan(other))
    if rtol == atol == 0:
        return laid_out(close, input, other)
    near = np.isclose(input, other, rtol, atol)  # so is infinity, where the tolerance is infinite
    return laid_out(close | (near & np.isfinite(input)), input, other)


_isclose_op = pointwise(
    "isclose(input, other, *, rtol, atol, equal_nan)",
    _isclose,
    examples=[example("3x1, 4", rtol=1e-5, atol=1e-8, equal_nan=False)],
)


@public(methods="isclose")
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether |input - other| <= atol + rtol * |other|, elementwise; equal infinities are close.

    The tolerances may be tensors with one element. Raises RuntimeError for different dtypes and
    negative tolerances, TypeError for those that require grad.

    >>> rg.isclose(rg.tensor([1.0, 2.0]), rg.tensor([1.000001, 2.1]))
    tensor([ True, False])
    """
    if input._array.dtype != other._array.dtype:
        names = [dtypes.legacy_name(t.dtype) for t in (input, other)]
        raise RuntimeError(f"{names[0]} did not match {names[1]}: isclose() compares equal dtypes")
    rtol, atol = _tolerance(rtol, "rtol"), _tolerance(atol, "atol")
    return _isclose_op(input, other, rtol=rtol, atol=atol, equal_nan=equal_nan)


def _tolerance(value: Any, name: str) -> Any:
    """A tolerance as a number; it may be a batch of them."""
    if isinstance(value, Tensor):
        value = value.item()
    if not value >= 0:
        raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    return value


@public(methods="allclose")
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds for every element.

    >>> rg.allclose(rg.tensor([1.0, 2.0]), rg.tensor([1.000001, 2.0]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@public(methods="equal")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements.

    Raises NotImplementedError for tensors of the meta device.

    >>> rg.equal(rg.tensor([1, 2]), rg.tensor([1, 2])), rg.equal(rg.tensor([1]), rg.tensor([1, 1]))
    (True, False)
    """
    x, y = input._array, other._array
    if not has_values(x) or not has_values(y):
        raise NotImplementedError("equal() of meta tensors: they have a shape, and no values")
    return x.shape == y.shape and bool((x == y).all())


show_operators()

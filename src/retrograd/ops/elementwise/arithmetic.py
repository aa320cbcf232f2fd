"""Arithmetic: + - * / and their relatives, with broadcasting and PyTorch's promotion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.backward.fitting import expands
from ...engine.dispatch import as_tensor, operand
from ...engine.inplace import in_place
from ...engine.namespaces import recorded
from ...engine.registry import declare, example, name_node, renamed
from ...engine.tensor import Tensor, method
from ...kernels.layout import apply_binary
from ..core.arguments import number_in, public
from ..core.dims import integers, once
from ..core.engine_ops import cast, sum_to
from ..core.pointwise import PAIRS, pointwise, unsupported
from ..tensor.operators import attach_in_place, attach_operator, show_operators

__all__ = [
    "add", "div", "divide", "mul", "multiply", "neg", "negative", "positive", "rsub", "sub",
    "subtract", "true_divide",
]  # fmt: skip


def promote_factor(x: Any, y: Any) -> tuple[Any, Any]:
    """`dtypes.promote` for factors: beside half floats a number, or a 0-d `y`, is float32."""
    if dtypes.half(x.dtype) and (
        y.dtype is dtypes.NUMBER or (y.ndim == 0 and dtypes.common(x, y) == x.dtype)
    ):
        return x, dtypes.converted(y, dtypes.NUMBER)
    return dtypes.promote(x, y)


def promote_quotient(x: Any, y: Any) -> tuple[Any, Any]:
    """`dtypes.promote_floating`, but `promote_factor` where `x` is of half floats."""
    return (promote_factor if dtypes.half(x.dtype) else dtypes.promote_floating)(x, y)


mul = declare(
    "mul(input, other)",
    np.multiply,
    methods=["__mul__", "__rmul__", "mul", "multiply"],
    input=lambda xp, g, other: g * xp.conj(other),
    other=lambda xp, g, input: g * xp.conj(input),
    linear="input | other",
    elementwise=True,
    number_first=True,
    promote=promote_factor,
    examples=PAIRS,
    doc="""Product, elementwise.

    `input` and `other` (a tensor or a number) broadcast and promote; the result has their common
    shape and dtype. Raises RuntimeError where the shapes do not broadcast.

    >>> rg.mul(rg.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """,
)

_add = declare(
    "add(input, other)",
    np.add,
    methods=["__add__", "__radd__"],
    input=lambda xp, g: g,
    other=lambda xp, g: g,
    linear="input, other",
    elementwise=True,
    number_first=True,
    examples=PAIRS,
    saved={"alpha": lambda: 1},
)

NO_DIFFERENCE = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. To invert a mask, use the "
    "`~` or `logical_not()` operator; to compute with its values, convert it first: mask.int()"
)


def check_numbers(x: Any, y: Any) -> None:
    """Raise RuntimeError for the difference of a boolean array and one of numbers."""
    if (x.dtype.kind == "b") is not (y.dtype.kind == "b"):
        raise RuntimeError(NO_DIFFERENCE)


def _numbers(x: Any, y: Any) -> tuple[Any, Any]:
    check_numbers(x, y)
    return dtypes.promote(x, y)


_sub = declare(
    "sub(input, other)",
    np.subtract,
    promote=_numbers,
    methods=["__sub__"],
    input=lambda xp, g: g,
    other=lambda xp, g: -g,
    linear="input, other",
    elementwise=True,
    number_first=True,
    examples=PAIRS,
    saved={"alpha": lambda: 1},
)


def _div_arrays(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iub":  # NumPy would give float64
        x, y = x.astype(dtypes.default_numpy()), y.astype(dtypes.default_numpy())
    return np.true_divide(x, y)


_div = declare(
    "div(input, other)",
    _div_arrays,
    methods=["__truediv__"],
    promote=promote_quotient,
    input=lambda xp, g, other: g / xp.conj(other),
    other=lambda xp, g, input, other: -g * xp.conj((input / other) / other),
    elementwise=True,
    number_first=True,
    examples=PAIRS,
    domain=(0.5, 2.0),
)


def _check_divisor(x: Any) -> None:
    """Raise for an integer 0 among divisors."""
    if x.dtype.kind in "iu" and not np.all(x):
        raise RuntimeError("ZeroDivisionError: div() of integers by a tensor holding 0")


def _floor_arrays(x: Any, y: Any) -> Any:
    _check_divisor(y)
    return np.floor_divide(x, y)


def _trunc_arrays(x: Any, y: Any) -> Any:
    if x.dtype.kind not in "iu":
        return np.trunc(np.true_divide(x, y)).astype(x.dtype, copy=False)
    _check_divisor(y)
    floor = np.floor_divide(x, y)
    return floor + ((floor * y != x) & ((x < 0) != (y < 0)))


_floor_div, _trunc_div = [
    declare(
        f"{name}(input, other)",
        forward,
        promote=promote_factor,
        input=lambda xp, g: xp.zeros_like(g),
        other=lambda xp, g: xp.zeros_like(g),
        elementwise=True,
        number_first=True,
        complex=False,
        examples=PAIRS,
        domain=(0.5, 4.0),
        node_name="DivBackward2",
    )
    for name, forward in (("floor_div", _floor_arrays), ("trunc_div", _trunc_arrays))
]

neg = declare(
    "neg(input)",
    np.negative,
    methods=["__neg__", "neg", "negative"],
    input=lambda xp, g: -g,
    linear="input",
    elementwise=True,
    examples=["3x4", "", "0"],
    doc="""Negation, elementwise; booleans raise.

    >>> rg.neg(rg.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """,
)


def _times(input: Any, *, factor: Any) -> Any:
    x, y = promote_factor(input, dtypes.operand_array(factor, input.dtype))
    return dtypes.rounded(np.multiply(x, y), x, y)


_scaled = pointwise(
    "scaled(input, *, factor)",
    _times,
    input=lambda xp, g, factor: xp.scaled(g, factor=factor.conjugate()),
    linear="input",
    examples=[example("3x4", factor=2), example("", factor=-0.5)],
)


def _plus_times(input: Any, other: Any, *, alpha: Any) -> Any:
    x, y = dtypes.promote(input, other)
    kind = y.dtype
    if kind == np.bool_:
        return x | (y & bool(alpha))
    factor = operand(alpha, kind)._array  # rounded to half floats, unlike a factor of `mul`
    if dtypes.half(kind):
        x, y, factor = [each.astype(np.float32) for each in (x, y, factor)]
        return apply_binary(np.add, x, np.multiply(y, factor)).astype(kind)
    return apply_binary(np.add, x, np.multiply(y, factor))


_add_scaled = pointwise(
    "add_scaled(input, other, *, alpha)",
    _plus_times,
    input=lambda xp, g: g,
    other=lambda xp, g, alpha: xp.scaled(g, factor=alpha.conjugate()),
    linear="input, other",
    examples=[example("3x4, 4", alpha=2), example(", ", alpha=-0.5)],
    node_name="AddBackward0",
)

_sub_scaled = pointwise(
    "sub_scaled(input, other, *, alpha)",
    lambda input, other, *, alpha: _plus_times(input, other, alpha=-alpha),
    input=lambda xp, g: g,
    other=lambda xp, g, alpha: xp.scaled(g, factor=-alpha.conjugate()),
    linear="input, other",
    examples=[example("3x4, 4", alpha=2), example(", ", alpha=-0.5)],
    node_name="SubBackward0",
)
_rsub_scaled = renamed(_sub_scaled, "RsubBackward0", lambda node: (1, 0))
_rsub_number_scaled = renamed(_sub_scaled, "RsubBackward1", lambda node: (1,))


def scaled(name: str, function: Any, input: Any, other: Any, alpha: Any) -> Any:
    """`input + alpha * other` by a record, minus in `sub`; RuntimeError where `alpha` does not fit.

    As in PyTorch, the factor is no saved value: nothing of it is freed.
    """
    alpha = number_in(alpha, name, "alpha")
    tensors = [x for x in (input, other) if isinstance(x, Tensor)]
    like = tensors[0]._array.dtype if tensors else np.dtype(np.bool_)
    input, other = operand(input, like), operand(other, like)
    if name == "sub":
        check_numbers(input._array, other._array)
    dtype = dtypes.common(input._array, other._array)
    check_alpha(alpha, dtype)
    if name == "sub" and dtype == np.bool_:
        return _sub(input, other)  # which raises: booleans have no difference
    if other._array.dtype != dtype:  # the product of small integers would wrap around
        other = cast(other, dtype=dtype)
    return function(input, other, alpha=alpha)


def check_alpha(alpha: Any, dtype: np.dtype[Any], name: str = "alpha") -> None:
    """Raise RuntimeError for a factor that a result of `dtype` does not take."""
    if isinstance(alpha, bool) and dtype != np.bool_:
        raise RuntimeError(f"Boolean {name} only supported for Boolean results. Write int({name})")
    if isinstance(alpha, float) and dtypes.category(dtype) < 2:
        raise RuntimeError(
            f"For integral input tensors, argument {name} must not be a floating point number. "
            "Convert the tensor first: x.float()"
        )
    if isinstance(alpha, complex) and dtype.kind != "c":
        raise RuntimeError(
            f"For non-complex input tensors, argument {name} must not be a complex number. Convert "
            "the tensor first: x.cfloat()"
        )
    dtypes.check_scalar(alpha, dtype)


@public(out=True, methods="add add_")
def add(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Sum `input + alpha * other`, elementwise.

    `other` is a tensor or a number; both broadcast and promote. Raises RuntimeError where the
    shapes do not broadcast.

    >>> rg.add(rg.tensor([1.0, 2.0]), rg.tensor([10.0, 20.0]), alpha=2)
    tensor([21., 42.])
    """
    once = alpha.__class__ is int and alpha == 1
    return _add(input, other) if once else scaled("add", _add_scaled, input, other, alpha)


@public(out=True, methods="sub subtract sub_ subtract_")
def sub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Difference `input - alpha * other`, elementwise; like `add`, but booleans raise.

    >>> rg.sub(rg.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    once = alpha.__class__ is int and alpha == 1
    return _sub(input, other) if once else scaled("sub", _sub_scaled, input, other, alpha)


@public(out=True, methods="div divide true_divide div_ divide_ true_divide_")
def div(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Quotient `input / other`, elementwise; integers give the default floating dtype.

    `rounding_mode` "trunc" or "floor" rounds the quotient, keeps integer dtypes and has derivative
    zero. Raises RuntimeError for another mode, NotImplementedError for booleans in these modes.

    >>> rg.div(rg.tensor([7.0, -7.0]), 2), rg.div(rg.tensor([7, -7]), 2, rounding_mode="floor")
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -4]))
    """
    if rounding_mode is None:
        return _div(input, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    if all(getattr(t, "dtype", type(t)) in (dtypes.boolean, bool) for t in (input, other)):
        raise unsupported(f"div_{rounding_mode}", np.dtype(np.bool_), "Convert one: x.int()")
    return (_floor_div if rounding_mode == "floor" else _trunc_div)(input, other)


def positive(input: Tensor) -> Tensor:
    """The tensor itself; booleans raise RuntimeError.

    >>> rg.positive(rg.tensor([1.0, -2.0]))
    tensor([ 1., -2.])
    """
    if input._array.dtype == np.bool_:
        raise RuntimeError(
            "The `+` operator, on a bool tensor is not supported. Convert it first: x.int()"
        )
    return input


_rsub = renamed(_sub, "RsubBackward0", lambda node: (1, 0))
_rsub_number = renamed(_sub, "RsubBackward1", lambda node: (1,))


@public(methods="rsub")
def rsub(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Difference the other way round: `other - alpha * input`.

    >>> rg.rsub(rg.tensor([1.0, 2.0]), 10, alpha=2)
    tensor([8., 6.])
    """
    number = not isinstance(other, Tensor)
    if alpha.__class__ is not int or alpha != 1:
        function = _rsub_number_scaled if number else _rsub_scaled
        return scaled("sub", function, other, input, alpha)  # type: ignore[no-any-return]
    whole = operand(other, input._array.dtype)
    return (_rsub_number if number else _rsub)(whole, input)  # type: ignore[no-any-return]


_div_number = renamed(_div, "MulBackward0", lambda node: (1, 0))  # there by the reciprocal


def _divided(self: Tensor, other: Any) -> Any:
    like = self._array.dtype  # an integer is not to wrap around before it is divided
    if dtypes.half(like):
        return recorded.reciprocal(self) * other  # as a factor the number is not rounded first
    like = dtypes.default_numpy() if like.kind in "iu" else like
    return _div_number(as_tensor(other, like), self)


@public(methods="sum_to_size")
def sum_to_size(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Sum over the dimensions along which a tensor of `sizes` would be broadcast to the input's.

    A tensor that has that shape is returned itself, if it has dimensions. Raises RuntimeError where
    it would not be.

    >>> rg.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    shape = integers(
        sizes if size is None else once(sizes, size, "sum_to_size", "size"), "sum_to_size", "size"
    )
    if not expands(shape, input._array.shape):
        raise RuntimeError(f"size {list(shape)} is not expandable to size {list(input.shape)}.")
    if shape == input._array.shape != ():
        return input
    made = sum_to(input.long() if input._array.dtype.kind in "biu" else input, shape=shape)
    if len(shape) == input._array.ndim > 0:
        return made
    return name_node(made, "ViewBackward0" if shape else "SumBackward0")


multiply, subtract, negative = mul, sub, neg
divide = true_divide = div

method(positive, "positive", "__pos__")
attach_operator(rsub, "__rsub__")
attach_operator(_divided, "__rdiv__", "__rtruediv__")
method(in_place(mul), "mul_", "multiply_")
method(in_place(neg), "neg_", "negative_")
attach_in_place(add, "__iadd__", "+=")
attach_in_place(sub, "__isub__", "-=")
attach_in_place(mul, "__imul__", "*=")
attach_in_place(div, "__itruediv__", "/=")
show_operators()

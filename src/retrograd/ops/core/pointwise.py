"""What the elementwise families share: dtype rules of forwards, short declarations, masks.

It knows no family. `where` and `zero_where` live here because every family's formulas use them.

NOTE [Masks in formulas]
A formula that drops part of a cotangent writes `zero_where(g, condition)`, never `g * mask`, and
where shares may be 0, `shared(xp, g, share)`: an infinite or NaN cotangent must not leak through a
zero, as `inf * 0` would.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes, modes
from ...dtypes import half
from ...engine.inplace import in_place
from ...engine.namespaces import arrays, reals
from ...engine.registry import declare
from ...engine.tensor import Tensor, method
from ...errors import conversion
from ...kernels.layout import choose, laid_out

SINGLE = ["3x4", "", "0"]
PAIRS = ["3x4, 3x4", "3x1, 4", "2x3, ", ", ", "0, 0"]


def holds_complex(value: Any) -> bool:
    """Whether an array or a tensor is complex; a question that formulas may ask of both."""
    return getattr(value, "_array", value).dtype.kind == "c"  # type: ignore[no-any-return]


def unsupported(name: str, dtype: np.dtype[Any], advice: str = "") -> NotImplementedError:
    """The error for an op that is not defined for a dtype."""
    text = f"\"{name}\" not implemented for '{dtypes.legacy_name(dtype)}'"
    return NotImplementedError(text + (f". {advice}" if advice else ""))


def mismatch(
    text: str, x: Any, y: Any, name: Callable[[Any], str] = dtypes.legacy_name, layer: str = ""
) -> RuntimeError:
    """The error for arrays of two dtypes, which `text` names as {0} and {1}; it says what to do.

    `layer` is as in `conversion`.
    """
    a, b = x.dtype, y.dtype
    return RuntimeError(f"{text.format(name(a), name(b))}. {conversion(a, b, layer)}")


def check_floating(name: str, input: Tensor) -> None:
    """Raise NotImplementedError for a tensor of integers or booleans."""
    if input._array.dtype.kind not in "fcV":
        raise unsupported(name, input._array.dtype, "Convert first: x.float()")


def check_constant(name: str, **tensors: Tensor | None) -> None:
    """Raise RuntimeError for a tensor that requires grad, of an op that has no derivative by it."""
    for argument, t in tensors.items():
        if t is not None and modes.state.records and t.requires_grad:
            raise RuntimeError(
                f"The function '{name}' is not differentiable with respect to argument "
                f"'{argument}'. This input cannot have requires_grad True: pass "
                f"{argument}.detach()"
            )


def floating(function: Callable[..., Any]) -> Callable[..., Any]:
    """A forward whose integer and bool inputs count as the default floating dtype.

    That of a ufunc says in `loops` whose loops the hot path in C may call for floating numbers.
    """

    def on_floats(*inputs: Any, **params: Any) -> Any:
        kind = inputs[0].dtype.kind
        if kind in "fcV":
            if inputs[0].dtype.itemsize == 2:
                return through_float32(function, inputs, params)
            return function(*inputs, **params)
        target = dtypes.default_numpy()
        return function(*[dtypes.converted(x, target) for x in inputs], **params)

    def on_float(x: Any) -> Any:
        wide = x.dtype.kind in "fcV"
        return function(x if wide else dtypes.converted(x, dtypes.default_numpy()))

    if not isinstance(function, np.ufunc) or function.nin != 1:
        return on_floats
    on_float.loops = function  # type: ignore[attr-defined]
    return on_float


def through_float32(function: Callable[..., Any], inputs: Any, params: Any) -> Any:
    """A forward of half floats, in float32 and rounded once."""
    widened = [dtypes.converted(x, dtypes.float32.numpy) if half(x.dtype) else x for x in inputs]
    result = function(*widened, **params)
    return result.astype(inputs[0].dtype) if result.dtype == np.float32 else result


def single(xp: Any, x: Any) -> Any:
    """What formulas that would lose digits of half floats take for `x`: half floats in float32."""
    kind = getattr(x, "_array", x).dtype  # of an array or a tensor
    return xp.cast(x, dtype=np.dtype(np.float32)) if half(kind) else x


def double(xp: Any, x: Any) -> Any:
    """What formulas whose squares would overflow take for `x`: complex64 in complex128.

    The pass casts what they give, as all contributions in complex numbers: `Table.fits`.
    """
    kind = getattr(x, "_array", x).dtype
    return xp.cast(x, dtype=np.dtype(np.complex128)) if kind == np.complex64 else x


def squared(xp: Any, x: Any) -> Any:
    """The square of `x`, in `double`."""
    x = double(xp, x)
    return x * x


def only(
    name: str, kinds: str, function: Callable[..., Any], advice: str = ""
) -> Callable[..., Any]:
    """A forward that raises NotImplementedError for dtypes outside NumPy's `kinds`.

    `advice` is what to do with complex numbers instead.
    """

    def checked(*inputs: Any, **params: Any) -> Any:
        kind = inputs[0].dtype.kind
        if "f" in kinds and half(inputs[0].dtype):
            return through_float32(function, inputs, params)
        if kind not in kinds:
            raise unsupported(name, inputs[0].dtype, advice if holds_complex(inputs[0]) else "")
        return function(*inputs, **params)

    return checked


def promoted(*arrays: Any) -> list[Any]:
    """Arrays cast to their common dtype, by PyTorch's rules."""
    target = dtypes.common(*arrays)
    return [dtypes.converted(array, target) for array in arrays]


def with_doctest(about: str, call: str, values: str) -> str:
    """A docstring: what an op is, and a call with the values of the tensor that it gives."""
    return f"""{about}

    >>> rg.{call}
    tensor({values})
    """


def attach(function: Callable[..., Any], *names: str, inplace: bool = True) -> None:
    """Give tensors `function` under `names`, and its in-place forms under the same with `_`."""
    for name in names:
        method(function, name)
        if inplace:
            method(in_place(function, f"{name}_"), f"{name}_")


def unary(
    name: str,
    function: Callable[..., Any],
    about: str,
    shown: tuple[str, str],
    aliases: Sequence[str] = (),
    **options: Any,
) -> Callable[..., Tensor]:
    """Declare an elementwise op of one input, with its methods and in-place forms.

    `shown` is a doctest: the argument list of `tensor`, and the values that come out.
    """
    options.setdefault("examples", SINGLE)
    doc = with_doctest(about, f"{name}(rg.tensor({shown[0]}))", shown[1])
    call = declare(f"{name}(input)", function, elementwise=True, doc=doc, **options)
    attach(call, name, *aliases, inplace=options.get("inplace", True))
    return call


def binary(
    name: str,
    function: Callable[..., Any],
    about: str,
    shown: tuple[str, str, str],
    aliases: Sequence[str] = (),
    second: str = "other",
    **options: Any,
) -> Callable[..., Tensor]:
    """Declare an elementwise op of `input` and `second`, with its methods and in-place forms.

    `shown` is a doctest: the argument lists of two tensors, and the values that come out.
    """
    options.setdefault("examples", PAIRS)
    call = f"{name}(rg.tensor({shown[0]}), rg.tensor({shown[1]}))"
    doc = with_doctest(about, call, shown[2])
    made = declare(f"{name}(input, {second})", function, elementwise=True, doc=doc, **options)
    attach(made, name, *aliases, inplace=options.get("inplace", True))
    return made


def refusing(what: str, why: str) -> Callable[..., Any]:
    """The formula of an input without derivative: asking for its gradient raises."""

    def refuse(xp: Any, g: Any) -> Any:
        raise NotImplementedError(f"{what} is not implemented{why}")

    return refuse


def zero_derivative(xp: Any, g: Any) -> Any:
    """The formula of a piecewise constant function."""
    return xp.zeros_like(g)


# The record of what a public function calls, which has the in-place form, if there is one.
pointwise = partial(declare, elementwise=True, inplace=False)


def _zero_where(input: Any, condition: Any) -> Any:
    return laid_out(np.where(condition, 0, input), input, condition)


zero_where = pointwise(
    "zero_where(input, condition)",
    _zero_where,
    input=lambda xp, g, condition: xp.zero_where(g, condition),
    linear="input",
    examples=["3x4, 3x4:bool", ", :bool", "3x1, 4:bool"],
    node_name="MaskedFillBackward0",
    doc="""`input` with zeros where the condition holds: for formulas, NOTE [Masks in formulas].""",
)


def shared(xp: Any, g: Any, share: Any) -> Any:
    """`g * share`, for formulas, and 0 where there is no share: NOTE [Masks in formulas]."""
    return xp.laid_out(xp.zero_where(g * share, share == 0), g, share)


def _where(condition: Any, input: Any, other: Any, chosen: Any = choose) -> Any:
    if input.dtype is not other.dtype:
        input, other = dtypes.promote(input, other)
    return chosen(condition, input, other)


where_op = pointwise(
    "where(condition, input, other)",
    _where,
    input=lambda xp, g, condition: xp.zero_where(g, ~condition),
    other=lambda xp, g, condition: xp.zero_where(g, condition),
    linear="input, other",
    leads="condition",
    examples=["3x4:bool, 3x4, 3x4", "4:bool, 3x1, ", ":bool, 2, 2", "0:bool, 0, 0"],
    node_name="WhereBackward0",
    saved={"condition": "condition"},
)
# On arrays a formula's leader decides on the order.
arrays.where = reals.where = partial(_where, chosen=np.where)
arrays.zero_where = reals.zero_where = lambda input, condition: np.where(condition, 0, input)

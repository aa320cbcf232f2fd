"""What `public` gives a function beside its own arguments: `out=` and methods.

NOTE [Public functions]
1. A function that is `public(out=True)` computes and knows no `out`: the value is written there
   when it is done (`write_out`, and `write_each` for a tuple of tensors). One that is
   `public(out="dtype")` computes in the dtype of `out`; of `public(out="wider")`, in it if it is
   wider than that of the input; of `public(out="truth")`, bool or uint8.
2. Calls with `out` go another way (`Writing`); all others reach the function as if it were not
   decorated, and cost nothing more. Other names of arguments: `engine.naming`.
3. `inspect.signature` shows `out`, and `by` where a function has it.
4. The functions named in `ORDERED` and `ROUNDED` take `by=`, which says what they mean for complex
   numbers: NOTE [Order of complex numbers] in `sorting/complex_order.py`, which loads with the
   first such call. So do the callers of ops of these names, once `by` has proved to be none of
   their own arguments. Ops of those in `CHOOSING` that cannot run for want of an order run by
   "modulus".
5. Some still take older orders of arguments (NOTE [Other names] in `engine.naming`). Those of a
   function and of the method differ where a number once came before the tensor.
6. The source of each is PyTorch's function of its name. A docstring says where the two differ, and
   names a paper where there is one.
"""

from __future__ import annotations

import functools
import inspect
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...engine import overriding
from ...engine.dispatch import check_places, write_out
from ...engine.inplace import in_place
from ...engine.naming import CHOICES, MEANINGS, ORDERS, moves
from ...engine.tensor import Tensor, method
from ...errors import constant, wrong_type
from ...locks import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, Protocol, TypeVar, overload

    F = TypeVar("F")

COMPARING = (
    "max min amax amin aminmax maximum minimum fmax fmin cummax cummin median nanmedian argmax "
    "argmin scatter_reduce index_reduce"
)
SORTING = "sort argsort msort topk kthvalue"
ROUNDING = "round floor ceil trunc fix frac sign clamp clip clamp_min clamp_max nan_to_num"
CHOOSING, ROUNDED = frozenset(COMPARING.split()), frozenset(ROUNDING.split())
ORDERED = CHOOSING.union(SORTING.split())

for _name, _pair in (
    ("addmm", "mat1, mat2"),
    ("addmv", "mat, vec"),
    ("addr", "vec1, vec2"),
    ("addbmm", "batch1, batch2"),
    ("baddbmm", "batch1, batch2"),
):
    _first, _second = _pair.split(", ")
    ORDERS[_name] = (
        f"beta, input, alpha, {_first}, {_second}",
        f"beta, input, {_first}, {_second}",
        f"input, beta, alpha, {_first}, {_second}",
        f"input, beta, {_first}, {_second}",
    )
ORDERS["add"] = ORDERS["sub"] = ("input, alpha, other",)
ORDERS["addcmul"] = ORDERS["addcdiv"] = ("input, value, tensor1, tensor2",)

if TYPE_CHECKING:
    P = ParamSpec("P")
    R_co = TypeVar("R_co", covariant=True)

    class Public(Protocol[P, R_co]):
        """A public function, as type checkers see it."""

        __name__: str

        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
        @overload
        def __call__(self, *args: Any, out: Any, **names: Any) -> R_co: ...


def public(
    *, out: bool | str = False, methods: str = ""
) -> Callable[[Callable[P, R_co]], Public[P, R_co]]:
    """Let users see a function: NOTE [Public functions].

    `out` says whether its value can be written into given tensors. `methods` are the names under
    which tensors get it, separated by spaces; one that ends in "_" gets its in-place form,
    unless its own name does so.
    """

    def decorate(function: Any) -> Any:
        keywords = [name for name, has in (("out", out), ("by", takes_by(function))) if has]
        served = Served(function, out) if keywords else None
        made = overriding.public(function, served, frozenset(keywords))
        derived = "_ " in f"{methods} " and not function.__name__.endswith("_")
        written = in_place(dtype_kept(made) if out == "dtype" else made) if derived else made
        for name in methods.split():
            method(written if name.endswith("_") else made, name)
        return made

    return decorate


def titled(function: F, name: str, doc: str) -> F:
    """A function that another one made, under a name and with a docstring of its own."""
    made: Any = function
    made.__name__ = made.__qualname__ = name
    made.__doc__ = doc
    return function


def dtype_kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function with `dtype=` for its in-place form, which cannot give another dtype."""
    name = function.__name__

    @functools.wraps(function)
    def call(input: Tensor, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        if dtype is not None and dtype is not input.dtype:
            ours, theirs = (dtypes.cpp_name(d) for d in (input.dtype, dtype))
            raise RuntimeError(
                f"{name}_(): Bad in-place call: input tensor dtype {ours} and output tensor dtype "
                f"{theirs} should match. Write x = x.{name}(..., dtype={dtype})"
            )
        return function(input, *args, dtype=dtype, **kwargs)

    return call


class Served:
    """Takes the calls of a function with `out` or `by`."""

    def __init__(self, function: Callable[..., Any], out: bool | str) -> None:
        self.function, self.out = function, out
        self.__name__ = function.__name__

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """What users see; made when it is asked for, so that imports stay quick."""
        own = inspect.signature(self.function)
        more = [BY] if takes_by(self.function) else []
        if self.out:
            more.append([SEVERAL_OUT, OUT][own.return_annotation == "Tensor"])
        return own.replace(parameters=[*own.parameters.values(), *more])

    def __call__(self, *args: Any, out: Any = None, by: str | None = None, **kwargs: Any) -> Any:
        """The function's value, written into `out`, in the meaning `by`."""
        function = self.function if by is None else self.in_meaning(by)
        if out is None:
            return function(*args, **kwargs)
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        if self.out == "dtype" and args:
            kwargs["dtype"] = dtype_for(args[0], kwargs.get("dtype"), out)
        if self.out == "wider" and args:
            args = (widened(args[0], out), *args[1:])
        if self.out == "truth" and isinstance(out, Tensor):
            function = in_truth(function, out)
        write = write_each if isinstance(out, (tuple, list)) else write_out
        return write(function, out, args, kwargs)

    def in_meaning(self, by: str) -> Callable[..., Any]:
        """A function that gives this one's value in the meaning `by`."""

        def call(*args: Any, **kwargs: Any) -> Any:
            return load(ORDER_MODULE).call_by(self.function, by, args, kwargs)

        call.__name__ = self.__name__
        return call


def takes_by(function: Any) -> bool:
    """Whether a function takes `by`."""
    return function.__name__ in ORDERED or function.__name__ in ROUNDED


def call_with_by(call: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call the caller of an op that was given `by`."""
    return Served(call, True)(*args, **named)


def by_modulus(call: Any, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call again, by modulus, the caller of an op that found no order among complex numbers."""
    return load(ORDER_MODULE).in_order(call, "modulus", args, named)


def number_in(value: Any, name: str, argument: str) -> Any:
    """A number, also that in a tensor; TypeError for one whose derivative would be lost.

    NumPy's booleans are floats, as in PyTorch: they are no `bool`.
    """
    if not isinstance(value, (Tensor, np.generic)):
        if isinstance(value, (int, float, complex)):
            return value
        raise wrong_type(name, argument, "Number", value)
    if moves(value):
        raise constant(name, argument, "Number", value)
    if isinstance(value, Tensor) and value._array.size != 1:
        raise wrong_type(name, argument, "Number", value)
    return float(value) if isinstance(value, np.bool_) else value.item()


MEANINGS.update(dict.fromkeys(ORDERED | ROUNDED, call_with_by))
CHOICES.update(dict.fromkeys(CHOOSING, by_modulus))
ORDER_MODULE = __name__.replace("core.arguments", "sorting.complex_order")
KEYWORD = inspect.Parameter.KEYWORD_ONLY
OUT = inspect.Parameter("out", KEYWORD, default=None, annotation="Tensor | None")
BY = inspect.Parameter("by", KEYWORD, default=None, annotation="str | None")
SEVERAL_OUT = inspect.Parameter("out", KEYWORD, default=None, annotation="Sequence[Tensor] | None")


def write_value(value: Tensor, out: Tensor, name: str) -> Tensor:
    """Write the result `value` of the function called `name` into `out`; errors as `write_out`."""

    def result(source: Tensor) -> Tensor:
        return source

    result.__name__ = name
    return write_out(result, out, (value,), {})  # type: ignore[no-any-return]


def dtype_for(input: Tensor, dtype: Any, out: Any) -> Any:
    """The dtype in which a sum or product is made: that of `out`; RuntimeError for another one."""
    if not isinstance(out, Tensor):
        return dtype
    if dtype is not None:
        if dtypes.to_numpy(dtype) != out._array.dtype:
            raise RuntimeError(
                f"Expected out tensor to have dtype {dtypes.cpp_name(dtypes.to_numpy(dtype))}, but "
                f"got {dtypes.cpp_name(out.dtype)} instead. Leave dtype= away"
            )
        return dtype
    return None if input.dtype.is_complex and not out.dtype.is_complex else out.dtype


def widened(input: Any, out: Any) -> Any:
    """`input` in the wider of its dtype and that of `out`, so that the value is rounded once."""
    if not all(isinstance(t, Tensor) and t._array.dtype.kind in "fcV" for t in (input, out)):
        return input
    return input.to(dtypes.promote_types(input.dtype, out.dtype))


def in_truth(function: Callable[..., Any], out: Tensor) -> Callable[..., Any]:
    """A function of truth in the dtype of `out`; RuntimeError for one but bool and uint8."""
    name = function.__name__
    if out.dtype not in (dtypes.boolean, dtypes.uint8):
        raise RuntimeError(
            f"{name} only supports bool tensor for result, got: {dtypes.legacy_name(out.dtype)}"
        )

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs).to(out.dtype)

    return titled(call, name, "")


def write_each(
    function: Callable[..., Any], outs: Any, inputs: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    """Compute a function with several results into the tensors `outs`.

    Returns a named tuple of those if the function gives one, else None, as PyTorch does.
    Raises as `write_out`, TypeError for a function with one result or another number of them,
    RuntimeError for that where the number depends on the input.
    """
    name = function.__name__
    found: Any = None

    def first(*inputs: Any, **params: Any) -> Any:
        nonlocal found
        found = function(*inputs, **params)
        if not isinstance(found, tuple):
            raise wrong_type(name, "out", "Tensor", outs)
        if len(outs) != len(found):
            kind = TypeError if hasattr(found, "_fields") else RuntimeError
            raise kind(
                f"{name}(): expected an out= argument of length {len(found)}, got {len(outs)}"
            )
        for value, out in zip(found[1:], outs[1:], strict=True):
            check_places(value, out)
        return found[0]

    first.__name__ = name
    if not outs or not all(isinstance(t, Tensor) for t in outs):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {outs!r}")
    write_out(first, outs[0], inputs, params)
    for value, out in zip(found[1:], outs[1:], strict=True):
        write_value(value, out, name)
    return type(found)(*outs) if hasattr(found, "_fields") else None

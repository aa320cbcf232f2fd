"""The way of a call through an op, but for the plain case, which callers know by themselves.

NOTE [Stations] A call of an op comes by these, in this order; who stands there is said in `modes`.
1. A mode, or an argument, that takes the call over: `overriding.intercept`, which callers ask.
2. The plain case, in `callers` and in C: plain tensors, and no mode that an op has to know. It is
   computed and recorded there. All else goes to `run`, which is the rest of this list: a thread in
   a mode before anything is computed, what the forward refuses with the error that it raised.
3. Arguments, put as the record has them: `repaired`, `by_name`.
4. An input whose array carries ops out itself, as a batch does: its `interpret`.
5. A dispatcher of the thread, which gives results in place of the forward.
6. The forward, on arrays, through the watchers of the thread: `computed`.
7. The results as tensors, with node, ties of views and tangents: `record.finish`.
8. What the forward raised: `failed` has another way for the op, or the error as PyTorch words it.
"""

from __future__ import annotations

import itertools
import math
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import dtypes, modes
from ..errors import UnorderedError, wrong_type
from ..kernels.allocation import MIXED_DEVICES, has_memory, has_values
from ..locks import load
from ..quiet import calm, copyto
from .naming import ABSENT, CHOICES, by_name
from .overriding import PASSED, UNASKED, intercept, spread
from .record import finish
from .tensor import Tensor, follow, new_tensor, wrap, wrote
from .trace import users_level
from .transforms.watch import compute
from .views import base_of, room_for, sever
from .writable import about_to_write, check_cast, check_memory

if TYPE_CHECKING:
    from .op import Op

RESIZED = (
    "An output with one or more elements was resized since it had shape {}, which does not match "
    "the required output shape {}. This behavior is deprecated. You can explicitly reuse an out "
    "tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
)

MOST_DIMS = 64  # of NumPy's arrays
TOO_MANY_DIMS = (
    "{name}(): tensor has too many (>64) dims, and NumPy's arrays have at most 64. Merge some "
    "first: x.flatten(0, 1)"
)

REFUSED = {  # what NumPy says of booleans, and what PyTorch does
    "boolean subtract": "Subtraction, the `-` operator, with two bool tensors is not supported. "
    "Use the `^` or `logical_xor()` operator instead.",
    "boolean negative": "Negation, the `-` operator, on a bool tensor is not supported. To invert "
    "a mask, use the `~` or `logical_not()` operator instead.",
}

INTEGERS = (int, np.integer)
NUMBERS = (int, float, complex, np.generic)
OPERANDS = (Tensor, *NUMBERS, np.ndarray)
NO_NUMBERS = (np.flexible, np.datetime64, np.timedelta64)  # NumPy's scalars that are none

# The error types that arrays and formulas raise on bad values; anything else is not translated.
_TRANSLATED = (ValueError, TypeError, IndexError)


def as_tensor(value: Any, like: np.dtype[Any]) -> Tensor:
    """`value` itself if it is a tensor, else a 0-d tensor of the dtype it takes beside `like`.

    As in PyTorch, an unsigned dtype takes a negative integer whose magnitude it holds, and wraps
    it; other integers beyond the dtype raise RuntimeError.
    """
    if isinstance(value, Tensor):
        return value
    if like.kind == "u" and isinstance(value, INTEGERS) and -np.iinfo(like).max <= value < 0:
        return new_tensor(dtypes.wrapped(int(value), like))
    return new_tensor(dtypes.scalar_array(value, like))


def operand(value: Any, like: np.dtype[Any]) -> Tensor:
    """`as_tensor` for arithmetic: integers wrap around in an integer dtype, booleans stay so."""
    if isinstance(value, (bool, np.bool_)):
        return new_tensor(dtypes.operand_array(value, like))
    if exceeds(value, like):
        return new_tensor(dtypes.wrapped(int(value), like))
    return as_tensor(value, like)


def exceeds(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a value is an integer that `dtype`, of integers, does not hold."""
    if dtype.kind not in "iu" or not isinstance(value, INTEGERS):
        return False
    limits = np.iinfo(dtype)
    return not limits.min <= value <= limits.max


def run(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], error: Any = None) -> Any:
    """What an op gives where its call is not plain: NOTE [Stations], from 3 on.

    `error` is what the forward has raised for these arguments, None if it has not run.
    """
    if not is_plain(op, inputs, params):
        inputs, params, error = *repaired(op, inputs, params), None
        if any(t is ABSENT for t in inputs) or not op.takes(params):
            return by_name(op, inputs, params)
    carriers = [t._array for t in inputs if isinstance(t, Tensor) and not has_memory(t._array)]
    if carriers:
        alike = len({*map(type, carriers)}) == 1
        first = carriers[0] if alike else min(carriers, key=precedence)
        return first.interpret(op, inputs, params)
    if error is not None:
        return failed(op, inputs, params, error)
    if modes.state.dispatchers:
        return modes.state.dispatchers[-1].run(op, inputs, params)
    try:
        tensors = operands(*inputs) if op.is_binary else inputs
        results = calm(computed, op, tensors, params)
    except Exception as raised:
        return failed(op, inputs, params, raised)
    return finish(op, tensors, results, params)


def run_operator(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], error: Any = None) -> Any:
    """`run` for an operator of Python's: NotImplemented for an operand that no op knows."""
    if not isinstance(inputs[1], OPERANDS) or isinstance(inputs[1], NO_NUMBERS):
        return NotImplemented
    return run(op, inputs, params, error)


# -- arguments -----------------------------------------------------------------------------------


def is_plain(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """Whether arguments are what a record says, so that there is nothing to repair.

    That is tensors, None for an absent one, or a number for the second of two; and parameters by
    their names, none of them a tensor that stands for a number.
    """
    if misplaced(op, inputs) is not None:
        return False
    return not params or (op.takes(params) and not any(map(is_number, params.values())))


def misplaced(op: Op, inputs: tuple[Any, ...]) -> int | None:
    """The place of the first input that is no tensor, nor stands for one."""
    for place, t in enumerate(inputs):
        if not isinstance(t, Tensor):
            stands = isinstance(t, NUMBERS) if op.is_binary else t is None
            if not (stands and place):
                return place
    return None


def is_number(value: Any) -> bool:
    """Whether a parameter is a tensor that stands for a number."""
    return isinstance(value, Tensor) and not value._array.ndim


def repaired(
    op: Op, inputs: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments as the record has them, or TypeError for an input that is no tensor."""
    numbers = {name: v.item() for name, v in params.items() if name in op.params and is_number(v)}
    inputs = tuple([wrap(t) if isinstance(t, np.ndarray) else t for t in inputs])
    if op.number_first and isinstance(inputs[0], NUMBERS):
        inputs = (first_number(op, *inputs), inputs[1])
    place = misplaced(op, inputs)
    if place is not None and place < len(op.inputs) and inputs[place] is not ABSENT:
        raise wrong_type(op.name, op.inputs[place], "Tensor", inputs[place], place + 1) from None
    return inputs, params | numbers


def first_number(op: Op, value: Any, other: Any) -> Tensor:
    """A number before a tensor, as the tensor that arithmetic makes of one after it."""
    if not isinstance(other, Tensor):  # two numbers, which have their own dtypes
        return as_tensor(value, np.dtype(np.bool_))
    like = other._array.dtype
    return operand(float(value) if exceeds(value, like) and gives(op, like) == "f" else value, like)


def gives(op: Op, dtype: np.dtype[Any]) -> str:
    """The kind of dtype of what a binary op gives for two arrays of `dtype`."""
    one = np.ones(1, dtype)
    return op.forward(one, one).dtype.kind  # type: ignore[no-any-return]


def operands(input: Tensor, other: Any) -> tuple[Tensor, Tensor]:
    """The inputs of a binary op, a number beside a tensor as the tensor that it stands for."""
    if isinstance(other, Tensor):
        return input, other
    return input, new_tensor(dtypes.operand_array(other, input._array.dtype))


# -- who computes --------------------------------------------------------------------------------


def precedence(carrier: Any) -> tuple[bool, bool]:
    """The order in which arrays that run ops themselves are asked: the smallest is first.

    A batch before a class, which sees what the batch calls; before both, a layout.
    """
    return carrier.has_class, carrier.is_batched


def computed(op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The results of an op's forward for tensors, under the eyes of the thread's watchers."""
    arrays: Any = tuple([None if t is None else t._array for t in inputs])
    if not op.is_binary:
        return compute(modes.state.watchers, op, arrays, params)
    x, y = arrays
    if x.dtype is not y.dtype:
        x, y = op.promote(x, y)
    return dtypes.rounded(compute(modes.state.watchers, op, (x, y), params), x, y)


# -- errors --------------------------------------------------------------------------------------


def failed(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], error: Exception) -> Any:
    """What an op gives whose forward has raised `error`, by another way; else raise that."""
    if isinstance(error, UnorderedError) and error.function in CHOICES:
        return CHOICES[error.function](op.call, inputs, params)
    if op.is_binary and not isinstance(inputs[1], Tensor):
        return beyond(op, inputs[0], inputs[1], error)
    if isinstance(error, NotImplementedError) and (
        len({has_values(t._array) for t in inputs if isinstance(t, Tensor)}) > 1
    ):
        raise RuntimeError(MIXED_DEVICES) from None  # NumPy asked a meta array for its data
    if type(error) not in _TRANSLATED and not isinstance(error, np.exceptions.AxisError):
        raise error
    explain(op, inputs, error)


def beyond(op: Op, input: Tensor, value: Any, error: Exception) -> Any:
    """The result of a binary op with an integer beyond the dtype; else raise `error`.

    It wraps around, as in PyTorch, unless the result is floating or boolean: then it counts as the
    number that it is, and where tests are concerned as one beyond all others.
    """
    dtype = input._array.dtype
    if not exceeds(value, dtype):
        if type(error) in _TRANSLATED:
            explain(op, (input, as_tensor(value, dtype)), error)
        raise error
    if gives(op, dtype) == "b":
        return op.call(new_tensor(input._array.astype(np.float64)), math.copysign(math.inf, value))
    return op.call(input, first_number(op, value, input))


def explain(op: Op, inputs: tuple[Any, ...], error: Exception) -> NoReturn:
    """Raise for arrays that do not fit, as PyTorch does."""
    if "dimension" in str(error) and f"{MOST_DIMS}" in str(error):
        raise RuntimeError(TOO_MANY_DIMS.format(name=op.name)) from None
    shapes = [t._array.shape for t in inputs if t is not None]
    for phrase, meaning in REFUSED.items():
        if phrase in str(error):
            raise RuntimeError(meaning) from None
    if op.elementwise or "could not be broadcast" in str(error):
        for a, b in itertools.combinations(shapes, 2):
            check_broadcast(a, b, op.name)
    text = f"{op.name}(): {error} (shapes {', '.join(str(list(s)) for s in shapes)}; dtypes " + (
        ", ".join(dtypes.of_numpy(t._array.dtype).name for t in inputs if t is not None) + ")"
    )
    kind: type[Exception] = IndexError if isinstance(error, IndexError) else RuntimeError
    if isinstance(error, TypeError) and "not supported for the input types" in str(error):
        kind = NotImplementedError
    if isinstance(error, TypeError) and "integer" in str(error):  # of a parameter, not of an array
        kind = TypeError
    raise kind(text) from error


def check_broadcast(a: tuple[int, ...], b: tuple[int, ...], name: str) -> None:
    """Raise unless shapes `a` and `b` broadcast together."""
    for back, (m, n) in enumerate(zip(reversed(a), reversed(b), strict=False), 1):
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({n}) at non-singleton"
                f" dimension {max(len(a), len(b)) - back}. {name}() was called with shapes "
                f"{list(a)} and {list(b)}: sizes must be equal, or 1. Reshape one of them, or give "
                "it a size of 1: x.unsqueeze(dim)"
            ) from None


def write_out(function: Any, out: Any, inputs: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Compute `function(*inputs, **params)` into the tensor `out`, and return `out`.

    An `out` of None is none. Raises RuntimeError where a gradient is wanted (an out= form is never
    recorded, which only integers and booleans do not mind) or where the result's dtype cannot be
    cast to that of `out`, TypeError where `out` is no tensor.
    """
    if out is None:
        return function(*inputs, **params)
    if out.__class__ not in UNASKED:
        found = intercept(function, inputs, {**params, "out": out})
        if found is not PASSED:
            return found
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    given = [t for t in spread((*inputs, *params.values(), out)) if isinstance(t, Tensor)]
    if modes.state.levels and any(t._tangents for t in given):
        raise NotImplementedError(
            f"Trying to use forward AD with {function.__name__}_out that does not support it "
            "because it is an out= function. Leave out= away."
        )
    with modes.Changed(grad=False):
        result = function(*inputs, **params)
    if not isinstance(result, Tensor):
        raise TypeError(
            f"{function.__name__}(): argument 'out' must be tuple of Tensors, not Tensor"
        )
    kind = result._array.dtype.kind
    wanted = any(t._node is not None for t in ([out] if kind in "iu" else given))
    if modes.state.records and wanted and kind != "b":
        raise RuntimeError(
            f"{function.__name__}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad. Leave out= away, or call it "
            "under no_grad()."
        )
    about_to_write(out)
    kinds = [t._array.dtype.kind for t in inputs if isinstance(t, Tensor)]
    if kinds and not any(k in "biu" for k in kinds):
        check_places(result, out)
    check_cast(result._array.dtype, out._array.dtype)
    if inputs and result.device != out.device:
        raise RuntimeError(
            f"{function.__name__}(): Attempting to copy from device {result.device} to device "
            f"{out.device}, but cross-device copies are not allowed! Give an out= on that device"
        )
    by = f"{function.__name__}(out=)"
    if not (has_memory(out._array) and has_memory(result._array)):
        with modes.Changed(grad=False):
            load(f"{__package__}.inplace").exchange(out, result._array)
    else:
        if out._array.shape != result._array.shape:
            if out._array.size and inputs:  # factories, which have none, resize without a word
                check_memory(out._array, by)
                text = RESIZED.format(list(out.shape), list(result.shape))
                warnings.warn(text, UserWarning, stacklevel=users_level())
            make_room(out, result._array)
        check_memory(out._array, by)
        copyto(out._array, result._array, casting="unsafe")
    wrote(out, by)
    return out


def make_room(out: Tensor, array: Any) -> None:
    """Give an `out` the shape of what is written there, in its own memory if there is room."""
    room = room_for(out, array.shape, array)
    if room is None:
        room = np.empty_like(array, out._array.dtype)
    sever(out, room)
    out._array = room
    follow(out)


def check_places(result: Tensor, out: Tensor) -> None:
    """Raise if an integer result, a count or a place, goes into an out= of another dtype."""
    if result._array.dtype.kind in "iu" and out._array.dtype != result._array.dtype:
        raise RuntimeError(
            f"Expected out tensor to have dtype {dtypes.cpp_name(result.dtype)}, but got "
            f"{dtypes.cpp_name(out.dtype)} instead. Give one of dtype {result.dtype}"
        )


def as_non_view(result: Tensor, *sources: Any) -> Tensor:
    """`result`, no longer a view where only its function has seen what it is a view of.

    A view of the memory of `sources` stays one. To a user a result is no view: it could be written,
    and hooks on it be lost, in the name of a base that nobody can see.
    """
    view = result._view_of
    if view is not None and all(base_of(t) is not view.base for t in sources):
        view.base._views = view.base._outdated = None
        result._view_of = None
    return result

"""NumPy's own functions on tensors: NumPy asks here before it computes, and the result is recorded.

NOTE [Calls]
1. `numpy_table` says which function stands for which of NumPy's; nothing here knows a derivative.
   Arrays among the arguments become tensors.
2. Arguments are matched by NumPy's signature: in order as far as ours are positional, then by
   name, some of which differ (`ALIASES`). One that says what NumPy does anyway is dropped; one that
   ours lacks raises.
3. Where no gradient can be lost, a function that is in no table runs on the arrays, and raises at
   once where one would be. So do those that are no ufuncs and not in `TENSORS`, as in PyTorch:
   who calls `atleast_1d` or `append` goes on with an array's methods.
4. `out=` takes a tensor, as PyTorch does, or an array, if there is no gradient to be lost.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np

from .. import dtypes, modes, pytree
from ..engine.dispatch import as_tensor
from ..engine.tensor import Tensor, has_tangent, new_tensor
from ..kernels.allocation import has_memory
from ..ops.core.arguments import write_value
from ..ops.creation.from_data import copy_of
from ..ops.tensor.conversion import convert
from .numpy_table import ACCUMULATIONS, FUNCTIONS, PAIRS, QUESTIONS, REDUCTIONS, TENSORS, UFUNCS
from .scipy_special import SCIPY

__all__ = ["array_function", "array_ufunc"]

NOT_RECORDED = (
    "{name}() has no counterpart in Retrograd, so NumPy would compute it without a record and the "
    "gradient would be lost. Write it with functions of retrograd, or, where no gradient is "
    "wanted, pass x.detach()."
)
NO_ARGUMENT = (
    "{name}() on tensors does not take {argument}={value!r}. Leave it out, or, where no gradient "
    "is wanted, pass x.detach().numpy()."
)
OUT_OF_REACH = (
    "{name}() was asked to write its result into a NumPy array (out=, or in place), which cannot "
    "hold the gradient. Write out of place (y = x + t), or pass t.detach()."
)

ALIASES = {
    "axis": ("dim",),
    "axes": ("dim", "dims"),
    "keepdims": ("keepdim",),
    "ddof": ("correction",),
    "k": ("diagonal",),
    "newshape": ("shape",),
    "reps": ("dims",),
}
NUMBERS = (bool, int, float, complex, np.generic)
OPERANDS = (Tensor, np.ndarray, list, tuple, *NUMBERS)
COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
# What a ufunc's arguments mean if they are not given.
PLAIN = {"where": True, "casting": "same_kind", "order": "K", "subok": True, "keepdims": False,
         "axes": None, "signature": None, "initial": None, "dtype": None}  # fmt: skip


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What `ufunc` gives for tensors, recorded: NOTE [Calls].

    Raises TypeError where a gradient would be lost.

    >>> x = rg.tensor([1.0, 2.0], requires_grad=True)
    >>> (np.array([3.0, 4.0]) * x).sum().backward()
    >>> x.grad
    tensor([3., 4.])
    """
    if not all(isinstance(value, OPERANDS) for value in inputs):
        return NotImplemented
    name = ("np." if hasattr(np, ufunc.__name__) else "") + ufunc.__name__
    if method != "__call__":
        name += f".{method}"
    outs = options.pop("out", ())
    function = counterpart(ufunc, method)
    if function is None or (options.get("where", True) is not True and not keeps(inputs)):
        if outs:
            options["out"] = outs
        found = on_arrays(getattr(ufunc, method), name, inputs, options)
        return found if outs else wrapped(found)
    options = {k: v for k, v in options.items() if k not in PLAIN or v is not PLAIN[k]}
    dtype = options.pop("dtype", None) if method in ("__call__", "outer") else None
    tensors = operands(inputs, dtype, method == "__call__" and ufunc in COMPARISONS)
    if method == "outer":
        first, second = tensors
        tensors = [first.reshape((*first.shape, *(1,) * second.ndim)), second]
    elif method != "__call__":
        options = {"axis": 0, **options}
    found = function(*tensors, **matched(name, function, options))
    return written_to_out(name, found, outs)


def counterpart(ufunc: Any, method: str) -> Callable[..., Any] | None:
    """The function that stands for a method of a ufunc, or None."""
    if method == "reduce":
        return REDUCTIONS.get(ufunc)
    if method == "accumulate":
        return ACCUMULATIONS.get(ufunc)
    if method not in ("__call__", "outer"):
        return None
    special, name = sys.modules.get("scipy.special"), ufunc.__name__
    if ufunc not in UFUNCS and getattr(special, name, None) is ufunc:
        return SCIPY.get(name)
    return UFUNCS.get(ufunc)


def operands(inputs: Any, dtype: Any, compared: bool) -> list[Any]:
    """The inputs of a ufunc as tensors: numbers take the dtype they have beside the others.

    An integer that the dtype does not hold stays one where it is `compared`, else OverflowError.
    """
    found = [value if isinstance(value, NUMBERS) else tensors_in(value) for value in inputs]
    like = reduce(
        dtypes.promote_numpy, [t._array.dtype for t in found if not isinstance(t, NUMBERS)]
    )
    beyond = [isinstance(value, int) and not holds(like, value) for value in found]
    if any(beyond):
        if not compared:
            raise OverflowError(
                f"Python integer {found[beyond.index(True)]} out of bounds for {like}"
            )
        return found
    tensors = [as_tensor(value, like) for value in found]
    if dtype is None:
        return tensors
    target = dtypes.to_numpy(np.dtype(dtype))
    return [convert(t, target) for t in tensors]


def holds(dtype: np.dtype[Any], number: int) -> bool:
    """Whether a number is none that is beyond a dtype of integers."""
    return dtype.kind not in "iu" or np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def array_function(self: Tensor, function: Any, types: Any, args: Any, options: Any) -> Any:
    """What NumPy's `function` gives for tensors, recorded: NOTE [Calls].

    Raises TypeError where a gradient would be lost.

    >>> x = rg.tensor([[2.0, 0.0], [0.0, 4.0]], requires_grad=True)
    >>> np.sum(np.linalg.solve(x, np.array([2.0, 4.0], np.float32))).backward()
    >>> x.grad.diagonal()
    tensor([-0.5000, -0.2500])
    """
    if not all(issubclass(kind, (Tensor, np.ndarray)) for kind in types):
        return NotImplemented
    name = f"{function.__module__}.{function.__name__}".replace("numpy", "np", 1)
    if function in QUESTIONS:
        return function(*arrays_in(args), **arrays_in(options))
    ours = FUNCTIONS.get(function)
    if ours is None or not (function in TENSORS or keeps((args, options))):
        return on_arrays(function, name, args, options)
    positional, named = bind_arguments(function, ours, args, options)
    out = named.pop("out", None)
    found = ours(*positional, **matched(name, ours, named))
    return written_to_out(name, found, () if out is None else (out,))


def bind_arguments(
    function: Any, ours: Any, args: Any, options: Any
) -> tuple[list[Any], dict[str, Any]]:
    """(positional, named) arguments for our function of a call of NumPy's `function`.

    Arrays are tensors; what has its default value is left out.
    """
    signature = signature_of(function) or signature_of(ours)
    assert signature is not None
    places = places_of(ours)
    arrays = 2 if function in PAIRS else 1
    positional: list[Any] = []
    named: dict[str, Any] = {}
    given = signature.bind(*args, **options).arguments
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        value = given.get(name, parameter.default)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL and name in given:
            positional += map(arguments_in, value)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD and name in given:
            named.update(value)
        elif value is parameter.default:
            continue
        elif place < arrays:
            positional.append(tensors_in(value))
        elif place < places:
            positional.append(arguments_in(value))
        else:
            named[name] = value if name == "out" else arguments_in(value)
    return positional, named


@cache
def places_of(ours: Any) -> int:
    """How many arguments a function takes by place only; its first one in any case."""
    signature = signature_of(ours)
    kinds = [] if signature is None else [p.kind for p in signature.parameters.values()]
    return max(kinds.count(inspect.Parameter.POSITIONAL_ONLY), 1)


@cache
def signature_of(function: Any) -> inspect.Signature | None:
    """The signature, or None for one written in C that does not tell it."""
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def matched(name: str, ours: Any, named: dict[str, Any]) -> dict[str, Any]:
    """NumPy's named arguments under our names; TypeError for one that ours lacks."""
    signature = signature_of(ours)
    own = () if signature is None else signature.parameters
    takes_all = own and [*own.values()][-1].kind is inspect.Parameter.VAR_KEYWORD
    found = {}
    for argument, value in named.items():
        places = [key for key in (argument, *ALIASES.get(argument, ())) if takes_all or key in own]
        if not places:
            raise TypeError(NO_ARGUMENT.format(name=name, argument=argument, value=value))
        if argument == "dtype":
            value = dtypes.of_numpy(dtypes.to_numpy(np.dtype(value)))  # noqa: PLW2901
        found[places[0]] = value
    return found


def written_to_out(name: str, found: Any, outs: Any) -> Any:
    """The result, written into `outs` if there are any: NOTE [Calls], rule 4."""
    if not outs:
        return found
    results = found if isinstance(found, tuple) else (found,)
    written = []
    for result, out in zip(results, outs, strict=True):
        if out is None:
            written.append(result)
        elif isinstance(out, Tensor):
            written.append(write_value(result, out, name))
        else:
            if loses(result):
                raise RuntimeError(OUT_OF_REACH.format(name=name))
            np.copyto(out, result._array, casting="same_kind")
            written.append(out)
    return tuple(written) if isinstance(found, tuple) else written[0]


# -- tensors and arrays in arguments ------------------------------------------------------------


def tensors_in(value: Any) -> Any:
    """An argument that is an array: as a tensor, or as a list of those that it holds."""
    if isinstance(value, np.ndarray):
        return new_tensor(copy_of(value, None) if value.dtype.byteorder == ">" else value)
    if not isinstance(value, (list, tuple)):
        return value
    if holds_tensors(value):
        return [tensors_in(part) for part in value]
    return new_tensor(np.asarray(value))


def arguments_in(value: Any) -> Any:
    """Any other argument: arrays as tensors, sequences that hold none as they are."""
    return tensors_in(value) if isinstance(value, np.ndarray) or holds_tensors(value) else value


def holds_tensors(value: Any) -> bool:
    """Whether nested sequences hold a tensor or an array."""
    return isinstance(value, (list, tuple)) and any(
        isinstance(part, (Tensor, np.ndarray)) or holds_tensors(part) for part in value
    )


def arrays_in(value: Any) -> Any:
    """Arguments with arrays for tensors."""
    return pytree.map_leaves(lambda x: x._array if isinstance(x, Tensor) else x, value)


def loses(value: Any) -> bool:
    """Whether NumPy, computing with an argument, would lose a gradient, a tangent or a batch."""
    if isinstance(value, Tensor):
        recorded = value._node is not None and modes.state.records
        return recorded or has_tangent(value) or not has_memory(value._array)
    return pytree.is_container(value) and any(map(loses, pytree.flatten(value)))


def keeps(value: Any) -> bool:
    """Whether an argument has more than NumPy's array for it: a history, no memory, other kinds."""
    if isinstance(value, Tensor):
        return loses(value) or type(value._array) is not np.ndarray
    return pytree.is_container(value) and any(map(keeps, pytree.flatten(value)))


def on_arrays(function: Any, name: str, args: Any, options: Any) -> Any:
    """Let NumPy compute: NOTE [Calls], rule 3."""
    if loses(args) or loses(options):
        raise TypeError(NOT_RECORDED.format(name=name))
    return function(*arrays_in(args), **arrays_in(options))


def wrapped(found: Any) -> Any:
    """The results of a ufunc as tensors."""
    if isinstance(found, tuple):
        return tuple(map(wrapped, found))
    return None if found is None else new_tensor(np.asarray(found))

"""Arguments by other names and in older orders, which PyTorch takes beside its own.

NOTE [Other names]
1. NumPy's names stand for PyTorch's, and for what is one argument here those of its several there:
   `ALIASES` says which, the first of them that the function has.
2. A function that had its arguments in another order once, as `add(input, alpha, other)`, still
   takes them in that order, with a warning: `ORDERS`, which the families of ops fill.
3. Nobody looks for either before a call has failed to fit the signature of what was called. So the
   usual calls pay nothing; and a function that has begun to run is never run again.
4. `by=` says what an op means for complex numbers: `MEANINGS`, filled likewise, by the op's name.
   What an op that lacks an order is carried out by unless told: `CHOICES`, by the name that its
   `UnorderedError` has.
5. Whatever takes a `device` takes a `layout` and `pin_memory` too, which can say one thing only.
6. A function that stumbles over an argument of a wrong type says so: it asks for no types before.
   Only an error makes anybody compare the arguments with their annotations. But no function
   stumbles over a flag, whatever it is, few over a list for a number, which broadcasts, and none
   over True for a dimension. So an argument in a wrong place would go unnoticed, as in
   `x.sum(0, 1)`: those annotated as `bool`, but for those `BY_TRUTH`, as `float` and as `int` are
   looked at before. What stands for a number, as a constant tensor or a scalar of NumPy's, reaches
   the function as that number. A tensor with a history or a tangent is refused: the derivative
   would be lost without a word. But where it is known, which `float | Tensor` says, it is taken.

7. Where the annotations in a source say Any, the names say the types, which `inspect.signature` and
   `help` show and docs/make_stubs.py writes down: `TAKES` and `GIVES`.

This module knows no tensor and no op.
"""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UnbatchableError, constant, nearest, wrong_type
from .trace import users_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ABSENT: Any = object()  # an input that the caller of an op was not given by position

ALIASES = {
    "axis": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "self": "input",  # PyTorch's name where a number may stand for the tensor
    "a": "input",
    "x1": "input",
    "x2": "other",
    "input": "A",
    "input2": "L tau B",
    "input3": "other",
    "other": "src B",
    "values": "other",
    "element": "elements",
    "test_element": "test_elements",
    "the_template": "other",
    "tensor_indices_or_sections": "indices_or_sections",
    "axis0": "dim0",
    "axis1": "dim1",
    "b": "B",
    "orig_func": "function",
    "split_size": "split_size_or_sections",
    "sections": "indices_or_sections",
    "indices": "indices_or_sections",
}

NEUTRAL = ("layout", "pin_memory")  # rule 5

ORDERS: dict[str, tuple[str, ...]] = {}  # older orders, as "input, alpha, other", by function
MEANINGS: dict[str, Any] = {}  # what carries out a call with `by`, by the name of the op
CHOICES: dict[str, Any] = {}  # what carries out one of complex numbers without `by`
NUMBERS = ("alpha", "beta", "value")  # those of their arguments that are no tensors

DEPRECATED = (
    "This overload of {name} is deprecated: {name}({order}). Write the numbers by name: "
    "{name}({names})"
)

LOOKED_AT = ("bool", "float", "int")  # annotations: rule 6
BY_TRUTH = {  # flags of which PyTorch asks for the truth only
    *("add_zero_attn", "allow_unused", "antialias", "average_attn_weights", "center"),
    *("create_graph", "get_infos", "hard", "inplace", "is_grads_batched", "materialize_grads"),
    *("need_weights", "recompute_scale_factor", "reduce", "retain_graph", "return_indices"),
    *("size_average", "use_separate_proj_weight"),
}
NOWHERE = 63  # the place of an argument that is given by name only, the last bit of a word
VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
KINDS = ("Tensor", "bool", "int", "float", "str")
NUMERIC = (int, float, complex, np.ndarray, np.generic)
OF_TENSORS = {"_array", "_node", "dim", "dtype", "ndim", "numel", "shape", "size"}

# Rule 7: the types of arguments, and of results, by their names and by those of functions.
NUMBER, INTS = "Number | Tensor", "int | Sequence[int]"
SEVERAL, PAIR = "tuple[Tensor, ...]", "Tensor | tuple[Tensor, Tensor]"

TAKES = {
    **dict.fromkeys(["other", "exponent", "min", "max", "value", "end", "start", "step", "src",
                     "fill_value", "mean", "std", "low", "high", "p", "q", "n", "element",
                     "elements", "test_elements"], NUMBER),
    **dict.fromkeys(["axis", "dim", "dims", "size", "stride", "padding", "dilation", "kernel_size",
                     "output_padding", "shifts", "sizes", "given", "s",
                     "normalized_shape", "order", "source", "destination",
                     "split_size_or_sections"], INTS),
    "input": "Tensor", "gradient": "Tensor", "tensors": "Sequence[Tensor] | Tensor",
    "alpha": "Number", "beta": "Number",
    "output_size": "int | Sequence[int | None]", "repeats": f"{INTS} | Tensor",
    "where.input": NUMBER, "norm.p": f"{NUMBER} | str",
    "new_full.size": "Number | Sequence[int]", "tensordot.dims": "Any", "range": "Sequence[float]",
    "indices_or_sections": f"{INTS} | Tensor", "shape": f"{INTS} | dtype", "key": "Index",
    "dtype": "dtype", "device": "device | str | int", "layout": "layout",
    "memory_format": "memory_format", "reduction": "str | int", "out": "Sequence[Tensor]",
}  # fmt: skip

GIVES = {
    **{name: f"return_types.{name}"
       for name in ("aminmax", "cummax", "cummin", "frexp", "geqrf", "histogram", "histogramdd",
                    "kthvalue", "lu_unpack", "mode", "qr", "slogdet", "sort", "svd", "topk",
                    "triangular_solve")},
    **{name: f"Tensor | return_types.{name}" for name in ("max", "median", "min", "nanmedian")},
    **{name: f"return_types.linalg_{name}"
       for name in ("cholesky_ex", "eig", "eigh", "inv_ex", "ldl_factor", "ldl_factor_ex", "lstsq",
                    "lu_factor", "lu_factor_ex", "solve_ex")},
    **dict.fromkeys(["atleast_1d", "atleast_2d", "atleast_3d", "nonzero", "unique",
                     "unique_consecutive", "where"], f"Tensor | {SEVERAL}"),
    **dict.fromkeys(["split_copy", "split_with_sizes_copy", "unbind_copy", "lu"], SEVERAL),
    **{f"{kind}max_pool{n}d": PAIR for kind in ("", "adaptive_", "fractional_") for n in (1, 2, 3)},
    **{f"{kind}max_pool{n}d_with_indices": "tuple[Tensor, Tensor]"
       for kind in ("", "adaptive_", "fractional_") for n in (1, 2, 3)},
    **dict.fromkeys(["__getitem__", "slice_copy", "as_subclass", "to_device"], "Tensor"),
    **dict.fromkeys(["set_num_threads", "set_num_interop_threads", "set_anomaly_enabled",
                     "use_deterministic_algorithms", "set_deterministic_debug_mode",
                     "set_float32_matmul_precision"], "None"),
    **dict.fromkeys(["get_num_threads", "get_num_interop_threads", "get_deterministic_debug_mode"],
                    "int"),
    **dict.fromkeys(["are_deterministic_algorithms_enabled", "set_flush_denormal",
                     "is_deterministic_algorithms_warn_only_enabled", "compiled_with_cxx11_abi",
                     "is_vulkan_available"], "bool"),
    **dict.fromkeys(["__array__", "numpy"], "ndarray[Any, Any]"),
    "get_float32_matmul_precision": "str", "size": "Size | int", "stride": "int | tuple[int, ...]",
    "type": "str | Tensor",
    # Only the values know whether it is an int, which may stand for every other number.
    "item": "int | Any", "tolist": "list[Any]",
}  # fmt: skip


def rearranged(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments of a call that failed, by the names and in the order that the function has.

    None if it took them as they were. Raises TypeError where one of a wrong type was the cause.
    """
    signature = inspect.signature(function)
    if fits(signature, args, kwargs):
        check_types(function, signature, signature.bind(*args, **kwargs).arguments, error)
        return None
    own = {own_name(key, signature.parameters): value for key, value in kwargs.items()}
    if len(own) < len(kwargs):  # two names of one argument
        return None
    if "device" in signature.parameters:
        for key in NEUTRAL:
            if key in own and key not in signature.parameters:
                check_neutral(function.__name__, key, own.pop(key))
    if fits(signature, args, own):
        return args, own
    for order in ORDERS.get(function.__name__.rstrip("_"), ()):
        names = order.split(", ")
        given = dict(zip(names, args, strict=False))
        if len(args) <= len(names) and given.keys().isdisjoint(own):
            given |= own
            if given.keys() >= set(names) and in_order(given, names):
                shown = [name for name in names if name not in NUMBERS]
                shown += [f"{name}={given[name]!r}" for name in names if name in NUMBERS]
                name = function.__name__
                text = DEPRECATED.format(name=name, order=order, names=", ".join(shown))
                warnings.warn(text, UserWarning, stacklevel=users_level())
                return (given.pop("input"),), given
    unknown = [key for key in own if key not in signature.parameters]
    if unknown and "unexpected keyword" in str(error):
        raise unexpected(function.__name__, unknown[0], signature.parameters) from None
    return None if own.keys() == kwargs.keys() else (args, own)  # for the function's own error


@functools.cache
def looked_at(function: Any, kind: str) -> dict[str, int]:
    """The arguments of a function annotated as `kind`, and their places: rule 6."""
    types, code = function.__annotations__, function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return {
        name: place if place < code.co_argcount else NOWHERE
        for place, name in enumerate(names)
        if types.get(name) in (kind, f"{kind} | None", f"{kind} | Tensor")
        and name not in BY_TRUTH
        and not name.startswith("_")
    }


def is_optional(function: Any, name: str, kind: str) -> bool:
    """Whether an argument that is looked at may be None."""
    return name == "requires_grad" or function.__annotations__[name] == f"{kind} | None"


def look_at(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Raise TypeError where a flag or a number is given anything else: rule 6.

    Returns the arguments with numbers where others stood for them, or None if none did.
    """
    given, named = list(args), dict(kwargs)
    for kind in LOOKED_AT:
        for name, place in looked_at(function, kind).items():
            at = place < len(args)
            if not at and name not in kwargs:
                continue
            value = args[place] if at else kwargs[name]
            if value is None and is_optional(function, name, kind):
                continue
            found = READ[kind](value)
            moving = kind == "float" and found is value and moves(value)
            if found is None or (moving and function.__annotations__[name] != "float | Tensor"):
                error = constant if moving else wrong_type
                raise error(function.__name__, name, kind, value, place + 1 if at else None)
            if at:
                given[place] = found
            else:
                named[name] = found
    pairs = zip((*given, *named.values()), (*args, *kwargs.values()), strict=True)
    return (tuple(given), named) if any(a is not b for a, b in pairs) else None


def flag_in(value: Any) -> Any:
    """The boolean that a value is; None for anything else."""
    return value if isinstance(value, bool) else None


def number_in(value: Any) -> Any:
    """The number that a value is or holds; None for what holds none.

    A batch stays what it is, and so does a tensor that moves.
    """
    if type(value) in (int, float) or isinstance(value, (bool, complex)):
        return value
    array = getattr(value, "_array", value)
    if isinstance(value, (int, float)) and not hasattr(array, "dtype"):
        return value
    if getattr(array, "size", 0) != 1 or not hasattr(array, "dtype"):
        return None
    held = isinstance(array, (np.ndarray, np.generic)) and not moves(value)
    return array.item() if held else value


def moves(value: Any) -> bool:
    """Whether a value is a tensor whose derivative may be wanted: with a history or a tangent."""
    return getattr(value, "_node", None) is not None or bool(getattr(value, "_tangents", None))


def integer_in(value: Any) -> Any:
    """The integer that a value is or stands for; None for what is none, as a boolean.

    Raises ValueError for one beyond 64 bits.
    """
    array = getattr(value, "_array", value)
    if isinstance(value, bool) or getattr(getattr(array, "dtype", None), "kind", "i") == "b":
        return None
    if array is not value and array.size != 1:
        return None
    try:
        found = operator.index(value)
    except TypeError:
        return None
    if not -(2**63) <= found < 2**63:
        raise ValueError(f"Overflow when unpacking long long: {found} does not fit into 64 bits")
    return found


READ = {"bool": flag_in, "float": number_in, "int": integer_in}


def own_name(key: str, names: Any) -> str:
    """The name, among those that a function has, of the argument that a call names `key`."""
    if key in names:
        return key
    return next((name for name in ALIASES.get(key, "").split() if name in names), key)


def unexpected(function: str, key: str, names: Iterable[str], why: str = "") -> TypeError:
    """The error for an argument of a name that a function does not know; `why` says more."""
    own = [name for name in names if name[0] != "_"]
    known = {name: name for name in own}
    known |= {name: mine for name in ALIASES if (mine := own_name(name, own)) in own}
    near = nearest(key, known)
    meant = f"Did you mean '{known[near]}'? " if near else ""
    text = f"{function}() got an unexpected keyword argument '{key}'"
    return TypeError(f"{text}. {why or meant}It takes: {', '.join(own)}")


def check_neutral(name: str, key: str, value: Any) -> None:
    """Raise unless an argument asks for what there is: strided memory that is not pinned."""
    if key == "pin_memory" and value:
        raise RuntimeError(
            "Cannot access accelerator device when none is available. Leave pin_memory away"
        )
    if key == "layout" and value is not None and getattr(value, "name", None) != "strided":
        raise TypeError(f"{name}(): argument 'layout' must be retrograd.strided, not {value!r}")


def fits(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function with this signature takes these arguments."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def in_order(given: dict[str, Any], names: list[str]) -> bool:
    """Whether numbers stand where an older order has them; `other` may be one, too."""
    return all(
        name == "other" or isinstance(given[name], (int, float, complex)) == (name in NUMBERS)
        for name in names
    )


def check_types(
    function: Any, signature: inspect.Signature, arguments: dict[str, Any], error: Exception
) -> None:
    """Raise if an argument has not what every tensor has, or is not what its annotation says."""
    if isinstance(error, TypeError) and str(error).startswith("argument '"):
        raise TypeError(f"{function.__name__}(): {error}") from None
    asks = isinstance(error, UnbatchableError)  # the function then runs once per example
    for place, (name, value) in enumerate(arguments.items(), 1):
        parameter = signature.parameters[name]
        kind, _, absent = str(parameter.annotation).partition(" | ")
        if isinstance(error, AttributeError) and error.name is not None and not asks:
            meant = error.name in OF_TENSORS
            if value is error.obj and (meant or "Tensor" in (kind, absent)):
                raise wrong_type(function.__name__, name, "Tensor", value, place) from None
            if meant and isinstance(value, (list, tuple)) and any(v is error.obj for v in value):
                raise TypeError(
                    f"{function.__name__}(): argument '{name}' (position {place}) must be tuple of "
                    f"Tensors, but one of them is of type {type(error.obj).__name__}"
                ) from None
            if kind == "Tensor" and value is not None and not hasattr(value, "_array"):
                raise wrong_type(function.__name__, name, "Tensor", value, place) from None
        if kind == "str" and isinstance(error, (ValueError, NotImplementedError)):
            continue  # it says which there are
        single = parameter.kind not in VARIADIC
        if single and kind in KINDS and absent in ("", "None") and not is_of(value, kind, absent):
            raise wrong_type(function.__name__, name, kind, value, place) from None


def is_of(value: Any, kind: str, absent: str) -> bool:
    """Whether a value may be meant for an argument of one of `KINDS`, or `absent`."""
    if value is None:
        return bool(absent)
    if kind == "Tensor":
        return hasattr(value, "_array") or isinstance(value, (list, tuple, *NUMERIC))
    if kind == "str":
        return isinstance(value, str)
    return isinstance(value, NUMERIC) or getattr(getattr(value, "_array", None), "size", 0) == 1


def by_name(op: Any, inputs: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """Call an op of one or two inputs, of which those that are ABSENT are among the keywords."""
    if "by" in given and op.name in MEANINGS:
        return MEANINGS[op.name](op.call, tuple([t for t in inputs if t is not ABSENT]), given)
    names = ("input", "other")[: len(inputs)]
    place = dict(zip(names, inputs, strict=True))
    for name, value in given.items():
        own = own_name(name, place)
        if own not in place and own != "out":
            raise unexpected(op.name, name, (*place, "out"))
        if place.get(own, ABSENT) is not ABSENT:
            raise TypeError(f"{op.name}() got multiple values for argument '{own}'")
        place[own] = value
    missing = [f"'{name}'" for name in names if place[name] is ABSENT]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        raise TypeError(
            f"{op.name}() missing {len(missing)} required positional argument{plural}: "
            f"{' and '.join(missing)}"
        )
    return op.call(*[place.pop(name) for name in names], **place)


def type_of_argument(function: str, argument: str, text: str, optional: bool) -> str:
    """The type of an argument that is annotated as `text`; `optional`: its default is None."""
    if text != "Any":
        return text
    known = TAKES.get(f"{function}.{argument}", TAKES.get(argument, text))
    if argument == "padding" and "conv" in function:
        known += " | str"
    return f"{known} | None" if optional and known != text else known


def annotate(function: Callable[..., Any]) -> None:
    """Let the annotations of a function, or the signature that it has, say what is open as Any."""
    types, name = function.__annotations__, function.__name__
    shown = function.__dict__.get("__signature__")
    if shown is not None:
        function.__signature__ = shown.replace(  # type: ignore[attr-defined]
            parameters=[
                each.replace(
                    annotation=type_of_argument(
                        name, each.name, each.annotation, each.default is None
                    )
                )
                for each in shown.parameters.values()
            ],
            return_annotation=type_of_result(name, shown.return_annotation),
        )
    if "Any" not in types.values():
        return
    code, ends = function.__code__, function.__defaults__ or ()
    optional = {key for key, value in (function.__kwdefaults__ or {}).items() if value is None}
    placed = code.co_varnames[: code.co_argcount]
    optional.update(
        key for key, value in zip(reversed(placed), reversed(ends), strict=False) if value is None
    )
    for key, text in types.items():
        types[key] = (
            type_of_result(name, text)
            if key == "return"
            else type_of_argument(name, key, text, key in optional)
        )


def type_of_result(function: str, text: str) -> str:
    """The type of a result whose annotation is `text`."""
    return GIVES.get(function, text) if text == "Any" else text

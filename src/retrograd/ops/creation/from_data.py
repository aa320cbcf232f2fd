"""Tensors from data: numbers, nested sequences, NumPy arrays.

NOTE [Inference]
1. Python numbers give bool, int64, the default dtype, or its complex dtype, whichever is highest.
2. NumPy values and tensors keep their dtype; a mixture is promoted as tensors with dimensions are.
3. A given dtype wins. Python numbers that it cannot hold are refused, arrays are cast.
4. No integer passes through a floating dtype on its way to an integer one.
5. Factories that need no data are in `factories`, and finish their work here.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ... import dtypes, version
from ...engine.dispatch import MOST_DIMS
from ...engine.dispatch import as_tensor as beside
from ...engine.naming import number_in
from ...engine.overriding import CONVERTERS, FACTORIES, named_in
from ...engine.placement import as_device, default, device
from ...engine.tensor import Tensor, as_array, is_array, new_tensor, set_requires_grad
from ...errors import wrong_type
from ...kernels.allocation import copied, has_memory, has_values, is_seen
from ...locks import load
from ...quiet import calm, quietly
from ..core.engine_ops import held_by
from ..tensor.values import warn_of_history

__all__ = ["as_tensor", "asarray", "from_numpy", "scalar_tensor", "tensor"]

COPY_CONSTRUCT = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)
NUMBERS = (bool, int, float, complex)  # each holds those before it, but for large integers
NATURAL = tuple([np.dtype(kind) for kind in (np.bool_, np.int64, np.float64, np.complex128)])
OBJECT = np.dtype(object)
SEQUENCES = (list, tuple, range)


def finish(array: Any, requires_grad: bool) -> Tensor:
    """The new leaf tensor around `array`, without its data where the thread's device is meta."""
    made = new_tensor(array if default.device.type == "cpu" else empty_on(array, default.device))
    if requires_grad is not False and requires_grad is not None:
        set_requires_grad(made, requires_grad)
    return made


def where_of(spec: Any) -> device:
    """The device that `spec` names, or the thread's own: as a context, it is that for a while."""
    return default.device if spec is None else as_device(spec)


def empty_on(array: Any, where: device) -> Any:
    """An array on a device: itself if it is there, without data, or with whatever memory holds."""
    if has_values(array) != (where.type == "meta"):
        return array
    if hasattr(array, "of"):  # a layout, which is where its data are
        return array.of(partial(empty_on, where=where))
    if not has_memory(array):
        return array
    if where.type == "meta":
        return load("retrograd.kernels.meta").like(array)
    return np.empty(array.shape, array.dtype)


def check_device(spec: Any) -> None:
    """Raise unless `spec` is None or names the cpu: for what makes tensors there alone."""
    if spec is not None and as_device(spec).type == "meta":
        raise NotImplementedError("not on the meta device: make it on the cpu, then x.to('meta')")


def check_dtype(spec: Any, name: str) -> np.dtype[Any]:
    """`spec` as a NumPy dtype; TypeError, as from the function called `name`, if it is no dtype."""
    if spec.__class__ is dtypes.dtype:
        return spec.numpy
    if isinstance(spec, str):
        raise TypeError(f"{name}(): argument 'dtype' must be {version.called}.dtype, not str")
    return dtypes.to_numpy(spec)


@named_in(CONVERTERS)
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A leaf tensor with a copy of `data`: a number, nested sequences of them, or an array.

    The dtype, if not given, is bool, int64, the default dtype, or its complex dtype for Python
    numbers, and the data's own for arrays and tensors. Raises ValueError for sequences of unequal
    lengths, TypeError or RuntimeError for what is no number or does not fit the dtype.

    >>> rg.tensor([[1, 2], [3, 4]]).dtype, rg.tensor(1.5).shape
    (retrograd.int64, retrograd.Size([]))
    """
    target = None if dtype is None else check_dtype(dtype, "tensor")
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format(f"{version.called}.tensor"), stacklevel=2)
        device = data.device if device is None else device
        data = data.to(device)
    if device is None:
        return finish(copy_of(data, target), requires_grad)
    with where_of(device):
        return finish(copy_of(data, target), requires_grad)


converted = quietly(np.array)


def copy_of(data: Any, target: np.dtype[Any] | None) -> Any:
    """A new array with the values of `data`, of dtype `target` or inferred: NOTE [Inference]."""
    if isinstance(data, Tensor):
        data = data._array
    if not has_values(data):
        return data.copy() if target is None else data.astype(target)
    if isinstance(data, (np.ndarray, np.generic)):
        native = dtypes.of_numpy(data.dtype).numpy
        target = native if target is None else target
        if 0 in data.strides:  # NumPy would give the expanded dimension the innermost place
            data = copied(data)
        return converted(held_by(target, data), target)
    if data.__class__ in NUMBERS:
        return from_numbers(data, target)
    if not isinstance(data, SEQUENCES):
        return from_object(data, target)
    found = kinds_in(data)
    if found <= set(NUMBERS):
        return from_numbers(data, target, found)
    return from_mixture(data, target)


def kinds_in(data: Any) -> set[Any]:
    """The types of the elements of nested sequences."""
    found: set[Any] = set()
    element_types(data, found)
    return found - {list, tuple, range}


def element_types(data: Any, found: set[Any], depth: int = 1) -> None:
    """Add to `found` the types of everything in nested sequences.

    Raises ValueError where they are nested deeper than arrays have dimensions, TypeError for one
    that holds itself beside others.
    """
    check_depth(data, depth)
    if isinstance(data, range):
        found |= {int}
        return
    here = set(map(type, data))
    found |= here
    if any(issubclass(kind, SEQUENCES) for kind in here):
        for element in data:
            if element is data and data[0] is not data:
                raise TypeError("new(): self-referential lists are incompatible")
            if isinstance(element, SEQUENCES):
                element_types(element, found, depth + 1)


def check_depth(data: Any, depth: int) -> None:
    """Raise ValueError for a sequence that is nested deeper than arrays have dimensions."""
    if depth > MOST_DIMS:
        raise ValueError(
            f"too many dimensions '{type(data).__name__}': the sequences are nested more than "
            f"{MOST_DIMS} deep, or one holds itself"
        )


def from_numbers(data: Any, target: np.dtype[Any] | None, found: set[Any] | None = None) -> Any:
    """Python numbers in nested sequences, of the types `found`, as an array."""
    kinds = {kind_of(data)} if found is None else found
    wanted = NATURAL[max(map(NUMBERS.index, kinds), default=2)]
    if target is not None and int in kinds:
        wanted = on_the_way(wanted, target)
    if wanted is OBJECT:
        check_lengths(data)  # for NumPy would make an array of lists
    try:
        array = np.array(data, wanted)
    except ValueError:
        check_lengths(data)
        raise
    except OverflowError as error:
        raise refusal(wanted, error) from None
    if target is not None:
        return calm(store, array, target)
    if wanted.kind == "f":
        return calm(array.astype, dtypes.default_numpy(), copy=False)
    if wanted.kind == "c":
        return calm(array.astype, dtypes.complex_of(dtypes.default_numpy()), copy=False)
    return array


def kind_of(number: Any) -> type:
    """Which of `NUMBERS` a number is; subclasses of them are numbers, too."""
    return next(kind for kind in NUMBERS if isinstance(number, kind))


def on_the_way(natural: np.dtype[Any], target: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which integers, among others perhaps, are read: NOTE [Inference], 4."""
    if natural.kind == "c":
        return natural
    if target.kind not in "biu":
        return NATURAL[2]
    if natural.kind == "f" or target.kind == "b":
        return OBJECT
    return target if target == np.uint64 else natural


def refusal(wanted: np.dtype[Any], error: Exception | None) -> Exception:
    """What is raised for a Python integer that is too large for the dtype it is read in."""
    if wanted.kind == "i":
        return ValueError("Overflow when unpacking long long: an integer needs more than 64 bits")
    if wanted.kind == "u":
        return OverflowError(
            f"can't convert negative int to unsigned, nor an int too big to convert: {error}"
        )
    return OverflowError(f"{error}: float64 holds numbers up to about 1.8e308")


def store(array: Any, target: np.dtype[Any]) -> Any:
    """An array of Python numbers as dtype `target`; refused where it would overflow."""
    kind, name = array.dtype.kind, dtypes.of_numpy(target).name
    if kind == "c" and target.kind not in "cb":
        if (array.imag != 0).any():
            raise TypeError(f"must be real number, not complex: {name} holds no imaginary part")
        array, kind = array.real, "f"
    if target.kind in "iu" and kind != "b" and array.size:
        limits, least, most = np.iinfo(target), *extremes(array)
        wraps = target.kind == "u" and kind == "i"  # as PyTorch's integers do, but those of 64 bits
        if not ((-limits.max if wraps else limits.min) <= least and most <= limits.max):
            raise RuntimeError(
                f"value cannot be converted to type {name} without overflow: "
                f"the values lie between {least} and {most}"
            )
    return calm(array.astype, target)


def extremes(array: Any) -> tuple[Any, Any]:
    """The least and the largest number of an array, as Python numbers; NaN if there is one."""
    if array.dtype != OBJECT:
        return np.min(array).item(), np.max(array).item()
    numbers = list(array.flat)
    unordered = [number for number in numbers if number != number]  # noqa: PLR0124
    return min(unordered or numbers), max(unordered or numbers)


def check_lengths(data: Any) -> None:
    """Raise for nested sequences that are no block: ValueError, naming lengths and dimension."""
    level, dim = [data], 0
    while level and isinstance(level[0], SEQUENCES):
        length = len(level[0])
        for item in level:
            if not isinstance(item, SEQUENCES):
                raise TypeError(f"not a sequence: {item!r} at dim {dim}, beside one of {length}")
            if len(item) != length:
                raise ValueError(
                    f"expected sequence of length {length} at dim {dim} (got {len(item)}): rows "
                    "are equally long. Pad them, or make a tensor of each: "
                    "nn.utils.rnn.pad_sequence pads those"
                )
        level, dim = [element for item in level for element in item], dim + 1
    for item in level:
        if isinstance(item, SEQUENCES):
            kind = type(item).__name__
            raise TypeError(
                f"'{kind}' object cannot be interpreted as an integer, nor as any number: it "
                f"stands beside numbers, at dim {dim - 1}"
            )


def from_mixture(data: Any, target: np.dtype[Any] | None) -> Any:
    """Nested sequences that hold NumPy values or tensors, as an array."""
    found: list[np.dtype[Any]] = []
    bare = unwrap(data, found, target is not None)
    if target is None:
        target = reduce(dtypes.promote_numpy, found or [dtypes.default_numpy()])
        if found and target.kind == "f" and all(each.kind in "biu" for each in found):
            raise RuntimeError(
                "Promotion for uint16, uint32, uint64 types is not supported: no integer dtype "
                f"holds {', '.join(sorted({each.name for each in found}))}. Give a dtype"
            )
    wide = complex if any(each.kind == "c" for each in found) else target
    try:
        return held_by(target, np.array(bare, wide)).astype(target, copy=False)
    except ValueError:
        check_lengths(bare)
        raise


def unwrap(data: Any, found: list[Any], typed: bool, depth: int = 1) -> Any:
    """`data` with tensors, and fractions if `typed`, as numbers; the dtypes go to `found`."""
    if isinstance(data, SEQUENCES):
        check_depth(data, depth)
        return [unwrap(element, found, typed, depth + 1) for element in data]
    if isinstance(data, Tensor):
        if data._array.size != 1:
            raise ValueError(
                "only one element tensors can be converted to Python scalars, but one in the list "
                f"has shape {list(data.shape)}. Use retrograd.stack(list)."
            )
        found.append(data._array.dtype)
        warn_of_history(data)
        return data._array.reshape(())
    if isinstance(data, (np.ndarray, np.generic)):
        found.append(dtypes.of_numpy(data.dtype).numpy)
        return data
    if isinstance(data, str) and found:
        raise TypeError(f"new(): invalid data type 'str': {data!r} stands beside numbers")
    if isinstance(data, str):
        raise ValueError(
            f"too many dimensions 'str': {data!r} is no number. Give each text one, as its place "
            "in a list: names.index(text)"
        )
    if not isinstance(data, NUMBERS):
        if typed and (number := converter(data)) is not None:
            return number(data)
        return unwrap(elements(data), found, typed, depth)
    found.append(from_numbers(data, None).dtype)
    return data


def from_object(data: Any, target: np.dtype[Any] | None) -> Any:
    """Anything else that has an array to give, or elements; of a storage, its own memory."""
    if hasattr(type(data), "_as_array"):
        return data._as_array(target)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if isinstance(data, NUMBERS):  # a subclass, such as an enumeration of integers
        return from_numbers(data, target)
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return copy_of(np.asarray(data), target)
    if target is not None and (number := converter(data)) is not None:
        return from_numbers(number(data), target)
    return copy_of(elements(data), target)


def converter(data: Any) -> Callable[[Any], Any] | None:
    """What makes a Python number of an object of another class, if it stands for one."""
    kind = type(data)
    return operator.index if hasattr(kind, "__index__") else getattr(kind, "__float__", None)


def elements(data: Any) -> list[Any]:
    """The elements of a sequence that is no list, such as a deque."""
    kind = type(data)
    if not (hasattr(kind, "__getitem__") and hasattr(kind, "__len__")) or hasattr(kind, "keys"):
        raise RuntimeError(f"Could not infer dtype of {kind.__name__}")
    if kind is bytes:
        raise TypeError("new(): invalid data type 'bytes'")
    return [data[place] for place in range(len(data))]


@named_in(CONVERTERS)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory and history where possible.

    A tensor of the wanted dtype is returned itself, one of another dtype is converted (recorded),
    an array shares its memory and stays of its kind, if it speaks NumPy's protocols; anything else
    is copied.

    >>> x = rg.ones(2)
    >>> rg.as_tensor(x) is x
    True
    """
    target = None if dtype is None else check_dtype(dtype, "as_tensor")
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device, dtype)
    with where_of(device):
        return finish(held(data, target), False)


def held(data: Any, target: np.dtype[Any] | None) -> Any:
    """An array on the memory of `data` where it is one of dtype `target`, else a copy."""
    if shareable(data) and (target is None or target == data.dtype):
        return as_array(data).view()
    return copy_of(data, target)


def shareable(data: Any) -> bool:
    """Whether a tensor can stand on the memory of `data`, an array of NumPy's or another kind."""
    return (
        is_array(data)
        and hasattr(data, "flags")  # as what has memory of its own
        and data.dtype == dtypes.of_numpy(data.dtype).numpy
        and (not is_seen(data) or data.flags.writeable)
    )


@named_in(CONVERTERS)
def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a tensor: a copy if `copy` is True, no copy if False, a copy if needed if None.

    The memory of arrays is shared, also of those that speak DLPack or have the buffer protocol,
    whose elements count as of the dtype they say; bytes are read as numbers of the dtype given.
    With `requires_grad` False the result has no history. Raises ValueError where `copy=False`
    cannot be had, RuntimeError for a NumPy scalar.

    >>> rg.asarray(np.arange(3))
    tensor([0, 1, 2])
    """
    if device is not None and as_device(device).type == "meta":
        obj, copy = as_tensor(obj, device=device), None
    target = None if dtype is None else check_dtype(dtype, "asarray")
    if not isinstance(obj, Tensor):
        if isinstance(obj, np.generic) and copy is False:
            raise RuntimeError(
                "can't alias NumPy scalars. Leave copy=False away, or write np.asarray(value)"
            )
        obj = with_memory(obj, target)
        if copy is False and not shareable(obj):
            raise ValueError("can't alias arbitrary sequence into a tensor. Leave copy=False away.")
        made = tensor(obj, dtype=dtype) if copy else as_tensor(obj, dtype)
        if copy is False and made._array.dtype != obj.dtype:
            raise ValueError(f"can't alias array of {obj.dtype} into dtype '{made.dtype}'.")
        return made.requires_grad_(requires_grad) if requires_grad else made
    if copy is False and target is not None and target != obj._array.dtype:
        raise ValueError(f"can't alias tensor with dtype '{obj.dtype}' into dtype '{dtype}'.")
    made = obj.to(device, obj.dtype if dtype is None else dtype, copy=bool(copy))
    if requires_grad is False and made.requires_grad:
        return made.detach()
    return made.requires_grad_(requires_grad) if requires_grad else made


def with_memory(obj: Any, target: np.dtype[Any] | None) -> Any:
    """What exports its memory, as an array on it; anything else, and arrays, as they are."""
    known = isinstance(obj, (*SEQUENCES, *NUMBERS, str))
    if known or is_array(obj) or hasattr(obj, "__array__"):  # the last as NumPy's scalars have
        return obj
    if isinstance(obj, (bytes, bytearray)):
        return np.frombuffer(obj, np.uint8 if target is None else target)
    if hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        return load("retrograd.ops.tensor.dlpack").from_dlpack(obj)._array
    try:
        return np.asarray(memoryview(obj))
    except TypeError:
        return obj


@named_in(CONVERTERS)
def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the memory of a NumPy array: writing to one shows in the other.

    What NumPy's functions give for tensors is a tensor, and comes back as it is. Raises TypeError
    for what is no array, or for a dtype that tensors lack; ValueError for another byte order. A
    read-only array gives a tensor that cannot be written in place.

    >>> a = np.zeros(2); t = rg.from_numpy(a); a[0] = 1; t
    tensor([1., 0.], dtype=retrograd.float64)
    """
    if isinstance(ndarray, Tensor):
        return ndarray
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if ndarray.dtype != dtypes.of_numpy(ndarray.dtype).numpy:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported. Convert the array first: "
            "a.astype(a.dtype.newbyteorder('='))"
        )
    return new_tensor(np.asarray(ndarray).view())


def fill_value(value: Any, target: np.dtype[Any] | None) -> Any:
    """A number as a 0-d array, of its own dtype if `target` is None.

    Raises RuntimeError for a number that the dtype does not hold, OverflowError for an integer that
    64 bits do not hold, where the dtype is one of integers.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if target is None:
        target = dtypes.default_numpy() if value.__class__ is float else natural_dtype(value)
    if value.__class__ in (int, float) and target.char in "fd" and abs(value) <= dtypes.MOST_HALF:
        return np.array(value, target)  # the usual numbers, at once
    if target.kind in "iu" and isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError(f"int too big to convert: {value} does not fit into 64 bits")
    if target.kind not in "cb":
        value = dtypes.real_scalar(value, target)
    most = 2**64 if target == np.uint64 else 2**63
    if target.kind in "iu" and isinstance(value, int) and not -(2**63) <= value < most:
        raise RuntimeError(dtypes.OVERFLOW.format(dtype=dtypes.of_numpy(target).name, value=value))
    if target == np.uint64 and isinstance(value, int) and value < 0:
        value += 2**64  # it wraps, as the other unsigned dtypes do
    dtypes.check_scalar(value, target)
    return from_numbers(value, target)


def natural_dtype(number: Any) -> np.dtype[Any]:
    """The dtype of a tensor of one Python number: NOTE [Inference], 1."""
    natural, default = NATURAL[NUMBERS.index(kind_of(number))], dtypes.default_numpy()
    return {"f": default, "c": dtypes.complex_of(default)}.get(natural.kind, natural)


def filler(value: Any, like: np.dtype[Any], function: str, argument: str, place: int) -> Tensor:
    """A tensor itself, a number as a 0-d one of the dtype it takes beside `like`.

    Raises RuntimeError for a finite number that would become infinite; TypeError, which names the
    argument of the function, for what is neither.
    """
    if isinstance(value, Tensor):
        return value
    if not isinstance(value, (*NUMBERS, np.generic)):
        raise wrong_type(function, argument, "Tensor or Number", value, place)
    found = beside(value, like)
    dtypes.check_scalar(value, found._array.dtype)
    return found


@named_in(FACTORIES)
def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A 0-d tensor of the default dtype, or of `dtype`, with the value of a number.

    Raises TypeError for anything but a number, or a tensor that holds one.

    >>> rg.scalar_tensor(3)
    tensor(3.)
    """
    value = number_in(s)
    if not isinstance(value, NUMBERS):
        raise wrong_type("scalar_tensor", "s", "Number", s, 1)
    target = dtypes.default_numpy() if dtype is None else check_dtype(dtype, "scalar_tensor")
    with where_of(device):
        return finish(fill_value(value, target), requires_grad)

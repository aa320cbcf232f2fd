"""Tensors without data: constants, ranges, and tensors like another one.

Sizes come as integers or as one sequence of them. Every factory finishes through `leaf_or_out`,
where `out=` and `requires_grad=` are treated.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes, providers, version
from ...engine import native
from ...engine.dispatch import MOST_DIMS, TOO_MANY_DIMS, write_out
from ...engine.naming import INTS, annotate
from ...engine.overriding import FACTORIES, IGNORED, named_in
from ...engine.placement import as_device, default
from ...engine.tensor import Tensor, device, has_history, new_tensor
from ...engine.trace import users_level
from ...errors import OutOfMemoryError, wrong_type
from ...kernels.allocation import fill_uninitialized
from ...locks import load
from ...quiet import quietly
from ..core.arguments import number_in
from ..core.dims import check_single, is_size, once
from ..core.pointwise import unsupported
from .from_data import NUMBERS, check_dtype, finish, store, where_of
from .from_data import fill_value as as_fill_value
from .memory_format import arranged, preserve_format

__all__ = [
    "arange", "empty", "eye", "full", "get_default_device", "linspace", "logspace", "ones",
    "set_default_device", "zeros",
]  # fmt: skip

INT64 = np.dtype(np.int64)


@native.in_c
def shape_of(given: Any, name: str) -> tuple[int, ...]:
    """The shape that a factory was asked for, as integers or as one sequence of them."""
    sizes = given[0] if len(given) == 1 and isinstance(given[0], (tuple, list)) else given
    shape: list[int] = []
    for n in sizes:
        if n.__class__ is not int:
            if not is_size(n, len(shape)):
                check_single(given, name)
                raise wrong_type(name, "size", "tuple of ints", n, 1)
            n = n.__index__()  # noqa: PLW2901
        shape.append(n)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {shape}")
    if len(shape) > MOST_DIMS:
        raise RuntimeError(TOO_MANY_DIMS.format(name=name))
    return tuple(shape)


def size_in(given: Any, size: Any, name: str) -> tuple[int, ...]:
    """`shape_of` for a factory that takes sizes as `*given` or as `size=`."""
    if size is not None:
        given = once(given, size, name, "size")
    elif not given:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    return shape_of(given, name)


def allocate(make: Callable[..., Any], shape: tuple[int, ...], target: Any) -> Any:
    """`make(shape, target)`; OutOfMemoryError where the memory cannot be had.

    RuntimeError where the number of its bytes has more than 63 bits.
    """
    try:
        if default.device.type != "meta":
            return make(shape, target)
        check_size(shape, target)
        return load("retrograd.kernels.meta").empty(shape, target)
    except (MemoryError, ValueError):
        raise no_memory(shape, target) from None


def no_memory(shape: tuple[int, ...], target: Any) -> OutOfMemoryError:
    """The error for a shape whose memory cannot be had; RuntimeError for more than 63 bits."""
    needed = check_size(shape, target)
    check_strides(shape, target)
    return OutOfMemoryError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {needed} bytes, "
        f"for shape {list(shape)} of {dtypes.of_numpy(target).name}."
    )


def check_size(shape: tuple[int, ...], target: Any) -> int:
    """The number of bytes of a shape; RuntimeError where it has more than 63 bits."""
    needed = math.prod(shape) * target.itemsize
    if needed >= 2**63:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(shape)}: no memory holds "
            f"{needed} bytes"
        ) from None
    return int(needed)


def unwritten(shape: tuple[int, ...], target: Any) -> Any:
    """`allocate` for an array that nothing was written to."""
    return fill_uninitialized(allocate(np.empty, shape, target))


def check_strides(shape: tuple[int, ...], kind: Any) -> None:
    """Raise RuntimeError for an empty shape whose strides have more than 63 bits."""
    if 0 in shape and math.prod([max(n, 1) for n in shape]) * kind.itemsize >= 2**63:
        raise RuntimeError(f"Stride calculation overflowed with sizes={list(shape)}")


def target_of(dtype: Any, out: Any, default: Any, name: str) -> Any:
    """The NumPy dtype to make: the one given, else that of `out`, else `default`."""
    if dtype is None:
        return default if out is None else out._array.dtype
    target = check_dtype(dtype, name)
    if out is not None and out._array.dtype != target:
        raise RuntimeError(
            f"dtype {dtypes.legacy_name(target)} does not match dtype of out parameter "
            f"({dtypes.legacy_name(out.dtype)})"
        )
    return target


def leaf_or_out(array: Any, requires_grad: bool, out: Tensor | None, function: Any) -> Tensor:
    """The leaf around `array`, or `out` with its values."""
    if out is None:
        return finish(array, requires_grad)

    def made() -> Tensor:
        return new_tensor(array)

    made.__name__ = function.__name__
    return write_out(made, out, (), {})  # type: ignore[no-any-return]


SIZES = [
    inspect.Parameter("given", inspect.Parameter.VAR_POSITIONAL, annotation=INTS),
    inspect.Parameter(
        "size", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{INTS} | None"
    ),
]
SETTINGS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
    for name, default, kind in (
        ("out", None, "Tensor | None"),
        ("dtype", None, "dtype | None"),
        ("device", None, "device | str | int | None"),
        ("requires_grad", False, "bool"),
    )
]


def factory(
    kind: Callable[[], Any] = lambda: None, *, fills: bool = False, sized: bool = False
) -> Callable[..., Callable[..., Tensor]]:
    """Let a function that makes an array of the dtype `target` be one that makes a tensor.

    It gets `dtype`, `out`, which tells the dtype too, `device` and `requires_grad`. Where neither
    of the first two is given, the dtype is what `kind` gives. One that `fills` keeps the shape of
    an `out` with as many elements, which it fills row by row. One that names `out` is given it. One
    that is `sized` is given a shape in place of the sizes that users say, `*given` or `size=`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Tensor]:
        annotate(function)
        name, own = named_in(FACTORIES)(function).__name__, inspect.signature(function)
        named = "out" in own.parameters

        @functools.wraps(function)
        def made(
            *args: Any,
            out: Tensor | None = None,
            dtype: Any = None,
            device: Any = None,
            requires_grad: bool = False,
            **given: Any,
        ) -> Tensor:
            if device is not None and (where := where_of(device)) is not default.device:
                with where:
                    return made(*args, out=out, dtype=dtype, requires_grad=requires_grad, **given)
            target = target_of(dtype, out, kind(), name)
            if sized:
                args = (size_in(args, given.pop("size", None), name),)
            if named:
                given["out"] = out
            array = function(*args, target=target, **given)
            if fills and isinstance(out, Tensor) and out._array.size == array.size:
                array = np.reshape(array, out._array.shape)
            return leaf_or_out(array, requires_grad, out, made)

        taken = [p for p in own.parameters.values() if p.name not in ("target", "out")]
        taken = [*SIZES, *taken[1:]] if sized else taken
        shown = own.replace(parameters=taken + SETTINGS, return_annotation="Tensor")
        made.__signature__ = shown  # type: ignore[attr-defined]
        return native.factory(made, function, kind, sized)

    return decorate


@factory(dtypes.default_numpy, sized=True)
def zeros(shape: tuple[int, ...], *, layout: Any = None, target: Any) -> Any:
    """A tensor of zeros, `zeros(2, 3)` or `zeros((2, 3))`, by default of the default dtype.

    In a sparse `layout` it has no entries. Raises TypeError for sizes that are no integers,
    RuntimeError for negative ones.

    >>> rg.zeros(2)
    tensor([0., 0.])
    """
    if layout is not None and getattr(layout, "name", None) != "strided":
        return without_entries(shape, layout, target)
    return allocate(np.zeros, shape, target)


def without_entries(shape: tuple[int, ...], layout: Any, target: Any) -> Any:
    """The array of a sparse tensor of zeros; TypeError for blocks, whose shape is open."""
    if getattr(layout, "name", None) not in ("sparse_coo", "sparse_csr", "sparse_csc"):
        raise TypeError(
            f"argument 'layout' must be {version.called}.strided, sparse_coo, sparse_csr or "
            f"sparse_csc, not {layout!r}. Write zeros(...).to_sparse_bsr(blocksize) for blocks"
        )
    return providers.service("sparse").without_entries(shape, layout, target)


def unit(shape: tuple[int, ...], target: Any) -> Any:
    """An array of ones, in less time than NumPy's."""
    array = np.empty(shape, target)
    array[...] = 1
    return array


@factory(dtypes.default_numpy, sized=True)
def ones(shape: tuple[int, ...], *, target: Any) -> Any:
    """A tensor of ones; arguments as for `zeros`.

    >>> rg.ones(2, dtype=rg.int64)
    tensor([1, 1])
    """
    return allocate(unit, shape, target)


@factory(dtypes.default_numpy, sized=True)
def empty(
    shape: tuple[int, ...], *, memory_format: Any = None, layout: Any = None, target: Any
) -> Any:
    """A tensor whose values are not set (see `utils.deterministic`); arguments as for `zeros`.

    `memory_format` is the order in memory: `contiguous_format`, or `channels_last` for four sizes.
    Raises RuntimeError for `preserve_format`.

    >>> rg.empty(2, 3).shape
    retrograd.Size([2, 3])
    """
    if layout is not None and getattr(layout, "name", None) != "strided":
        return without_entries(shape, layout, target)
    array = unwritten(shape, target)
    if memory_format is preserve_format:
        raise RuntimeError("unsupported memory format Preserve: empty() has nothing to preserve")
    if memory_format is not None:
        array = arranged(array, memory_format)
    return array


def constant(value: Any, target: Any, name: str) -> Any:
    """A fill value as a 0-d array, of its own dtype if `target` is None."""
    if isinstance(value, Tensor) and value._array.ndim == 0 and not has_history(value):
        value = value._array.item()
    if not isinstance(value, (*NUMBERS, np.generic)):
        raise wrong_type(name, "fill_value", "Number", value, 2)
    return as_fill_value(value, target)


@quietly
def filled(shape: Any, value: Any) -> Any:
    """An array of `shape`, all of whose elements are the 0-d array `value`."""
    array = allocate(np.empty, shape, value.dtype)
    array.fill(value)
    return array


@factory()
def full(size: Any, fill_value: Any, *, target: Any) -> Any:
    """A tensor of shape `size`, a sequence, with every element `fill_value`, a number.

    The dtype, if not given, is bool, int64, the default dtype or its complex dtype, by the kind of
    number. Raises RuntimeError for a number that the dtype cannot hold, TypeError for a `size` that
    is no sequence.

    >>> rg.full((2,), 7), rg.full((2,), 1j)
    (tensor([7, 7]), tensor([0.+1.j, 0.+1.j]))
    """
    if not isinstance(size, (tuple, list)):
        raise wrong_type("full", "size", "tuple of ints", size, 1)
    value = constant(fill_value, target, "full")
    return filled(shape_of((size,), "full"), value)


@factory(dtypes.default_numpy)
def eye(n: int, m: int | None = None, *, target: Any) -> Any:
    """The identity matrix, (n, n), or its first `m` columns, (n, m).

    Raises RuntimeError for a negative size, TypeError for one that is no integer.

    >>> rg.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    for name, value in (("n", n), ("m", n if m is None else m)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise wrong_type("eye", name, "int", value)
        if value.__index__() < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    shape = (n.__index__(), (n if m is None else m).__index__())
    return allocate(lambda shape, target: np.eye(*shape, dtype=target), shape, target)


def number(value: Any, function: str, name: str) -> Any:
    """A bound of a range as a Python number; `linspace` and `logspace` may have any tensor."""
    spaced = "space" in function
    if spaced and isinstance(value, Tensor) and value.ndim:
        raise RuntimeError(
            f"{function} only supports 0-dimensional start and end tensors, but got {name} "
            f"with {value.ndim} dimension(s)."
        )
    if isinstance(value, (Tensor, np.generic)) and not value.ndim:
        value = value.item() if spaced else number_in(value, function, name)
    if not isinstance(value, NUMBERS):
        raise wrong_type(function, name, "Number", value)
    if isinstance(value, complex) and not spaced:
        if value.imag:
            raise RuntimeError(dtypes.OVERFLOW.format(dtype="double", value=value))
        return value.real
    return value


@factory(fills=True)
def arange(
    *bounds: Any, start: Any = 0, end: Any = None, step: Any = 1, out: Any = None, target: Any
) -> Any:
    """The numbers from `start` to `end`, exclusive, by `step`: `arange([start=0,] end[, step=1])`.

    The dtype, if not given, is int64 where all arguments are integers, else the default one. An
    `out` with another number of elements is resized, with a warning. Raises RuntimeError for a step
    of zero, a step away from `end`, or bounds that are not finite; TypeError for no or more than
    three bounds.

    >>> rg.arange(1, 2.5, 0.5)
    tensor([1.0000, 1.5000, 2.0000])
    """
    if len(bounds) == 1 and end is None:
        (end,) = bounds
    elif 0 < len(bounds) <= 3:
        start, end, step = (*bounds, *(end, step)[len(bounds) - 1 :])
    if end is None or len(bounds) > 3:
        raise TypeError(
            "arange() received an invalid combination of arguments; expected arange(end), "
            "arange(start, end) or arange(start, end, step)"
        )
    first, last = number(start, "arange", "start"), number(end, "arange", "end")
    by = number(step, "arange", "step")
    if target is None:
        are_integers = isinstance(first, int) and isinstance(last, int) and isinstance(by, int)
        target = INT64 if are_integers else dtypes.default_numpy()
    found = progression(first, last, by, target)
    if out is not None and out._array.size not in (0, found.size):
        text = RESIZED.format(list(out.shape), out._array.size, found.size)
        warnings.warn(text, UserWarning, stacklevel=users_level())
    return found


RESIZED = (
    "The number of elements in the out tensor of shape {} is {} which does not match the computed "
    "number of elements {}. It is resized; rounding of the step may have made it another number"
)


@quietly
def progression(first: Any, last: Any, by: Any, target: Any) -> Any:
    """The elements of `arange` as an array of dtype `target`."""
    if target.kind not in "iufV":
        raise unsupported("arange_cpu", target)
    if target.kind in "iu" and by != 0 and int(by) == 0:
        raise ValueError("step must be nonzero: it is rounded towards 0 for an integer dtype")
    if by == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first} -> {last}")
    if (last - first) * by < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if target.kind in "iu":
        first, last, by = int(first), int(last), int(by)
        for bound in (first, last, by):
            if not -(2**63) <= bound < 2**63:
                raise RuntimeError(dtypes.OVERFLOW.format(dtype="int64", value=bound))
        size = max(0, -((first - last) // by))

        def make(shape: Any, target: Any) -> Any:
            return np.arange(first, last, by, dtype=INT64).astype(target, copy=False)
    else:
        size = math.ceil((last - first) / by)

        def make(shape: Any, target: Any) -> Any:
            return (first + by * np.arange(size, dtype=np.float64)).astype(target)

    return allocate(make, (size,), target)


def between(start: Any, end: Any, steps: Any, target: Any, name: str) -> Any:
    """`steps` numbers from `start` to `end`, in double precision; symmetric under reversal.

    The bounds and the distance of two numbers are rounded to the dtype `target`, as PyTorch's are.
    """
    if not isinstance(steps, int) or isinstance(steps, bool):
        if not hasattr(steps, "__index__"):
            raise TypeError(
                f"{name}() received an invalid combination of arguments: 'steps' must be int, not "
                f"{type(steps).__name__}"
            )
        steps = steps.__index__()
    inexact = dtypes.is_differentiable(target)

    def rounded(value: Any) -> Any:
        if inexact:
            return (
                np.asarray(value).astype(target).astype(np.result_type(target, np.float64)).item()
            )
        return int(value) if math.isfinite(value) else value

    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    first, last = number(start, name, "start"), number(end, name, "end")
    if steps <= 1:
        return np.full(steps, first, np.result_type(type(first), np.float64))
    first, last = rounded(first), rounded(last)
    by = rounded(rounded(last - first) / (steps - 1)) if inexact else (last - first) / (steps - 1)

    def make(shape: tuple[int, ...], target: Any) -> Any:
        return evenly(first, last, by, np.arange(*shape))

    return allocate(make, (steps,), np.dtype(np.float64))


def evenly(first: Any, last: Any, by: Any, index: Any) -> Any:
    """Numbers by steps from both ends, so that they are symmetric; `index` counts them."""
    count = len(index)
    return np.where(index < count // 2, first + by * index, last - by * (count - 1 - index))


def spacing_dtype(start: Any, end: Any, target: Any, name: str) -> Any:
    """The NumPy dtype of `linspace` and `logspace`."""
    default = dtypes.default_numpy()
    is_complex = any(isinstance(number(v, name, "start"), complex) for v in (start, end))
    if is_complex:
        default = dtypes.complex_of(default)
    target = default if target is None else target
    if target.kind == "b":
        raise NotImplementedError(f"{name}() is not implemented for 'Bool'. Make numbers, and cast")
    if is_complex and target.kind != "c":
        raise RuntimeError(
            f"{version.called}.{name}(): inferred dtype {dtypes.of_numpy(default).name} can't be "
            f"safely cast to passed dtype {dtypes.of_numpy(target).name}"
        )
    return target


@quietly
@factory(fills=True)
def linspace(start: Any, end: Any, steps: int, *, target: Any) -> Any:
    """`steps` evenly spaced numbers from `start` to `end`, both included; real or complex bounds.

    Raises RuntimeError for negative `steps`.

    >>> rg.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    target = spacing_dtype(start, end, target, "linspace")
    return store(between(start, end, steps, target, "linspace"), target)


@quietly
@factory(fills=True)
def logspace(start: Any, end: Any, steps: int, base: float = 10.0, *, target: Any) -> Any:
    """`steps` numbers from base**start to base**end, with evenly spaced exponents.

    >>> rg.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    target = spacing_dtype(start, end, target, "logspace")
    exponents = between(start, end, steps, target, "logspace")
    return np.power(np.asarray(base, exponents.dtype), exponents).astype(target)


@named_in(IGNORED)
def set_default_device(device: device | str | int) -> None:
    """Make tensors on a device from now on, in this thread; AssertionError for one that is absent.

    >>> rg.set_default_device("meta")
    >>> rg.zeros(1).device
    device(type='meta')
    >>> rg.set_default_device("cpu")
    """
    default.device = as_device("cpu" if device is None else device)


@named_in(IGNORED)
def get_default_device() -> device:
    """The device of new tensors: the cpu, unless a context or `set_default_device` says else.

    >>> rg.get_default_device()
    device(type='cpu')
    """
    return default.device

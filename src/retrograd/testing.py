"""What tests of programs need: `assert_close`, and random tensors of every dtype by `make_tensor`.

This module knows tensors only from outside.
"""

from __future__ import annotations

import cmath
import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import dtypes, version
from .engine.placement import DeviceLike
from .engine.tensor import Tensor, device, new_tensor, set_requires_grad
from .kernels.allocation import has_values
from .ops.creation.from_data import tensor
from .ops.creation.memory_format import arranged
from .ops.elementwise.comparison import isclose
from .ops.random.factories import randint
from .ops.random.inplace import uniform_
from .ops.tensor.inspection import strided
from .quiet import quietly

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

ALLCLOSE = (
    "testing.assert_allclose() is deprecated. Use testing.assert_close(actual, expected, "
    "equal_nan=True, check_dtype=False), whose tolerances are tighter"
)
OLDER = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}

# (rtol, atol) by dtype; every other dtype must agree exactly.
TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}

Number = (bool, int, float, complex, np.generic)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol·|expected| everywhere.

    actual, expected: tensors or arrays of one shape and dtype, numbers, or nested sequences and
    mappings of them. Without `rtol` and `atol` (give both or none, else ValueError) the tolerances
    are the dtype's: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64, none for integers. NaN
    equals NaN with `equal_nan`. `check_dtype=False` promotes both to one dtype; `check_stride`
    compares strides, too; `check_layout=False` takes sparse tensors for the dense ones. `msg`
    replaces the error's text, or makes one from it. Devices are the same always. Source: PyTorch's
    `testing.assert_close`.

    >>> rg.testing.assert_close(rg.tensor([1.0, 2.0]) / 3 * 3, rg.tensor([1.0, 2.0]))
    """
    if (rtol is None) is not (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'rtol' if rtol is None else 'atol'}."
        )
    how = {"equal_nan": equal_nan, "check_dtype": check_dtype, "check_stride": check_stride}
    how["check_layout"] = check_layout
    text = difference(actual, expected, rtol, atol, how, "", allow_subclasses)
    if text is not None:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """`assert_close` of tensors, or of what makes them, by PyTorch's older rules.

    Dtypes may differ, NaN equals NaN, and the tolerances are 1e-4 and 1e-5 for float32, 1e-5 and
    1e-8 for float64. Warns with a FutureWarning. Source: PyTorch's `testing.assert_allclose`.
    """
    warnings.warn(ALLCLOSE, FutureWarning, stacklevel=2)
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        both = [OLDER.get(x.dtype.name, (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = map(max, *both)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg
    )


def difference(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    how: dict[str, bool],
    where: str,
    subclasses: bool,
) -> str | None:
    """What differs first, as a text, or None where the two are close."""
    place = f"\n\nThe failure occurred for item {where}" if where else ""
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing = sorted(map(str, expected.keys() - actual.keys()))
            more = sorted(map(str, actual.keys() - expected.keys()))
            return (
                "The keys of the mappings do not match:\nMissing keys in the actual mapping: "
                f"{missing}\nAdditional keys in the actual mapping: {more}{place}"
            )
        pairs = [(f"{where}[{key!r}]", actual[key], expected[key]) for key in expected]
    elif is_sequence(actual) and is_sequence(expected):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{place}"
        both = enumerate(zip(actual, expected, strict=True))
        pairs = [(f"{where}[{index}]", a, e) for index, (a, e) in both]
    else:
        text = unlike(actual, expected, rtol, atol, how, subclasses)
        return None if text is None else text + place
    for name, a, e in pairs:
        text = difference(a, e, rtol, atol, how, name, subclasses)
        if text is not None:
            return text
    return None


def is_sequence(value: Any) -> bool:
    """Whether the value is compared item by item."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def unlike(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    how: dict[str, bool],
    subclasses: bool,
) -> str | None:
    """What differs between two tensors, numbers or other things."""
    if actual is None or expected is None:
        same = actual is expected
        return None if same else f"None mismatch: {actual!r} is not {expected!r}"
    if isinstance(actual, Number) and isinstance(expected, Number):
        if isinstance(actual, bool) or isinstance(expected, bool):
            same = actual == expected
            return None if same else f"Booleans mismatch: {actual} is not {expected}"
        return scalars(actual, expected, rtol, atol, how)
    both = (actual, expected)
    if not any(all(isinstance(v, kind) for v in both) for kind in (Tensor, np.ndarray)):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and "
            f"{type(expected)}. Give two tensors, arrays, numbers, or containers of them."
        )
    if not subclasses and type(actual) is not type(expected):
        raise TypeError(f"{type(actual)} and {type(expected)} differ, with allow_subclasses=False")
    one, other = [v.layout if isinstance(v, Tensor) else strided for v in (actual, expected)]
    if how["check_layout"] and one is not other:
        return f"The values for attribute 'layout' do not match: {one} != {other}."
    here, there = [v.device if isinstance(v, Tensor) else device("cpu") for v in (actual, expected)]
    if here != there:  # whose values cannot be compared
        return f"The values for attribute 'device' do not match: {here} != {there}."
    return arrays(raw(actual), raw(expected), rtol, atol, how)


def raw(value: Any) -> Any:
    """The array of a tensor, dense, or an array itself."""
    if not isinstance(value, Tensor):
        return value
    return (value if value.layout is strided else value.to_dense())._array


def tolerances(*found: Any) -> tuple[float, float]:
    """The larger of the dtypes' tolerances."""
    known = [TOLERANCES.get(dtypes.of_numpy(d).name, (0.0, 0.0)) for d in found]
    return max(r for r, _ in known), max(a for _, a in known)


def scalars(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, how: dict[str, bool]
) -> str | None:
    """What differs between two numbers."""
    if how["check_dtype"] and type(actual) is not type(expected):
        return f"The (d)types do not match: {type(actual)} != {type(expected)}."
    if rtol is None or atol is None:
        exact = isinstance(actual, int) and isinstance(expected, int)
        rtol, atol = (0.0, 0.0) if exact else TOLERANCES["float64"]
    gap = abs(actual - expected)
    if actual == expected or (cmath.isfinite(gap) and gap <= atol + rtol * abs(expected)):
        return None
    if how["equal_nan"] and cmath.isnan(actual) and cmath.isnan(expected):
        return None
    return scalars_differ(actual, expected, gap, rtol, atol)


def scalars_differ(actual: Any, expected: Any, gap: Any, rtol: float, atol: float) -> str:
    """The text for two numbers with that gap."""
    relative = gap / abs(expected) if expected else math.inf
    return heading("Scalars", f"Expected {expected} but got {actual}.", rtol, atol) + gaps(
        ("Absolute difference", gap, atol), ("Relative difference", relative, rtol)
    )


def heading(what: str, first: str, rtol: float, atol: float) -> str:
    """The first lines of the text of an AssertionError."""
    return f"{what} are not {'close' if rtol or atol else 'equal'}!\n\n{first}"


def gaps(*found: tuple[str, Any, float]) -> str:
    """A line for each difference, with what is allowed, if anything is."""
    exact = not any(allowed for _, _, allowed in found)
    return "".join(
        f"\n{name}: {gap}" + ("" if exact else f" (up to {allowed} allowed)")
        for name, gap, allowed in found
    )


@quietly
def arrays(
    actual: Any, expected: Any, rtol: float | None, atol: float | None, how: dict[str, bool]
) -> str | None:
    """What differs between two arrays."""
    if actual.shape != expected.shape:
        return (
            f"The values for attribute 'shape' do not match: {new_tensor(actual).shape} != "
            f"{new_tensor(expected).shape}."
        )
    if how["check_dtype"] and actual.dtype != expected.dtype:
        names = [str(dtypes.of_numpy(a.dtype)) for a in (actual, expected)]
        return f"The values for attribute 'dtype' do not match: {names[0]} != {names[1]}."
    if how["check_stride"] and actual.strides != expected.strides:
        steps = [tuple(s // a.itemsize for s in a.strides) for a in (actual, expected)]
        return f"The values for attribute 'stride()' do not match: {steps[0]} != {steps[1]}."
    if not has_values(actual):
        return None
    if rtol is None or atol is None:
        rtol, atol = tolerances(actual.dtype, expected.dtype)
    a, e = same_dtype(actual, expected)
    close = isclose(a, e, rtol=rtol, atol=atol, equal_nan=how["equal_nan"])._array
    if close.all():
        return None
    gap = abs(a - e)
    relative = gap / abs(e)
    if not actual.ndim:
        return scalars_differ(a.item(), e.item(), gap.item(), rtol, atol)
    wrong = int(close.size - np.count_nonzero(close))
    count = f"Mismatched elements: {wrong} / {close.size} ({100 * wrong / close.size:.1f}%)"
    return heading("Tensor-likes", count, rtol, atol) + gaps(
        ("Greatest absolute difference", greatest(gap, close), atol),
        ("Greatest relative difference", greatest(relative, close), rtol),
    )


def same_dtype(*values: Any) -> list[Tensor]:
    """The arrays as tensors of one dtype, whose differences no smaller integers would wrap."""
    common = functools.reduce(dtypes.promote_numpy, [value.dtype for value in values])
    if not dtypes.is_differentiable(common):
        common = np.promote_types(common, np.int64)
    return [new_tensor(np.asarray(value, common)) for value in values]


def greatest(gaps: Tensor, close: Any) -> str:
    """The greatest difference where the values are not close, and its index."""
    array = np.where(close, 0, gaps._array)
    index = np.unravel_index(int(np.argmax(array)), array.shape)
    return f"{gaps._array[index].item()} at index {tuple(int(i) for i in index)}"


ONE_NUMBER = (
    "Passing `low==high` to `retrograd.testing.make_tensor` for floating or complex types is "
    "deprecated. Write full(shape, low)"
)


def _limits(dtype: dtypes.dtype, low: Any, high: Any) -> tuple[Any, Any]:
    """The range from which `make_tensor` draws, within what the dtype holds."""
    kind = dtype.numpy.kind
    least, most = {"b": (0, 2), "u": (0, 10), "i": (-9, 10)}.get(kind, (-9, 9))
    low, high = least if low is None else low, most if high is None else high
    whole = kind in "bui"
    if any(isinstance(end, float) and math.isnan(end) for end in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if not (low < high or (low == high and not whole)):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if low == high:
        warnings.warn(version.named(ONE_NUMBER), FutureWarning, stacklevel=3)
    ends: Any = dtypes.iinfo(dtype) if kind in "ui" else None if whole else dtypes.finfo(dtype)
    first, last = (0, 1) if ends is None else (ends.min, ends.max)
    if low > last or high < first:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} "
            f"only supports [{first}, {last}]"
        )
    if not whole:
        return max(low, first), min(high, last)
    above = last + (dtype.numpy.itemsize < 8)  # as far as the draws of 64 bits go
    return math.ceil(max(low, first)), math.ceil(min(high, above))


def make_tensor(
    *shape: Any,
    dtype: dtypes.dtype,
    device: DeviceLike = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """A tensor of random values, uniform in [low, high), drawn from the default generator.

    The range is [-9, 9) without limits, [0, 10) for uint8 and [0, 2) for booleans. With
    `exclude_zero`, 0 is replaced by the smallest positive number (1 for integers); `noncontiguous`
    leaves gaps in memory. Limits beyond what the dtype holds are as far as it goes. Raises
    ValueError where `high` is not above `low`, for NaN, for a range of which the dtype holds
    nothing, for integers that require grad, and for gaps in a `memory_format`. Source: PyTorch's
    `testing.make_tensor`.

    >>> x = rg.testing.make_tensor(2, 3, dtype=rg.float64, low=1, high=2)
    >>> x.shape, bool((x >= 1).all() and (x < 2).all())
    (retrograd.Size([2, 3]), True)
    """
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous=True and memory_format={memory_format}"
        )
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    whole = dtype.numpy.kind in "bui"
    if requires_grad and whole:
        raise ValueError(
            "`requires_grad=True` is not supported for boolean and integral dtypes, but got "
            f"dtype={dtype}"
        )
    low, high = _limits(dtype, low, high)
    gaps = noncontiguous and math.prod(sizes) > 1
    room = (*sizes[:-1], 2 * sizes[-1]) if gaps else tuple(sizes)
    if whole:
        values = randint(low, high, room, dtype=dtype)._array
    else:  # PyTorch's draws: those of a complex number follow each other
        values = np.empty(room, dtype.numpy)
        parts = new_tensor(values.reshape(-1).view(values.real.dtype))
        if high - low < dtypes.finfo(dtype).max:
            uniform_(parts, low, high)
        else:
            uniform_(parts, low / 2, high / 2).mul_(2)
    if gaps:
        values = values[..., 1::2]
    if exclude_zero:
        tiny = 1 if whole else float(dtypes.finfo(dtype).tiny)
        values = np.where(values == 0, np.asarray(tiny, values.dtype), values)
    if memory_format is not None:
        values = arranged(values, memory_format)
    made = new_tensor(values)
    if requires_grad:
        set_requires_grad(made, True)
    return made

"""Data types, their categories and PyTorch's promotion rules.

NOTE [Promotion]
1. A category is one of bool < integer < real floating < complex.
2. Tensors with dimensions decide first, 0-d tensors next, Python scalars last; a later group
   changes the result only when its category is higher than all before it.
3. Integer with floating gives the floating dtype as it is (NumPy would widen int64 with float32
   to float64).
4. A float scalar that meets integers gives the default dtype, a complex one its complex dtype.
5. Floating dtypes of 8 bits are for storage: with another floating dtype they do not promote.
6. A number beside half floats, which do not hold it, is rounded to them; but as a factor or a
   divisor it counts in float32, and the result is rounded once. Its array has a dtype of its own,
   `NUMBER`, since a 0-d array of float32 beside a 0-d one of half floats decides the dtype.

Arrays carry NumPy dtypes everywhere inside; `dtype` objects are what users see. NumPy has no
bfloat16 and no float8: they come from the package ml_dtypes when one is first asked for, and the
`kind` of most is "V".
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from .. import version
from ..errors import wrong_type
from ..locks import load as _load
from ..quiet import quietly

__all__ = [
    "dtype", "finfo", "get_default_dtype", "iinfo", "promote_types", "set_default_dtype",
]  # fmt: skip

_by_numpy: dict[Any, dtype] = {}
_by_name: dict[str, dtype] = {}
NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


class dtype:  # noqa: N801 (PyTorch's name)
    """The element type of a tensor; each exists once, so `is` and `==` agree.

    >>> rg.float32.is_floating_point, rg.complex64.is_complex, rg.int64.itemsize
    (True, True, 8)
    >>> rg.complex64.to_real()
    retrograd.float32
    """

    __slots__ = ("category", "is_complex", "is_floating_point", "is_signed", "itemsize", "name",
                 "numpy")  # fmt: skip

    def __init__(self, name: str, numpy_dtype: Any, aliases: tuple[str, ...] = ()) -> None:
        self.name = name
        self.numpy: np.dtype[Any] = np.dtype(numpy_dtype)
        kind = "f" if name in NARROW else self.numpy.kind
        self.category = _ORDER[kind]
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = kind in "ifc"
        self.itemsize = self.numpy.itemsize
        _by_numpy[self.numpy] = self
        for key in (name, *aliases):
            _by_name[key] = self

    def __repr__(self) -> str:
        return f"{version.called}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))

    def to_real(self) -> dtype:
        """The real dtype of the same width per component."""
        return of_numpy(real_of(self.numpy))

    def to_complex(self) -> dtype:
        """The complex dtype whose components have this dtype (complex64 for half floats)."""
        if not (self.is_floating_point or self.is_complex):
            raise RuntimeError(f"Unknown Complex ScalarType for {legacy_name(self)}")
        return of_numpy(complex_of(self.numpy))


def by_name(name: str) -> dtype:
    """The dtype called `name`, aliases included; AttributeError for one that cannot be had here."""
    if name not in _by_name and name in NARROW:
        try:
            _load(f"{__name__}.narrow")
        except ImportError:
            raise AttributeError(MISSING[name]) from None
    if name in MISSING and name not in _by_name:
        raise AttributeError(MISSING[name])
    return _by_name[name]


def of_numpy(numpy_dtype: Any) -> dtype:
    """The dtype that stands for a NumPy dtype."""
    found = _by_numpy.get(numpy_dtype)
    if found is None:
        found = _by_numpy.get(np.dtype(numpy_dtype).newbyteorder("="))
    if found is None and np.dtype(numpy_dtype).name in NARROW:
        return by_name(np.dtype(numpy_dtype).name)  # an array of ml_dtypes that a user brought
    if found is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{np.dtype(numpy_dtype).type.__name__}. The "
            "only supported types are: "
            f"{', '.join(d.name for d in _by_numpy.values())}."
        )
    return found


def legacy_name(d: Any) -> str:
    """PyTorch's older name of a dtype, public or NumPy's, such as "Long": for error messages."""
    return _MESSAGE_NAMES[_named(d)][0]


def type_name(d: Any, place: str = "") -> str:
    """The older name of the type of tensors of a dtype, "FloatTensor", after its module."""
    return f"{version.called}{place}.{legacy_name(d)}Tensor"


def cpp_name(d: Any) -> str:
    """The name in C++ of a dtype, public or NumPy's, such as "long int": for error messages.

    That of a complex one is PyTorch's in Python.
    """
    return _MESSAGE_NAMES[_named(d)][1]


def of_legacy_name(name: str) -> dtype | None:
    """The dtype with an older name, such as "Long"; None if there is none."""
    found = [by_name(key) for key, (legacy, _) in _MESSAGE_NAMES.items() if legacy == name]
    return found[0] if found else None


def _named(d: Any) -> str:
    return d.name if d.__class__ is dtype else of_numpy(d).name


_MESSAGE_NAMES = {
    "bool": ("Bool", "bool"),
    "uint8": ("Byte", "unsigned char"),
    "uint16": ("UInt16", "short unsigned int"),
    "uint32": ("UInt32", "unsigned int"),
    "uint64": ("UInt64", "long unsigned int"),
    "int8": ("Char", "signed char"),
    "int16": ("Short", "short int"),
    "int32": ("Int", "int"),
    "int64": ("Long", "long int"),
    "float16": ("Half", "c10::Half"),
    "bfloat16": ("BFloat16", "c10::BFloat16"),
    **{name: (name.capitalize(), f"c10::{name.capitalize()}") for name in NARROW[1:]},
    "float32": ("Float", "float"),
    "float64": ("Double", "double"),
    "complex64": ("ComplexFloat", "complex64"),
    "complex128": ("ComplexDouble", "complex128"),
}


def to_numpy(spec: Any) -> np.dtype[Any]:
    """The NumPy dtype for a `dtype`, a NumPy dtype, or one of bool, int, float, complex.

    As in PyTorch, Python's `float` stands for float64 and `complex` for complex128, and names, such
    as "float32", are errors.
    """
    if spec.__class__ is dtype:
        return spec.numpy
    if isinstance(spec, dtype):
        return spec.numpy  # which says what stands in its way
    try:
        if not isinstance(spec, str):
            return of_numpy(np.dtype(spec)).numpy
    except (TypeError, ValueError):
        pass
    raise TypeError(f"dtype must be a {version.called}.dtype, not {spec!r}")


boolean = dtype("bool", np.bool_)
uint8 = dtype("uint8", np.uint8)
uint16 = dtype("uint16", np.uint16)
uint32 = dtype("uint32", np.uint32)
uint64 = dtype("uint64", np.uint64)
int8 = dtype("int8", np.int8)
int16 = dtype("int16", np.int16, ("short",))
int32 = dtype("int32", np.int32, ("int",))
int64 = dtype("int64", np.int64, ("long",))
float16 = dtype("float16", np.float16, ("half",))
float32 = dtype("float32", np.float32, ("float",))
float64 = dtype("float64", np.float64, ("double",))
complex64 = dtype("complex64", np.complex64, ("cfloat",))
complex128 = dtype("complex128", np.complex128, ("cdouble",))

OVERFLOW = "value cannot be converted to type {dtype} without overflow: {value}"
MOST_HALF = 65504.0  # what every floating dtype holds
NO_COMPLEX32 = (
    "retrograd.complex32 is not supported: there is no complex dtype of two half floats that NumPy "
    "would treat as complex. Use complex64: x.cfloat()"
)
NO_PROMOTION = (
    "Promotion for Float8 Types is not supported, attempted to promote {} and {}. Convert first: "
    "x.float()"
)
MISSING = {
    **{
        name: f"retrograd.{name} needs the package ml_dtypes, since NumPy has no such dtype. "
        "Install it with: pip install retrograd[bfloat16]"
        for name in NARROW
    },
    "complex32": NO_COMPLEX32,
    "chalf": NO_COMPLEX32,
}

_default: np.dtype[Any] = np.dtype(np.float32)
NUMBER = np.dtype(np.float32, metadata={"of": "a number beside half floats"})  # NOTE [Promotion], 6


def get_default_dtype() -> dtype:
    """The dtype of new floating tensors, float32 at first.

    >>> rg.get_default_dtype()
    retrograd.float32
    """
    return of_numpy(_default)


def set_default_dtype(d: dtype) -> None:
    """Make `d`, a real floating dtype, the dtype of new floating tensors.

    Raises TypeError for any other dtype.

    >>> rg.set_default_dtype(rg.float64); rg.tensor(1.5).dtype
    retrograd.float64
    >>> rg.set_default_dtype(rg.float32)
    """
    global _default
    if d.__class__ is not dtype or not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _default = d.numpy


def default_numpy() -> np.dtype[Any]:
    """The default dtype as a NumPy dtype."""
    return _default


def real_of(d: np.dtype[Any]) -> np.dtype[Any]:
    """complex64 to float32, complex128 to float64; every other dtype is its own."""
    return d if d.kind != "c" else (float32 if d.itemsize == 8 else float64).numpy


def complex_of(d: np.dtype[Any]) -> np.dtype[Any]:
    """The complex dtype for a real floating one; a complex dtype is its own."""
    if d.kind == "c":
        return d
    if d.kind != "f" and d not in _by_numpy:
        raise TypeError(f"no complex dtype for {d}")
    return (complex128 if d.itemsize == 8 else complex64).numpy


def category(d: np.dtype[Any]) -> int:
    """0 bool, 1 integer, 2 real floating, 3 complex: NOTE [Promotion], rule 1."""
    return of_numpy(d).category


def half(d: Any) -> bool:
    """Whether a dtype is one of half floats: float16, or bfloat16, which is of kind "V"."""
    return d.itemsize == 2 and d.kind in "fV"


def is_differentiable(d: np.dtype[Any]) -> bool:
    """Whether tensors of this dtype may require grad."""
    return category(d) >= 2


def promote_numpy(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that two tensors of the same group give: NOTE [Promotion], rule 3."""
    if a == b:
        return a
    higher, lower = (a, b) if category(a) >= category(b) else (b, a)
    if category(higher) == category(lower) or (category(higher), category(lower)) == (3, 2):
        if category(lower) == 2 and 1 in (a.itemsize, b.itemsize):
            raise RuntimeError(NO_PROMOTION.format(legacy_name(a), legacy_name(b)))
        if {a.kind, b.kind} == {"V", "f"}:  # NumPy would refuse bfloat16 with float16
            return np.promote_types(np.float32, b if a.kind == "V" else a)
        return np.promote_types(a, b)
    return higher


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The dtype that holds both, as arithmetic between two tensors gives it.

    >>> rg.promote_types(rg.int64, rg.float32), rg.promote_types(rg.float64, rg.complex64)
    (retrograd.float32, retrograd.complex128)
    """
    check_dtypes("promote_types", type1=type1, type2=type2)
    return of_numpy(promote_numpy(type1.numpy, type2.numpy))


def check_dtypes(function: str, **given: Any) -> None:
    """Raise TypeError, as from a function, for an argument that is no dtype."""
    for place, (name, value) in enumerate(given.items(), 1):
        if not isinstance(value, dtype):
            raise wrong_type(function, name, "retrograd.dtype", value, place)


def result_of(dimensioned: np.dtype[Any], zero_dim: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a tensor with dimensions and a 0-d one: NOTE [Promotion], rule 2."""
    high, low = category(zero_dim), category(dimensioned)
    if high <= low:
        return dimensioned
    if high == 3 and low == 2:
        return complex_of(dimensioned)
    return zero_dim


def common(*arrays: Any) -> np.dtype[Any]:
    """The dtype that arrays of any dimensions promote to together."""
    groups: list[np.dtype[Any] | None] = [None, None]
    for array in arrays:
        at = array.ndim == 0
        before = groups[at]
        groups[at] = array.dtype if before is None else promote_numpy(before, array.dtype)
    dimensioned, zero_dim = groups
    if dimensioned is None:
        assert zero_dim is not None
        return zero_dim
    return dimensioned if zero_dim is None else result_of(dimensioned, zero_dim)


def promote(x: Any, y: Any) -> tuple[Any, Any]:
    """Two arrays cast to their common dtype."""
    target = x.dtype if y.dtype is NUMBER else common(x, y)
    return converted(x, target), converted(y, target)


def promote_floating(x: Any, y: Any) -> tuple[Any, Any]:
    """`promote` for floating results: in an integer dtype, a 0-d integer could wrap around."""
    if x.dtype.kind in "biu" and y.dtype.kind in "biu":
        return converted(x, _default), converted(y, _default)
    return promote(x, y)


def rounded(result: Any, x: Any, y: Any) -> Any:
    """What a forward gives for `x` and `y`, rounded to half floats if only `x` is of those."""
    return result if x.dtype == y.dtype else result.astype(x.dtype)


def converted(x: Any, target: np.dtype[Any]) -> Any:
    """An array in another dtype, in row-major order where it was expanded; itself if it has it."""
    return x if x.dtype == target else x.astype(target, "C" if 0 in x.strides else "K")


_scalars: dict[Any, Any] = {}


def operand_array(value: Any, like: np.dtype[Any]) -> Any:
    """A Python or NumPy scalar as a 0-d array of the dtype it takes beside `like` in arithmetic.

    That is `NUMBER` beside half floats that do not hold it, and a boolean stays one. Cached,
    because NumPy takes a ready 0-d array twice as fast as a Python number. Zeros are told apart by
    their text: 0.0 and -0.0 are equal keys.
    """
    key = (value.__class__, value or str(value), like, _default)
    found = _scalars.get(key)
    if found is None:
        found = _make_scalar(value, boolean.numpy if isinstance(value, (bool, np.bool_)) else like)
        if half(like) and found.dtype == like:
            wide = _make_scalar(value, NUMBER)
            found = found if wide == found else wide
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[key] = found
    return found


def scalar_array(value: Any, like: np.dtype[Any]) -> Any:
    """`operand_array`, rounded to half floats beside them, and a boolean as the number it is."""
    found = operand_array(value, like)
    same = found.dtype is not NUMBER and found.dtype.kind != "b"
    return found if same else _make_scalar(value, like)


@quietly
def _make_scalar(value: Any, like: np.dtype[Any]) -> Any:
    kind, low = np.asarray(value).dtype.kind, category(like)
    if isinstance(value, int) and kind == "O":  # NumPy has no integer so wide
        kind = "i"
    if kind not in _ORDER or not isinstance(value, (int, float, complex, np.generic)):
        raise TypeError(f"expected a tensor or a number, got {type(value).__name__}")
    high = _ORDER[kind]
    if high <= low:
        target = like
    elif high == 1:
        target = int64.numpy
    elif high == 2:
        target = _default
    else:
        target = complex_of(like if low == 2 else _default)
    try:
        array = np.array(value, target)
    except OverflowError:
        raise RuntimeError(OVERFLOW.format(dtype=of_numpy(target).name, value=value)) from None
    array.flags.writeable = False
    return array


def check_scalar(value: Any, target: np.dtype[Any]) -> None:
    """Raise RuntimeError for a finite number beyond those of a floating or complex dtype."""
    if value.__class__ is not complex and -MOST_HALF <= value <= MOST_HALF:  # the usual numbers
        return
    if category(target) < 2:
        return
    most = finfo(of_numpy(target)).max
    is_complex = isinstance(value, (complex, np.complexfloating))
    for part in (value.real, value.imag) if is_complex else (value,):
        if most < abs(part) != math.inf:
            raise RuntimeError(OVERFLOW.format(dtype=of_numpy(target).name, value=value))


def real_scalar(value: Any, target: np.dtype[Any]) -> Any:
    """Python's number beside elements of a dtype; RuntimeError for one that they cannot hold."""
    value = value.item() if isinstance(value, np.generic) else value
    if target.kind != "c" and isinstance(value, complex):
        if value.imag:
            raise RuntimeError(OVERFLOW.format(dtype=of_numpy(target).name, value=value))
        value = value.real
    check_scalar(value, target)
    return value


def wrapped(value: int, like: np.dtype[Any]) -> Any:
    """An integer as a 0-d array of the integer dtype `like`, modulo 2 to the number of its bits.

    Raises OverflowError for one that 64 bits do not hold, as PyTorch does.
    """
    if not -(2**63) <= value < 2**64:
        raise OverflowError(f"int too big to convert: {value} does not fit into 64 bits")
    array = np.array(value % 2**64, np.uint64).astype(like)
    array.flags.writeable = False
    return array


class finfo:  # noqa: N801 (PyTorch's name)
    """Limits of a floating dtype, also float; of a complex one, of its components.

    >>> rg.finfo(rg.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        d = of_numpy(_default if type is None else to_numpy(type))
        if d.category < 2:
            raise TypeError(
                f"{version.called}.finfo() requires a floating point input type. Use "
                f"{version.called}.iinfo"
            )
        real = real_of(d.numpy)
        limits = (sys.modules["ml_dtypes"] if d.name in NARROW else np).finfo(real)
        self.dtype, self.bits = of_numpy(real).name, limits.bits
        self.eps, self.max, self.min = float(limits.eps), float(limits.max), float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        self.resolution = float(f"1e-{int(limits.nmant * math.log10(2))}")

    def __repr__(self) -> str:
        return _limits(self, "resolution", "min", "max", "eps", "smallest_normal", "tiny")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]


class iinfo:  # noqa: N801 (PyTorch's name)
    """Limits of an integer dtype, also int.

    >>> rg.iinfo(rg.int8).max
    127
    """

    def __init__(self, type: Any) -> None:
        d = of_numpy(to_numpy(type))
        if d.category != 1:
            raise TypeError(
                f"{version.called}.iinfo() requires an integer input type. Use "
                f"{version.called}.finfo"
            )
        limits = np.iinfo(d.numpy)
        self.dtype, self.bits = d.name, limits.bits
        self.max, self.min = int(limits.max), int(limits.min)

    def __repr__(self) -> str:
        return _limits(self, "min", "max")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    __hash__ = None  # type: ignore[assignment]


def _limits(info: finfo | iinfo, *names: str) -> str:
    """The numbers of these names, to six digits, and the dtype."""
    numbers = ", ".join(f"{name}={getattr(info, name):g}" for name in names)
    return f"{type(info).__name__}({numbers}, dtype={info.dtype})"

"""Numbers of a kernel while it is written: operators on them emit LLVM's instructions.

A kernel's mathematics is plain Python over `Value`: run once, it leaves the code of one element (or
of a short vector of elements) in the builder. Nothing here knows of arrays, loops or tensors.

NOTE [Rounding]
1. Every operator rounds as IEEE 754 says, and none carries a flag that lets LLVM do otherwise: no
   `fast`, no `contract`. So arithmetic in a kernel has the bits of NumPy's arithmetic, and an
   element's result depends neither on where in a vector it lies nor on the machine.
2. A fused multiply-add is asked for by name, `fma(a, b, c)`. It is exact to one rounding, which
   the mathematics relies on: there are kernels only on hardware that has it (x86-64 since 2013,
   every ARM64), which `door` makes sure of.
3. NumPy's dtype says what a value is: signed, unsigned, real or bool (`i1`). Both operands of an
   operator have one dtype; a Python number takes that of the other.
"""

from __future__ import annotations

import struct
import threading
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Operator = Callable[["Value", Any], "Value"]

__all__ = [
    "FLOATS", "Complex", "Value", "assumed", "assuming", "bits", "ceil", "convert", "copysign",
    "floor", "fma", "from_bits", "integers", "inverse", "ir_type", "isnan", "ldexp", "looked_up",
    "remainder", "rint", "select", "splat", "sqrt", "trunc", "truncated_quotient",
]  # fmt: skip

BOOL, INT32, INT64 = np.dtype(bool), np.dtype(np.int32), np.dtype(np.int64)
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
REALS = {FLOAT32: ir.FloatType(), FLOAT64: ir.DoubleType()}
INTEGERS: dict[Any, np.dtype[Any]] = {FLOAT32: INT32, FLOAT64: INT64}  # of a float's width
FLOATS: dict[Any, np.dtype[Any]] = {INT32: FLOAT32, INT64: FLOAT64}


def ir_type(dtype: np.dtype[Any], lanes: int = 0) -> Any:
    """LLVM's type of one real number of a dtype, or of a vector of so many."""
    kind = REALS.get(dtype)
    if kind is None:
        kind = ir.IntType(1 if dtype == BOOL else 8 * dtype.itemsize)
    return ir.VectorType(kind, lanes) if lanes else kind


def _operator(name: str, real: str, signed: str, unsigned: str) -> tuple[Operator, Operator]:
    """An operator and its reflection; the names are those of the builder's methods."""

    def emit(x: Value, left: Value, right: Value) -> Value:
        if left.dtype != right.dtype:
            raise TypeError(f"{name} of {left.dtype} and {right.dtype}: convert() one of them")
        how = {"f": real, "i": signed}.get(x.dtype.kind, unsigned)
        return x.result(getattr(x.builder, how)(left.ir, right.ir))

    return (
        lambda self, other: emit(self, self, self.like(other)),
        lambda self, other: emit(self, self.like(other), self),
    )


def _comparison(relation: str) -> Operator:
    return lambda self, other: compared(relation, self, other)


class Value:
    """A real number, or a vector of them, of a kernel that is being written."""

    __slots__ = ("builder", "dtype", "ir")
    __array_ufunc__ = None  # NumPy's scalars leave operators with one to it

    def __init__(self, builder: Any, ir: Any, dtype: Any) -> None:
        self.builder, self.ir = builder, ir
        self.dtype: np.dtype[Any] = np.dtype(dtype)

    @property
    def lanes(self) -> int:
        """How many numbers a vector has, 0 for a single number."""
        return getattr(self.ir.type, "count", 0)

    def number(self, number: Any, dtype: Any = None) -> Value:
        """A constant beside this value: of its dtype, or of another one, and of its lanes."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        exact = literal(dtype.type(number).tobytes(), dtype, self.lanes)
        return Value(self.builder, exact, dtype)

    def like(self, other: Any) -> Value:
        """`other` itself where it is a value, else the constant."""
        return other if isinstance(other, Value) else self.number(other)

    def result(self, instruction: Any, dtype: Any = None) -> Value:
        """The value of an instruction, of this one's dtype or of another."""
        return Value(self.builder, instruction, self.dtype if dtype is None else dtype)

    def __neg__(self) -> Value:
        emit = self.builder.fneg if self.dtype.kind == "f" else self.builder.neg
        return self.result(emit(self.ir))

    def __invert__(self) -> Value:
        return self.result(self.builder.not_(self.ir))

    def __abs__(self) -> Value:
        if self.dtype.kind == "f":
            return call_intrinsic("fabs", self)
        return select(self < 0, -self, self) if self.dtype.kind == "i" else self

    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__ = _comparison(">"), _comparison(">=")
    __hash__ = object.__hash__

    __add__, __radd__ = _operator("add", "fadd", "add", "add")
    __sub__, __rsub__ = _operator("sub", "fsub", "sub", "sub")
    __mul__, __rmul__ = _operator("mul", "fmul", "mul", "mul")
    __truediv__, __rtruediv__ = _operator("truediv", "fdiv", "", "")
    __and__, __rand__ = _operator("and", "", "and_", "and_")
    __or__, __ror__ = _operator("or", "", "or_", "or_")
    __xor__, __rxor__ = _operator("xor", "", "xor", "xor")
    __lshift__, __rlshift__ = _operator("lshift", "", "shl", "shl")
    __rshift__, __rrshift__ = _operator("rshift", "", "ashr", "lshr")


def compared(relation: str, x: Value, y: Any) -> Value:
    """A comparison; with NaN all are false but `!=`."""
    builder, right = x.builder, x.like(y).ir
    if x.dtype.kind == "f":
        how = builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered
    else:
        how = builder.icmp_signed if x.dtype.kind == "i" else builder.icmp_unsigned
    return x.result(how(relation, x.ir, right), BOOL)


def call_intrinsic(name: str, *operands: Value) -> Value:
    """A call of LLVM's intrinsic of that name, whose result is of the first operand's type."""
    x = operands[0]
    kinds, module = [y.ir.type for y in operands], x.builder.module
    across = f"v{x.lanes}" if x.lanes else ""
    overloads = dict.fromkeys(f"{across}{y.dtype.kind}{8 * y.dtype.itemsize}" for y in operands)
    whole = ".".join(["llvm", name, *overloads])
    function = module.globals.get(whole)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kinds[0], kinds), whole)
    return x.result(x.builder.call(function, [y.ir for y in operands]))


def _intrinsic(name: str, about: str) -> Callable[[Value], Value]:
    def function(x: Value) -> Value:
        return call_intrinsic(name, x)

    function.__name__, function.__doc__ = name, about
    return function


sqrt = _intrinsic("sqrt", "The square root, rounded as exactly as a product.")
floor = _intrinsic("floor", "The next integer below, a float.")
ceil = _intrinsic("ceil", "The next integer above, a float.")
trunc = _intrinsic("trunc", "The next integer towards 0, a float.")
rint = _intrinsic("roundeven", "The nearest integer, a float; the even one of two.")


def copysign(x: Any, y: Value) -> Value:
    """|x| with the sign of y."""
    return call_intrinsic("copysign", y.like(x), y)


def fma(x: Value, y: Any, z: Any) -> Value:
    """x * y + z, rounded once."""
    return call_intrinsic("fma", x, x.like(y), x.like(z))


def ldexp(x: Value, n: Value) -> Value:
    """x * 2**n for an integer n, rounded once; quick only where the machine has it for vectors."""
    return call_intrinsic("ldexp", x, convert(n, INT32))


def select(condition: Value, x: Any, y: Any) -> Any:
    """`x` where the condition holds, else `y`; at least one of them a value. Never a branch."""
    if isinstance(x, Complex) or isinstance(y, Complex):
        x, y = Complex.of(x, y), Complex.of(y, x)
        return Complex(select(condition, x.real, y.real), select(condition, x.imag, y.imag))
    known = x if isinstance(x, Value) else y
    picked = known.builder.select(condition.ir, known.like(x).ir, known.like(y).ir)
    return known.result(picked)


class Splat(ir.Constant):  # type: ignore[misc]
    """A vector of one constant, whose text is no longer than that of the constant."""

    def __init__(self, kind: Any, constant: Any) -> None:
        self.type, self.constant = kind, constant

    def _get_reference(self) -> str:
        return f"splat ({self.constant})"


@lru_cache(1 << 12)
def literal(held: bytes, dtype: np.dtype[Any], lanes: int) -> Any:
    """LLVM's constant for the number that some bytes are, or for a vector of it."""
    constant = ir.Constant(ir_type(dtype), *struct.unpack(dtype.char, held))
    return Splat(ir_type(dtype, lanes), constant) if lanes else constant


def splat(x: Value, lanes: int) -> Value:
    """A vector of one number; with 0 lanes that number."""
    if not lanes:
        return x
    kind = ir_type(x.dtype, lanes)
    if isinstance(x.ir, ir.Constant):
        return x.result(Splat(kind, x.ir))
    empty = ir.Constant(kind, ir.Undefined)
    first = x.builder.insert_element(empty, x.ir, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return x.result(x.builder.shuffle_vector(first, empty, zeros))


def isnan(x: Value) -> Value:
    """Whether x is NaN."""
    return x != x  # noqa: PLR0124


def bits(x: Value) -> Value:
    """The bits of a float as a signed integer of its width."""
    dtype = INTEGERS[x.dtype]
    return x.result(x.builder.bitcast(x.ir, ir_type(dtype, x.lanes)), dtype)


def from_bits(x: Value) -> Value:
    """The float whose bits an integer of its width has."""
    dtype = FLOATS[x.dtype]
    return x.result(x.builder.bitcast(x.ir, ir_type(dtype, x.lanes)), dtype)


def looked_up(index: Value, name: str, numbers: Sequence[float]) -> Value:
    """The element of a table of float64 that an index, an int64, names; `name` is the table's."""
    builder, module = index.builder, index.builder.module
    table = module.globals.get(name)
    if table is None:
        kind = ir.ArrayType(ir.DoubleType(), len(numbers))
        table = ir.GlobalVariable(module, kind, name)
        table.initializer, table.global_constant = ir.Constant(kind, list(numbers)), True
        table.linkage = "internal"
    place = builder.gep(table, [index.ir], source_etype=ir.DoubleType())
    return index.result(builder.load(place, typ=ir.DoubleType()), FLOAT64)


class _Assumed(threading.local):
    """The conditions that code being written here and now may take for granted; None: none."""

    conditions: list[Value] | None = None


_ASSUMED = _Assumed()


@contextmanager
def assuming() -> Iterator[list[Value]]:
    """A context in which code may assume that conditions hold; it lists them.

    So a kernel has a quick loop beside the one that is always right, with the same bits.
    """
    conditions: list[Value] = []
    _ASSUMED.conditions = conditions
    try:
        yield conditions
    finally:
        _ASSUMED.conditions = None


def assumed(condition: Value) -> bool:
    """Whether the code that is being written may take a condition for granted."""
    if _ASSUMED.conditions is None:
        return False
    _ASSUMED.conditions.append(condition)
    return True


def remainder(x: Value, y: Value) -> Value:
    """What is left of x after division by y, with the sign of x; of integers, y is not 0."""
    how = {"f": x.builder.frem, "i": x.builder.srem}.get(x.dtype.kind, x.builder.urem)
    return x.result(how(x.ir, y.ir))


def truncated_quotient(x: Value, y: Value) -> Value:
    """x / y of integers, rounded towards 0; y is not 0, nor -1 where x has no negative."""
    how = x.builder.sdiv if x.dtype.kind == "i" else x.builder.udiv
    return x.result(how(x.ir, y.ir))


def convert(x: Any, dtype: Any) -> Any:
    """`x` in another dtype, as NumPy casts: integers wrap around, floats are truncated."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        if isinstance(x, Complex):
            return Complex(convert(x.real, part), convert(x.imag, part))
        real = convert(x, part)
        return Complex(real, real.number(0.0))
    if isinstance(x, Complex):
        return x != 0 if dtype == BOOL else convert(x.real, dtype)
    if dtype == x.dtype:
        return x
    if dtype == BOOL:
        return x != 0
    if x.dtype.kind == "f" and dtype.kind in "iu":
        return integers(x, dtype)
    return x.result(_cast(x, dtype)(x.ir, ir_type(dtype, x.lanes)), dtype)


def _cast(x: Value, dtype: np.dtype[Any]) -> Any:
    """The builder's method for a cast that neither overflows nor asks for a value."""
    builder = x.builder
    if x.dtype.kind == "f":
        return builder.fpext if dtype.itemsize > x.dtype.itemsize else builder.fptrunc
    if dtype.kind == "f":
        return builder.sitofp if x.dtype.kind == "i" else builder.uitofp
    if x.dtype != BOOL and dtype.itemsize <= x.dtype.itemsize:
        return builder.trunc if dtype.itemsize < x.dtype.itemsize else builder.bitcast
    return builder.sext if x.dtype.kind == "i" else builder.zext


def integers(x: Value, dtype: Any) -> Value:
    """A float as an integer; NaN and what is beyond a register's range give its least integer.

    This is what x86's instructions do, and so NumPy's casts there. LLVM leaves it undefined.
    """
    dtype = np.dtype(dtype)
    if dtype == np.uint64:
        half = x.number(2.0**63)
        high = integers(x - half, INT64) ^ np.iinfo(np.int64).min
        return convert(select(x >= half, high, integers(x, INT64)), dtype)
    wide = dtype.itemsize == 8 or dtype == np.uint32
    register = INT64 if wide else INT32
    limit = 2.0**63 if wide else 2.0**31
    inside = (x >= -limit) & (x < limit)
    safe = select(inside, x, 0.0)
    found = x.result(x.builder.fptosi(safe.ir, ir_type(register, x.lanes)), register)
    return convert(select(inside, found, np.iinfo(register).min), dtype)


def _reflected(operator: Callable[[Any, Any], Complex]) -> Callable[[Any, Any], Complex]:
    return lambda self, other: operator(Complex.of(other, self), self)


class Complex:
    """A complex number of a kernel: a pair of real values of one dtype."""

    __slots__ = ("imag", "real")
    __array_ufunc__ = None

    def __init__(self, real: Value, imag: Value) -> None:
        self.real, self.imag = real, imag

    @classmethod
    def of(cls, x: Any, like: Any) -> Complex:
        """`x` as a complex value beside one that is known."""
        if isinstance(x, Complex):
            return x
        if isinstance(x, Value):
            return cls(x, x.number(0.0))
        part, number = like.real, complex(x)
        return cls(part.number(number.real), part.number(number.imag))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The complex dtype of both parts."""
        return np.dtype(f"c{2 * self.real.dtype.itemsize}")

    def number(self, number: Any) -> Complex:
        """A complex constant of this value's dtype."""
        return Complex.of(number, self)

    def __add__(self, other: Any) -> Complex:
        other = Complex.of(other, self)
        return Complex(self.real + other.real, self.imag + other.imag)

    def __sub__(self, other: Any) -> Complex:
        other = Complex.of(other, self)
        return Complex(self.real - other.real, self.imag - other.imag)

    def __mul__(self, other: Any) -> Complex:
        other = Complex.of(other, self)
        return Complex(
            self.real * other.real - self.imag * other.imag,
            self.real * other.imag + self.imag * other.real,
        )

    def __truediv__(self, other: Any) -> Complex:
        """The quotient by Smith's algorithm, as in NumPy: nothing overflows that need not."""
        other = Complex.of(other, self)
        a, b, c, d = self.real, self.imag, other.real, other.imag
        wide = abs(c) >= abs(d)
        major, minor = select(wide, c, d), select(wide, d, c)
        ratio = minor / major
        scale = 1.0 / (major + minor * ratio)
        real = (select(wide, a, a * ratio) + select(wide, b * ratio, b)) * scale
        imag = (select(wide, b, b * ratio) - select(wide, a * ratio, a)) * scale
        zero = (c == 0) & (d == 0)
        return Complex(select(zero, a / abs(c), real), select(zero, b / abs(c), imag))

    __radd__, __rsub__, __rmul__, __rtruediv__ = map(
        _reflected, (__add__, __sub__, __mul__, __truediv__)
    )

    def __neg__(self) -> Complex:
        return Complex(-self.real, -self.imag)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        other = Complex.of(other, self)
        return (self.real == other.real) & (self.imag == other.imag)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return ~(self == other)

    __hash__ = object.__hash__


def inverse(x: Value) -> tuple[Value, Value]:
    """(factor, scale): y * factor * scale is y / x to a unit in the last place, for all x and y.

    The reciprocal of a very small or large x would not be normal; so that of scale * x is taken.
    """
    end, step = (100, 64) if x.dtype.itemsize == 4 else (900, 600)
    size = abs(x)
    scale = select(size < 2.0**-end, x.number(2.0**step), 1.0)
    scale = select(size > 2.0**end, 2.0**-step, scale)
    return 1.0 / (x * scale), scale

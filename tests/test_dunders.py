"""Operators: what they do not know is the other operand's business, and integers wrap around."""

import operator
from fractions import Fraction

import numpy as np
import pytest

import retrograd as rg

BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"),
    *("matmul", "and_", "or_", "xor", "lshift", "rshift"),
)
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def dunder(name, prefix=""):
    return f"__{prefix}{name.rstrip('_')}__"


def answer(known):
    return lambda self, other: known


NAMES = [dunder(name, prefix) for name in BINARY for prefix in ("", "r")]
NAMES += [dunder(name) for name in COMPARISONS]
Speaks = type("Speaks", (), {"__hash__": None, **{name: answer(name) for name in NAMES}})
MUTE = object()


@pytest.mark.parametrize("name", BINARY)
def test_an_operand_that_no_op_knows_is_asked_with_its_reflected_method(name):
    x = rg.tensor([1, 2])
    assert getattr(operator, name)(x, Speaks()) == dunder(name, "r")
    assert getattr(operator, name)(Speaks(), x) == dunder(name)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", [MUTE, None, {}], ids=["object", "None", "dict"])
def test_operands_that_nobody_knows_are_pythons_type_error(name, other):
    for pair in ((rg.tensor([1, 2]), other), (other, rg.tensor([1, 2]))):
        with pytest.raises(TypeError, match="unsupported operand type"):
            getattr(operator, name)(*pair)


@pytest.mark.parametrize("name", BINARY)
def test_an_in_place_operator_asks_the_other_operand_before_it_writes(name):
    x = rg.tensor([1, 2])
    in_place = getattr(operator, "i" + name.rstrip("_"))
    assert in_place(x, Speaks()) == dunder(name, "r")
    with pytest.raises(TypeError, match="unsupported operand type"):
        in_place(x, MUTE)
    assert x.tolist() == [1, 2]
    assert x._version == 0


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_asks_an_operand_that_it_does_not_know(name):
    assert getattr(operator, name)(rg.tensor([1, 2]), Speaks()) == dunder(MIRRORED[name])


def test_a_tensor_is_unequal_to_what_is_no_number():
    x = rg.ones(2)
    for other in (None, "a", [1.0, 1.0], MUTE):
        assert (x == other) is False
        assert (x != other) is True
    for name in ("lt", "le", "gt", "ge"):
        with pytest.raises(TypeError, match="not supported between"):
            getattr(operator, name)(x, None)


def test_fractions_are_not_numbers_of_a_tensor():
    with pytest.raises(TypeError, match="unsupported operand"):
        rg.ones(2) + Fraction(1, 2)


def test_a_function_still_raises_for_what_it_does_not_know():
    for other in (None, "a", MUTE, Speaks()):
        with pytest.raises(TypeError, match="must be Tensor, not"):
            rg.mul(rg.ones(2), other)
        with pytest.raises(TypeError, match="must be Tensor, not"):
            rg.ones(2).add(other)


@pytest.mark.parametrize("name", [n for n in BINARY if n not in ("matmul", "truediv")])
def test_arrays_are_operands_on_both_sides(name):
    function = getattr(operator, name)
    x, y = np.array([5, 6]), np.array([1, 2])
    for made in (function(rg.tensor(x), y), function(x, rg.tensor(y))):
        assert isinstance(made, rg.Tensor)
        assert made.tolist() == function(x, y).tolist()


def test_an_in_place_operator_with_an_array_writes_the_tensor():
    x = y = rg.tensor([5, 6])
    x //= np.array([1, 2])
    assert x is y
    assert y.tolist() == [5, 3]


WRAPPED = [  # PyTorch 2.13's values for tensors [1, 2] and these scalars
    ("uint8", lambda x: x + 300, [45, 46]),
    ("uint8", lambda x: x * -200, [56, 112]),
    ("uint8", lambda x: x - 1, [0, 1]),
    ("uint8", lambda x: x + 2**40, [1, 2]),
    ("uint8", lambda x: 300 - x, [43, 42]),
    ("uint8", lambda x: -1 - x, [254, 253]),
    ("uint8", lambda x: x // 300, [0, 0]),
    ("uint8", lambda x: x % 300, [1, 2]),
    ("uint8", lambda x: 300**x, [44, 144]),
    ("uint8", lambda x: x & 300, [0, 0]),
    ("uint8", lambda x: x | -1, [255, 255]),
    ("uint8", lambda x: x ^ 300, [45, 46]),
    ("uint8", lambda x: x << 300, [0, 0]),
    ("uint8", lambda x: x.remainder(-3), [1, 2]),
    ("uint8", lambda x: x.mul_(300), [44, 88]),
    ("uint8", lambda x: x.fill_(-200), [56, 56]),
    ("int8", lambda x: x * -200, [56, 112]),
    ("int8", lambda x: x * 1000, [-24, -48]),
    ("int8", lambda x: 300**x, [44, -112]),
    ("int8", lambda x: x.fmod(300), [1, 2]),
    ("int16", lambda x: x + 2**40, [1, 2]),
    ("int32", lambda x: x - 2**63, [1, 2]),
    ("int64", lambda x: x + 2**63, [1 - 2**63, 2 - 2**63]),
]


@pytest.mark.parametrize(("dtype", "function", "expected"), WRAPPED)
def test_an_integer_beyond_the_dtype_wraps_around(dtype, function, expected):
    made = function(rg.tensor([1, 2], dtype=getattr(rg, dtype)))
    assert made.tolist() == expected
    assert made.dtype is getattr(rg, dtype)


def test_an_integer_beyond_64_bits_is_refused():
    with pytest.raises(OverflowError, match="int too big to convert"):
        rg.tensor([1]) + 2**64


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("scalar", [300, -300, 2**63, -(2**63) - 1, 2**64, 2**70])
def test_comparisons_with_integers_beyond_the_dtype_compare_the_numbers(dtype, name, scalar):
    x, compare = rg.tensor([1, 100], dtype=getattr(rg, dtype)), getattr(operator, name)
    assert compare(x, scalar).tolist() == [compare(v, scalar) for v in (1, 100)]
    assert compare(scalar, x).tolist() == [compare(scalar, v) for v in (1, 100)]


def test_a_quotient_does_not_wrap_around():
    x = rg.tensor([1, 2], dtype=rg.uint8)
    assert (x / 300).tolist() == (rg.tensor([1.0, 2.0]) / 300).tolist()
    assert (300 / x).tolist() == [300.0, 150.0]
    assert (x / 300).dtype is rg.float32


@pytest.mark.parametrize(
    "store",
    [
        lambda x: x.fill_(300),
        lambda x: x.__setitem__(0, 300),
        lambda x: x.__setitem__(0, float("inf")),
        lambda x: x.__setitem__(0, float("nan")),
        lambda x: x.masked_fill(x > 0, 300),
        lambda x: rg.full((2,), 300, dtype=rg.uint8),
        lambda x: rg.nn.functional.pad(x, (1, 1), value=300),
    ],
)
def test_a_number_that_is_stored_must_fit(store):
    with pytest.raises(RuntimeError, match="without overflow"):
        store(rg.tensor([1, 2], dtype=rg.uint8))


def test_a_negative_number_stored_in_an_unsigned_tensor_wraps_around():
    x = rg.tensor([1, 2], dtype=rg.uint8)
    x[0] = -1
    assert x.tolist() == [255, 2]


def test_a_function_of_the_package_takes_attributes_as_any_function_does(monkeypatch):
    for function in (rg.relu, rg.einsum, rg.add):
        monkeypatch.setattr(function, "told", 3, raising=False)
        assert function.told == 3

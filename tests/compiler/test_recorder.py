"""What the recorder takes, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.compiler.abstract import SHAPE
from retrograd.compiler.program import Call, Program, Refused, folded, live, merged
from retrograd.compiler.recorder import FLOAT, Operand, record

X, Y, Z = Operand("f", SHAPE), Operand("d", SHAPE), Operand("F", SHAPE)


def text(function, *operands, **options):
    """The program of a function, as text."""
    return str(record(function, operands, **options).program)


def functions(function, *operands):
    """The names of its calls; inputs are none."""
    calls = record(function, operands).program.calls
    return [call.function for call in calls if call.function != "input"]


def test_a_number_takes_the_dtype_of_the_array_beside_it():
    assert text(lambda x: x + 1, X).splitlines() == [
        "%0: float32 = input",
        "%1: float32 = constant(1.0)",
        "%2: float32 = add(%0, %1)",
        "return %2",
    ]


def test_a_parameter_that_is_a_float_is_as_weak_as_python_s():
    assert text(lambda x, beta: x * (beta * 2), X, FLOAT).splitlines() == [
        "%0: float32 = input",
        "%1: float64 = input",
        "%2: float64 = constant(2.0)",
        "%3: float64 = multiply(%1, %2)",
        "%4: float32 = cast(%3)",
        "%5: float32 = multiply(%0, %4)",
        "return %5",
    ]


def test_mixed_dtypes_are_cast_as_numpy_does():
    assert "%2: float64 = cast(%0)\n%3: float64 = multiply(%2, %1)" in text(np.multiply, X, Y)


def test_a_branch_by_where_is_a_selection():
    assert "float32 = select(%2, %1, %0)" in text(lambda x: np.where(x > 0, 0, x), X)


def test_bits_of_truth_values_are_logic_and_those_of_integers_are_not():
    truth = functions(lambda x: ~(x > 0) & (x < 3), X)
    assert [name for name in truth if name != "constant"] == [
        *("greater", "logical_not", "less", "logical_and")
    ]
    assert functions(lambda i: ~i & i, Operand("i", SHAPE)) == ["invert", "bitwise_and"]


def test_writes_in_place_are_new_values():
    def function(x):
        out = np.negative(x)
        np.exp(out, out)
        out += 1.0
        out[...] = out * 2
        return out

    assert functions(function, X) == [
        *("negative", "exp", "constant", "add", "constant", "multiply")
    ]


def test_parts_of_complex_arrays_are_views():
    def function(z):
        out = z.copy()
        np.add(out.real, 1, out=out.real)
        return out

    assert functions(function, Z) == [*("real", "constant", "add", "imag", "complex")]


def test_inputs_that_are_not_used_are_none():
    program = record(lambda x, y: y * 2, [X, Y]).program
    assert [program.calls[i].static for i in program.inputs] == [(1, SHAPE)]


def test_what_a_rule_writes_goes_over_its_operands():
    def rule(x, g, m):
        m *= 0.5
        m += g
        x -= m

    program = record(rule, [X, X, X], writes=True).program
    assert program.targets == (0, 2)
    assert str(program).endswith("return %6 in place of %0\nreturn %5 in place of %2")


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (lambda x: x.sum(), AttributeError, "no attribute 'sum'"),
        (lambda x: x[1:], Refused, "an element is asked for"),
        (lambda x: np.sort(x), Refused, r"np\.sort is not elementwise"),
        (lambda x: x if x > 0 else -x, Refused, "a branch on what an array holds"),
        (lambda x: np.add.reduce(x), Refused, r"add\.reduce"),
        (lambda x: np.add(x, x, where=x > 0), Refused, r"add\.__call__ with \['where'\]"),
        (lambda x: x + np.ones(3, np.float32), Refused, "ndarray among the operands"),
        (lambda x: np.zeros(x.shape, x.dtype) + x, MemoryError, "Unable to allocate"),
        (lambda x: np.empty_like(x, shape=(3,)), Refused, "an array of another shape is made"),
        (lambda x: (x * 2, x + 1), Refused, "no array of the operands' shape"),
        (lambda x: 1.0, Refused, "no array of the operands' shape"),
        (lambda x: np.zeros_like(x), Refused, "nothing is computed"),
        (lambda x: x, Refused, "nothing is computed"),
        (lambda x: np.modf(x)[0], Refused, r"modf\.__call__"),
    ],
)
def test_what_is_not_elementwise_is_refused(function, kind, text):
    with pytest.raises(kind, match=text):
        record(function, [X])


def test_passes_drop_what_is_not_needed():
    calls = (
        Call("input", (), "f"),
        Call("multiply", (0, 0), "f"),
        Call("multiply", (0, 0), "f"),
        Call("cast", (2,), "f"),
        Call("exp", (0,), "f"),
        Call("add", (1, 3), "f"),
    )
    program = Program(calls, (5,), (-1,))
    assert len(merged(program).calls) == 5
    assert folded(program).calls[5].operands == (1, 2)
    names = [call.function for call in live(merged(folded(program))).calls]
    assert names == ["input", "multiply", "add"]


def test_constants_that_are_equal_but_for_their_sign_stay_apart():
    program = record(lambda x: (x + 0.0) * (x + -0.0), [X]).program
    assert [call.static for call in program.calls if call.function == "constant"] == ["0.0", "-0.0"]

"""Along which axes the values of a program vary, and the sweeps that it is cut into."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.compiler.abstract import SHAPE
from retrograd.compiler.plan import plan, within_rows
from retrograd.compiler.program import ALL, INNER, OUTER, Refused, along, broadcast
from retrograd.compiler.recorder import Operand, record

X, ROW, COLUMN = Operand("f", (5, 37)), Operand("f", (5, 1)), Operand("f", (37,))


def softmax(x):
    e = np.exp(x - np.maximum.reduce(x, axis=1, keepdims=True))
    return e / np.add.reduce(e, axis=1, keepdims=True)


def program(function, *operands):
    return record(function, operands, in_rows=True).program


def names(program, values):
    return [program.calls[i].name for i in values]


def test_a_value_varies_along_whatever_its_operands_do():
    found = program(lambda x, r, c: (x * c + r * 2, np.add.reduce(x, axis=1)), X, ROW, COLUMN)
    axes = {call.name: call.axes for call in found.calls}
    assert axes == {"input": INNER, "multiply": OUTER, "constant": 0, "add": ALL, "sum": OUTER}


def test_a_reduction_leaves_the_axes_of_the_other_class():
    found = program(lambda x: (np.add.reduce(x, axis=1), np.add.reduce(x, axis=0)), X)
    assert [(call.name, call.axes) for call in found.calls[1:]] == [
        ("sum", OUTER),
        ("sum across", INNER),
    ]


def test_inputs_of_fewer_dimensions_lie_along_a_row_or_say_something_of_it():
    def function(x, c, m):
        return (x - np.expand_dims(m, (1,))) * c, np.add.reduce(x, axis=1)

    found = program(function, X, COLUMN, Operand("f", (5,)))
    inputs = [found.calls[i] for i in found.inputs]
    assert [(call.static, call.axes) for call in inputs] == [
        ((0, (5, 37)), ALL),
        ((1, (1, 37)), INNER),
        ((2, (5, 1)), OUTER),
    ]


def test_an_elementwise_program_is_one_sweep():
    found = plan(program(lambda x: np.exp(x) * 2, Operand("f", SHAPE)))
    assert (found.sweeps, found.across.values, found.last.values) == ([], [], [0, 1, 3])
    assert (found.numbers, found.last.stored, found.last.easy) == ([2], [(3, 0)], False)


def test_numbers_of_a_row_are_computed_before_its_sweep():
    whole = program(lambda x, y: x * np.exp(y), Operand("f", SHAPE), Operand("f", SHAPE))
    found = plan(along(whole, [ALL, OUTER]))
    assert names(whole, found.numbers) == ["input", "exp"]
    assert names(whole, found.last.values) == ["input", "multiply"]


def test_an_output_that_does_not_vary_along_a_row_is_written_to_all_of_it():
    whole = program(np.exp, Operand("f", SHAPE))
    found = broadcast(along(whole, [OUTER]), [0])
    assert names(found, found.outputs) == ["broadcast"]
    assert names(found, plan(found).last.values) == ["broadcast"]


def test_a_softmax_has_three_sweeps_and_its_exponentials_wait_for_the_last():
    whole = program(softmax, X)
    first, second = plan(whole).sweeps
    last = plan(whole).last
    assert names(whole, first.reductions + second.reductions) == ["max", "sum"]
    assert (first.easy, second.easy) == (True, False)
    assert names(whole, second.values) == ["input", "subtract", "exp"]
    assert [names(whole, [value]) for value, _ in second.stored] == [["exp"]]
    assert names(whole, last.values) == ["exp", "divide"]
    assert first.stored == []


def test_what_is_cheap_is_computed_again_and_waits_nowhere():
    def centred(x):
        y = x - np.add.reduce(x, axis=1, keepdims=True)
        return y * np.add.reduce(y, axis=1, keepdims=True)

    whole = program(centred, X)
    assert [sweep.stored for sweep in plan(whole).sweeps] == [[], []]
    assert names(whole, plan(whole).last.values) == ["input", "subtract", "multiply"]


def test_a_value_of_another_dtype_than_the_results_waits_nowhere():
    def function(x):
        e = np.exp(x)
        return (e * np.add.reduce(e, axis=1, keepdims=True)).astype(np.float64)

    assert [sweep.stored for sweep in plan(program(function, X)).sweeps] == [[]]


def test_sums_across_rows_have_a_sweep_before_the_last():
    def function(x):
        out = softmax(x)
        return out, np.add.reduce(out, axis=0) * 2

    whole = program(function, X)
    within = within_rows(whole)
    found = plan(within)
    assert names(within, within.outputs) == ["divide", "sum across"]
    assert names(within, found.across.reductions) == ["sum across"]
    assert names(within, found.across.values) == ["exp", "divide"]
    assert "multiply" not in names(within, range(len(within.calls)))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x - np.add.reduce(x, axis=0), "no array of the operands' shape"),
        (lambda x: np.add.reduce(x - np.add.reduce(x, axis=0), axis=0), "beside them"),
    ],
)
def test_what_needs_sums_across_rows_beside_the_rows_is_refused(function, text):
    with pytest.raises(Refused, match=text):
        within_rows(program(function, X))

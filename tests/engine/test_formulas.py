"""Formulas as text: what the class of a node says of itself."""

from __future__ import annotations

import pydoc

import retrograd as rg
from retrograd.engine.backward.formulas import formulas_of, helpers_of
from retrograd.engine.registry import OPS


def test_a_formula_is_told_as_it_is_written():
    assert formulas_of(OPS["mul"]) == {
        "input": "`g * conj(other)`", "other": "`g * conj(input)`",
    }  # fmt: skip
    assert formulas_of(OPS["sin"]) == {"input": "`g * conj(cos(input))`"}
    assert formulas_of(OPS["pow"]) == {"input": "`_next_derivative(g, input, exponent)`"}
    assert formulas_of(OPS["igamma"])["input"] == "not implemented"


def test_functions_in_a_formula_are_explained_unless_tensors_have_them():
    assert helpers_of(OPS["sin"]) == {}
    assert helpers_of(OPS["relu"])["gate"].startswith("`input` with zeros where `signal` is not")
    assert "exponent * input ** (exponent - 1)" in helpers_of(OPS["pow"])["_next_derivative"]
    assert helpers_of(OPS["gru_gates"])["gru_back"].startswith("The cotangents of both gates")


def test_one_formula_for_all_inputs_is_told_by_number():
    text = "`lstm_back(*g, gates, c, after, xp)`"
    assert formulas_of(OPS["lstm_gates"]) == {
        "gates": f"number 0 of {text}", "c": f"number 1 of {text}",
    }  # fmt: skip


def test_help_of_a_node_says_its_op_its_formula_and_what_it_saves():
    x = rg.ones(2, 2, requires_grad=True)
    said = pydoc.plain(pydoc.render_doc(rg.nn.functional.linear(x, x).grad_fn))
    assert "A recorded call of the op `linear`" in said
    assert "weight: `g.T @ conj(input)`" in said
    assert "_saved_mat1" in said
    assert x.relu().grad_fn.__doc__ == type(x.relu().grad_fn).__doc__


def test_a_formula_without_a_file_goes_by_its_name():
    names = {}
    exec("def input_of(xp, g):\n    return g", names)
    made = rg.engine.op.Op("unfiled(input)", abs, input=names["input_of"])
    assert formulas_of(made) == {"input": "by `input_of`"}

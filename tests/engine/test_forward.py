"""The jvp of one record: all ways of getting it agree, and it can be differentiated."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.engine.registry import OPS
from retrograd.engine.transforms.forward import jvp


def tensor(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype)


@pytest.fixture
def only_formulas(monkeypatch):
    """Forget the shortcuts of a record, so that only its vjp formulas are left."""

    def forget(name):
        for shortcut, nothing in (("derivative", None), ("linear", ""), ("tangent", None)):
            monkeypatch.setattr(OPS[name], shortcut, nothing)

    return forget


def test_an_op_with_a_slope_multiplies_by_it():
    x, t = tensor(0.5, 1.0), tensor(2, 3)
    assert jvp(OPS["exp"], [x], [t], {}).tolist() == (x.exp() * t).tolist()


def test_a_product_moves_with_either_factor():
    x, y = tensor(2, 3), tensor(5)
    op = OPS["mul"]
    assert jvp(op, [x, y], [tensor(1, 10), None], {}).tolist() == [5, 50]
    assert jvp(op, [x, y], [None, tensor(1)], {}).tolist() == [2, 3]
    assert jvp(op, [x, y], [tensor(1, 10), tensor(1)], {}).tolist() == [7, 53]


def test_without_tangents_the_result_does_not_move():
    assert jvp(OPS["mul"], [tensor(2, 3), tensor(5)], [None, None], {}).tolist() == [0, 0]


def test_the_transposed_vjp_gives_the_same(only_formulas):
    z, t = tensor(1 + 2j, dtype=rg.complex128), tensor(0.5 - 1j, dtype=rg.complex128)
    y, s = tensor(3), tensor(7)
    expected = jvp(OPS["mul"], [z, y], [t, s], {})
    only_formulas("mul")
    assert jvp(OPS["mul"], [z, y], [t, s], {}).tolist() == expected.tolist() == [8.5 + 11j]


def test_a_function_that_is_not_holomorphic_moves_by_its_real_derivative():
    z, t = tensor(3 + 4j, dtype=rg.complex128), tensor(1j, dtype=rg.complex128)
    moved = jvp(OPS["abs"], [z], [t], {})
    assert moved.dtype == rg.float64
    assert moved.tolist() == pytest.approx([0.8], rel=1e-15)


def test_several_outputs_have_a_tangent_each():
    found = jvp(OPS["unbind"], [tensor(1, 2)], [tensor(5, 6)], {"dim": 0})
    assert [t.item() for t in found] == [5, 6]


@pytest.mark.parametrize("transposed", [False, True])
def test_a_tangent_can_be_differentiated(transposed, only_formulas):
    if transposed:
        only_formulas("exp")
    x, t = tensor(0.5).requires_grad_(), tensor(2.0).requires_grad_()
    dx, dt = autograd.grad(jvp(OPS["exp"], [x], [t], {}), [x, t])
    assert dx.item() == pytest.approx(2 * x.exp().item(), rel=1e-15)
    assert dt.item() == pytest.approx(x.exp().item(), rel=1e-15)
    with rg.no_grad():
        assert not jvp(OPS["exp"], [x], [t], {}).requires_grad

"""Clipping gradients, and parameters as one vector."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import utils


def parameters():
    params = [rg.ones(2, 2, requires_grad=True), rg.ones(3, requires_grad=True)]
    params[0].grad = rg.tensor([[3.0, -4.0], [0.0, 0.0]])
    params[1].grad = rg.tensor([0.0, 0.0, 12.0])
    return params


@pytest.mark.parametrize(
    ("order", "norm", "first", "last"),
    [
        (2.0, 13.0, 0.23076921301775288, 0.9230768520710115),
        (1.0, 19.0, 0.15789472853185638, 0.6315789141274255),
        (float("inf"), 12.0, 0.24999997916666844, 0.9999999166666738),
    ],
)
def test_gradients_are_clipped_together(order, norm, first, last):
    params = parameters()
    assert utils.clip_grad_norm_(params, 1.0, order).item() == norm
    assert params[0].grad[0, 0].item() == pytest.approx(first, rel=1e-6)
    assert params[1].grad[2].item() == pytest.approx(last, rel=1e-6)


def test_small_gradients_stay_as_they_are():
    params = parameters()
    utils.clip_grad_norm_(params, 100.0)
    assert params[0].grad.tolist() == [[3.0, -4.0], [0.0, 0.0]]
    assert utils.clip_grad_norm_([rg.ones(1, requires_grad=True)], 1.0).item() == 0.0


def test_an_empty_generator_of_parameters_warns():
    found = rg.nn.Linear(2, 1).parameters()
    list(found)
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        assert utils.clip_grad_norm_(found, 1.0).item() == 0.0
    assert utils.clip_grad_norm_([], 1.0).item() == 0.0  # without a warning


def test_complex_gradients_count_with_their_absolute_values():
    z = rg.ones(1, dtype=rg.complex64, requires_grad=True)
    z.grad = rg.tensor([3 + 4j])
    assert utils.clip_grad_norm_(z, 1.0).item() == 5.0
    np.testing.assert_allclose(z.grad._array, [0.6 + 0.8j], rtol=1e-6)
    with pytest.raises(NotImplementedError, match="no order"):
        utils.clip_grad_value_(z, 1.0)


def test_a_norm_that_is_not_finite_can_raise():
    params = parameters()
    params[0].grad.fill_(float("nan"))
    with pytest.raises(RuntimeError, match=r"total norm of order 2.0 .* is non-finite"):
        utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)


def test_values_are_cut():
    params = parameters()
    utils.clip_grad_value_(params, 3.5)
    assert params[0].grad.tolist() == [[3.0, -3.5], [0.0, 0.0]]


def test_parameters_become_a_vector_and_back():
    params = [rg.ones(2, 2, requires_grad=True), rg.zeros(1, requires_grad=True)]
    vector = utils.parameters_to_vector(params)
    assert vector.requires_grad
    utils.vector_to_parameters(vector.detach() + 1, params)
    assert params[0].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert params[1].tolist() == [1.0]
    with pytest.raises(TypeError, match="expected a Tensor"):
        utils.vector_to_parameters([1.0], params)


def test_a_vector_too_short_for_the_parameters_is_refused():
    with pytest.raises(RuntimeError, match=r"shape '\[2\]' is invalid for input of size 1"):
        rg.nn.utils.vector_to_parameters(rg.ones(1), [rg.nn.Parameter(rg.zeros(2))])


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_spectral_norm_of_a_vector_divides_by_its_length():
    layer = utils.spectral_norm(rg.nn.PReLU(3))
    layer(rg.ones(2, 3))
    assert layer.weight.norm().item() == pytest.approx(1.0, rel=1e-6)

"""`SparseAdam` follows PyTorch's path, and its settings are in PyTorch's order."""

from __future__ import annotations

import pytest
from tests.optim import test_reference_paths as paths
from tests.optim.test_reference_paths import cases, saved  # noqa: F401 (a fixture)

import retrograd as rg

CASE = ("rules", "SparseAdam")


def test_it_follows_the_path_of_pytorch():
    paths.test_a_case_follows_the_path_of_pytorch(*CASE)


@pytest.mark.parametrize("stop", cases.STOPS)
def test_what_pytorch_saved_goes_on_to_the_same_numbers(stop, saved):  # noqa: F811
    paths.test_what_pytorch_saved_goes_on_to_the_same_numbers(*CASE, stop, saved)


def test_what_is_saved_is_what_pytorch_saves(saved):  # noqa: F811
    paths.test_what_is_saved_is_what_pytorch_saves(*CASE, saved)


def test_both_parts_of_a_complex_parameter_move_as_numbers_of_their_own():
    whole = rg.nn.Parameter(rg.tensor([[1 + 2j], [3 - 1j]]))
    parts = rg.nn.Parameter(rg.view_as_real(whole.detach().clone()).flatten(1))
    for table in (whole, parts):
        optimizer = rg.optim.SparseAdam([table], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            rg.nn.functional.embedding(rg.tensor([1, 1]), table, sparse=True).abs().pow(
                2
            ).sum().backward()
            optimizer.step()
    assert whole[0].item() == 1 + 2j
    rg.testing.assert_close(rg.view_as_real(whole).flatten(1), parts, rtol=1e-6, atol=0)


def test_a_group_lists_its_settings_in_the_order_of_pytorch_s():
    optimizer = rg.optim.SparseAdam([rg.nn.Parameter(rg.ones(2, 2))])
    assert list(optimizer.param_groups[0]) == ["params", "lr", "betas", "eps", "maximize"]


def test_it_is_among_the_optimizers_that_a_star_imports():
    names = {}
    exec("from retrograd.optim import *", names)
    assert names["SparseAdam"] is rg.optim.SparseAdam is rg.optim.sparse_adam.SparseAdam


def test_lbfgs_takes_sparse_gradients():
    table = rg.nn.Parameter(rg.ones(3, 2))
    optimizer = rg.optim.LBFGS([table], lr=0.5, max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = rg.nn.functional.embedding(rg.tensor([1]), table, sparse=True).square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert table.tolist() == [[1.0, 1.0], [0.75, 0.75], [1.0, 1.0]]


def test_a_tensor_of_several_rates_is_refused():
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        rg.optim.SparseAdam([rg.nn.Parameter(rg.ones(3, 2))], lr=rg.ones(2))

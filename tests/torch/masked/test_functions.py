"""Functions of plain tensors and a mask: PyTorch's values and gradients, and what drops out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.reduction.test_selections import cases, leaf, made
from tests.ops.sorting.test_complex_order import Z

import retrograd as rg
from retrograd.autograd import grad


@pytest.mark.parametrize(("case", "want"), made.references("masked"), ids=lambda v: str(v)[:60])
def test_call_gives_pytorchs_values_gradients_and_errors(case, want):
    cases.check(rg, case, want)


def test_what_a_mask_drops_may_be_nan_and_gets_no_cotangent():
    x = leaf([[1.0, np.nan], [np.inf, 4.0]])
    mask = rg.tensor([[True, False], [False, True]])
    for name in ("sum", "prod", "mean", "amax", "amin", "logsumexp", "norm", "var"):
        y = getattr(rg.masked, name)(x, mask=mask)
        assert np.isfinite(y.item()), name
        found = grad(y, x)[0]._array
        assert (found[[0, 1], [1, 0]] == 0).all(), name


def test_masked_var_and_std_compute_in_the_dtype_given():
    x = rg.tensor([1, 2, 4, 9], dtype=rg.int64)
    mask = rg.tensor([True, True, True, False])
    assert rg.masked.var(x, mask=mask, dtype=rg.float64).item() == pytest.approx(7 / 3, rel=1e-15)
    assert rg.masked.std(x, mask=mask, dtype=rg.float64).item() == pytest.approx(
        (7 / 3) ** 0.5, rel=1e-15
    )


def test_a_reduction_that_keeps_nothing_gives_its_identity():
    x, none = rg.ones(2), rg.tensor([False, False])
    found = [getattr(rg.masked, n)(x, mask=none).item() for n in ("sum", "prod", "amax", "amin")]
    assert found == [0.0, 1.0, -np.inf, np.inf]
    assert np.isnan(rg.masked.mean(x, mask=none).item())
    assert np.isnan(rg.masked.softmax(x, 0, mask=none)._array).all()


def test_both_corrections_of_masked_var_raise():
    with pytest.raises(TypeError, match="either unbiased or correction"):
        rg.masked.var(rg.ones(2), None, True, correction=0)


def test_a_masked_median_over_everything_is_a_tensor():
    mask = rg.tensor([True, True, False])
    assert rg.masked.median(rg.tensor([1.0, 5.0, 9.0]), None, mask=mask).item() == 1.0


def test_the_largest_is_chosen_by_modulus():
    keep = rg.tensor([[True, False, True], [False, True, True]])
    assert rg.masked.amax(Z, 1, mask=keep).tolist() == [2, -2]
    assert rg.masked.amin(Z, 1, mask=keep).tolist() == [1 + 1j, 1 - 1j]
    assert rg.masked.argmax(Z, 1, mask=keep, dtype=rg.int64).tolist() == [2, 1]
    assert rg.masked.median(Z, 1, mask=keep).tolist() == [1 + 1j, 1 - 1j]


def test_a_single_complex_number_is_its_own_extremum():
    z = rg.tensor(1 + 2j, requires_grad=True)
    found = rg.masked.amax(z)
    found.backward(rg.tensor(2 - 1j))
    assert (found.item(), z.grad.item()) == (1 + 2j, 2 - 1j)

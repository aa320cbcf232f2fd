"""The matrix exponential, products under torch.linalg's names, sums of products."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import values

import retrograd as rg
from retrograd.autograd import grad

KINDS = pytest.mark.parametrize("complex", [False, True])


def close(found, expected, tolerance=1e-11):
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


# -- exponential -----------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("size", [1e-8, 0.1, 1.0, 20.0])
def test_the_exponential_is_that_of_the_eigenvalues(size, complex):
    a = values(2, 4, 4, complex=complex) * size
    d, v = np.linalg.eig(a)
    expected = (v * np.exp(d)[..., None, :]) @ np.linalg.inv(v)
    found = rg.matrix_exp(rg.tensor(a)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * abs(expected).max())


def test_exponentials_of_nilpotent_empty_and_mixed_stacks():
    close(rg.matrix_exp(rg.tensor([[0.0, 3.0], [0.0, 0.0]])), [[1, 3], [0, 1]])
    assert rg.matrix_exp(rg.zeros(0, 0)).shape == (0, 0)
    assert rg.matrix_exp(rg.zeros(0, 2, 2)).shape == (0, 2, 2)
    stack = np.stack([np.zeros((2, 2)), np.diag([1.0, 30.0])])
    close(rg.linalg.matrix_exp(rg.tensor(stack)), [np.eye(2), np.diag(np.exp([1.0, 30.0]))])


def test_the_slope_keeps_its_digits_for_large_cotangents():
    a = values(3, 3)
    x = rg.tensor(a, requires_grad=True)
    small, large = (grad(x.matrix_exp().sum(), x, rg.tensor(s))[0] for s in (1.0, 1e9))
    np.testing.assert_allclose(large.numpy(), small.numpy() * 1e9, rtol=1e-12)


# -- products --------------------------------------------------------------------------------------


def test_vecdot_conjugates_the_first():
    x, y = values(2, 3, complex=True), values(3, complex=True, seed=1)
    close(rg.linalg.vecdot(rg.tensor(x), rg.tensor(y)), (x.conj() * y).sum(-1))
    close(rg.linalg.vecdot(rg.tensor(x), rg.tensor(x), dim=0), (abs(x) ** 2).sum(0))
    with pytest.raises(RuntimeError, match="same dtype"):
        rg.linalg.vecdot(rg.ones(2), rg.ones(2).double())


def test_cross_and_diagonal_count_from_the_end():
    x, y = values(3, 3), values(3, 3, seed=1)
    close(rg.linalg.cross(rg.tensor(x), rg.tensor(y)), np.cross(x, y))
    a = rg.tensor(values(2, 3, 4))
    found = rg.linalg.diagonal(a, offset=1)
    close(found, np.diagonal(a.numpy(), 1, -2, -1))
    found.zero_()
    assert a[0, 0, 1].item() == 0  # it is a view


@pytest.mark.parametrize("kind", [rg.int32, rg.float64, rg.complex128])
def test_vander(kind):
    x = rg.tensor([[2, 0, 3]]).to(kind)
    found = rg.linalg.vander(x, N=4)
    assert found.tolist() == [[[1, 2, 4, 8], [1, 0, 0, 0], [1, 3, 9, 27]]]
    assert found.dtype is (rg.int64 if kind is rg.int32 else kind)
    assert rg.linalg.vander(rg.tensor(3.0), N=2).tolist() == [[1, 3]]
    with pytest.raises(RuntimeError, match="N must be greater than 1"):
        rg.linalg.vander(rg.ones(3), N=1)
    with pytest.raises(RuntimeError, match="got Bool"):
        rg.linalg.vander(rg.ones(3) > 0)


def test_multi_dot_needs_two():
    a, b, c = values(2, 30), values(30, 4), values(4)
    close(rg.linalg.multi_dot([rg.tensor(t) for t in (a, b, c)]), a @ b @ c)
    with pytest.raises(RuntimeError, match="expected at least 2 tensors but got 1"):
        rg.linalg.multi_dot([rg.ones(2)])


@KINDS
def test_addbmm_sums_products(complex):
    x, y = values(4, 2, 3, complex=complex), values(4, 3, 5, complex=complex)
    m = values(2, 5, complex=complex)
    found = rg.addbmm(rg.tensor(m), rg.tensor(x), rg.tensor(y), beta=2, alpha=0.5)
    close(found, 2 * m + 0.5 * (x @ y).sum(0))
    target = rg.tensor(m)
    assert target.addbmm_(rg.tensor(x), rg.tensor(y)) is target
    close(target, m + (x @ y).sum(0))
    assert rg.addbmm(rg.ones(2, 2), rg.ones(0, 2, 3), rg.ones(0, 3, 2)).tolist() == [[1, 1], [1, 1]]
    with pytest.raises(RuntimeError, match="batch1 must be a 3D tensor"):
        rg.addbmm(rg.ones(2, 2), rg.ones(2, 2), rg.ones(2, 2))
    with pytest.raises(RuntimeError, match="Expected size for first two dimensions of batch2"):
        rg.addbmm(rg.ones(2, 2), rg.ones(1, 2, 2), rg.ones(2, 2, 2))


def test_scales_beside_integers_are_cut_off():
    ones = rg.ones(2, 2, dtype=rg.int64)
    assert rg.addmm(ones, ones, ones, beta=0.6, alpha=1.5).tolist() == [[2, 2], [2, 2]]


def test_negative_powers_invert():
    a = values(2, 3, 3)
    close(
        rg.linalg.matrix_power(rg.tensor(a), -3), np.linalg.matrix_power(np.linalg.inv(a), 3), 1e-8
    )


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_the_exponential_of_half_floats_is_computed_in_float32_and_rounded_once(dtype):
    x = rg.tensor([[0.5, 1.0], [-0.25, 2.0]], dtype=dtype, requires_grad=True)
    wide = x.detach().float().requires_grad_()
    assert rg.equal(rg.matrix_exp(x), rg.matrix_exp(wide).to(dtype))
    g = rg.tensor([[1.0, -2.0], [0.5, 1.0]])
    (found,) = grad(rg.matrix_exp(x), x, g.to(dtype))
    (wanted,) = grad(rg.matrix_exp(wide), wide, g)
    assert rg.equal(found, wanted.to(dtype))

"""QR and Householder reflectors: modes, shapes, products, what has no derivative."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.arrays import close, values

import retrograd as rg
from retrograd.autograd import grad

KINDS = pytest.mark.parametrize("complex", [False, True])


@KINDS
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 2), (2, 4), (0, 2), (2, 0), (0, 2, 2)])
def test_q_is_orthonormal_and_r_a_triangle(shape, mode, complex):
    a = values(*shape, complex=complex)
    Q, R = rg.linalg.qr(rg.tensor(a), mode)
    columns = Q.shape[-1]
    assert columns == (shape[-2] if mode == "complete" else min(shape[-2:]))
    close(Q @ R, a)
    close(Q.mH @ Q, np.broadcast_to(np.eye(columns), (*shape[:-2], columns, columns)))
    assert not R.tril(-1).any()


def test_mode_r_is_differentiable_here():
    x = rg.tensor(values(4, 2), requires_grad=True)
    Q, R = rg.linalg.qr(x, "r")
    assert Q.shape == (0,)
    (found,) = grad((R.mT @ R).sum(), x)
    close(found, 2 * x.detach().numpy().sum(1, keepdims=True) * np.ones((1, 2)))


def test_a_complete_basis_has_no_derivative():
    x = rg.tensor(values(4, 2), requires_grad=True)
    with pytest.raises(RuntimeError, match="not differentiable when mode='complete' and nrows >"):
        grad(rg.linalg.qr(x, "complete").R.sum(), x)
    with pytest.raises(RuntimeError, match="unrecognized mode 'q'"):
        rg.linalg.qr(x, "q")


@KINDS
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (3, 1), (3, 0)])
def test_reflectors_give_back_q(shape, complex):
    a = values(*shape, complex=complex)
    packed, tau = rg.geqrf(rg.tensor(a))
    Q = rg.linalg.householder_product(packed, tau)
    close(Q @ packed.triu()[..., : shape[-1], :], a)
    close(rg.orgqr(packed, tau), Q.numpy())
    other = values(*shape[:-2], shape[-2], 2, complex=complex, seed=1)
    whole, _ = np.linalg.qr(a, "complete")
    for transpose in (False, True):
        matrix = whole.conj().swapaxes(-1, -2) if transpose else whole
        close(rg.ormqr(packed, tau, rg.tensor(other), transpose=transpose), matrix @ other)
        turned = other.swapaxes(-1, -2)
        found = rg.ormqr(packed, tau, rg.tensor(turned.copy()), left=False, transpose=transpose)
        close(found, turned @ matrix)


def test_fewer_factors_than_columns_make_fewer_reflections():
    packed, tau = rg.geqrf(rg.tensor(values(4, 3)))
    found = rg.linalg.householder_product(packed, tau[:1])
    low = packed.numpy()[:, :1].copy()
    low[0] = 1
    close(found, (np.eye(4) - tau.numpy()[0] * low @ low.T)[:, :3])


def test_packed_reflectors_have_no_derivative():
    x = rg.tensor(values(3, 2), requires_grad=True)
    with pytest.raises(NotImplementedError, match="the derivative for 'geqrf' is not implemented"):
        grad(rg.geqrf(x).a.sum(), x)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: rg.orgqr(rg.ones(2, 3), rg.ones(2)), "greater than or equal to input.shape"),
        (lambda: rg.orgqr(rg.ones(3, 2), rg.ones(3)), "greater than or equal to tau.shape"),
        (lambda: rg.orgqr(rg.ones(2, 3, 2), rg.ones(2)), "one dimension less than input"),
        (lambda: rg.orgqr(rg.ones(3, 2), rg.ones(2).double()), "same dtype"),
        (
            lambda: rg.ormqr(rg.ones(3, 2), rg.ones(2), rg.ones(2, 2)),
            "must be equal to input.shape",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()

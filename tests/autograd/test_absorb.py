"""`absorb_zeros`: a cotangent of 0 stays 0 where a derivative is infinite or NaN."""

import math

import retrograd as rg


def safe_root(x):
    return rg.where(x > 0, x.sqrt(), 0.0)


def test_an_unselected_branch_gives_nan_by_default_and_zero_in_the_mode():
    x = rg.tensor([0.0, 4.0, -1.0], dtype=rg.float64, requires_grad=True)
    y = safe_root(x).sum()
    (plain,) = rg.autograd.grad(y, x, retain_graph=True)
    assert [math.isnan(v) for v in plain.tolist()] == [True, False, True]
    with rg.autograd.absorb_zeros():
        (kept,) = rg.autograd.grad(y, x)
    assert kept.tolist() == [0.0, 0.25, 0.0]


def test_it_holds_at_second_order_and_for_backward():
    x = rg.tensor([0.0, 4.0], dtype=rg.float64, requires_grad=True)
    with rg.autograd.absorb_zeros():
        (first,) = rg.autograd.grad(safe_root(x).sum(), x, create_graph=True)
        first.sum().backward()
    assert first.tolist() == [0.0, 0.25]
    assert x.grad.tolist() == [0.0, -1 / 32]


def test_it_decorates_and_ends_with_its_block():
    x = rg.tensor([0.0], requires_grad=True)

    @rg.autograd.absorb_zeros()
    def derivative():
        return rg.autograd.grad(safe_root(x).sum(), x)[0].item()

    assert derivative() == 0.0
    assert math.isnan(rg.autograd.grad(safe_root(x).sum(), x)[0].item())


def test_complex_quotients_are_covered():
    z = rg.tensor([0j, 2j], dtype=rg.complex128, requires_grad=True)
    y = rg.where(z != 0, 1 / z, 0.0)
    with rg.autograd.absorb_zeros():
        (g,) = rg.autograd.grad(y, z, rg.ones_like(y))
    assert g.tolist() == [0j, (1 / 4 + 0j)]

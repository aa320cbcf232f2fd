"""Functions that are linear piece by piece: their second derivative is zeros, and not missing."""

import numpy as np
import pytest
from tests.laws.samples import at_least, samples

import retrograd as rg
from retrograd.autograd import forward_ad

F = rg.nn.functional

CLASSES = rg.tensor([1, 0])
LISTED = rg.tensor([[1, 0, -1, -1], [2, -1, -1, -1]])

FUNCTIONS = {
    "relu": rg.relu,
    "abs": rg.abs,
    "leaky_relu": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "threshold": lambda x: F.threshold(x, 0.1, 2.0),
    "hardsigmoid": F.hardsigmoid,
    "prelu": lambda x: F.prelu(x, rg.tensor(0.5, dtype=x.dtype)),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "max_pool2d": lambda x: F.max_pool2d(x[None], 2),
    "max_pool3d": lambda x: F.max_pool3d(x[None, None], (1, 2, 2)),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, 2),
    "fractional_max_pool2d": lambda x: F.fractional_max_pool2d(x[None], 2, 1),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 2),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 2),
    "reflect": lambda x: F.pad(x, (1, 1), "reflect"),
    "replicate": lambda x: F.pad(x, (1, 1), "replicate"),
    "nll_loss": lambda x: F.nll_loss(x, CLASSES),
    "nll_loss of one": lambda x: F.nll_loss(x[0], CLASSES[0]),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, CLASSES),
    "multilabel_margin_loss": lambda x: F.multilabel_margin_loss(x, LISTED),
}


def point():
    """Two rows of four, away from kinks."""
    values = [[0.3, -0.7, 1.2, -0.2], [-1.6, 0.9, 0.25, 2.1]]
    return rg.tensor(values, dtype=rg.float64, requires_grad=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_second_derivative_is_zeros_in_the_graph(name):
    x = point()
    (g,) = rg.autograd.grad(FUNCTIONS[name](x).sum(), x, create_graph=True)
    (h,) = rg.autograd.grad(g.sum(), x)
    np.testing.assert_array_equal(h.numpy(), np.zeros((2, 4)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gradient_penalty_runs_and_adds_nothing(name):
    x = point()
    (g,) = rg.autograd.grad(FUNCTIONS[name](x).sum(), x, create_graph=True)
    g.square().sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.zeros((2, 4)))


def test_a_linear_function_has_no_second_derivative():
    x = point()
    (g,) = rg.autograd.grad((x * 2).sum(), x, create_graph=True)
    assert not g.requires_grad


@pytest.mark.parametrize(
    "drawn", at_least(38, [s for s in samples() if s.op.piecewise and not s.complex]), ids=repr
)
def test_every_piecewise_op_leads_to_all_its_inputs(drawn):
    inputs = drawn.tensors()
    wanted = [inputs[i] for i in drawn.differentiable]
    (out,) = drawn.call(inputs)
    for g in rg.autograd.grad(out.sum(), wanted, create_graph=True):
        found = rg.autograd.grad(g.sum(), wanted, retain_graph=True)
        assert [h.shape for h in found] == [t.shape for t in wanted]


def test_the_gradient_of_prelu_has_its_mixed_second_derivative():
    x, w = point(), rg.tensor(0.5, dtype=rg.float64, requires_grad=True)
    (g,) = rg.autograd.grad(F.prelu(x, w).sum(), x, create_graph=True)
    by_x, by_w = rg.autograd.grad(g.sum(), (x, w))
    np.testing.assert_array_equal(by_x.numpy(), np.zeros((2, 4)))
    assert by_w.item() == 3.0


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "abs"])  # g * sign(x)
def test_derivatives_of_every_order_are_zeros(name):
    x = point()
    y = FUNCTIONS[name](x).sum()
    for _ in range(4):
        (g,) = rg.autograd.grad(y, x, create_graph=True)
        y = g.sum()
    np.testing.assert_array_equal(g.detach().numpy(), np.zeros((2, 4)))


def test_a_smooth_function_of_one_keeps_its_own_second_derivative():
    x = point()
    (g,) = rg.autograd.grad(F.leaky_relu(x, 0.5).pow(3).sum(), x, create_graph=True)
    (h,) = rg.autograd.grad(g.sum(), x)
    values = x.detach().numpy()
    np.testing.assert_allclose(h.numpy(), np.where(values > 0, 6, 0.75) * values, rtol=1e-14)


def test_a_tangent_leads_to_the_input():
    x = point()
    with forward_ad.dual_level():
        y = F.leaky_relu(forward_ad.make_dual(x, rg.ones_like(x)))
        tangent = forward_ad.unpack_dual(y).tangent
    (h,) = rg.autograd.grad(tangent.sum(), x)
    np.testing.assert_array_equal(h.numpy(), np.zeros((2, 4)))


def test_a_batched_hessian_is_that_of_each_example():
    x = point().detach()
    found = rg.func.vmap(rg.func.hessian(lambda v: (F.leaky_relu(v) * v.sum()).sum()))(x)
    for one, row in zip(found, x, strict=True):
        single = rg.func.hessian(lambda v: (F.leaky_relu(v) * v.sum()).sum())(row)
        np.testing.assert_array_equal(one.numpy(), single.numpy())


def test_a_hook_on_the_gradient_sees_the_zeros():
    x, seen = point(), []
    y = x * 1
    y.register_hook(seen.append)
    (g,) = rg.autograd.grad(F.hardtanh(y).sum(), x, create_graph=True)
    g.sum().backward()
    assert [t.tolist() for t in seen[1:]] == [np.zeros((2, 4)).tolist()]

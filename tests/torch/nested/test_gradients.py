"""The engine's part: gradients of nested leaves, hooks, writes in place, transforms."""

import copy
import pickle

import pytest
from tests.autograd.test_function import Square

import retrograd as rg

OFFSETS = rg.tensor([0, 2, 5])


def leaf(values=None):
    x = rg.arange(1.0, 6.0, dtype=rg.float64) if values is None else values
    return rg.nested.nested_tensor_from_jagged(x, OFFSETS).detach().clone().requires_grad_()


def test_a_leaf_gets_a_nested_gradient():
    x = leaf()
    assert x.is_leaf
    (x * x).sum().backward()
    assert x.grad.shape == x.shape
    assert x.grad.values().tolist() == [2, 4, 6, 8, 10]
    (x * 3).sum().backward()
    assert x.grad.values().tolist() == [5, 7, 9, 11, 13]
    x.grad.zero_()
    assert x.grad.values().sum() == 0


def test_gradients_reach_components_and_values():
    a, b = rg.ones(2, requires_grad=True), rg.ones(3, requires_grad=True)
    nt = rg.nested.as_nested_tensor([a, b])
    nt.backward(rg.nested.nested_tensor([rg.ones(2), rg.zeros(3)]))
    assert (a.grad.tolist(), b.grad.tolist()) == ([1, 1], [0, 0, 0])
    v = rg.ones(5, requires_grad=True)
    (rg.nested.nested_tensor_from_jagged(v, OFFSETS) * 3).sum().backward()
    assert v.grad.tolist() == [3] * 5


def test_values_components_and_padding_lead_back():
    for way in (
        lambda x: x.values(),
        lambda x: rg.cat(x.unbind()),
        lambda x: x.to_padded_tensor(7.0),
        lambda x: rg.cat([x[0], x[1]]),
    ):
        x = leaf()
        (way(x) ** 2).sum().backward()
        assert x.grad.values().tolist() == [2, 4, 6, 8, 10]


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_first_and_second_derivatives_are_those_of_differences(dtype):
    def function(x, w):
        nt = rg.nested.nested_tensor_from_jagged(x, OFFSETS)
        weighted = rg.softmax(nt.abs(), 1) * (nt @ w).sin()
        return weighted.sum(1), nt.mean(-1).values(), weighted.to_padded_tensor(0.0)

    rg.manual_seed(0)
    x = rg.randn(5, 2, dtype=dtype, requires_grad=True)
    w = rg.randn(2, 2, dtype=dtype, requires_grad=True)
    assert rg.autograd.gradcheck(function, (x, w), check_forward_ad=True)
    assert rg.autograd.gradgradcheck(function, (x, w))


def test_gradients_of_gradients_are_nested():
    x = leaf()
    (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    assert g.is_nested
    (h,) = rg.autograd.grad((g * g).sum(), x)
    assert h.values().tolist() == [36.0 * v**3 for v in (1, 2, 3, 4, 5)]


def test_hooks_see_nested_gradients():
    seen = []
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: seen.append(g.is_nested))
    x.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.sum().backward()
    assert seen == [True]
    assert y.grad.values().tolist() == [1] * 5
    assert x.grad.values().tolist() == [20] * 5


def test_functions_and_checkpoints_take_them():
    x = leaf()
    Square.apply(x).sum().backward()
    assert x.grad.values().tolist() == [2, 4, 6, 8, 10]
    x.grad = None
    rg.utils.checkpoint.checkpoint(lambda t: t.sin() * t, x, use_reentrant=False).sum().backward()
    v = x.detach().values()
    rg.testing.assert_close(x.grad.values(), v.cos() * v + v.sin())


def test_writes_in_place_are_recorded():
    x = leaf()
    y = x * 1
    y.mul_(3).add_(y)
    y.sum().backward()
    assert y.detach().values().tolist() == [6, 12, 18, 24, 30]
    assert x.grad.values().tolist() == [6] * 5
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.mul_(2)


@pytest.mark.parametrize("write", [lambda y: y.mul_(2), lambda y: y.detach().values().mul_(2)])
def test_a_write_to_what_was_saved_raises(write):
    x = leaf()
    y = x * 1
    z = (y * y).sum()
    write(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_plain_writes_in_place():
    x = rg.nested.nested_tensor([[1, 2], [3]], layout=rg.jagged)
    x += 1
    assert x.values().tolist() == [2, 3, 4]
    x.copy_(x * 2)
    assert x.values().tolist() == [4, 6, 8]
    assert x.fill_(7).values().tolist() == [7, 7, 7]
    assert x.zero_().values().tolist() == [0, 0, 0]


def test_writes_in_place_reach_all_who_share_the_memory():
    given = rg.arange(3.0)
    x = rg.nested.nested_tensor_from_jagged(given, rg.tensor([0, 2, 3]))
    values, alias = x.values(), x.detach()
    x.add_(1)
    alias.mul_(2)
    for t in (given, values, x.values(), alias.values(), rg.cat(x.unbind())):
        assert t.tolist() == [2, 4, 6]
    assert x._version == values._version == 2


@pytest.mark.parametrize("function", [rg.exp, rg.tanh, rg.sqrt])
def test_a_write_to_a_saved_result_raises(function):
    y = function(leaf())
    y.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_results_written_in_place_have_the_right_gradient():
    x = leaf()
    y = (x * 1).sqrt_().mul_(3)
    y.sum().backward()
    rg.testing.assert_close(x.grad.values(), 1.5 / x.detach().values().sqrt())


def test_optimizers_step_along_nested_gradients():
    x = leaf()
    for kind in (rg.optim.SGD, rg.optim.Adam):
        step = kind([x], lr=0.1)
        before = x.detach().clone().values()
        step.zero_grad()
        (x * x).sum().backward()
        step.step()
        assert (x.detach().values() < before).all()


def test_transforms_of_functions_of_plain_tensors_go_through():
    nt, w = leaf().detach().unsqueeze(-1), rg.full((1, 2), 0.5, dtype=rg.float64)

    def function(w):
        return (nt @ w).sin().sum(1)

    jacobian = rg.autograd.functional.jacobian(function, w)
    _, tangent = rg.func.jvp(function, (w,), (w,))
    rg.testing.assert_close(tangent, (jacobian * w).sum((-1, -2)))
    rg.testing.assert_close(rg.func.grad(lambda w: function(w).sum())(w), jacobian.sum((0, 1)))
    assert rg.func.grad(lambda x: (x * x).sum())(nt).is_nested


def test_copies_are_apart():
    x = rg.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=rg.jagged)
    for made in (copy.deepcopy(x), x.clone(), pickle.loads(pickle.dumps(x))):
        made.values().mul_(2)
        assert made.values().tolist() == [2, 4, 6]
    assert x.values().tolist() == [1, 2, 3]
    assert copy.deepcopy(x).shape == x.shape
    assert pickle.loads(pickle.dumps(x)).shape != x.shape


def test_the_cotangent_of_one_nested_element_is_one_whatever_the_element_is():
    nt = rg.nested.nested_tensor([[float("nan")]], layout=rg.jagged, requires_grad=True)
    (nt * 1).backward()
    assert nt.grad.values().tolist() == [1.0]

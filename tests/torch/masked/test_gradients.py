"""Gradients of masked tensors are masked, and nothing that is masked out comes into them."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.torch.masked import as_masked_tensor, is_masked_tensor, masked_tensor

NAN = float("nan")
DATA = rg.tensor([[1.0, NAN, 3.0], [NAN, 5.0, 0.5]], dtype=rg.float64)
MASK = ~DATA.isnan()


def leaf(dtype=rg.float64):
    return masked_tensor(DATA.to(dtype), MASK, requires_grad=True)


def same(actual, expected, atol=1e-12):
    rg.testing.assert_close(actual, expected, rtol=1e-12, atol=atol)


def checked(gradient, expected):
    """Assert that a gradient has the mask of the tensor, and these numbers."""
    assert is_masked_tensor(gradient)
    same(gradient.get_mask(), MASK)
    numbers = rg.tensor(expected, dtype=rg.float64)
    same(gradient.to_tensor(0.0), numbers.masked_fill(~MASK, 0.0))


def test_a_gradient_has_the_mask_of_its_tensor():
    x = leaf()
    (x * x).sum().backward()
    checked(x.grad, [[2.0, 0.0, 6.0], [0.0, 10.0, 1.0]])


def test_elements_that_were_not_taken_have_a_gradient_of_0():
    x = leaf()
    x[0].sum().backward()
    checked(x.grad, [[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])


def test_gradients_of_two_uses_add_up():
    x = leaf()
    (x[0].sum() + (x * 2)[:, 2].sum()).backward()
    x.sum().backward()
    checked(x.grad, [[2.0, 0.0, 4.0], [0.0, 1.0, 3.0]])


def test_second_derivatives_are_masked():
    x = leaf()
    (g,) = rg.autograd.grad((x**3).sum(), x, create_graph=True)
    (gg,) = rg.autograd.grad((g * g).sum(), x)
    checked(gg, [[36.0, 0.0, 36.0 * 27], [0.0, 36.0 * 125, 36.0 * 0.125]])


REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "var", "std", "logsumexp"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("factor", [1, 1 + 0.25j])
def test_gradients_of_reductions_are_those_of_the_functions_of_masked(name, factor):
    numbers = rg.tensor([[1.0, 0.3, 3.0], [0.7, 5.0, 0.5]], dtype=rg.float64) * factor
    mask = rg.tensor([[True, False, True], [True, True, False]])
    weights = rg.tensor([1.0, -2.0], dtype=rg.float64)
    first, second = (numbers.clone().requires_grad_() for _ in range(2))
    found = getattr(as_masked_tensor(first, mask), name)(1).get_data()
    expected = getattr(rg.masked, name)(second, 1, mask=mask)
    same(found, expected)
    rg.real(found * weights).sum().backward()
    rg.real(expected * weights).sum().backward()
    same(first.grad.to_tensor(0), second.grad)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_of_reductions_are_those_of_finite_differences(name):
    mask = rg.tensor([[True, False, True], [True, True, False]])

    def function(values):
        x = as_masked_tensor(values.masked_fill(~mask, NAN), mask)
        return getattr(x, name)(1).get_data()

    def derivative(values):
        values = values.clone().requires_grad_()
        return rg.autograd.grad(function(values).sum(), values)[0].to_tensor(0)

    at = rg.tensor([[1.0, 0.3, 3.0], [0.7, 5.0, 0.5]], dtype=rg.float64)
    step, found = 1e-6, derivative(at)
    for place in mask.nonzero():
        change = rg.zeros_like(at)
        change[tuple(place)] = step
        difference = (function(at + change) - function(at - change)).sum() / (2 * step)
        assert found[tuple(place)].item() == pytest.approx(difference.item(), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumsum", "cumprod", "exp", "tanh"])
def test_gradients_of_other_ops_are_those_of_the_elements_that_count(name):
    x = leaf()
    dims = (1,) if "ax" in name or "cum" in name else ()
    (getattr(x, name)(*dims) * rg.arange(6.0).reshape(2, 3)).sum().backward()
    values = DATA.nan_to_num(0.0).requires_grad_()
    run = getattr(rg.masked, name, None)
    found = run(values, 1, mask=MASK) if run else getattr(values, name)()
    (found * rg.arange(6.0).reshape(2, 3))[MASK].sum().backward()
    checked(x.grad, values.grad.tolist())


def test_a_plain_operand_gets_a_masked_gradient_of_what_counts():
    x = masked_tensor(DATA, MASK)  # NaN is masked out
    w = rg.tensor([2.0, 1.0, 4.0], dtype=rg.float64, requires_grad=True)
    s = rg.tensor(3.0, requires_grad=True)
    (x / w * s)[:, ::2].sum().backward()
    assert is_masked_tensor(w.grad)
    same(w.grad.to_tensor(0.0), rg.tensor([-0.75, 0.0, -3 * 3.5 / 16], dtype=rg.float64))
    same(s.grad.get_data(), rg.tensor(0.5 + 3.5 / 4))
    assert s.grad.dtype is rg.float32


def test_what_is_masked_out_stays_out_of_the_gradient_of_a_mean():
    x = leaf()
    (x / x.norm(dim=1, keepdim=True)).sum().backward()
    values = DATA.nan_to_num(0.0).requires_grad_()
    (values / values.norm(dim=1, keepdim=True))[MASK].sum().backward()
    checked(x.grad, values.grad.tolist())


def test_gradients_that_are_masked_can_be_clipped():
    w = rg.ones(3, requires_grad=True)
    as_masked_tensor(
        w * rg.tensor([3.0, NAN, 4.0]), rg.tensor([True, False, True])
    ).sum().backward()
    total = rg.nn.utils.clip_grad_norm_([w], 1.0)
    same(rg.as_tensor(total.item()), rg.tensor(5.0))
    same(w.grad.to_tensor(0.0), rg.tensor([0.6, 0.0, 0.8]), atol=1e-6)


def test_a_second_derivative_through_a_mask():
    t = rg.tensor([1.0, 0.0, 3.0], requires_grad=True)
    y = as_masked_tensor(t.log() * t**2, rg.tensor([True, False, True]))
    (g,) = rg.autograd.grad(y.sum(), t, create_graph=True)
    (gg,) = rg.autograd.grad(g.sum(), t)
    expected = 2 * rg.tensor([1.0, 1.0, 3.0]).log() + 3
    same(gg.to_tensor(0.0), expected.masked_fill(t == 0, 0.0), atol=1e-6)


def test_a_number_in_a_tensor_keeps_the_dtype():
    x = masked_tensor(rg.ones(2), rg.tensor([True, False]))
    s = rg.tensor(3.0, dtype=rg.float64, requires_grad=True)
    assert (x * s).dtype is rg.float32


def test_nan_before_the_mask_stays_out_of_gradients():
    x = rg.ones(2, requires_grad=True)
    divisor = rg.tensor([0.0, 1.0])
    as_masked_tensor(x / divisor, divisor != 0).sum().backward()
    assert is_masked_tensor(x.grad)
    same(x.grad.to_tensor(0.0), rg.tensor([0.0, 1.0]))


def test_a_choice_keeps_the_overflow_of_the_other_branch_out():
    x = rg.tensor([-1.0, 800.0])
    below = x < 0
    a, b = masked_tensor(x, below, requires_grad=True), masked_tensor(x, ~below, requires_grad=True)
    y = rg.where(below, a.exp(), b * 1)
    y.sum().backward()
    assert repr(a.grad) == "MaskedTensor(\n  [  0.3679,       --]\n)"
    assert repr(b.grad) == "MaskedTensor(\n  [      --,   1.0000]\n)"


def test_a_cotangent_may_be_plain_or_masked():
    for cotangent in (rg.ones(2, 3, dtype=rg.float64), masked_tensor(rg.ones_like(DATA), MASK)):
        x = leaf()
        (x * 2).backward(cotangent)
        checked(x.grad, [[2.0, 0.0, 2.0], [0.0, 2.0, 2.0]])


def test_data_and_filled_data_lead_back():
    x = leaf()
    (x.get_data()[MASK].sum() + x.to_tensor(7.0).sum()).backward()
    checked(x.grad, [[2.0, 0.0, 2.0], [0.0, 2.0, 2.0]])


def test_hooks_see_masked_gradients():
    x, seen = leaf(), []
    x.register_hook(seen.append)
    x.sum().backward()
    assert is_masked_tensor(seen[0])


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_gradients_flow_through_sparse_layouts(layout):
    x = leaf()
    (getattr(x, layout)() ** 2).sum().backward()
    checked(x.grad, [[2.0, 0.0, 6.0], [0.0, 10.0, 1.0]])


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_the_gradient_of_a_sparse_leaf_has_its_layout(layout):
    x = getattr(masked_tensor(DATA, MASK), layout)().requires_grad_()
    (x.to_dense() * 3).sum().backward()
    assert x.grad.layout is x.layout
    checked(x.grad.to_dense(), [[3.0, 0.0, 3.0], [0.0, 3.0, 3.0]])


def test_sparse_data_keep_their_history():
    values = rg.tensor([3.0, 4.0], requires_grad=True)
    places = rg.tensor([[0, 1], [1, 0]])
    mask = rg.sparse_coo_tensor(places, rg.tensor([True, False]), (2, 2))
    x = as_masked_tensor(rg.sparse_coo_tensor(places, values, (2, 2)), mask)
    x.square().sum().backward()
    found = values.grad.to_tensor(0.0) if is_masked_tensor(values.grad) else values.grad
    same(found, rg.tensor([6.0, 0.0]))


@pytest.mark.parametrize("make", [rg.optim.SGD, rg.optim.Adam, rg.optim.Adagrad])
def test_optimizers_step_masked_parameters(make):
    x = leaf()
    optimizer = make([x], lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        (x * x).sum().backward()
        optimizer.step()
    values = DATA.nan_to_num(0.0).requires_grad_()
    plain = make([values], lr=0.1)
    for _ in range(2):
        plain.zero_grad()
        (values * values)[MASK].sum().backward()
        plain.step()
    same(x.to_tensor(0.0).detach(), values.detach().masked_fill(~MASK, 0.0))


def test_a_write_after_data_were_saved_is_found_out():
    x = leaf() * 1
    y = x * x
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_the_history_is_named_as_in_pytorch():
    x = leaf()
    assert (x * 2).grad_fn.name() == "MulBackward0"
    every = masked_tensor(rg.ones(2), rg.ones(2) > 0, requires_grad=True)
    assert every.exp().grad_fn.next_functions[0][0].name() == "GetDataBackward"
    assert x.get_data().grad_fn.name() == "GetDataBackward"
    assert as_masked_tensor(rg.ones(1, requires_grad=True), rg.ones(1) > 0).grad_fn.name() == (
        "ConstructorBackward"
    )


def test_forward_derivatives_are_masked():
    with rg.autograd.forward_ad.dual_level():
        tangent = masked_tensor(rg.ones_like(DATA), MASK)
        x = rg.autograd.forward_ad.make_dual(masked_tensor(DATA, MASK), tangent)
        found = rg.autograd.forward_ad.unpack_dual((x * x).sum(1)).tangent
    np.testing.assert_allclose(found.get_data().numpy(), [8.0, 11.0])


@pytest.mark.parametrize("make", [rg.optim.SGD, rg.optim.Adam, rg.optim.Adagrad])
def test_a_network_learns_from_the_targets_that_are_there(make):
    targets = rg.tensor([[1.0], [NAN], [3.0], [2.0]])
    there = ~targets.isnan()
    inputs = rg.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0], [0.5, -1.0]])
    found = []
    for masked in (True, False):
        rg.manual_seed(0)
        model = rg.nn.Sequential(rg.nn.Linear(2, 3), rg.nn.Tanh(), rg.nn.Linear(3, 1))
        optimizer = make(model.parameters(), lr=0.05)
        for _ in range(3):
            optimizer.zero_grad()
            if masked:
                error = as_masked_tensor(model(inputs), there) - masked_tensor(targets, there)
                (error * error).mean().backward()
            else:
                ((model(inputs) - targets)[there] ** 2).mean().backward()
            optimizer.step()
        found.append(rg.cat([p.detach().flatten() for p in model.parameters()]))
    rg.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_convolutions_get_gradients_through_a_mask():
    image = rg.arange(16.0).reshape(1, 1, 4, 4)
    there = rg.tensor([[True, False], [False, True]]).reshape(1, 1, 2, 2)
    weight = rg.full((1, 1, 3, 3), 0.5, requires_grad=True)
    as_masked_tensor(rg.nn.functional.conv2d(image, weight), there).square().sum().backward()
    plain = weight.detach().clone().requires_grad_()
    rg.nn.functional.conv2d(image, plain)[there].square().sum().backward()
    same(weight.grad.to_tensor(0.0), plain.grad)


def test_parts_of_a_plain_tensor_get_masked_gradients():
    k = masked_tensor(rg.tensor(4.0), rg.tensor(True), requires_grad=True)
    w = rg.tensor([1.0, 2.0], requires_grad=True)
    _, second = w.chunk(2)
    (k * second).sum().backward()
    same(w.grad.to_tensor(0.0), rg.tensor([0.0, 4.0]))
    same(k.grad.get_data(), rg.tensor(2.0))


def test_plain_and_masked_gradients_of_a_leaf_add_up():
    for masked_first in (True, False):
        w = rg.ones(2, requires_grad=True)
        for masked in (masked_first, not masked_first):
            y = w * rg.tensor([2.0, 3.0])
            (as_masked_tensor(y, rg.tensor([True, False])) if masked else y).sum().backward()
        assert is_masked_tensor(w.grad)
        same(w.grad.get_data(), rg.tensor([4.0, 3.0]))
        assert w.grad.get_mask().all()


def test_parts_of_complex_data_have_memory_of_their_own():
    z = masked_tensor(rg.ones(2, dtype=rg.complex64), rg.tensor([True, False]))
    z.real.zero_()
    assert z[0].item() == 1

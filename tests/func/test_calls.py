"""`functional_call` and `stack_module_state`: values, tied weights, ensembles, buffers, errors."""

from __future__ import annotations

import types

import numpy as np
import pytest

import retrograd as rg
from retrograd import nn
from retrograd.func import functional_call, grad, hessian, stack_module_state, vmap


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False)
        self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight

    def forward(self, x):
        return self.b(self.a(x))


W = rg.tensor([[0.0, 1.0], [2.0, 0.0]])
X = rg.tensor([1.0, 3.0])


def test_values_are_used_and_given_back():
    net = nn.Linear(2, 2)
    weight, bias = net.weight, net.bias
    found = functional_call(net, {"weight": W, "bias": rg.zeros(2)}, (X,))
    assert found.tolist() == [3.0, 2.0]
    assert net.weight is weight
    assert net.bias is bias


def test_values_are_given_back_after_an_error():
    net = nn.Linear(2, 2)
    weight = net.weight
    with pytest.raises(RuntimeError, match=r"cannot be multiplied \(1x3 and 2x2\)"):
        functional_call(net, {"weight": W}, rg.ones(3))
    assert net.weight is weight


def test_missing_names_stay_and_foreign_ones_change_nothing_that_is_not_read():
    net = nn.Linear(2, 2)
    found = functional_call(net, {"weight": W, "other": X}, X)
    assert (found - net.bias).tolist() == pytest.approx([3.0, 2.0])
    assert not hasattr(net, "other")


class Scaled(nn.Module):
    """A module with a tensor that is neither a parameter nor a buffer."""

    def __init__(self):
        super().__init__()
        self.scale = rg.ones(2)
        self.power = 2

    def forward(self, x):
        return x**self.power * self.scale


def test_values_for_attributes_that_are_tensors_are_used_and_given_back():
    net = Scaled()
    scale = net.scale
    assert functional_call(net, {"scale": X}, X).tolist() == [1.0, 27.0]
    assert net.scale is scale
    found = grad(lambda s: functional_call(net, {"scale": s}, X).sum())(X)
    assert found.tolist() == [1.0, 9.0]


def test_attributes_that_are_no_tensors_are_not_replaced():
    net = Scaled()
    with pytest.raises(TypeError, match="which 'power' is, is not an instance of Tensor"):
        functional_call(net, {"scale": X, "power": X}, X)
    assert net.scale.tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError, match="Scaled has no attribute `part`"):
        functional_call(net, {"part.weight": X}, X)
    with pytest.raises(KeyError, match="empty"):
        functional_call(net, {"": X}, X)


def test_a_parametrized_weight_is_set_through_its_parametrization():
    net = nn.Linear(2, 2, bias=False)
    nn.utils.parametrize.register_parametrization(net, "weight", nn.Tanh())
    with pytest.raises(RuntimeError, match="right_inverse"):
        functional_call(net, {"weight": W}, X)


def test_several_dictionaries_arguments_and_keywords():
    net = nn.Bilinear(2, 2, 1)
    given = ({"weight": rg.ones(1, 2, 2)}, {"bias": rg.zeros(1)})
    assert functional_call(net, given, (X,), {"input2": X}).tolist() == [16.0]


def test_value_for_one_name_of_a_tied_weight_counts_for_all():
    for given in ({"a.weight": W}, {"b.weight": W}, {"a.weight": W, "b.weight": W}):
        assert functional_call(Tied(), given, X).tolist() == [2.0, 6.0]


def test_untied_value_counts_for_its_name_alone():
    net = Tied()
    found = functional_call(net, {"a.weight": W}, X, tie_weights=False)
    np.testing.assert_allclose(found.detach().numpy(), net.b(W @ X).detach().numpy(), rtol=1e-6)


def test_values_are_given_back_to_a_part_with_two_names():
    part = nn.Linear(2, 2)
    module, weight = nn.Sequential(part, part), part.weight
    given = {name: rg.ones(2, 2) for name in ("0.weight", "1.weight")}
    functional_call(module, given, (rg.ones(1, 2),), tie_weights=False)
    assert part.weight is weight


def test_gradients_and_hessians_by_parameters():
    net = nn.Linear(2, 1)
    params = {name: p.detach() for name, p in net.named_parameters()}
    loss = lambda params: functional_call(net, params, X).square().sum()
    found = grad(loss)(params)
    loss(dict(net.named_parameters())).backward()
    np.testing.assert_allclose(found["weight"].numpy(), net.weight.grad.numpy(), rtol=1e-5)
    second = hessian(loss)(params)
    assert second["weight"]["bias"].tolist() == [[[2.0], [6.0]]]


def test_buffers_written_by_the_module_are_the_given_ones():
    net = nn.BatchNorm1d(2, momentum=1.0)
    buffers = {"running_mean": rg.zeros(2), "running_var": rg.ones(2)}
    functional_call(net, buffers, rg.tensor([[0.0, 1.0], [2.0, 5.0]]))
    assert buffers["running_mean"].tolist() == [1.0, 3.0]
    assert net.running_mean.tolist() == [0.0, 0.0]


class Counting(nn.Module):
    """A module whose buffer is another tensor after each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", rg.zeros(()))

    def forward(self, x):
        self.n = self.n + 1
        return (x * self.n).reshape(2)


def test_a_buffer_that_the_call_replaces_is_in_the_dictionary_in_the_end():
    net = Counting()
    given = {"n": rg.tensor(5.0), "other": X}
    assert functional_call(net, given, X).tolist() == [6.0, 18.0]
    assert (given["n"].item(), given["other"] is X, net.n.item()) == (6.0, True, 0.0)
    with pytest.raises(RuntimeError):  # after the write
        functional_call(net, given, rg.ones(3))
    assert (given["n"].item(), net.n.item()) == (7.0, 0.0)
    twice = {"0.n": rg.tensor(5.0)}  # which has two names
    functional_call(nn.Sequential(net, net), twice, X)
    assert (twice["0.n"].item(), list(twice)) == (7.0, ["0.n"])


def test_one_of_several_dictionaries_and_one_that_cannot_be_written_stay_as_they_are():
    first, second = {"n": rg.tensor(5.0)}, {"m": rg.tensor(1.0)}
    functional_call(Counting(), (first, second), X)
    assert (first["n"].item(), list(second)) == (5.0, ["m"])
    fixed = types.MappingProxyType(first)
    assert functional_call(Counting(), fixed, X).tolist() == [6.0, 18.0]
    assert first["n"].item() == 5.0


def test_ensemble_equals_its_members():
    rg.manual_seed(0)
    models = [nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)) for _ in range(3)]
    params, buffers = stack_module_state(models)
    x = rg.randn(4, 2)
    found = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(params, buffers)
    for k, model in enumerate(models):
        np.testing.assert_allclose(found[k].detach().numpy(), model(x).detach().numpy(), rtol=1e-5)
    found.square().sum().backward()
    models[1](x).square().sum().backward()
    np.testing.assert_allclose(
        params["0.weight"].grad[1].numpy(), models[1][0].weight.grad.numpy(), rtol=1e-4
    )
    assert params["0.weight"].is_leaf


def test_ensemble_with_running_statistics_of_its_own():
    rg.manual_seed(0)
    models = [nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)) for _ in range(2)]
    params, buffers = stack_module_state(models)
    x = rg.randn(5, 2)
    vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(params, buffers)
    for k, model in enumerate(models):
        model(x)
        np.testing.assert_allclose(
            buffers["1.running_var"][k].numpy(), model[1].running_var.numpy(), rtol=1e-5
        )
        assert buffers["1.num_batches_tracked"][k].item() == 1


def test_running_statistics_without_room_for_each_example_raise():
    net = nn.BatchNorm1d(2)
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input"):
        vmap(net)(rg.randn(3, 4, 2))
    assert vmap(net.eval())(rg.randn(3, 4, 2)).shape == (3, 4, 2)


def test_recurrent_networks_have_gradients_per_sample():
    rg.manual_seed(0)
    net = nn.GRU(2, 3, batch_first=True).double()
    params = {name: p.detach() for name, p in net.named_parameters()}
    x = rg.randn(3, 4, 2, dtype=rg.float64)
    loss = lambda p, x: functional_call(net, p, (x[None],))[0].square().sum()
    found = vmap(grad(loss), in_dims=(None, 0))(params, x)
    for k in range(3):
        alone = grad(loss)(params, x[k])
        for name, g in alone.items():
            np.testing.assert_allclose(found[name][k].numpy(), g.numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (
            lambda: functional_call(nn.Linear(2, 2), 3, X),
            ValueError,
            "to be a dict, or a list/tuple of dicts",
        ),
        (
            lambda: functional_call(nn.Linear(2, 2), {"weight": W}, X, strict=True),
            RuntimeError,
            "Missing key(s): 'bias'",
        ),
        (
            lambda: functional_call(nn.Linear(2, 2), {"w": W}, X, strict=True),
            RuntimeError,
            "Unexpected key(s): 'w'",
        ),
        (
            lambda: functional_call(nn.Linear(2, 2), ({"weight": W}, {"weight": W}), X),
            ValueError,
            "appeared in multiple dictionaries",
        ),
        (
            lambda: functional_call(Tied(), {"a.weight": W, "b.weight": W + 1}, X),
            ValueError,
            "which are tied. Consider using tie_weights=False",
        ),
        (lambda: stack_module_state([]), RuntimeError, "Expected at least one model, got 0"),
        (
            lambda: stack_module_state([nn.ReLU(), nn.Tanh()]),
            RuntimeError,
            "to be of the same class",
        ),
        (
            lambda: stack_module_state([nn.ReLU(), nn.ReLU().eval()]),
            RuntimeError,
            "the same training/eval mode",
        ),
        (
            lambda: stack_module_state([nn.PReLU(), nn.PReLU().requires_grad_(False)]),
            RuntimeError,
            "the parameters 'weight' of all models to have the same .requires_grad",
        ),
    ],
)
def test_misuse_raises_what_pytorch_raises(call, kind, text):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_functional_call_refuses_what_is_no_tensor():
    line = rg.nn.Linear(2, 1)
    with pytest.raises(TypeError, match="is not an instance of Tensor"):
        functional_call(line, {"weight": 3}, rg.ones(2))
    assert isinstance(line.weight, rg.nn.Parameter)


def test_a_module_with_backward_hooks_passes_tangents_on():
    line = rg.nn.Linear(2, 2)
    line.register_full_backward_hook(lambda module, given, found: None)
    x, t = rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.0])
    assert rg.func.jvp(line, (x,), (t,))[1].tolist() == line.weight[:, 0].tolist()
    assert rg.func.jacfwd(line)(x).tolist() == line.weight.tolist()


def test_functionalize_does_what_the_function_does():
    x = rg.tensor([1.0, 2.0])
    assert rg.func.functionalize(lambda x: x.add_(1))(x).tolist() == [2.0, 3.0]
    assert x.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="remove"):
        rg.func.functionalize(lambda x: x, remove="views")


def test_names_that_a_module_lacks_are_attributes_without_ties():
    out = functional_call(nn.Identity(), {"unknown": X}, X, tie_weights=False)
    assert out is X

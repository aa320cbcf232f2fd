"""Compiled modules: `rg.compile(module)` and `module.compile()`."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import retrograd as rg
from retrograd import capture
from retrograd.capture.program import NATIVE

nn, F = rg.nn, rg.nn.functional
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)
        self.scale = 1.0

    def forward(self, x):
        return self.last(rg.relu(self.norm(self.first(x)))) * self.scale


def trained(model, steps=6, **settings):
    """The parameters, buffers and losses after some steps of an ordinary loop."""
    rg.manual_seed(3)
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        x = rg.randn(5, 4)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x[:, :2])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [*model.parameters(), *model.buffers()]


def both():
    rg.manual_seed(1)
    net = Net()
    return net, copy.deepcopy(net)


def same(a, b):
    np.testing.assert_allclose(a[0], b[0], rtol=1e-4)
    for p, q in zip(a[1], b[1], strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-3, atol=2e-5)


def test_a_compiled_module_trains_as_the_module():
    net, other = both()
    compiled = rg.compile(net)
    same(trained(compiled), trained(other))
    assert len(compiled.compiled.variants) == 1, compiled.compiled.reasons
    assert "1 recording" in capture.explain(compiled).text


def test_a_module_that_compiles_itself_trains_and_keeps_its_names():
    net, other = both()
    net.compile()
    same(trained(net), trained(other))
    assert list(net.state_dict()) == list(other.state_dict())
    assert len(net._hooks.compiled.compiled.variants) == 1


def test_a_module_that_compiles_itself_runs_the_forward_of_now():
    net = nn.Sequential(nn.Linear(4, 2))
    net.compile()
    x = rg.ones(3, 4)
    plain = net(x).tolist()
    assert net(x).tolist() == plain
    net.forward = lambda x: x * 5
    assert net(x).tolist() == net(x).tolist() == [[5.0] * 4] * 3
    del net.forward
    assert net(x).tolist() == plain
    assert len(net._hooks.compiled.compiled.variants) == 2

    class Scaled(nn.Module):
        def forward(self, x):
            return x * 2

    scaled = Scaled()
    scaled.compile()
    assert [scaled(x)[0, 0].item() for _ in range(2)] == [2.0, 2.0]
    Scaled.forward = lambda self, x: x * 3
    assert [scaled(x)[0, 0].item() for _ in range(2)] == [3.0, 3.0]


def test_a_shallow_copy_of_a_module_that_compiles_itself_is_a_module_of_its_own():
    net, _ = both()
    net.eval().compile()
    x = rg.randn(3, 4)
    first = net(x)
    again = copy.copy(net)
    again.scale = 3.0
    for _ in range(2):
        assert net(x).tolist() == first.tolist()
        np.testing.assert_allclose(again(x).detach(), 3.0 * first.detach(), rtol=1e-6)


def test_it_shows_the_attributes_of_the_module():
    net, _ = both()
    compiled = rg.compile(net)
    assert isinstance(compiled, nn.Module)
    assert compiled._orig_mod is net
    assert compiled.first is net.first
    compiled.scale = 2.0
    assert net.scale == 2.0
    assert "scale" in dir(compiled)
    del compiled.scale
    assert not hasattr(net, "scale")
    assert compiled.eval() is compiled
    assert not net.training
    assert [name for name, _ in compiled.named_modules()][:3] == [
        "", "_orig_mod", "_orig_mod.first",
    ]  # fmt: skip
    assert len(rg.compile(nn.Sequential(nn.ReLU(), nn.ReLU()))) == 2


def test_state_goes_both_ways():
    net, other = both()
    compiled = rg.compile(net)
    state = compiled.state_dict()
    assert list(state) == [f"_orig_mod.{name}" for name in net.state_dict()]
    rg.compile(other).load_state_dict(state)
    assert bool((other.first.weight == net.first.weight).all())


def test_a_module_of_a_backend_that_captures_nothing_has_the_same_names():
    net, other = both()
    compiled = rg.compile(net, backend="eager")
    assert compiled._orig_mod is net
    assert next(iter(compiled.state_dict())).startswith("_orig_mod.")
    same(trained(compiled), trained(other))
    for again in (compiled, copy.deepcopy(compiled)):
        again(rg.randn(3, 4))
        assert again.compiled.variants == again.compiled.reasons == []
    assert rg.compile(net, disable=True) is net


def test_copies_and_pickles_are_modules_of_their_own():
    net, _ = both()
    compiled = rg.compile(net)
    trained(compiled)
    for again in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        x = rg.randn(3, 4)
        assert again(x).tolist() == compiled(x).tolist()
        with rg.no_grad():
            again.last.bias.add_(1.0)
        assert bool((again(x) > compiled(x)).all())
    net.compile()
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert again._hooks.compiled is None


def test_train_and_eval_are_recorded_apart():
    net, other = both()
    compiled = rg.compile(net)
    x = rg.randn(6, 4)
    for mode in (True, False, True, False):
        compiled.train(mode)
        other.train(mode)
        np.testing.assert_allclose(
            compiled(x).detach().numpy(), other(x).detach().numpy(), rtol=1e-4, atol=1e-6
        )
    assert len(compiled.compiled.variants) == 2


def test_hooks_of_a_compiled_module_run_around_it():
    net, _ = both()
    seen = []
    compiled = rg.compile(net)
    compiled.register_forward_hook(lambda module, args, out: seen.append(out.shape))
    net2, _ = both()
    net2.compile()
    net2.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    for _ in range(3):
        compiled(rg.randn(3, 4))
        assert net2(rg.randn(3, 4)).detach().std(0).tolist() == [0.0, 0.0]
    assert seen == [(3, 2)] * 3
    assert len(net2._hooks.compiled.compiled.variants) == 1


def test_a_hook_within_is_seen_when_it_comes():
    net, _ = both()
    compiled = rg.compile(net)
    seen = []
    x = rg.randn(3, 4)
    for number in range(4):
        if number == 2:
            net.first.register_forward_hook(lambda *a: seen.append(1))
        compiled(x)
    assert seen == [1, 1]


def test_compiled_modules_within_a_compiled_step():
    net, other = both()
    compiled = rg.compile(net)
    optimizer = rg.optim.SGD(compiled.parameters(), lr=0.1)

    @rg.compile
    def step(x):
        optimizer.zero_grad()
        loss = compiled(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    plain = rg.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(3):
        x = rg.randn(5, 4)
        plain.zero_grad()
        expected = other(x).square().mean()
        expected.backward()
        plain.step()
        assert step(x).item() == pytest.approx(expected.item(), rel=1e-4)
    assert len(step.compiled.variants) == 1, step.compiled.reasons


def test_other_threads_may_use_a_module_while_it_is_recorded():
    net, _ = both()
    net.eval()
    x = rg.randn(3, 4)
    expected = net(x).tolist()
    stop, wrong = threading.Event(), []

    def hammer():
        while not stop.is_set():
            y = net(x)
            y.sum().backward()
            if not np.allclose(y.detach().numpy(), expected, rtol=1e-5):
                wrong.append(y)

    thread = threading.Thread(target=hammer)
    thread.start()
    try:
        for _ in range(20):
            compiled = rg.compile(net)
            for _ in range(3):
                np.testing.assert_allclose(compiled(x).detach().numpy(), expected, rtol=1e-4)
    finally:
        stop.set()
        thread.join()
    assert not wrong
    assert type(net.first.weight._array) is np.ndarray
    assert type(net.first.weight.grad._array) is np.ndarray


def test_hooks_of_all_modules_run_in_modules_that_have_had_hooks_of_their_own():
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    net.register_forward_hook(lambda *given: None).remove()
    compiled, seen, x = rg.compile(net), [], rg.ones(1, 2)
    compiled(x), compiled(x)
    with nn.modules.module.register_module_forward_pre_hook(lambda m, _: seen.append(type(m))):
        compiled(x), compiled(x)
    assert seen.count(nn.Linear) == seen.count(nn.Tanh) == seen.count(nn.Sequential) == 2
    compiled(x)
    assert len(seen) == seen.count(type(compiled)) + 6

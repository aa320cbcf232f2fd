"""`compile(function, backend=yours)`: which graph a backend gets, and when its result is called."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from retrograd._dynamo.exc import BackendCompilerFailed

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


class Backend:
    """Counts graphs and calls, and adds 100 to all results, so one sees whose they are."""

    def __init__(self):
        self.graphs, self.calls = [], 0

    def __call__(self, graph, inputs):
        self.graphs.append((graph, [tuple(t.shape) for t in inputs]))

        def run(*tensors):
            self.calls += 1
            return [t + 100 for t in graph(*tensors)]

        return run


def targets(graph):
    return [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]


def test_what_a_backend_gives_is_called_from_the_first_call_on():
    backend = Backend()
    double = rg.compile(lambda x: x.sin() * 2, backend=backend)
    x = rg.tensor([0.5, 1.0])
    for _ in range(3):
        np.testing.assert_allclose(double(x), np.sin([0.5, 1.0]) * 2 + 100, rtol=1e-6)
    assert backend.calls == 3
    ((graph, shapes),) = backend.graphs
    assert isinstance(graph, rg.fx.GraphModule)
    assert targets(graph) == ["aten.sin.default", "aten.mul.Tensor"]
    assert shapes == [(2,)]
    double(rg.ones(3))
    assert [shapes for _, shapes in backend.graphs] == [[(2,)], [(3,)]]


def test_containers_and_numbers_come_and_go_as_in_the_function():
    backend = Backend()

    @rg.compile(backend=backend)
    def apart(given, n, *, scale=1.0):
        a, b = given["a"], given["b"]
        return {"sum": a + b * scale, "n": n, "rest": (a - b, None)}

    a, b = rg.tensor([1.0]), rg.tensor([3.0])
    for n in (5, 5, 7):
        found = apart({"a": a, "b": b}, n, scale=2.0)
        assert (found["sum"].item(), found["n"], found["rest"][0].item()) == (107.0, n, 98.0)
        assert found["rest"][1] is None
    assert len(backend.graphs) == 2  # one for each n


def test_a_module_trains_through_the_graph_with_its_own_parameters():
    rg.manual_seed(0)
    net = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.Tanh(), rg.nn.Linear(4, 2))
    other = copy.deepcopy(net)
    backend = Backend()
    compiled = rg.compile(net, backend=backend)
    for model in (compiled, other):
        optimizer = rg.optim.SGD(model.parameters(), lr=0.1)
        for i in range(4):
            x = rg.linspace(-1, 1, 6).reshape(2, 3) * (i + 1)
            optimizer.zero_grad()
            (model(x) ** 2 / 2 if model is other else (model(x) - 100) ** 2 / 2).sum().backward()
            optimizer.step()
    assert len(backend.graphs) == 1
    assert backend.calls == 4
    for a, b in zip(compiled.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(a.detach(), b.detach(), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2 if x.sum() > 0 else x,
        lambda x: x + rg.rand(2),
        lambda x: x.clone().mul_(x.max().item()),
        lambda x: x.mul_(1.0),
    ],
)
def test_what_a_graph_cannot_hold_runs_as_it_is(function):
    backend = Backend()
    rg.manual_seed(1)
    expected = function(rg.tensor([1.0, 2.0]))
    rg.manual_seed(1)
    compiled = rg.compile(function, backend=backend)
    np.testing.assert_array_equal(compiled(rg.tensor([1.0, 2.0])), expected)
    assert backend.graphs == []
    with pytest.raises(RuntimeError, match="cannot be captured as a whole"):
        rg.compile(function, backend=backend, fullgraph=True)(rg.tensor([1.0, 2.0]))


class Tenfold(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 10


def constant_inside(x):
    with rg.no_grad():
        y = x * 2
    return y * x


@pytest.mark.parametrize(
    "function", [lambda x: x.detach() * x, constant_inside, Tenfold.apply, lambda x: (x, x.data)]
)
def test_a_graph_with_other_gradients_is_not_used(function):
    backend, x = Backend(), rg.tensor([1.0, 3.0], requires_grad=True)
    compiled = rg.compile(function, backend=backend)
    for _ in range(2):
        found, expected = compiled(x), function(x)
        pairs = (
            [(found, expected)]
            if isinstance(found, rg.Tensor)
            else [*zip(found, expected, strict=True)]
        )
        for a, b in pairs:
            assert a.requires_grad == b.requires_grad
            if b.requires_grad:
                (mine,), (eager,) = (rg.autograd.grad(t.sum(), x) for t in (a, b))
                assert rg.equal(mine, eager)
    assert backend.graphs == []


def test_what_a_function_reads_is_guarded():
    backend, factor = Backend(), 2.0

    def times(x):
        return x * factor

    compiled = rg.compile(times, backend=backend)
    assert compiled(rg.ones(1)).item() == 102.0
    factor = 3.0
    assert compiled(rg.ones(1)).item() == 103.0
    assert len(backend.graphs) == 2


def test_an_error_of_a_backend_says_whose_it_is():
    def broken(graph, inputs):
        raise ValueError("no such device")

    with pytest.raises(BackendCompilerFailed, match="'broken' raised: ValueError: no such device"):
        rg.compile(lambda x: x + 1, backend=broken)(rg.ones(1))

"""Two threads with one optimizer: a step beside `zero_grad`."""

from __future__ import annotations

import sys
import threading

import pytest

import retrograd as rg
from retrograd import optim


@pytest.fixture
def eager_switches():
    """Threads that take turns as often as the interpreter lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


MAKERS = {
    "SGD": lambda params: optim.SGD(params, lr=1.0),
    "momentum": lambda params: optim.SGD(params, lr=1.0, momentum=0.5, dampening=0.5),
    "Adam": lambda params: optim.Adam(params, lr=1.0),
    "Muon": lambda params: optim.Muon(params, lr=1.0),
    "differentiable": lambda params: optim.SGD(params, lr=1.0, momentum=0.5, differentiable=True),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_step_beside_zero_grad_updates_a_parameter_and_counts_it_or_does_neither(
    make, eager_switches
):
    for _ in range(30):
        params = [rg.zeros(2, 2) for _ in range(6)]
        optimizer, done, errors = make(params), threading.Event(), []

        def clear(optimizer=optimizer, done=done, errors=errors):
            try:
                while not done.is_set():
                    optimizer.zero_grad()
            except Exception as error:
                errors.append(error)

        other = threading.Thread(target=clear)
        other.start()
        try:
            for _ in range(5):
                for p in params:
                    p.grad = rg.ones(2, 2)
                optimizer.step()
        finally:
            done.set()
            other.join()
        assert not errors
        for p in params:
            assert bool((p != 0).all()) == (p._version > 0)
            own = optimizer.state.get(p, {})
            if "step" in own:
                assert own["step"].item() == p._version


def test_a_gradient_dropped_while_the_state_is_made_is_used_all_the_same():
    class Dropping(optim.Adam):
        def begin(self, x, group):
            self.zero_grad()
            return super().begin(x, group)

    x, y = rg.zeros(2, requires_grad=True), rg.zeros(2, requires_grad=True)
    x.grad, y.grad = rg.ones(2), rg.ones(2)
    optimizer = Dropping([x, y], lr=0.5)
    optimizer.step()
    assert x.tolist() == y.tolist() == pytest.approx([-0.5, -0.5])
    assert x._version == y._version == 1
    assert x.grad is None

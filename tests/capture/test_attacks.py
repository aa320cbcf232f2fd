"""Programs by which somebody made compiled steps differ from eager ones, and what they must do."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

nn, F = rg.nn, rg.nn.functional
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


def both(step, *calls, before=()):
    """Compare a step and its compiled form, over calls; before each, run what is given."""
    compiled = rg.compile(step)
    for number, given in enumerate(calls):
        if number < len(before):
            before[number]()
        rg.manual_seed(number)
        expected = step(*given)
        after = rg.get_rng_state()
        rg.manual_seed(number)
        found = compiled(*given)
        assert bool((rg.get_rng_state() == after).all())
        rg.testing.assert_close(found, expected, equal_nan=True)
        assert found._version == expected._version
    return compiled.compiled


def test_zeros_beside_a_tensor_are_zeros_in_each_call():
    calls = [(rg.randn(2, 3),) for _ in range(3)]
    assert both(lambda x: x.new_zeros(1, 2, 3)[0].mm(x.t()) + 1, *calls).variants
    layer = nn.RNN(3, 2)

    def recurrent(x):
        with rg.no_grad():
            return layer(x)[0] * 1

    both(recurrent, *calls)


def test_tensors_that_share_memory_in_the_first_call_only():
    data = rg.arange(12.0)
    both(lambda a, b: a - b, (data[:4], data[:4]), (data[:4], data[4:8]), (data[4:8], data[8:]))
    x = rg.randn(3)
    both(lambda a, b: a * b, (x, x.detach()), (x, rg.ones(3)))
    kept = rg.randn(4)
    both(lambda a: kept * a + (kept - a), (kept,), (rg.ones(4),), (rg.zeros(4),))


@pytest.mark.parametrize(
    "look",
    [
        lambda w, i: F.embedding(i, w),
        lambda w, i: w.index_select(0, i),
        lambda w, i: w.gather(0, i[:, None]),
        lambda w, i: w[i],
    ],
)
def test_indices_out_of_range_are_refused_in_each_call(look):
    w = rg.randn(3, 2)
    step = rg.compile(lambda i: look(w, i) * 2)
    for _ in range(2):
        step(rg.tensor([0, 2]))
    with pytest.raises((IndexError, RuntimeError)):
        step(rg.tensor([0, 5]))


def test_iterators_from_outside_advance():
    numbers = iter([1.0, 2.0, 3.0, 4.0])
    step = rg.compile(lambda x: x * next(numbers))
    assert [step(rg.ones(1)).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_methods_of_lists_and_dictionaries_that_are_bound_outside():
    kept, settings = [], {"by": 2.0}
    append, get, values = kept.append, settings.get, settings.values()

    @rg.compile
    def noted(x):
        append(1)
        return x * get("by") + sum(values)

    assert [noted(rg.ones(1)).item() for _ in range(2)] == [4.0, 4.0]
    settings["by"] = 3.0
    assert noted(rg.ones(1)).item() == 6.0
    assert len(kept) == 3


class Base:
    value = 1.0

    def scaled(self, x):
        return x * 2

    @property
    def offset(self):
        return self.value


class Derived(Base):
    def scaled(self, x):
        return super().scaled(x) + self.offset


class Other(Derived):
    def scaled(self, x):
        return x * 100


def test_classes_that_change_are_read_anew(monkeypatch):
    thing = Derived()
    step = rg.compile(lambda x: thing.scaled(x))
    assert [step(rg.ones(1)).item() for _ in range(2)] == [3.0, 3.0]
    monkeypatch.setattr(Base, "scaled", lambda self, x: x * 9)
    assert step(rg.ones(1)).item() == 10.0
    monkeypatch.setattr(Base, "offset", property(lambda self: 5.0))
    assert step(rg.ones(1)).item() == 14.0
    thing.__class__ = Other
    assert step(rg.ones(1)).item() == 100.0


def test_partial_functions_are_read_anew():
    shifts = [1.0]
    added = functools.partial(lambda shifts, x, by: x * by + shifts[0], shifts, by=2.0)
    step = rg.compile(lambda x: added(x))
    assert [step(rg.ones(1)).item() for _ in range(2)] == [3.0, 3.0]
    shifts[0], added.keywords["by"] = 5.0, 4.0
    assert step(rg.ones(1)).item() == 9.0


def test_distributions_are_made_of_the_arguments_of_each_call():
    def drawn(x):
        return rg.distributions.Bernoulli(logits=x).sample() * 1

    both(drawn, *[(rg.full((3,), value),) for value in (-50.0, 50.0, -50.0)])


def test_functions_that_draw_in_a_way_of_their_own_keep_the_stream():
    both(lambda x: F.rrelu(x, training=True), *[(-rg.ones(3),)] * 3)


def test_functions_that_write_what_they_are_given_are_no_views():
    bad = rg.tensor([float("nan"), float("inf"), 1.0])
    both(lambda x: rg.nan_to_num(x) * 1, (bad,), (rg.ones(3),), (bad,))


def test_results_have_versions_of_their_own():
    w = rg.ones(2, requires_grad=True)
    other = rg.ones(2, requires_grad=True)

    @rg.compile
    def step(x):
        loss = (w * x).sum()
        loss.backward()
        return loss

    step(rg.ones(2))
    first = step(rg.ones(2)).detach()
    kept = (other * first).sum()
    step(rg.ones(2)).detach().mul_(2)
    kept.backward()
    assert other.grad.tolist() == [2.0, 2.0]

    def written(x):
        made = rg.zeros(2)
        made[0] = x[1]
        return made.add_(1)

    both(written, *[(rg.randn(2),) for _ in range(3)])


def test_memory_that_is_not_aligned():
    room = np.zeros(4 * 3 + 1, np.uint8)
    odd = rg.from_numpy(room[1:].view(np.float32))
    both(lambda x: x * 2 + 1, (rg.ones(3),), (odd,), (rg.ones(3),))
    both(lambda x: x * 2 + 1, (odd,), (rg.ones(3),))


def test_dimensions_of_one_element_may_have_any_stride():
    w = rg.randn(4, 3).requires_grad_()
    x = rg.randn(4, 3)

    def step():
        y = w * x
        y[:, None, 1:] *= 2.0
        (y * y).sum().backward()
        return y.detach() * 1

    both(step, (), (), ())


def test_iterators_of_their_own_and_functions_that_ask_for_the_frame():
    class Itself:
        def __init__(self):
            self.left = 2

        def __iter__(self):
            return self

        def __next__(self):
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return 2.0

    @rg.compile
    def product(x):
        for value in Itself():
            x = x * value
        return x

    @rg.compile
    def local(x):
        by = 3.0
        return x * locals()["by"] + len(globals()) * 0

    for _ in range(3):
        assert product(rg.ones(1)).item() == 4.0
        assert local(rg.ones(1)).item() == 3.0


def test_parameters_that_a_function_gives_other_memory():
    model = nn.Linear(2, 1)

    @rg.compile
    def shrunk(x):
        vector = nn.utils.parameters_to_vector(model.parameters()).detach()
        nn.utils.vector_to_parameters(vector / 2, model.parameters())
        return model(x).sum()

    nn.init.constant_(model.weight, 8.0)
    for expected in (4.0, 2.0, 1.0, 0.5):
        shrunk(rg.ones(1, 2))
        assert model.weight.tolist() == [[expected, expected]]


def test_a_step_that_writes_through_an_alias_spoils_graphs_from_before():
    w = rg.ones(2, requires_grad=True)

    @rg.compile
    def halved(x):
        w.detach().mul_(x)

    halved(rg.ones(2))
    saved = w.exp() * w
    halved(rg.full((2,), 0.5))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()

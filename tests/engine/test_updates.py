"""Updates of many tensors at once."""

from contextlib import nullcontext

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.native import native
from retrograd.engine.updates import (
    all_plain,
    are_small,
    counted,
    gathered,
    in_arrays,
    run_each,
    wrote_all,
)


def with_gradient(size=2):
    x = rg.ones(size, requires_grad=True)
    x.grad = rg.ones(size)
    return x


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_write_is_counted_for_each_tensor_and_for_the_tensors_of_its_state(kind):
    x, y, own, other = with_gradient(), rg.ones(2, requires_grad=True), rg.ones(2), rg.ones(2)
    wrote_all(kind([x, y]), {x: {"buffer": own, "note": 3}, other: {"buffer": other}}, "a step")
    assert [t._version for t in (x, own, y, other)] == [1, 1, 1, 0]


def test_many_writes_in_one_step_are_named_and_the_last_few_remembered():
    x = with_gradient()
    loss = (x * x).sum()
    for number in range(20):
        wrote_all([x], {}, f"step {number}")
    assert x._version == 20
    assert [by for _, by in x._cell.writes] == [f"step {number}" for number in range(12, 20)]
    with pytest.raises(RuntimeError, match="step 12"):
        loss.backward()


def test_a_state_of_a_cell_that_was_kept_is_not_changed_by_later_writes():
    x = with_gradient()
    for number in range(9):
        wrote_all([x], {}, str(number))
    kept = x._cell.state()
    before = repr(kept)
    wrote_all([x], {}, "later")
    assert repr(kept) == before


def test_writes_in_other_modes_are_counted_and_inference_tensors_have_no_version():
    x = with_gradient()
    with rg.no_grad():
        wrote_all([x], {}, "a step")
    assert x._version == 1
    with rg.inference_mode():
        y = rg.ones(2)
        y.grad = rg.ones(2)
        wrote_all([y], {}, "a step")
    assert y._cell is None


def test_memory_is_plain_if_it_is_contiguous_and_may_be_written():
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    assert all_plain([rg.ones(2), rg.ones(2, 3), rg.ones(())])
    for other in (rg.ones(2, 3).T, rg.ones(1).expand(2), rg.from_numpy(fixed)):
        assert not all_plain([rg.ones(2), other])


def test_what_a_step_needs_is_gathered_of_those_with_a_gradient():
    x, y, bare, own = with_gradient(), with_gradient(), rg.ones(2), rg.ones(2)
    first, second = gathered([x, bare, y], {x: {"buffer": own, "note": 3}}, ("buffer", "absent"))
    wanted = (x, x._array, x.grad._array, own._array)
    assert all(a is b for a, b in zip((*first[:3], *first[3]), wanted, strict=True))
    assert (second[0] is y, second[3]) == (True, None)
    assert gathered([y], {}, ())[0][3] == []


def parts(*sizes, dtype=np.float32):
    """As `gathered` gives them, with one array of state each."""
    drawn = np.random.default_rng(0)
    return [
        (None, *drawn.random((2, n)).astype(dtype), [drawn.random(n).astype(dtype)]) for n in sizes
    ]


def momentum(calls):
    def rule(x, g, state, numbers, group):
        calls.append(x.size)
        (b,) = state
        b *= numbers[0]
        b += g
        x -= b * numbers[1]

    return rule


NUMBERS = [np.array(0.9, np.float32), np.array(0.01, np.float32)]


def test_small_updates_run_together_and_give_the_same_bits():
    together, alone, calls = parts(3, 64, 1), parts(3, 64, 1), []
    run_each(momentum(calls), together, NUMBERS, {})
    assert calls == ([3, 64, 1] if native is None else [68])
    for each in alone:
        momentum([])(*each[1:], NUMBERS, {})
    for (_, x, g, (b,)), (_, y, h, (c,)) in zip(together, alone, strict=True):
        assert all(map(np.array_equal, (x, g, b), (y, h, c)))


def test_updates_of_shared_memory_run_one_after_the_other():
    memory, calls = np.ones(4, np.float32), []
    some = [
        (None, x, np.ones(3, np.float32), [np.zeros(3, np.float32)])
        for x in (memory[:3], memory[1:])
    ]
    run_each(momentum(calls), some, [np.float32(1), np.float32(0.25)], {})
    assert calls == [3, 3]
    assert memory.tolist() == [0.75, 0.5, 0.5, 0.75]


@pytest.mark.parametrize("odd", ["dtype", "layout", "read-only", "state"])
def test_updates_that_are_not_alike_run_one_after_the_other(odd):
    some, calls = parts(4, 4), []
    p, x, g, state = some[1]
    if odd == "dtype":
        some[1] = parts(4, dtype=np.float64)[0]
    if odd == "layout":
        some[1] = (p, x, np.repeat(g, 2)[::2], state)
    if odd == "read-only":
        x.flags.writeable = False
    if odd == "state":
        state.append(g.copy())
    refused = pytest.raises(ValueError, match=r"read-only|too many values")
    with refused if odd in ("read-only", "state") else nullcontext():
        run_each(momentum(calls), some, NUMBERS, {})
    assert calls == [4, 4]


def test_an_update_that_raises_writes_nothing_of_those_together():
    def rule(x, g, state, numbers, group):
        x += 1
        raise KeyError("no")

    some = parts(2, 2)
    before = [x.copy() for _, x, _, _ in some]
    with pytest.raises(KeyError, match="no"):
        run_each(rule, some, NUMBERS, {})
    if native is not None:
        assert all(np.array_equal(x, old) for (_, x, _, _), old in zip(some, before, strict=True))


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Rprop"])
def test_small_parameters_take_the_steps_that_each_would_take_alone(name):
    def trained(split):
        params = [rg.linspace(-1, 1, n).requires_grad_() for n in (5, 2, 1, 1500, 7)]
        kind = getattr(rg.optim, name)
        optimizers = [kind([p], lr=0.1) for p in params] if split else [kind(params, lr=0.1)]
        for _ in range(3):
            for p in params:
                p.grad = (p * 3).cos().detach()
            for optimizer in optimizers:
                optimizer.step()
        return [p.detach().numpy() for p in params]

    for one, other in zip(trained(False), trained(True), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("dtype", [rg.float32, rg.float64, rg.float16])
def test_steps_are_counted_in_the_state(dtype):
    x, y = rg.ones(2), rg.ones(3)
    state = {t: {"step": rg.tensor(float(n), dtype=dtype)} for n, t in enumerate((x, y))}
    every = [(x, None, None, []), (y, None, None, [])]
    assert counted(every, state) == [1.0, 2.0]
    assert counted(every, state) == [2.0, 3.0]
    assert [own["step"].item() for own in state.values()] == [2.0, 3.0]
    with pytest.raises(KeyError):
        counted(every, {x: state[x], y: {}})


def test_small_parameters_are_those_of_few_numbers_of_one_real_dtype():
    def one(*arrays):
        x, g, *state = arrays
        return None, x, g, state

    few, many = np.ones(4, np.float32), np.ones((3, 2), np.float32)
    assert are_small([one(few, few), one(many, many, few)], 6)
    assert not are_small([one(few, few), one(many, many)], 5)
    assert not are_small([], 5)
    assert not are_small([(None, few, few, None)], 5)
    assert not are_small([one(few, few), one(few, few, few.astype(np.float64))], 5)
    assert not are_small([one(few.astype(np.complex64), few.astype(np.complex64))], 5)
    assert not are_small([one(few, few.view(np.matrix))], 5)


@pytest.mark.parametrize("dtype", ["e", "f", "d"])
def test_numbers_come_as_arrays_of_a_dtype_and_others_by_a_function(dtype):
    other = rg.tensor(0.25)
    found = in_arrays((0.1, 3, other, True), np.dtype(dtype), lambda n, d: np.array(n.real, d))
    for array, number in zip(found, (0.1, 3, 0.25, 1), strict=True):
        assert array.shape == ()
        assert array.dtype == dtype
        assert array.tobytes() == np.array(number, dtype).tobytes()
    assert in_arrays((), np.dtype(dtype), None) == []
    with pytest.raises(OverflowError, match="int too large"):
        in_arrays((10**400,), np.dtype(dtype), None)
    with pytest.raises(ZeroDivisionError):
        in_arrays((1.0, None), np.dtype(dtype), lambda n, d: 1 / 0)

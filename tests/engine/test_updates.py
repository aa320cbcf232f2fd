"""Updates of many tensors at once."""

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.updates import all_plain, wrote_all


def with_gradient(size=2):
    x = rg.ones(size, requires_grad=True)
    x.grad = rg.ones(size)
    return x


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_write_is_counted_where_there_is_a_gradient_and_in_the_state_there(kind):
    x, y, own, other = with_gradient(), rg.ones(2, requires_grad=True), rg.ones(2), rg.ones(2)
    wrote_all(kind([x, y]), {x: {"buffer": own, "note": 3}, y: {"buffer": other}}, "a step")
    assert [t._version for t in (x, own, y, other)] == [1, 1, 0, 0]


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

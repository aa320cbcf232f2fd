"""Collectives that go on beside the program."""

from __future__ import annotations

import gc
import weakref

import pytest

import retrograd as rg
from retrograd.torch import distributed as dist

from .together import together, values


def test_a_collective_under_way_lets_the_program_go_on():
    code = """
x = rg.full((2,), 1.0 + rank); go = rg.zeros(1); before = x._version
if rank == 0:
    work = dist.all_reduce(x, async_op=True); print(work.is_completed(), x._version == before)
    dist.send(go, 1)
else:
    dist.recv(go, 0); work = dist.all_reduce(x, async_op=True)
work.wait(); print(work.is_completed(), x._version > before, x.tolist())
"""
    last = "True True [3.0, 3.0]"
    assert together(code) == [f"False True\n{last}", last]


def test_collectives_keep_the_order_of_their_calls():
    code = """
many = [rg.full((3,), float(rank + n)) for n in range(4)]
works = [dist.all_reduce(x, async_op=True) for x in many]
a = rg.arange(3.0) * (rank + 1); works.append(dist.broadcast(a, 1, async_op=True))
out = [rg.zeros(1) for _ in range(2)]
works.append(dist.all_gather(out, rg.tensor([float(rank)]), async_op=True))
part, whole, lot = rg.zeros(2), rg.zeros(4), [None, None]
works.append(dist.reduce_scatter_tensor(part, rg.arange(4.0), async_op=True))
dist.all_to_all_single(whole, rg.arange(4.0) + 4 * rank); dist.all_gather_object(lot, rank)
done = all(work.is_completed() for work in works); works.append(dist.barrier(async_op=True))
for work in works: work.wait()
show(rg.tensor(done), *many, a, *out, part, whole, rg.tensor(lot))
"""
    sums = [[1.0 + 2 * n] * 3 for n in range(4)]
    shared = [True, *sums, [0.0, 2.0, 4.0], [0.0], [1.0]]
    assert values(code) == [
        [*shared, [0.0, 2.0], [0.0, 1.0, 4.0, 5.0], [0, 1]],
        [*shared, [4.0, 6.0], [2.0, 3.0, 6.0, 7.0], [0, 1]],
    ]


def test_errors_reach_those_who_wait():
    code = """
work = dist.all_reduce(rg.zeros(2 + rank), async_op=True); error(work.wait)
print(work.is_completed(), type(work.exception()).__name__)
error(dist.barrier); error(work.get_future().wait)
"""
    for out in together(code):
        first, state, *others = out.splitlines()
        assert first.startswith("DistNetworkError all_reduce SUM: rank 1 has a tensor of")
        assert state == "True DistNetworkError"
        assert others == [first, first]


def test_waiting_may_end_before_the_call():
    code = """
work = dist.barrier(async_op=True) if rank == 0 else None
if rank == 0:
    try: work.wait(timedelta(seconds=0.05))
    except TimeoutError: print("late", work.is_completed(), work.exception())
dist.send(rg.ones(1), 1) if rank == 0 else dist.recv(rg.ones(1), 0)
work = work or dist.barrier(async_op=True)
print(work.wait())
"""
    assert together(code) == ["late False None\nTrue", "True"]


def test_a_future_has_the_tensors_and_its_callbacks_may_call_collectives():
    code = """
x = rg.ones(2)
first = dist.all_reduce(x, async_op=True).get_future()
def more(done):
    (y,) = done.value(); z = y * (rank + 1); dist.all_reduce(z, async_op=True).wait(); return z
show(first.then(more).wait(), x)
"""
    assert values(code) == [[[6.0, 6.0], [2.0, 2.0]]] * 2


def test_a_callback_may_wait_for_a_call_beside_it_in_another_group():
    code = """
other, y = dist.new_group([0, 1]), rg.ones(1)
def then(done):
    work = dist.all_reduce(y, group=other, async_op=True)
    try: work.wait(timedelta(0))
    except TimeoutError: print("late")
    dist.barrier(other); return work.wait()
work = dist.barrier(async_op=True)
print(work.get_future().then(then).wait()); show(y)
"""
    outs = together(code)
    assert all(out.endswith("True\n[[2.0]]") for out in outs)


def test_whoever_ends_does_its_part_first():
    code = """
import time
if rank: time.sleep(0.3)
work = dist.all_reduce(rg.ones(1), async_op=True)
if rank: work.wait(); print(work.result()[0].item())
"""
    assert together(code, fresh=True) == ["", "2.0"]


def test_a_forked_child_has_no_part_in_what_is_under_way():
    code = """
import os
work = dist.barrier(async_op=True); work.wait()
child = os.fork()
if not child:
    error(dist.barrier); error(dist.all_reduce, rg.ones(1), dist.ReduceOp.SUM, None, True)
    sys.stdout.flush(); os._exit(0)
os.waitpid(child, 0); dist.barrier(); print("together")
"""
    for out in together("import warnings; warnings.simplefilter('ignore')" + code, fresh=True):
        *child, last = out.splitlines()
        assert all(line.startswith("DistNetworkError a process that was forked") for line in child)
        assert (len(child), last) == (2, "together")


def test_messages_under_way_do_not_hold_collectives_up():
    code = """
x = rg.ones(1) * rank
work = dist.isend(x, 1 - rank) if rank == 0 else None
dist.all_reduce(rg.ones(1)); y = rg.ones(3)
if rank: dist.recv(y[:1], 0)
else: work.wait()
print(y.tolist())
"""
    assert together(code) == ["[1.0, 1.0, 1.0]", "[0.0, 1.0, 1.0]"]


@pytest.mark.usefixtures("alone")
def test_what_is_done_holds_no_tensors():
    gc.disable()
    try:
        x = rg.ones(3)
        seen, work = weakref.ref(x), dist.all_reduce(x, async_op=True)
        future = work.get_future().then(lambda done: done.value())
        future.wait()
        del x, work, future
        dist.all_reduce(rg.ones(1), async_op=True).wait()  # the thread has left the first call
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("alone")
def test_arguments_are_checked_before():
    with pytest.raises(ValueError, match=r"does not support ReduceOp\.AVG on integer"):
        dist.all_reduce(rg.ones(2, dtype=rg.int64), dist.ReduceOp.AVG, async_op=True)

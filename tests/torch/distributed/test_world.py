"""Exchanges between ranks that are threads: their order, what they compute, and how they fail."""

from __future__ import annotations

import random
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from itertools import product

import numpy as np
import pytest

from retrograd import modes
from retrograd.torch.distributed.engine import progress
from retrograd.torch.distributed.engine import world as engine
from retrograd.torch.distributed.engine.connections import DistNetworkError

from .fake import threads
from .together import together


def test_exchanges_beside_keep_their_order_however_long_each_takes():
    def program(world):
        luck, works, expected = random.Random(5), [], []  # the same on all ranks
        for number in range(300):
            kind, beside = luck.choice("rbg"), luck.random() < 0.7
            if kind == "r":
                given = [number + world.rank]
                start = partial(world.all_reduce, "sum", np.array(given), "add")
                expected.append([3 * number + 3])
            elif kind == "b":
                source = luck.randrange(3)
                given = [10 * number + world.rank]
                start = partial(world.broadcast, "copy", source, np.array(given))
                expected.append([10 * number + source])
            else:
                start = partial(world.all_gather, "all", np.array([number * world.rank]))
                expected.append([[0], [number], [2 * number]])
            works.append(start(beside=beside))
        found = [work.result() if hasattr(work, "result") else work for work in works]
        assert [each.tolist() for each in found] == expected
        return "all"

    assert threads(program, delay=20) == ["all"] * 3


def test_an_array_of_which_ranks_have_parts_of_any_lengths_is_completed_in_place():
    def program(world):
        array, counts, begin = np.zeros(6, np.complex64), [4, 0, 2], (0, 4, 4)[world.rank]
        array[begin : begin + counts[world.rank]] = world.rank + 1j
        found = world.fill("parts", array, counts)
        assert found is array
        with pytest.raises(DistNetworkError, match=r"calls parts \[.*\] where .* parts \["):
            world.fill("parts", array, [5, 1] if world.rank else [6])
        return array.tolist()

    assert threads(program) == [[1j] * 4 + [2 + 1j] * 2] * 3


def test_messages_and_collectives_of_groups_go_on_at_once():
    def program(world):
        pair = world.within([0, 2], 60.0) if world.rank != 1 else None
        other = (world.rank + 1) % 3
        sent = world.send(other, "ring", np.array(world.rank), beside=True)
        last = (world.rank - 1) % 3
        came = world.receive(last, "ring", world.came(last, "ring", np.array(0)), beside=True)
        total = world.all_reduce("sum", np.array([1.0]), "add")
        half = pair and pair.all_reduce("sum", np.array([1.0]), "add").tolist()
        sent.result()
        return int(came.result()), total.tolist(), half

    assert threads(program, delay=20) == [(2, [3.0], [2.0]), (0, [3.0], None), (1, [3.0], [2.0])]


def test_calls_that_wait_and_calls_beside_share_a_group_among_threads():
    def program(world):
        def run():
            for _ in range(30):
                found.append(world.all_reduce("sum", np.array([1.0]), "add").tolist())

        found = []
        other = threading.Thread(target=run)
        other.start()
        works = [world.all_reduce("sum", np.array([1.0]), "add", beside=True) for _ in range(100)]
        found += [work.result().tolist() for work in works]
        other.join()
        return found

    assert threads(program, delay=20) == [[[3.0]] * 130] * 3


KINDS = ["float16", "bfloat16", "float32", "complex128", "int8"]
LACKING = {("mean", "int8"), ("maximum", "complex128")}
JOINED = {*product(("add", "multiply", "mean", "maximum"), KINDS)} - LACKING


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize(("name", "dtype"), sorted(JOINED))
def test_what_mpi_does_not_reduce_is_joined_in_the_order_of_ranks(dtype, name, size):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    given = np.random.default_rng(1).integers(-3, 4, (size, 5, 2)).astype(kind)
    if kind.kind != "i":
        given = given / np.array(3, kind)

    def program(world):
        own = given[world.rank].T  # not contiguous
        parts = np.stack([own] * size)
        return (
            world.all_reduce("one", own, name, False),
            world.reduce_scatter("two", parts, own.shape, name),
        )

    wide = np.float32 if kind.itemsize == 2 else kind
    expected = given[0].T.astype(wide)
    for other in given[1:]:
        expected = getattr(np, "add" if name == "mean" else name)(expected, other.T.astype(wide))
    if name == "mean":
        expected = expected / np.array(size, wide)
    for whole, part in threads(program, size, native=False):
        assert whole.dtype == part.dtype == kind
        assert whole.tobytes() == part.tobytes() == expected.astype(kind).tobytes()


def test_deterministic_algorithms_add_in_the_order_of_ranks(monkeypatch):
    monkeypatch.setattr(modes.determinism, "enabled", True)
    given = np.array([1e16, 1.0, -1e16])

    def program(world):
        return world.all_reduce("sum", given[[world.rank]].copy(), "add")

    assert [each.tolist() for each in threads(program)] == [[given[0] + given[1] + given[2]]] * 3


def test_a_rank_that_begins_nothing_is_the_one_that_is_late():
    def program(world):
        if world.rank == 1:
            while not world.broken:
                time.sleep(0.01)
            return world.broken
        return world.all_reduce("sum", np.ones(1), "add", seconds=0.2)

    said = "Timed out after 0.2 s: rank 1 did not take part in sum"
    assert [str(each) for each in threads(program)] == [said] * 3


def test_nobody_misses_a_rank_that_left_after_its_part(monkeypatch):
    monkeypatch.setattr(engine, "GRACE", 0.0)

    def program(world):
        found = world.all_reduce("sum", np.ones(1), "add")
        world.close()
        return found.tolist()

    assert threads(program, delay=600) == [[3.0]] * 3


def test_the_one_of_three_that_does_something_else_is_named_first():
    def program(world):
        call = "one" if world.rank else "another"
        return world.all_reduce(call, np.ones(1), "add")

    said = "rank 0 calls another where rank 1 calls one: their calls 1 and 1 of this group"
    assert [str(each) for each in threads(program)] == [said] * 3


def test_an_error_in_what_is_done_with_a_result_breaks_nothing():
    def program(world):
        def refuse(found):
            raise ValueError(f"no {found.tolist()}")

        with pytest.raises(ValueError, match=r"no \[3\.0\]"):
            world.all_reduce("sum", np.ones(1), "add", then=refuse)
        failed = world.all_reduce("sum", np.ones(1), "add", then=refuse, beside=True)
        assert str(failed.exception()) == "no [3.0]"
        return world.all_reduce("sum", np.ones(1), "add").tolist()

    assert threads(program) == [[3.0]] * 3


@pytest.mark.parametrize("beside", [False, True])
def test_a_group_goes_on_or_is_broken_wherever_an_interrupt_comes(beside):
    """In the modules of exchanges, but for the moment in which a lane is left."""
    seen = [0]

    def interrupted(world, number):
        def profile(frame, event, _):
            code, seen[0] = frame.f_code, seen[0] + (event in {"call", "c_return"})
            here = code.co_filename == progress.__file__ and code.co_name != "leave"
            if here and seen[0] >= number:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(profile)
        try:
            found = world.barrier("first", beside=beside)
            return found.result(9) if beside else found
        finally:
            sys.setprofile(None)

    for number in range(60):
        world, seen[0] = engine.World(0, [0], None, 5.0), 0
        with suppress(KeyboardInterrupt):
            interrupted(world, number)
        found = []

        def further(world=world, found=found):
            with suppress(DistNetworkError):
                world.barrier("second")
                world.barrier("third", beside=True).result(9)
            world.settle()
            found.append(world.broken)

        thread = threading.Thread(target=further, daemon=True)
        thread.start()
        thread.join(20)
        assert found in ([""], ["KeyboardInterrupt in first on rank 0"]), number


def test_what_was_under_way_when_a_group_broke_fails_with_the_same():
    def program(world):
        works, errors = [], set()
        for array in (np.ones(1 + world.rank), np.ones(1), np.ones(1)):
            try:
                works.append(world.all_reduce("sum", array, "add", beside=True))
            except DistNetworkError as error:  # it is broken already
                errors.add(str(error))
        (text,) = errors | {str(work.exception()) for work in works}
        return text

    for text in threads(program, delay=5):
        assert "rank 1 has a tensor of shape (2,) and dtype float64" in text


EVERY = """
from itertools import product
import ml_dtypes
kinds = [*map(np.dtype, "bool uint8 int8 int16 int64 float16 float32 float64 complex64 "
         "complex128".split()), np.dtype(ml_dtypes.bfloat16)]
layouts = {"rows": lambda a: a, "columns": np.asfortranarray, "none": lambda a: a[:0],
           "steps": lambda a: np.repeat(a, 2, 1)[:, ::2], "number": lambda a: a[0, 0]}
def same(one, other): return one.dtype == other.dtype and one.tobytes() == other.tobytes()
for kind, (layout, lay) in product(kinds, layouts.items()):
    given = [lay((np.arange(6).reshape(2, 3) % 3 + r + 1).astype(kind)) for r in range(size)]
    tensor = lambda r: rg.engine.tensor.new_tensor(np.array(given[r], order="K"))
    what = f"{kind} {layout}"
    ops = {"SUM": np.add, "PRODUCT": np.multiply, "AVG": np.add}
    if kind.kind != "c": ops |= {"MIN": np.minimum, "MAX": np.maximum}
    if kind.kind in "biu": ops |= {"BXOR": np.bitwise_xor}; del ops["AVG"]
    for name, ufunc in ops.items():
        expected = given[0]
        for other in given[1:]: expected = ufunc(expected, other)
        if name == "AVG": expected = (expected / np.array(size, kind)).astype(kind)
        x = tensor(rank); dist.all_reduce(x, dist.ReduceOp[name])
        assert same(x.numpy(), expected), (what, name, x.numpy(), expected)
        x = tensor(rank); dist.reduce(x, size - 1, dist.ReduceOp[name])
        left = expected if rank == size - 1 else given[rank]
        assert same(x.numpy(), left), (what, name, "reduce")
        x = rg.empty_like(tensor(0))
        dist.reduce_scatter(x, [tensor(rank)] * size, dist.ReduceOp[name])
        assert same(x.numpy(), expected), (what, name, "reduce_scatter")
    x = tensor(rank); dist.broadcast(x, size - 1); assert same(x.numpy(), given[-1]), what
    out = [rg.empty_like(x) for _ in range(size)]; dist.all_gather(out, tensor(rank))
    assert all(same(o.numpy(), g) for o, g in zip(out, given)), what
    dist.all_to_all(out, [tensor(rank)] * size)
    assert all(same(o.numpy(), g) for o, g in zip(out, given)), what
    dist.scatter(x, [tensor(r) for r in range(size)] if rank == 0 else None)
    assert same(x.numpy(), given[rank]), what
    dist.gather(tensor(rank), out if rank == 0 else None)
    if size > 1:
        work = dist.isend(tensor(rank), (rank + 1) % size); dist.recv(x, (rank - 1) % size)
        work.wait(); assert same(x.numpy(), given[rank - 1]), what
print("all")
"""


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_collectives_of_every_dtype_and_layout_give_what_numpy_gives(size):
    pytest.importorskip("ml_dtypes")
    assert together(EVERY, size) == ["all"] * size

"""Groups of some processes, what all ranks have for all others, objects, and where groups meet."""

from __future__ import annotations

from datetime import timedelta

import pytest

import retrograd as rg
from retrograd.torch import distributed as dist
from retrograd.torch.distributed.engine import connections

from .together import together, values

# -- groups ----------------------------------------------------------------------------------------


def test_a_group_of_some_ranks_computes_among_them():
    code = """
pair = dist.new_group([2, 0]); x = rg.tensor([1.0 + rank])
if rank != 1: dist.all_reduce(x, group=pair)
show(x, rg.tensor([dist.get_rank(pair), dist.get_world_size(pair)]))
"""
    assert values(code, 3) == [[[4.0], [0, 2]], [[2.0], [-1, -1]], [[4.0], [1, 2]]]


def test_ranks_of_a_group_are_those_of_all_and_group_ranks_its_own():
    code = """
pair = dist.new_group([1, 2]); x, y = (rg.tensor([float(rank)]) for _ in range(2))
if rank: dist.broadcast(x, 2, pair); dist.broadcast(y, group=pair, group_src=0)
show(x, y)
if rank:
    assert dist.get_process_group_ranks(pair) == [1, 2]
    assert (dist.get_group_rank(pair, 2), dist.get_global_rank(pair, 0)) == (1, 1)
"""
    assert values(code, 3) == [[[0.0], [0.0]], [[2.0], [1.0]], [[2.0], [1.0]]]


def test_gather_and_scatter_in_a_group_keep_its_order():
    code = """
pair = dist.new_group([2, 1], sort_ranks=False); x, y = rg.tensor([rank]), rg.tensor([0])
parts = [rg.zeros_like(x) for _ in range(2)] if rank == 1 else None
if rank: dist.gather(x, parts, 1, pair); dist.scatter(y, parts and parts[::-1], 1, pair)
show(*parts or [], y)
"""
    assert values(code, 3) == [[[0]], [[2], [1], [2]], [[1]]]


def test_a_group_of_all_has_connections_of_its_own():
    code = """
other = dist.new_group(); x, y = rg.tensor([1.0]), rg.tensor([2.0 + rank])
work = dist.irecv(y, 1, other) if rank == 0 else None  # under way, while the group of all goes on
dist.all_reduce(x)
if rank: dist.send(y, 0, other)
else: work.wait()
show(x, y)
"""
    assert values(code) == [[[2.0], [3.0]]] * 2


def test_a_process_outside_of_a_group_warns_and_does_nothing():
    code = """
import warnings
one = dist.new_group([0]); x = rg.tensor([1.0 + rank])
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always"); dist.all_reduce(x, group=one)
show(x, rg.tensor("Running all_reduce" in str(seen[0].message) if seen else False))
"""
    assert values(code) == [[[1.0], False], [[2.0], True]]


def test_subgroups_are_of_neighbours():
    code = "own, all = dist.new_subgroups(2); x = rg.ones(1) * rank; dist.all_reduce(x, group=own)"
    assert values(code + "; show(x)", 4) == [[[1.0]], [[1.0]], [[5.0]], [[5.0]]]


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("ranks", "said"), [([0, 7], "Rank 7 is out of range"), ([0, 0], "duplicate entries")]
)
def test_groups_of_ranks_that_are_not_there_are_refused(ranks, said):
    with pytest.raises(ValueError, match=said):
        dist.new_group(ranks)


@pytest.mark.usefixtures("alone")
def test_a_rank_is_given_once():
    with pytest.raises(ValueError, match="Must specify global_rank or group_rank"):
        dist.broadcast(rg.ones(1))
    with pytest.raises(ValueError, match="can't specify both group_rank and global_rank"):
        dist.broadcast(rg.ones(1), 0, group_src=0)


@pytest.mark.usefixtures("alone")
def test_a_group_that_was_left_is_refused():
    pair = dist.new_group([0])
    dist.destroy_process_group(pair)
    with pytest.raises(ValueError, match="Invalid process group specified"):
        dist.barrier(pair)


# -- exchanges -------------------------------------------------------------------------------------


def test_reduce_scatter_gives_each_rank_its_part_of_the_sum():
    code = """
out, flat = rg.zeros(2, dtype=rg.complex64), rg.zeros(1)
dist.reduce_scatter(out, [rg.tensor([1j, 1.0]), rg.tensor([2j, rank + 0j])])
dist.reduce_scatter_tensor(flat, rg.tensor([1.0, 2.0 * rank]), dist.ReduceOp.AVG)
show(out, flat)
"""
    assert values(code) == [
        [[[0.0, 2.0], [2.0, 0.0]], [1.0]],
        [[[0.0, 1.0], [4.0, 0.0]], [1.0]],
    ]


def test_all_to_all_sends_each_rank_its_tensor():
    code = """
lengths = rank + 1
out = [rg.zeros(other + 1) for other in range(size)]
dist.all_to_all(out, [rg.full((lengths,), 10.0 * rank + other) for other in range(size)])
show(*out)
"""
    assert values(code, 3)[1] == [[1.0], [11.0] * 2, [21.0] * 3]


def test_all_to_all_single_cuts_by_sizes():
    code = """
out = rg.zeros(size, dtype=rg.int64); dist.all_to_all_single(out, rg.arange(size) + 10 * rank)
uneven = rg.zeros(2 * (1 + rank), dtype=rg.int64)
dist.all_to_all_single(uneven, rg.arange(3) + 10 * rank, [1 + rank] * 2, [1, 2]); show(out, uneven)
"""
    assert values(code) == [[[0, 10], [0, 10]], [[1, 11], [1, 2, 11, 12]]]


@pytest.mark.usefixtures("alone")
def test_exchanges_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="same size as output size times world size"):
        dist.reduce_scatter_tensor(rg.ones(2), rg.ones(3))
    with pytest.raises(ValueError, match="Number of tensor splits not equal to group size"):
        dist.all_to_all_single(rg.ones(2), rg.ones(2), [1, 1])
    with pytest.raises(ValueError, match="output_tensor_list to be a list of size 1"):
        dist.all_to_all([], [rg.ones(1)])


def test_messages_are_started_together():
    code = """
right, left = (rank + 1) % size, (rank - 1) % size; out = rg.zeros(1)
for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, rg.ones(1) * rank, right),
                                    dist.P2POp(dist.irecv, out, left)]): work.wait()
show(out)
"""
    assert values(code, 3) == [[[2.0]], [[0.0]], [[1.0]]]


def test_a_barrier_of_its_own_timeout_says_who_is_late():
    code = """
from datetime import timedelta
if rank == 0: error(dist.monitored_barrier, None, timedelta(seconds=0.2))
else: error(dist.recv, rg.ones(1), 0)
"""
    for out in together(code):
        assert out.startswith("DistNetworkError Timed out after 0.2 s: rank 1 did not take part")


# -- objects ---------------------------------------------------------------------------------------


def test_objects_are_gathered_spread_and_dealt():
    code = """
every, at, own, lot = [None] * size, [None] * size if rank == 1 else None, [None], [rank, {}]
dist.all_gather_object(every, {"rank": rank, "x": rg.ones(1 + rank)})
dist.gather_object((rank,), at, 1)
dist.broadcast_object_list(lot, 1)
dist.scatter_object_list(own, ["a", "b", "c"] if rank == 2 else None, 2)
if rank == 0: dist.send_object_list([len], 2)
if rank == 2: out = [None]; dist.recv_object_list(out, 0); assert out == [len]
print([o["rank"] for o in every], [len(o["x"]) for o in every], at, lot, own)
"""
    assert together(code, 3) == [
        "[0, 1, 2] [1, 2, 3] None [1, {}] ['a']",
        "[0, 1, 2] [1, 2, 3] [(0,), (1,), (2,)] [1, {}] ['b']",
        "[0, 1, 2] [1, 2, 3] None [1, {}] ['c']",
    ]


def test_objects_are_scattered_when_all_are_pickled():
    code = """
out = [None]
if rank == 0:
    try: dist.scatter_object_list(out, ["a", "b", lambda: 0])
    except Exception as caught: print(type(caught).__name__)
dist.scatter_object_list(out, ["c", "d", "e"] if rank == 0 else None); print(out)
"""
    found = together(code, 3)
    assert [each.splitlines()[-1] for each in found] == ["['c']", "['d']", "['e']"]


@pytest.mark.usefixtures("alone")
def test_lists_of_objects_of_another_length_are_refused():
    with pytest.raises(ValueError, match="object_list to be a list of size 1"):
        dist.all_gather_object([], 1)
    with pytest.raises(ValueError, match="object_gather_list to be a list of size 1"):
        dist.gather_object(1)
    with pytest.raises(ValueError, match="list of size at least 1"):
        dist.scatter_object_list([], [1])


# -- stores ----------------------------------------------------------------------------------------


@pytest.fixture(params=["file", "tcp", "prefix"])
def store(request, tmp_path):
    """An empty store of each kind."""
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 2)
    made = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    return made if request.param == "tcp" else dist.PrefixStore("part", made)


def test_a_store_keeps_bytes_and_counts(store):
    store.set("a", b"\xff\x00")
    assert store.get("a") == b"\xff\x00"
    assert [store.add("n", 3), store.add("n", -1)] == [3, 2]
    store.append("a", "é")
    assert store.get("a") == b"\xff\x00\xc3\xa9"
    assert store.delete_key("n")
    assert not store.delete_key("n")
    assert [store.check(["a"]), store.check(["a", "n"])] == [True, False]


def test_a_key_that_does_not_come_is_an_error(store):
    store.set_timeout(timedelta(seconds=0.05))
    with pytest.raises(dist.DistStoreError, match="wait timeout after 50ms, keys: a"):
        store.get("a")


def test_a_tcp_store_gives_no_answer_to_an_earlier_question(monkeypatch):
    store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    store.set("a", "1")
    store.set("b", "2")
    read = connections.read

    def interrupted(sock):
        if sock is store._sock:
            raise KeyboardInterrupt
        return read(sock)

    with monkeypatch.context() as patched:
        patched.setattr(connections, "read", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.get("a")
    with pytest.raises(dist.DistNetworkError, match=r"get of b: the store at .* does not answer"):
        store.get("b")


def test_what_a_tcp_store_cannot_take_is_an_error():
    store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="takes requests of 1048576 bytes"):
        store.set("a", bytes(2 << 20))


def test_processes_share_a_store_over_tcp():
    code = """
import os
from retrograd import distributed as dist
rank = int(os.environ["RANK"])
store = dist.TCPStore("127.0.0.1", int(os.environ["MASTER_PORT"]), 3, rank == 0)
store.set(f"from {rank}", str(rank))
print(*map(store.get, ["from 0", "from 1", "from 2"]))
store.add("done", 1)
while rank == 0 and store.add("done", 0) < 3: pass
"""
    assert together(code, 3, prelude="") == ["b'0' b'1' b'2'"] * 3


@pytest.mark.parametrize(
    "how",
    [
        "init_method='file://' + os.environ['SHARED'],",
        "store=dist.PrefixStore('x', dist.FileStore(os.environ['SHARED'])),",
        "store=dist.TCPStore('127.0.0.1', int(os.environ['MASTER_PORT']), 2, rank == 0),",
    ],
)
def test_processes_meet_by_a_file_or_a_store(how, tmp_path):
    code = f"""
import os
import retrograd as rg
from retrograd import distributed as dist
rank = int(os.environ["RANK"])
dist.init_process_group({how} rank=rank, world_size=2)
x = rg.tensor([1.0 + rank]); dist.all_reduce(x); print(x.item()); dist.barrier()
"""
    assert together(code, prelude="", SHARED=str(tmp_path / "store")) == ["3.0"] * 2


def test_groups_that_were_left_hold_nothing():
    code = """
import gc, os, threading
def held():
    gc.collect()
    worlds = dist.group.WORLD.world.watch.worlds
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(worlds)
def one():
    g = dist.new_group([0, 1]); dist.all_reduce(rg.ones(3), group=g); dist.destroy_process_group(g)
for _ in range(3): one()
dist.barrier(); before = held()
for _ in range(20): one()
dist.barrier(); print(held() == before)
"""
    assert together(code) == ["True"] * 2

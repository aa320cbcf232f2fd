"""Processes that work together: collectives, and what breaks a group."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys

import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE
from retrograd.torch import distributed as dist
from retrograd.torch.distributed.engine import connections

from .together import together, values

# -- collectives -----------------------------------------------------------------------------------


def test_all_reduce_adds_complex_numbers_as_such_on_all_ranks():
    code = "x = rg.tensor([1 + 2j, rank * 1j]); dist.all_reduce(x); show(x)"
    assert values(code, 3) == [[[[3.0, 0.0], [6.0, 3.0]]]] * 3


def test_all_reduce_by_every_op():
    code = """
names = ("SUM", "AVG", "PRODUCT", "MIN", "MAX")
found = [rg.tensor([2.0 * rank, 4.0 - 2 * rank]) for _ in names]
for name, x in zip(names, found): dist.all_reduce(x, dist.ReduceOp[name])
show(*found)
"""
    assert values(code) == [[[2.0, 6.0], [1.0, 3.0], [0.0, 8.0], [0.0, 2.0], [2.0, 4.0]]] * 2


def test_all_reduce_by_bits():
    code = """
found = [rg.tensor([3 + 3 * rank, 1]) for _ in range(3)]
for name, x in zip(("BAND", "BOR", "BXOR"), found): dist.all_reduce(x, dist.ReduceOp[name])
show(*found)
"""
    assert values(code) == [[[2, 1], [7, 1], [5, 0]]] * 2


def test_the_group_is_an_object_while_it_is_there():
    code = """
world = dist.group.WORLD
assert world is dist.GroupMember.WORLD
show(rg.tensor([world.size(), world.rank(), world.name() == dist.Backend.GLOO]))
"""
    assert values(code) == [[[2, 0, 1]], [[2, 1, 1]]]
    assert rg.distributed.group.WORLD is None


def test_a_product_of_complex_numbers_is_theirs():
    code = "x = rg.tensor(1 + 1j); dist.all_reduce(x, dist.ReduceOp.PRODUCT); show(x)"
    assert values(code) == [[[0.0, 2.0]]] * 2


def test_reduce_changes_the_tensor_of_one_rank():
    assert values("x = rg.tensor([1.0 + rank]); dist.reduce(x, dst=1); show(x)") == [
        [[1.0]],
        [[3.0]],
    ]


def test_broadcast_writes_in_place_any_layout_and_counts_the_write():
    code = """
x = rg.full((2, 3), rank).t(); before = x._version
dist.broadcast(x, src=1); dist.barrier(); show(x, rg.tensor(x._version - before))
"""
    assert values(code) == [[[[1, 1]] * 3, 1]] * 2


@pytest.mark.usefixtures("alone")
def test_tensors_of_inference_mode_are_written_outside_of_it():
    with rg.inference_mode():
        x, part = rg.zeros(2), rg.ones(2)
    dist.scatter(x, [part])
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.usefixtures("alone")
def test_what_is_written_counts_and_stays_in_its_graph():
    x = rg.ones(2, requires_grad=True)
    y = x * 2
    before = y._version
    dist.all_reduce(y)
    assert y._version > before
    assert y.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_all_gather_has_the_tensors_in_the_order_of_ranks():
    code = "o = [rg.zeros(1) for _ in range(size)]; dist.all_gather(o, rg.ones(1) * rank); show(*o)"
    assert values(code, 3) == [[[0.0], [1.0], [2.0]]] * 3


def test_gather_and_scatter_are_each_other_s_inverse():
    code = """
x, y = rg.tensor([rank, 7 * rank]), rg.zeros(2, dtype=rg.int64)
parts = [rg.zeros_like(x) for _ in range(size)] if rank == 1 else None
dist.gather(x, parts, dst=1); dist.scatter(y, parts, src=1); show(y)
"""
    assert values(code, 3) == [[[0, 0]], [[1, 7]], [[2, 14]]]


def test_async_calls_return_work_that_is_waited_for():
    code = """
x = rg.ones(2) * rank; work = dist.all_reduce(x, group=dist.group.WORLD, async_op=True)
show(rg.tensor([work.wait(), work.is_completed()]), x)
"""
    assert values(code) == [[[True, True], [1.0, 1.0]]] * 2


def test_a_group_that_is_not_the_one_of_all_is_refused():
    dist.init_process_group(rank=0, world_size=1)
    with pytest.raises(ValueError, match="Invalid process group specified: 3"):
        dist.all_reduce(rg.ones(1), group=3)
    assert dist.get_world_size(dist.group.WORLD) == 1
    dist.destroy_process_group()


def test_all_gather_into_a_tensor_joins_or_stacks_by_its_shape():
    code = """
x = rg.tensor([rank, rank + 10]); flat = rg.zeros(4, dtype=x.dtype)
rows = rg.zeros(2, 2, dtype=x.dtype)
for out in (flat, rows): dist.all_gather_into_tensor(out, x)
show(flat, rows); error(dist.all_gather_into_tensor, rg.zeros(3), x)
"""
    for out in together(code):
        shown, said = out.split("\n")
        assert shown == "[[0, 10, 1, 11], [[0, 10], [1, 11]]]"
        assert said.startswith("ValueError output tensor size must be equal to world_size times")


def test_large_messages_that_all_ranks_send_first_do_not_block():
    code = """
n = 4_000_000; x, out = rg.full((n,), float(rank)), rg.zeros(n)
work = dist.isend(x, (rank + 1) % size); dist.recv(out, (rank - 1) % size); work.wait()
show(rg.stack([out.min(), out.max()]))
"""
    assert values(code, 3) == [[[2.0, 2.0]], [[0.0, 0.0]], [[1.0, 1.0]]]


def test_messages_keep_their_order_whether_waited_for_or_not():
    code = """
xs = [rg.tensor([float(i)]) for i in range(4)]
if rank == 0:
    works = [dist.isend(x, 1) for x in xs[:2]]; dist.send(xs[2], 1)
    works.append(dist.isend(xs[3], 1))
else:
    outs = [rg.zeros(1) for _ in xs]; works = [dist.irecv(out, 0) for out in outs[:3]]
    dist.recv(outs[3], 0); xs = outs
for work in works: work.wait()
show(*xs)
"""
    assert values(code) == [[[0.0], [1.0], [2.0], [3.0]]] * 2


def test_waiting_for_a_message_from_a_rank_that_ended_raises():
    code = """
if rank == 0: error(dist.irecv(rg.zeros(1), 1).wait)
"""
    first, _ = together(code)
    assert "DistNetworkError Connection closed by peer" in first


def test_a_process_ends_with_a_message_under_way():
    code = """
work = dist.irecv(rg.zeros(1), 1 - rank); show(rg.tensor(work.is_completed()))
"""
    found = values(code, fresh=True)[0]
    assert found in ([False], [True])  # True: the other rank ended first


def test_send_goes_to_one_rank_and_recv_says_who_sent():
    code = """
x = rg.tensor([rank + 0.5j])
if rank == 2: dist.send(x, 1, tag=3); show()
elif rank == 1: show(rg.tensor(dist.recv(x, tag=3)), x)
else: show()
"""
    assert values(code, 3) == [[], [2, [[2.0], [0.5]]], []]


def test_every_dtype_arrives_as_it_was_sent():
    code = """
same = []
for dtype in (rg.bool, rg.uint8, rg.int64, rg.float16, rg.bfloat16, rg.float64, rg.complex128):
    for shape in ((), (0, 3), (2, 3)):
        x = (rg.ones(shape) * (1 + rank)).to(dtype); dist.broadcast(x, 0)
        same.append(rg.equal(x, rg.ones(shape).to(dtype)) and x.dtype is dtype)
show(rg.tensor(all(same)))
"""
    assert values(code) == [[True]] * 2


# -- what goes wrong -------------------------------------------------------------------------------


def test_tensors_of_other_shapes_break_the_group_on_all_ranks_and_name_both():
    code = "error(dist.all_reduce, rg.ones(2, 1 + rank)); error(dist.barrier)"
    for out in together(code, 3):
        assert "rank 1 has a tensor of shape (2, 2) and dtype float32" in out
        assert out.count("DistNetworkError") == 2  # again, instead of a wait
        assert "rank 0 one of shape (2, 1)" in out


def test_a_large_tensor_of_another_shape_names_both_shapes_to_its_sender():
    out = together("error(dist.all_reduce, rg.ones(10**6 * (1 + rank)))")[1]
    assert "shape (2000000,)" in out
    assert "shape (1000000,)" in out


def test_ranks_that_call_different_functions_are_told():
    outs = together("error(dist.broadcast if rank else dist.all_reduce, rg.ones(2), *[1] * rank)")
    assert "rank 1 calls broadcast from rank 1 where rank 0 calls all_reduce SUM" in outs[0]


def test_a_rank_that_ends_is_an_error_of_all_others():
    outs = together("rank == 1 and sys.exit(); error(dist.barrier)", 3, fresh=True)
    assert outs[0] == outs[2]
    assert outs[0].startswith("DistNetworkError Connection closed by peer: rank 1 ended")


def test_a_rank_that_is_too_late_is_an_error():
    code = """
dist.group.WORLD.world.timeout = 0.1; error(dist.recv, rg.ones(1), 1 - rank)
"""
    for out in together(code):
        assert out.startswith("DistNetworkError Timed out after 0.1 s: rank")


def test_an_exception_amid_an_array_breaks_the_group():
    code = """
def stop(): raise KeyboardInterrupt
if rank == 0: dist.group.WORLD.world.transport.all_reduce = lambda *_: stop
try: dist.all_reduce(rg.ones(2))
except (KeyboardInterrupt, RuntimeError): error(dist.all_reduce, rg.ones(2))
"""
    for out in together(code):
        assert out == "DistNetworkError KeyboardInterrupt in all_reduce SUM on rank 0"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_no_part_in_the_group_and_holds_no_connection():
    code = """
import os, warnings
warnings.simplefilter("ignore")  # Python's, of threads
pid = os.fork()
if pid == 0:
    closed = dist.group.WORLD.world.watch.line.fileno() < 0
    try: dist.barrier()
    except RuntimeError as caught: os._exit(7 if closed and "forked from" in str(caught) else 1)
    os._exit(1)
show(rg.tensor(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
dist.barrier()
"""
    assert values(code, fresh=True) == [[7], [7]]


def test_threads_send_one_after_another():
    code = """
import threading
n = 300_000
if rank == 0:
    jobs = [threading.Thread(target=dist.send, args=(rg.full((n,), k), 1)) for k in range(6)]
    for job in jobs: job.start()
    for job in jobs: job.join()
    show()
else:
    x, seen = rg.zeros(n, dtype=rg.int64), []
    for _ in range(6): dist.recv(x, 0); seen.append([x.min().item(), x.max().item()])
    show(rg.tensor(sorted(seen)))
"""
    assert values(code)[1] == [[[k, k] for k in range(6)]]


def test_recv_from_any_rank_waits_for_those_that_have_not_ended():
    code = """
if rank == 0: pass
elif rank == 1: show(rg.tensor(dist.recv(rg.ones(1)))); error(dist.recv, rg.ones(1))
else:
    world = dist.group.WORLD.world
    while not world.watch.ended(world.name, 0): pass
    dist.send(rg.ones(1), 1)
"""
    out = together(code, 3)[1]
    assert out.startswith("[2]\nDistNetworkError Connection closed by peer: all other ranks ended")


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of open files here")
def test_recv_from_any_rank_has_no_limit_of_open_files():
    code = """
import os, resource
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1030)]
dist.destroy_process_group(); dist.init_process_group(timeout=timedelta(seconds=20))
x = rg.ones(1) * rank; show(rg.tensor(dist.recv(x)) if rank == 0 else dist.send(x, 0) or x)
"""
    assert values(code, fresh=True) == [[1], [[1.0]]]


def test_a_process_that_ends_leaves_no_socket_open():
    assert together("dist.barrier()", PYTHONWARNINGS="error") == ["", ""]


def test_strangers_that_send_something_else_are_turned_away():
    code = """
import os, time
from retrograd import distributed as dist
from retrograd.distributed.engine import connections
place = "127.0.0.1", int(os.environ["MASTER_PORT"])
if os.environ["RANK"] == "1":
    for said in (5, None, {"a": 1}, [[1], 2, 3], "text", [1, 2, 3, 4]):
        with connections.connect(*place, time.monotonic() + 20) as sock:
            connections.write(sock, said)
dist.init_process_group(); dist.barrier()
"""
    assert together(code, prelude="") == ["", ""]


def test_silent_connections_keep_nobody_waiting():
    code = """
import os, socket, time
from retrograd import distributed as dist
from retrograd.distributed.engine import connections
place = "127.0.0.1", int(os.environ["MASTER_PORT"])
silent = []
if os.environ["RANK"] == "1":
    with connections.connect(*place, time.monotonic() + 60): pass  # rank 0 listens
    silent = [socket.create_connection(place) for _ in range(8)]
begun = time.monotonic()
dist.init_process_group(); dist.barrier()
print(os.environ["RANK"] == "0" or time.monotonic() - begun < connections.GREETING)
"""
    assert together(code, prelude="") == ["True", "True"]


def test_a_rank_of_another_group_is_told_and_the_others_meet():
    code = """
import os
from retrograd import distributed as dist
if os.environ["RANK"] == "1":
    try: dist.init_process_group(world_size=3)
    except RuntimeError as caught: print(caught)
dist.init_process_group(); print(dist.get_world_size())
"""
    first, second = together(code, prelude="")
    said, size = second.splitlines()
    assert (first, size) == ("2", "2")
    assert "there is no place for rank 1 of 3 among 2" in said


def test_lists_on_other_ranks_are_refused_before_anything_is_sent():
    code = """
parts = [rg.zeros(1) for _ in range(size)]
if rank == 1: error(dist.gather, rg.ones(1), parts); error(dist.scatter, rg.ones(1), parts)
x = rg.tensor([1.0 + rank]); dist.gather(x, None if rank else parts); dist.all_reduce(x)
print(x.item(), sum(parts).item())
"""
    outs = together(code)
    assert outs[0] == "3.0 3.0"
    assert outs[1].count("must NOT be specified on other ranks than 0, this is rank 1") == 2
    assert outs[1].endswith("3.0 0.0")


@pytest.mark.usefixtures("alone")
def test_arguments_of_another_type_are_refused():
    with pytest.raises(TypeError, match=r"all_reduce takes an op such as ReduceOp\.SUM, got 'sum'"):
        dist.all_reduce(rg.ones(1), "sum")
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        dist.broadcast(rg.ones(1), "0")


def test_starting_may_take_longer_than_calls_may():
    code = """
from datetime import timedelta
from retrograd import distributed as dist
dist.init_process_group(timeout=timedelta(seconds=0.001)); print(dist.group.WORLD.world.timeout)
"""
    assert together(code, prelude="") == ["0.001"] * 2


def test_ranks_that_never_come_are_named():
    code = """
from datetime import timedelta
from retrograd import distributed as dist
dist.groups.STARTING = 0.3
try:
    dist.init_process_group(world_size=3, timeout=timedelta(seconds=0.1))
except RuntimeError as caught:
    print(caught)
"""
    assert "missing are the ranks [1, 2]" in together(code, 1, prelude="")[0]


def test_a_rank_with_another_key_is_turned_away():
    code = """
import os
from datetime import timedelta
from retrograd import distributed as dist
os.environ["RETROGRAD_DISTRIBUTED_KEY"] = "key " + os.environ["RANK"]
dist.groups.STARTING = 2.0
try:
    dist.init_process_group(timeout=timedelta(seconds=2))
except RuntimeError as caught:
    print(caught)
"""
    outs = together(code, prelude="")
    assert "missing are the ranks [1]" in outs[0]
    assert "rank 1 of 2 could not meet the others" in outs[1]


@pytest.mark.parametrize(
    ("arguments", "kind", "said"),
    [
        ({"backend": "nccl"}, RuntimeError, 'Use init_process_group\\("gloo"\\)'),
        ({"init_method": "tcp://h:1"}, ValueError, "rank parameter missing"),
        ({"rank": 0}, ValueError, "environment variable WORLD_SIZE expected, but not set"),
        ({"init_method": "mpi://x"}, ValueError, "env://, tcp://host:port or file"),
        ({"rank": 2, "world_size": 2}, ValueError, "rank must be in"),
        ({"rank": 0.0, "world_size": 1}, TypeError, "cannot be interpreted as an integer"),
        ({"rank": 0, "world_size": 2, "timeout": 5}, TypeError, "of type datetime.timedelta"),
    ],
)
def test_a_group_that_cannot_be_says_why(monkeypatch, arguments, kind, said):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(kind, match=said):
        dist.init_process_group(**arguments)
    assert not dist.is_initialized()


def test_a_port_that_cannot_be_is_refused(monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "99999")
    with pytest.raises(ValueError, match=r"a port from 1 to 65535, got '127\.0\.0\.1' and 99999"):
        dist.init_process_group(rank=0, world_size=2)


def test_a_process_does_not_take_itself_for_the_one_that_is_not_there_yet(monkeypatch):
    """The system may choose the port where nobody listens yet for the end that connects to it."""
    with connections.reserved("127.0.0.1") as port:
        place, create, ends = ("127.0.0.1", port), socket.create_connection, []

    def itself(address, timeout):
        monkeypatch.setattr(socket, "create_connection", create)
        ends.append(create(address, timeout, source_address=address))
        return ends[0]

    monkeypatch.setattr(socket, "create_connection", itself)
    with pytest.raises(dist.DistNetworkError, match="nobody listens there"):
        connections.meet(*place, 1, 2, timeout=0.2)
    assert ends[0].fileno() < 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the port is let go of before")
def test_a_reserved_port_is_given_to_whoever_listens_there_and_to_nobody_else():
    with connections.reserved("127.0.0.1") as port:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        with connections.listen("127.0.0.1", port, 2) as server:
            assert server.getsockname()[1] == port


def has_ipv6():
    """Whether processes of this machine reach each other by it."""
    with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason="no IPv6 here")
def test_ranks_meet_by_ipv6():
    code = "x = rg.tensor([1.0 + rank]); dist.all_reduce(x); print(x.item())"
    assert together(code, MASTER_ADDR="::1") == ["3.0"] * 2


def test_without_mpi_a_process_alone_works_and_several_are_told_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(RuntimeError, match=r"pip install retrograd\[distributed\]"):
        dist.init_process_group(init_method="tcp://127.0.0.1:1", rank=0, world_size=2)
    dist.init_process_group(rank=0, world_size=1)
    dist.destroy_process_group()


def test_without_a_group_there_is_no_rank():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()


@pytest.mark.usefixtures("alone")
def test_reductions_that_a_dtype_lacks_are_refused():
    with pytest.raises(ValueError, match=r"not support ReduceOp\.MAX on complex tensors"):
        dist.all_reduce(rg.tensor([1j]), dist.ReduceOp.MAX)
    with pytest.raises(ValueError, match=r"not support ReduceOp\.AVG on integer tensors"):
        dist.all_reduce(rg.tensor([1]), dist.ReduceOp.AVG)


@pytest.mark.usefixtures("alone")
def test_a_second_group_is_refused():
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group(rank=0, world_size=1)


@pytest.mark.usefixtures("alone")
def test_a_sampler_asks_the_group():
    assert list(rg.utils.data.DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]


def test_a_sampler_without_a_group_says_so():
    with pytest.raises(ValueError, match="process group has not been initialized"):
        rg.utils.data.DistributedSampler(range(3))


def test_the_core_loads_no_distributed_and_neither_does_nn():
    code = "import sys, retrograd.nn; print('retrograd.distributed' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_it_is_available_to_a_process_that_was_started_as_one_of_several(monkeypatch):
    assert not dist.is_available()
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert dist.is_available()


@pytest.mark.usefixtures("alone")
def test_it_is_available_within_a_group():
    assert dist.is_available()


@pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")
@pytest.mark.usefixtures("alone")
def test_a_compiled_step_sends_its_tensors_in_each_call():
    def step(x):
        y = x * 2
        dist.all_reduce(y)
        return y + 1

    compiled = rg.compile(step)
    assert [compiled(rg.tensor(n)).item() for n in (1.0, 2.0)] == [3.0, 5.0]
    assert "is sent to other processes" in rg.capture.explain(compiled).text

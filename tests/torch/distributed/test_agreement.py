"""Ranks that do not do the same: nothing is computed of it, and the error says who did what."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .together import ended, together

DIFFER = {
    "source": (
        "dist.broadcast(x, src=rank)",
        "rank 1 calls broadcast from rank 1 where rank 0 calls broadcast from rank 0",
    ),
    "op": (
        "dist.all_reduce(x, dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)",
        "rank 1 calls all_reduce MAX where rank 0 calls all_reduce SUM",
    ),
    "destination": (
        "dist.reduce(x, dst=rank)",
        "rank 1 calls reduce SUM to rank 1 where rank 0 calls reduce SUM to rank 0",
    ),
    "dtype": (
        "dist.all_reduce(x.double() if rank else x)",
        "rank 1 has a tensor of shape (2,) and dtype float64, rank 0 one of shape (2,) and dtype "
        "float32",
    ),
    "shape": (
        "dist.all_gather([x[:1 + rank], x[:1 + rank]], x[:1 + rank])",
        "all_gather: rank 1 has a tensor of shape (2,) and dtype float32, rank 0 one of shape (1,)",
    ),
    "skipped": (
        "rank or dist.all_reduce(x); dist.barrier()",
        "rank 1 calls barrier where rank 0 calls all_reduce SUM: their calls 2 and 2 of this group",
    ),
    "object": (
        "dist.broadcast_object_list([1], src=rank)",
        "rank 1 calls broadcast_object_list from rank 1 where rank 0 calls broadcast_object_list",
    ),
    "part": (
        "dist.all_to_all([x, x[:1 + rank].clone()], [x, x])",
        "all_to_all: rank 1 has a tensor of shape (2,) and dtype float32, rank 0 one of shape (1,)",
    ),
}


@pytest.mark.parametrize("what", DIFFER)
def test_calls_that_differ_are_named_on_all_ranks_before_anything_is_written(what):
    call, said = DIFFER[what]
    code = f"""
x = rg.full((2,), 1.0 + rank); dist.barrier()
def differ(): {call}
error(differ); show(x)
"""
    for rank, out in enumerate(together(code)):
        text, values = out.split("\n")
        assert text.startswith("DistNetworkError")
        assert said in text
        assert values == f"[[{1.0 + rank}, {1.0 + rank}]]"


def test_who_is_late_is_named_by_those_that_wait():
    code = """
import time
dist.group.WORLD.world.timeout = 1.0
if rank == 1: time.sleep(3)
error(dist.all_reduce, rg.ones(1))
"""
    for out in together(code, 3):
        assert out == (
            "DistNetworkError Timed out after 1.0 s: rank 1 did not take part in all_reduce SUM"
        )


def test_who_is_late_in_a_group_is_named_by_its_number_in_the_group_of_all():
    code = """
import time
late = dist.new_group([2, 1]); time.sleep(3 * (rank == 2))
if rank: late.world.timeout = 1.0; error(dist.barrier, late)
"""
    outs = together(code, 3)
    assert outs[0] == ""
    assert (
        outs[1]
        == outs[2]
        == ("DistNetworkError Timed out after 1.0 s: rank 2 did not take part in barrier")
    )


FAILS = """
try: [dist.all_reduce(rg.ones(1)) for _ in range(3 + 97 * (rank != 1))]
except RuntimeError as caught: print(caught, flush=True); raise
"""


@pytest.mark.parametrize(
    ("end", "status", "how"),
    [
        ("raise ValueError('no data')", 1, "ended by ValueError: no data"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, "ended"),
    ],
)
def test_a_rank_that_ends_is_named_with_the_last_step_and_all_end(end, status, how):
    statuses, shown = ended(FAILS + end, 3)
    assert statuses == [1, status, 1]
    for out, _ in (shown[0], shown[2]):
        assert out == (
            f"Connection closed by peer: rank 1 {how} before all_reduce SUM was complete, after 3 "
            "collectives of this group\n"
        )


def test_random_programs_in_which_one_rank_does_not_do_its_part_end_with_its_name():
    """Six: another source, an exception, another dtype, a call left out, two ways to leave."""
    command = [sys.executable, "-m", "tests.torch.distributed.faults", "COUNT=6", "SEED=59"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout


def test_what_a_rank_has_sent_comes_though_it_has_ended():
    code = """
import time
if rank == 0: dist.isend(rg.tensor([7.0]), 1)
else:
    while not dist.group.WORLD.world.watch.ended("1", 0): time.sleep(0.01)
    x = rg.zeros(1); time.sleep(1); dist.recv(x, 0); show(x)
"""
    assert together(code, fresh=True) == ["", "[[7.0]]"]


def test_an_interrupt_amid_a_call_breaks_the_group_with_the_name_of_its_rank():
    code = """
import os, signal, threading, time
x, many = rg.full((2,), 1.0 + rank), rg.zeros(100000)
if rank == 0: threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    if rank == 0: dist.all_reduce(many)
    else: time.sleep(2); dist.barrier()
except (KeyboardInterrupt, RuntimeError) as caught: print(repr(caught))
error(dist.all_reduce, x); show(x)
"""
    said = "KeyboardInterrupt in all_reduce SUM on rank 0"
    first, second = (out.splitlines() for out in together(code, fresh=True))
    assert first == ["KeyboardInterrupt()", f"DistNetworkError {said}", "[[1.0, 1.0]]"]
    assert second == [
        f"DistNetworkError({said!r})", f"DistNetworkError {said}", "[[2.0, 2.0]]",
    ]  # fmt: skip


def test_the_first_to_end_is_named_and_not_who_ended_because_of_it():
    code = """
import os, signal, time
from retrograd.torch.distributed.engine import world
if rank == 2: os.kill(os.getpid(), signal.SIGKILL)
if rank == 1:
    while not dist.group.WORLD.world.watch.ended("1", 2): time.sleep(0.01)
    os._exit(0)
if rank == 0:
    while not dist.group.WORLD.world.watch.ended("1", 1): time.sleep(0.01)
    time.sleep(2 * world.GRACE); error(dist.barrier)
"""
    _, shown = ended(code, 3)
    assert shown[0][0].startswith("DistNetworkError Connection closed by peer: rank 2 ended")


def test_a_group_is_made_again_after_it_was_left():
    code = """
for number in range(3):
    x = rg.ones(1) * rank; dist.all_reduce(x); dist.destroy_process_group()
    dist.init_process_group("mpi"); assert dist.get_backend() == "mpi"
try: dist.destroy_process_group(); dist.init_process_group(rank=0, world_size=5)
except RuntimeError as caught: print(caught)
"""
    for rank, out in enumerate(together(code)):
        assert out.startswith(f"MPI starts once in a process, and this one is rank {rank} of 2")


def test_no_shared_memory_is_left_in_the_system(tmp_path):
    code = """
import os
names = [line.split()[5] for line in open("/proc/self/maps") if "/dev/shm/mpich" in line]
assert names and not any(map(os.path.exists, names)); print("none")
"""
    assert together(code) == ["none"] * 2


def test_none_is_left_where_all_are_killed_while_mpi_starts():
    code = """
import os, re, signal, threading
def die():
    while not (names := {*re.findall("/dev/shm/mpich.*", open("/proc/self/maps").read())}): pass
    print(*names, flush=True); os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=die).start()
from retrograd import distributed as dist
try: dist.init_process_group()
finally: os.kill(os.getpid(), signal.SIGKILL)  # the other one was killed before this mapped it
"""
    statuses, shown = ended(code, prelude="")
    names = " ".join(out for out, _ in shown).split()
    assert statuses == [-signal.SIGKILL] * 2
    assert names
    end = time.monotonic() + 30
    while any(map(os.path.exists, names)) and time.monotonic() < end:
        time.sleep(0.01)  # the host ends when all have
    assert not any(map(os.path.exists, names))


IMPORTS = """
import sys
import retrograd as rg
from retrograd import distributed as dist
"""


def by_mpiexec(folder, code, size=3):
    """The status of a script that mpiexec starts, and what it writes."""
    script = folder / "script.py"
    script.write_text(IMPORTS + code)
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    command = [shutil.which("mpiexec", path=places), "-n", str(size), sys.executable, str(script)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return ran.returncode, ran.stdout, ran.stderr


def test_mpiexec_says_who_is_who(tmp_path):
    code = """
dist.init_process_group()
x = rg.ones(1) * dist.get_rank(); dist.all_reduce(x)
sys.stdout.write(f"{dist.get_rank()} of {dist.get_world_size()}: {x.item()}\\n")
"""
    status, out, err = by_mpiexec(tmp_path, code)
    assert (status, err) == (0, "")
    assert sorted(out.splitlines()) == ["0 of 3: 3.0", "1 of 3: 3.0", "2 of 3: 3.0"]


def test_an_exception_in_a_process_of_mpiexec_s_ends_all_with_the_name_of_the_rank(tmp_path):
    code = """
dist.init_process_group(); dist.barrier()
if dist.get_rank() == 1: raise ValueError("no data")
try: dist.barrier()
except RuntimeError as caught: sys.stdout.write(f"{caught}\\n"); sys.stdout.flush(); raise
"""
    status, out, err = by_mpiexec(tmp_path, code)
    assert status != 0
    assert "ValueError: no data" in err
    told = [line for line in out.splitlines() if line.startswith("Connection closed by peer")]
    assert all("rank 1 ended by ValueError: no data before barrier" in line for line in told)

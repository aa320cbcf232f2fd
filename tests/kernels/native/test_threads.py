"""The pool of threads under the loops in C: pieces, nesting, several callers, forks, limits.

Every program runs in an interpreter of its own. Pieces are functions in Python, which take the
interpreter's lock in whichever thread they run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from retrograd.kernels.native import loops, threads

needs_pool = pytest.mark.skipif(loops is None, reason="the loops in C are not built")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

PRELUDE = """
import ctypes, os, sys, threading
from retrograd.kernels.native import loops
Chunk = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
run = ctypes.CFUNCTYPE(None, Chunk, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(loops.POOL_RUN)

def pieces(n, grain, inside=lambda: None):
    "The pieces that ran, in order, and the threads that they ran in."
    found = []
    def chunk(_, begin, end):
        inside()
        found.append((begin, end, threading.get_native_id()))
    run(Chunk(chunk), None, n, grain)
    return sorted(piece[:2] for piece in found), {piece[2] for piece in found}
"""


def printed(program, count="loops.set_threads(4)"):
    """What a program prints in a fresh interpreter, with four threads whatever the machine has."""
    code = PRELUDE + count + "\n" + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "RETROGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": ""},
    )
    return done.stdout.strip()


@needs_pool
@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 1000])
def test_pieces_cover_a_range_once_and_are_cut_by_the_grain_alone(n):
    expected = [(begin, min(begin + 10, n)) for begin in range(0, n, 10)]
    assert printed(f"print(pieces({n}, 10)[0])") == str(expected)


@needs_pool
def test_several_threads_take_part():
    program = """
    met = threading.Barrier(4, timeout=60)  # lets nobody through until all four are there
    print(len(pieces(4, 1, met.wait)[1]))
    """
    assert printed(program) == "4"


@needs_pool
def test_with_one_thread_the_caller_runs_all_pieces():
    program = "loops.set_threads(1); print(pieces(8, 1)[1] == {threading.get_native_id()})"
    assert printed(program) == "True"


@needs_pool
def test_a_range_within_a_piece_runs_in_the_thread_of_the_piece():
    program = """
    alone = []
    def inside():
        inner, who = pieces(6, 2)
        alone.append(who == {threading.get_native_id()} and inner == [(0, 2), (2, 4), (4, 6)])
    print(pieces(8, 1, inside)[0] == [(i, i + 1) for i in range(8)], alone == [True] * 8)
    """
    assert printed(program) == "True True"


@needs_pool
def test_callers_in_several_threads_each_get_their_pieces():
    program = """
    right = []
    def call():
        for _ in range(200):
            right.append(pieces(40, 3)[0] == [(i, min(i + 3, 40)) for i in range(0, 40, 3)])
    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers: caller.start()
    for caller in callers: caller.join()
    print(len(right), all(right))
    """
    assert printed(program) == "800 True"


@needs_pool
@needs_fork
def test_a_forked_child_has_a_pool_of_its_own():
    program = """
    import signal
    pieces(8, 1)
    met = threading.Barrier(4, timeout=60)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(len(pieces(4, 1, met.wait)[1]))
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(pieces(4, 1, met.wait)[1]))
    """
    assert printed(program) == "4 4"


@needs_pool
@needs_fork
def test_a_child_forked_while_another_thread_runs_a_range_runs_its_own():
    program = """
    import signal
    begun, forked = threading.Event(), threading.Event()
    def inside():
        begun.set()
        forked.wait(60)
    other = threading.Thread(target=pieces, args=(8, 1, inside))
    other.start()
    begun.wait(60)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        os._exit(len(pieces(40, 3)[0]))
    forked.set()
    other.join()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    assert printed(program) == "14"


@needs_pool
def test_importing_the_package_lets_loops_use_all_processors():
    program = f"""
    met = threading.Barrier({threads.available()}, timeout=60)
    print(len(pieces(met.parties, 1, met.wait)[1]) == met.parties)
    """
    assert printed(program, count="") == "True"


def asked(**environment):
    program = "from retrograd.kernels.native import threads; print(threads.threads())"
    clean = {"RETROGRAD_NUM_THREADS": "", "OMP_NUM_THREADS": "", "RETROGRAD_NATIVE": "0"}
    env = {**os.environ, **clean, **environment}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env
    )
    return int(done.stdout)


def test_the_environment_sets_the_number_of_threads():
    assert asked() == threads.available()
    assert asked(OMP_NUM_THREADS="3,2") == 3
    assert asked(OMP_NUM_THREADS="3", RETROGRAD_NUM_THREADS="1") == 1
    assert asked(RETROGRAD_NUM_THREADS="many") == threads.available()


def test_there_are_no_more_threads_than_processors_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    monkeypatch.setattr(threads, "quota", lambda: float("inf"))
    assert threads.available() == 3


@pytest.mark.parametrize(
    ("granted", "limit"), [("max", 8), ("150000", 2), ("400000", 4), ("1000", 1), ("garbage", 8)]
)
def test_a_container_of_version_2_limits_the_threads(tmp_path, monkeypatch, granted, limit):
    (tmp_path / "cpu.max").write_text(f"{granted} 100000\n")
    granted = threads.quota(str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "quota", lambda: granted)
    assert threads.available() == limit


@pytest.mark.parametrize(("granted", "processors"), [("250000", 2.5), ("-1", float("inf"))])
def test_so_does_one_of_version_1(tmp_path, granted, processors):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(granted)
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert threads.quota(str(tmp_path)) == processors

"""Processes: what a forked child may count on, and tensors that go to another process.

Every program runs in an interpreter of its own, so that threads and forks of one test touch no
other. A child that hangs is ended by an alarm, which the parent reports.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import os, signal, sys, threading, time
import retrograd as rg
from retrograd import locks, modes
from retrograd.engine.transforms.watch import Watcher

def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)

def in_child(function):
    "Run `function` in a forked child; raise unless it returns."
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(60)
            function()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0, "the child failed, or hung"

def thread(function):
    started = threading.Thread(target=function, daemon=True)
    started.start()
    return started
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(program, path, *options):
    """Run a program after the prelude; its output, once it has ended well."""
    file = path / "program.py"
    file.write_text(PRELUDE + textwrap.dedent(program))
    ignore = ["-W", "ignore::DeprecationWarning"]  # of forks beside threads, from CPython 3.12 on
    done = subprocess.run(
        [sys.executable, *ignore, *options, str(file)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr, done.stderr
    return done.stdout


@needs_fork
def test_children_forked_while_threads_work_compute_differentiate_and_draw(tmp_path):
    program = """
    sys.setswitchinterval(1e-6)
    x, w, stop = leaf(1, 2, 3), rg.zeros(3), threading.Event()

    def pack(t):
        return t

    def work(n):
        while not stop.is_set():
            (x * x.exp()).sum().backward()
            rg.rand(100)
            with rg.no_grad():
                w[n:].mul_(1)
            with Watcher(), rg.autograd.graph.saved_tensors_hooks(pack, pack):
                x.detach().clone().requires_grad_().exp().sum().backward()

    threads = [thread(lambda n=n: work(n)) for n in range(3)]
    while x.grad is None:
        time.sleep(1e-3)

    def child():
        assert threading.active_count() == 1
        assert modes.special == 0
        y = leaf(1, 2)
        hooked = []
        z = y.exp()
        z.register_hook(lambda g: hooked.append(g))
        z[:1].sum().backward(retain_graph=True)
        before = x.grad._array.copy()
        x.sum().backward()
        assert (x.grad._array == before + 1).all()  # the sum as it is rounded
        with rg.no_grad():
            x[1:].add_(1)
        assert rg.rand(3).shape == (3,) and len(hooked) == 1
        inner = thread(lambda: (y * y).sum().backward())
        inner.join(30)
        assert not inner.is_alive()

    for _ in range(25):
        in_child(child)
    stop.set()
    for each in threads:
        each.join()
    """
    run(program, tmp_path)


@needs_fork
def test_a_fork_waits_for_what_another_thread_is_writing(tmp_path):
    program = """
    held, order = threading.Event(), []

    def work():
        with locks.structure, locks.LEAVES[3]:
            held.set()
            time.sleep(0.05)
            order.append("written")

    thread(work)
    held.wait()

    def child():
        assert order == ["written"]
        for lock in (locks.structure, *locks.LEAVES):
            free = []
            thread(lambda: free.append(lock.acquire(timeout=10))).join()
            assert free == [True]

    in_child(child)
    assert locks.structure.acquire(timeout=10)
    """
    run(program, tmp_path)


@needs_fork
def test_an_interrupt_that_comes_while_a_fork_waits_comes_after_it_and_leaves_no_lock(tmp_path):
    program = """
    held = threading.Event()

    def work():
        with locks.structure:
            held.set()
            while not locks._held:  # the fork has begun
                time.sleep(1e-3)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.05)

    other = thread(work)
    held.wait()
    pid = -1
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        time.sleep(60)
        print("nothing came")
    except KeyboardInterrupt:
        os.wait()
    other.join()
    for lock in (locks._forking, locks._gate, locks.structure, *locks.LEAVES):
        free = []
        thread(lambda: free.append(lock.acquire(timeout=10))).join()
        assert free == [True]
    """
    assert run(program, tmp_path) == ""


@needs_fork
def test_an_interrupt_during_a_fork_is_not_lost_in_what_others_run_after_it(tmp_path):
    program = """
    def after():  # what is raised here is printed, and forgotten
        for _ in range(100):
            time.sleep(1e-3)

    def work():
        with locks.structure:
            held.set()
            while not locks._held:  # the fork has begun
                time.sleep(1e-3)
            os.kill(os.getpid(), signal.SIGINT)

    os.register_at_fork(after_in_parent=after)
    held = threading.Event()
    other = thread(work)
    held.wait()
    try:
        if os.fork() == 0:
            os._exit(0)
        time.sleep(60)
        print("nothing came")
    except KeyboardInterrupt:
        os.wait()
    other.join()
    """
    assert run(program, tmp_path) == ""


@needs_fork
def test_a_child_draws_the_parents_numbers_until_it_is_seeded(tmp_path):
    program = """
    rg.manual_seed(1)
    own = rg.Generator().manual_seed(2)
    rg.rand(5)

    def child():
        print(rg.rand(3).tolist() + rg.rand(2, generator=own).tolist())
        rg.manual_seed(7)
        print(rg.rand(3).tolist())

    in_child(child)
    print(rg.rand(3).tolist() + rg.rand(2, generator=own).tolist())
    rg.manual_seed(7)
    print(rg.rand(3).tolist())
    """
    lines = run(program, tmp_path).splitlines()
    assert lines[:2] == lines[2:]
    assert lines[0][:20] != lines[1][:20]


@needs_fork
def test_a_child_keeps_the_modes_of_the_thread_that_forked_and_no_others(tmp_path):
    program = """
    entered, leave = threading.Semaphore(0), threading.Event()

    def work():
        with rg.inference_mode(), Watcher():
            entered.release()
            leave.wait()

    threads = [thread(work) for _ in range(3)]
    for _ in threads:
        entered.acquire()
    assert modes.special == 3

    def in_default_mode():
        assert modes.special == 0
        assert (leaf(1) * 2).requires_grad

    def in_no_grad():
        assert modes.special == 1
        assert not (leaf(1) * 2).requires_grad

    in_child(in_default_mode)
    with rg.no_grad(), Watcher():
        in_child(in_no_grad)
    leave.set()
    for each in threads:
        each.join()
    assert modes.special == 0
    """
    run(program, tmp_path)


@needs_fork
def test_a_child_may_finish_the_graph_of_its_parent(tmp_path):
    program = """
    x = leaf(1, 2)
    y = (x * x).sum()

    def child():
        y.backward()
        assert x.grad.tolist() == [2, 4]

    in_child(child)
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [2, 4]
    """
    run(program, tmp_path)


@pytest.mark.parametrize("method", [pytest.param("fork", marks=needs_fork), "spawn"])
def test_tensors_go_to_worker_processes_and_come_back(method, tmp_path):
    program = f"""
    import multiprocessing

    def gradient(task):
        model, x, target = task
        loss = ((model(x) - target) ** 2).sum()
        loss.backward()
        return loss.detach(), [p.grad for p in model.parameters()]

    def kinds(t):
        return t, t.requires_grad, t.is_leaf, str(t.dtype), t._version

    if __name__ == "__main__":
        model = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.Tanh(), rg.nn.Linear(4, 2))
        tasks = [(model, rg.randn(5, 3), rg.randn(5, 2)) for _ in range(6)]
        context = multiprocessing.get_context({method!r})
        with context.Pool(2) as pool:
            found = pool.map(gradient, tasks)
            sent = [leaf(1, 2), rg.tensor([1 + 2j]), rg.ones(2, 3).t()[1:], rg.arange(3),
                    rg.nn.Parameter(rg.ones(2)), rg.zeros(0, 2)]
            back = pool.map(kinds, sent)
        for task, (loss, grads) in zip(tasks, found):
            model.zero_grad()
            expected, own = gradient(task)
            assert rg.allclose(loss, expected)
            assert all(rg.allclose(a, b) for a, b in zip(grads, own))
        for given, (t, requires_grad, is_leaf, dtype, version) in zip(sent, back):
            assert type(t) is type(given) and t.shape == given.shape and rg.equal(t, given)
            assert t.requires_grad == requires_grad == given.requires_grad
            assert is_leaf and dtype == str(given.dtype) and version == 0
    """
    run(program, tmp_path)


@pytest.mark.parametrize("mode", ["rg.set_grad_enabled(False)", "rg.inference_mode().__enter__()"])
def test_an_interpreter_that_ends_in_another_mode_ends_quietly(mode, tmp_path):
    program = f"""
    {mode}
    ready = threading.Event()

    def work():
        {mode}
        ready.set()
        time.sleep(60)

    thread(work)
    ready.wait()
    """
    assert run(program, tmp_path) == ""

"""`retrograd.multiprocessing`: processes that work on the same tensors."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

import retrograd as rg
from retrograd.torch import multiprocessing as mp

HOW = ["fork", "spawn"]


def add_one(queue, answers):
    tensor = queue.get()
    tensor.add_(1)
    answers.put((tensor.sum().item(), tensor.is_shared()))
    queue.get()


def put(queue, tensor):
    queue.put(tensor)


def fill(i, tensor):
    tensor[i] = i + 1


def fail(i, tensor):
    if i == 1:
        raise ValueError("the second one fails")


def fail_at_length(i):
    raise ValueError("x" * (1 << 20))


def die(i):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(i):
    sys.exit(3)


def descend(i, model, x, y):
    step = rg.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(300):
        step.zero_grad()
        rg.nn.functional.mse_loss(model(x), y).backward()
        step.step()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[::2, 1:].t()])
def test_a_shared_tensor_in_a_queue_is_the_same_memory_there(how, view):
    context = mp.get_context(how)
    queue, answers = context.Queue(), context.Queue()
    process = context.Process(target=add_one, args=(queue, answers))
    process.start()
    whole = rg.zeros(6, 5).share_memory_()
    part = view(whole)
    queue.put(part)
    assert answers.get(timeout=300) == (part.numel(), True)  # what cannot be sent never comes
    queue.put(None)
    process.join()
    assert whole.sum() == part.numel()
    assert (part == 1).all()


def test_a_shared_tensor_goes_through_a_queue_where_the_folder_of_temporary_files_is_deep(tmp_path):
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    code = """
import retrograd as rg
from retrograd import multiprocessing as mp
queue = mp.get_context("fork").Queue()
x = rg.ones(3).share_memory_()
queue.put(x)
queue.get(timeout=60).add_(1)
print(x.tolist())
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(deep)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("[2.0, 2.0, 2.0]\n", "")
    assert not list(deep.iterdir())


def test_a_tensor_in_a_queue_that_is_not_shared_is_copied():
    queue = mp.get_context("fork").SimpleQueue()
    x = rg.ones(3)
    queue.put(x)
    got = queue.get()
    got.add_(1)
    assert (x == 1).all()
    assert not got.is_shared()


@pytest.mark.parametrize("how", HOW)
def test_spawned_processes_write_what_they_are_given(how):
    x = rg.zeros(3).share_memory_()
    assert mp.start_processes(fill, (x,), 3, start_method=how) is None
    assert x.tolist() == [1, 2, 3]


def test_arguments_of_a_process_started_afresh_become_shared():
    x = rg.zeros(2)
    mp.spawn(fill, (x,), 2)
    assert x.is_shared()
    assert x.tolist() == [1, 2]


def test_hogwild_trains_one_model_from_several_processes():
    rg.manual_seed(0)
    x = rg.randn(64, 3)
    y = x @ rg.tensor([[1.0], [2.0], [3.0]]) + 4
    model = rg.nn.Linear(3, 1).share_memory()
    mp.start_processes(descend, (model, x, y), 2, start_method="fork")
    assert rg.allclose(model.weight, rg.tensor([[1.0, 2.0, 3.0]]), atol=1e-5)
    assert rg.allclose(model.bias, rg.tensor([4.0]), atol=1e-5)


def test_an_error_in_a_process_is_raised_with_its_traceback():
    with pytest.raises(mp.ProcessRaisedException, match="the second one fails") as caught:
        mp.start_processes(fail, (None,), 2, start_method="fork")
    assert caught.value.error_index == 1
    assert "Process 1 terminated with the following error" in str(caught.value)


def test_an_error_that_is_longer_than_a_pipe_is_raised():
    with pytest.raises(mp.ProcessRaisedException, match=r"x{1000}"):
        mp.start_processes(fail_at_length, (), 2, start_method="fork")


def test_processes_end_where_not_all_can_start(monkeypatch):
    started, start = [], multiprocessing.Process.start

    def once(process):
        if started:
            raise OSError("no more processes")
        start(process)
        started.append(process)

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", once)
    with pytest.raises(OSError, match="no more processes"):
        mp.start_processes(time.sleep, (), 2, start_method="fork")
    assert not started[0].is_alive()


@pytest.mark.parametrize(
    ("function", "code", "text"), [(die, -9, "signal SIGKILL"), (leave, 3, "exit code 3")]
)
def test_a_process_that_ends_is_an_error(function, code, text):
    with pytest.raises(mp.ProcessExitedException, match=text) as caught:
        mp.start_processes(function, (), 1, start_method="fork")
    assert caught.value.exit_code == code


def test_without_join_the_processes_are_given():
    x = rg.zeros(2).share_memory_()
    started = mp.start_processes(fill, (x,), 2, join=False, start_method="fork")
    assert len(started.pids()) == 2
    while not started.join():
        pass
    assert x.tolist() == [1, 2]


def test_a_tensor_with_a_history_cannot_be_sent():
    x = rg.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"non-leaf tensor which requires_grad.*detach"):
        mp.reductions.reduce_tensor(x)


def test_a_parameter_that_is_sent_is_one():
    queue = mp.get_context("fork").SimpleQueue()
    weight = rg.nn.Parameter(rg.ones(2)).share_memory_()
    queue.put([weight, weight])
    first, second = queue.get()
    assert first is second
    assert isinstance(first, rg.nn.Parameter)
    assert first.requires_grad
    with rg.no_grad():
        first.fill_(5)
    assert weight.tolist() == [5, 5]


def test_one_file_descriptor_serves_many_small_tensors():
    before = len(os.listdir("/dev/fd"))
    kept = [rg.ones(10).share_memory_() for _ in range(50)]
    assert len(os.listdir("/dev/fd")) <= before + 4
    assert all((x == 1).all() for x in kept)


PROGRAM = """
import torch
import torch.multiprocessing as mp

def work(i, x):
    x[i] = i + 1

if __name__ == "__main__":
    x = torch.zeros(2)
    mp.spawn(work, (x,), 2)
    print(x)
"""


def test_a_process_that_a_program_starts_afresh_knows_the_alias(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, "-m", "retrograd", "run", str(script)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.stdout == "tensor([1., 2.])\n", done.stderr

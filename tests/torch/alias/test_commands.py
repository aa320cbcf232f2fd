"""The command `retrograd`: pictures of programs, and programs whose loaders have workers."""

from __future__ import annotations

import subprocess
import sys
import time

from tests.test_import import run
from tests.utils.test_workers import gone

SCRIPT = """
import torch

x = torch.ones(2, requires_grad=True)
x.exp().sum().backward()
x.sin().sum().backward()
"""


def retrograd(*arguments, folder):
    command = [sys.executable, "-m", "retrograd", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_draws_the_last_backward_pass_of_a_program(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    done = retrograd("graph", "script.py", "picture.txt", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "picture.txt\n"), done.stderr
    assert "1  Sin   float32 2" in (tmp_path / "picture.txt").read_text()


def test_the_command_says_that_a_program_ran_no_backward_pass(tmp_path):
    (tmp_path / "script.py").write_text("import torch")
    done = retrograd("graph", "script.py", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "script.py ran no backward pass, so there is no graph to draw\n"


PROGRAM = """
import os, signal, sys, time
import torch
from torch.utils.data import DataLoader, Dataset

class Ones(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, index):
        return torch.full((2,), index)

if __name__ == "__main__":
    for kind in ("spawn", "forkserver"):
        loader = DataLoader(Ones(), 2, num_workers=2, multiprocessing_context=kind)
        print([batch[:, 0].tolist() for batch in loader])
    batches = iter(DataLoader(Ones(), 2, num_workers=2))
    print(*[worker.pid for worker in batches._workers], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_spawned_worker_knows_the_alias_and_none_outlives_its_program(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, "-m", "retrograd", "run", script],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    *found, pids = run.stdout.splitlines()
    assert found == ["[[0, 1], [2, 3], [4, 5]]"] * 2, run.stderr
    until = time.monotonic() + 300
    while not all(dead(int(pid)) for pid in pids.split()):
        assert time.monotonic() < until
        time.sleep(0.05)


def dead(pid):
    """Whether a process that is nobody's child here has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return gone([pid])


def test_running_an_empty_program_loads_the_alias_alone(tmp_path):
    script = tmp_path / "empty.py"
    script.write_text("")
    code = f"""
import sys, retrograd
before = set(sys.modules)
from retrograd.torch.alias.command import main
status = main(["run", {str(script)!r}])
print(status, *sorted(set(sys.modules) - before))
"""
    own = [f"retrograd.torch.alias{part}" for part in ("", ".command", ".finder", ".module_names")]
    pythons = {"pkgutil", "runpy", "importlib.machinery", "importlib.util", "zipimport"}
    status, *loaded = run(code).split()
    assert status == "0"
    assert [name for name in loaded if name not in pythons] == own

"""The command `retrograd`: pictures of programs, and programs whose loaders have workers."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
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


def test_another_ending_of_a_picture_is_refused_before_the_program_runs(tmp_path):
    (tmp_path / "script.py").write_text("print('trained')")
    done = retrograd("graph", "script.py", "g.png", folder=tmp_path)
    said = "retrograd: a picture is saved as .html, .svg or .txt, not as 'g.png': for example "
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"{said}'g.svg', which a browser shows and prints\n",
    )


@pytest.mark.parametrize("command", [["run"], ["check"], ["graph"]])
def test_a_file_that_is_not_there_is_one_line(tmp_path, command):
    done = retrograd(*command, "none.py", folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, "retrograd: no such file: none.py\n")


def test_a_module_that_is_not_there_is_one_line(tmp_path):
    done = retrograd("run", "-m", "none.such", folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, "retrograd: no module named none.such\n")


def test_a_check_says_what_it_read(tmp_path):
    (tmp_path / "script.py").write_text(
        "import torch, os, numpy, helper, torchmetrics\n"
        "x = torch.ones(1, device='cuda')\nx.cuda()\n"
    )
    (tmp_path / "helper.py").write_text("")
    done = retrograd("check", "script.py", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "1 file, 2 names of torch: nothing is missing",
        "other libraries, which were not read: torchmetrics (not installed)",
        "cuda is named at script.py:2 and 1 more: tensors live on the cpu alone",
    ]


def test_a_device_that_is_asked_for_is_no_finding(tmp_path):
    (tmp_path / "script.py").write_text(
        "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "if torch.cuda.is_available():\n    torch.ones(1).cuda()\ntorch.onse(1)\n"
    )
    done = retrograd("check", "script.py", folder=tmp_path)
    assert done.returncode == 1
    missing = "script.py:5: torch.onse is not in Retrograd. The nearest name is torch.ones.\n"
    assert (done.stdout, done.stderr) == (missing, "1 file, 5 names of torch: 1 is missing\n")


def test_two_names_are_missing(tmp_path):
    (tmp_path / "script.py").write_text("import torch\ntorch.onse(1)\ntorch.zersos(1)\n")
    assert retrograd("check", "script.py", folder=tmp_path).stderr.endswith("2 are missing\n")


def test_a_package_that_a_name_needs_is_told_and_torch_has_itself(tmp_path):
    (tmp_path / "script.py").write_text(
        "import torch\ntorch.utils.tensorboard.SummaryWriter()\ntorch.torch.ones(1)\n"
    )
    (tmp_path / "tensorboardX.py").write_text("raise ImportError('not here')\n")
    done = retrograd("check", "script.py", folder=tmp_path)
    told = "retrograd.utils.tensorboard writes by tensorboardX: pip install tensorboardX"
    assert done.stdout == f"script.py:2: torch.utils.tensorboard: {told}\n"


def test_a_hint_is_given_only_where_a_name_is_near(tmp_path):
    (tmp_path / "script.py").write_text("import torch\ntorch.qqqqq\n")
    done = retrograd("check", "script.py", folder=tmp_path)
    assert done.stdout.startswith("script.py:2: torch.qqqqq is not in Retrograd.\n")
    near = retrograd("chekc", folder=tmp_path).stderr
    assert near.endswith("retrograd: no command 'chekc'. Did you mean: retrograd check?\n")
    assert retrograd("qqqqq", folder=tmp_path).stderr.endswith("retrograd: no command 'qqqqq'\n")


def test_a_file_that_is_no_python_is_one_line(tmp_path):
    (tmp_path / "script.py").write_text("import torch\nprint 1\n")
    done = retrograd("check", "script.py", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("retrograd: script.py:2: this is no Python: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "retrograd", "doctor"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.stderr == ""


def test_a_program_that_is_no_python_shows_its_own_line_alone(tmp_path):
    (tmp_path / "script.py").write_text("import torch\ntorch.ones(\n")
    done = retrograd("run", "script.py", folder=tmp_path)
    lines = done.stderr.splitlines()
    assert (done.returncode, lines[0]) == (1, '  File "script.py", line 2')
    assert lines[-1].startswith("SyntaxError: ")


def test_a_traceback_begins_in_the_program(tmp_path):
    (tmp_path / "script.py").write_text("import torch\ntorch.ones(2, 3) @ torch.ones(2)\n")
    done = retrograd("run", "script.py", folder=tmp_path)
    head, first, *_ = done.stderr.splitlines()
    assert (head, first.split(", in ")[0]) == (
        "Traceback (most recent call last):",
        '  File "script.py", line 2',
    )


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

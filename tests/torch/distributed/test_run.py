"""`distributed.run`, PyTorch's `torchrun`: a program started several times, as one group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from retrograd.torch.distributed import run

TRAINED = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

dist.init_process_group("gloo")
torch.manual_seed(0)
x = torch.randn(32, 4)
data = TensorDataset(x, x.sum(1, keepdim=True))
model = DDP(torch.nn.Linear(4, 1))
sampler = DistributedSampler(data)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=4, sampler=sampler):
        loss = torch.nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    dist.all_reduce(loss)
    if int(os.environ["LOCAL_RANK"]) == 0:
        print(loss.item(), dist.get_world_size(), dist.is_torchelastic_launched())
dist.destroy_process_group()
"""


def launch(folder, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A script that `retrograd run -m torch.distributed.run` starts twice."""
    script = folder / "script.py"
    script.write_text(dedent(code))
    source = str(Path(run.__file__).parents[3])
    command = [sys.executable, "-m", "retrograd", "run", "-m", "torch.distributed.run"]
    return subprocess.run(
        [*command, "--nproc_per_node=2", "--standalone", *options, str(script), "one", "--two"],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_two_processes_train_one_model_as_pytorchs_do(tmp_path):
    ran = launch(tmp_path, TRAINED)
    assert ran.returncode == 0, ran.stderr
    losses, *others = zip(*map(str.split, ran.stdout.splitlines()), strict=True)
    by_torchrun = [2.299989, 1.474935, 0.033564]  # PyTorch 2.13
    assert list(map(float, losses)) == pytest.approx(by_torchrun, abs=1e-6)
    assert others == [("2",) * 3, ("True",) * 3]


def test_each_process_gets_pytorchs_variables_and_the_arguments(tmp_path):
    code = """
    import os, sys
    names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR"
    said = [os.environ[name] for name in names.split()] + sys.argv[1:] + [os.environ["MASTER_PORT"]]
    sys.stdout.write(" ".join(said) + "\\n")  # at once, where print would let the other in between
    """
    first, second = sorted(launch(tmp_path, code).stdout.splitlines())
    said, _, port = first.rpartition(" ")
    assert said == "0 0 2 2 0 127.0.0.1 one --two"
    assert second == f"1 1 2 2 0 127.0.0.1 one --two {port}"
    assert int(port) > 0


def test_a_process_that_fails_ends_the_others_with_its_traceback_and_status(tmp_path):
    code = """
    import os, signal, sys
    if os.environ["RANK"] == "0":
        signal.pause()
    try:
        raise ValueError("no data")
    except ValueError:
        sys.excepthook(*sys.exc_info())
    sys.exit(7)
    """
    ran = launch(tmp_path, code)
    assert ran.returncode == 7
    assert "ValueError: no data" in ran.stderr
    assert "rank 1 of 2" in ran.stderr


def test_all_processes_start_again_after_a_failure_where_that_is_asked(tmp_path):
    code = """
    import os, sys
    again = os.environ["TORCHELASTIC_RESTART_COUNT"] == "1"
    print("again" if again else "", end="", flush=True)
    sys.exit(not again and os.environ["RANK"] == "1")
    """
    ran = launch(tmp_path, code, "--max-restarts=1")
    assert (ran.returncode, ran.stdout) == (0, "againagain")


@pytest.mark.parametrize(
    "line",
    ["--nnodes=2 x", "--node_rank=1 x", "--nproc_per_node=gpu x", "--nproc_per_node=0 x"],
)
def test_other_machines_and_devices_are_refused(line, capsys):
    with pytest.raises(SystemExit) as stopped:
        run.main(line.split())
    assert stopped.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_the_port_of_an_endpoint_is_the_place_to_meet():
    said = run._parser().parse_args(["--rdzv-endpoint=127.0.0.1:4321", "x.py"])
    assert run._meeting(said) == ("127.0.0.1", 4321)

"""`distributed.run`, PyTorch's `torchrun`: a program started several times, as one group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from retrograd.torch.distributed import run
from retrograd.torch.distributed.engine import processes
from retrograd.torch.distributed.engine.connections import reserved

from . import kills
from .together import together

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
SOURCE = str(Path(run.__file__).parents[3])
SSH = """#!/bin/sh
shift
exec env -i sh -c "$*"
"""


def test_two_processes_train_one_model_as_pytorchs_do(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TRAINED)
    ran = subprocess.run(
        [sys.executable, "-m", "retrograd", "launch", "-n", "2", str(script)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    _, marks, losses, *others = zip(*map(str.split, ran.stdout.splitlines()), strict=True)
    by_torchrun = [2.299989, 1.474935, 0.033564]  # PyTorch 2.13
    assert marks == ("0]",) * 3
    assert list(map(float, losses)) == pytest.approx(by_torchrun, abs=1e-6)
    assert others == [("2",) * 3, ("True",) * 3]


def shell(code, *options):
    """The status of a shell's program that is started twice."""
    try:
        run.main(["-n", "2", *options, "--no-python", "sh", "-c", code, "sh", "one", "--two"])
    except SystemExit as ended:
        return ended.code
    return 0


def test_each_process_gets_pytorchs_variables_and_the_arguments(capfd):
    code = """
    said="$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $ROLE_NAME $MASTER_ADDR"
    echo $said "$@" $MASTER_PORT
    """
    assert shell(code, "--role=worker") == 0
    first, second = sorted(capfd.readouterr().out.splitlines())
    said, _, port = first.rpartition(" ")
    assert said == "0 0 2 2 0 worker 127.0.0.1 one --two"
    assert second == f"1 1 2 2 0 worker 127.0.0.1 one --two {port}"
    assert int(port) > 0


def test_processes_share_the_cores_and_hear_nothing_of_mpiexec(capfd, monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 7)
    monkeypatch.setenv("PMI_RANK", "5")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    code = "echo $OMP_NUM_THREADS$PMI_RANK"
    shell(code)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    shell(code)
    assert capfd.readouterr().out.split() == ["3", "3", "4", "4"]


def test_the_first_that_fails_ends_the_others_and_is_named_with_its_error(capfd):
    code = """
    if [ $RANK = 0 ]; then exec sleep 100; fi
    echo 'Traceback: ...\nmy.DataError: no data\nin two lines' >&2; exit 7
    """
    assert shell(code) == 7
    *told, last = capfd.readouterr().err.splitlines()
    assert told == ["Traceback: ...", "my.DataError: no data", "in two lines"]
    assert last.startswith("rank 1 of 2 (process ")
    assert last.endswith(" ended with 7: my.DataError: no data; the others were stopped")


def test_of_those_that_failed_at_once_one_is_named_that_did_not_miss_another(capfd, monkeypatch):
    monkeypatch.setattr(processes, "PAUSE", 1.0)
    code = "test $RANK = 1 || echo 'a.DistNetworkError: rank 1 ended' >&2; exit $((3 + $RANK))"
    assert shell(code) == 4
    assert "rank 1 of 2" in capfd.readouterr().err


def test_all_processes_start_again_after_a_failure_where_that_is_asked(capfd):
    code = "echo $RANK $TORCHELASTIC_RESTART_COUNT; test $RANK$TORCHELASTIC_RESTART_COUNT != 10"
    assert shell(code) == 1
    capfd.readouterr()
    assert shell(code, "--max-restarts=3") == 0
    assert sorted(capfd.readouterr().out.splitlines()[-2:]) == ["0 1", "1 1"]


def test_lines_begin_with_the_rank_where_that_is_asked(capfd):
    assert shell("printf 'one\\rtwo\\nthree'; echo four >&2", "-t", "3") == 0
    out, err = capfd.readouterr()
    for rank in "01":
        said = [line for line in out.replace("\r", "\n").splitlines() if f"[rank {rank}]" in line]
        assert said == [f"[rank {rank}] {text}" for text in ("one", "two", "three")]
    assert sorted(err.splitlines()) == ["[rank 0] four", "[rank 1] four"]


def test_signals_are_passed_on_and_one_that_ends_programs_ends_the_run(tmp_path):
    code = """
    trap 'touch used.$RANK' USR1; trap 'touch ended.$RANK; exit 0' INT; touch there.$RANK
    while true; do sleep 0.05; done
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGUSR1)}

    def interrupt():
        for kind, number in (("there", signal.SIGUSR1), ("used", signal.SIGINT)):
            while len([*tmp_path.glob(f"{kind}.*")]) < 2:
                time.sleep(0.01)
            os.kill(os.getpid(), number)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert shell(code, "--max-restarts=3") == 128 + signal.SIGINT
    assert len([*tmp_path.glob("ended.*")]) == 2
    assert {number: signal.getsignal(number) for number in before} == before


def test_a_process_that_does_not_obey_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(processes, "PATIENCE", 0.5)
    monkeypatch.chdir(tmp_path)
    code = """
    if [ $RANK = 0 ]; then trap '' TERM; touch there; while true; do sleep 0.05; done; fi
    while [ ! -e there ]; do sleep 0.05; done; kill -9 $$
    """
    assert shell(code) == 128 + signal.SIGKILL


def test_ssh_starts_the_launchers_of_a_file_of_machines(capfd, monkeypatch, tmp_path):
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o700)
    (tmp_path / "hosts").write_text("127.0.0.1 slots=2\n# none\nother:1  # the second\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", SOURCE)
    monkeypatch.setenv("RETROGRAD_DISTRIBUTED_KEY", "it's")
    monkeypatch.chdir(tmp_path)
    code = """
    if [ $RANK$TORCHELASTIC_RESTART_COUNT = 20 ]; then exit 3; fi
    if [ $TORCHELASTIC_RESTART_COUNT = 0 ]; then exec sleep 100; fi
    echo $PWD $RETROGRAD_DISTRIBUTED_KEY $MASTER_ADDR $WORLD_SIZE $GROUP_RANK $LOCAL_RANK $RANK
    """
    with reserved("127.0.0.1") as port:
        place = ["--hosts=hosts", f"--master-port={port}", "--max-restarts=1"]
        run.main([*place, "--no-python", "sh", "-c", code])
    out, err = capfd.readouterr()
    ranks = ("0 0 0", "0 1 1", "1 0 2")
    assert sorted(out.splitlines()) == [f"{tmp_path} it's 127.0.0.1 3 {rank}" for rank in ranks]
    assert err.startswith("rank 2 of 3 (process ")
    assert " ended with 3; " in err


def test_a_run_that_is_killed_goes_on_from_its_last_checkpoint_to_the_same_bits():
    def undisturbed(folder, steps):
        code = f"from tests.torch.distributed.kills import train; train({str(folder)!r}, {steps})"
        together(code)

    wrong, told = kills.main(COUNT=2, undisturbed=undisturbed)
    assert not wrong, told


def test_a_machine_that_is_lost_ends_the_run(capfd):
    code = "if [ $GROUP_RANK = 1 ]; then kill -9 $PPID; else exec sleep 100; fi"
    with reserved("127.0.0.1") as port:
        place = ["--nnodes=2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{port}"]
        command = [*place, "--max-restarts=2", "--no-python", "sh", "-c", code]
        other = subprocess.Popen(
            [sys.executable, "-m", "retrograd.torch.distributed.run", *command],
            env={**os.environ, "PYTHONPATH": SOURCE},
        )
        with pytest.raises(SystemExit) as stopped:
            run.main(["--node-rank=0", *command])
    assert other.wait() == -signal.SIGKILL
    assert stopped.value.code == 1
    assert capfd.readouterr().err == "the launcher of machine 1 ended: all processes are stopped\n"


def test_a_machine_that_does_not_come_is_named(capfd, monkeypatch):
    monkeypatch.setattr(run, "COMING", 0.2)
    with reserved("127.0.0.1") as port, pytest.raises(SystemExit) as stopped:
        run.main(["--nnodes=2", f"--master-port={port}", "--node-rank=0", "x"])
    assert stopped.value.code == 1
    assert "missing are the ranks [1]" in capfd.readouterr().err


def machines(line):
    said = run._parser().parse_args([*line.split(), "x"])
    run._machines(said)
    return said.nnodes, said.node_rank, said.master_addr, said.master_port, said.nproc_per_node


def test_options_may_be_variables(monkeypatch):
    assert machines("") == (1, None, "127.0.0.1", 0, 1)
    assert machines("--nnodes=2:2 --rdzv-endpoint=[::1]:4321") == (2, None, "::1", 4321, 1)
    for name, value in {"NNODES": 3, "NODE_RANK": 2, "NPROC_PER_NODE": 4}.items():
        monkeypatch.setenv(f"PET_{name}", str(value))
    assert machines("-n 5") == (3, 2, "127.0.0.1", 29500, 5)
    assert machines("--standalone --node-rank=0")[0] == 1


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("a,b", "a"),
        ("node[007-010,12],other", "node007"),
        ("r[1-2]-ib", "r1-ib"),
        ("node-1.x,node-2.x", "node-1.x"),
    ],
)
def test_srun_says_which_machines_there_are(monkeypatch, nodes, first):
    monkeypatch.setenv("SLURM_STEP_NUM_NODES", "4")
    monkeypatch.setenv("SLURM_STEP_NODELIST", nodes)
    monkeypatch.setenv("SLURM_NODEID", "2")
    monkeypatch.setenv("SLURM_JOB_ID", "123456")
    assert machines("-n 8") == (4, 2, first, 13456, 8)
    assert machines("--nnodes=1")[0] == 1


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--nnodes=1:2", "the number of machines stays the same"),
        ("--node_rank=1", "machines are 0 to 0"),
        ("--nproc_per_node=gpu", "invalid _count value"),
        ("--nproc_per_node=0", "0 processes run nothing"),
        ("--hosts=/dev/null", "names no machine"),
        ("--no-python", "No such file or directory: '/none/such'"),
    ],
)
def test_lines_that_cannot_be_run_are_refused(line, why, capsys):
    with pytest.raises(SystemExit) as stopped:
        run.main([line, "/none/such"])
    assert stopped.value.code == 2
    assert why in capsys.readouterr().err

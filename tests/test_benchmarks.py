"""The benchmarks run: at a hundredth of their size, once, and without a look at the figures."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import retrograd as rg

from .torch.distributed.together import together

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def test_every_workload_runs_in_both_libraries(tmp_path):
    (tmp_path / "torch.py").write_text("import retrograd, sys; sys.modules[__name__] = retrograd")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "performance.py"), "--quick"],
        env=os.environ | {"TORCH_PYTHON": sys.executable, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")]
    named = [row[0].removeprefix("| ") for row in rows if " to " in row[2]]
    workloads = runpy.run_path(str(BENCHMARKS / "workloads.py"))["WORKLOADS"]
    assert named == [workload.name for workload in workloads]
    assert re.fullmatch(r"retrograd [\d.]+, torch [\d.]+ \|", rows[-1][-1])
    assert "The first step of a process takes longer" in done.stdout
    assert "x * y of       1,000 elements" in done.stdout


def test_what_is_below_its_aim_is_named_with_its_limit_and_its_cause(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    found = runpy.run_path(str(BENCHMARKS / "performance.py"))
    workload = found["workloads"].Workload("models", "x", None, 1.1, cause="Memory.")
    line = found["shortfall"](workload, (0.9, 0.8, 1.0), "77% of the product's rate")
    assert line == "- x: 0.90 measured, target 1.10, at 77% of the product's rate. Memory."
    assert found["shortfall"](workload, (1.1, 1.0, 1.2), "") is None


def test_the_speed_of_each_kind_of_workers_is_told():
    pytest.importorskip("PIL")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "loading.py"), "--quick"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert sorted(row[1] for row in rows) == ["fork", "none", "spawn", "thread"]


def test_compiled_steps_are_timed_beside_eager_ones():
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "compiled.py"), "--quick", "small graphs"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:] if line[:2] == "| "]
    workloads = runpy.run_path(str(BENCHMARKS / "workloads.py"))["WORKLOADS"]
    small = [workload.name for workload in workloads if workload.group == "small graphs"]
    assert [row[0].removeprefix("| ") for row in rows] == small  # no star: all are captured


def test_the_memory_of_each_model_is_told():
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "memory.py"), "--quick"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    workloads = runpy.run_path(str(BENCHMARKS / "workloads.py"))["WORKLOADS"]
    models = [workload.name for workload in workloads if workload.group == "models"]
    rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
    assert [row[0].removeprefix("| ") for row in rows] == models
    assert all(float(row[1]) >= 0 for row in rows)


def test_small_calls_and_layers_run_in_both_libraries(tmp_path):
    (tmp_path / "torch.py").write_text("import retrograd, sys; sys.modules[__name__] = retrograd")
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "small.py"), "--quick"],
        env=os.environ | {"TORCH_PYTHON": sys.executable, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert {"x + y", "Linear", "NLLLoss"} <= {line[:28].strip() for line in lines}
    assert lines[-1].startswith("geometric mean of the ratios to torch: ")


def test_the_picture_of_the_sweep_has_a_point_for_each_size(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    picture = runpy.run_path(str(BENCHMARKS / "performance.py"))["picture"]
    drawn = picture([(10, 2.0), (100, 1.0), (1000, 0.5)])
    assert 'points="50.0,20.0 335.0,150.0 620.0,280.0"' in drawn
    assert all(f">10^{n}</text>" in drawn for n in (1, 2, 3))


def test_reductions_are_timed_for_each_size():
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "distributed.py"), "1", "2"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line.split(" bytes")[0].split()[-1] for line in lines] == [
        "4", "4,096", "1,048,576", "67,108,864",
    ]  # fmt: skip
    assert all(line.endswith("ratio 1.00") for line in lines)


@pytest.fixture
def scaling(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "scaling.py")))


def test_collectives_take_what_their_closed_forms_say(scaling):
    inside, between = scaling.Link(3.0, 1.0, 0.0, 0.5), scaling.Link(30.0, 10.0, 0.0, 5.0)
    one = scaling.Machines(inside, between, call=7.0, add=0.25, ranks=64)
    two = one._replace(ranks=4)

    def takes(machines, way, name="all_reduce"):
        return machines.seconds(getattr(scaling, way)(machines, name, 800, 8))

    a, g, add, n, p = 5.0, 0.5, 0.25, 800, 8
    ring = 2 * (p - 1) * (a + (n / p - 1) * g) + (p - 1) / p * n * add
    tree = 2 * 3 * (a + (n - 1) * g) + 3 * n * add
    assert takes(one, "ring") == takes(one, "hierarchical") == ring
    assert takes(one, "tree") == tree
    gathered = 3 * (a + (n - 1) * g) + 3 * a + (7 * n / p - 3) * g
    assert takes(one, "tree", "all_gather") == gathered
    assert takes(one, "tree", "reduce_scatter") == gathered + 3 * n * add
    assert takes(two, "ring") == 10 * (ring - 7 / 8 * n * add) + 7 / 8 * n * add
    within = 2 * 3 * (a + (n / 4 - 1) * g) + 3 / 4 * n * add
    across = 2 * 1 * (10 * a + (n / 2 - 1) * 10 * g) + n / 2 / 4 * add
    assert takes(two, "hierarchical") == within + across
    agreed = 2 * 3 * (a + 15 * g) + 3 * 16 * add
    seconds, work = one.collective("all_reduce", 800, 8)
    assert seconds == 7 + agreed + min(ring, tree)
    assert work == 7 + 3 * 16 * add + (6 + 14) * 2 + 7 / 8 * n * add
    assert scaling.Link(3.0, 1.0, 9.0, 0.5).time(1) == 9


def test_what_travels_beside_a_step_takes_no_longer_than_the_longer_of_both(scaling):
    free = scaling.Machines(*[scaling.Link(0.0, 0.0, 0.0, 0.0)] * 2, call=0.0, add=0.0)
    slow = free._replace(call=5.0)  # all that a collective takes
    step = scaling.Step([1.0, 2.0, 4.0], [3.0, 6.0, 9.0], [2 << 20] * 3, 8.0)
    ddp, fsdp = scaling.data_parallel, scaling.fully_sharded
    assert step.alone() == 33
    for overlap in ("none", "shared", "spare"):
        assert ddp(step, free, 4, overlap) == 33
        assert fsdp(step, free, 4, overlap) == ddp(step, free, 4, overlap, shards=True) == 27
    assert ddp(step, slow, 4, "none", 1) == ddp(step, slow, 4, "shared", 1) == 33 + 3 * 5
    assert ddp(step, slow, 4, "spare", 1) == 7 + 9 + 6 + 2 * 5 + 8  # the first is hidden
    assert ddp(step, slow._replace(call=50.0), 4, "spare", 1) == 7 + 9 + 3 * 50 + 8
    assert ddp(step, slow, 4, "none") == 33 + 2 * 5  # of 2 MB and 4 MB
    assert fsdp(step, slow, 4, "none") == 27 + 9 * 5
    assert step.divided(2).alone() == (33 - 8) / 2 + 8


def test_the_tables_of_scaling_are_those_of_its_page_and_have_a_row_for_each_mode(scaling):
    assert scaling.PAGE.read_text().endswith(scaling.tables())
    rows = [line.split(" | ") for line in scaling.tables().splitlines() if line[:2] == "| "]
    assert [row[0] for row in rows[1:8]] == [f"| {mode}" for mode in scaling.MODES]
    assert len(rows) == 4 * 8
    assert all(0 < int(cell.rstrip("%")) < 200 for row in rows[1:8] for cell in row[1:7])


def test_what_the_model_starts_from_is_measured_by_one_process_and_by_two(scaling):
    net = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.Linear(4, 5))
    step = scaling.Step(**scaling.calibration.recorded(rg, net, rg.ones(2, 3), count=1))
    assert step.sizes == [16 * 4, 25 * 4]
    assert all(seconds > 0 for seconds in [*step.forward, *step.backward, step.optimizer])
    code = f"""
import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import calibration
print(sorted(calibration.one_of_several(rg, dist, many=2)))
"""
    found, nothing = together(code)
    assert nothing == "[]"
    assert found == "['1', '1048576', '16777216', '4096', 'flood', 'large', 'small']"


def test_a_step_with_ddp_is_timed_and_drawn_beside_one_without(monkeypatch):
    code = f"""
sys.path.insert(0, {str(BENCHMARKS)!r}); import distributed
times, traced = distributed.training(rg, dist, batch=2)
assert len([*times()]) == 4 and all(seconds > 0 for seconds in times())
print(json.dumps(traced()))
"""
    ranks = [json.loads(line) for line in together(code)]
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    benchmark = SimpleNamespace(**runpy.run_path(str(BENCHMARKS / "distributed.py")))
    for bars in ranks:
        assert [bar[0] for bar in bars if bar[1] == 2] == [
            f"gradients {number} of 3 of pass 3" for number in (1, 2, 3)
        ]
        whole, share = benchmark.hidden(bars)
        assert whole > 0
        assert 0 <= share <= 1
    drawn = benchmark.picture(ranks)
    assert drawn.count("<title>gradients 3 of 3 of pass 3 ") == 2
    assert drawn.count("<title>AddmmBackward0 ") == 8
    made_up = [("a", 1, 0.0, 2.0), ("b", 2, 1.0, 3.0), ("c", 2, 3.0, 5.0)]
    assert benchmark.hidden(made_up) == (4.0, 0.25)

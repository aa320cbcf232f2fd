"""The benchmarks run: at a hundredth of their size, once, and without a look at the figures."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

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
    assert "torch gains" in rows[-1][-1]
    assert "The first step of a process takes longer" in done.stdout
    assert "x * y of       1,000 elements" in done.stdout


def test_what_is_below_its_aim_is_named_with_its_limit_and_its_cause(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    found = runpy.run_path(str(BENCHMARKS / "performance.py"))
    workload = found["workloads"].Workload("models", "x", None, 1.1, cause="Memory.")
    line = found["shortfall"](workload, (0.9, 0.8, 1.0), "77% of the product's rate")
    assert line == "- x: 0.90 of 1.10, at 77% of the product's rate. Memory."
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

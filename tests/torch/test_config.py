"""What an installation says of itself: `__config__` and `retrograd doctor`."""

from __future__ import annotations

import importlib.util

import pytest

import retrograd as rg
from retrograd.torch import __config__ as report
from retrograd.torch.alias.command import main


def state(name):
    return next(part for part in rg.__config__.parts() if part.name == name)


def test_show_has_a_line_for_each_part():
    lines = rg.__config__.show().splitlines()
    assert len(lines) == len(rg.__config__.parts())
    assert lines[0].startswith(f"retrograd      {rg.__version__} in ")


def test_an_extension_that_is_in_use_is_active():
    assert report.extension("graph in C", "retrograd.engine._native", object()).state == "active"


def test_an_extension_may_be_left_out(monkeypatch):
    monkeypatch.setenv("RETROGRAD_NATIVE", "0")
    part = report.extension("graph in C", "retrograd.engine._native", None)
    assert part.state == "left out: RETROGRAD_NATIVE=0 is set"
    assert not part.broken


def test_an_extension_that_is_there_and_not_used_is_broken(monkeypatch):
    monkeypatch.delenv("RETROGRAD_NATIVE", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    part = report.extension("loops in C", "retrograd.kernels._loops", None)
    assert part.broken
    assert "--no-binary retrograd" in part.advice


def test_a_library_that_is_missing_is_no_fault(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    part = report.library("scipy", "special functions")
    assert part == ("scipy", "scipy is not installed: special functions", report.FAST, False)


@pytest.mark.parametrize(("broken", "status"), [(False, 0), (True, 1)])
def test_doctor_fails_where_a_part_is_broken(monkeypatch, capsys, broken, status):
    found = [rg.__config__.Part("loops in C", "its build failed", "build it", broken)]
    monkeypatch.setattr("retrograd.__config__.parts", lambda: found)
    assert main(["doctor"]) == status
    assert "loops in C: its build failed\n    build it\n" in capsys.readouterr().out


def test_threads_are_told():
    rg.set_num_threads(rg.get_num_threads())
    assert state("threads").state.startswith(f"{rg.get_num_threads()} of ")
    assert rg.__config__.parallel_info().startswith("threads for loops in C: ")


def test_without_a_compiler_doctor_says_which_to_install(monkeypatch):
    monkeypatch.delenv("RETROGRAD_NATIVE", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(report.shutil, "which", lambda name: None)
    part = report.extension("loops in C", "retrograd.kernels._missing", None)
    assert part.state == "not built: this is the pure package"
    assert part.advice.startswith("There is no C compiler. Install gcc: apt install gcc, ")
    assert part.advice.endswith(report.BUILD)

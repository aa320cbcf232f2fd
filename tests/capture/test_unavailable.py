"""`compile` where nothing can be compiled: one warning says so, and why."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import pytest

import retrograd as rg
from retrograd import modes
from retrograd.capture import api


@pytest.mark.parametrize(
    ("in_c", "why"), [(None, "parts in C"), (api, "llvmlite is not installed")]
)
def test_a_warning_says_once_that_nothing_is_compiled_and_why(monkeypatch, in_c, why):
    monkeypatch.setattr(api, "NATIVE", False)
    monkeypatch.setattr(api, "OFF", False)
    monkeypatch.setattr(api, "in_c", in_c)
    monkeypatch.setattr(modes, "warned", set())
    with pytest.warns(UserWarning, match=f"compiles nothing here.*{why}") as caught:
        rg.compile(lambda x: 2 * x)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rg.compile(rg.nn.Linear(2, 2))


def test_who_has_switched_it_off_is_not_warned(monkeypatch):
    monkeypatch.setattr(api, "NATIVE", False)
    monkeypatch.setattr(api, "OFF", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rg.compile(lambda x: 2 * x)(1) == 2


WITHOUT_LLVMLITE = """
import sys
sys.modules["llvmlite"] = None
import retrograd as rg
net = rg.compile(rg.nn.Linear(2, 1))
step = rg.compile(lambda x: net(x).exp())
step(rg.ones(1, 2)).sum().backward()
print(type(net).__name__, net.weight.grad.shape)
"""


def test_without_llvmlite_what_is_compiled_runs_as_it_is():
    """In another process: here it is loaded. One warning says that nothing is compiled."""
    asked_for = {k: v for k, v in os.environ.items() if not k.startswith("RETROGRAD_")}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LLVMLITE],
        capture_output=True, text=True, check=False, env=asked_for,
    )  # fmt: skip
    assert done.stdout == "OptimizedModule retrograd.Size([1, 2])\n", done.stderr
    assert done.stderr.count("llvmlite is not installed") == 1

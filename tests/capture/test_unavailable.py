"""`compile` where nothing can be compiled: one warning says so, and why."""

from __future__ import annotations

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

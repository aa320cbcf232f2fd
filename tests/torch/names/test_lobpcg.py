"""`lobpcg`: what it draws; its values are in its docstring."""

from __future__ import annotations

import pytest

import retrograd as rg


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"k": 2}, [0.5263, 0.2437, 0.5846]),
        ({"X": rg.eye(12)[:, :2]}, [0.4963, 0.7682, 0.0885]),
    ],
)
def test_lobpcg_draws_the_start_that_it_is_not_given(given, expected):
    rg.manual_seed(0)
    rg.lobpcg(rg.eye(12) + 1, **given)
    assert rg.rand(3).tolist() == pytest.approx(expected, abs=5e-5)  # PyTorch's

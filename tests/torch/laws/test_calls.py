"""Calls of PyTorch's names that are not stored obey the laws of `tests.laws`."""

from __future__ import annotations

import pytest

from ...laws import test_foreign_arrays as foreign
from ...laws import test_growth as growth
from ...laws.test_growth import _the_way_of_large_arrays  # noqa: F401 (a fixture)

CALLS = {
    "native_dropout": ("lib.native_dropout(x0, 0.5, True)", "3x4"),
    "embedding_bag": ("lib.embedding_bag(x0, x1, x1[:1] * 0, mode=2)", "5x2", "6:int<5"),
}
BAGS = ("lib.embedding_bag(x0, x1, lib.arange(7), mode=2)[0]", "6x4", "7:int<6")


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_they_stay_where_their_inputs_live(call):
    foreign.test_so_do_calls_that_are_not_stored(call)


def test_a_call_grows_with_its_inputs_and_outputs(monkeypatch):
    growth.test_a_call_grows_with_its_inputs_and_outputs("embedding_bag", BAGS, monkeypatch)

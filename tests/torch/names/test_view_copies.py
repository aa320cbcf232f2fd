"""Copies of what views show: PyTorch's values and gradients, memory of their own, and `out=`."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.reduction.test_selections import cases, made

import retrograd as rg


@pytest.mark.parametrize(("case", "want"), made.references("copies"), ids=lambda v: str(v)[:60])
def test_call_gives_pytorchs_values_gradients_and_errors(case, want):
    cases.check(rg, case, want)


def test_copies_share_no_memory_with_their_source():
    x = rg.arange(6.0).reshape(2, 3)
    for copy in (
        rg.alias_copy(x), rg.t_copy(x), rg.view_copy(x, (6,)), rg.expand_copy(x, (2, 2, 3)),
        rg.narrow_copy(x, 0, 0, 1), *rg.unbind_copy(x), *rg.split_with_sizes_copy(x, [1, 1]),
    ):  # fmt: skip
        copy.zero_()
        assert not copy._is_view()
    assert x.sum().item() == 15.0


def test_copies_are_written_into_out():
    x = rg.arange(6.0).reshape(2, 3)
    out = rg.empty(3, 2)
    assert rg.t_copy(x, out=out) is out
    np.testing.assert_array_equal(out._array, x._array.T)
    parts = [rg.empty(3), rg.empty(3)]
    assert rg.unbind_copy(x, out=parts) is None
    np.testing.assert_array_equal(parts[1]._array, x._array[1])
    with pytest.raises(RuntimeError, match="argument of length 2, got 1"):
        rg.unbind_copy(x, out=parts[:1])


def test_copies_lie_in_rows():
    x = rg.arange(24.0).reshape(2, 3, 4)
    for copy in (rg.t_copy(x[0]), rg.alias_copy(x.mT), rg.unbind_copy(x.permute(2, 0, 1), 2)[0]):
        assert copy.is_contiguous()

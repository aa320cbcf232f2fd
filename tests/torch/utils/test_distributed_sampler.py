"""The parts of a data set that processes load."""

from __future__ import annotations

import pytest

import retrograd as rg


def test_each_process_has_its_part():
    kind = rg.utils.data.DistributedSampler
    parts = [kind(range(7), 3, rank, shuffle=False) for rank in range(3)]
    assert [list(part) for part in parts] == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    assert list(kind(range(7), 3, 2, shuffle=False, drop_last=True)) == [2, 5]
    assert list(kind(range(2), 5, 4, shuffle=False)) == [0]
    shuffled = kind(range(50), 1, 0)
    first = list(shuffled)
    shuffled.set_epoch(1)
    assert sorted(first) == sorted(shuffled) != list(shuffled) != first
    with pytest.raises(ValueError, match="Invalid rank 3"):
        kind(range(7), 3, 3)

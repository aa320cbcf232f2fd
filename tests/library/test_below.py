"""What modes see of indices, and what comes out."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.utils._python_dispatch import TorchDispatchMode

ROWS, COLUMNS = np.array([0, 2]), rg.tensor([1, 3])


class Seen(TorchDispatchMode):
    """A mode that notes the operators that it sees."""

    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **kwargs)


@pytest.mark.parametrize(
    "key",
    [ROWS, (ROWS, COLUMNS), (slice(None), COLUMNS), np.array([True, False, True])],
    ids=["rows", "places", "columns", "mask"],
)
def test_indices_in_arrays_are_seen_as_those_in_tensors(key):
    x, y = rg.arange(12.0).reshape(3, 4), rg.arange(12.0).reshape(3, 4)
    expected, written = x[key], x.clone()
    written[key] = 7.0
    with Seen() as mode:
        found = y[key]
        y[key] = 7.0
    assert mode.names == ["aten.index.Tensor", "aten.index_put_.default"]
    assert found.tolist() == expected.tolist()
    assert y.tolist() == written.tolist()

"""Sizes, dimensions and keys read in C are what Python reads, errors included."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.engine.native import native
from retrograd.ops.core.dims import integers, normalize_dim, resolve_shape
from retrograd.ops.creation.factories import shape_of
from retrograd.ops.indexing.keys import usual_key

pytestmark = pytest.mark.skipif(native is None, reason="the hot path in C is not built")

SIZES = [
    (), (3,), (2, 3), ((2, 3),), ([2, 3],), ((),), ([],), (-1,), (2, -1, 3), (0, 5), (True,),
    (1, True),
    (2.0,), ((2, 3), 4), (np.int64(3), 2), ("a",), (None,), (2**70,), (1,) * 65, ([(1,)],),
    [2, 3],
]  # fmt: skip
SHAPES = [
    ((2, 3), 6), ((6,), 6), ((-1,), 6), ((2, -1), 6), ((4, -1), 6), ((-1, -1), 6),
    ((-2, -3), 6), ((), 1),
    ((), 0), ((0, -1), 0), ((0, 3), 0), ((3, 0), 6), ((2**40, 2**40), 6), ((2**62, 4, 0), 0),
    ((-1, 0), 6),
    ((True, 6), 6), ([2, 3], 6), ((1, 1), 1), ((-1, 1), 0),
]  # fmt: skip
DIMS = [
    (0, 2),
    (-1, 2),
    (1, 2),
    (2, 2),
    (-3, 2),
    (0, 0),
    (-1, 0),
    (1, 0),
    (True, 2),
    (1.0, 2),
    (None, 2),
    ("a", 1),
]
WHOLE = slice(None)
KEYS = [
    0, -2, 2, True, None, WHOLE, slice(1, 2), slice(0, 2, 1), slice(0, 2, 2), slice("a", 1),
    slice(True, 2),
    slice(0, 1, True), (), (0, 1), (WHOLE, 1), (1, WHOLE), (None, 0), (0, None), (None, WHOLE),
    (WHOLE, None, 2),
    (None,) * 3, (0, 0, 0), (0, None, 0, None), (0, -4), Ellipsis, (0, Ellipsis), 2**70, "a",
    [0], (0, [1]),
    (WHOLE, WHOLE), np.int64(1),
]  # fmt: skip


def outcome(function, *args, **named):
    """What a call gives, with the types of what is in it, or its error."""
    try:
        found = function(*args, **named)
    except Exception as error:
        return type(error), str(error)
    return found, [type(each) for each in found] if isinstance(found, tuple) else type(found)


@pytest.mark.parametrize("sizes", SIZES)
def test_sizes_are_read_alike(sizes):
    assert outcome(integers, sizes, "f") == outcome(integers, values=sizes, name="f")
    assert outcome(integers, sizes, "f", "x") == outcome(integers, sizes, "f", argument="x")
    assert outcome(shape_of, sizes, "f") == outcome(shape_of, given=sizes, name="f")


@pytest.mark.parametrize(("shape", "size"), SHAPES)
def test_shapes_are_resolved_alike(shape, size):
    assert outcome(resolve_shape, shape, size) == outcome(resolve_shape, shape=shape, size=size)


@pytest.mark.parametrize(("dim", "ndim"), DIMS)
def test_dimensions_are_counted_alike(dim, ndim):
    assert outcome(normalize_dim, dim, ndim) == outcome(normalize_dim, dim=dim, ndim=ndim)


@pytest.mark.parametrize("key", KEYS)
def test_keys_are_read_alike(key):
    for shape in ((2, 3), (2,), (), (0, 3)):
        assert outcome(usual_key, shape, key) == outcome(usual_key, shape=shape, key=key)

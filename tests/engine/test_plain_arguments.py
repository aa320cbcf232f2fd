"""Sizes, dimensions and keys read in C are what Python reads, errors included."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import retrograd as rg
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


FACTORIES = {
    "zeros": (2, 3), "ones": ((2, 3),), "empty": (0,), "rand": (3,), "randn": (2, 3),
    "randint": (0, 9, (3,)), "randperm": (4,), "full": ((2,), 1.5), "arange": (1, 4), "eye": (3,),
    "linspace": (0, 1, 3), "hann_window": (4,),
}  # fmt: skip
SETTINGS = [
    {}, {"dtype": rg.float64}, {"dtype": None}, {"dtype": "float32"}, {"dtype": float},
    {"device": "cpu"}, {"device": rg.device("cpu")}, {"device": "meta"}, {"device": None},
    {"requires_grad": True}, {"requires_grad": False}, {"requires_grad": None}, {"out": None},
    {"out": 3}, {"dtype": rg.bool, "requires_grad": True}, {"nothing": 1},
    {"".join(["dt", "ype"]): rg.int32, "device": None, "out": None}, {"generator": rg.Generator()},
]  # fmt: skip
PLACES = {
    "by default": contextlib.nullcontext,
    "inference": rg.inference_mode,
    "meta": lambda: rg.device("meta"),
    "no_grad": rg.no_grad,
}


def made(factory, args, settings):
    """What a factory gives, or its error."""
    try:
        with rg.random.fork_rng():
            x = factory(*args, **{k: v for k, v in settings.items() if k != "generator"})
    except Exception as error:
        return type(error), str(error).replace("made()", f"{factory.__name__}()")
    values = None if x.is_meta else x.tolist()
    return type(x), x.dtype, x.shape, x.requires_grad, x.is_inference(), x.device, values


def twins(factory):
    """What a factory is below its public form, in C, and what that calls in Python."""
    below = factory.__wrapped__
    while type(below) is type(made):
        below = below.__wrapped__
    return below, below.__wrapped__


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", FACTORIES)
def test_factories_make_alike(name, place):
    in_c, in_python, kinds = *twins(getattr(rg, name)), set()
    with PLACES[place]():
        for settings in SETTINGS:
            found = made(in_c, FACTORIES[name], settings)
            assert found == made(in_python, FACTORIES[name], settings), settings
            kinds.add(found[0])
    assert rg.Tensor in kinds
    assert len(kinds) > 2


def test_a_factory_gives_the_default_dtype_of_the_moment():
    rg.set_default_dtype(rg.float64)
    try:
        assert rg.zeros(1).dtype == rg.randn(1).dtype == rg.float64
    finally:
        rg.set_default_dtype(rg.float32)
    assert rg.zeros(1).dtype == rg.float32


@pytest.mark.parametrize("count", [30, 31, 32, 33])
def test_a_factory_may_be_given_any_number_of_names(count):
    names = {f"name{i}": i for i in range(count)}
    for size, wrong in (((), "missing 1 required"), ((2,), "unexpected keyword argument 'name0'")):
        with pytest.raises(TypeError, match=wrong):
            rg.zeros(*size, **names)

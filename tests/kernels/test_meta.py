"""Arrays without data: every record gives the shapes and dtypes that NumPy's arrays give."""

from __future__ import annotations

import numpy as np
import pytest
from tests.laws.samples import at_least, samples
from tests.laws.test_seam import forward, owned

from retrograd.kernels.meta import Meta, empty, like

BY_VALUES = "the shape, or the way to it, depends on the values"
EXCEPTIONS = {
    **dict.fromkeys(["segment_amax", "segment_amin", "segment_prod", "segment_share"], BY_VALUES),
    **dict.fromkeys(["unique", "unique_consecutive", "weighted_rows"], BY_VALUES),
    **dict.fromkeys(["exp_derivative", "ldl_solve"], BY_VALUES),
    **dict.fromkeys(["as_strided", "over_storage", "unstrided"], "by strides of one's own"),
    "spherical_j": "SciPy's function for orders from 1 on is no ufunc",
}
SAMPLES = [
    s
    for s in samples(differentiable=False)
    if s.op.name not in EXCEPTIONS and not s.params.get("by_frequency")  # which counts
]
ORDERS = {"avg_pool_input", "fft_c2c", "fft_r2c"}  # of their results in memory, which say nothing


def metas(value):
    """Meta arrays in place of NumPy's, in tuples, too."""
    if isinstance(value, tuple):
        return tuple(map(metas, value))
    return like(np.array(value)) if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("sample", at_least(2100, SAMPLES), ids=repr)
def test_forwards_tell_shapes_and_dtypes(sample):
    inputs = owned(tuple(sample.arrays))
    for a, b in zip(forward(sample, metas(inputs)), forward(sample, inputs), strict=True):
        expected = np.asarray(b)
        assert isinstance(a, Meta)
        assert (a.shape, a.dtype) == (expected.shape, expected.dtype)
        if sample.op.name not in ORDERS:
            assert a.flags.c_contiguous == expected.flags.c_contiguous


VIEWS = {
    "slices": lambda x: x[1:, ::2, None],
    "last": lambda x: x[..., -1],
    "transpose": lambda x: x.transpose(2, 0, 1),
    "flip": lambda x: np.flip(x, 1),
    "diagonal": lambda x: np.diagonal(x, 1, 0, 2),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1),
    "broadcast": lambda x: np.broadcast_to(x, (5, *x.shape)),
    "split": lambda x: np.split(x, 2, 1)[1],
    "reshape": lambda x: x.reshape(2, 12),
    "imag": lambda x: x.view(np.complex64).imag,
    "parts": lambda x: x.view(np.float32),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_have_the_strides_and_offsets_of_numpy_s(view):
    x = np.zeros((2, 4, 3))
    a, b = view(like(x)), view(x)
    assert (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    address = b.__array_interface__["data"][0] - x.__array_interface__["data"][0]
    assert a.offset == address
    assert (a.flags.c_contiguous, a.flags.forc) == (b.flags.c_contiguous, b.flags.forc)


def test_only_views_share_memory():
    x, y = empty((2, 3), np.float64), empty((2, 3), np.float64)
    assert np.shares_memory(x, x[1:])
    assert np.shares_memory(x, x.reshape(6))
    assert not np.shares_memory(x, y)
    assert not np.shares_memory(x, x.T.reshape(6))


def test_nothing_is_allocated_for_large_arrays():
    x = empty((10**9, 10**6), np.float32)
    assert ((x * 2.0 + x[0]).sum(0) @ x.T).shape == (10**9,)
    assert np.concatenate([x, x], 1).nbytes == 8 * 10**15


def test_writes_check_shapes():
    x = empty((2, 3), np.float64)
    x[0] = np.ones(3)
    x[...] = 1.0
    with pytest.raises(ValueError, match="broadcast"):
        x[0] = np.ones(2)


@pytest.mark.parametrize("turned", [(True, True), (True, False), (False, True)])
def test_results_of_operands_in_different_orders_lie_in_rows(turned):
    x, y = [np.ones((3, 3)).T if t else np.ones((3, 3)) for t in turned]
    found, expected = np.add(*metas((x, y))), x + y
    assert found.flags.c_contiguous == expected.flags.c_contiguous

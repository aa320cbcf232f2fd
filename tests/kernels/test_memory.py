"""Views with strides of one's own choosing stay within the memory that somebody owns."""

from __future__ import annotations

import copy
import io
import mmap

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd import forward_ad
from retrograd.kernels import memory
from retrograd.nn import functional as F

RECORD = np.dtype([("tag", "u1"), ("value", "f8")])


def of_bytes():
    return np.frombuffer(np.arange(12.0).tobytes(), np.float64)


def of_a_map():
    block = mmap.mmap(-1, 96)
    array = np.frombuffer(block, np.float64)
    array[:] = np.arange(12.0)
    return array


def of_a_field():
    return np.array([(1, value) for value in range(12)], RECORD)["value"]


def of_an_object_field():
    kind = np.dtype([("name", object), ("value", "f8")])
    return np.array([("a", value) for value in range(12)], kind)["value"]


def of_unchecked_strides():
    return np.lib.stride_tricks.as_strided(np.arange(36.0), (12,), (24,))


def of_a_memoryview():
    return np.asarray(memoryview(np.arange(24.0))[::2])


def of_an_interface():
    class Foreign:
        def __init__(self, array):
            self.array, self.__array_interface__ = array, array.__array_interface__

    return np.asarray(Foreign(np.arange(24.0)[::2]))


def of_a_matrix():
    with pytest.warns(PendingDeprecationWarning):
        whole = np.matrix(np.arange(24.0).reshape(2, 12))
    return np.asarray(whole)[1]


def read_only():
    array = np.arange(12.0)
    array.flags.writeable = False
    return array


def made_before_its_owner_was_read_only():
    owner = np.arange(24.0)
    array = owner[::2]
    owner.flags.writeable = False
    return array


ARRAYS = {
    f.__name__: f
    for f in (
        of_bytes,
        of_a_map,
        of_a_field,
        of_an_object_field,
        of_unchecked_strides,
        of_a_memoryview,
        of_an_interface,
        of_a_matrix,
        read_only,
        made_before_its_owner_was_read_only,
        lambda: np.arange(24.0)[::-2],
        lambda: np.arange(24.0).reshape(4, 6).T[::3].ravel(order="K"),
        lambda: np.dtype("f8").type(3) * np.ones(12),
        lambda: np.broadcast_to(np.float64(2.0), (12,)),
        lambda: np.arange(12.0).reshape(3, 4).swapaxes(0, 1).copy(order="K").T.reshape(12),
    )
}
every_array = pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)


@every_array
def test_memory_holds_the_array_where_storage_offset_says(make):
    x = rg.from_numpy(make())
    whole = memory.memory(x._array)
    start = memory.address(x._array) - memory.address(whole)
    assert start >= 0
    assert start + x._array.itemsize <= whole.size
    assert x.storage_offset() == start // 8
    assert x.untyped_storage().nbytes() == whole.size
    assert x.data_ptr() == x.untyped_storage().data_ptr() + start


@every_array
def test_windows_are_those_of_a_copy(make):
    x = rg.from_numpy(make())
    windows = x.unfold(0, 3, 4)
    assert windows.tolist() == x.clone().unfold(0, 3, 4).tolist()
    assert np.shares_memory(windows._array, x._array)
    assert windows._array.flags.writeable == x._array.flags.writeable


@every_array
def test_a_deep_copy_has_the_values_and_memory_of_its_own(make):
    x = rg.from_numpy(make())
    made = copy.deepcopy(x)
    assert made.tolist() == x.tolist()
    assert not np.shares_memory(made._array, x._array)
    assert made.untyped_storage().nbytes() == x.untyped_storage().nbytes()


@every_array
def test_a_saved_tensor_comes_back(make):
    x = rg.from_numpy(make())
    file = io.BytesIO()
    rg.save([x, x[3:]], file)
    whole, part = rg.load(io.BytesIO(file.getvalue()))
    assert whole.tolist() == x.tolist()
    assert part.tolist() == x[3:].tolist()
    assert whole._array.flags.writeable


def test_saved_views_of_one_memory_share_it_again():
    x = rg.from_numpy(of_unchecked_strides())
    file = io.BytesIO()
    rg.save([x, x[3:]], file)
    whole, part = rg.load(io.BytesIO(file.getvalue()))
    part[0] = -1.0
    assert whole[3] == -1.0


@every_array
def test_a_tangent_has_its_own_values(make):
    x, t = rg.from_numpy(make()), rg.arange(12.0, dtype=rg.float64)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, t)
        assert forward_ad.unpack_dual(dual).tangent.tolist() == t.tolist()


@every_array
def test_convolution_reads_every_layout(make):
    x = rg.from_numpy(make())
    kernel = rg.tensor([[[1.0, -2.0]]], dtype=rg.float64)
    wanted = x[:-1].clone() - 2 * x[1:].clone()
    assert F.conv1d(x[None, None], kernel)[0, 0].tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ((5,), (8,), 0),
        ((4,), (8,), 8),
        ((2,), (-8,), 0),
        ((1,), (8,), -8),
        ((5,), (2**62,), 0),
        ((2, 5), (-(2**62), 2**62), 0),
        ((), (), 32),
    ],
)
@pytest.mark.parametrize("step", [1, -1])
def test_views_out_of_bounds_are_refused(shape, strides, offset, step):
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 32"):
        memory.strided(np.arange(4.0)[::step], shape, [n * step for n in strides], offset * step)


def test_a_view_may_go_backwards():
    x = np.arange(4.0)
    assert memory.strided(x, (4,), (-8,), 24).tolist() == [3, 2, 1, 0]
    assert memory.strided(x[::-1], (2,), (16,), -16).tolist() == [1, 3]


def test_views_without_elements_reach_nothing():
    assert memory.strided(np.empty(0), (0, 3), (2**62, 8), 80).shape == (0, 3)
    assert memory.strided(np.empty((0, 3))[:, ::2], (2, 0), (8, 8)).shape == (2, 0)


def test_strides_that_no_array_can_have_are_refused():
    with pytest.raises(RuntimeError, match="Maximum allowed dimension exceeded"):
        rg.ones(3).as_strided((1,), (2**62,))


def test_a_view_of_read_only_memory_is_read_only():
    x = np.arange(4.0)
    part = x[:2]
    part.flags.writeable = False
    assert not memory.strided(part, (2,), (8,)).flags.writeable
    assert not memory.strided(part[::-1], (2,), (-8,)).flags.writeable
    assert memory.strided(x, (2,), (8,)).flags.writeable


def test_the_root_is_one_object_for_all_views():
    x = np.lib.stride_tricks.as_strided(np.arange(40.0), (4, 4), (80, 16))
    owner = memory.root(x)
    assert owner.shape == (40,)
    assert memory.root(memory.strided(x, (2,), (32,))) is owner
    gaps = of_an_interface()
    assert memory.root(memory.strided(gaps, (2,), (32,))) is memory.root(gaps)


def test_deep_copies_of_an_array_and_a_tensor_on_it_share_memory():
    array = np.zeros((2, 3), order="F")
    x, twin = copy.deepcopy([rg.from_numpy(array)[1], array])
    x[0] = 9.0
    assert twin.tolist() == [[0, 0, 0], [9, 0, 0]]


def test_storage_counts_elements_of_the_tensors_own_size():
    z = rg.zeros(3, dtype=rg.complex64)
    assert len(z.real.storage()) == 6
    assert z.imag.storage_offset() == 1
    assert len(rg.from_numpy(np.zeros(5, np.uint8)[:4].view(np.float32)).storage()) == 1


# -- tangents laid out as their tensors -------------------------------------------------------


def tangent_sum(x, t):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(forward_ad.make_dual(x, t)).tangent.sum().item()


@pytest.mark.parametrize("times", range(20))
def test_tangents_of_strided_views_are_whole(times):
    assert tangent_sum(rg.zeros(4000).as_strided((20, 20), (100, 3)), rg.ones(20, 20)) == 400
    windows = rg.zeros(10000).unfold(0, 2, 100)
    assert tangent_sum(windows, rg.ones(windows.shape)) == 200
    assert tangent_sum(rg.empty_strided((2, 3), (100, 7)), rg.ones(2, 3)) == 6
    foreign = np.lib.stride_tricks.as_strided(np.zeros(4000), (20, 20), (800, 24))
    assert tangent_sum(rg.from_numpy(foreign), rg.ones(20, 20, dtype=rg.float64)) == 400


def test_tangents_of_overlapping_views_have_their_own_elements():
    t = rg.arange(6.0).reshape(2, 3)
    with forward_ad.dual_level():
        for x in (rg.zeros(4).unfold(0, 3, 1), rg.zeros(3).expand(2, 3)):
            assert forward_ad.unpack_dual(forward_ad.make_dual(x, t)).tangent.tolist() == t.tolist()

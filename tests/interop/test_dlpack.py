"""DLPack: the same memory on both sides, and no gradient lost on the way."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.ops.tensor.dlpack import DLDeviceType, elements_in

DTYPES = [
    *(rg.bool, rg.uint8, rg.uint16, rg.uint32, rg.uint64, rg.int8, rg.int16, rg.int32, rg.int64),
    *(rg.float16, rg.float32, rg.float64, rg.complex64, rg.complex128),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_travels_both_ways_on_the_same_memory(dtype):
    x = rg.ones(2, 3, dtype=dtype)
    array = np.from_dlpack(x)
    assert array.dtype == dtype.numpy
    assert np.shares_memory(array, x.numpy())
    back = rg.from_dlpack(x.numpy())
    back[0, 1] = 0
    assert x[0, 1].item() == 0
    assert back.dtype is dtype


def test_strides_and_shapes_travel():
    x = rg.arange(24).reshape(2, 3, 4)
    for view in (x.permute(2, 0, 1), x[:, 1:, ::2], x[0, 0, 0], x[:0]):
        array = np.from_dlpack(view)
        assert array.shape == tuple(view.shape)
        assert array.tolist() == view.tolist()
        assert rg.from_dlpack(view).tolist() == view.tolist()


def test_a_tensor_that_requires_grad_is_refused():
    x = rg.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match=r"require gradient, use tensor.detach\(\)"):
        np.from_dlpack(x)
    with pytest.raises(BufferError, match="require gradient"):
        rg.from_dlpack(x * 2)
    with pytest.raises(BufferError, match="require gradient"):
        x.__dlpack__()
    assert np.from_dlpack(x.detach()).tolist() == [1.0, 1.0]


def test_an_imported_tensor_can_be_trained():
    array = np.array([1.0, 2.0])
    x = rg.from_dlpack(array).requires_grad_()
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    with rg.no_grad():
        x -= 0.5 * x.grad
    assert array.tolist() == [0.0, 0.0]


def test_a_copy_is_separate():
    array = np.zeros(2)
    x = rg.from_dlpack(array, copy=True)
    x[0] = 1.0
    assert array.tolist() == [0.0, 0.0]
    exported = rg.zeros(2)
    capsule = exported.__dlpack__(copy=True)
    rg.from_dlpack(capsule)[0] = 1.0
    assert exported.tolist() == [0.0, 0.0]


def test_a_capsule_can_be_imported_once():
    x = rg.tensor([1.0, 2.0])
    capsule = x.__dlpack__()
    y = rg.from_dlpack(capsule)
    y[0] = 5.0
    assert x.tolist() == [5.0, 2.0]
    with pytest.raises(RuntimeError, match="can be consumed only once"):
        rg.from_dlpack(capsule)


def test_the_device_is_the_cpu():
    assert rg.ones(1).__dlpack_device__() == (1, 0)
    assert rg.ones(1).__dlpack_device__()[0] is DLDeviceType.kDLCPU
    assert rg.from_dlpack(np.ones(1), device="cpu").item() == 1.0
    with pytest.raises(BufferError, match="cannot export"):
        rg.ones(1).__dlpack__(dl_device=(2, 0))
    with pytest.raises(AssertionError, match="stream should be None"):
        rg.ones(1).__dlpack__(stream=1)
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        rg.from_dlpack(np.ones(1), device="cuda")


def test_an_array_on_another_device_is_refused():
    class Elsewhere:
        def __dlpack__(self, **wishes):
            raise AssertionError("not asked for")

        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(BufferError, match="lies on the DLPack device"):
        rg.from_dlpack(Elsewhere())


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="expected an array with __dlpack__"):
        rg.from_dlpack([1.0])


def test_memory_that_must_not_be_written_says_so():
    array = np.zeros(2)
    array.flags.writeable = False
    x = rg.from_dlpack(array)
    assert x.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 1.0
    with pytest.raises(BufferError, match=r"Export a copy: x.clone\(\)"):
        x.__dlpack__()


NARROW = {
    "bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8), "float8_e5m2fnuz": (13, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_floats_that_numpy_lacks_keep_their_dtype_and_their_memory(name):
    dtype = getattr(rg, name)
    x = rg.tensor([[1.0, 2.0], [3.0, -4.0]]).to(dtype).T
    for source in (x, x.__dlpack__(), x.__dlpack__(max_version=(1, 0))):
        y = rg.from_dlpack(source)
        assert (y.dtype, y.stride(), y.data_ptr()) == (dtype, (1, 2), x.data_ptr())
        assert y.float().tolist() == [[1.0, 3.0], [2.0, -4.0]]
    y.fill_(2.0)
    assert x.float().tolist() == [[2.0, 2.0], [2.0, 2.0]]
    for version in (None, (1, 0)):
        said = elements_in(x.__dlpack__(max_version=version))
        assert (said.code, said.bits, said.lanes) == (*NARROW[name], 1)
    with pytest.raises((BufferError, RuntimeError), match="dtype"):
        np.from_dlpack(x)


def test_memory_without_data_is_not_exported():
    with pytest.raises(ValueError, match="Unknown device type meta"):
        rg.ones(2, device="meta").__dlpack_device__()

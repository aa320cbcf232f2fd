"""Files: what comes back, what is shared, and what a file may not do."""

from __future__ import annotations

import collections
import io
import os
import pickle
import uuid

import numpy as np
import pytest

import retrograd as rg
from retrograd import dtypes, serialization


def round_trip(obj, **settings):
    file = io.BytesIO()
    rg.save(obj, file)
    return rg.load(io.BytesIO(file.getvalue()), **settings)


class Velocity(rg.Tensor):
    """A tensor class."""


class Thing:
    """A class that files may use only if allowed."""

    def __init__(self):
        self.value = 3


class Thief:
    """Pickles as a call of a function of the operating system."""

    def __reduce__(self):
        return os.getcwd, ()


ALL = [rg.bool, rg.uint8, rg.int8, rg.int16, rg.int32, rg.int64, rg.float16, rg.float32]
ALL += [rg.float64, rg.complex64, rg.complex128]


@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
def test_values_shape_and_dtype_come_back(dtype, shape):
    x = rg.ones(shape, dtype=dtype)
    y = round_trip(x)
    assert (y.shape, y.dtype, y.tolist()) == (x.shape, x.dtype, x.tolist())


def test_python_data_around_tensors_comes_back():
    state = collections.OrderedDict(weight=rg.ones(2), step=3)
    state._metadata = {"version": 1}
    data = {
        "state": state,
        "size": rg.ones(2, 3).shape,
        "dtype": rg.float64,
        "device": rg.device("cpu"),
        "array": np.arange(6).reshape(2, 3)[:, ::2],
        "number": np.float32(1.5),
        "plain": [1, 2.5, 1j, "a", b"b", None, True, (1,), {2}, slice(1, 2), range(3)],
    }
    back = round_trip(data)
    assert back["state"]["weight"].tolist() == [1.0, 1.0]
    assert back["state"]._metadata
    assert back["size"] == (2, 3)
    assert type(back["size"]) is rg.Size
    assert back["dtype"] is rg.float64
    assert back["device"] == rg.device("cpu")
    np.testing.assert_array_equal(back["array"], data["array"])
    assert back["number"] == 1.5
    assert back["number"].dtype == np.float32
    assert back["plain"] == data["plain"]


def test_tensors_come_back_as_leaves():
    x = rg.ones(2, requires_grad=True)
    for source in (x, x * 2):
        back = round_trip(source)
        assert back.requires_grad
        assert back.is_leaf
        assert back.tolist() == source.tolist()
    assert not round_trip(rg.ones(1)).requires_grad


def test_what_comes_back_can_be_written():
    x = round_trip(rg.ones(2))
    x.mul_(3)
    assert x.tolist() == [3.0, 3.0]


def test_the_same_tensor_comes_back_as_the_same_and_views_share_memory():
    x = rg.arange(6.0)
    a, again, view, array, turned = round_trip([x, x, x[1:3], x.numpy(), x.reshape(2, 3).t()])
    assert a is again
    a[1] = 50
    assert view[0] == 50
    assert array[1] == 50
    assert turned[1, 0] == 50


def test_expanded_and_fortran_ordered_tensors_come_back():
    assert round_trip(rg.tensor(2.0).expand(2, 2)).tolist() == [[2.0, 2.0]] * 2
    order = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert round_trip(rg.from_numpy(order)).tolist() == order.tolist()
    assert round_trip(rg.arange(4).flip(0)).tolist() == [3, 2, 1, 0]


def test_tensor_classes_and_attributes_come_back():
    x = Velocity([1.0])
    x.unit = "m/s"
    back = round_trip(x)
    assert type(back) is Velocity
    assert back.unit == "m/s"


def test_paths_and_files_are_taken(tmp_path):
    rg.save(rg.ones(2), tmp_path / "a.rg")
    rg.save(rg.ones(3), str(tmp_path / "b.rg"))
    assert rg.load(tmp_path / "a.rg").shape == (2,)
    with open(tmp_path / "b.rg", "rb") as file:
        assert rg.load(file, map_location="cpu").shape == (3,)
    with pytest.raises(TypeError, match="expected a path or a file"):
        rg.save(rg.ones(1), 3)
    with pytest.raises(TypeError, match="expected a path or a file"):
        rg.load(3)
    with pytest.raises(AssertionError, match="CUDA"):
        rg.load(tmp_path / "a.rg", "cuda")


def test_files_may_follow_each_other_in_one_stream():
    file = io.BytesIO()
    rg.save(rg.ones(1), file)
    rg.save(rg.ones(2), file)
    file.seek(0)
    assert [rg.load(file).shape, rg.load(file).shape] == [(1,), (2,)]


@pytest.mark.parametrize("thing", [Thing(), Thief(), print, np.array(["a"])])
def test_other_classes_and_functions_are_refused_by_default(thing):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        round_trip([rg.ones(1), thing])


def test_classes_can_be_allowed_and_all_can_be():
    assert round_trip(Thing(), weights_only=False).value == 3
    try:
        serialization.add_safe_globals([Thing])
        assert round_trip(Thing()).value == 3
        assert Thing in serialization.get_safe_globals()
    finally:
        serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match="Thing"):
        round_trip(Thing())


def forged(pickled: bytes) -> io.BytesIO:
    """A file that carries a pickle of our own making."""
    file = io.BytesIO()
    rg.save(None, file)
    content = bytearray(file.getvalue())
    start = len(serialization.MAGIC)
    header = np.frombuffer(content, np.uint64, 3, start).copy()
    header[1] = len(pickled)
    return io.BytesIO(bytes(content[:start]) + header.tobytes() + pickled)


@pytest.mark.parametrize("name", [b"os system", b"builtins eval", b"retrograd.serialization open"])
def test_a_forged_file_cannot_reach_functions(name):
    module, function = name.split()
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        rg.load(forged(b"c" + module + b"\n" + function + b"\n."))


def test_a_forged_file_cannot_alter_what_it_may_call():
    attack = (
        b"cretrograd.dtypes\nby_name\n(N}S'altered'\nI1\nstb."  # setattr(by_name, "altered", 1)
    )
    rg.load(forged(attack))
    assert not hasattr(dtypes.by_name, "altered")


def test_a_forged_file_cannot_read_outside_its_memory():
    good = io.BytesIO()
    rg.save(rg.arange(4), good)
    content = good.getvalue()
    forged_shape = content.replace(b"K\x04\x85", b"K\x7f\x85")
    assert forged_shape != content
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 32"):
        rg.load(io.BytesIO(forged_shape))


def test_a_forged_file_cannot_make_the_bounds_wrap_around():
    memory = serialization._memory(bytearray(16))
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
        serialization._array(memory, "float32", (5,), (2**62,), 0)


@pytest.mark.parametrize("keep", [16, 30, 60, -1])
def test_a_cut_file_says_so(keep):
    file = io.BytesIO()
    rg.save(rg.ones(2), file)
    with pytest.raises(RuntimeError, match="the file ends early"):
        rg.load(io.BytesIO(file.getvalue()[:keep]))


def test_files_of_another_kind_are_refused():
    with pytest.raises(EOFError, match="Ran out of input"):
        rg.load(io.BytesIO(b""))
    with pytest.raises(RuntimeError, match="Invalid magic number"):
        rg.load(io.BytesIO(b"PK\x03\x04 and so on, a file of something else"))
    newer = bytearray(forged(b"N.").getvalue())
    newer[len(serialization.MAGIC)] = 99
    with pytest.raises(RuntimeError, match="version 99"):
        rg.load(io.BytesIO(bytes(newer)))
    with pytest.raises(FileNotFoundError):
        rg.load("no such file")


def test_saved_tensors_can_live_in_self_deleting_files(tmp_path):
    class SelfDeletingTempFile:
        def __init__(self):
            self.name = os.path.join(tmp_path, str(uuid.uuid4()))

        def __del__(self):
            os.remove(self.name)

    def pack_hook(tensor):
        temp_file = SelfDeletingTempFile()
        rg.save(tensor, temp_file.name)
        return temp_file

    def unpack_hook(temp_file):
        return rg.load(temp_file.name)

    x = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.pow(2)
    y.grad_fn._raw_saved_self.register_hooks(pack_hook, unpack_hook)
    assert len(os.listdir(tmp_path)) == 1
    assert y.grad_fn._saved_self.tolist() == [1.0, 2.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    del y
    assert os.listdir(tmp_path) == []

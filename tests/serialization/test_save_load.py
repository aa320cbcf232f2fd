"""`save` and `load`: what comes back, what is shared, and from where files are read."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import gc
import io
import os
import pickle
import pickletools
import sys
import types
import uuid
import weakref
import zipfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import serialization
from retrograd.kernels.memory import root

FILES = Path(__file__).parents[1] / "data" / "files"


def round_trip(obj, **settings):
    file = io.BytesIO()
    rg.save(obj, file)
    return rg.load(io.BytesIO(file.getvalue()), **settings)


class Velocity(rg.Tensor):
    """A tensor class."""


class Marked(rg.Tensor):
    """A tensor class with a slot."""

    __slots__ = ("mark",)


class Stated(rg.Tensor):
    """A tensor class that packs its state itself."""

    def __getstate__(self):
        return {"packed": self.held}

    def __setstate__(self, state):
        self.held = state["packed"] + 1


class Thing:
    """A class that files may use only if allowed."""

    def __init__(self):
        self.value = 3


class Thief:
    """Pickles as a call of a function of the operating system."""

    def __reduce__(self):
        return os.getcwd, ()


ALL = [rg.bool, rg.uint8, rg.int8, rg.int16, rg.int32, rg.int64, rg.float16, rg.float32]
ALL += [rg.float64, rg.complex64, rg.complex128, rg.uint16, rg.uint32, rg.uint64, rg.bfloat16]


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


@pytest.mark.parametrize("zipped", [True, False])
def test_the_same_tensor_comes_back_as_the_same_and_views_share_memory(zipped):
    x = rg.arange(6.0)
    file = io.BytesIO()
    content = [x, x, x[1:3], x.reshape(2, 3).t(), rg.view_as_complex(x.view(3, 2))]
    rg.save(content, file, _use_new_zipfile_serialization=zipped)
    a, again, view, turned, pairs = rg.load(io.BytesIO(file.getvalue()))
    assert a is again
    a[1] = 50
    assert view[0] == 50
    assert turned[1, 0] == 50
    assert pairs[0] == 50j


def test_a_view_writes_the_memory_it_is_a_view_of_once():
    x = rg.zeros(10_000)
    file = io.BytesIO()
    rg.save([x[:1], x[1:2]], file)
    assert 40_000 < len(file.getvalue()) < 42_000


class Largest:
    """Keeps a tensor, and asks for its values as soon as it is made."""

    def __init__(self, x):
        self.x, self.value = x, x.max().item()

    def __getstate__(self):
        return {"x": self.x}

    def __setstate__(self, state):
        self.__init__(state["x"])


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_an_object_of_a_file_finds_the_values_of_its_tensors(zipped, trusted):
    file, given = io.BytesIO(), Largest(rg.linspace(0, 5, 100_000))
    rg.save(given, file, _use_new_zipfile_serialization=zipped)
    with rg.serialization.safe_globals([Largest]):
        file.seek(0)
        assert rg.load(file, weights_only=not trusted).value == given.value == 5.0


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


def test_a_file_may_begin_within_a_stream_and_legacy_ones_follow_each_other():
    file = io.BytesIO()
    pickle.dump("before", file)
    rg.save(rg.ones(1), file, _use_new_zipfile_serialization=False)
    rg.save(rg.ones(2), file, _use_new_zipfile_serialization=False)
    rg.save(rg.ones(3), file)
    file.seek(0)
    assert pickle.load(file) == "before"
    assert [rg.load(file).shape, rg.load(file).shape, rg.load(file).shape] == [(1,), (2,), (3,)]


class Stream(io.RawIOBase):
    """Gives bytes that were written, a few at a time, and cannot go back."""

    def __init__(self, content):
        self.content = io.BytesIO(content)

    def readable(self):
        return True

    def seekable(self):
        return False

    def readinto(self, room):
        part = self.content.read(min(len(room), 7))
        room[: len(part)] = part
        return len(part)


def test_a_stream_that_cannot_go_back_is_read():
    file = io.BytesIO()
    rg.save(rg.arange(100), file)
    assert rg.load(Stream(file.getvalue())).sum() == 4950


class Sink:
    """Takes bytes and can do nothing else."""

    def __init__(self):
        self.content = b""

    def write(self, part):
        self.content += bytes(part)


def test_a_file_that_can_only_be_written_is_written():
    sink = Sink()
    rg.save({"a": rg.arange(3), "b": rg.ones(2)}, sink)
    assert rg.load(io.BytesIO(sink.content))["a"].tolist() == [0, 1, 2]


def test_the_same_data_gives_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        rg.save({"x": rg.arange(3), "y": [rg.ones(2), 3]}, tmp_path / folder / "x.pt")
    assert (tmp_path / "a/x.pt").read_bytes() == (tmp_path / "b/x.pt").read_bytes()


@pytest.mark.parametrize(("name", "folder"), [("a.pt", "a"), ("b.c.pth", "b.c"), ("d", "d")])
def test_the_folder_in_the_archive_has_the_name_of_the_file(tmp_path, name, folder):
    rg.save(rg.ones(1), tmp_path / name)
    with zipfile.ZipFile(tmp_path / name) as archive:
        assert {entry.split("/")[0] for entry in archive.namelist()} == {folder}
    assert rg.load(tmp_path / name).tolist() == [1.0]


def test_what_is_written_is_an_archive_that_any_tool_reads():
    file = io.BytesIO()
    rg.save([rg.arange(3.0), rg.ones(2, dtype=rg.int8)], file)
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        assert archive.read("archive/data/0") == np.arange(3, dtype=np.float32).tobytes()
        assert archive.read("archive/byteorder").decode() == sys.byteorder
        for info in archive.infolist():
            archive.fp.seek(info.header_offset + 26)
            lengths = np.frombuffer(archive.fp.read(4), "<u2")
            assert (info.header_offset + 30 + lengths.sum()) % 64 == 0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_binary_protocol_of_pickle_comes_back(protocol):
    file = io.BytesIO()
    data = [rg.ones(2), {"a": (1, 2.5, None)}, [b"\0", bytearray(b"x"), {1}, frozenset([2])]]
    parameter = rg.nn.Parameter(rg.ones(1))
    rg.save([*data, parameter, rg.float32], file, pickle_protocol=protocol)
    tensor, *rest = rg.load(io.BytesIO(file.getvalue()))
    assert tensor.tolist() == [1.0, 1.0]
    assert rest[:2] == data[1:]
    assert type(rest[2]) is rg.nn.Parameter
    assert rest[3] is rg.float32


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_arrays_of_numpy_come_back_in_any_order(protocol):
    x = np.arange(24.0).reshape(2, 3, 4)
    arrays = [x, x.T, x.transpose(1, 0, 2), x[:, ::2], x.astype(">f4"), np.array(3 + 1j), x[:0]]
    file = io.BytesIO()
    rg.save(arrays, file, pickle_protocol=protocol)
    for before, after in zip(arrays, rg.load(io.BytesIO(file.getvalue())), strict=True):
        assert after.dtype == before.dtype.newbyteorder("=")
        np.testing.assert_array_equal(after, before)


def test_module_and_optimizer_go_on_from_a_file(tmp_path):
    def trained(model, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            model(rg.arange(6.0).view(2, 3)).square().sum().backward()
            optimizer.step()

    rg.manual_seed(0)
    model = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.BatchNorm1d(2))
    optimizer = rg.optim.Adam(model.parameters())
    trained(model, optimizer, 2)
    rg.save({"model": model.state_dict(), "optim": optimizer.state_dict()}, tmp_path / "x.pt")
    trained(model, optimizer, 2)
    again = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.BatchNorm1d(2))
    resumed = rg.optim.Adam(again.parameters())
    checkpoint = rg.load(tmp_path / "x.pt")
    assert checkpoint["model"]._metadata[""] == {"version": 1}
    again.load_state_dict(checkpoint["model"])
    resumed.load_state_dict(checkpoint["optim"])
    trained(again, resumed, 2)
    for name, value in model.state_dict().items():
        assert again.state_dict()[name].tolist() == value.tolist()


def test_a_whole_module_comes_back_when_the_file_is_trusted():
    model = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.ReLU())
    back = round_trip(model, weights_only=False)
    x = rg.arange(3.0)
    assert back(x).tolist() == model(x).tolist()
    with pytest.raises(pickle.UnpicklingError, match="Sequential"):
        round_trip(model)


def test_parameters_and_buffers_keep_class_and_attributes():
    parameter = rg.nn.Parameter(rg.ones(2), requires_grad=False)
    parameter.group = "bias"
    buffer = rg.nn.Buffer(rg.ones(1), persistent=False)
    lazy = rg.nn.UninitializedParameter(dtype=rg.float64)
    p, b, u = round_trip([parameter, buffer, lazy])
    assert (type(p), p.requires_grad, p.group) == (rg.nn.Parameter, False, "bias")
    assert (type(b), b.persistent) == (rg.nn.Buffer, False)
    assert (type(u), u.dtype) == (rg.nn.UninitializedParameter, rg.float64)


def test_a_class_with_slots_or_a_state_of_its_own_comes_back():
    x = Marked([1.0])
    x.mark = 3
    y = Stated([1.0])
    y.held = 5
    assert round_trip(x).mark == 3
    with pytest.raises(pickle.UnpicklingError, match="Stated"):
        round_trip(y)  # its `__setstate__` would run
    with serialization.safe_globals([Stated]):
        assert round_trip(y).held == 6


def test_hooks_are_left_behind_with_a_warning():
    x = rg.ones(1, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        assert round_trip(x)._backward_hooks is None


@pytest.mark.parametrize("call", ["squeeze_", "unsqueeze_", "t_", "detach_"])
def test_a_tensor_that_got_another_shape_in_place_is_saved_as_any_other(call):
    x = rg.tensor([[1.0, 2.0]])
    getattr(x, call)(*[0] * (call == "unsqueeze_"))
    found = round_trip(x)
    assert found.shape == x.shape
    assert found.tolist() == x.tolist()
    assert copy.deepcopy(x).__dict__ == found.__dict__ == {}


def test_a_tensor_with_a_tangent_is_not_saved():
    with rg.autograd.forward_ad.dual_level():
        x = rg.autograd.forward_ad.make_dual(rg.ones(1), rg.ones(1))
        with pytest.raises(RuntimeError, match="cannot be saved"):
            rg.save(x, io.BytesIO())


@pytest.mark.parametrize("name", ["views.pt", "legacy.pt", "x.safetensors"])
@pytest.mark.parametrize("safely", [True, False])
def test_what_was_loaded_is_freed_with_the_last_tensor(name, safely):
    gc.collect()
    gc.disable()
    try:
        back = rg.load(FILES / name, weights_only=safely)
        memory = weakref.ref(root(next(iter(back.values()))._array))
        del back
        assert memory() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("zipped", [True, False])
def test_storages_come_back_and_are_shared_with_tensors(zipped):
    x = rg.arange(4.0)
    file = io.BytesIO()
    content = [x.storage(), x[1:], x.untyped_storage(), rg.UntypedStorage([1, 2])]
    if not zipped:
        content = content[:2]  # without storages by bytes, as PyTorch reads none
    rg.save(content, file, _use_new_zipfile_serialization=zipped)
    storage, view, *rest = rg.load(io.BytesIO(file.getvalue()))
    assert (type(storage), storage.dtype) == (rg.TypedStorage, rg.float32)
    assert storage.tolist() == [0.0, 1.0, 2.0, 3.0]
    view[0] = 50
    assert storage.tolist() == [0.0, 50.0, 2.0, 3.0]
    if zipped:
        assert rest[0] is storage.untyped()
        assert rest[1].tolist() == [1, 2]
        assert type(rest[1]) is rg.UntypedStorage


# -- mapping files, and other devices ----------------------------------------------------------


def test_a_mapped_file_is_read_when_needed_and_never_written(tmp_path):
    path = tmp_path / "x.pt"
    rg.save({"a": rg.arange(4.0), "b": rg.zeros(3, dtype=rg.bool)}, path)
    before = path.read_bytes()
    back = rg.load(path, mmap=True)
    back["a"].mul_(2)
    assert back["a"].tolist() == [0.0, 2.0, 4.0, 6.0]
    assert path.read_bytes() == before
    assert rg.load(path)["a"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert back["b"].untyped_storage().nbytes() == 3


def test_a_mapped_file_may_be_replaced(tmp_path):
    path = tmp_path / "x.pt"
    rg.save(rg.arange(1000), path)
    back = rg.load(path, mmap=True)
    rg.save(rg.zeros(5), path)
    assert back.sum() == 499500


def test_mapping_needs_a_path_and_an_archive(tmp_path):
    rg.save(rg.ones(1), tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        rg.load(tmp_path / "x.pt", mmap=True)
    with pytest.raises(ValueError, match="f must be a file path"):
        rg.load(io.BytesIO(b"x"), mmap=True)


def from_cuda():
    """A file as one that was saved from a GPU."""
    file = io.BytesIO()
    rg.save(rg.ones(2), file)
    content = archive_of(file)
    pickled = content["archive/data.pkl"]
    name = b"X\x03\x00\x00\x00cpu"
    assert name in pickled
    content["archive/data.pkl"] = pickled.replace(name, b"X\x06\x00\x00\x00cuda:1")
    return packed(content)


def archive_of(file):
    """The records of an archive."""
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content):
    """An archive of records."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, record in content.items():
            archive.writestr(name, record)
    return io.BytesIO(file.getvalue())


@pytest.mark.parametrize(
    "place",
    [
        "cpu",
        b"cpu",
        rg.device("cpu"),
        {"cuda:1": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: serialization.default_restore_location(storage, "cpu"),
        lambda storage, location: storage.clone(),
        lambda storage, location: storage if location == "cuda:1" else None,
    ],
)
def test_storages_of_another_device_are_mapped(place):
    assert rg.load(from_cuda(), map_location=place).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("place", [None, "cuda", {"cpu": "cuda:1"}, lambda storage, location: None])
def test_storages_of_a_device_that_is_not_there_are_refused(place):
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        rg.load(from_cuda(), map_location=place)


def test_a_function_for_map_location_sees_storage_and_device():
    seen = []
    rg.load(from_cuda(), lambda storage, location: seen.append((storage, location)) or storage)
    ((storage, location),) = seen
    assert (storage.nbytes(), location) == (8, "cuda:1")


def test_other_map_locations_are_refused():
    with pytest.raises(TypeError, match="map_location must be"):
        rg.load(from_cuda(), map_location=3)
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        rg.load(from_cuda(), map_location="abacus")
    with pytest.raises(RuntimeError, match="map_location must return a storage of 8 bytes"):
        rg.load(from_cuda(), map_location=lambda storage, _: rg.ones(3).untyped_storage())


# -- byte order and options --------------------------------------------------------------------


def test_a_file_of_the_other_byte_order_is_read():
    file = io.BytesIO()
    x, z = rg.tensor([1.5, -2.0, 0.25]), rg.tensor([1 + 2j, 3 - 1j])
    u = rg.tensor([1, 258], dtype=rg.uint16)
    rg.save([x, x[1:], z, u, rg.ones(2, dtype=rg.bool)], file)
    content = archive_of(file)
    for key, width in (("0", 4), ("1", 4), ("2", 2)):
        name = f"archive/data/{key}"
        content[name] = np.frombuffer(content[name], f"<u{width}").byteswap().tobytes()
    content["archive/byteorder"] = b"big"
    a, b, c, d, e = rg.load(packed(content))
    assert a.tolist() == [1.5, -2.0, 0.25]
    assert b.tolist() == [-2.0, 0.25]
    assert c.tolist() == [1 + 2j, 3 - 1j]
    assert d.tolist() == [1, 258]
    assert e.tolist() == [True, True]


def test_the_byte_order_of_files_that_do_not_say_it_can_be_set():
    file = io.BytesIO()
    rg.save(rg.arange(3, dtype=rg.int16), file, _disable_byteorder_record=True)
    content = archive_of(file)
    content["archive/data/0"] = np.arange(3, dtype=">i2").tobytes()
    try:
        serialization.set_default_load_endianness(serialization.LoadEndianness.BIG)
        assert rg.load(packed(content)).tolist() == [0, 1, 2]
        serialization.set_default_load_endianness(serialization.LoadEndianness.LITTLE)
        assert rg.load(packed(content)).tolist() == [0, 256, 512]
        with pytest.raises(TypeError, match="Invalid argument type"):
            serialization.set_default_load_endianness("big")
    finally:
        serialization.set_default_load_endianness(None)


class Mode(enum.Enum):
    """Values that files may hold if allowed."""

    FAST = "fast"


Pair = collections.namedtuple("Pair", ["first", "second"])


@dataclasses.dataclass
class Config:
    """What programs keep beside weights."""

    width: int
    mode: Mode
    sizes: Pair


def test_objects_of_classes_that_are_allowed_come_back():
    config = Config(3, Mode.FAST, Pair(1, rg.Size([2])))
    data = {"config": config, "places": collections.deque([1, 2]), "partial": Decimal("1.5")}
    with serialization.safe_globals([Config, Mode, Pair, collections.deque, Decimal]):
        assert round_trip(data) == data
    with (
        serialization.safe_globals([Config, Mode]),
        pytest.raises(
            pickle.UnpicklingError, match=r"test_save_load\.Pair was not an allowed global"
        ),
    ):
        round_trip(data)


def test_an_unknown_byte_order_is_refused():
    file = io.BytesIO()
    rg.save(rg.ones(1), file)
    with pytest.raises(ValueError, match="Unknown endianness type"):
        rg.load(packed({**archive_of(file), "archive/byteorder": b"middle"}))


def test_the_byte_order_may_be_left_out():
    file = io.BytesIO()
    rg.save(rg.ones(1), file, _disable_byteorder_record=True)
    assert "archive/byteorder" not in archive_of(file)
    assert rg.load(io.BytesIO(file.getvalue())).tolist() == [1.0]


def test_another_pickle_module_reads_only_trusted_files():
    file = io.BytesIO()
    rg.save({"x": rg.ones(1)}, file, pickle_module=pickle)
    assert rg.load(io.BytesIO(file.getvalue()), pickle_module=pickle)["x"] == 1
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        rg.load(io.BytesIO(file.getvalue()), pickle_module=pickle, weights_only=True)
    other = types.SimpleNamespace(Pickler=pickle.Pickler, __name__="other")
    with pytest.raises(TypeError, match="what other writes"):
        rg.save(rg.ones(1), io.BytesIO(), pickle_module=other)


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


def test_what_is_allowed_within_a_context_of_other_names_stays_allowed():
    with serialization.safe_globals([Fraction]):
        serialization.add_safe_globals([Decimal])
    assert serialization.get_safe_globals() == [Decimal]
    with serialization.safe_globals([Decimal]):
        pass
    assert serialization.get_safe_globals() == [Decimal]
    serialization.clear_safe_globals()


def test_a_tensor_without_elements_is_saved_with_its_strides():
    file = io.BytesIO()
    rg.save(rg.zeros(0, 3), file)
    with zipfile.ZipFile(file) as archive:
        steps = pickletools.genops(archive.read("archive/data.pkl"))
        numbers = [value for step, value, _ in steps if step.name == "BININT1"]
    assert [0, 3, 3, 1] in [numbers[at : at + 4] for at in range(len(numbers))]  # shape, strides


def test_what_a_function_defines_is_not_saved():
    class Local:
        pass

    for value in (lambda: 1, Local, Local()):
        with pytest.raises(AttributeError, match="Can't pickle local object 'test_what_a_function"):
            rg.save({"value": value}, io.BytesIO())


def test_data_is_skipped_by_save_and_load():
    x, whole, skipped = rg.arange(4.0).reshape(2, 2), io.BytesIO(), io.BytesIO()
    rg.save({"x": x, "row": x[1]}, whole)
    with serialization.skip_data():
        with serialization.skip_data(materialize_fake_tensors=True):
            pass
        rg.save({"x": x, "row": x[1]}, skipped)
        loaded = rg.load(io.BytesIO(whole.getvalue()))
    assert len(skipped.getvalue()) == len(whole.getvalue())
    for found in (loaded, rg.load(io.BytesIO(skipped.getvalue()))):
        assert found["x"].equal(rg.zeros(2, 2))
        assert found["row"].storage_offset() == 2
    assert rg.load(io.BytesIO(whole.getvalue()))["x"].equal(x)


def test_check_sums_can_be_left_out():
    file = io.BytesIO()
    serialization.set_crc32_options(False)
    try:
        assert not serialization.get_crc32_options()
        rg.save(rg.ones(2), file)
    finally:
        serialization.set_crc32_options(True)
    assert {entry.CRC for entry in zipfile.ZipFile(file).infolist()} == {0}
    assert rg.load(io.BytesIO(file.getvalue())).equal(rg.ones(2))

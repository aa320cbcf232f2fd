"""Storages: the memory behind tensors as objects."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import numpy as np
import pytest

import retrograd as rg


def test_tensors_on_one_memory_have_one_storage():
    x = rg.arange(5)
    storage = x.untyped_storage()
    assert x[1:].untyped_storage() is storage
    assert x.detach().untyped_storage() is storage
    assert x.storage().untyped() is storage
    assert x.storage()._cdata == storage._cdata
    assert x.clone().untyped_storage() is not storage


def test_a_tensor_keeps_the_storage_that_it_was_asked_for():
    x = rg.arange(5)
    x.untyped_storage().note = "mine"
    gc.collect()
    assert x[1:].untyped_storage().note == "mine"
    gone = weakref.ref(x.untyped_storage())
    del x
    assert gone() is None


def test_a_tensor_made_of_a_storage_keeps_it():
    class Mine(rg.UntypedStorage):
        pass

    storage = Mine([0, 0, 128, 63])
    x = rg.tensor(storage, dtype=rg.float32)[:1]
    gone = weakref.ref(storage)
    del storage
    assert isinstance(x.untyped_storage(), Mine)
    assert x.tolist() == [1.0]
    del x
    assert gone() is None


def test_a_storage_without_data_has_the_size_of_its_tensor():
    x = rg.empty(3, 4, device="meta")
    storage = x.untyped_storage()
    assert x[1:].T.untyped_storage() is storage
    assert (storage.nbytes(), len(x.storage()), storage.data_ptr()) == (48, 12, 0)
    assert storage.device == rg.device("meta")
    with pytest.raises(NotImplementedError, match="no data"):
        storage.tolist()


MADE = {
    "untyped": lambda: rg.UntypedStorage(24, device="meta"),
    "typed": lambda: rg.TypedStorage([1, 2, 3], dtype=rg.float64, device="meta"),
    "of a tensor": lambda: rg.empty(6, device="meta").storage(),
    "moved": lambda: rg.ones(6).untyped_storage().to(device="meta"),
    "copied": lambda: rg.empty(3, device="meta").double().storage().clone(),
    "cast": lambda: rg.empty(3, dtype=rg.int8, device="meta").storage().double(),
}


@pytest.mark.parametrize("name", MADE)
def test_a_storage_without_data_has_a_size_and_no_values(name):
    storage = MADE[name]()
    assert storage.device.type == "meta"
    assert (storage.nbytes(), storage.data_ptr()) == (24, 0)
    assert repr(storage).startswith("...\n[retrograd.storage.")
    for read in (lambda: storage[0], storage.tolist, lambda: list(storage)):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    for move in (storage.cpu, lambda: storage.to(device="cpu")):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            move()


def test_a_storage_without_data_is_written_and_resized_without_effect():
    storage = rg.TypedStorage(4, dtype=rg.float32, device="meta")
    storage[1] = 3.0
    assert storage.fill_(2.0).copy_(rg.ones(4).storage()) is storage
    assert storage.resize_(10).nbytes() == 40
    x = rg.empty(0, device="meta").set_(storage, 2, (2, 3), (3, 1))
    assert (x.shape, x.device.type, x.storage_offset()) == ((2, 3), "meta", 2)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        rg.ones(10).storage().copy_(storage)


def test_a_storage_is_moved_by_its_device():
    storage = rg.ones(3).untyped_storage()
    assert storage.to(device="cpu") is storage


def test_other_memory_has_another_storage():
    x = rg.zeros(2)
    before = x.untyped_storage()
    x.set_(rg.ones(2))
    assert x.untyped_storage() is not before
    assert x.storage().tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "make",
    [
        rg.tensor,
        rg.as_tensor,
        rg.Tensor,
        lambda held: rg.zeros(0).set_(held),
    ],
)
def test_a_storage_becomes_a_tensor_on_its_memory(make):
    x = rg.arange(3.0)
    made = make(x.storage())
    x[0] = 7.0
    assert made.tolist() == [7.0, 1.0, 2.0]
    assert made.untyped_storage() is x.untyped_storage()


def test_a_storage_of_another_dtype_is_refused():
    with pytest.raises(RuntimeError, match="Expected a Storage of type Double or an UntypedStorag"):
        rg.tensor(rg.ones(2).storage(), dtype=rg.float64)


def test_storages_are_made_of_sizes_and_of_numbers():
    assert rg.UntypedStorage(3).nbytes() == 3
    assert rg.UntypedStorage([1, 2]).tolist() == [1, 2]
    assert rg.TypedStorage([1, 2], dtype=rg.int8).tolist() == [1, 2]
    assert rg.TypedStorage(2).dtype is rg.float32
    assert rg.FloatStorage([1, 2]).nbytes() == 8
    whole = rg.ones(2).untyped_storage()
    assert rg.TypedStorage(wrap_storage=whole, dtype=rg.float32, _internal=True).tolist() == [1, 1]
    assert rg.ComplexFloatStorage([1j]).tolist() == [1j]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.UntypedStorage("a"), RuntimeError, "Expected a sequence type, but got str"),
        (lambda: rg.UntypedStorage(rg.ones(1)), RuntimeError, "Expected a sequence type"),
        (lambda: rg.UntypedStorage([1.5]), RuntimeError, "one of the items was of type float"),
        (lambda: rg.UntypedStorage(-1), RuntimeError, "negative"),
        (lambda: rg.TypedStorage(0, 0), RuntimeError, "Too many positional arguments"),
        (lambda: rg.FloatStorage("a"), TypeError, "invalid data type 'str'"),
        (lambda: rg.FloatStorage(rg.ones(1)), TypeError, "Argument type not recognized"),
        (lambda: rg.FloatStorage(1.5), TypeError, "Argument type not recognized"),
        (lambda: rg.FloatStorage(0, wrap_storage=1), RuntimeError, "No positional arguments"),
        (lambda: rg.FloatStorage(wrap_storage=1), TypeError, "must be UntypedStorage"),
        (lambda: rg.TypedStorage(wrap_storage=1), RuntimeError, "'dtype' must be specified"),
        (lambda: rg.ones(2).storage()[:1], RuntimeError, "slices are only supported in Untyped"),
        (lambda: rg.ones(2).untyped_storage()[::2], RuntimeError, "step of 2"),
        (lambda: rg.ones(2).storage()[2], IndexError, "index 2 out of range for storage of size 2"),
        (lambda: rg.ones(2).storage()["a"], TypeError, "can't index a TypedStorage with str"),
        (lambda: rg.UntypedStorage(2).copy_(rg.UntypedStorage(3)), RuntimeError, "does not match"),
        (lambda: rg.ones(2).storage().fill_(rg.ones(2).storage()), RuntimeError, "cannot set item"),
    ],
)
def test_what_is_no_storage_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_storages_are_read_and_written_by_place():
    x = rg.arange(4.0)
    storage = x.storage()
    assert (storage[1], storage[-1], list(storage)) == (1.0, 3.0, [0.0, 1.0, 2.0, 3.0])
    storage[0], storage[2:] = 5, 7
    assert x.tolist() == [5.0, 1.0, 7.0, 7.0]
    assert rg.UntypedStorage([1, 2, 3])[1:].tolist() == [2, 3]
    storage.copy_(rg.arange(4).storage())
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_write_to_a_storage_is_a_write_to_the_tensors_it_was_asked_of():
    x = rg.ones(3, requires_grad=True)
    y, view = x * x, x.detach()[1:]
    view.untyped_storage().fill_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    z = rg.zeros(0).set_(rg.FloatStorage(2))
    z.untyped_storage().byteswap(rg.float32)
    assert z._version == 2


def test_read_only_memory_stays_as_it_is():
    array = np.ones(2, np.float32)
    array.flags.writeable = False
    storage = rg.from_numpy(array).storage()
    with pytest.raises(RuntimeError, match="read-only"):
        storage.fill_(2.0)


def test_elements_are_converted():
    storage = rg.IntStorage([-1, 0, 300])
    assert storage.byte().tolist() == [255, 0, 44]
    assert storage.bool().tolist() == [True, False, True]
    assert storage.complex_double().dtype is rg.complex128
    assert storage.double().type() == f"{rg.version.called}.DoubleStorage"
    assert storage.type(rg.int64).tolist() == [-1, 0, 300]
    assert rg.UntypedStorage([1, 2]).float().tolist() == [1.0, 2.0]


def test_types_of_storages_are_asked_by_isinstance():
    storage = rg.ones(1).storage()
    assert isinstance(storage, rg.FloatStorage)
    assert isinstance(storage, rg.TypedStorage)
    assert not isinstance(storage, rg.LongStorage)
    assert rg.ones(1).storage_type() is rg.FloatStorage
    assert rg.FloatStorage.dtype is rg.float32


def test_bytes_of_a_buffer_are_read_in_either_order():
    data = bytes([1, 2, 3, 4])
    assert rg.ShortStorage.from_buffer(data, "big").tolist() == [258, 772]
    assert rg.IntStorage.from_buffer(data, "little").tolist() == [67305985]
    assert rg.BoolStorage.from_buffer(b"\0\2\1", "big").tolist() == [False, True, True]
    assert rg.UntypedStorage.from_buffer(data, dtype=rg.uint8).tolist() == [1, 2, 3, 4]


def test_bytes_are_turned_round_within_each_part_of_an_element():
    def swapped(dtype):
        storage = rg.UntypedStorage(range(8))
        storage.byteswap(dtype)
        return storage.tolist()

    assert swapped(rg.float64) == [7, 6, 5, 4, 3, 2, 1, 0]
    assert swapped(rg.complex64) == swapped(rg.int32) == [3, 2, 1, 0, 7, 6, 5, 4]
    assert swapped(rg.bool) == list(range(8))


def test_a_storage_that_nobody_looks_at_grows():
    storage = rg.UntypedStorage([1, 2])
    assert storage.resizable()
    assert storage.resize_(4).nbytes() == 4
    assert storage[:2].tolist() == [1, 2]


def test_memory_that_tensors_look_at_does_not_move():
    x = rg.arange(4.0)
    storage = x.untyped_storage()
    assert storage.resize_(0).nbytes() == 0
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert x.storage().resize_(4).tolist() == x.tolist()
    assert not storage.resizable()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        storage.resize_(32)
    mine = rg.UntypedStorage(4)
    shown = rg.zeros(0).set_(mine)
    with pytest.raises(RuntimeError, match="not resizable"):
        mine.resize_(8)
    assert shown.tolist() == [0.0]


def test_copies_of_storages_have_memory_of_their_own():
    storage = rg.UntypedStorage([1, 2])
    for made in (storage.clone(), copy.copy(storage), copy.deepcopy(storage)):
        made.fill_(7)
    assert storage.tolist() == [1, 2]


def test_what_is_copied_together_shares_memory_again():
    x = rg.arange(3.0)
    y, typed, untyped = copy.deepcopy([x, x.storage(), x.untyped_storage()])
    y.add_(1)
    assert typed.tolist() == [1.0, 2.0, 3.0]
    assert y.untyped_storage() is untyped
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_what_is_saved_together_shares_memory_again():
    x, file = rg.arange(3.0), io.BytesIO()
    rg.save([x, x.storage()], file)
    file.seek(0)
    y, storage = rg.load(file, weights_only=False)
    y.add_(1)
    assert storage.tolist() == [1.0, 2.0, 3.0]
    assert pickle.loads(pickle.dumps(rg.LongStorage([4]))).tolist() == [4]


def test_a_storage_shows_its_elements():
    assert repr(rg.ByteStorage([3])).splitlines()[0] == " 3"
    assert "UntypedStorage(device=cpu) of size 1]" in repr(rg.UntypedStorage([3]))
    assert (
        repr(rg.UntypedStorage()) == " \n[retrograd.storage.UntypedStorage(device=cpu) of size 0]"
    )


@pytest.mark.parametrize("dtype", [rg.float64, rg.float16, rg.bfloat16])
def test_a_storage_without_a_dtype_has_the_default_one(dtype):
    rg.set_default_dtype(dtype)
    try:
        made = [rg.Storage(), rg.Storage(2), rg.Storage([1, 2]), rg.TypedStorage()]
        assert [storage.dtype for storage in made] == [dtype] * 4
        assert rg.Storage.dtype is dtype
        assert isinstance(rg.zeros(1).storage(), rg.Storage)
        assert not isinstance(rg.FloatStorage(1), rg.Storage)
    finally:
        rg.set_default_dtype(rg.float32)
    assert rg.Storage(1).dtype is rg.float32


def test_a_batch_is_collated_into_shared_memory():
    x = rg.arange(6.0).reshape(2, 3)
    room = x.new(x._typed_storage()._new_shared(12, device=x.device)).resize_(2, 2, 3)
    batch = rg.stack([x, x + 1], out=room)
    assert batch.is_shared()
    assert batch[1].tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_a_storage_knows_how_large_it_is():
    empty, ten, hundred = (rg.zeros(n).storage().__sizeof__() for n in (0, 10, 100))
    assert (ten - empty, hundred - empty) == (40, 400)


def test_a_file_is_memory(tmp_path):
    path = tmp_path / "numbers"
    first, second = (rg.from_file(path, shared=True, size=3) for _ in range(2))
    first.fill_(2.5)
    assert second.tolist() == [2.5, 2.5, 2.5]
    own = rg.from_file(str(path), size=2)
    own.zero_()
    assert first.tolist() == [2.5, 2.5, 2.5]
    assert rg.FloatStorage.from_file(path, True, 4).tolist() == [2.5, 2.5, 2.5, 0.0]
    assert rg.from_file(path, dtype=rg.int64).shape == (0,)


def test_a_file_that_is_too_short_raises(tmp_path):
    with pytest.raises(RuntimeError, match="No such file or directory"):
        rg.from_file(tmp_path / "none", size=1)
    (tmp_path / "short").write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="smaller than the required mapping size <4>"):
        rg.from_file(tmp_path / "short", size=1)


def test_an_empty_tensor_lies_nowhere():
    assert rg.zeros(0).data_ptr() == rg.ones(3)[1:1].data_ptr() == rg.UntypedStorage().data_ptr()
    assert rg.zeros(2, 2).resize_(0, 2).data_ptr() == 0


def test_a_tensor_with_gaps_keeps_them_when_it_grows():
    x = rg.from_numpy(np.arange(6.0)[::2]).resize_(5)
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert rg.from_numpy(np.arange(6.0)[::2]).resize_(6)[:5].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_storage_names_its_class():
    assert rg.ones(1).untyped_storage().type().endswith(".storage.UntypedStorage")

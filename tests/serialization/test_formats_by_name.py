"""safetensors and npz: tensors by name."""

from __future__ import annotations

import io
import json
import struct

import numpy as np
import pytest

import retrograd as rg
from retrograd.serialization import npz, safetensors

DTYPES = [
    *(rg.bool, rg.uint8, rg.int8, rg.int16, rg.uint16, rg.int32, rg.uint32, rg.int64, rg.uint64),
    *(rg.float16, rg.float32, rg.float64, rg.complex64),
]


def through_npz(tensors):
    file = io.BytesIO()
    npz.save_file(tensors, file)
    return npz.load_file(io.BytesIO(file.getvalue()))


def through_safetensors(tensors):
    return safetensors.load(safetensors.save(tensors))


@pytest.mark.parametrize("through", [through_npz, through_safetensors])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
def test_values_shape_and_dtype_come_back(through, dtype, shape):
    x = (rg.arange(6)[: np.prod(shape, dtype=int)].reshape(shape)).to(dtype)
    (back,) = through({"a": x}).values()
    assert (back.shape, back.dtype, back.tolist()) == (x.shape, x.dtype, x.tolist())


@pytest.mark.parametrize("through", [through_npz, through_safetensors])
def test_what_comes_back_is_in_row_major_order_and_can_be_written(through):
    x = rg.arange(6.0).view(2, 3)
    found = through({"turned": x.t(), "expanded": rg.ones(1).expand(3), "flipped": x.flip(0)})
    assert found["turned"].tolist() == x.t().tolist()
    assert found["turned"].add_(1).is_contiguous()
    assert found["expanded"].tolist() == [1.0, 1.0, 1.0]
    assert found["flipped"].tolist() == [[3.0, 4.0, 5.0], [0.0, 1.0, 2.0]]


# -- safetensors -------------------------------------------------------------------------------


def test_the_header_is_as_the_format_says():
    content = safetensors.save({"b": rg.ones(1, dtype=rg.uint8), "a": rg.arange(2)}, {"k": "v"})
    (length,) = struct.unpack_from("<Q", content)
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    assert header == {
        "__metadata__": {"k": "v"},
        "a": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]},
        "b": {"dtype": "U8", "shape": [1], "data_offsets": [16, 17]},
    }
    assert content[8 + length :] == struct.pack("<2q", 0, 1) + b"\1"


def test_bfloat16_is_in_safetensors_and_complex128_is_not():
    back = through_safetensors({"a": rg.tensor([1.5], dtype=rg.bfloat16)})["a"]
    assert (back.dtype, back.tolist()) == (rg.bfloat16, [1.5])
    with pytest.raises(TypeError, match="view_as_real"):
        safetensors.save({"a": rg.ones(1, dtype=rg.complex128)})


def test_a_file_is_read_by_name_and_by_part(tmp_path):
    path = tmp_path / "x.safetensors"
    x = rg.arange(24.0).view(2, 3, 4)
    safetensors.save_file({"x": x, "b": rg.ones(2, dtype=rg.int8)}, path, {"epoch": "3"})
    before = path.read_bytes()
    with safetensors.safe_open(path, framework="pt", device="cpu") as file:
        assert file.keys() == ["b", "x"]
        assert file.offset_keys() == ["x", "b"]
        assert file.metadata() == {"epoch": "3"}
        part = file.get_slice("x")
        assert (part.get_shape(), part.get_dtype()) == ([2, 3, 4], "F32")
        assert part[1, :, ::2].tolist() == x[1, :, ::2].tolist()
        whole = file.get_tensor("x")
        with pytest.raises(KeyError, match="'y'"):
            file.get_tensor("y")
    whole.zero_()
    assert path.read_bytes() == before


def test_load_reads_safetensors_too(tmp_path):
    safetensors.save_file({"x": rg.arange(3)}, tmp_path / "x.safetensors")
    for settings in ({}, {"mmap": True}, {"weights_only": False}):
        assert rg.load(tmp_path / "x.safetensors", **settings)["x"].tolist() == [0, 1, 2]


def test_tensors_at_odd_places_are_read():
    header = (
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"b":{"dtype":"F64","shape":[2],"data_offsets":[1,17]}}'
    )
    numbers = np.array([1.5, 2.5])
    content = struct.pack("<Q", len(header)) + header + b"\7" + numbers.tobytes()
    found = safetensors.load(content)
    assert found["a"].tolist() == [7]
    assert found["b"].tolist() == [1.5, 2.5]


class Tied(rg.nn.Module):
    """A module that has one parameter under two names."""

    def __init__(self):
        super().__init__()
        self.first = rg.nn.Linear(2, 2)
        self.second = rg.nn.Linear(2, 2)
        self.second.weight = self.first.weight


def test_a_module_with_tied_parameters_comes_back(tmp_path):
    model, other = Tied(), Tied()
    safetensors.save_model(model, tmp_path / "x.safetensors")
    assert sorted(safetensors.load_file(tmp_path / "x.safetensors")) == [
        "first.bias",
        "first.weight",
        "second.bias",
    ]
    assert safetensors.load_model(other, tmp_path / "x.safetensors") == (set(), [])
    assert other.second.weight is other.first.weight
    for name, value in model.state_dict().items():
        assert other.state_dict()[name].tolist() == value.tolist()


def test_a_module_of_other_names_is_refused_or_told(tmp_path):
    safetensors.save_model(rg.nn.Linear(2, 2), tmp_path / "x.safetensors")
    with pytest.raises(RuntimeError, match="Missing key"):
        safetensors.load_model(Tied(), tmp_path / "x.safetensors")
    missing, unexpected = safetensors.load_model(Tied(), tmp_path / "x.safetensors", strict=False)
    assert "first.weight" in missing
    assert sorted(unexpected) == ["bias", "weight"]


@pytest.mark.parametrize(
    ("tensors", "metadata", "text"),
    [
        ({"a": [1.0]}, None, "expected tensors by name, got list for 'a'"),
        ({3: rg.ones(1)}, None, "expected tensors by name, got Tensor for 3"),
        ({"a": rg.ones(1)}, {"epoch": 3}, "metadata must have texts as names and values"),
    ],
)
def test_only_tensors_by_name_and_texts_are_taken(tensors, metadata, text):
    with pytest.raises(TypeError, match=text):
        safetensors.save(tensors, metadata)


# -- npz ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_wrote_is_read(save, tmp_path):
    arrays = {
        "plain": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "swapped": np.arange(3, dtype=">f4"),
        "number": np.float64(2.5),
        "nothing": np.zeros((0, 2)),
        "flags": np.array([True, False]),
    }
    save(tmp_path / "x.npz", **arrays)
    for mapped in (False, True):
        found = npz.load_file(tmp_path / "x.npz", mmap=mapped)
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert found[name].shape == array.shape
            assert found[name].tolist() == array.tolist()
        assert found["swapped"].dtype is rg.float32


def test_numpy_reads_what_was_written(tmp_path):
    tensors = {"a": rg.arange(6).view(2, 3), "b": rg.tensor([1j])}
    npz.save_file(tensors, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as found:
        assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert found["b"].tolist() == [1j]


def test_a_mapped_npz_is_not_written(tmp_path):
    npz.save_file({"a": rg.arange(3)}, tmp_path / "x.npz")
    before = (tmp_path / "x.npz").read_bytes()
    npz.load_file(tmp_path / "x.npz", mmap=True)["a"].zero_()
    assert (tmp_path / "x.npz").read_bytes() == before


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
def test_narrow_dtypes_are_not_in_an_npz(dtype):
    if dtype != "bfloat16":
        pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError, match=f"NumPy has no {dtype}, the dtype of 'a'"):
        npz.save_file({"a": rg.ones(1, dtype=getattr(rg, dtype))}, io.BytesIO())


def test_load_names_the_reader_of_an_npz():
    file = io.BytesIO()
    np.savez(file, a=np.ones(1))
    with pytest.raises(RuntimeError, match=r"npz\.load_file"):
        rg.load(io.BytesIO(file.getvalue()))


def test_an_element_of_a_tensor_in_a_file_is_a_tensor_that_can_be_written(tmp_path):
    safetensors.save_file({"x": rg.arange(3.0)}, tmp_path / "x.safetensors")
    with safetensors.safe_open(tmp_path / "x.safetensors") as file:
        assert file.get_slice("x")[1].add_(1).item() == 2


def test_a_tensor_without_data_is_not_saved_by_name():
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        safetensors.save({"x": rg.ones(2, device="meta")})

"""Files that PyTorch, the library safetensors and earlier versions of this package wrote.

`tests/data/files/make_files.py` has made them with PyTorch 2.13.
"""

from __future__ import annotations

import collections
import pickle
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import serialization
from retrograd.serialization import safetensors

FILES = Path(__file__).parents[1] / "data" / "files"
DTYPES = {
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
}


def check_dtypes(found):
    for name in DTYPES & found.keys():
        assert found[name].dtype is getattr(rg, name)
        last = True if name == "bool" else 3
        assert found[name].tolist() == [0, 1, 1, 0, last]


@pytest.mark.parametrize("settings", [{}, {"mmap": True}, {"weights_only": False}])
def test_every_dtype_is_read(settings):
    found = rg.load(FILES / "dtypes.pt", **settings)
    assert found.keys() == DTYPES
    check_dtypes(found)


@pytest.mark.parametrize("name", ["views.pt", "legacy.pt"])
@pytest.mark.parametrize("safely", [True, False])
def test_views_strides_offsets_and_shared_memory_are_read(name, safely):
    found = rg.load(FILES / name, weights_only=safely)
    whole = found["whole"]
    assert whole.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert found["same"] is whole
    assert found["columns"].stride() == (4, 2)
    assert found["columns"].tolist() == [[1, 3], [5, 7], [9, 11]]
    assert found["turned"].tolist() == whole.t().tolist()
    whole[1, 1] = 50
    assert found["row"].tolist() == [4, 50, 6, 7]
    assert found["turned"][1, 1] == 50
    assert found["expanded"].tolist() == [5, 5, 5]
    assert found["expanded"].stride() == (0,)
    assert found["empty"].shape == (0, 3)
    assert found["number"].item() == 7
    assert found["conj"].tolist() == [1 - 2j, 3 + 1j]
    assert found["imag of conj"].tolist() == [-4, 2]
    assert found["leaf"].requires_grad
    assert found["leaf"].is_leaf


def test_every_dtype_is_read_from_the_format_before_archives():
    check_dtypes(rg.load(FILES / "legacy.pt"))


@pytest.mark.parametrize("name", ["containers.pt", "protocol5.pt"])
@pytest.mark.parametrize("safely", [True, False])
def test_containers_parameters_and_attributes_are_read(name, safely):
    found = rg.load(FILES / name, weights_only=safely)
    assert type(found["parameter"]) is rg.nn.Parameter
    assert found["parameter"].tolist() == [1, 2]
    assert found["parameter"].requires_grad
    assert found["tagged parameter"].kind == {"bias": True}
    assert not found["tagged parameter"].requires_grad
    assert type(found["buffer"]) is rg.nn.Buffer
    assert found["buffer"].persistent
    assert type(found["tagged"]) is rg.Tensor
    assert found["tagged"].unit == "m"
    assert (type(found["size"]), found["size"]) == (rg.Size, (2, 3))
    assert found["dtype"] == [rg.float32, rg.uint16, rg.bfloat16]
    assert found["device"] == [rg.device("cpu"), rg.device("cuda", 1)]
    assert found["layout"] is rg.strided
    nested = collections.OrderedDict([("b", 1), ("a", (2, [3, {4: 5}]))])
    assert list(found["ordered"].items()) == list(nested.items())
    assert type(found["ordered"]) is collections.OrderedDict
    assert found["counter"] == collections.Counter("abba")
    plain = [None, True, -3, 2**80, 1.5, "text €", b"\0\xff", bytearray(b"x"), 1j, {1}]
    assert found["plain"] == plain
    assert found["frozen"] == frozenset([2])


@pytest.mark.parametrize("settings", [{}, {"mmap": True}])
def test_a_checkpoint_of_pytorch_gives_pytorchs_outputs(settings):
    found = rg.load(FILES / "checkpoint.pt", **settings)
    model = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.BatchNorm1d(2), rg.nn.Linear(2, 1))
    optimizer = rg.optim.Adam(model.parameters())
    schedule = rg.optim.lr_scheduler.MultiStepLR(optimizer, [1])
    assert found["model"]._metadata["1"] == {"version": 2}
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    schedule.load_state_dict(found["schedule"])
    model.eval()
    np.testing.assert_allclose(
        model(found["input"]).tolist(), found["output"].tolist(), rtol=1e-6, atol=1e-8
    )
    first = optimizer.state[model[0].weight]
    assert first["step"] == 2
    assert first["exp_avg"].tolist() == found["optimizer"]["state"][0]["exp_avg"].tolist()
    assert schedule.milestones == collections.Counter({1: 2, 5: 1})


def test_a_whole_module_of_pytorch_is_read_only_from_a_trusted_file():
    checkpoint = rg.load(FILES / "checkpoint.pt")
    with pytest.raises(pickle.UnpicklingError, match=r"torch\.nn\.modules\.container\.Sequential"):
        rg.load(FILES / "module.pt")
    model = rg.load(FILES / "module.pt", weights_only=False)
    assert type(model[1]) is rg.nn.BatchNorm1d
    out = model(checkpoint["input"])
    np.testing.assert_allclose(out.tolist(), checkpoint["output"].tolist(), rtol=1e-6, atol=1e-8)


def test_other_objects_of_pytorch_go_on_from_a_trusted_file():
    found = rg.load(FILES / "objects.pt", weights_only=False)
    attention, optimizer = found["attention"], found["optimizer"]
    x = rg.ones(3, 1, 2)
    out, weights = attention(x, x, x)
    np.testing.assert_allclose(weights.tolist(), np.full((1, 3, 3), 1 / 3), rtol=1e-6)
    before = attention.out_proj.weight.clone()
    out.sum().backward()
    assert optimizer.param_groups[0]["params"][1] is attention.out_proj.weight
    optimizer.step()
    expected = before - attention.out_proj.weight.grad
    assert attention.out_proj.weight.tolist() == expected.tolist()
    found["schedule"].step()
    assert optimizer.param_groups[0]["lr"] == 0.1


def test_the_classes_of_a_module_can_be_allowed():
    names = serialization.get_unsafe_globals_in_checkpoint(FILES / "module.pt")
    assert names == [
        "torch.nn.modules.container.Sequential",
        "torch.nn.modules.linear.Linear",
        "torch.nn.modules.batchnorm.BatchNorm1d",
    ]
    norm = (rg.nn.BatchNorm1d, "torch.nn.modules.batchnorm.BatchNorm1d")
    with serialization.safe_globals([rg.nn.Sequential, rg.nn.Linear, norm]):
        assert serialization.get_unsafe_globals_in_checkpoint(FILES / "module.pt") == []
        assert type(rg.load(FILES / "module.pt")[0]) is rg.nn.Linear


def test_arrays_of_numpy_are_read():
    found = rg.load(FILES / "numpy.pt")
    assert type(found["array"]) is np.ndarray
    assert found["array"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert found["number"] == 1.5
    assert found["number"].dtype == np.float32


def test_the_weights_of_a_torchscript_archive_are_read():
    with pytest.warns(UserWarning, match="TorchScript archive"):
        found = rg.load(FILES / "scripted.pt")
    assert sorted(found) == ["first.bias", "first.weight", "steps"]
    assert found["steps"].tolist() == [0, 1, 2]
    assert found["first.weight"].shape == (2, 2)


def test_an_archive_without_checksums_is_read():
    assert rg.load(FILES / "unchecked.pt").tolist() == [0, 1, 2]


def test_a_file_of_the_library_safetensors_is_read():
    found = rg.load(FILES / "x.safetensors")
    assert found.keys() == DTYPES - {"complex128"} | {"matrix"}
    check_dtypes(found)
    assert found["matrix"].tolist() == [[0, 1, 2], [3, 4, 5]]
    with safetensors.safe_open(FILES / "x.safetensors") as file:
        assert file.metadata() == {"a": "b"}

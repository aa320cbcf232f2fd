"""Tensors without data in files, and files that are loaded without their data."""

from __future__ import annotations

import io

import pytest

import retrograd as rg
from retrograd import nn


def saved(value, **settings):
    buffer = io.BytesIO()
    rg.save(value, buffer, **settings)
    buffer.seek(0)
    return buffer


def test_tensors_without_data_are_saved_under_pytorchs_name():
    x = rg.ones(2, 3, dtype=rg.bfloat16, device="meta").t()
    buffer = saved({"x": x, "w": nn.Parameter(rg.ones(2, device="meta"))})
    assert b"_rebuild_meta_tensor_no_storage" in buffer.getvalue()
    found = rg.load(buffer, map_location="cpu")  # there is no data to be put there
    assert found["x"].is_meta
    assert (found["x"].shape, found["x"].stride(), found["x"].dtype) == ((3, 2), (1, 3), x.dtype)
    assert isinstance(found["w"], nn.Parameter)
    assert found["w"].requires_grad


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("place", ["meta", rg.device("meta"), {"cpu": "meta"}])
def test_a_file_can_be_loaded_without_its_data(place, zipped):
    x = rg.arange(6.0).reshape(2, 3)
    buffer = saved([x, x.t()[1:]], _use_new_zipfile_serialization=zipped)
    found = rg.load(buffer, map_location=place)
    assert [t.device.type for t in found] == ["meta", "meta"]
    assert [(t.shape, t.stride()) for t in found] == [((2, 3), (3, 1)), ((2, 2), (1, 3))]


def test_a_module_without_data_takes_the_state_of_another():
    state = rg.load(saved(nn.Linear(2, 3).state_dict()), map_location="meta")
    module = nn.Linear(2, 3, device="meta")
    module.load_state_dict(state, assign=True)
    assert module.weight.is_meta

"""Nobody who knows PyTorch's tensor API meets a missing name: it is here, or an error says why."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

import retrograd as rg
from retrograd.torch.alias.finder import home_of
from retrograd.torch.names import missing as absent

NAMES = json.loads((Path(__file__).parents[1] / "data" / "names.json").read_text())


def space_of(place):
    """What has the names of a module of PyTorch here; None where nothing has."""
    if place == "Tensor":
        return rg.Tensor
    home = home_of(f"torch.{place}".rstrip("."))
    return home and importlib.import_module(home)


@pytest.mark.parametrize("place", NAMES)
def test_every_name_of_pytorch_is_here_or_has_a_reason(place):
    space = space_of(place)
    if space is None:
        outer, _, name = place.rpartition(".")
        assert absent.reason(name, outer), f"neither torch.{place} nor a reason"
        return
    names = [name for name in NAMES[place].split() if not hasattr(space, name)]
    assert not [name for name in names if not absent.reason(name, place)]


def test_no_name_that_is_here_has_a_reason_to_be_absent():
    here = [name for name in dir(rg) if not isinstance(getattr(rg, name, None), ModuleType)]
    assert not [name for name in here if absent.reason(name) and not name.endswith("float16")]


def test_a_reason_may_be_that_of_a_place():
    assert absent.reason("save", "jit").startswith(": programs are not written to files")
    assert absent.reason("unification", "fx.experimental").startswith(": Python itself is")
    assert absent.reason("save", "serialization").startswith(": a file is written whole")
    assert not absent.reason("save")
    assert not absent.reason("nothing", "nn")


def test_an_absent_name_raises_with_its_reason():
    with pytest.raises(AttributeError, match=r"no attribute 'hspmm': nothing is written"):
        rg.hspmm
    with pytest.raises(AttributeError, match=r"'quantize_per_tensor': NumPy has no quantized"):
        rg.quantize_per_tensor
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        rg.nothing
    with pytest.raises(AttributeError, match=r"'classes': it belongs to PyTorch's C\+\+ side"):
        rg.classes
    assert not hasattr(rg, "nativert")

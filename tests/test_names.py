"""Nobody who knows PyTorch's tensor API meets a missing name: it is here, or an error says why."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.ops.compat import missing as absent

NAMES = json.loads((Path(__file__).parent / "data" / "names.json").read_text())


@pytest.mark.parametrize("place", NAMES)
def test_every_name_of_pytorch_is_here_or_has_a_reason(place):
    if place == "Tensor":
        space = rg.Tensor
    else:
        space = importlib.import_module(f"retrograd.{place}".rstrip("."))
    missing = [n for n in NAMES[place].split() if not hasattr(space, n) and not absent.reason(n)]
    assert not missing


def test_no_name_that_is_here_has_a_reason_to_be_absent():
    assert not [name for name in dir(rg) if absent.reason(name) and not name.endswith("float16")]


def test_an_absent_name_raises_with_its_reason():
    with pytest.raises(AttributeError, match=r"no attribute 'hspmm': sparse tensors are of co"):
        rg.hspmm
    with pytest.raises(AttributeError, match=r"'quantize_per_tensor': NumPy has no quantized"):
        rg.quantize_per_tensor
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        rg.nothing
    assert not hasattr(rg, "export")

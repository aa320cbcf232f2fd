"""Small programs of nested transforms give what PyTorch's torch.func gives, value by value.

`tests/data/make_transforms.py` has the programs and made the stored values.
"""

from __future__ import annotations

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg

DATA = Path(__file__).parents[1] / "data"
spec = importlib.util.spec_from_file_location("make_transforms", DATA / "make_transforms.py")
transforms = importlib.util.module_from_spec(spec)
spec.loader.exec_module(transforms)

STORED = json.loads((DATA / "transforms.json").read_text())


@pytest.mark.parametrize("name", transforms.PROGRAMS)
def test_program_agrees_with_pytorch(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # where a loop is taken
        found = transforms.flat(transforms.PROGRAMS[name](rg))
    assert len(found) == len(STORED[name])
    for t, (dtype, shape, numbers) in zip(found, STORED[name], strict=True):
        assert (str(t.dtype).split(".")[1], list(t.shape)) == (dtype, shape)
        values = rg.view_as_real(t) if t.is_complex() else t
        tolerance = 1e-9 if dtype in ("float64", "complex128") else 1e-5
        np.testing.assert_allclose(
            values.detach().numpy().ravel(), numbers, rtol=tolerance, atol=tolerance
        )

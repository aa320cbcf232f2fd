"""Linear algebra against PyTorch 2.13: values, first and second derivatives, real and complex.

`tests/data/make_linalg.py` lists the programs and made `linalg.json` with PyTorch. Numbers agree to
1e-7 relative to the largest of their list, both sides being float64; most to ten digits, those with
an ill-conditioned second derivative to fewer.
"""

import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes

DATA = Path(__file__).parents[2] / "data"
spec = importlib.util.spec_from_file_location("linalg_programs", DATA / "make_linalg.py")
linalg = importlib.util.module_from_spec(spec)
spec.loader.exec_module(linalg)
RESULTS = json.loads((DATA / "linalg.json").read_text())


def test_every_program_has_a_result():
    assert list(linalg.programs()) == list(RESULTS)


@pytest.mark.parametrize("kind", linalg.KINDS)
@pytest.mark.parametrize("name", RESULTS)
def test_values_and_derivatives_are_those_of_pytorch(name, kind):
    expected, found = RESULTS[name][kind], linalg.run(rg, name, kind)
    for order, lists in expected.items():
        pairs = list(zip(found[order], lists, strict=True))
        for index, (given, known) in enumerate(pairs):
            wanted = known or [0.0] * len(given or [])  # None is a gradient of zeros
            got = given or [0.0] * len(wanted)
            scale = max(1.0, np.max(np.abs(wanted), initial=0.0))
            np.testing.assert_allclose(got, wanted, atol=1e-7 * scale, err_msg=f"{order} {index}")


def test_a_product_of_several_matrices_by_its_older_name_warns_once(monkeypatch):
    monkeypatch.setattr(modes, "warned", set())
    with pytest.warns(UserWarning, match="chain_matmul is deprecated"):
        rg.chain_matmul(rg.eye(2), rg.eye(2))
    with warnings.catch_warnings(action="error"):
        rg.chain_matmul(rg.eye(2), rg.eye(2))


def test_multi_dot_does_not_warn(monkeypatch):
    monkeypatch.setattr(modes, "warned", set())
    with warnings.catch_warnings(action="error"):
        rg.linalg.multi_dot([rg.eye(2)] * 3)

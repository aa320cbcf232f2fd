"""GPT-2, BERT, Llama, T5 and ViT of the package transformers compute what PyTorch computes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers", "5.0", reason="its models, by their names since 5.0, are run")
SCRIPT = Path(__file__).parents[2] / "data" / "make_transformers.py"
EXPECTED = json.loads(SCRIPT.with_name("transformers.json").read_text())


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What all models compute, in a process of their own."""
    path = tmp_path_factory.mktemp("transformers") / "found.json"
    command = [sys.executable, "-m", "retrograd", "run", str(SCRIPT), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


@pytest.mark.parametrize("model", EXPECTED)
def test_weights_drawn_from_a_seed_are_pytorch_s(found, model):
    assert found[model]["drawn"].keys() == EXPECTED[model]["drawn"].keys()
    for name, expected in EXPECTED[model]["drawn"].items():
        assert found[model]["drawn"][name] == pytest.approx(expected, rel=1e-5, abs=1e-5), name


@pytest.mark.parametrize("model", EXPECTED)
def test_losses_and_outputs_are_pytorch_s(found, model):
    for name in ("loss", "logits"):
        np.testing.assert_allclose(found[model][name], EXPECTED[model][name], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("model", EXPECTED)
def test_gradients_are_pytorch_s(found, model):
    assert found[model]["gradients"] == pytest.approx(
        EXPECTED[model]["gradients"], rel=1e-4, abs=1e-6
    )


@pytest.mark.parametrize("model", [name for name in EXPECTED if "words" in EXPECTED[name]])
def test_greedy_generation_gives_the_same_words(found, model):
    assert found[model]["words"] == EXPECTED[model]["words"]

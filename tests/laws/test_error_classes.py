"""Law: a wrong program raises an error of PyTorch's class, and warns where PyTorch does."""

from __future__ import annotations

import builtins
import io
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn.utils import rnn

FILE = Path(__file__).parents[1] / "data" / "errors.json"  # made by make_errors.py
OUTCOMES = json.loads(FILE.read_text(encoding="utf-8"))
TOOLS = {"torch": rg, "nn": rg.nn, "F": rg.nn.functional, "rnn": rnn, "io": io, "np": np}
TOOLS |= {"ones": rg.ones}


@pytest.mark.parametrize("program", OUTCOMES)
def test_errors_and_warnings_are_of_pytorchs_classes(program):
    wanted, categories = OUTCOMES[program]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        if wanted is None:
            exec(program, dict(TOOLS))
        else:
            kind = getattr(builtins, wanted, None) or getattr(pickle, wanted)
            with pytest.raises(kind):
                exec(program, dict(TOOLS))
    assert sorted(each.category.__name__ for each in seen) == categories

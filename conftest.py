"""What every doctest knows without importing it: `rg` and `np`; and what is no test here."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import retrograd as rg

# The import of the first changes what torch means; the others are MkDocs's.
collect_ignore = ["src/retrograd/as_torch.py", "docs/mathematics.py", "docs/pages.py"]

if os.environ.get("RETROGRAD_COMPILE") == "0":
    assert "llvmlite" not in sys.modules
    sys.modules["llvmlite"] = None  # as where it is not installed: whoever imports it fails
if find_spec("llvmlite") is None:
    collect_ignore += ["src/retrograd/compiler", "tests/compiler/loops.py", "docs/compiler.md"]
if find_spec("tensorboard") is None:
    collect_ignore += ["src/retrograd/utils/tensorboard"]
if find_spec("onnx") is None:
    collect_ignore += ["src/retrograd/onnx"]


@pytest.fixture(autouse=True)
def known_names(doctest_namespace: dict[str, Any]) -> None:
    """Give doctests the names under which users import Retrograd and NumPy."""
    doctest_namespace |= {"rg": rg, "np": np}

"""What every doctest knows without importing it: `rg` and `np`; and what is no test here."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
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


@pytest.fixture(scope="session", autouse=True)
def kept_apart(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let temporary files, of processes started here too, be where pytest clears its own away.

    Such a process shows what its threads did if a signal ends it.
    """
    tempfile.tempdir = os.environ["TMPDIR"] = str(tmp_path_factory.getbasetemp())
    os.environ["PYTHONFAULTHANDLER"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show all that a process said whose end is the error."""
    report = yield
    error = call.excinfo and call.excinfo.value
    if isinstance(error, (subprocess.CalledProcessError, subprocess.TimeoutExpired)):
        for name in ("stdout", "stderr"):
            said = getattr(error, name) or b""
            text = said if isinstance(said, str) else said.decode(errors="replace")
            report.sections.append((f"{name} of the process", text))
    return report


@pytest.fixture(autouse=True)
def known_names(doctest_namespace: dict[str, Any]) -> None:
    """Give doctests the names under which users import Retrograd and NumPy, and equal draws."""
    rg.manual_seed(0)
    doctest_namespace |= {"rg": rg, "np": np}

"""What docstrings know without importing it: `rg` and `np`; and what is no test here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import retrograd as rg

if TYPE_CHECKING:
    from collections.abc import Iterator

# The import of the first changes what torch means; the others are MkDocs's.
collect_ignore = [
    "src/retrograd/as_torch.py",
    *(
        f"docs/{name}.py"
        for name in ("docstrings", "mathematics", "notebooks", "pages", "reference")
    ),
]

if os.environ.get("RETROGRAD_COMPILE") == "0":
    assert "llvmlite" not in sys.modules
    sys.modules["llvmlite"] = None  # as where it is not installed: whoever imports it fails
if find_spec("llvmlite") is None:
    collect_ignore += ["src/retrograd/compiler", "tests/compiler/loops.py", "docs/compiler.md"]
if find_spec("tensorboardX") is None:
    collect_ignore += ["src/retrograd/torch/utils/tensorboard.py"]
if find_spec("onnx") is None:
    collect_ignore += ["src/retrograd/torch/onnx"]

MADE = ">>> rg.distributed.init_process_group"
LONGEST = 48  # characters of a folder whose sockets have names: macOS takes 104, with all below it


@pytest.fixture(scope="session", autouse=True)
def kept_apart() -> None:
    """Let temporary files, of processes started here too, be in a folder that goes afterwards.

    The name of a socket in it is short enough for every system. A process that a signal ends shows
    what its threads did.
    """
    usual = tempfile.gettempdir()
    place = "/tmp" if len(usual) > LONGEST and os.access("/tmp", os.W_OK) else usual
    tempfile.tempdir = os.environ["TMPDIR"] = folder = tempfile.mkdtemp(dir=place)
    # After that of multiprocessing, which has a folder in it.
    Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=-200)
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


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give doctests their fixtures; most tests are none, and a fixture takes a while in each."""
    if isinstance(item, pytest.DoctestItem):
        item.fixturenames += ["known_names", "grouped"]


@pytest.fixture
def known_names(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Give doctests the names under which users import Retrograd and NumPy, and equal draws.

    A page imports what it uses, as its readers have to.
    """
    rg.manual_seed(0)
    doctest_namespace.clear()
    if request.node.path.suffix != ".md":
        doctest_namespace |= {"rg": rg, "np": np}


@pytest.fixture
def grouped(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let examples of `distributed` run in a group of this process, unless they make it."""
    example = getattr(request.node, "dtest", None)
    places = "retrograd.torch.distributed.", "retrograd.torch.nn.parallel."
    if not example or not example.name.startswith(places) or MADE in example.docstring:
        yield
        return
    rg.distributed.init_process_group(rank=0, world_size=1)
    yield
    if rg.distributed.is_initialized():
        rg.distributed.destroy_process_group()

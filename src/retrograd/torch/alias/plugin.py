"""pytest's option `--retrograd`: `import torch` in tests means Retrograd.

`pytest -p retrograd.alias.plugin --retrograd` runs tests so. It is no entry point: for one, pytest
would load Retrograd in every run, whatever is tested, and rewrite the assertions of all of it.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from .command import Folder
from .explain import explain

__all__ = [
    "pytest_addoption", "pytest_exception_interact", "pytest_load_initial_conftests",
]  # fmt: skip


def pytest_addoption(parser: Any) -> None:
    """Add the option."""
    parser.addoption(
        "--retrograd", action="store_true", help="let `import torch` mean Retrograd in all tests"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Install the alias before the first conftest.py is read."""
    if early_config.known_args_namespace.retrograd:
        importlib.import_module("retrograd.as_torch")
        sys.path[0] = Folder(sys.path[0])  # processes that tests start afresh get the alias with it


def pytest_exception_interact(node: Any, call: Any, report: Any) -> None:
    """Say under a failure what is missing of PyTorch."""
    if node.config.getoption("retrograd") and (note := explain(call.excinfo.value)):
        report.sections.append(("Retrograd", note))

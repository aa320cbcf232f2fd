"""pytest's option `--retrograd`: `import torch` in tests means Retrograd.

`pytest -p pytest_retrograd --retrograd` runs tests so. It is no entry point: for one, pytest would
rewrite the assertions of the whole package in every run. It is a package of its own, so that naming
it does not import Retrograd.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest


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


def pytest_exception_interact(node: Any, call: Any, report: Any) -> None:
    """Say under a failure what is missing of PyTorch."""
    if node.config.getoption("retrograd"):
        explain = importlib.import_module("retrograd.alias.explain").explain
        if note := explain(call.excinfo.value):
            report.sections.append(("Retrograd", note))

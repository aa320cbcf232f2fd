"""Laws of the sheets: they say of what there is what does not follow. NOTE [Sheets]."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import pytest

from retrograd import providers
from retrograd.engine.registry import OPS
from retrograd.ops import lazy_loading
from retrograd.torch.layouts.masked.rules import Masked
from retrograd.torch.layouts.nested.rules import Nested
from retrograd.torch.layouts.sparse.array import Sparse
from retrograd.torch.library import aten as operators
from retrograd.torch.library.aten import OWN, aten, function_of, is_composed, overloads_of
from retrograd.torch.library.translation import RECORDS
from retrograd.torch.sheets import SHEETS

DATA = Path(__file__).parents[1] / "data"
THEIRS, NAMES = (json.loads((DATA / name).read_text()) for name in ("aten.json", "names.json"))
FACTS = [
    (family, what, name)
    for family, sheet in SHEETS.items()
    for what in sheet
    for name in sheet[what]
]
HOMES = {
    name: family.split(".")[2]
    for table in (lazy_loading.METHODS, lazy_loading.NAMES, lazy_loading.OPS)
    for family, names in table.items()
    for name in names.split()
}


@pytest.fixture
def everything(monkeypatch):
    """Functions as they are found where no sheet says that one is no operator."""
    monkeypatch.setattr(operators, "NONE", {})
    function_of.cache_clear()
    yield
    function_of.cache_clear()


def test_what_a_sheet_speaks_of_exists(everything):
    missing = [row for row in FACTS if not function_of(row[-1]) and row[-1] not in OPS]
    assert missing == []


def home_of(name):
    """The folder that has a function or record, None if nobody knows."""
    function = function_of(name) or OPS[name].call
    op = getattr(function, "op", None)
    home = op.home if op is not None else inspect.unwrap(function).__module__ or ""
    folder = (*home.split("."), "", "")[2]
    return folder if folder in SHEETS else HOMES.get(name, name.partition("_")[0])


def test_a_row_is_in_the_sheet_of_its_family(everything):
    told = [row for row in FACTS if row[-1] not in OWN and home_of(row[-1]) in SHEETS]
    assert [row for row in told if home_of(row[-1]) != row[0]] == []


def test_no_name_is_in_two_sheets():
    pairs = [(what, name) for _, what, name in FACTS]
    assert len(set(pairs)) == len(pairs)


def without(monkeypatch, table, name):
    """Leave a row out of what the sheets say of one kind."""
    rows = {key: row for key, row in getattr(operators, table).items() if key != name}
    monkeypatch.setattr(operators, table, rows)


@pytest.mark.parametrize("name", operators.OVERLOADS)
def test_no_sheet_says_overloads_that_follow(name, monkeypatch):
    said = overloads_of(name)
    without(monkeypatch, "OVERLOADS", name)
    assert overloads_of(name) != said


@pytest.mark.parametrize("name", [*operators.COMPOSED, *operators.BASIC])
def test_no_sheet_says_what_is_composed_where_that_follows(name, monkeypatch):
    said = is_composed(name)
    without(monkeypatch, "COMPOSED" if said else "BASIC", name)
    assert is_composed(name) != said


def test_what_pytorch_does_not_have_as_an_operator_it_does_not_have_at_all():
    known = {name for names in NAMES.values() for name in names.split()}
    assert [name for name in dir(aten) if name not in THEIRS and name in known] == []


def exported():
    """What is exported to ONNX, if that is installed."""
    pytest.importorskip("onnx")
    importlib.import_module("retrograd.torch.onnx.program")
    return importlib.import_module("retrograd.torch.onnx.graph").TABLE


def test_rules_and_translations_are_of_records_that_exist():
    tables = {
        "operators": RECORDS,
        "ONNX": exported(),
        **{kind.__name__: kind.rules for kind in (Masked, Nested, Sparse)},
    }
    providers.load_families()
    assert [(k, op) for k, rows in tables.items() for op in rows if op not in {*OPS, "*"}] == []

"""docs/layers.svg is what docs/make_layers.py draws now, and shows every module."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("make_layers", DOCS / "make_layers.py")
make_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_layers)

PICTURE = (DOCS / "layers.svg").read_text()


def row_of(rows, name):
    """The number of the row, from the bottom, in which a unit is."""
    (found,) = [n for n, row in enumerate(reversed(rows)) if name in row]
    return found


def test_the_picture_is_up_to_date():
    assert make_layers.picture() == PICTURE, "it is old: run python docs/make_layers.py"


def test_the_picture_names_every_module_and_folder():
    shown = set(re.findall(r"[\w]+", " ".join(re.findall(r"<text [^>]*>(.*?)</text>", PICTURE))))
    assert not [name for name in make_layers.FILES if name and name[-1] not in shown]


def test_the_engine_stands_in_the_order_that_its_page_tells():
    rows = make_layers.rows(("engine",))
    order = ["graph", "tensor", "op", "saved", "record", "callers", "registry", "inplace"]
    heights = [row_of(rows, ("engine", name)) for name in order]
    assert heights == sorted(set(heights))


def test_a_row_holds_what_imports_each_other(monkeypatch):
    a, b, c = ("ops", "a"), ("ops", "b"), ("ops", "c")
    imports = {("ops",): {a}, a: {b}, b: {a, c}, c: set()}
    monkeypatch.setattr(make_layers, "FILES", imports)
    monkeypatch.setattr(make_layers, "IMPORTS", imports)
    assert make_layers.rows(("ops",)) == [[a, b], [c]]

"""Writes what loads later and where it is: `python docs/make_families.py`.

`src/retrograd/ops/later.py` says which families load when they are asked for. Here they load one
after the other, and what each attaches, declares and gives to the package goes into
`src/retrograd/ops/families.py`. A test compares the two.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from importlib.machinery import SourceFileLoader
from pathlib import Path

import retrograd as rg
from retrograd.engine.registry import OPS as RECORDS
from retrograd.ops.stubs import attached

PLACE = Path(__file__).parents[1] / "src" / "retrograd" / "ops" / "families.py"
OPS = "retrograd.ops."
HEAD = '''"""What is in the families that load later. docs/make_families.py writes this file.

By family, a module of this package: the methods of tensors, the ops and the public names.
"""

from __future__ import annotations

__all__ = ["METHODS", "NAMES", "OPS"]
'''


def watch_loading(found: dict[str, set[tuple[str, str]]]) -> None:
    """Note from now on which methods and ops appear while a module runs, but not one it imports."""
    run, known = SourceFileLoader.exec_module, attached()
    ops = set(RECORDS)

    def exec_module(self: SourceFileLoader, module: object) -> None:
        run(self, module)  # what a module imports is through, and known, before it itself is
        new = {("method", name) for name, m in attached().items() if known.get(name) is not m}
        new |= {("op", name) for name in set(RECORDS) - ops}
        known.update(attached())
        ops.update(RECORDS)
        found[module.__name__] = new

    SourceFileLoader.exec_module = exec_module


def public(core: set[str]) -> dict[str, str]:
    """The module that gives each public name."""
    later = importlib.import_module(f"{OPS}later")
    homes, copies = {}, {}
    for place, module in list(sys.modules.items()):
        names = getattr(module, "__all__", ()) if place.startswith(OPS) and module != later else ()
        for name in set(names) & set(later.__all__) - core:
            found = homes if vars(module)[name] is vars(later)[name] else copies
            found.setdefault(name, place)
    return copies | homes


def table(title: str, rows: dict[str, list[str]]) -> str:
    """One dictionary of the file."""
    lines = [f"\n{title} = {{\n"]
    for family, names in sorted(rows.items()):
        line = " ".join(sorted(names))
        parts = [f'"{part} "' for part in textwrap.wrap(line, 90 if len(line) < 91 else 88)]
        parts[-1] = parts[-1].replace(' "', '"')
        short = len(parts) == 1 and len(family) + len(parts[0]) < 93
        value = parts[0] if short else "(\n        " + "\n        ".join(parts) + "\n    )"
        lines.append(f'    "{family}": {value},\n')
    return "".join([*lines, "}\n"])


def text() -> str:
    """The file."""
    core, found = {*vars(rg), *vars(rg.ops)}, {}
    watch_loading(found)
    homes = public(core)
    tables = {"METHODS": {}, "OPS": {}, "NAMES": {}}
    for place, new in found.items():
        for kind, name in new if place.startswith(OPS) else ():
            rows = tables["METHODS" if kind == "method" else "OPS"]
            rows.setdefault(place.removeprefix(OPS), []).append(name)
    for name, place in homes.items():
        tables["NAMES"].setdefault(place.removeprefix(OPS), []).append(name)
    return HEAD + "".join(table(title, rows) for title, rows in tables.items())


if __name__ == "__main__":
    PLACE.write_text(text())

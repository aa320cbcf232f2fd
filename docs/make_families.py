"""Writes what loads later and where it is: `python docs/make_families.py`.

`ops/lazy_families.py` and `torch/lazy_families.py` say which families load when they are asked for.
Here they load one after the other, and what each attaches, declares and gives to the package goes
into the `lazy_names.py` beside. A test compares the two.
"""

from __future__ import annotations

import importlib
import sys
import textwrap
from importlib.machinery import SourceFileLoader
from pathlib import Path

import retrograd as rg
from retrograd.engine.registry import OPS as RECORDS
from retrograd.ops.lazy_loading import attached

SOURCES = Path(__file__).parents[1] / "src"
PACKAGES = ("retrograd.ops.", "retrograd.torch.")
LATER = ("retrograd.ops.lazy_families", "retrograd.torch.lazy_families")
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
    later = importlib.import_module(LATER[-1])
    homes, copies = {}, {}
    for place, module in list(sys.modules.items()):
        own = place.startswith(PACKAGES) and place not in LATER
        names = getattr(module, "__all__", ()) if own else ()
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


def texts() -> dict[Path, str]:
    """The files."""
    core, found = {*vars(rg), *vars(rg.ops)}, {}
    watch_loading(found)
    homes = public(core)
    made = {}
    for package in PACKAGES:
        tables = {"METHODS": {}, "OPS": {}, "NAMES": {}}
        for place, new in found.items():
            for kind, name in new if place.startswith(package) else ():
                rows = tables["METHODS" if kind == "method" else "OPS"]
                rows.setdefault(place.removeprefix(package), []).append(name)
        for name, place in homes.items():
            if place.startswith(package):
                tables["NAMES"].setdefault(place.removeprefix(package), []).append(name)
        path = SOURCES.joinpath(*package.split("."), "lazy_names.py")
        made[path] = HEAD + "".join(table(title, rows) for title, rows in tables.items())
    return made


if __name__ == "__main__":
    for path, text in texts().items():
        path.write_text(text)

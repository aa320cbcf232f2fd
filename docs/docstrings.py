"""Docstrings for griffe, which reads the package for mkdocstrings: as Markdown.

What is made while the package loads has its docstring from there.
"""

from __future__ import annotations

import inspect
from typing import Any

import griffe
from reference import prose

import retrograd as rg


def living(path: str) -> Any:
    """What a path in the package, as griffe has it, stands for; None if nothing does."""
    found: Any = rg
    for name in path.replace("engine.attached.Attached", "Tensor").split(".")[1:]:
        found = getattr(found, name, None)
    return found


class Docstrings(griffe.Extension):
    """Gives each object its docstring as Markdown."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Called once everything is read."""
        self.tell(pkg)

    def tell(self, found: Any) -> None:
        """Give an object, and all within it, what mkdocstrings is to show."""
        if found.docstring is None and found.is_function and found.name[:2] != "__":
            doc = inspect.getdoc(living(found.path))
            found.docstring = griffe.Docstring(doc, parent=found) if doc else None
        if found.docstring is not None:
            found.docstring.value = prose(found.docstring.value)
        for each in [*found.members.values()]:
            if not each.is_alias:
                self.tell(each)

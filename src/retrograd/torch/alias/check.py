"""Which names of PyTorch a program uses that are not here, found without running it.

Read are imports of `torch`, of `functorch` and, where it is not installed, of `torchvision`, and
names with dots that start at what they bring in. What a program assigns itself, or asks of values,
is not known before it runs.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from .explain import lack
from .finder import home_of, packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["check"]


class Use(NamedTuple):
    """A name of PyTorch with its dots, and the line that uses it."""

    line: int
    name: str


def check(paths: Iterable[str | Path]) -> Iterator[str]:
    """A line "file:line: what is missing" for each missing name of each file; folders are walked.

    Raises SyntaxError for a file that is no Python.
    """
    for path in map(Path, paths):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            seen: set[str] = set()
            for line, name in sorted(uses(ast.parse(file.read_bytes(), str(file)))):
                missing = first_missing(name)
                if missing and missing not in seen:
                    seen.add(missing)
                    yield f"{file}:{line}: {missing}"


def uses(tree: ast.AST) -> set[Use]:
    """The names of PyTorch that a program imports, or asks of what it has imported."""
    found, bound, ours = set(), {}, packages()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package = alias.name.partition(".")[0]
                if package in ours:
                    found.add(Use(node.lineno, alias.name))
                    bound[alias.asname or package] = alias.name if alias.asname else package
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = node.module or ""
            for alias in node.names if module.partition(".")[0] in ours else ():
                whole = f"{module}.{alias.name}".removesuffix(".*")
                found.add(Use(node.lineno, whole))
                bound[alias.asname or alias.name] = whole
    assigned = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            first, _, rest = dotted(node).partition(".")
            if rest and first in bound and first not in assigned:
                found.add(Use(node.lineno, f"{bound[first]}.{rest}"))
    return found


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an expression that is such; empty for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        outer = dotted(node.value)
        return outer and f"{outer}.{node.attr}"
    return ""


def first_missing(name: str) -> str | None:
    """A sentence on the first part of a name that is not here; None if all are."""
    place, *parts = name.split(".")
    space: Any = importlib.import_module(home_of(place) or "")
    for part in parts:
        whole = f"{place}.{part}"
        home = home_of(whole)
        if not home and not hasattr(space, part):
            return lack(space, place, part)
        found = importlib.import_module(home) if home else getattr(space, part)
        if not isinstance(found, (ModuleType, type)):
            return None
        place, space = whole, found
    return None

"""Which names of PyTorch a program uses that are not here, found without running it.

Read are imports of `torch`, of `functorch` and, where it is not installed, of `torchvision`, and
names with dots that start at what they bring in. What a program assigns itself, or asks of values,
is not known before it runs.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from .explain import lack
from .finder import home_of, packages

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["check", "survey"]


class Use(NamedTuple):
    """A name of PyTorch with its dots, and the line that uses it."""

    line: int
    name: str


class Survey(NamedTuple):
    """What `check` found: files, names of PyTorch; lines on those that are missing.

    others: the libraries beside PyTorch that the files import; cuda: the lines that name it.
    """

    files: int
    names: set[str]
    missing: list[str]
    others: set[str]
    cuda: list[str]

    def summary(self) -> list[str]:
        """What to know beside what is missing, a line each."""
        lines = [
            f"{counted(self.files, 'file')}, {counted(len(self.names), 'name')} of torch: "
            f"{len(self.missing) or 'nothing'} {'are' if len(self.missing) > 1 else 'is'} missing"
        ]
        if self.others:
            names = [
                each if importlib.util.find_spec(each) else f"{each} (not installed)"
                for each in sorted(self.others)
            ]
            lines.append(f"other libraries, which were not read: {', '.join(names)}")
        if self.cuda:
            more = f" and {len(self.cuda) - 1} more" if len(self.cuda) > 1 else ""
            lines.append(f"cuda is named at {self.cuda[0]}{more}: tensors live on the cpu alone")
        return lines


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}{'s' * (number != 1)}"


def check(paths: Iterable[str | Path]) -> list[str]:
    """A line "file:line: what is missing" for each missing name of each file; folders are walked.

    Raises SyntaxError for a file that is no Python.
    """
    return survey(paths).missing


def survey(paths: Iterable[str | Path]) -> Survey:
    """All that can be said of the files without running them; raises as `check`."""
    files = [
        file
        for path in map(Path, paths)
        for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])
    ]
    own = {part for file in files for part in (file.stem, file.resolve().parent.name)}
    found = Survey(len(files), set(), [], set(), [])
    for file in files:
        tree = ast.parse(file.read_bytes(), str(file))
        seen: set[str] = set()
        for line, name in sorted(uses(tree)):
            found.names.add(name)
            missing = first_missing(name)
            if missing and missing not in seen:
                seen.add(missing)
                found.missing.append(f"{file}:{line}: {missing}")
        beside = {each.stem for each in file.parent.iterdir()}
        found.others.update(libraries(tree) - own - beside)
        found.cuda.extend(f"{file}:{line}" for line in accelerated(tree))
    return found


def libraries(tree: ast.AST) -> set[str]:
    """The packages that a program imports, but for Python's own, NumPy and those read here."""
    known = {*sys.stdlib_module_names, *packages(), "numpy", "retrograd"}
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module)
    return {name.partition(".")[0] for name in imported} - known


def accelerated(tree: ast.AST) -> list[int]:
    """The lines that call `cuda()` of something, or name a device of CUDA's as the only one."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, (ast.If, ast.IfExp)) and "is_available" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    lines = {
        node.lineno
        for node in ast.walk(tree)
        if id(node) not in guarded
        and (
            (isinstance(node, ast.Constant) and re.fullmatch(r"cuda(:\d+)?", str(node.value)))
            or (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "cuda")
        )
    }
    return sorted(lines)


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
    """A sentence on the first part of a name that is not here; None if all are.

    A part that needs a package which is not installed says so itself.
    """
    place, *parts = name.replace("torch.torch.", "torch.").split(".")  # PyTorch has itself
    space: Any = importlib.import_module(home_of(place) or "")
    for part in parts:
        whole = f"{place}.{part}"
        home = home_of(whole)
        if not home and not hasattr(space, part):
            return lack(space, place, part)
        try:
            found = importlib.import_module(home) if home else getattr(space, part)
        except ImportError as error:
            return f"{whole}: {error}"
        if not isinstance(found, (ModuleType, type)):
            return None
        place, space = whole, found
    return None

"""The house rules that code can check: layers, namespaces, documentation."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import retrograd
from retrograd.engine.op import arrays, recorded

ROOT = Path(retrograd.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# From the bottom to the top; a module may import from its own layer's files and from below.
LAYERS = [
    ["errors", "locks", "modes", "dtypes", "_bfloat16", "pytree"],
    ["backends"],
    ["engine"],
    ["ops"],
    ["autograd", "fft", "linalg", "masked", "random", "return_types", "signal", "special", "types"],
    ["cuda", "func", "serialization", "tape", "testing", "wirtinger"],
    ["utils", "nn", "optim", "data", "_C", "overrides"],
    ["interop"],
    ["compile", "distributed", "viz"],
    ["cli", "__init__"],
]
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}


def top(path: Path) -> str:
    """The first part of a module's name below the package."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> list[tuple[int, str]]:
    """(line, first part) of every module of this package that a file imports."""
    found = []
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - (node.level - 1)]
            parts = [*base, *(node.module.split(".") if node.module else [])]
            names = [parts[0]] if parts else [alias.name for alias in node.names]
            found += [(node.lineno, name) for name in names]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down_the_layers(path):
    here = HEIGHT[top(path)]
    for line, name in imported(path):
        if name in HEIGHT:
            assert HEIGHT[name] <= here, f"{path.name}:{line} imports {name} from above"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_function_imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for inner in ast.walk(node):
                assert not isinstance(inner, (ast.Import, ast.ImportFrom)), (
                    f"{path.name}:{inner.lineno} imports inside {node.name}()"
                )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_name_a_formula_asks_of_xp_exists_in_every_namespace(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "xp"
        ):
            for namespace in (arrays, recorded):
                assert hasattr(namespace, node.attr), f"{path.name}:{node.lineno} xp.{node.attr}"


def test_modules_say_what_they_do():
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"

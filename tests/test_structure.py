"""The house rules that code can check: layers, namespaces, documentation."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import retrograd
from retrograd.engine.namespaces import arrays, recorded

ROOT = Path(retrograd.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# From the bottom to the top; a module may import from its own layer's files and from below.
LAYERS = [
    ["errors", "locks", "modes", "quiet", "dtypes", "pytree", "version"],
    ["kernels"],
    ["compiler"],
    ["engine"],
    ["ops"],
    ["autograd", "fft", "linalg", "masked", "quasirandom", "random"],
    ["return_types", "signal", "special", "types"],
    [
        "accelerator",
        "backends",
        "cuda",
        "func",
        "mps",
        "serialization",
        "tape",
        "testing",
        "wirtinger",
    ],
    ["jit", "utils", "nn", "optim", "amp", "distributions", "_C", "overrides"],
    ["interop"],
    ["alias"],
    ["__init__", "as_torch", "__main__"],
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


def test_every_layer_that_is_listed_exists_and_every_module_is_in_one():
    there = {top(path) for path in FILES}
    assert there == set(HEIGHT)


def module_of(path: Path) -> str:
    """The name of a module within the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def modules_imported(path: Path, modules: set[str]) -> set[str]:
    """The modules of this package that a file imports, for types only or not."""
    found = set()
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - (node.level - 1)]]
            whole = ".".join([*base, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                inner = f"{whole}.{alias.name}".lstrip(".")
                found.add(inner if inner in modules else whole)
    return found & modules - {module_of(path)}


def test_no_modules_import_each_other_in_a_circle():
    modules = {module_of(path): path for path in FILES}
    below = {name: modules_imported(path, set(modules)) for name, path in modules.items()}
    while free := [name for name, names in below.items() if not names & below.keys()]:
        for name in free:
            del below[name]
    assert not below, "these import each other, or what does: " + ", ".join(sorted(below))


def test_no_folder_is_crowded():
    for folder in {path.parent for path in FILES}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 20, folder


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


# Who may lay an array over memory, and why it stays within it.
OVER_MEMORY = {
    ("ndarray", "kernels/memory.py"): "`strided` checks the bounds",
    ("stride_tricks", "kernels/memory.py"): "`sliding_window_view` checks the bounds",
    ("ndarray", "ops/core/structure.py"): "one element, with strides of 0",
    ("frombuffer", "ops/creation/from_data.py"): "NumPy checks bounds; the array keeps the owner",
    ("frombuffer", "ops/random/streams.py"): "bytes made there, copied",
    ("frombuffer", "serialization/archive.py"): "bytes made there, which the array keeps",
    ("frombuffer", "serialization/before.py"): "a whole block of a file, which the array keeps",
    ("frombuffer", "serialization/files.py"): "NumPy checks bounds; the array keeps the map",

"""The stubs are what docs/make_stubs.py writes now, and say what the package does.

That they type a program is checked where `make lint` runs: `tests/data/typing`.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import retrograd as rg

from .test_import import run

ROOT = Path(rg.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
STUBS = sorted({*ROOT.rglob("*.pyi")} - {ROOT / "engine/_native.pyi"})
# What other libraries call; PyTorch's inner names.
WITHOUT_TYPE = {
    *(
        "__dlpack__",
        "__array_ufunc__",
        "__array_function__",
        "__array_namespace__",
        "__torch_dispatch__",
    ),
    *("_backward_hooks", "_post_accumulate_grad_hooks", "_grad_fn"),
}


def members(path: Path) -> list[ast.stmt]:
    """The definitions in a stub, and in its classes."""
    body = ast.parse(path.read_text()).body
    return [*body, *(each for node in body if isinstance(node, ast.ClassDef) for each in node.body)]


def names(path: Path) -> set[str]:
    """The names that a stub defines or imports for others."""
    found = set()
    for node in members(path):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            found.add(ast.unparse(node.target))
        else:
            found.add(getattr(node, "name", ""))
    return found


def test_the_stubs_are_up_to_date():
    """In a process of its own: other tests give tensors methods."""
    code = (
        "import json, make_stubs\n"
        "print(json.dumps({str(path): text for path, text in make_stubs.stubs().items()}))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True
    )
    stubs = json.loads(made.stdout)
    assert sorted(stubs) == [str(path) for path in STUBS]
    for path in STUBS:
        assert path.read_text() == stubs[str(path)], f"{path} is old: run python docs/make_stubs.py"


@pytest.mark.parametrize("path", STUBS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_function_gives_any(path):
    functions = [node for node in members(path) if isinstance(node, ast.FunctionDef)]
    loose = {node.name for node in functions if ast.unparse(node.returns) == "_Any"}
    assert loose <= WITHOUT_TYPE


INNER = {"alias", "dtypes", "engine", "errors", "kernels", "locks", "modes", "ops", "pytree",
         "providers", "quiet", "serialization", "torch", "version", "importlib", "LATER",
         "FROM"}  # fmt: skip
# PyTorch has removed these, which say what to call instead.
REMOVED = {"eig", "lstsq", "matrix_rank", "solve", "symeig"}


def test_the_stub_of_the_package_has_every_public_name():
    public = {name for name in dir(rg) if not name.startswith("_")}
    assert public - names(ROOT / "__init__.pyi") - INNER == REMOVED


def test_what_the_stub_of_the_package_says_is_there():
    optional = {"", "bfloat16"}
    for name in names(ROOT / "__init__.pyi") - optional:
        assert name.startswith("_") or hasattr(rg, name), name


def test_what_the_stub_of_tensors_says_is_there():
    for name in names(ROOT / "engine/attached.pyi") - {"", "Attached", "Tensor"}:
        assert hasattr(rg.Tensor, name) or name.startswith("_"), name


def forms(body: list[ast.stmt]) -> dict[str, list[ast.FunctionDef]]:
    """The forms of each function among some definitions; properties are none."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in body:
        marks = {ast.unparse(each) for each in getattr(node, "decorator_list", ())}
        if isinstance(node, ast.FunctionDef) and marks <= {"_overload"}:
            found.setdefault(node.name, []).append(node)
    return found


def plain(annotation: object) -> set[str]:
    """The types in an annotation, of a stub or of a function."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return set(re.sub(r"\b_(?=\w)|\b(dtypes|typing|retrograd[\w.]*)\.", "", text).split(" | "))


def said(node: ast.FunctionDef) -> tuple[dict[str, tuple[set[str], bool]], set[str]]:
    """The arguments of a form behind the first, with types and whether there are defaults."""
    args = node.args
    placed = args.args[len(args.args) - len(args.defaults) :]
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    optional = {each.arg for each in [*placed, *(one for one, value in named if value)]}
    every = [*args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    types = [each for each in every if each is not None][1:]
    shown = {e.arg: (plain(ast.unparse(e.annotation)), e.arg in optional) for e in types}
    return shown, plain(ast.unparse(node.returns))


SPACES = {
    "": (rg, "__init__.pyi"), "Tensor": (rg.Tensor, "engine/attached.pyi"),
    "linalg": (rg.linalg, "linalg.pyi"), "fft": (rg.fft, "fft.pyi"),
    "special": (rg.special, "special.pyi"), "functional": (rg.nn.functional, "nn/functional.pyi"),
}  # fmt: skip
NUMPYS = {"axis", "keepdims"}  # names beside `dim` and `keepdim`


@pytest.mark.parametrize("place", SPACES)
def test_signatures_at_run_time_say_what_the_stubs_say(place):
    space, file = SPACES[place]
    body = members(ROOT / file)
    wrong = []
    for name, nodes in forms(body).items():
        if name.startswith("__"):
            continue
        shown = inspect.signature(getattr(space, name))
        own = {
            each.name: (plain(each.annotation), each.default is not each.empty)
            for each in [*shown.parameters.values()][1:]
        }
        for node in nodes:
            taken, gives = said(node)
            for argument, (types, optional) in taken.items():
                if argument in NUMPYS:
                    continue
                if argument not in own or (len(nodes) == 1 and own[argument] != (types, optional)):
                    wrong.append(f"{name}: {argument}: {own.get(argument)}, {types} in the stub")
            if len(nodes) == 1 and plain(shown.return_annotation) != gives:
                wrong.append(f"{name}: gives {shown.return_annotation}, {gives} in the stub")
        more = own.keys() - said(nodes[0])[0].keys() if len(nodes) == 1 else ()
        if place == "Tensor":  # methods are not called with it
            more = {*more} - {"out"}
        wrong += [f"{name}: {each} is not in the stub" for each in more]
    assert wrong == []


def test_the_program_that_is_type_checked_runs():
    path = Path(__file__).parent / "data/typing/program.py"
    spec = importlib.util.spec_from_file_location("typed_program", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    program.main()


def test_what_the_families_hold_is_listed():
    """In a process of its own: other tests have loaded them."""
    code = """
import make_families
print(all(path.read_text() == text for path, text in make_families.texts().items()))
"""
    assert run(code, DOCS) == "True", "run python docs/make_families.py"

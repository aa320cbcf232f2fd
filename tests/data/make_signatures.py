"""The signatures of PyTorch's public functions, methods and classes: names, order, defaults.

As a script, with PyTorch installed, this writes them to `signatures.json`, all overloads of each:

    python make_signatures.py

What Python can inspect is inspected; functions and methods in C++ are read from the stubs that
PyTorch ships for type checkers, those of `linalg`, `fft` and `special` from PyTorch's own schemas.
Annotations are left out. A default that is no literal is written as `...`.
"""

import ast
import importlib
import inspect
import json
import warnings
from enum import EnumType
from pathlib import Path

PATH = Path(__file__).with_name("signatures.json")
NAMES = PATH.with_name("names.json")

SCHEMAS = {"linalg": "linalg_", "fft": "fft_", "special": "special_"}  # namespaces of C++ functions


def default(value):
    """A default as text, the same here and there: numbers, strings, dtypes by their last name."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)  # 1.0 is 1
    text = repr(list(value) if isinstance(value, tuple) else value)
    if isinstance(value, (int, float, complex, str, tuple, list, bool, type(None))):
        return text
    text = text.removeprefix("torch.").removeprefix("retrograd.")
    return text if text.isidentifier() else "..."


def described(signature):
    """A signature without annotations: "input, dim=None, *, out=None"."""
    parts, named = [], False
    for each in signature.parameters.values():
        text = each.name
        if each.kind is each.KEYWORD_ONLY and not named:
            parts, named = [*parts, "*"], True
        if each.kind is each.VAR_POSITIONAL:
            text, named = f"*{text}", True
        elif each.kind is each.VAR_KEYWORD:
            text = f"**{text}"
        if each.default is not each.empty:
            text += f"={default(each.default)}"
        parts.append(text)
    return ", ".join(parts)


def stubbed(path, owner=None):
    """The signatures of all functions in a stub, or of the methods of the class `owner` there."""
    tree = ast.parse(path.read_text())
    if owner:
        (tree,) = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == owner]
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(of_arguments(node.args))
    return found


def of_arguments(given):
    """The arguments of a function in a stub, as `described`."""
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    parts = [one(name, value) for name, value in zip(plain, defaults, strict=True)]
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [one(n, v) for n, v in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return ", ".join([*parts, *([f"**{given.kwarg.arg}"] if given.kwarg else [])])


def one(name, value):
    """One argument of a stub."""
    if value is None:
        return name.arg
    try:
        return f"{name.arg}={default(ast.literal_eval(value))}"
    except ValueError:
        text = ast.unparse(value).rpartition(".")[2]
        return f"{name.arg}={text if text.isidentifier() else '...'}"


def of_schemas(torch, prefix):
    """The signatures of functions in C++ whose names begin so, by the rest of the names."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if not name.startswith(prefix):
            continue
        parts, named = [], False
        for each in schema.arguments:
            if each.is_out:
                continue
            text = "input" if each.name == "self" else each.name
            if each.kwarg_only and not named:
                parts, named = [*parts, "*"], True
            if each.has_default_value():
                text += f"={default(each.default_value)}"
            parts.append(text)
        if any(each.is_out for each in schema.arguments):
            parts += ["out=None"] if named else ["*", "out=None"]
        found.setdefault(name.removeprefix(prefix), []).append(", ".join(parts))
    return found


def main(torch):
    """Write the file."""
    warnings.simplefilter("ignore")
    place = Path(torch.__file__).parent / "_C"
    functions = stubbed(place / "_VariableFunctions.pyi")
    methods = stubbed(place / "__init__.pyi", "TensorBase")
    schemas = {name: of_schemas(torch, prefix) for name, prefix in SCHEMAS.items()}
    found = {}
    for place, names in json.loads(NAMES.read_text()).items():
        if place == "Tensor":
            space = torch.Tensor
        else:
            space = importlib.import_module(f"torch.{place}".rstrip("."))
        for name in names.split():
            value = getattr(space, name)
            if not callable(value) or isinstance(value, EnumType):  # whose signature is Python's
                continue
            known = methods if place == "Tensor" else schemas.get(place, functions)
            try:
                all_of_it = [described(inspect.signature(value))]
            except (TypeError, ValueError):
                all_of_it = known.get(name) or functions.get(name) or []
            kept = [each for n, each in enumerate(all_of_it) if each not in all_of_it[:n]]
            if kept:
                found[f"{place}.{name}".lstrip(".")] = kept
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(importlib.import_module("torch"))

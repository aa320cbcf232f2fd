"""Formulas of records as text, read from their source: for `help` of a node, pictures and pages."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..namespaces import recorded
from ..tensor import Tensor

if TYPE_CHECKING:
    from types import FunctionType

__all__ = ["definition", "described", "formulas_of", "helpers_of", "sentence"]


DOC = """A recorded call of the op `{op}`. When the gradient g arrives, each input gets

{formulas}

where

{terms}

{saves}`next_functions` leads to the nodes of its inputs.
"""


@functools.cache
def source(path: str) -> tuple[str, dict[int, list[Any]]]:
    """The text of a file, and its functions by the line at which they begin; nothing of no file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError:
        return "", {}
    starts: dict[int, list[Any]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            lines = [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]
            starts.setdefault(min(lines), []).append(node)
    return text, starts


def definition(function: FunctionType) -> tuple[str, Any]:
    """The text of the file of a function, and the function in it."""
    code = inspect.unwrap(function).__code__
    wanted = list(code.co_varnames[: code.co_argcount])
    text, starts = source(code.co_filename)
    for node in starts.get(code.co_firstlineno, []):
        if [a.arg for a in (*node.args.posonlyargs, *node.args.args)] == wanted:
            return text, node
    return text, None


def formulas_of(op: Any) -> dict[str, str]:
    """The text of each input's formula, by name: what a cotangent g gives for it."""
    if op.together is not None:
        text = formula(op.together)
        return {name: f"number {i} of {text}" for i, name in enumerate(op.vjps)}
    if op.derivative is None:
        return {name: formula(each) for name, each in op.vjps.items()}
    slope = formula(op.derivative)
    plain = slope.count("`") == 2 and slope[0] == slope[-1] and "; " not in slope
    return {op.inputs[0]: f"`g * conj({slope[1:-1]})`" if plain else f"`g * conj(s)`, s = {slope}"}


def helpers_of(op: Any) -> dict[str, str]:
    """What the functions in an op's formulas do that are no methods of tensors, by name."""
    found = {}
    own = op.vjps if op.derivative is None else {op.inputs[0]: op.derivative}
    for function, text in zip(own.values(), formulas_of(op).values(), strict=True):
        known = inspect.unwrap(function).__globals__
        for name in re.findall(r"\b([A-Za-z_]\w*)\(", text):
            called = getattr(recorded, name, None) or known.get(name)
            doc = getattr(called, "function", called).__doc__  # of a `quick` one
            if doc and not hasattr(Tensor, name):
                found[name] = sentence(doc)
    return found


def formula(function: FunctionType) -> str:
    """A formula as it is written, without `xp.`; a longer one by name and first line."""
    text, node = definition(function)
    if isinstance(node, ast.Lambda):
        return tidy(ast.get_source_segment(text, node.body) or "")
    if isinstance(node, ast.FunctionDef):
        return of_definition(text, node)
    return f"by `{function.__name__}`"


def of_definition(text: str, node: ast.FunctionDef) -> str:
    """What a formula written as a function says: its result if that is all, else its docstring."""
    doc = ast.get_docstring(node)
    body = [each for each in node.body if not isinstance(each, ast.Expr)]
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        return tidy(ast.get_source_segment(text, body[0].value) or "")
    if doc:
        return f"{sentence(doc)} (`{node.name}`)"
    if isinstance(body[-1], ast.Raise):
        return "not implemented"
    if len(body) > 3 or not all(isinstance(each, (ast.Assign, ast.Return)) for each in body):
        return f"the steps of `{node.name}`"
    return tidy("; ".join(ast.get_source_segment(text, each) or "" for each in body))


def tidy(text: str) -> str:
    """An expression on one line."""
    text = re.sub(r"\s*#[^\n]*", "", text)
    text = re.sub(r",\s*\n\s*\)", ")", text)
    text = re.sub(r"\s+", " ", text).replace("( ", "(").replace(" )", ")")
    text = re.sub(r"\bxp(\.|, g, |, )", lambda m: "g, " if "g" in m[1] else "", text)
    return f"`{text}`"


def sentence(doc: str) -> str:
    """The first paragraph of a docstring on one line."""
    return re.sub(r"\s+", " ", doc.strip().split("\n\n", 1)[0]).rstrip(".")


def described(op: Any, saved: list[str]) -> str:
    """What the class of an op's nodes says of them; `saved` are the names of what they save."""
    lines = [f"{name}: {text}" for name, text in formulas_of(op).items()]
    terms = [f"`{name}`: {text}" for name, text in helpers_of(op).items()]
    return DOC.format(
        op=op.name,
        formulas=textwrap.indent("\n".join(lines), "    "),
        terms=textwrap.indent("\n".join(["`out`: the result", *terms]), "    "),
        saves=f"It saves {', '.join(saved)}. " if saved else "",
    )

"""Formulas of records, which are written in Python, in TeX.

What has no common notation stays a function by its name. A formula that is more than one expression
is not for a line of mathematics: None.
"""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from retrograd.engine.backward.formulas import definition

GREEK = {"alpha", "beta", "gamma", "delta", "lambda", "mu", "sigma", "eps", "rho", "theta", "pi"}
NAMED = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "log", "arg"}
RENAMED = {"lambd": r"\lambda", "eps": r"\varepsilon", "input": "x", "other": "y", "out": "f"}
AROUND = {
    "exp": r"e^{{{}}}",
    "conj": r"\overline{{{}}}",
    "sqrt": r"\sqrt{{{}}}",
    "abs": r"\left|{}\right|",
    "square": r"{{{}}}^2",
    "squared": r"{{{}}}^2",
    "reciprocal": r"\frac{{1}}{{{}}}",
    "single": "{}",  # the same, in single precision
    "double": "{}",  # or in double precision
}
SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a text holds together


def tex(function: FunctionType) -> str | None:
    """A formula in TeX, with x for the input, f for the result and g for the cotangent."""
    _, node = definition(function)
    body: Any = getattr(node, "body", None)
    if isinstance(node, ast.FunctionDef):
        inner = [each for each in node.body if not isinstance(each, ast.Expr)]
        body = inner[0].value if len(inner) == 1 and isinstance(inner[0], ast.Return) else None
    if not isinstance(body, ast.expr):
        return None
    try:
        return written(body)[0]
    except NotImplementedError:
        return None


def written(node: ast.expr) -> tuple[str, int]:
    """An expression in TeX, and how tightly it holds together."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex)):
        number = node.value
        return (f"{number.imag:g}i" if isinstance(number, complex) else f"{number:g}"), ATOM
    if isinstance(node, ast.Name):
        return name_of(node.id), ATOM
    if isinstance(node, ast.Attribute) and ast.unparse(node) == "math.pi":
        return r"\pi", ATOM
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{held(node.operand, PRODUCT)}", SUM
    if isinstance(node, ast.BinOp):
        return operation(node)
    if isinstance(node, ast.Call) and not node.keywords:
        return call(node)
    if isinstance(node, ast.IfExp) and ast.unparse(node.test).startswith("holds_complex("):
        return written(node.orelse)  # the other is the same function, in digits for complex numbers
    raise NotImplementedError


def held(node: ast.expr, least: int) -> str:
    """An expression, in parentheses unless it holds together as tightly as it must."""
    text, tight = written(node)
    return text if tight >= least else rf"\left({text}\right)"


def operation(node: ast.BinOp) -> tuple[str, int]:
    """A sum, product, quotient or power."""
    left, right = node.left, node.right
    match node.op:
        case ast.Add():
            return f"{held(left, SUM)}+{held(right, SUM)}", SUM
        case ast.Sub():
            return f"{held(left, SUM)}-{held(right, PRODUCT)}", SUM
        case ast.Mult() if ast.dump(left) == ast.dump(right):
            return f"{{{held(left, ATOM)}}}^2", POWER
        case ast.Mult():
            return rf"{held(left, PRODUCT)}\,{held(right, PRODUCT)}", PRODUCT
        case ast.Div():
            return rf"\frac{{{written(left)[0]}}}{{{written(right)[0]}}}", PRODUCT
        case ast.Pow():
            return f"{{{held(left, ATOM)}}}^{{{written(right)[0]}}}", POWER
    raise NotImplementedError


def call(node: ast.Call) -> tuple[str, int]:
    """A function of the namespace, in its notation."""
    if not isinstance(node.func, (ast.Attribute, ast.Name)):
        raise NotImplementedError
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    given = [each for each in node.args if not (isinstance(each, ast.Name) and each.id == "xp")]
    if name in AROUND and len(given) == 1:
        inside = held(given[0], ATOM) if "square" in name else written(given[0])[0]
        return AROUND[name].format(inside), (
            ATOM if name in ("conj", "abs", "single", "double") else POWER
        )
    text = ",".join(written(each)[0] for each in given)
    shown = rf"\{name}" if name in NAMED else rf"\operatorname{{{name}}}".replace("_", r"\_")
    return rf"{shown}\left({text}\right)", ATOM


def name_of(name: str) -> str:
    """A variable."""
    if name in RENAMED:
        return RENAMED[name]
    if name in GREEK:
        return rf"\{name}"
    return name if len(name) == 1 else rf"\mathrm{{{name}}}".replace("_", r"\_")

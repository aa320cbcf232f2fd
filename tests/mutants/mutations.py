"""The faults: what may be wrong with one node of a function's syntax tree.

Only what stands in the body of a function or lambda is broken, for that alone runs again after the
import. Texts of errors, annotations and docstrings stay whole; so do what an abstract method
raises, which nobody calls, and `strict` of `zip`, which nobody is to need.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b

SWAPPED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
# Whose arguments, swapped, are an error at once.
TRIVIAL = "isinstance", "issubclass", "getattr", "setattr", "hasattr"
FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def with_(node, **fields):
    """A copy of a node with other fields."""
    made = copy.copy(node)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def numbers(node):
    """A constant's neighbours and its negative."""
    value = node.value
    if isinstance(value, bool):
        yield with_(node, value=not value)
    elif isinstance(value, (int, float, complex)):
        yield with_(node, value=value + 1)
        if value:
            yield ast.UnaryOp(ast.USub(), node)


def calls(node):
    """A call whose first two arguments are swapped; a conjugate that is none."""
    args, pair = node.args, node.args[:2]
    if getattr(node.func, "attr", None) in ("conj", "conjugate") and len(args) < 2:
        yield args[0] if args else node.func.value
    trivial = getattr(node.func, "id", None) in TRIVIAL or ast.Starred in map(type, pair)
    if len({*map(ast.dump, pair)}) == 2 and not trivial:
        yield with_(node, args=[*pair[::-1], *args[2:]])


def is_abstract(node, function):
    """Whether a statement raises, and is all that the function has beside its docstring."""
    body = function.body if isinstance(function, ast.FunctionDef) else []
    raises = isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node)
    return raises and node in body and len(body) - (ast.get_docstring(function) is not None) == 1


def faults(node, function):
    """What may stand in place of `node`, which is in the body of `function`."""
    match node:
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            yield with_(node, op=SWAPPED[type(node.op)]())
        case ast.Compare():
            yield with_(node, ops=[SWAPPED[type(node.ops[0])](), *node.ops[1:]])
        case ast.If() | ast.IfExp() | ast.While():
            yield with_(node, test=ast.UnaryOp(ast.Not(), node.test))
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield node.operand
        case ast.Constant():
            yield from numbers(node)
        case ast.Call():
            yield from calls(node)
        case ast.Raise() | ast.Expr(value=ast.Call()) if not is_abstract(node, function):
            yield ast.Pass()
        case ast.Return(value=ast.expr()):
            yield with_(node, value=ast.Constant(None))
        case ast.Name(ctx=ast.Load()) if (
            function.args.args[:1] and function.args.args[0].arg == "xp"
        ):
            for other in function.args.args[1:]:
                if node.id not in (other.arg, "xp"):
                    yield with_(node, id=other.arg)


@dataclass(frozen=True)
class Mutant:
    """One fault: in the file `path`, the `number`-th of those that it may have."""

    path: str
    number: int
    line: int
    formula: bool  # whether that is one of a record, a function of a namespace
    where: str  # the names around it: of classes, functions, records
    text: str  # what it was -> what it is
    name: str  # a digest, which stays until the function around it changes

    @property
    def differs(self):
        """Whether that is another program."""
        return self.text != "return None -> return None"

    def __str__(self):
        return f"{self.path} {self.where}: {self.text}"


def short(node):
    """One line of source."""
    if isinstance(node, (ast.If, ast.While)):
        return f"if {short(node.test)}"
    return " ".join(ast.unparse(node).split())[:200]


def name_of(node):
    """The name that a statement or argument outside of functions gives, that of a record too."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=name):
            return (name,)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return (name,)
    return ()


def places(node, function=None, names=()):
    """(parent, field, index, child, function, names) of every node in the body of a function."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        inside = node if isinstance(node, FUNCTIONS) and field == "body" else function
        for i, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST):
                continue
            named = (*names, *name_of(child)) if inside is None else names
            if inside:
                yield node, field, i, child, inside, names
            if not isinstance(child, ast.Raise):
                yield from places(child, inside, named)


def mutations(tree, path):
    """(mutant, how to put the fault into `tree`) of all faults of a file."""
    number, texts, sources = 0, Counter(), {}
    for parent, field, i, child, function, names in places(tree):
        for other in faults(child, function):
            text = f"{short(child)} -> {short(other)}"
            formula = bool(function.args.args) and function.args.args[0].arg == "xp"
            if function not in sources:
                sources[function] = ast.unparse(function)
            texts[function, text] += 1
            whole = f"{sources[function]} {text} {texts[function, text]}".encode()
            name = blake2b(whole, digest_size=8).hexdigest()
            mutant = Mutant(path, number, child.lineno, formula, ".".join(names), text, name)
            made = ast.fix_missing_locations(ast.copy_location(copy.copy(other), child))
            number += 1
            yield mutant, (parent, field, i, made)


def mutated(source, mutant):
    """The file's syntax tree with the fault in it."""
    tree = ast.parse(source)
    parent, field, i, other = next(p for m, p in mutations(tree, mutant.path) if m == mutant)
    if i is None:
        setattr(parent, field, other)
    else:
        getattr(parent, field)[i] = other
    return tree

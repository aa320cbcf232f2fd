"""Makes a program that fails small, and prints it as Python that runs with either library."""

from __future__ import annotations

import ast
import re

from .prelude import needed


def fewer(program):
    """The program without a run of its statements, long runs first; without a second name."""
    for n, statement in enumerate(program):
        if names := re.fullmatch(r"(v\d+) = (v\d+)", statement):
            rest = [re.sub(rf"\b{names[1]}\b", names[2], line) for line in program]
            yield rest[:n] + rest[n + 1 :]
    length = len(program) // 2
    while length:
        for start in range(len(program) - length, -1, -1):
            yield program[:start] + program[start + length :]
        length //= 2


def simpler(node):
    """Simpler forms of a syntax node: what it is applied to, less of it, a plainer number."""
    if isinstance(node, ast.With):
        yield node.body[0]
    method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if method and not getattr(node.func.value, "id", "").istitle():
        yield node.func.value
    if isinstance(node, ast.Call):
        yield from (ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])
                    for i in range(len(node.keywords)))  # fmt: skip
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    if isinstance(node, ast.List) and len(node.elts) > 1:
        yield ast.List(node.elts[:1])
        yield ast.List(node.elts[:-1])
        yield node.elts[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value != 1.0:
        yield ast.Constant(1.0)


class Replace(ast.NodeTransformer):
    """Puts another node in the place of one."""

    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        """The replacement of the node itself, or the node with its children visited."""
        return self.new if node is self.old else self.generic_visit(node)


def plainer(program):
    """The program with one expression made simpler."""
    for n, statement in enumerate(program):
        count = len(list(ast.walk(ast.parse(statement))))
        for i in range(count):
            node = list(ast.walk(ast.parse(statement)))[i]
            for form in range(len(list(simpler(node)))):
                tree = ast.parse(statement)
                old = list(ast.walk(tree))[i]
                made = Replace(old, list(simpler(old))[form]).visit(tree)
                yield [
                    *program[:n],
                    ast.unparse(ast.fix_missing_locations(made)),
                    *program[n + 1 :],
                ]


def shrunk(program, fails, budget=600):
    """A smaller program for which `fails(program)` still holds, found in so many trials."""
    for candidates in (fewer, plainer, fewer):
        found = True
        while found and budget > 0:
            found = False
            for candidate in candidates(program):
                budget -= 1
                if fails(candidate):
                    program, found = candidate, True
                    break
                if budget <= 0:
                    break
    return program


def printed(program, says):
    """A program as a file: `python FILE retrograd` or `python FILE torch`."""
    head = [
        *(f"# {line}" for line in says),
        "import copy, importlib, sys",
        "L = importlib.import_module((sys.argv + ['retrograd'])[1])",
        "for module in ('func', 'nn', 'optim', 'utils.checkpoint'):",
        "    importlib.import_module(f'{L.__name__}.{module}')",
    ]
    return "\n".join([*head, *needed("\n".join(program)), *program, ""])

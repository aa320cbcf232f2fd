"""Programs rewritten so that a recording sees what they read, call and write beside tensors.

NOTE [Rewriting]
A function is compiled anew from its source, and does what it did; but it hands what it reads from
outside (globals, closures, attributes), what it calls, what it goes through and what it writes to a
`Watch` on its way: `x.name` becomes `watch.attribute(x, "name")`. Functions inside it are rewritten
with it, those that it calls when they are called. What has no source, or does what no watch can
follow, runs as it is, and ends the recording.
"""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import inspect
import linecache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PACKAGE", "Unclear", "rewritten"]

PACKAGE = __package__.partition(".")[0]
WATCH = "__watch__"  # the variable that holds the watch in what is rewritten

FRAMES = {"dir", "eval", "exec", "globals", "locals", "vars"}  # which ask for the frame
SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
JUMPS = {*dis.hasjabs, *dis.hasjrel}
CALLING = {"EXTENDED_ARG", "PRECALL", "PUSH_NULL"}
UNCLEAR = {
    ast.AsyncFunctionDef: "an async function", ast.Await: "await", ast.AsyncFor: "async for",
    ast.AsyncWith: "async with", ast.ClassDef: "a class in a function",
    ast.Import: "an import", ast.ImportFrom: "an import",
    ast.Global: "a write to a global", ast.Nonlocal: "a write to a variable outside",
}  # fmt: skip
if hasattr(ast, "Match"):
    UNCLEAR[ast.Match] = "match"


OPERATORS: Any = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.MatMult: "matmul", ast.Div: "truediv",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift", ast.Lt: "lt", ast.LtE: "le",
    ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne", ast.USub: "neg", ast.UAdd: "pos",
    ast.Invert: "invert",
}  # fmt: skip


class Unclear(Exception):  # noqa: N818 (the function runs as it is)
    """A function cannot be rewritten; the text says why."""


def rewritten(function: FunctionType, watch: Any) -> Callable[..., Any]:
    """The function, which tells `watch` what it does; raises Unclear where that cannot be."""
    linecache.lazycache(function.__code__.co_filename, function.__globals__)
    ours = str(function.__globals__.get("__name__")).partition(".")[0] == PACKAGE
    code, free = _compiled(function.__code__, ours)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[WATCH] = _cell(watch)
    made = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        tuple([cells[name] for name in free]),
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def _cell(value: Any) -> Any:
    return (lambda: value).__closure__[0]  # type: ignore[index]


@functools.lru_cache(maxsize=1024)
def _compiled(code: CodeType, ours: bool) -> tuple[CodeType, tuple[str, ...]]:
    """The code of a rewritten function, and the variables that it has from outside.

    Globals of `ours` are not told.
    """
    definition = _definition(code)
    definition.name = "_rewritten_"  # its own name may be one that it reads
    plain = _code(definition, code, code.co_freevars)
    tree = Rewriter(definition, code, ours).rewritten()
    if not is_same(plain, code):
        raise Unclear("a function whose source has changed")
    made = _code(tree, code, (WATCH, *code.co_freevars))
    named = _named(made, made.co_qualname, code.co_qualname)
    return named.replace(co_name=code.co_name), made.co_freevars


def _code(tree: Any, code: CodeType, outer: tuple[str, ...]) -> CodeType:
    """The code of a definition with variables of an `outer` function, in place of a `code`."""
    factory: Any = ast.FunctionDef(
        "factory", _arguments([*outer]), [tree], [], lineno=1, col_offset=0
    )
    if "type_params" in ast.FunctionDef._fields:
        factory.type_params = []
    module = ast.fix_missing_locations(ast.Module([factory], []))
    future = code.co_flags & __future__.annotations.compiler_flag
    compiled = compile(module, code.co_filename, "exec", flags=future, dont_inherit=True)
    made = next(c for c in compiled.co_consts if isinstance(c, CodeType))
    return next(c for c in made.co_consts if isinstance(c, CodeType))


def _named(made: CodeType, own: str, name: str) -> CodeType:
    """Code that was `made`, and all in it, with qualified names that begin with another `name`."""
    inside = [_named(c, own, name) if isinstance(c, CodeType) else c for c in made.co_consts]
    return made.replace(
        co_qualname=name + made.co_qualname.removeprefix(own), co_consts=tuple(inside)
    )


def is_same(made: CodeType, code: CodeType) -> bool:
    """Whether code that was `made` of a source does what a function does.

    Nobody can say it where a tool such as pytest has put in names that no source has, with an @.
    """
    by_tools = any(name.startswith("@") for name in (*code.co_names, *code.co_varnames))
    return by_tools or _instructions(made) == _instructions(code)


def _instructions(code: CodeType) -> list[Any]:
    """What code does, but for its ways of calling: they depend on what its module imports."""
    found: list[Any] = []
    for each in dis.get_instructions(code):
        value = None if each.opcode in JUMPS else each.argval
        if isinstance(value, CodeType):
            value = _instructions(value)
        elif isinstance(value, frozenset):  # whose order may be another one
            value = sorted(map(repr, value))
        if each.opname not in CALLING:
            found.append((each.opname.replace("METHOD", "ATTR"), repr(value)))
    return found


def _arguments(names: list[str]) -> ast.arguments:
    return ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])


def _definition(code: CodeType) -> Any:
    """The part of the source that is the function of this code."""
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise Unclear("an async function")
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        block = inspect.getblock(lines)
        inner = bool(block) and block[0][:1].isspace()  # texts keep their lines as they are
        tree = ast.parse("".join(["if 1:\n" * inner, *block]))
    except SyntaxError:
        raise Unclear("a function without source") from None
    kind = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    found: list[Any] = [node for node in ast.walk(tree) if isinstance(node, kind)]
    if kind is ast.FunctionDef:
        found = [node for node in found[:1] if node.name == code.co_name]
    if len(found) != 1:
        raise Unclear("a function whose source is not found")
    definition = found[0]
    names = [a.arg for a in [*definition.args.posonlyargs, *definition.args.args]]
    if names != list(code.co_varnames[: code.co_argcount]):
        raise Unclear("a function whose source has changed")
    if isinstance(definition, ast.Lambda):
        body = ast.copy_location(ast.Return(definition.body), definition.body)
        definition = ast.copy_location(
            ast.FunctionDef("_lambda_", definition.args, [body], []), definition
        )
    definition.decorator_list, definition.returns = [], None
    if "type_params" in ast.FunctionDef._fields:
        definition.type_params = []
    ast.increment_lineno(definition, code.co_firstlineno - 1 - inner)
    return definition


def bound(node: Any) -> set[str]:
    """The names that a function, lambda or comprehension binds, those inside it left out."""
    found: set[str] = set()
    if hasattr(node, "args"):
        every = node.args
        named = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
        found |= {a.arg for a in named if a is not None}
    waiting = [*(node.body if isinstance(getattr(node, "body", None), list) else [])]
    if hasattr(node, "generators"):
        waiting = list(node.generators)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            found.add(part.id)
        elif (isinstance(part, ast.ExceptHandler) and part.name) or isinstance(
            part, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        ):
            found.add(str(part.name))
        if not isinstance(part, SCOPES):
            waiting += ast.iter_child_nodes(part)
        elif not isinstance(part, (ast.FunctionDef, ast.Lambda)):  # := inside
            waiting += [w for w in ast.walk(part) if isinstance(w, ast.NamedExpr)]
    return found


class Done(ast.expr):
    """A part that was visited already."""

    def __init__(self, node: Any) -> None:
        super().__init__()
        self.node = node


class Rewriter(ast.NodeTransformer):
    """Puts calls of the watch into a function: NOTE [Rewriting]."""

    def __init__(self, definition: Any, code: CodeType, ours: bool) -> None:
        self.definition, self.ours = definition, ours
        self.free = set(code.co_freevars)
        self.scopes = [bound(definition)]

    def rewritten(self) -> Any:
        """The definition with the calls in it."""
        node = self.definition
        node.body = self.body(node.body)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            each.annotation = None
        for each in (node.args.vararg, node.args.kwarg):
            if each is not None:
                each.annotation = None
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]
        node.args.kw_defaults = [d and ast.Constant(None) for d in node.args.kw_defaults]
        return node

    def body(self, statements: list[Any]) -> list[Any]:
        """Statements with the calls in them."""
        module: Any = self.generic_visit(ast.Module(statements, []))
        return module.body  # type: ignore[no-any-return]

    def told(self, method: str, at: Any, *args: Any) -> Any:
        """A call of a method of the watch."""
        function = ast.Attribute(ast.Name(WATCH, ast.Load()), method, ast.Load())
        ast.copy_location(function, at)  # of whose end the call has its line
        function.end_lineno, function.end_col_offset = at.lineno, at.col_offset
        return ast.copy_location(ast.Call(function, list(args), []), at)

    def visit(self, node: Any) -> Any:
        """The node with the calls in it."""
        if isinstance(node, Done):
            return node.node
        if isinstance(node, SCOPES):
            return self.within(node)
        if type(node) in UNCLEAR:
            raise Unclear(UNCLEAR[type(node)])
        name = getattr(node, "attr", "") or getattr(node, "id", "")
        if name.startswith("__") and not name.endswith("__"):
            raise Unclear("a private name of a class")
        return super().visit(node)

    # -- scopes

    def within(self, node: Any) -> Any:
        """A function or comprehension in it; some of that is read outside of its scope."""
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            self.generic_visit(node.args)
            if isinstance(node, ast.FunctionDef):
                node.decorator_list = [self.visit(each) for each in node.decorator_list]
                node.returns = None
            self.scopes.append(bound(node))
            if isinstance(node, ast.Lambda):
                node.body = self.visit(node.body)
            else:
                node.body = self.body(node.body)
        else:
            first = node.generators[0]
            first.iter = Done(self.told("through", first.iter, self.visit(first.iter)))
            self.scopes.append(bound(node))
            node = self.generic_visit(node)
        self.scopes.pop()
        return node

    def visit_AnnAssign(self, node: Any) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    # -- reads

    def visit_Name(self, node: Any) -> Any:
        if not isinstance(node.ctx, ast.Load) or any(node.id in scope for scope in self.scopes):
            return node
        if node.id in FRAMES:
            raise Unclear(f"a function that calls {node.id}()")
        if node.id in ("super", "__class__"):
            return node
        if node.id in self.free:
            cell = ast.copy_location(ast.Lambda(_arguments([]), node), node)  # which holds it
            return self.told("variable", node, ast.Constant(node.id), node, cell)
        return node if self.ours else self.told("outside", node, ast.Constant(node.id), node)

    def visit_Attribute(self, node: Any) -> Any:
        if isinstance(node.ctx, ast.Load):
            return self.told("attribute", node, self.held(node.value), ast.Constant(node.attr))
        node.value = self.told("setting", node, self.visit(node.value))
        return node

    def held(self, node: Any, way: str = "file") -> Any:
        """What is read to be written to, or for an attribute of it, and for nothing else."""
        is_read = is_path(node)
        made = self.visit(node)
        if is_read and isinstance(made, ast.Call):
            made.args.append(ast.Constant(way))
        return made

    def visit_Subscript(self, node: Any) -> Any:
        node = self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            return self.told("item", node, node.value, _key(node.slice))
        node.value = self.told("changing", node, node.value)
        node.slice = self.told("index", node, _key(node.slice))
        return node

    # -- what is done

    def visit_Call(self, node: Any) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return node
        for each in node.keywords:
            if each.arg == "file":
                each.value = Done(self.held(each.value))
        node = self.generic_visit(node)
        node.args.insert(0, node.func)
        call = ast.Attribute(ast.Name(WATCH, ast.Load()), "call", ast.Load())
        node.func = ast.copy_location(call, node.func)  # of which a call has its line
        return node

    def visit_Expr(self, node: Any) -> Any:
        call, owner = node.value, getattr(getattr(node.value, "func", None), "value", None)
        if (
            isinstance(call, ast.Call)
            and getattr(call.func, "attr", "") == "append"
            and len(call.args) == 1 and not call.keywords
            and is_path(owner)
            and not isinstance(call.args[0], ast.Starred)
        ):  # fmt: skip
            held = self.held(owner, "append")
            node.value = self.told("append", node, held, self.visit(call.args[0]))
            return node
        return self.generic_visit(node)

    def visit_Assign(self, node: Any) -> Any:
        if isinstance(node.value, ast.Constant) and node.value.value is None:
            parts = [t for t in node.targets if isinstance(t, ast.Attribute) and t.attr == "grad"]
            if parts == node.targets:
                told = [self.told("clear", node, self.visit(part.value)) for part in parts]
                return [ast.copy_location(ast.Expr(each), node) for each in told]
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and node.targets == [target]:
            place = [self.visit(target.value), _key(self.visit(target.slice))]
            told = self.told("store", node, self.visit(node.value), *place)
            return ast.copy_location(ast.Expr(told), node)
        node = self.generic_visit(node)
        kinds = {type(part) for target in node.targets for part in ast.walk(target)
                 if isinstance(getattr(part, "ctx", None), ast.Store)}  # fmt: skip
        if kinds & {ast.Attribute, ast.Subscript}:
            node.value = self.told("plain", node, node.value)
        return node

    def visit_AugAssign(self, node: Any) -> Any:
        if not isinstance(node.target, ast.Name):
            node = self.generic_visit(node)
            node.value = self.told("plain", node, node.value)
            return node
        read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        name = "i" + OPERATORS[type(node.op)].strip("_")
        value = self.told("binary", node, ast.Constant(name), read, self.visit(node.value))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_BinOp(self, node: Any) -> Any:
        name = ast.Constant(OPERATORS[type(node.op)])
        return self.told("binary", node, name, self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: Any) -> Any:
        node = self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return node
        return self.told("unary", node, ast.Constant(OPERATORS[type(node.op)]), node.operand)

    def visit_Compare(self, node: Any) -> Any:
        node = self.generic_visit(node)
        every = [node.left, *node.comparators]
        name = OPERATORS.get(type(node.ops[0]))
        if len(every) == 2 and name:
            return self.told("binary", node, ast.Constant(name), *every)
        node.left, *node.comparators = [self.told("plain", node, each) for each in every]
        return node

    def visit_JoinedStr(self, node: Any) -> Any:
        parts: list[Any] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                spec = self.visit(each.format_spec) if each.format_spec else ast.Constant("")
                inside = [self.visit(each.value), ast.Constant(each.conversion), spec]
                parts.append(ast.Tuple(inside, ast.Load()))
            else:
                parts.append(each)
        return self.told("text", node, *parts)

    def visit_For(self, node: Any) -> Any:
        node = self.generic_visit(node)
        node.iter = self.told("through", node, node.iter)
        return node

    def visit_YieldFrom(self, node: Any) -> Any:
        node = self.generic_visit(node)
        node.value = self.told("through", node, node.value)
        return node

    def visit_comprehension(self, node: Any) -> Any:
        told = isinstance(node.iter, Done)
        node = self.generic_visit(node)
        if not told:
            node.iter = self.told("through", node.iter, node.iter)
        return node

    def visit_With(self, node: Any) -> Any:
        node = self.generic_visit(node)
        for item in node.items:
            item.context_expr = self.told("within", node, item.context_expr)
        return node

    def visit_Try(self, node: Any) -> Any:
        node = self.generic_visit(node)
        for handler in node.handlers:
            handler.body.insert(0, ast.copy_location(ast.Expr(self.told("caught", handler)), node))
        if self.ours:
            return node
        tried = [self.told("trying", node, ast.Constant(by)) for by in (1, -1)]
        begin, end = [ast.copy_location(ast.Expr(each), node) for each in tried]
        return [begin, ast.copy_location(ast.Try([node], [], [], [end]), node)]

    visit_TryStar = visit_Try  # noqa: N815 (Python's name)


def is_path(node: Any) -> bool:
    """Whether an expression is a name, or attributes of one."""
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and is_path(node.value))


def _key(node: Any) -> Any:
    """A subscript as an expression: slices are objects there."""
    if isinstance(node, ast.Slice):
        parts = [p or ast.Constant(None) for p in (node.lower, node.upper, node.step)]
        name = ast.Attribute(ast.Name(WATCH, ast.Load()), "slice", ast.Load())
        return ast.copy_location(ast.Call(name, parts, []), node)
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([_key(e) for e in node.elts], ast.Load()), node)
    return node

"""Writes the stubs that type checkers and editors read: `python docs/make_stubs.py`.

Functions and methods are made when ops are declared, where no type checker sees them. What they
take and return is read off the running package: annotations where the source has them, else those
that `engine/naming.py` gives by names.

NOTE [Stubs]
1. What `method` attaches to tensors is in `engine/attached.pyi`, a base that `Tensor` has for type
   checkers only; what `engine/tensor.py` itself defines is read and checked there.
2. `__init__.pyi` says what the package holds, and the stubs of `SPACES` what theirs do.
3. `rg.int`, `rg.float` and others hide Python's names, and so do methods in a class: a type is
   written as `_int` in every stub, and imported so.
4. A function whose result depends on its arguments has a form per result: `FORMS` and `FLAGS`.
5. What PyTorch has removed, and only says so when it is called, is left out.
6. `axis` and `keepdims` stand for `dim` and `keepdim`: a function takes them by name, and has a
   form of its own where it must be given one of the two.
7. A package has a stub, too, with what its source imports and with what PyTorch's world adds: its
   `__getattr__` would let any name pass. That of `func` ends with `transforms.pyi`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from inspect import Parameter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import retrograd as rg
from retrograd import Tensor, ops, return_types
from retrograd.dtypes import dtype
from retrograd.engine.overriding import forms
from retrograd.ops.tensor.values import Absent
from retrograd.torch import lazy_families as later
from retrograd.torch.names.tensor_types import TensorType

ROOT = Path(rg.__file__).parent
SPACES = {"nn/functional": rg.nn.functional, "linalg": rg.linalg, "fft": rg.fft,
          "special": rg.special}  # fmt: skip
GENERIC = (Path(__file__).parent / "transforms.pyi").read_text()
PACKAGES = ("autograd", "func", "nn", "nn/modules", "nn/utils", "optim", "utils", "utils/data")
BARE = {id(form): function for function, form in forms.items()}

NUMBER = "Number | Tensor"
# Whom other libraries call, or PyTorch's inner name: their results are Any.
CALLED = {"__array_function__", "__array_namespace__", "__array_ufunc__", "__dlpack__",
          "__torch_dispatch__"}  # fmt: skip

# The results of functions where a flag is set; they give a tensor where it is not.
FLAGS = {"return_indices": "tuple[Tensor, Tensor]", "as_tuple": "tuple[Tensor, ...]"}
BY = "*, by: str | None = None"
ALONG = f"dim: int, keepdim: bool = False, {BY}, out: Sequence[Tensor] | None = None"
AXIS = ALONG.replace("dim: int, keepdim", "*, axis: int, keepdims").replace("*, by", "by")
COUNTS = "return_inverse: bool = False, return_counts: bool = False, dim: int | None = None"
NONE = COUNTS.replace("bool", "Literal[False]")
OTHER = f"other: Tensor, {BY}, out: Tensor | None = None"
SECOND = "second: Tensor, /, *tensors: Tensor"
# The arguments and the result of each form of a function, after the tensor.
FORMS: dict[str, list[tuple[str, str]]] = {
    **{name: [(BY, "Tensor"), *((each, f"return_types.{name}") for each in (ALONG, AXIS)),
              (OTHER, "Tensor")] for name in ("max", "min")},
    **{name: [(BY, "Tensor"), *((each, f"return_types.{name}") for each in (ALONG, AXIS))]
       for name in ("median", "nanmedian")},
    **{name: [("", "Tensor"), (SECOND, "tuple[Tensor, ...]")]
       for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    "size": [("dim: None = None", "Size"), ("dim: int", "int")],
    "stride": [("dim: None = None", "tuple[int, ...]"), ("dim: int", "int")],
    "type": [("dtype: None = None", "str"), ("dtype: Any, non_blocking: bool = False", "Tensor")],
    "unique": [(f"sorted: bool = True, {NONE}", "Tensor"),
               (f"sorted: bool = True, {COUNTS}", "tuple[Tensor, ...]")],
    "unique_consecutive": [(NONE, "Tensor"), (COUNTS, "tuple[Tensor, ...]")],
    "where": [("", "tuple[Tensor, ...]"), (f"input: {NUMBER}, other: {NUMBER}", "Tensor")],
}  # fmt: skip

# Where the types are that stubs name, and names for long ones.
HOMES = {
    "builtins": "bool complex dict float int list object slice str tuple type",
    "collections.abc": "Callable Iterator Sequence",
    "types": "EllipsisType",
    "typing": "Any Literal NamedTuple overload",
    "numpy": "ndarray number",
    ".": "return_types",
    ".dtypes": "dtype",
    ".engine.backward.hooks": "RemovableHandle",
    ".engine.placement": "Size device",
    ".engine.tensor": "Tensor",
    ".ops.creation.memory_format": "memory_format",
    ".ops.random.generator": "Generator",
    ".ops.tensor.inspection": "layout",
    ".ops.tensor.storage": "StorageType TypedStorage UntypedStorage",
}
HOME_OF = {name: home for home, names in HOMES.items() for name in names.split()}
ALIASES = {
    "Number": "int | float | complex | number[Any]",
    "Index": "int | slice | EllipsisType | Tensor | Sequence[Any] | ndarray[Any, Any] | None | "
             "tuple[Any, ...]",
}  # fmt: skip
OPERATOR = re.compile(
    r"__[ir]?(add|sub|mul|(true|floor)?div|mod|pow|matmul|and|x?or|[lr]shift)__|__(eq|ne|[lg][te])__"
)
HEAD = "# Written by docs/make_stubs.py: change that, and run it.\n# ruff: noqa\n# fmt: off"
STARS = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}


# -- functions -------------------------------------------------------------------------------------


def bare(value: Any) -> Any:
    """The function behind the form of it that users see."""
    return BARE.get(id(value), value)


def record_of(value: Any) -> Any:
    """The record of which a function is the caller, or the form in place; or None."""
    while not hasattr(value := bare(value), "op"):
        if not hasattr(value, "__wrapped__"):
            return None
        value = value.__wrapped__
    return value.op


def text_of(annotation: Any) -> str:
    """An annotation as it is written, Any where there is none."""
    if annotation is Parameter.empty:
        return "Any"
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(typing|dtypes|retrograd\.[\w.]+)\.", "", text)


def result(name: str, space: str, found: inspect.Signature) -> str:
    """The type of what a function returns."""
    text = text_of(found.return_annotation)
    if OPERATOR.fullmatch(name):
        return "Tensor"
    if text == "Any" and name not in CALLED:
        raise SystemExit(f"say in engine/naming.py what {space} {name}{found} returns")
    return text


def argument(each: Parameter) -> str:
    """An argument with its type and default."""
    text, default = text_of(each.annotation), each.default
    if default is each.empty:
        return f"{STARS.get(each.kind, '')}{each.name}: {text}"
    text += " | None" if default is None and not re.search("(Any|None)$", text) else ""
    text += " | str" if type(default) is str and not re.search("Any$|str", text) else ""
    plain = default is None or type(default) in (bool, int, str)
    return f"{each.name}: {text} = {repr(default) if plain else '...'}"


def listed(parameters: list[Parameter]) -> list[str]:
    """Arguments, those by keyword after a star."""
    shown = []
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not any(one[0] == "*" for one in shown):
            shown.append("*")
        shown.append(argument(each))
    return shown


def function(name: str, value: Any, space: str) -> list[str]:
    """The lines for a function, or for a method in the space "Tensor"; none for what is removed."""
    found, method = inspect.signature(value), space == "Tensor"
    parameters = list(found.parameters.values())
    start = ["self"] if method else listed(parameters[:1])
    if name in FORMS and not (method and name == "where"):
        start = ["tensor: Tensor"] if start[0][0] == "*" else start
        return [line for inside, gives in FORMS[name]
                for line in ("@_overload", define(name, [*start, inside], gives))]  # fmt: skip
    loose = parameters and {each.kind for each in parameters} <= STARS.keys()
    if loose and text_of(found.return_annotation) == "NoReturn":
        return []
    gives = result(name, space, found)
    if method:
        rest = parameters[1:2] if OPERATOR.fullmatch(name) else parameters[1:]
        parameters = [each for each in rest if each.name != "out"]
    first = start[: int(method)]
    for place, each in enumerate(parameters):
        if each.name in FLAGS and gives.startswith("Tensor | "):
            return flagged(name, first, parameters[:place], each, parameters[place + 1 :])
    forms = [define(name, first + listed(each), gives) for each in renamed(parameters)]
    if len(forms) > 1:
        return [line for form in forms for line in ("@_overload", form)]
    override = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    return [forms[0] + override]


def renamed(parameters: list[Parameter]) -> list[list[Parameter]]:
    """The arguments with NumPy's names for two of them: NOTE [Stubs], 6."""
    given = {each.name: each for each in parameters}
    if "dim" not in given or "axis" in given:
        return [parameters]
    more = [
        given[own].replace(name=name, kind=Parameter.KEYWORD_ONLY)
        for own, name in (("dim", "axis"), ("keepdim", "keepdims"))
        if own in given
    ]
    if given["dim"].default is not Parameter.empty:
        return [with_keywords(parameters, more)]
    rest = [each for each in parameters if each.name not in ("dim", "keepdim")]
    place = parameters.index(given["dim"])
    after = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in rest[place:]]
    return [with_keywords(parameters, more[1:]), with_keywords([*rest[:place], *after], more)]


def with_keywords(parameters: list[Parameter], more: list[Parameter]) -> list[Parameter]:
    """The arguments with some more by keyword, before those of any name."""
    last = [each for each in parameters if each.kind is each.VAR_KEYWORD]
    return [*(each for each in parameters if each not in last), *more, *last]


def flagged(
    name: str, first: list[str], before: list[Parameter], flag: Parameter, after: list[Parameter]
) -> list[str]:
    """The two forms of a function whose result depends on a flag."""
    optional = any(each.default is not each.empty for each in before)
    kind = flag.KEYWORD_ONLY if optional else flag.kind
    off = flag.replace(annotation="Literal[False]")
    on = flag.replace(annotation="Literal[True]", default=flag.empty, kind=kind)
    return [
        "@_overload",
        define(name, first + listed([*before, off, *after]), "Tensor"),
        "@_overload",
        define(name, first + listed([*before, on]), FLAGS[flag.name]),
    ]


def define(name: str, inside: list[str], gives: str) -> str:
    """The line that says what a function takes and gives."""
    return f"def {name}({typed(', '.join(each for each in inside if each))}) -> {typed(gives)}: ..."


def typed(text: str) -> str:
    """A text with types, each with `_` before it: NOTE [Stubs], 3."""
    names = "|".join({*HOME_OF, *ALIASES} - {"Tensor"})
    return re.sub(rf"(?<![\w.'])({names})\b(?!:)", r"_\1", text)


# -- files -----------------------------------------------------------------------------------------


def attached() -> list[str]:
    """What tensors have beside what their class says."""
    tree = ast.parse((ROOT / "engine/tensor.py").read_text())
    own = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    said = set(OF_CLASSES)
    for node in own.body:
        for each in getattr(node, "targets", [getattr(node, "target", node)]):
            said.add(getattr(each, "id", getattr(each, "name", "")))
    lines = []
    for name, value in sorted(vars(Tensor).items()):
        if name in said or isinstance(value, Absent):
            continue
        if isinstance(value, property):
            gives = text_of(inspect.signature(value.fget).return_annotation)
            gives = gives if gives != "Any" else PROPERTIES.get(name, "Any")
            lines += ["@property", define(name, ["self"], gives)]
            if value.fset:
                lines += [f"@{name}.setter", define(name, ["self", f"value: {gives}"], "None")]
        elif callable(value):
            lines += function(name, value, "Tensor")
        elif not isinstance(value, (classmethod, staticmethod)):
            lines.append(f"{name}: {typed(type(value).__name__)}")
    lines.append("def __init_subclass__(cls, sees_properties: _bool = True) -> None: ...")
    return ["class Attached:", *(f"    {line}" for line in lines)]


OF_CLASSES = {"__module__", "__annotations__", "__doc__", "__slots__", "__dict__", "__weakref__",
              "__init_subclass__", "__hash__", "__reduce_ex__", "__firstlineno__",
              "__static_attributes__"}  # fmt: skip
PROPERTIES = dict.fromkeys(["real", "imag", "T", "mT", "H", "mH"], "Tensor")


def functions(names: dict[str, Any], space: str) -> list[str]:
    """The functions and values among the members of a module."""
    lines = []
    for name, value in sorted(names.items()):
        if isinstance(bare(value), FunctionType) or record_of(value) is not None:
            lines += function(name, value, space)
        elif isinstance(value, TensorType):
            lines.append(f"{name}: {typed('type')}[Tensor]")
        elif isinstance(value, type):
            home = HOME_OF.get(name, value.__module__)
            lines.append(f"from {home.removeprefix('retrograd')} import {name} as {name}")
        else:
            lines.append(f"{name}: {typed(type(value).__name__)}")
    return lines


def package() -> list[str]:
    """What the package holds: what its `__init__` imports, and the functions of `ops`."""
    lines = [f"from . import {name} as {name}" for name in ("autograd", "interop", *rg.LATER)]
    values: dict[str, Any] = {"bfloat16": dtype}
    tree = ast.parse((ROOT / "__init__.py").read_text())
    for node in tree.body:
        for each in node.names if isinstance(node, ast.ImportFrom) and node.module else ():
            value = getattr(rg, name := each.asname or each.name, None)
            if isinstance(value, (dtype, float)):
                values[name] = type(value)
            elif value is not None and node.level:
                lines.append(f"from .{node.module} import {each.name} as {name}")
    lines += [f"from .{home} import {name} as {name}" for name, home in rg.FROM.items()]
    for name in rg.torch.modules():
        if vars(getattr(rg, name, rg))["__name__"] == f"retrograd.torch.{name}":
            lines.append(f"from .torch import {name} as {name}")
    outer = {name: home for name, home in rg.torch.NAMES.items() if "." not in name}
    lines += [f"from .torch.{home} import {name} as {name}" for name, home in outer.items()]
    lines += [f"{name}: {typed(kind.__name__)}" for name, kind in values.items()]
    found = {name: getattr(rg, name) for name in (*ops.__all__, *later.__all__)}
    return [*lines, "newaxis: None", *functions(found, "")]


def public(module: ModuleType) -> dict[str, Any]:
    """The functions and classes that a module holds."""
    return {n: value for n, value in vars(module).items() if callable(value) and n[:2] != "__"}


def of_package(place: str) -> str:
    """The stub of a package, with what its source imports and PyTorch's world adds."""
    tree, up = ast.parse((ROOT / place / "__init__.py").read_text()), "." * (place.count("/") + 2)
    body = [*tree.body]
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            body += node.body
    lines = []
    typed_here = re.findall(r"^def (\w+)", GENERIC if place == "func" else "", re.M)
    for node in body:
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        dots = f"from {'.' * node.level}{node.module or ''} import"
        for each in node.names:
            name = each.asname or each.name
            if name == "*":
                lines.append(f"{dots} *")
            elif name not in typed_here and name.lstrip("_") not in ("providers", "public", "load"):
                lines.append(f"{dots} {each.name} as {name}")
    package = importlib.import_module(f"retrograd.{place.replace('/', '.')}")
    lines += [f"from . import {name} as {name}" for name in getattr(package, "LATER", ())]
    prefix = f"{place.replace('/', '.')}."
    for name, home in rg.torch.NAMES.items():
        around, _, own = name.rpartition(".")
        if f"{around}." == prefix:
            holds = hasattr(importlib.import_module(f"retrograd.torch.{home}"), own)
            module = home if holds else home.rpartition(".")[0]  # which has the module itself
            lines.append(f"from {up}torch.{module} import {own} as {own}")
    known = set(re.findall(r" as (\w+)$", "\n".join(lines), re.M))
    folder = ROOT / "torch" / place
    for each in sorted(pkgutil.iter_modules([str(folder)]), key=lambda each: each.name):
        own = [ROOT / place / each.name, ROOT / place / f"{each.name}.py"]
        if each.name not in known and not any(path.exists() for path in own):
            lines.append(f"from {up}torch.{prefix[:-1]} import {each.name} as {each.name}")
    names = [name for name in getattr(package, "__all__", ()) if name.isidentifier()]
    lines.append(f"__all__ = {names}")
    end = GENERIC.partition("fmt: off\n")[2] if place == "func" else ""
    return "\n".join([HEAD, *together(lines), end])


def results() -> list[str]:
    """The named tuples."""
    lines = []
    for name, value in vars(return_types).items():
        if hasattr(value, "_fields") and value._fields:
            lines.append(f"class {name}({typed('NamedTuple')}):")
            lines += [f"    {field}: Tensor" for field in value._fields]
    return lines


def stub(lines: list[str], up: str = "") -> str:
    """The text of a stub, with the imports that its lines need; `up` is a dot per folder."""
    names = set(re.findall(r"(?<!\w)_(\w+)", "\n".join(lines)))
    aliases = {name: typed(text) for name, text in ALIASES.items() if name in names}
    names |= set(re.findall(r"\b_(\w+)", " ".join(aliases.values()))) | {"Tensor"}
    imports = []
    for home, inside in HOMES.items():
        place = home if home[0] != "." else up + home
        for name in inside.split():
            if name in names:
                shown = "Tensor as Tensor" if name == "Tensor" else f"{name} as _{name}"
                imports.append(f"from {place} import {shown}")
    said = [f"_{name} = {text}" for name, text in aliases.items()]
    imports, lines = together(imports), together(lines)
    return "\n".join([HEAD, *imports, *said, "", *lines, ""])


def together(lines: list[str]) -> list[str]:
    """Lines of which those that import from one module are one, where the first stands."""
    found: dict[Any, list[str]] = {}
    for place, line in enumerate(lines):
        home, imported, name = line.partition(" import ")
        found.setdefault(home if imported else place, []).append(name or line)
    return [
        f"{key} import {', '.join(parts)}" if isinstance(key, str) else parts[0]
        for key, parts in found.items()
    ]


def stubs() -> dict[Path, str]:
    """The text of every stub, by its file."""
    return {
        ROOT / "engine/attached.pyi": stub(attached(), "."),
        ROOT / "__init__.pyi": stub(package()),
        ROOT / "return_types.pyi": stub(results()),
        **{
            ROOT / f"{place}.pyi": stub(functions(public(module), place), "." * place.count("/"))
            for place, module in SPACES.items()
        },
        **{ROOT / place / "__init__.pyi": of_package(place) for place in PACKAGES},
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)

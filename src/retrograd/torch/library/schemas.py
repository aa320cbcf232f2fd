"""Schemas of operators, "(Tensor x, int n=2) -> Tensor": read, and written from annotations."""

from __future__ import annotations

import ast
import collections.abc
import inspect
import re
import types
import typing
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from ... import dtypes
from ...engine.tensor import Tensor, device

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

__all__ = ["Schema", "infer_schema", "signature_of", "signed"]

ARGUMENT = re.compile(r"(?P<type>[\w.()!?\[\]| ]*?[\])?!\w]) (?P<name>\w+)(?:=(?P<default>.+))?")
NUMBER = frozenset((int, float, bool))
WORDS = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
         NUMBER: "Scalar", dtypes.dtype: "ScalarType", device: "Device"}  # fmt: skip
LISTS = (list, collections.abc.Sequence)
RETURNED = (Tensor, int, float, bool, NUMBER)


class Schema:
    """The signature of an operator: its names, its arguments, and which of them it writes.

    >>> from retrograd.library.ops import aten
    >>> aten.mul_.Tensor._schema.is_mutable, aten.mm.default._schema.name
    (True, 'aten::mm')
    >>> [each.name for each in aten.mm.default._schema.arguments], aten.mm.default._schema
    (['self', 'mat2'], aten::mm(self, mat2))
    """

    def __init__(
        self,
        name: str,
        overload: str,
        parameters: Iterable[Parameter],
        written: Collection[str],
        text: str = "",
    ) -> None:
        parameters = list(parameters)
        self.name, self.overload_name, self.is_mutable = name, overload, bool(written)
        self._text = text or str(Signature([each.replace(annotation=Parameter.empty)
                                            for each in parameters]))  # fmt: skip
        self.arguments = [
            types.SimpleNamespace(
                name=each.name,
                default_value=None if each.default is each.empty else each.default,
                kwarg_only=each.kind is each.KEYWORD_ONLY,
                is_write=each.name in written,
            )
            for each in parameters
        ]

    def __repr__(self) -> str:
        """The schema as PyTorch writes it; without types for an operator that has none."""
        which = f".{self.overload_name}" if self.overload_name else ""
        return self.name + which + re.sub(r"=(-?\d+\.)0(?=[,)])", r"=\1", self._text)


def signature_of(text: str) -> tuple[Signature, list[str]]:
    """The signature that a schema's arguments describe, and the names of those that are written."""
    kind: Any = Parameter.POSITIONAL_OR_KEYWORD
    made, written = [], []
    for part in filter(None, map(str.strip, re.split(r",(?![^\[(]*[\])])", text))):
        if part == "*":
            kind = Parameter.KEYWORD_ONLY
            continue
        match = ARGUMENT.fullmatch(part)
        if match is None:
            raise ValueError(f"an argument of a schema reads 'int n=2', not {part!r}")
        default: Any = Parameter.empty
        if match["default"] is not None:
            try:
                default = ast.literal_eval(match["default"].strip())
            except (ValueError, SyntaxError):  # a word, such as of a reduction
                default = match["default"].strip()
        made.append(Parameter(match["name"], kind, default=default))
        if "!" in match["type"]:
            written.append(match["name"])
    return Signature(made), written


def signed(text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function take what a schema's arguments say; it gets them all by name."""
    own, _ = signature_of(text)

    def with_signature(function: Callable[..., Any]) -> Callable[..., Any]:
        def compute(*args: Any, **kwargs: Any) -> Any:
            bound = own.bind(*args, **kwargs)
            bound.apply_defaults()
            return function(**bound.arguments)

        compute.__signature__ = own  # type: ignore[attr-defined]
        return compute

    return with_signature


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None
) -> str:
    """The schema of a function by its annotations: of tensors, numbers, strings, dtypes, devices.

    `mutates_args` names the arguments that it writes, or is "unknown": then all tensors. Raises
    ValueError for what has no annotation, or one that a schema cannot say.

    >>> from retrograd.library import infer_schema
    >>> def shift(x: rg.Tensor, by: int | None = None, *, scale: float = 1.0) -> rg.Tensor: ...
    >>> infer_schema(shift, mutates_args=["x"])
    '(Tensor(a0!) x, SymInt? by=None, *, float scale=1.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    parts, written = [], set() if mutates_args == "unknown" else {*mutates_args}
    if unknown := written - {*signature.parameters}:
        raise ValueError(f"infer_schema(func): {unknown} in mutates_args are no arguments of func")
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY):
            raise ValueError(
                "infer_schema(func): We do not support positional-only args, varargs, or "
                f"varkwargs. Got func with signature {signature}"
            )
        if name not in hints:
            raise ValueError(f"infer_schema(func): Parameter {name} must have a type annotation")
        word = said(hints[name], f"Parameter {name}")
        if name in written or (mutates_args == "unknown" and "Tensor" in word):
            if "Tensor" not in word:
                raise ValueError(
                    f"infer_schema(func): Parameter {name} is in mutates_args but only Tensors "
                    "can be mutated"
                )
            word = word.replace("Tensor", f"Tensor(a{place}!)")
        if parameter.kind is Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(f"{word} {name}{default_of(parameter)}")
    if "return" not in hints:
        raise ValueError("infer_schema(func): No return type annotation was provided")
    return f"{op_name or ''}({', '.join(parts)}) -> {returned(hints['return'])}"


def said(hint: Any, what: str) -> str:
    """The name of a type in schemas."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        kinds = [part for part in parts if part is not type(None)]
        optional = "?" * (len(kinds) < len(parts))
        return said(kinds[0] if len(kinds) == 1 else frozenset(kinds), what) + optional
    if origin in LISTS and len(parts) == 1:
        return f"{said(parts[0], what)}[]"
    if (word := WORDS.get(hint)) is None:
        raise ValueError(f"infer_schema(func): {what} has unsupported type {hint}")
    return word


def default_of(parameter: Parameter) -> str:
    """A default in a schema; ValueError for a value that it cannot say."""
    value = parameter.default
    if value is Parameter.empty:
        return ""
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, (dtypes.dtype, device)):
        return f"={str(value).rpartition('.')[2]}"
    if value is None or isinstance(value, (int, float, bool)):
        return f"={value}"
    raise ValueError(
        f"infer_schema(func): Parameter {parameter.name} has an unsupported default value type "
        f"{type(value)}"
    )


def returned(hint: Any) -> str:
    """The type of a function's result, in the words of schemas; `()` for nothing."""
    if hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        parts = [returned(part) for part in typing.get_args(hint)]
        return f"({', '.join(parts)})"
    word = said(hint, "Return")
    if word not in {WORDS[kind] for kind in RETURNED} | {"Tensor[]"}:
        raise ValueError(f"infer_schema(func): Return has unsupported type {hint}")
    return word

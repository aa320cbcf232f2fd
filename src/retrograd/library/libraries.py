"""`Library`: operators of a namespace, by schemas, with a function for each kind of call."""

from __future__ import annotations

import ast
import enum
import re
from functools import partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from .custom import CustomOpDef, custom_op, found

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Library", "Tag", "define", "impl", "triton_op", "wrap_triton"]

ARGUMENT = re.compile(r"(?P<type>[\w.()!?\[\]| ]*?[\])?!\w]) (?P<name>\w+)(?:=(?P<default>.+))?")
OWN_GRADIENT = (
    "{name}: a function for {key!r} would take the place of what records the call, of which there "
    "is no name here. Write library.register_autograd({name!r}, backward, setup_context=...)"
)


NO_SCHEMA = (
    'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but '
    "got {schema!r}: the name is said before"
)
NO_NAMESPACE = (
    'Expected `qualname` to be of the form "namespace::name", but got {name}. Write '
    "'mine::{name}'"
)
KEYS = {"cpu": "CPU", "default": "CompositeExplicitAutograd"}  # by kind of device


class Tag(enum.Enum):
    """What operators are said to be, for PyTorch's compiler; nothing here reads it."""

    core = enum.auto()
    cudagraph_unsafe = enum.auto()
    data_dependent_output = enum.auto()
    dynamic_output_shape = enum.auto()
    flexible_layout = enum.auto()
    generated = enum.auto()
    inplace = enum.auto()
    inplace_view = enum.auto()
    maybe_aliasing_or_mutating = enum.auto()
    needs_contiguous_strides = enum.auto()
    needs_exact_strides = enum.auto()
    needs_fixed_stride_order = enum.auto()
    nondeterministic_bitwise = enum.auto()
    nondeterministic_seeded = enum.auto()
    out = enum.auto()
    out_variant = enum.auto()
    pointwise = enum.auto()
    pt2_compliant_tag = enum.auto()
    reduction = enum.auto()
    view_copy = enum.auto()


class Library:
    """The operators of a namespace: `define` them by schemas, give them functions by `impl`.

    `kind` is "DEF" for a namespace of one's own, "FRAGMENT" for a part of one, "IMPL" to give
    functions alone; `dispatch_key` is what `impl` takes by default.

    >>> import retrograd.library as library
    >>> mine = library.Library("shop", "DEF")
    >>> mine.define("price(Tensor x, float rate=0.5) -> Tensor")
    'price'
    >>> mine.impl("price", lambda x, rate: x * (1 + rate), "CompositeImplicitAutograd")
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> library.ops.shop.price(x), rg.autograd.grad(library.ops.shop.price(x), x)
    (tensor(3., grad_fn=<MulBackward0>), (tensor(1.5000),))
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind!r}. Write 'DEF', 'FRAGMENT' or 'IMPL'")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define the operator of a schema, "name(Tensor x, *, int n=2) -> Tensor"; its name.

        Of "name.out(...)" it is the overload `out` of an operator `name`.
        Raises ValueError for a schema that cannot be read.
        """
        name, _, rest = schema.partition("(")
        name, inner = name.strip().removeprefix(f"{self.ns}::"), rest.rpartition("->")[0]
        if not name.replace(".", "_", 1).isidentifier() or not inner.rstrip().endswith(")"):
            raise ValueError(f"a schema reads 'name(Tensor x, int n=2) -> Tensor', not {schema!r}")
        signature, written = signature_of(inner.rstrip()[:-1])
        CustomOpDef(f"{self.ns}::{name}", None, written, schema, signature)
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Let `fn` be what an operator runs, given by its name or as itself, by the key:

        "CPU" or "CompositeExplicitAutograd", on arrays, unrecorded; "CompositeImplicitAutograd",
        recorded as it runs; "Meta", on the meta device; "AutocastCPU", in a region of autocast.
        For keys of devices that are not here it is not needed. Raises RuntimeError for an operator
        that is not defined, NotImplementedError for the keys of autograd.
        """
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name if isinstance(op_name, str) else op_name._qualname
        operator = found(name if "::" in name else f"{self.ns}::{name}")
        if key.startswith("Autograd"):
            raise NotImplementedError(OWN_GRADIENT.format(name=operator._qualname, key=key))
        if key in ("CPU", "CompositeExplicitAutograd"):
            operator._kernel = fn
        elif key == "CompositeImplicitAutograd":
            operator._composite = fn
        elif key == "AutocastCPU":
            operator._autocast = fn
        elif key == "Meta":
            operator._fake = fn


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Any = None,
    tags: Any = (),
) -> Any:
    """Define the operator "namespace::name" of a schema without name, "(Tensor x) -> Tensor".

    Of a `Library` and a schema with a name, a decorator for its function. Raises ValueError for a
    name without namespace, and for other schemas.

    >>> import retrograd.library as library
    >>> library.define("shelf::twice", "(Tensor x) -> Tensor")
    >>> library.impl("shelf::twice", "cpu", lambda x: 2 * x)
    >>> library.ops.shelf.twice(rg.ones(2))
    tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema, alias_analysis, tags=tags)
        return partial(_given, qualname, name, "")
    space, separator, own = qualname.partition("::")
    if not separator:
        raise ValueError(NO_NAMESPACE.format(name=qualname))
    if not schema.lstrip().startswith("("):
        raise ValueError(NO_SCHEMA.format(schema=schema))
    Library(space, "FRAGMENT").define(own + schema)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Let `func` be the function of an operator for kinds of devices, "default" for all of them.

    types: one or several, or a key of `Library.impl`; a function for another device than the cpu
    runs nowhere. Without `func` a decorator. Of a `Library`, a name and a key: a decorator, too.
    """
    if isinstance(qualname, Library):
        return partial(_given, qualname, types, func or "")
    home = Library(qualname.partition("::")[0], "IMPL")
    kinds = [types] if isinstance(types, str) else types

    def register(function: Callable[..., Any]) -> None:
        for kind in kinds:
            home.impl(qualname, function, KEYS.get(kind, kind))

    return register if func is None else register(func)


def _given(library: Library, name: str, key: str, function: Callable[..., Any]) -> Any:
    """The function, which the operator of a library now runs."""
    library.impl(name, function, key)
    return function


def triton_op(
    name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None, tags: Any = None
) -> Any:
    """`custom_op`: an operator whose function may launch kernels of Triton, where those run."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """Raises ModuleNotFoundError: kernels of Triton run on accelerators alone."""
    raise ModuleNotFoundError(
        "No module named 'triton': its kernels run on accelerators, of which there are none. Give "
        "the operator a function for the cpu: library.register_kernel(name, 'cpu', function)"
    )


def signature_of(text: str) -> tuple[Signature, list[str]]:
    """The signature that a schema's arguments describe, and the names of those that are written."""
    kind, made, written = Parameter.POSITIONAL_OR_KEYWORD, [], []
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

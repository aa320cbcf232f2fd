"""`Library`: operators of a namespace, by schemas, with a function for each kind of call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .custom import CustomOpDef, custom_op, give
from .schemas import signature_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Library", "define", "impl", "triton_op", "wrap_triton"]

KEYS = {"default": "CompositeExplicitAutograd"}


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

        Of "name.out(...)" it is the overload `out` of an operator `name`. Raises ValueError for a
        schema that cannot be read, RuntimeError in an "IMPL" library.
        """
        if self.kind == "IMPL":
            raise RuntimeError(
                f"def({schema!r}): Cannot define an operator inside of a library of kind 'IMPL'. "
                f"Write Library({self.ns!r}, 'FRAGMENT')"
            )
        name, _, rest = schema.partition("(")
        name, (inner, _, out) = name.strip().removeprefix(f"{self.ns}::"), rest.rpartition("->")
        if not name.replace(".", "_", 1).isidentifier() or not inner.rstrip().endswith(")"):
            raise ValueError(f"a schema reads 'name(Tensor x, int n=2) -> Tensor', not {schema!r}")
        signature, written = signature_of(inner.rstrip()[:-1])
        if out.strip() == "()":
            signature = signature.replace(return_annotation=None)
        CustomOpDef(f"{self.ns}::{name}", None, written, signature, f"({rest.strip()}")
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        allow_override: bool = False,
    ) -> None:
        """Let `fn` be what an operator runs, given by its name or as itself, by the key:

        "CPU", "CompositeExplicitAutograd" or "CompositeImplicitAutograd", recorded as it runs until
        a formula is registered; "Autograd" or "AutogradCPU", recorded in place of all these;
        "Meta", on the meta device; "AutocastCPU", in a region of autocast. For keys of devices that
        are not here it is not needed. An operator that is defined later gets it then.
        """
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name if isinstance(op_name, str) else op_name._qualname
        give(name if "::" in name else f"{self.ns}::{name}", key, fn)


def define(
    qualname: str | Library,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Any = (),
) -> Any:
    """Define the operator "namespace::name" by a schema without its name.

    Of a `Library` and a schema with a name: a decorator for its function. Raises ValueError for a
    name or a schema that cannot be read.

    >>> from retrograd import library
    >>> library.define("shop::twice", "(Tensor x) -> Tensor")
    >>> @library.impl("shop::twice", "cpu")
    ... def twice(x):
    ...     return 2 * x
    >>> library.ops.shop.twice(rg.ones(2))
    tensor([2., 2.])
    """
    if isinstance(qualname, Library):
        return impl(qualname, qualname.define(schema, alias_analysis, tags=tags), "")
    space, separator, name = str(qualname).partition("::")
    if not (separator and str(schema).lstrip().startswith("(")):
        raise ValueError(
            "define(): expected a name like 'mine::sin' and a schema like '(Tensor x) -> Tensor', "
            f"but got {qualname!r} and {schema!r}"
        )
    (lib or Library(space, "FRAGMENT")).define(name + schema)
    return None


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Let `func` be what an operator runs on devices such as "cpu", or on all: "default".

    Also as a decorator; and as `impl(lib, name, key)` of a Library, by the keys of `Library.impl`.

    >>> from retrograd import library
    >>> library.define("shop::half", "(Tensor x) -> Tensor")
    >>> _ = library.impl("shop::half", "default", lambda x: x / 2)
    >>> library.ops.shop.half(rg.ones(2))
    tensor([0.5000, 0.5000])
    """
    if isinstance(qualname, Library):  # the older form
        owner, name, keys = qualname, types, [func or ""]
        func = None
    else:
        given = [types] if isinstance(types, str) else types
        name, keys = qualname, [KEYS.get(each, each.upper()) for each in given]
        owner = lib or Library(str(qualname).partition("::")[0], "FRAGMENT")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for key in keys:
            owner.impl(name, function, key)
        return function

    return register if func is None else register(func)


def triton_op(
    name: str, fn: Any = None, /, *, mutates_args: Any, schema: str | None = None, tags: Any = None
) -> Any:
    """`custom_op`: an operator whose function may launch kernels of Triton, where those run.

    >>> from retrograd import library
    >>> library.triton_op("shop::twice", lambda x: x * 2, mutates_args=())(rg.ones(2))
    tensor([2., 2.])
    """
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel: Any, /) -> Any:
    """Raises ModuleNotFoundError: kernels of Triton run on accelerators alone.

    >>> from retrograd import library
    >>> library.wrap_triton(print)
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: No module named 'triton': its kernels run on accelerators...
    """
    raise ModuleNotFoundError(
        "No module named 'triton': its kernels run on accelerators, of which there are none. Give "
        "the operator a function for the cpu: library.register_kernel(name, 'cpu', function)"
    )

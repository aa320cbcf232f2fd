"""Arguments in one form: a call's arguments bound to the signature of what it calls.

A function has one signature here, so no call is ambiguous and types of arguments choose nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from ...engine import overriding
from ...nn.modules.module import Module
from .node import writes

__all__ = [
    "ArgsKwargsPair", "check_for_mutable_operation", "get_signature_for_torch_op",
    "normalize_function", "normalize_module",
]  # fmt: skip

BOUND = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call: by position, and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(
    op: Callable[..., Any], return_schemas: bool = False
) -> list[inspect.Signature] | None:
    """The signature of a function of the package, in a list; None for any other function.

    Raises NotImplementedError for `return_schemas`: there are no schemas.

    >>> from retrograd.fx.operator_schemas import get_signature_for_torch_op
    >>> [list(each.parameters) for each in get_signature_for_torch_op(rg.relu)]
    [['input', 'inplace']]
    """
    if return_schemas:
        raise NotImplementedError(
            "get_signature_for_torch_op: functions have signatures, no schemas. Leave "
            "return_schemas out"
        )
    return [inspect.signature(op)] if op in overriding.names else None


def check_for_mutable_operation(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise RuntimeError for a call of a function of the package that writes to its argument.

    >>> from retrograd.fx.operator_schemas import check_for_mutable_operation
    >>> check_for_mutable_operation(rg.relu, (rg.ones(1),), {})
    >>> check_for_mutable_operation(rg.relu_, (rg.ones(1),), {})
    Traceback (most recent call last):
    ...
    RuntimeError: Tried to trace mutable operation relu_. FX only supports functional code: ...
    """
    if target in overriding.names and (writes(target.__name__) or kwargs.get("out") is not None):
        raise RuntimeError(
            f"Tried to trace mutable operation {target.__name__}. FX only supports functional "
            f"code: call {target.__name__.rstrip('_')}, and use what it returns"
        )


def normalize_function(
    target: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None,
    kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """The arguments of a call with the defaults of those left out; by name alone if asked for.

    None for a function that takes any number of arguments, or some by position alone. Raises
    TypeError for arguments that the function does not take.

    >>> from retrograd.fx.operator_schemas import normalize_function
    >>> normalize_function(rg.relu, (3,), normalize_to_only_use_kwargs=True)
    ArgsKwargsPair(args=(), kwargs={'input': 3, 'inplace': False})
    """
    try:
        signature = inspect.signature(target)
    except ValueError:  # a function of Python in C, without one
        return None
    return bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Module,
    target: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:
    """As `normalize_function`, of a call of the layer of `root` at a path.

    None for a module that is no layer of the package. Raises RuntimeError where none is there.

    >>> from retrograd.fx.operator_schemas import normalize_module
    >>> normalize_module(rg.nn.Sequential(rg.nn.ReLU()), "0", (3,), {}, True)
    ArgsKwargsPair(args=(), kwargs={'input': 3})
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    if not type(module).__module__.startswith(Module.__module__.rpartition(".")[0]):
        return None
    signature = inspect.signature(module.forward)
    return bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], by_name: bool
) -> ArgsKwargsPair | None:
    """Arguments as a signature names them, with its defaults; None if not all have names."""
    parameters = signature.parameters
    if not all(each.kind in BOUND for each in parameters.values()):
        return None
    given = signature.bind(*args, **kwargs)
    given.apply_defaults()
    count = 0 if by_name else len(args)
    named = {name: given.arguments[name] for name in list(parameters)[count:] if name != "out"}
    return ArgsKwargsPair(tuple(args[:count]), named)

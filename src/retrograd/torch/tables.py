"""Functions of one expression, made from the rows of tables.

A row has a function's name, a lambda and its docstring. The lambda says which arguments there are,
in which order, and what they are handed on to.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..engine.op import parameters_of
from ..ops.core.arguments import public, titled

__all__ = ["absent_device", "define", "module", "older"]

Table = dict[str, tuple[Callable[..., Any], str]]

TENSORS = "input input1 input2 target indices log_probs targets anchor positive negative"
TYPES = {  # of arguments by name, where the default does not tell
    **dict.fromkeys(TENSORS.split(), "Tensor"),
    **dict.fromkeys(
        ("weight", "bias", "pos_weight", "running_mean", "running_var"), "Tensor | None"
    ),
    **dict.fromkeys(("dim", "dimension", "step", "split_size", "num_groups", "threads"), "int"),
    **dict.fromkeys(("p", "eps", "momentum"), "float"),
    **dict.fromkeys(("mode", "train", "training", "use_input_stats", "log_input", "full"), "bool"),
    **dict.fromkeys(("alpha", "ord", "reduction", "start", "end", "size"), "Any"),
}


def define(module: dict[str, Any], table: Table) -> None:
    """Define the functions of a table in a module's globals."""
    for name, (function, doc) in table.items():
        module[name] = titled(function, name, doc)
        module[name].__module__ = module["__name__"]


def module(name: str, about: str, table: Table, **held: Any) -> Any:
    """A module that has no file: it has the functions of a table, and what else it holds."""
    made: Any = ModuleType(name, about)
    sys.modules[name] = made
    made.__spec__ = ModuleSpec(name, None, origin=__file__)
    vars(made).update(held)
    define(vars(made), table)
    made.__all__ = list(table)
    return made


def absent_device() -> Table:
    """The functions that the module of every device has, new ones for each."""
    return {
        "is_available": (lambda: False, "Whether tensors can live on such a device: never."),
        "device_count": (lambda: 0, "The number of such devices: 0."),
        "empty_cache": (lambda: None, "Free unused memory of the device: there is none."),
        "manual_seed": (lambda seed: None, "Seed the device's generator: there is none."),
        "synchronize": (lambda device=None: None, "Wait for the device, where nothing runs."),
    }


def types(function: Callable[..., Any]) -> dict[str, str]:
    """The types of a lambda's arguments, by their names and defaults."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        told = type(parameter.default).__name__
        found[name] = TYPES.get(name, told if told in ("bool", "int", "float") else "Any")
    return found


def older(
    name: str,
    function: Callable[..., Any],
    about: str,
    example: str,
    result: str,
    *,
    like: Callable[..., Any] | None = None,
    returns: str = "Tensor",
    out: bool = False,
    methods: str = "",
) -> Callable[..., Any]:
    """`function` as the public function `name`: `about` it, and what the lines of `example` show.

    It has the arguments of `like`, if that is given. `returns` is the type of what it gives; `out`
    and `methods` are as for `public`.
    """
    shown = like or function
    if not shown.__annotations__:
        shown.__annotations__ = {**types(shown), "return": returns}
    function.__signature__ = inspect.signature(shown)  # type: ignore[attr-defined]
    function.parameters = parameters_of(shown)  # type: ignore[attr-defined]
    lines = [f">>> {line}" for line in example.splitlines()] + result.splitlines()
    doc = "\n    ".join([f"{about}\n", *lines, ""])
    return public(out=out, methods=methods)(titled(function, name, doc))

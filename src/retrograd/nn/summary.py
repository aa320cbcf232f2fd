"""`summary`: the layers of a model with the shapes of their outputs and the sizes of their state.

NOTE [Summary]
1. A copy of the model runs, in the mode and with the hooks that the model has, on copies of the
   inputs. So whatever a call changes, buffers or a lazy layer's class, is changed in the copy.
2. A layer has the parameters and buffers that it registers itself, not those of its children. A
   tensor that several layers have counts for the first, and a layer in several places is one row,
   so columns add up to the totals.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import pytree
from ..engine.tensor import Tensor
from ..ops.random.generator import fork_rng
from .modules.module import Module
from .parameter import is_lazy

__all__ = ["Layer", "Summary", "summary"]

HEAD = ("layer", "output", "parameters", "trainable", "bytes")


@dataclass(frozen=True)
class Layer:
    """A row of a summary: NOTE [Summary], 2.

    `output` is what the last of `calls` calls returned, with a tuple of sizes for each tensor and
    the name of its type for anything else but None; None for a layer that was not called.
    """

    name: str
    kind: str
    output: Any
    calls: int
    parameters: int
    trainable: int
    bytes: int


@dataclass(frozen=True, repr=False)
class Summary:
    """The layers of a model, in the order of `named_modules()`; it prints as a table.

    `parameters` and `trainable` count elements, a complex number as one; `bytes` are those of
    parameters and buffers.
    """

    layers: tuple[Layer, ...]

    @property
    def parameters(self) -> int:
        """How many elements the parameters have."""
        return sum(layer.parameters for layer in self.layers)

    @property
    def trainable(self) -> int:
        """How many elements the parameters that require grad have."""
        return sum(layer.trainable for layer in self.layers)

    @property
    def bytes(self) -> int:
        """The bytes of all parameters and buffers."""
        return sum(layer.bytes for layer in self.layers)

    def __repr__(self) -> str:
        totals = self.parameters, self.trainable, self.bytes
        rows = [HEAD, *map(row, self.layers), ("total", "", *map("{:,}".format, totals))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([*map(str.ljust, cells[:2], widths), *map(str.rjust, cells[2:], widths[2:])])
            for cells in rows
        ]
        rule = "-" * len(lines[0])
        return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])


def row(layer: Layer) -> tuple[str, ...]:
    """The cells of a layer, which is indented by its depth."""
    outer, _, own = layer.name.rpartition(".")
    depth = bool(layer.name) + bool(outer) + outer.count(".")
    label = f"{'  ' * depth}{own}: {layer.kind}" if own else layer.kind
    output = str(layer.output) if layer.calls else "not called"
    times = f" x{layer.calls}" if layer.calls > 1 else ""
    numbers = layer.parameters, layer.trainable, layer.bytes
    return label, output + times, *map("{:,}".format, numbers)


def summary(model: Module, /, *args: Any, **kwargs: Any) -> Summary:
    """A table of the layers of `model(*args, **kwargs)`, with shapes and sizes.

    Arguments: whatever the model takes, of any shapes and dtypes. The model, the inputs and the
    default random stream stay as they are, for a copy runs, in the mode that the model is in; hooks
    on it run too. A model on the device "meta", called with inputs there, computes nothing. Raises
    TypeError for what is no module, and whatever the model raises.

    >>> net = rg.nn.Sequential(rg.nn.Linear(3, 8), rg.nn.Tanh(), rg.nn.Linear(8, 1))
    >>> found = rg.summary(net, rg.ones(2, 3))
    >>> found
    layer        output  parameters  trainable  bytes
    -------------------------------------------------
    Sequential   (2, 1)           0          0      0
      0: Linear  (2, 8)          32         32    128
      1: Tanh    (2, 8)           0          0      0
      2: Linear  (2, 1)           9          9     36
    -------------------------------------------------
    total                        41         41    164
    >>> found.parameters, found.layers[1].output
    (41, (2, 8))
    """
    if not isinstance(model, Module):
        raise TypeError(
            f"summary expects a retrograd.nn.Module, but got {type(model).__name__}. Call "
            "retrograd.summary(model, *inputs)"
        )
    copied = copy.deepcopy(model, computed(model))
    outputs: dict[Module, list[Any]] = {module: [] for module in copied.modules()}
    for module, seen in outputs.items():
        module.register_forward_hook(noting(seen))
    args, kwargs = pytree.map_leaves(cloned, (args, kwargs))
    with fork_rng():
        copied(*args, **kwargs)
    counted: set[int] = set()
    names = copied.named_modules()
    return Summary(tuple([layer(name, each, outputs[each], counted) for name, each in names]))


def cloned(leaf: Any) -> Any:
    """An input that a layer may write to."""
    return leaf.clone() if isinstance(leaf, Tensor) else leaf


def computed(model: Module) -> dict[int, Tensor]:
    """Copies, by identity, of tensors with history that modules hold: `deepcopy` refuses those."""
    held = [
        value
        for module in model.modules()
        for value in (*vars(module).values(), *module._buffers.values())
    ]
    return {
        id(value): value.clone()
        for value in held
        if isinstance(value, Tensor) and not is_lazy(value) and not value.is_leaf
    }


def noting(seen: list[Any]) -> Callable[[Module, Any, Any], None]:
    """A forward hook that adds to `seen` what a module returns, without its values."""

    def note(module: Module, args: Any, output: Any) -> None:
        seen.append(pytree.map_leaves(described, output))

    return note


def described(leaf: Any) -> Any:
    """A tensor's sizes; the name of the type of anything else but None."""
    if isinstance(leaf, Tensor):
        return tuple(leaf.shape)
    return None if leaf is None else type(leaf).__name__


def layer(name: str, module: Module, seen: list[Any], counted: set[int]) -> Layer:
    """The row of a module; what it holds is entered in `counted`, by identity."""
    parameters = entered(module._parameters, counted)
    held = parameters + entered(module._buffers, counted)
    return Layer(
        name=name,
        kind=module._get_name(),
        output=seen[-1] if seen else None,
        calls=len(seen),
        parameters=sum(each.numel() for each in parameters),
        trainable=sum(each.numel() for each in parameters if each.requires_grad),
        bytes=sum(each.numel() * each.element_size() for each in held),
    )


def entered(table: dict[str, Any], counted: set[int]) -> list[Any]:
    """The tensors of a table that have a shape and were not in `counted` before."""
    found = []
    for tensor in table.values():
        if tensor is not None and not is_lazy(tensor) and id(tensor) not in counted:
            counted.add(id(tensor))
            found.append(tensor)
    return found

"""What layers share in their constructors: sizes given as one number, and empty parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...dtypes import dtype
from ..parameter import Parameter, empty

__all__ = ["consume_prefix_in_state_dict_if_present", "empty", "empty_parameter", "ntuple"]


def ntuple(value: Any, size: int) -> tuple[Any, ...]:
    """A sequence as a tuple, or one value repeated `size` times."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * size


def _ntuple(size: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """PyTorch's `ntuple`, as a function for one size."""

    def parse(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else (value,) * size

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(sizes: Any, times: int) -> tuple[Any, ...]:
    """The last of `sizes` first, each so many times."""
    return tuple(size for size in reversed(sizes) for _ in range(times))


def empty_parameter(shape: tuple[int, ...], place: Any, dtype: dtype | None) -> Parameter:
    """An uninitialized parameter, for the layer to draw."""
    return Parameter(empty(shape, place, dtype))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names of a state, in place: "module." of what a wrapper saved.

    Names without it stay. The versions of layers that a state keeps beside its tensors follow; that
    of the wrapped module becomes the outermost.

    >>> state = {"module.weight": rg.zeros(2), "steps": rg.tensor(3)}
    >>> rg.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['steps', 'weight']
    """
    for name in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[name.removeprefix(prefix)] = state_dict.pop(name)
    versions = getattr(state_dict, "_metadata", {})  # by modules, whose names end without a dot
    for name in [name for name in versions if f"{name}.".startswith(prefix)]:
        versions[f"{name}.".removeprefix(prefix)[:-1]] = versions.pop(name)

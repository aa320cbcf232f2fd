"""`torch.onnx.symbolic_helper`: what marks functions for PyTorch's older exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parse_args"]

F = TypeVar("F", bound="Callable[..., object]")


def parse_args(*arg_descriptors: str) -> Callable[[F], F]:
    """Say what the arguments of a function are, to an exporter that is not here: it stays as it is.

    >>> from retrograd.onnx.symbolic_helper import parse_args
    >>> parse_args("v", "f")(max) is max
    True
    """
    return lambda function: function

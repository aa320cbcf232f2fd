"""What anomaly mode adds to a backward pass: an error for NaN, and where the forward ran."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Node

__all__ = ["check_nan", "warned"]


def check_nan(node: Node, shares: Sequence[Any]) -> None:
    """Raise if the formulas of `node` gave NaN."""
    for index, c in enumerate(shares):
        if c is None:
            continue
        array = c._array if isinstance(c, Tensor) else np.asarray(c)
        if np.isnan(array).any():
            warned(node)
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {index}th output. "
                f"{forward_trace(node)}"
            )


def warned(node: Node) -> str:
    """Where the forward of a failing node ran: PyTorch's warning, which error logs may hold."""
    text = f"Error detected in {node.name()}. {forward_trace(node)}"
    warnings.warn(text, UserWarning, stacklevel=2)
    return text


def forward_trace(node: Node) -> str:
    """Where the forward of `node` ran, as far as anomaly mode knows, and what led to that."""
    if node.trace is None:
        return (
            "No forward pass information available. Enable detect anomaly during forward pass for "
            "more information."
        )
    text = f"Traceback of forward call that caused the error:\n{node.trace}"
    parent = node.metadata.get("parent_")
    if parent is not None:  # the node was recorded by a backward pass that creates a graph
        text += f"Previous calculation was induced by {parent.name()}. {forward_trace(parent)}"
    return text

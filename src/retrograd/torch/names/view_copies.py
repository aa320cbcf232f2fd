"""`view_copy`, `permute_copy` and their relatives: what a view function gives, as a copy.

Each is the view, then `clone`: it never shares memory, and its derivative is the view's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...engine.registry import name_node
from ...engine.tensor import Tensor
from ...ops.core.dims import normalize_dim
from ...ops.creation.memory_format import contiguous_format
from ...ops.elementwise.complex import view_as_complex, view_as_real
from ...ops.shape.basic_views import diagonal, narrow, select, unfold
from ...ops.shape.expand import expand, squeeze, unsqueeze
from ...ops.shape.permute import permute, t, transpose
from ...ops.shape.reshape import view
from ...ops.shape.split import split, split_with_sizes, unbind
from ...ops.shape.strided import as_strided
from ...ops.tensor.inspection import strided
from ..tables import older


def sliced(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """The elements from `start` to `end` along a dimension, as a view."""
    return input[(*[slice(None)] * normalize_dim(dim, input.ndim), slice(start, end, step))]


def _view(input: Tensor, size: Any = None, dtype: Any = None) -> Tensor:
    return view(input.contiguous(), size) if dtype is None else view(input, dtype=dtype)


# By name: a view function with the arguments of its copy; those of an example; what that gives.
VIEWS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "alias": (lambda input: alias(input), "x", "[[1, 2], [3, 4]]"),
    "as_strided": (as_strided, "x, (2, 2), (1, 2)", "[[1, 3], [2, 4]]"),
    "detach": (lambda input: input.detach(), "x", "[[1, 2], [3, 4]]"),
    "diagonal": (diagonal, "x", "[1, 4]"),
    "expand": (
        lambda input, size, *, implicit=False: expand(input, size), "x[0], (1, 2)", "[[1, 2]]",
    ),
    "narrow": (narrow, "x, 0, 1, 1", "[[3, 4]]"),
    "permute": (lambda input, dims: permute(input, dims), "x, (1, 0)", "[[1, 3], [2, 4]]"),
    "select": (select, "x, 0, 1", "[3, 4]"),
    "slice": (sliced, "x, 1, 1", "[[2], [4]]"),
    "split": (
        lambda input, split_size, dim=0: split(input, split_size, dim), "x[0], 1", "[[1], [2]]",
    ),
    "split_with_sizes": (split_with_sizes, "x[0], [2, 0]", "[[1, 2], []]"),
    "squeeze": (squeeze, "x[:1]", "[1, 2]"),
    "t": (t, "x", "[[1, 3], [2, 4]]"),
    "transpose": (transpose, "x, 0, 1", "[[1, 3], [2, 4]]"),
    "unbind": (unbind, "x", "[[1, 2], [3, 4]]"),
    "unfold": (
        lambda input, dimension, size, step: unfold(input, dimension, size, step),
        "x[0], 0, 1, 1", "[[1], [2]]",
    ),
    "unsqueeze": (lambda input, dim: unsqueeze(input, dim), "x[0], 1", "[[1], [2]]"),
    "view": (_view, "x, (4,)", "[1, 2, 3, 4]"),
    "view_as_complex": (view_as_complex, "x.float()", "[(1+2j), (3+4j)]"),
    "view_as_real": (view_as_real, "x[0].cfloat()", "[[1.0, 0.0], [2.0, 0.0]]"),
}  # fmt: skip
SEVERAL = ("split", "split_with_sizes", "unbind")  # whose copies are a tuple


def alias(input: Tensor) -> Tensor:
    """A view of all elements."""
    return name_node(input.view_as(input), "AliasBackward0")


def in_order(t: Tensor) -> Tensor:
    """A copy in row-major order, if there is one; its node is called as that of the view."""
    made = t.clone(memory_format=contiguous_format if t.layout is strided else None)
    return name_node(made, f"{t.grad_fn.name()}_copy") if t.grad_fn is not None else made


def copied(name: str, view: Callable[..., Any], arguments: str, shown: str) -> Any:
    """The public function that copies what the view function called `name` gives."""

    def copy(*args: Any, **kwargs: Any) -> Any:
        found = view(*args, **kwargs)
        if name in SEVERAL:
            return tuple(map(in_order, found))
        made = in_order(found)
        return name_node(made, "NarrowCopyBackward0") if name == "narrow" else made

    call = f"rg.{name}_copy({arguments})"
    return older(
        f"{name}_copy",
        copy,
        f"What `{name}` gives, as a copy, with the same errors. Source: PyTorch's `{name}_copy`.",
        "x = rg.tensor([[1, 2], [3, 4]])\n"
        + (f"[copy.tolist() for copy in {call}]" if name in SEVERAL else f"{call}.tolist()"),
        shown,
        like=inspect.unwrap(view),
        returns="Any" if name in SEVERAL else "Tensor",
        out=True,
        methods="narrow_copy" if name == "narrow" else "",
    )


globals().update({f"{name}_copy": copied(name, *row) for name, row in VIEWS.items()})
__all__ = [f"{name}_copy" for name in VIEWS]

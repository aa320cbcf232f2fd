"""Tensors without data that are like another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...engine.naming import check_neutral
from ...engine.placement import CPU, default
from ...engine.tensor import Tensor, new_tensor
from ...kernels.allocation import empty_beside, fill_uninitialized, has_memory
from ..core.arguments import titled
from ..tensor.inspection import check_tensor
from .factories import constant, zeros
from .from_data import check_dtype, empty_on, finish, where_of
from .memory_format import arranged

__all__ = ["empty_like", "full_like", "ones_like", "zeros_like"]


def _like(make: Any, input: Tensor, settings: tuple[Any, ...], name: str) -> Tensor:
    dtype, device, requires_grad, memory_format, layout = settings
    array = check_tensor(input, name)._array
    if layout is not None and layout is not input.layout:
        return _laid_out(make, input, settings, name)
    if device is None and array.__class__ is np.ndarray and default.device is CPU:
        return _made(make, array, (dtype, requires_grad, memory_format), name)
    with where_of(input.device if device is None else device) as where:
        return _made(make, empty_on(array, where), (dtype, requires_grad, memory_format), name)


def _laid_out(make: Any, input: Tensor, settings: tuple[Any, ...], name: str) -> Tensor:
    """What is like a tensor of another layout: zeros alone."""
    dtype, device, requires_grad, _, layout = settings
    if make not in ZEROS:
        check_neutral(name, "layout", layout)
    where, kind = device or input.device, dtype or input.dtype
    made = zeros(input.shape, dtype=kind, device=where, layout=layout)
    return made.requires_grad_() if requires_grad else made


def _made(make: Any, array: Any, settings: tuple[Any, ...], name: str) -> Tensor:
    dtype, requires_grad, memory_format = settings
    target = array.dtype if dtype is None else check_dtype(dtype, name)
    if not has_memory(array):
        made = array.zeroed(target) if make in ZEROS else None
        if made is not None:
            return finish(made, requires_grad)
        made = make(np.empty(array.shape, array.dtype), target)
        return finish(array.around(new_tensor(made)), requires_grad)
    made = make(empty_beside(array) if 0 in array.strides else array, target)
    if memory_format is not None:
        made = arranged(made, memory_format)
    return finish(made, requires_grad)


def _maker(name: str, doc: str, make: Callable[..., Any]) -> Callable[..., Tensor]:
    def made(
        input: Tensor,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        layout: Any = None,
    ) -> Tensor:
        settings = (dtype, device, requires_grad, memory_format, layout)
        return _like(make, input, settings, name)

    return titled(made, name, doc)


def _unwritten(*like: Any) -> Any:
    return fill_uninitialized(np.empty_like(*like))


zeros_like = _maker(
    "zeros_like",
    """Zeros of the shape and, unless `dtype` is given, the dtype of `input`.

    The elements lie in memory in the order of those of `input`, or in that of `memory_format`. Of
    a sparse tensor they are no entries; `layout` chooses another layout, sparse or `strided`.

    >>> rg.zeros_like(rg.tensor([1, 2]))
    tensor([0, 0])
    """,
    np.zeros_like,
)

ones_like = _maker(
    "ones_like",
    """Ones of the shape and, unless `dtype` is given, the dtype of `input`.

    >>> rg.ones_like(rg.tensor([5, 6]))
    tensor([1, 1])
    """,
    np.ones_like,
)

empty_like = _maker(
    "empty_like",
    """A tensor like `input` whose values are not set.

    >>> rg.empty_like(rg.tensor([[5, 6]])).shape
    retrograd.Size([1, 2])
    """,
    _unwritten,
)

ZEROS = (np.zeros_like, _unwritten)  # what there is of sparse tensors, without entries


def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    layout: Any = None,
) -> Tensor:
    """A tensor like `input` with every element `fill_value`, as for `full`.

    >>> rg.full_like(rg.tensor([1.0, 2.0]), 7)
    tensor([7., 7.])
    """

    def make(array: Any, target: Any) -> Any:
        return np.full_like(array, constant(fill_value, target, "full_like"), target)

    settings = (dtype, device, requires_grad, memory_format, layout)
    return _like(make, input, settings, "full_like")

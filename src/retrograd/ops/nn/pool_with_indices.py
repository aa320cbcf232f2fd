"""Max pooling that always returns indices, under the names that PyTorch has for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ...engine.tensor import Tensor
from ..core.arguments import titled
from . import adaptive_pool, pool

__all__ = ["adaptive_max_pool1d", "max_pool1d_with_indices"]

ABOUT = """`{plain}` that returns the indices of the maxima too.

    Arguments, shapes and errors are as there; `return_indices` makes no difference.

    >>> values, indices = rg.nn.functional.{plain}_with_indices(rg.ones({shape}), 1)
    >>> values.shape == indices.shape
    True
    """


def _with_indices(
    plain: Callable[..., Any], place: int, shape: str, name: str = ""
) -> Callable[..., Any]:
    """`plain` with its argument number `place`, `return_indices`, always true."""

    def pooled(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        kwargs["return_indices"] = True
        return plain(input, *args[: place - 1], **kwargs)  # type: ignore[no-any-return]

    shown = inspect.signature(plain).replace(return_annotation="tuple[Tensor, Tensor]")
    pooled.__signature__ = shown  # type: ignore[attr-defined]
    doc = ABOUT.format(plain=plain.__name__, shape=shape)
    return titled(pooled, name or f"{plain.__name__}_with_indices", doc)


max_pool1d_with_indices = _with_indices(pool.max_pool1d, 6, "1, 2, 3")
max_pool2d_with_indices = _with_indices(pool.max_pool2d, 6, "1, 2, 3, 3")
max_pool3d_with_indices = _with_indices(pool.max_pool3d, 6, "1, 2, 3, 3, 3")
adaptive_max_pool1d_with_indices = _with_indices(adaptive_pool.adaptive_max_pool1d, 2, "1, 2, 3")
adaptive_max_pool2d_with_indices = _with_indices(adaptive_pool.adaptive_max_pool2d, 2, "1, 2, 3, 3")
adaptive_max_pool3d_with_indices = _with_indices(
    adaptive_pool.adaptive_max_pool3d, 2, "1, 2, 3, 3, 3"
)
adaptive_max_pool1d = _with_indices(
    adaptive_pool.adaptive_max_pool1d, 2, "1, 2, 3", "adaptive_max_pool1d"
)  # without the indices: nn.functional

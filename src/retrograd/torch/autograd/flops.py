"""How many floating-point operations the products of a record take, each addition one.

Products of matrices, convolutions and attention are counted; all else is counted as nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["flops_of"]


def product(x: Any, w: Any, *rest: Any, **params: Any) -> int:
    """Those of a product over the last dimension of `x`: (*, m, k) with (*, k, n), or (n, k)."""
    if x.ndim < 2 or w.ndim < 2:
        return 0
    before = max(math.prod(x.shape[:-2]), math.prod(w.shape[:-2]))
    columns = w.size // math.prod(w.shape[:-2]) // x.shape[-1] if w.size else 0
    return int(2 * before * x.shape[-2] * x.shape[-1] * columns)


def attention(packed: Any, *rest: Any, rows: int, **params: Any) -> int:
    """Those of scores and of weighted values."""
    *before, length, width = packed.shape
    return int(4 * math.prod(before) * rows * (length - rows) // 2 * width)


COUNTS: dict[str, Callable[..., int]] = {
    "attention": attention,
    "linear": product,
    "matmul": product,
    "mm": product,
}


def flops_of(name: str, arrays: Any, params: dict[str, Any], results: Any) -> int:
    """Those of a record's call, by its name.

    >>> from retrograd.autograd.flops import flops_of
    >>> flops_of("mm", (np.ones((2, 3)), np.ones((3, 4))), {}, None)
    48
    """
    if name in ("conv", "conv_input"):  # the side that has `weight`'s first dimension
        small = (results if name == "conv" else arrays[0]).shape
        return int(2 * small[0] * math.prod(small[2:]) * arrays[1].size)
    return COUNTS[name](*arrays, **params) if name in COUNTS else 0

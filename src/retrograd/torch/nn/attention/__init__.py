"""PyTorch's choice between kernels of attention, and attention by functions of positions.

There is one kernel for each case here: what `sdpa_kernel` chooses changes no result beyond
rounding, so it is checked, and shown by the switches in `backends.cuda`.
"""

from __future__ import annotations

import enum
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]

switches = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels of `scaled_dot_product_attention`, by its numbers."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    __str__ = enum.Enum.__str__


@contextmanager
def switched(held: Any, **settings: Any) -> Iterator[None]:
    """A context, or decorator, in which some of the switches that are held are others."""
    before = {name: held[name] for name in settings}
    held.update(settings)
    try:
        yield
    finally:
        held.update(before)


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | list[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """A context in which PyTorch uses these kernels only; here there is one, which goes on.

    Raises TypeError for what is no backend.

    >>> from retrograd.nn.attention import SDPBackend, sdpa_kernel
    >>> q = rg.ones(1, 2)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     rg.nn.functional.scaled_dot_product_attention(q, q, q)
    tensor([[1., 1.]])
    """
    given = backends if isinstance(backends, list) else [backends]
    if not given or not all(isinstance(each, SDPBackend) for each in given):
        raise TypeError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, but got "
            f"{backends!r}"
        )
    with switched(
        switches,
        flash=SDPBackend.FLASH_ATTENTION in given,
        math=SDPBackend.MATH in given,
        mem_efficient=SDPBackend.EFFICIENT_ATTENTION in given,
        cudnn=SDPBackend.CUDNN_ATTENTION in given,
    ):
        yield

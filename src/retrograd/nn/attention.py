"""PyTorch's choice among kernels of attention: `torch.nn.attention`; here there is one."""

from __future__ import annotations

import contextlib
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """The kernels of PyTorch's `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Within this context or decorated function, attention may use these kernels: changes nothing.

    The one kernel computes what each of PyTorch's does. Raises AssertionError where `backends` is
    neither an `SDPBackend` nor a list of such.

    >>> q = rg.ones(1, 2, 4)
    >>> with rg.nn.attention.sdpa_kernel(rg.nn.attention.SDPBackend.MATH):
    ...     rg.nn.functional.scaled_dot_product_attention(q, q, q).shape
    retrograd.Size([1, 2, 4])
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, list) or not all(isinstance(each, SDPBackend) for each in given):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend")
    yield

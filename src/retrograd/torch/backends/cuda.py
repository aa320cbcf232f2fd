"""Switches of CUDA's libraries."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING

from ..nn.attention import SDPBackend, switched, switches  # noqa: F401 (PyTorch has it here)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
    "enable_mem_efficient_sdp", "flash_sdp_enabled", "is_built", "is_flash_attention_available",
    "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "sdp_kernel",
]  # fmt: skip


matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built() -> bool:
    """False: arrays are NumPy's."""
    return False


def is_flash_attention_available() -> bool:
    """False: there is one kernel of attention, on the cpu."""
    return False


def _switch(kernel: str) -> tuple[Callable[[], bool], Callable[[bool], None]]:
    """Two functions that read and write the switch of a kernel of attention."""

    def read() -> bool:
        """Whether programs have left this kernel of attention switched on.

        >>> rg.backends.cuda.flash_sdp_enabled()
        True
        """
        return switches[kernel]

    def write(enabled: bool) -> None:
        """Switch this kernel of attention on or off, which changes no result here."""
        switches[kernel] = bool(enabled)

    read.__name__, write.__name__ = f"{kernel}_sdp_enabled", f"enable_{kernel}_sdp"
    return read, write


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
math_sdp_enabled, enable_math_sdp = _switch("math")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")


@contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[None]:
    """The older form of `nn.attention.sdpa_kernel`, with a FutureWarning.

    >>> import warnings
    >>> warnings.simplefilter("ignore", FutureWarning)
    >>> with rg.backends.cuda.sdp_kernel(enable_math=False):
    ...     rg.backends.cuda.math_sdp_enabled()
    False
    """
    warnings.warn(
        "backends.cuda.sdp_kernel() is deprecated. Write nn.attention.sdpa_kernel(backends)",
        FutureWarning,
        stacklevel=3,
    )
    with switched(
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    ):
        yield

"""Switches of CUDA's libraries."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..nn.attention import SDPBackend, switched, switches  # noqa: F401 (PyTorch has it here)
from ..tables import define

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ..tables import Table

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def switch(kernel: str) -> Table:
    """Two functions that read and write the switch of a kernel of attention."""
    return {
        f"{kernel}_sdp_enabled": (
            lambda: switches[kernel],
            "Whether programs have left this kernel of attention switched on.",
        ),
        f"enable_{kernel}_sdp": (
            lambda enabled: switches.update({kernel: bool(enabled)}),
            "Switch this kernel of attention on or off, which changes no result here.",
        ),
    }


FUNCTIONS: dict[str, Any] = {
    "is_built": (lambda: False, "False: arrays are NumPy's."),
    "is_flash_attention_available": (lambda: False, "False: there is one kernel of attention."),
    **{name: row for kernel in switches for name, row in switch(kernel).items()},
}
define(globals(), FUNCTIONS)
__all__ = list(FUNCTIONS)
__all__ += ["matmul", "sdp_kernel"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...  # the functions of the table


def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> AbstractContextManager[None]:
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
        stacklevel=2,
    )
    return switched(
        switches,
        flash=enable_flash,
        math=enable_math,
        mem_efficient=enable_mem_efficient,
        cudnn=enable_cudnn,
    )

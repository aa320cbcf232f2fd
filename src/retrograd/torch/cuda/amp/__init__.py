"""Mixed precision by its older names for a GPU: turned off with a warning, as there is none.

>>> issubclass(rg.cuda.amp.autocast, rg.amp.autocast)
True
"""

from __future__ import annotations

from typing import Any

from ... import amp
from ...amp.older import older, warn_older
from ....dtypes import float16
from ...tables import module

__all__ = [
    "GradScaler", "amp_definitely_not_available", "autocast", "common", "custom_bwd", "custom_fwd",
]  # fmt: skip


common = module(
    f"{__name__}.common",
    "Whether there is a device for `cuda.amp`.",
    {
        "amp_definitely_not_available": (
            lambda: True,
            "Whether nothing can be cast for a GPU: so it is.",
        )
    },
)
amp_definitely_not_available = common.amp_definitely_not_available
autocast, GradScaler = older("cuda", float16, __name__)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`amp.custom_fwd` for "cuda", by the older name."""
    warn_older("cuda", "custom_fwd")
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`amp.custom_bwd` for "cuda", by the older name."""
    warn_older("cuda", "custom_bwd")
    return amp.custom_bwd(bwd, device_type="cuda")

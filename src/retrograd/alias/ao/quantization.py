"""`torch.ao.quantization`: where a model would be quantized; there are no such dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...nn.modules.module import Module
from ...ops.compat.missing import reason

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["DeQuantStub", "QuantStub"]


class Stub(Module):
    """The identity, as in a model that is not quantized."""

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        """The input."""
        return x


class QuantStub(Stub):
    """Where a model's values would become quantized: the identity.

    >>> from retrograd.alias.ao.quantization import QuantStub
    >>> QuantStub()(rg.ones(2))
    tensor([1., 1.])
    """


class DeQuantStub(Stub):
    """Where a model's values would become floating again: the identity."""


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{reason('quantize')}", name=name
    )

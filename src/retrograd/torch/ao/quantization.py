"""`torch.ao.quantization`: where a model would be quantized; there are no such dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...nn.modules.module import Module
from ..names.missing import reason

if TYPE_CHECKING:
    from ...engine.tensor import Tensor

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QuantStub"]


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

    >>> from retrograd.ao.quantization import QuantStub
    >>> QuantStub()(rg.ones(2))
    tensor([1., 1.])
    """


class DeQuantStub(Stub):
    """Where a model's values would become floating again: the identity."""


class ObserverBase(Module):
    """The class of modules that watch values to be quantized: no module is one.

    >>> from retrograd.ao.quantization import ObserverBase
    >>> isinstance(rg.nn.Linear(1, 1), ObserverBase)
    False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}() is not here{reason('quantize')}")


class FakeQuantizeBase(ObserverBase):
    """The class of modules that round values as if quantized: no module is one."""


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{reason('quantize')}", name=name
    )

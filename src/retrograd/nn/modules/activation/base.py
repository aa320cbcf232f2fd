"""What activations share: the settings, and what is shown of them."""

from __future__ import annotations

from collections.abc import Callable

from ....engine.tensor import Tensor
from ..module import Module

__all__: list[str] = []


class _Activation(Module):
    """A function with `settings`: the names of attributes that it takes by the same keyword."""

    settings: tuple[str, ...] = ()
    function: Callable[..., Tensor]

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise unless the class says otherwise."""
        return self.function(input, **{name: getattr(self, name) for name in self.settings})

    def extra_repr(self) -> str:
        """The settings; `inplace` only if set."""
        shown = [
            f"{name}={getattr(self, name)}"
            for name in self.settings
            if name != "inplace" or getattr(self, name)
        ]
        return ", ".join(shown)


class _Plain(_Activation):
    """An activation without settings."""

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise."""
        return self.function(input)


class _InPlace(_Activation):
    """An activation whose only setting is whether it writes its input in place."""

    settings: tuple[str, ...] = ("inplace",)

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of `input`, elementwise."""
        return self.function(input, inplace=True) if self.inplace else self.function(input)

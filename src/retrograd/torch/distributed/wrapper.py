"""A module in another one that does something around its forward."""

from __future__ import annotations

from typing import Any, ClassVar

from ...nn import Module
from ...nn.state import by_position

__all__ = ["Wrapper"]


class Wrapper(Module):
    """A module that has the attributes and the state of the one in it, called `inside` there."""

    inside: ClassVar[str]

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.add_module(self.inside, module)

    @property
    def _inner(self) -> Any:
        return self._modules[self.inside]

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") and self.inside not in self.__dict__.get("_modules", ()):
                raise
            return getattr(self._inner, name)

    def __getitem__(self, key: Any) -> Any:
        return self._inner[key]

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """The state of the module inside, by its names."""
        if args:
            destination, prefix, keep_vars = by_position(args, destination, prefix, keep_vars)
        return self._inner.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for key in [key for key in state_dict if key.startswith(prefix)]:
            place = f"{prefix}{self.inside}.{key[len(prefix) :]}"
            state_dict[place] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)

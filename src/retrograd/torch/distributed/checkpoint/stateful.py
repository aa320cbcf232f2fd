"""Objects that checkpoints hold by their state."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """What has `state_dict()` and `load_state_dict(state_dict)`: a checkpoint holds the state.

    >>> from retrograd.distributed.checkpoint import Stateful
    >>> isinstance(rg.nn.Linear(1, 1), Stateful), isinstance({}, Stateful)
    (True, False)
    """

    def state_dict(self) -> dict[str, Any]:
        """The state, of tensors, DTensors and plain data."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state again."""
        ...

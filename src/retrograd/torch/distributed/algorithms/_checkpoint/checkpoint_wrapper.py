"""Modules whose forward is computed again in the backward pass, as wrappers of them."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from .....utils.checkpoint import checkpoint
from ...wrapper import Wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .....nn import Module

__all__ = [
    "CheckpointImpl",
    "CheckpointWrapper",
    "apply_activation_checkpointing",
    "checkpoint_wrapper",
]


class CheckpointImpl(Enum):
    """Which way of `utils.checkpoint` is taken."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


class CheckpointWrapper(Wrapper):
    """A module whose forward is computed again in the backward pass; its state's names stay.

    Other arguments are those of `utils.checkpoint`.

    >>> from retrograd.distributed.algorithms._checkpoint.checkpoint_wrapper import *
    >>> net = checkpoint_wrapper(rg.nn.Linear(3, 2))
    >>> list(net.state_dict()), net(rg.ones(1, 3)).shape
    (['weight', 'bias'], retrograd.Size([1, 2]))
    """

    inside = "_checkpoint_wrapped_module"

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        again = checkpoint_impl is CheckpointImpl.REENTRANT
        self._run = partial(
            checkpoint_fn or partial(checkpoint, use_reentrant=again), **checkpoint_fn_kwargs
        )

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self._run(self._inner, *args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters and their names, which are those of the module."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{self.inside}.", ""), parameter


checkpoint_wrapper = CheckpointWrapper  # PyTorch's function that makes one


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: None = None,
) -> None:
    """Wrap the modules inside that `check_fn` wants, innermost first, in place.

    >>> from retrograd.distributed.algorithms._checkpoint.checkpoint_wrapper import *
    >>> net = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.ReLU())
    >>> apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, rg.nn.Linear))
    >>> type(net[0]).__name__, type(net[1]).__name__
    ('CheckpointWrapper', 'ReLU')
    """
    for name, child in model.named_children():
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))

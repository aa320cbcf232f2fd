"""Modules whose forward is computed again in the backward pass, by PyTorch's private name."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from .....utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from .....nn import Module

__all__ = ["CheckpointImpl", "apply_activation_checkpointing", "checkpoint_wrapper"]


class CheckpointImpl(Enum):
    """Which way of `utils.checkpoint` is taken."""

    REENTRANT = auto()
    NO_REENTRANT = auto()


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """Let a module's forward be computed again in the backward pass, in place; returns the module.

    Other arguments are those of `utils.checkpoint`.

    >>> from retrograd.distributed.algorithms._checkpoint.checkpoint_wrapper import *
    >>> net = checkpoint_wrapper(rg.nn.Linear(3, 2))
    >>> list(net.state_dict()), net(rg.ones(1, 3)).shape
    (['weight', 'bias'], retrograd.Size([1, 2]))
    """
    again = checkpoint_impl is CheckpointImpl.REENTRANT
    run = checkpoint_fn or partial(checkpoint, use_reentrant=again)
    module.forward = partial(run, module.forward, **checkpoint_fn_kwargs)  # type: ignore[method-assign]
    return module


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[[Module], Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = lambda _: True,
    auto_wrap_policy: None = None,
) -> None:
    """Let the modules inside that `check_fn` wants be computed again, innermost first, in place.

    >>> from retrograd.distributed.algorithms._checkpoint.checkpoint_wrapper import *
    >>> net = rg.nn.Sequential(rg.nn.Linear(3, 2), rg.nn.ReLU())
    >>> apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, rg.nn.Linear))
    >>> net(rg.ones(1, 3)).shape
    retrograd.Size([1, 2])
    """
    for name, child in model.named_children():
        apply_activation_checkpointing(child, checkpoint_wrapper_fn, check_fn)
        if check_fn(child):
            setattr(model, name, checkpoint_wrapper_fn(child))

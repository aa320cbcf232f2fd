"""Hooks by which `DistributedDataParallel` exchanges gradients otherwise than by their mean."""

from . import default_hooks

__all__ = ["default_hooks"]

"""Batch normalization under `vmap`: layers that keep no running statistics."""

from __future__ import annotations

from typing import Any

__all__ = ["replace_all_batch_norm_modules_"]


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let every batch normalization in a module use the statistics of its batch, and keep none.

    Running statistics are written in place, which a batch of models cannot do. Returns the module.
    Source: PyTorch's `func.replace_all_batch_norm_modules_`.

    >>> model = rg.nn.Sequential(rg.nn.BatchNorm1d(2))
    >>> rg.func.replace_all_batch_norm_modules_(model)[0].running_mean is None
    True
    """
    for module in root.modules():
        kinds = {kind.__name__ for kind in type(module).__mro__}  # `nn` is above this layer
        if "_BatchNorm" in kinds and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root

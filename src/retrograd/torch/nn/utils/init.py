"""Making a module without spending random numbers on it."""

from __future__ import annotations

import inspect
from typing import Any

from ....ops.random.generator import fork_rng

__all__ = ["skip_init"]


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`module_cls(*args, **kwargs)` whose parameters are not meant to be used before they are set.

    The default generator is left as it was. Raises RuntimeError for what is no module class, or
    takes no `device`. Source: PyTorch's function of this name.

    >>> rg.nn.utils.skip_init(rg.nn.Linear, 5, 1).weight.shape
    retrograd.Size([1, 5])
    """
    if not (isinstance(module_cls, type) and hasattr(module_cls, "state_dict")):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    with fork_rng():
        return module_cls(*args, **kwargs)

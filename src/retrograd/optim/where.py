"""What rules of optimizers choose by, which are run on arrays and on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..ops.stubs import load

__all__ = ["where"]


def where(condition: Any, x: Any, y: Any) -> Any:
    """NumPy's `where` in a rule, which of tensors is a tensor, with a gradient or without."""
    if any(isinstance(each, Tensor) for each in (condition, x, y)):
        return load("where")(condition, x, y)
    return np.where(condition, x, y)

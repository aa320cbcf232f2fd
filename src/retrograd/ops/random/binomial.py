"""Random numbers from binomial distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...engine.dispatch import check_broadcast
from ...engine.tensor import Tensor, new_tensor
from ...quiet import calm
from ..tensor.inspection import check_tensor
from .factories import declare_drawn
from .generator import Generator, or_default

__all__ = ["binomial"]

_drawn = declare_drawn("drawn_binomial", "BinomialBackward0")


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with the probability `prob`; the derivative is 0.

    The two broadcast. Of a probability below 0 or above 1, none or all do; NaN gives NaN. Raises
    ValueError for integer and complex tensors.

    >>> rg.binomial(rg.tensor([3.0, 4.0]), rg.tensor([1.0, 0.0]))
    tensor([3., 0.])
    """
    for name, t in (("count", count), ("prob", prob)):
        array: Any = check_tensor(t, "binomial")._array
        if array.dtype.kind not in "fV":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{dtypes.legacy_name(array.dtype)}"
            )
    check_broadcast(count._array.shape, prob._array.shape, "binomial")
    given = np.broadcast_arrays(*[calm(t._array.astype, np.float64) for t in (count, prob)])
    values = or_default(generator, "binomial").draw("rejected", "binomial", *given)
    array = calm(values.astype, count._array.dtype)
    return _drawn(count.expand(array.shape), new_tensor(array))

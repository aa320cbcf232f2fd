"""Several dimensions made one, and one made several."""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Dimensions `start_dim` to `end_dim` made one; by default all but the batch.

    (N, *) to (N, product of *); any dtype. Raises IndexError for a dimension that is not there.

    >>> rg.nn.Flatten()(rg.ones(2, 3, 4)).shape
    retrograd.Size([2, 12])
    """

    _shown_settings = "start_dim= end_dim="

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """`input` flattened."""
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """Dimension `dim` split into the sizes `unflattened_size`, one of which may be -1.

    (*1, n, *2) to (*1, *unflattened_size, *2); any dtype. Raises TypeError for sizes that are no
    integers, RuntimeError where their product is not n.

    >>> rg.nn.Unflatten(1, (2, -1))(rg.ones(5, 6)).shape
    retrograd.Size([5, 2, 3])
    """

    _shown_settings = "dim= unflattened_size="

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for index, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {index}"
                )
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """`input` with the dimension split."""
        return input.unflatten(self.dim, self.unflattened_size)

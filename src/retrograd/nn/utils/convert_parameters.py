"""Parameters as one flat vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...engine.tensor import Tensor, new_tensor
from ...ops.shape.join import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters, flattened and joined in order; differentiable.

    >>> rg.nn.utils.parameters_to_vector([rg.ones(2, 2), rg.zeros(1)])
    tensor([1., 1., 1., 1., 0.])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the values in `vec`, whose memory they then share.

    Raises TypeError if `vec` is no tensor, RuntimeError if it is too short.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected a Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        stop = start + p._array.size
        if stop > vec._array.size:
            raise RuntimeError(
                f"shape '{list(p.shape)}' is invalid for input of size {vec._array.size - start}: "
                "the vector has fewer elements than the parameters"
            )
        p.data = new_tensor(vec._array[start:stop].reshape(p._array.shape))
        start = stop

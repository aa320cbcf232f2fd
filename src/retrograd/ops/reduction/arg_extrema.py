"""Where the largest and smallest elements are: `argmax` and `argmin`. No derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ..core import batching
from ..core.arguments import public
from ..core.dims import wrap_dim
from .extrema import check_elements, ordered

__all__ = ["argmax", "argmin"]


def place(choose: Any, name: str) -> Any:
    """The forward of `argmax` or `argmin`; `dim` None numbers the elements in C order."""

    def forward(input: Any, *, dim: int | None, keepdim: bool) -> Any:
        if dim is None or input.ndim == 0:
            found = choose(ordered(input, name), None)
            return np.reshape(found, [1] * input.ndim if keepdim else ())
        return choose(ordered(input, name), dim, keepdims=keepdim)

    return forward


_place = {
    name: declare(
        f"{name}(input, *, dim, keepdim)",
        place(choose, name),
        complex=False,
        batch=batching.position(name),
        examples=[example("3x4", dim=1, keepdim=False), example("3", dim=None, keepdim=True)],
    )
    for name, choose in (("argmax", np.argmax), ("argmin", np.argmin))
}


def _arg(name: str, input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    at = None if dim is None else wrap_dim(input, dim)
    if at is not None and input.ndim:
        check_elements(input, (at,), name)
    elif 0 in input.shape:
        raise IndexError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument."
        )
    return _place[name](input, dim=at, keepdim=keepdim)


@public(out=True, methods="argmax")
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first largest element, in C order or along `dim`; int64.

    Of complex numbers that of the largest modulus, unless `by` says otherwise. Raises IndexError
    where there are no elements.

    >>> x = rg.tensor([[1.0, 5.0], [3.0, 2.0]])
    >>> rg.argmax(x), rg.argmax(x, dim=0)
    (tensor(1), tensor([1, 0]))
    """
    return _arg("argmax", input, dim, keepdim)


@public(out=True, methods="argmin")
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index of the first smallest element, in C order or along `dim`; like `argmax`.

    >>> rg.argmin(rg.tensor([[1.0, 5.0], [3.0, 2.0]]), dim=1)
    tensor([0, 1])
    """
    return _arg("argmin", input, dim, keepdim)

"""The order of dimensions: permutations, transposes, adjoints. All are views."""

from __future__ import annotations

import operator
import warnings
from typing import Any

from ...engine.inplace import become_view
from ...engine.registry import OPS, declare, example
from ...engine.tensor import Tensor, method
from ...engine.views import STEPS
from ..core import batching
from ..core.arguments import public
from ..core.dims import integers, normalize_dim, normalize_dims, once
from ..elementwise.complex_parts import conj

__all__ = ["adjoint", "moveaxis", "movedim", "permute", "swapaxes", "swapdims", "t", "transpose"]

NUMBER = "{} is deprecated on 0-D tensors. Leave it away, or write x.conj()."
REVERSED = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
    "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
    "matrices or `x.permute(*range(x.ndim)[::-1])` to reverse the dimensions of a tensor."
)

_permute = declare(
    "permute(input, *, dims)",
    lambda input, *, dims: input.transpose(dims),
    input=lambda xp, g, dims: xp.permute(g, dims=inverse(dims)),
    linear="input",
    view=True,
    batch=batching.permuted,
    examples=[
        example("2x3", dims=(1, 0)),
        example("2x3x4", dims=(2, 0, 1)),
        example("", dims=()),
        example("0x3x2", dims=(1, 2, 0)),
    ],
    doc="""A view with the dimensions in another order.""",
)

_transpose = declare(
    "transpose(input, *, dim0, dim1)",
    lambda input, *, dim0, dim1: input.swapaxes(dim0, dim1) if input.ndim else input[...],
    input=lambda xp, g, dim0, dim1: xp.transpose(g, dim0=dim0, dim1=dim1),
    linear="input",
    view=True,
    examples=[
        example("2x3", dim0=0, dim1=1),
        example("2x3x4", dim0=2, dim1=0),
        example("3", dim0=0, dim1=0),
        example("", dim0=0, dim1=0),
    ],
    doc="""A view with two dimensions exchanged.""",
)

_t = declare(
    "t(input)",
    operator.attrgetter("T"),
    input=lambda xp, g: xp.t(g),
    linear="input",
    view=True,
    batch=batching.transposed,
    examples=["2x3", "3", "", "0x2"],
    doc="""The transpose of a matrix; vectors and 0-d tensors stay as they are. A view.""",
)


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `dims`."""
    places = [0] * len(dims)
    for place, dim in enumerate(dims):
        places[dim] = place
    return tuple(places)


STEPS["permute"] = OPS["permute"]


@public(methods="permute")
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """A view with the dimensions in the order `dims`, each named once.

    Raises RuntimeError where their number differs from the tensor's or one is repeated.

    >>> rg.permute(rg.ones(2, 3, 4), (2, 0, 1)).shape
    retrograd.Size([4, 2, 3])
    """
    order = integers(
        order if dims is None else once(order, dims, "permute", "dims"), "permute", "dims"
    )
    ndim = input._array.ndim
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(order)}".replace("(sparse_coo)", "")
        )
    try:
        order = normalize_dims(order, ndim)
    except RuntimeError:
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {order}") from None
    return _permute(input, dims=order)


@public(methods="transpose")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A view with dimensions `dim0` and `dim1` exchanged.

    >>> rg.transpose(rg.ones(2, 3, 4), 0, -1).shape
    retrograd.Size([4, 3, 2])
    """
    ndim = input._array.ndim
    return _transpose(input, dim0=normalize_dim(dim0, ndim), dim1=normalize_dim(dim1, ndim))


@public(methods="swapaxes")
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """`transpose` under NumPy's name.

    >>> rg.swapaxes(rg.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    return transpose(input, axis0, axis1)


@public(methods="swapdims")
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """`transpose` under another name.

    >>> rg.swapdims(rg.tensor([[1, 2, 3], [4, 5, 6]]), 0, 1)
    tensor([[1, 4],
            [2, 5],
            [3, 6]])
    """
    return transpose(input, dim0, dim1)


@public(methods="t")
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, a view; 0-d and 1-d tensors stay as they are.

    Raises RuntimeError for more dimensions.

    >>> rg.t(rg.ones(2, 3)).shape
    retrograd.Size([3, 2])
    """
    if input._array.ndim > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D. For "
            "batches of matrices write x.mT"
        )
    return _t(input)


def _reversed(self: Tensor) -> Any:
    """The dimensions in reverse order, a view; of a matrix, its transpose."""
    ndim = self._array.ndim
    if ndim > 2:
        warnings.warn(REVERSED, stacklevel=2)
    elif not ndim:
        warnings.warn(NUMBER.format("Tensor.T"), stacklevel=2)
    return _permute(self, dims=tuple(range(self._array.ndim))[::-1])


def _matrices_transposed(self: Tensor) -> Any:
    """The last two dimensions exchanged, a view: `(..., M, N)` becomes `(..., N, M)`."""
    return _turned(self, "tensor.mT")


def _turned(self: Tensor, name: str) -> Any:
    """The last two dimensions exchanged, for the function called `name`; PyTorch takes numbers."""
    ndim = self._array.ndim
    if ndim == 1:
        raise RuntimeError(
            f"{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
        )
    if not ndim:
        warnings.warn(NUMBER.format(name), stacklevel=3)
        return self
    return _transpose(self, dim0=ndim - 2, dim1=ndim - 1)


@public(methods="adjoint")
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions exchanged, and complex elements conjugated: `(..., M, N)`.

    Raises RuntimeError for one dimension.

    >>> rg.adjoint(rg.tensor([[1.0, 2.0]])).shape
    retrograd.Size([2, 1])
    """
    turned: Tensor = _turned(input, "tensor.adjoint()")
    return conj(turned)


def _matrices_hermitian(self: Tensor) -> Any:
    """The last two dimensions exchanged, and complex elements conjugated: `(..., M, N)`."""
    turned: Tensor = _turned(self, "tensor.mH")
    return conj(turned)


def _hermitian(self: Tensor) -> Any:
    """The conjugate transpose of a matrix."""
    ndim = self._array.ndim
    if ndim not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor. For "
            "batches of matrices use x.mH"
        )
    if not ndim:
        warnings.warn(NUMBER.format("Tensor.H"), stacklevel=2)
    turned = _transpose(self, dim0=0, dim1=1) if ndim else _t(self)
    return conj(turned)


def _places(given: Any, ndim: int, argument: str) -> tuple[int, ...]:
    """Dimensions counted from the front, each of them once."""
    found = [
        normalize_dim(dim, ndim)
        for dim in (given if isinstance(given, (tuple, list)) else (given,))
    ]
    if len(set(found)) < len(found):
        raise RuntimeError(f"movedim: repeated dim in `{argument}` ({found})")
    return tuple(found)


@public(methods="movedim")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions `source` moved to `destination`; the others keep their order.

    Both are integers or tuples of the same length; raises RuntimeError otherwise.

    >>> rg.movedim(rg.ones(2, 3, 4), 0, -1).shape
    retrograd.Size([3, 4, 2])
    """
    ndim = input._array.ndim
    old, new = _places(source, ndim, "source"), _places(destination, ndim, "destination")
    if len(old) != len(new):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source ("
            f"{list(old)} dims) should contain the same number of dims as destination "
            f"({list(new)} dims)"
        )
    if not ndim:
        return _permute(input, dims=())
    order = [dim for dim in range(ndim) if dim not in old]
    for place, dim in sorted(zip(new, old, strict=True)):
        order.insert(place, dim)
    return _permute(input, dims=tuple(order))


@public(methods="moveaxis")
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """`movedim` under NumPy's name.

    >>> rg.moveaxis(rg.zeros(2, 3, 4), 0, -1).shape
    retrograd.Size([3, 4, 2])
    """
    return movedim(input, source, destination)


@public(methods="transpose_ swapaxes_ swapdims_")
def transpose_(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions of the tensor itself."""
    ndim = self._array.ndim
    dims = {"dim0": normalize_dim(dim0, ndim), "dim1": normalize_dim(dim1, ndim)}
    step = ("transpose", dims)
    return become_view(self, "transpose_", step, step)


@public(methods="t_")
def t_(self: Tensor) -> Tensor:
    """Transpose the tensor itself, which has at most two dimensions."""
    if self._array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return become_view(self, "t_", ("t", {}), ("t", {}))


method(property(_reversed, doc=_reversed.__doc__), "T")
method(property(_matrices_transposed, doc=_matrices_transposed.__doc__), "mT")
method(property(_hermitian, doc=_hermitian.__doc__), "H")
method(property(_matrices_hermitian), "mH")

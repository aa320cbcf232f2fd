"""Masked tensors: data, and a mask that says which of their elements count.

NOTE [Masked tensors]
1. A masked tensor is a `MaskedTensor`, whose array is `Masked`: the arrays of its data and of its
   mask, both dense, or both sparse with the same places.
2. Three linear records lead in and out. `masked_of` makes a masked array of data, `data_of` takes
   the data, and what is masked out counts as 0 in a cotangent. All else is computed on data (NOTE
   [Layouts] in `layouts.layout`), and the gradient of a masked tensor has its mask.
3. `constructed` makes a masked array, too, but hands its cotangent on as it is, masked: so formulas
   before it may give whatever they like where the mask says that nothing counts (1 / 0).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ....engine.overriding import stands_below
from ....engine.record import finish
from ....engine.registry import declare
from ....engine.saved import on_tensors_from
from ....engine.tensor import Tensor, as_array, new_tensor, set_requires_grad
from ....kernels.allocation import copied
from ....ops.core.pointwise import zero_where
from ....ops.tensor.pickling import attributes, check_whole
from ....quiet import copyto
from ..layout import Layout, sharing
from ..sparse.array import Sparse
from ..sparse.array import rule as sparse_rule
from ..sparse.rules import coalesced, sparse_of, stored, stored_at
from .text import text

if TYPE_CHECKING:
    from ....engine.op import Op

__all__ = [
    "Masked", "MaskedTensor", "as_masked_tensor", "data_of_masked", "is_masked", "is_masked_tensor",
    "mask_of", "masked_tensor", "refused", "with_mask",
]  # fmt: skip

MISMATCH = "Input masks must match. Those of {}() differ: combine them, masked_tensor(data, a & b)"
WITH_HISTORY = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad, whose "
    "history is left out. Write data.detach().clone(), or as_masked_tensor(data, mask), which "
    "keeps it"
)
LAYOUTS = ("strided", "sparse_coo", "sparse_csr")


class Masked(Layout):
    """An array of which the elements count where `mask` is true."""

    __slots__ = ("data", "mask")

    parts = ("data", "mask")
    own = ("masked_of", "data_of", "constructed")
    error = TypeError
    no_rule = (
        "{}(): not implemented for {}: no implementation found on MaskedTensor. Compute on "
        "x.to_tensor(value), where `value` stands for what is masked out"
    )
    has_class = True

    def __init__(self, data: Any, mask: Any) -> None:
        self.data, self.mask = data, as_array(mask)

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: len(self.data.shape))
    size = property(lambda self: self.data.size)
    strides = property(lambda self: self.data.strides)
    itemsize = property(lambda self: self.data.dtype.itemsize)
    nbytes = property(lambda self: self.size * self.itemsize)
    layout = property(lambda self: getattr(self.data, "layout", "strided"))
    value = property(lambda self: new_tensor(self.data))
    flags = property(lambda self: self.data.flags)

    @staticmethod
    def name_of(function: Any) -> str:
        """Functions of `masked` have names apart from those of tensors."""
        own = getattr(function, "__module__", None) == f"{__package__}.functions"
        return f"masked.{function.__name__}" if own else function.__name__

    def copy(self) -> Any:
        """A copy with memory of its own."""
        return self.of(lambda data: data.copy())

    def dense(self) -> Any:
        """The plain array, with 0 for what is masked out."""
        found = visible(self)
        return found.dense() if isinstance(found, Sparse) else found

    def ones(self) -> Tensor:
        """Ones in its place."""
        return self.of(lambda data: each_value(np.ones_like, data)).tensor()  # type: ignore[no-any-return]

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` is masked in the same way: writes keep a mask."""
        if not is_masked(target):
            raise RuntimeError(
                "a masked result cannot be written into a plain tensor. Say what stands for the "
                "elements that are masked out: y.copy_(x.to_tensor(0))"
            )
        if not same(self.mask, target._array.mask):
            raise ValueError(MISMATCH.format("copy_"))

    def stored(self, target: Any) -> Masked:
        """The array of `target`, which gets these values: its data see them, too."""
        if isinstance(self.data, Sparse):
            return self
        copyto(target._array.data, self.data, casting="unsafe")
        return target._array  # type: ignore[no-any-return]

    def around(self, plain: Tensor) -> Masked:
        """A plain tensor with this mask."""
        return Masked(np.broadcast_to(plain._array, self.shape), self.mask)

    def item(self) -> Any:
        """The number that the one element is; ValueError if it is masked out."""
        if not self.mask.item():
            raise ValueError(
                "item(): the element is masked out, so it has no value: expected a mask that is "
                "True. Write x.to_tensor(value).item()"
            )
        return self.data.item()

    def __add__(self, other: Any) -> Masked:  # of cotangents: what counts in one of them counts
        if isinstance(self.data, Sparse):
            return Masked(visible(self) + visible(other), self.mask)
        mask = other.mask if isinstance(other, Masked) else np.True_
        return Masked(visible(self) + visible(other), self.mask | mask)

    __radd__ = __add__

    def __array_ufunc__(self, ufunc: Any, how: str, *args: Any, **options: Any) -> Any:
        if ufunc is not np.add or how != "__call__" or options:
            raise ValueError(str(self.refused(ufunc.__name__)))
        return self + args[args[0] is self]


is_masked, refused = Masked.holds, Masked.refused


def same(a: Any, b: Any) -> bool:
    """Whether two masks say the same of every element; ValueError for other layouts."""
    if isinstance(a, Sparse) and isinstance(b, Sparse):
        places = a.pattern is b.pattern or np.array_equal(a.pattern.indices, b.pattern.indices)
        return a.shape == b.shape and places and np.array_equal(a.values, b.values)
    if isinstance(a, Sparse) or isinstance(b, Sparse):
        kinds = [getattr(each, "layout", "strided") for each in (a, b)]
        raise ValueError(f"`a` and `b` must have the same layout. Got {kinds[0]} and {kinds[1]}")
    return a is b or bool((a == b).all())


def visible(array: Any) -> Any:
    """The data of a cotangent, 0 where it is masked out; what is no masked one as it is."""
    if not isinstance(array, Masked):
        return array
    return each_value(lambda x, kept: np.where(kept, x, x.dtype.type(0)), array.data, array.mask)


def each_value(function: Any, x: Any, *others: Any) -> Any:
    """The result of a function on arrays that are dense, or on the values of sparse ones."""
    if isinstance(x, Sparse):
        return Sparse(function(x.values, *[other.values for other in others]), x.pattern)
    return function(x, *others)


def _shown_data(xp: Any, g: Any, mask: Any) -> Any:
    """The cotangent of data: that of the masked tensor, as `visible` has it, with its history."""
    if not isinstance(g, Tensor):
        return visible(g)
    if not is_masked(g):
        return g
    mask = g._array.mask
    data = data_of(g, mask=mask)
    if not isinstance(mask, Sparse):
        return zero_where(data, new_tensor(~mask))
    kept = zero_where(stored(data), new_tensor(~mask.values))
    return sparse_of(kept, coalesced(data))


def _masked_again(xp: Any, g: Any, mask: Any) -> Any:
    """The cotangent of a masked tensor by that of its data."""
    if is_masked(g) or isinstance(g, Masked):
        return g
    if isinstance(mask, Sparse) and isinstance(g, Tensor) and g.layout.name == "strided":
        g = sparse_of(stored_at(g, mask.pattern), mask.pattern)
    return masked_of(g, mask=mask) if isinstance(g, Tensor) else Masked(g, mask)


masked_of: Any = declare(
    "masked_of(data, *, mask)",
    lambda data, *, mask: Masked(data, mask),
    data=_shown_data,
    linear="data",
    batch=None,
    node_name="MaskedOfBackward0",
    doc="""A masked tensor of data.""",
)

data_of: Any = declare(
    "data_of(input, *, mask)",
    lambda input, *, mask: input.data,
    input=_masked_again,
    linear="input",
    batch=None,
    node_name="GetDataBackward",
    doc="""The data of a masked tensor.""",
)

constructed: Any = declare(
    "constructed(data, *, mask)",
    lambda data, *, mask: Masked(fitted(data, mask), mask),
    data=_masked_again,
    linear="data",
    batch=None,
    node_name="ConstructorBackward",
    doc="""A masked tensor of data, whose cotangent stays masked.""",
)


def _of_sparse(op: Op) -> Any:
    """The rule for a sparse tensor, which is asked before the op's forward runs."""
    return lambda data, **params: finish(op, (data,), op.forward(data._array, **params), params)


sparse_rule("masked_of")(_of_sparse(masked_of.op))
sparse_rule("constructed")(_of_sparse(constructed.op))


class MaskedTensor(Tensor, sees_properties=False):
    """A tensor of which the elements count where a mask is true: NOTE [Masked tensors].

    data, mask: tensors of one shape and layout, strided, `sparse_coo` or `sparse_csr`; the mask of
    booleans. Both are copied. An op takes operands whose masks are the same, and plain tensors.
    Reductions leave out what is masked out; gradients are masked as well. Raises TypeError for what
    is no tensor, a mask of another dtype and other layouts, ValueError for other shapes or places.
    Source: PyTorch's `torch.masked.MaskedTensor`.

    >>> from retrograd.masked import MaskedTensor
    >>> x = MaskedTensor(rg.tensor([1.0, 2.0, 3.0]), rg.tensor([True, False, True]))
    >>> x * 2
    MaskedTensor(
      [  2.0000,       --,   6.0000]
    )
    >>> x.mean().item(), x.to_tensor(0)
    (2.0, tensor([1., 0., 3.]))
    """

    __slots__ = ()

    __torch_function__ = staticmethod(stands_below)  # its array is asked: `Masked.called`

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        """A leaf on copies of data and mask."""
        found = new_tensor(checked(data, mask), cls)
        if data.requires_grad:
            warnings.warn(WITH_HISTORY, UserWarning, stacklevel=2)
        set_requires_grad(found, requires_grad)
        return found  # type: ignore[return-value]

    def get_data(self) -> Tensor:
        """The data, on the same memory where no history is recorded."""
        found: Tensor = data_of_masked(self)
        if found.requires_grad and not isinstance(found._array, Sparse):
            found._array, found._cell = found._array.copy(), None
        return found

    def get_mask(self) -> Tensor:
        """The mask, which is not to be written."""
        mask = self._array.mask
        if isinstance(mask, Sparse):
            return mask_of(self)
        shown = mask.view()
        shown.flags.writeable = False
        return new_tensor(shown)

    def to_tensor(self, value: Any) -> Tensor:
        """The data, dense, with `value` where they are masked out."""
        x: Any = self.to_dense()
        found: Tensor = data_of_masked(x).masked_fill(~mask_of(x), value)
        return found

    def is_sparse_coo(self) -> bool:
        """Whether data and mask are sparse, by coordinates."""
        return self._array.layout == "sparse_coo"  # type: ignore[no-any-return]

    def is_sparse_csr(self) -> bool:  # type: ignore[override]
        """Whether data and mask are sparse, by rows."""
        return self._array.layout == "sparse_csr"  # type: ignore[no-any-return]

    is_sparse = property(lambda self: self._array.layout != "strided")
    _masked_data = property(lambda self: self.get_data().detach())
    _masked_mask = property(get_mask)

    @property
    def grad_fn(self) -> Any:
        """The node of what made the data: the one that wraps them says nothing."""
        own = super().grad_fn
        return own.next_functions[0][0] if own is not None and own.op is masked_of.op else own

    def __reduce_ex__(self, protocol: Any) -> Any:
        check_whole(self, "pickled")
        parts = data_of_masked(self.detach()), mask_of(self), self.requires_grad
        return type(self), parts, attributes(self) or None

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        x: Any = self.to_dense()._array
        return f"MaskedTensor({text(x.data, x.mask)})"


Masked.cls = MaskedTensor


def checked(data: Any, mask: Any) -> Masked:
    """The array of copies of data and mask; raises where they do not fit: `MaskedTensor`."""
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, Tensor) or is_masked(value):
            raise TypeError(
                f"{name} must be a Tensor, not {type(value).__name__}. Write "
                "masked_tensor(data, mask) of two plain tensors"
            )
    if data.layout is not mask.layout:
        raise TypeError(
            "data and mask must have the same layout. Got "
            f"{data.layout} and {mask.layout}: convert the mask, mask.to_sparse()"
        )
    if data.layout.name not in LAYOUTS:
        raise TypeError(f"data layout of {data.layout} is not supported. Write x.to_dense()")
    if mask._array.dtype != np.bool_:
        raise TypeError(f"mask must have dtype bool. Got {mask.dtype}: write mask.bool()")
    if data.ndim != mask.ndim:
        raise ValueError(f"data.dim() must equal mask.dim(). Got {data.ndim} and {mask.ndim}")
    x, m = data._array, mask._array
    if x.shape != m.shape:
        shapes = f"{list(x.shape)} and {list(m.shape)}"
        raise ValueError(f"data.size() must equal mask.size(). Got {shapes}")
    return Masked(fitted(x, m), copied(m) if not isinstance(m, Sparse) else m.merged().copy())


def fitted(data: Any, mask: Any) -> Any:
    """A copy of data at the places of the mask; ValueError for other places of as many entries."""
    if not isinstance(data, Sparse):
        return copied(data)
    own, pattern = data.merged(), mask.merged().pattern
    same_count = own.pattern.count == pattern.count
    if same_count and not np.array_equal(own.pattern.indices, pattern.indices):
        raise ValueError(
            f"data and mask are both {data.layout} tensors but do not have the same indices. Write "
            "data.sparse_mask(mask)"
        )
    return Sparse(own.values.copy() if same_count else own.taken(pattern), pattern)


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor of copies of `data` and `mask`, a leaf: `MaskedTensor(data, mask)`.

    >>> mask = rg.tensor([True, False])
    >>> x = rg.masked.masked_tensor(rg.tensor([1.0, 2.0]), mask, requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    MaskedTensor(
      [  2.0000,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor of `data`, through which gradients flow to them, masked as well.

    What is masked out adds nothing to them, whatever it is.

    >>> x, y = rg.ones(2, requires_grad=True), rg.tensor([0.0, 1.0])
    >>> rg.masked.as_masked_tensor(x / y, y != 0).sum().backward()
    >>> x.grad
    MaskedTensor(
      [      --,   1.0000]
    )
    """
    return construct(data, checked(data, mask).mask)  # type: ignore[no-any-return]


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether an object is a masked tensor.

    >>> rg.masked.is_masked_tensor(rg.ones(2))
    False
    """
    return isinstance(obj, MaskedTensor)


# -- in and out ------------------------------------------------------------------------------------


def with_mask(data: Tensor, mask: Any) -> Any:
    """The masked tensor of these data, on their memory."""
    return masked_of(data, mask=mask)


def construct(data: Tensor, mask: Any) -> Any:
    """The masked tensor of these data, whose cotangent stays masked."""
    found = constructed(data, mask=mask)
    if found._node is not None:
        on_tensors_from(found._node)
    return found


def data_of_masked(x: Tensor) -> Any:
    """The data of a masked tensor, on its memory."""
    return sharing(data_of(x, mask=x._array.mask), x)


def mask_of(x: Tensor) -> Tensor:
    """The mask of a masked tensor, on its memory."""
    return new_tensor(x._array.mask)

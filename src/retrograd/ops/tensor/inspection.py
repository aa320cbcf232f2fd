"""What a tensor says about itself, and how it leaves for Python and NumPy.

Nothing here is recorded: sizes, strides and flags; numbers, lists and arrays; the questions Python
asks an object (`len`, `bool`, `float`, iteration). Changes of dtype are in `conversion`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import dtypes, modes, version
from ...engine.placement import present
from ...engine.tensor import Interpreted, Size, Tensor, Wrapper, has_tangent, method
from ...engine.tensor import device as Device
from ...errors import wrong_type
from ...kernels.allocation import is_valueless
from ...kernels.memory import address, memory
from ...kernels.memory import strided as view_of
from ..core.arguments import public
from ..core.dims import place_of
from ..creation import memory_format as formats

__all__ = [
    "get_device", "is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_same_size",
    "is_signed", "is_tensor", "jagged", "layout", "numel", "sparse_bsc", "sparse_bsr", "sparse_coo",
    "sparse_csc", "sparse_csr", "strided",
]  # fmt: skip

LOSES_HISTORY = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: the "
    "number has no history. Detach the tensor first: float(x.detach())"
)
NO_NUMPY = (
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. What "
    "NumPy computes is not recorded, so the gradient would be lost."
)
NO_NUMPY_META = (
    "can't convert meta device type tensor to numpy: it has a shape, and no values. Make one with "
    "data: empty_like(x, device='cpu')"
)
NO_NUMPY_FORWARD = (
    "Can't call numpy() on Tensor that has a tangent: it is part of a forward derivative. What "
    "NumPy computes is not recorded, so the derivative would be lost. Compute with functions of "
    "retrograd or in an autograd.Function with a jvp; for a constant: tensor.detach().numpy()"
)


class layout:  # noqa: N801 (PyTorch's name)
    """How a tensor lies in memory: `strided`, `jagged` or one of the sparse ones, `sparse_coo`.

    >>> rg.ones(2).layout
    retrograd.strided
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{version.called}.{self.name}"


strided, jagged, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = LAYOUTS = [
    layout(name)
    for name in (
        *("strided", "jagged", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"),
        "sparse_bsc",
    )
]
PARTS = {  # methods that give the parts of a sparse tensor
    sparse_coo: ("_indices", "_values"),
    sparse_csr: ("crow_indices", "col_indices", "values"),
    sparse_csc: ("ccol_indices", "row_indices", "values"),
    sparse_bsr: ("crow_indices", "col_indices", "values"),
    sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


# -- sizes and memory --------------------------------------------------------------------------


def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of dimension `dim`; IndexError where there is no such dimension."""
    if dim is None:
        return Size(self.shape)
    return self.shape[place_of(dim, self.ndim)]


@public(methods="ndimension")
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self.ndim


@public(methods="numel nelement")
def numel(input: Tensor) -> int:
    """The number of elements.

    >>> rg.numel(rg.ones(2, 3))
    6
    """
    return math.prod(check_tensor(input, "numel").shape)


def element_size(self: Tensor) -> int:
    """The bytes of one element."""
    return int(self.dtype.itemsize)


def nbytes(self: Tensor) -> int:
    """The bytes of all elements."""
    return numel(self) * element_size(self)


def stride(self: Tensor, dim: int | None = None) -> Any:
    """The steps in memory, in elements, along each dimension or along `dim`.

    Along a dimension of size 1, in which nobody steps, it is the extent of the next one, as in
    PyTorch. Those of a tensor without elements are as if it were contiguous, or a view of such.
    """
    array = self._array
    if not array.size and not any(array.strides) and self._view_of is not None:
        base = self._view_of.base._array
        array = view_of(base, base.shape, [base.itemsize * n for n in steps(base)])
        for op, params, output in self._view_of.path:
            made = op.forward(array, **params)
            array = made if output is None else made[output]
    found = steps(array)
    return found if dim is None else found[place_of(dim, self.ndim)]


def steps(array: Any) -> tuple[int, ...]:
    """The strides of an array in elements, where NumPy gives 0 for those that nobody needs."""
    found: list[int] = []
    extent = 1
    bare = not array.size and not any(array.strides)
    for size, step in zip(reversed(array.shape), reversed(array.strides), strict=True):
        unknown = bare or (size == 1 and step == 0)
        found.append(extent if unknown else step // array.itemsize)
        extent = max(size, 1) * found[-1]
    return tuple(reversed(found))


def storage_offset(self: Tensor) -> int:
    """The elements between the start of the memory and the tensor's first element."""
    array = self._array
    if is_valueless(array) or isinstance(array, Wrapper):
        return int(array.offset // array.itemsize)
    return (address(array) - address(memory(array))) // int(array.itemsize)


def is_cpu(self: Tensor) -> bool:
    """Whether the memory is the CPU's."""
    return self.device.type == "cpu"


def is_meta(self: Tensor) -> bool:
    """Whether the tensor has a shape and no data."""
    return self.device.type == "meta"


def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 where there is none."""
    return address(self._array) if self._array.size and not is_valueless(self._array) else 0


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory in order, without gaps.

    The order is row-major, or that of `memory_format`; `preserve_format` names none, so row-major.

    >>> rg.ones(2, 3).t().is_contiguous()
    False
    """
    if memory_format is None or memory_format is formats.preserve_format:
        return bool(self._array.flags.c_contiguous)
    formats.check_format(memory_format, memory_format.ndim, "is_contiguous")
    return formats.lies_in(self._array, memory_format)


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both look at the same elements of the same memory in the same way."""
    x, y = self._array, tensor._array
    return x.shape == y.shape and x.strides == y.strides and address(x) == address(y)


# -- kinds -------------------------------------------------------------------------------------


def check_tensor(value: Any, name: str) -> Tensor:
    """`value`, unless it is no tensor: then TypeError, as from the function called `name`."""
    if not isinstance(value, Tensor):
        raise wrong_type(name, "input", "Tensor", value, 1)
    return value


def is_tensor(obj: Any) -> bool:
    """Whether `obj` is a tensor.

    >>> rg.is_tensor(rg.ones(1)), rg.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a real floating one.

    >>> rg.is_floating_point(rg.ones(1)), rg.is_floating_point(rg.tensor(1))
    (True, False)
    """
    return check_tensor(input, "is_floating_point").dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex.

    >>> rg.is_complex(rg.tensor(1j))
    True
    """
    return check_tensor(input, "is_complex").dtype.is_complex


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers.

    >>> rg.is_signed(rg.tensor([1])), rg.is_signed(rg.tensor([1], dtype=rg.uint8))
    (True, False)
    """
    return check_tensor(input, "is_signed").dtype.is_signed


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode.

    >>> with rg.inference_mode():
    ...     x = rg.zeros(2)
    >>> rg.is_inference(x), rg.is_inference(rg.zeros(2))
    (True, False)
    """
    return check_tensor(input, "is_inference")._inference


def is_nonzero(input: Tensor) -> bool:
    """Whether the single element is not zero; RuntimeError for any other number of elements.

    >>> rg.is_nonzero(rg.tensor([0.5]))
    True
    """
    return bool(check_tensor(input, "is_nonzero"))


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both shapes are equal.

    >>> rg.is_same_size(rg.zeros(2, 3), rg.ones(2, 3))
    True
    """
    return check_tensor(input, "is_same_size").shape == other.shape


def get_device(input: Tensor) -> int:
    """The number of the device: -1, which stands for the cpu.

    >>> rg.get_device(rg.zeros(2))
    -1
    """
    return -1


def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor itself, where its memory is here; else, `self.to("cpu")`."""
    here = memory_format is None and not is_valueless(self._array)
    return self if here else self.to("cpu", memory_format=memory_format)


def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Raise AssertionError: there is no such device; RuntimeError for what is none of that kind."""
    found = Device("cuda" if device is None else device)
    if found.type != "cuda":
        raise RuntimeError(
            f"Invalid device, must be cuda device, not {found}. Write x.to('{found}')"
        )
    present(found)
    return self


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: no accelerator reads the memory, so none is pinned."""
    return False


# -- values for Python and NumPy ---------------------------------------------------------------


def item(self: Tensor) -> Any:
    """The single element as a Python number; RuntimeError for any other number of elements.

    >>> rg.tensor([2.5]).item()
    2.5
    """
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar. Reduce it "
            "first (x.sum().item()), or take all of them: x.tolist()"
        )
    return self._array.item()


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; of a 0-d tensor, the number."""
    return self._array.tolist()


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The elements as a NumPy array on the same memory.

    Raises RuntimeError for a tensor that requires grad, unless `force`, or where nothing is
    recorded; so too for one that has a tangent in a forward derivative in progress. Writing to the
    array is not noticed by the version check of saved values.

    >>> x = rg.zeros(2); x.numpy()[0] = 5.0; x
    tensor([5., 0.])
    """
    if self._node is not None and not force and modes.state.records:
        raise RuntimeError(NO_NUMPY)
    if has_tangent(self) and not force:
        raise RuntimeError(NO_NUMPY_FORWARD)
    if self.layout is not strided and not self.is_nested:
        raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.")
    if is_valueless(self._array):
        raise TypeError(NO_NUMPY_META)
    return self._array.view()


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    array = numpy(self)
    if copy:
        return np.array(array, dtype)
    if copy is False and dtype is not None and np.dtype(dtype) != array.dtype:
        raise ValueError(f"a copy is needed to convert a tensor of {self.dtype} to {dtype}")
    return array if dtype is None else array.astype(dtype, copy=False)


def _single(self: Tensor) -> Any:
    if self._array.size != 1:
        raise ValueError(
            "only one element tensors can be converted to Python scalars, this one has shape "
            f"{list(self.shape)}. Reduce it first, or take all elements: x.tolist()"
        )
    return self._array.item()


def _real(self: Tensor, kind: str) -> Any:
    value = _single(self)
    if isinstance(value, complex):
        if value.imag != 0:
            raise RuntimeError(
                f"value cannot be converted to type {kind} without overflow: {value} is not real. "
                "Take x.real or x.abs() first."
            )
        return value.real
    return value


def _warn_of_history(self: Tensor) -> None:
    if self.requires_grad:
        modes.warn_once(LOSES_HISTORY)


def _float(self: Tensor) -> float:
    _warn_of_history(self)
    return float(_real(self, "double"))


def _int(self: Tensor) -> int:
    return int(_real(self, "int64_t"))


def _complex(self: Tensor) -> complex:
    _warn_of_history(self)
    return complex(_single(self))


def _index(self: Tensor) -> int:
    if self._array.size != 1 or dtypes.category(self._array.dtype) > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._array.item())


def _bool(self: Tensor) -> bool:
    if self._array.size != 1:
        which = "more than one value" if self._array.size else "no values"
        raise RuntimeError(
            f"Boolean value of Tensor with {which} is ambiguous. Use x.any() or x.all()."
        )
    return bool(self._array)


def _len(self: Tensor) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


def _iter(self: Tensor) -> Iterator[Tensor]:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, Tensor):
        element = element._array
    elif not isinstance(element, (bool, int, float, complex, np.generic)):
        raise RuntimeError(
            "Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
            f"{type(element)}."
        )
    return bool((self._array == element).any())


def _reversed(self: Tensor) -> Tensor:
    """The rows in the opposite order; a 0-d tensor as it is."""
    return self.flip(0)


METHODS: tuple[Any, ...] = (
    *(size, dim, element_size, stride, storage_offset, data_ptr, is_contiguous, is_set_to),
    *(is_complex, is_floating_point, is_signed, is_nonzero, is_same_size),
    *(get_device, cpu, cuda, item, tolist, numpy),
)
for function in METHODS:
    method(function)
method(is_pinned)
method(_array, "__array__")
method(_float, "__float__")
method(_int, "__int__")
method(_complex, "__complex__")
method(_index, "__index__")
method(_bool, "__bool__")
method(_len, "__len__")
method(_iter, "__iter__")
method(_contains, "__contains__")
method(_reversed, "__reversed__")


def _layout(self: Tensor) -> layout:
    """How the tensor lies in memory."""
    array = self._array
    sparse = isinstance(array, Interpreted) and hasattr(type(array), "layout")
    return next(each for each in LAYOUTS if each.name == array.layout) if sparse else strided


def _is_sparse(self: Tensor) -> bool:
    """Whether the tensor is sparse, by coordinates."""
    return _layout(self) is sparse_coo


def _is_sparse_csr(self: Tensor) -> bool:
    """Whether the tensor is a sparse matrix by rows."""
    return _layout(self) is sparse_csr


def _cdata(self: Tensor) -> int:
    """A number that tells one tensor from another while both live."""
    return id(self)


FIXED: dict[str, Any] = {
    "__array_priority__": 1000,
    "is_cpu": property(is_cpu),
    "is_meta": property(is_meta),
    "layout": property(_layout),
    "is_sparse": property(_is_sparse),
    "is_sparse_csr": property(_is_sparse_csr),
    "nbytes": property(nbytes),
    "itemsize": property(element_size),
    "_cdata": property(_cdata),
}
ABSENT = "cuda ipu maia mkldnn mps mtia nested quantized vulkan xla xpu"
for name in ABSENT.split():
    FIXED[f"is_{name}"] = False
for name, value in FIXED.items():
    method(value, name)

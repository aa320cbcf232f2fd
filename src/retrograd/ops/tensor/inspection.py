"""What a tensor says about itself: sizes, strides and flags. Nothing here is recorded.

How it leaves for Python and NumPy is in `values`, changes of dtype are in `conversion`.
"""

from __future__ import annotations

import math
from typing import Any

from ... import version
from ...engine.overriding import IGNORED, named_in
from ...engine.placement import as_device
from ...engine.tensor import Size, Tensor, method
from ...engine.tensor import device as Device
from ...errors import wrong_type
from ...kernels.allocation import has_memory, has_values
from ...kernels.memory import address, memory
from ...kernels.memory import strided as view_of
from ..core.arguments import public, titled
from ..core.dims import place_of
from ..creation import memory_format as formats

__all__ = [
    "get_device", "is_complex", "is_floating_point", "is_inference", "is_nonzero", "is_same_size",
    "is_signed", "is_tensor", "jagged", "layout", "numel", "sparse_bsc", "sparse_bsr", "sparse_coo",
    "sparse_csc", "sparse_csr", "strided",
]  # fmt: skip


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

    def __reduce__(self) -> str:
        return self.name


KINDS = "strided jagged sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc"
LAYOUTS = [layout(name) for name in KINDS.split()]
strided, jagged, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc = LAYOUTS
PARTS = {  # methods that give the parts of a sparse tensor
    sparse_coo: ("_indices", "_values"),
    **dict.fromkeys((sparse_csr, sparse_bsr), ("crow_indices", "col_indices", "values")),
    **dict.fromkeys((sparse_csc, sparse_bsc), ("ccol_indices", "row_indices", "values")),
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
    PyTorch. Those of a tensor without elements are as if it were contiguous, or a view of such;
    those of a COO tensor are 0, and other sparse tensors raise RuntimeError.
    """
    array = self._array
    kind = _layout(self)
    if kind not in (strided, sparse_coo):
        raise RuntimeError(
            f"a tensor of layout {kind} has no strides. Those of the dense one: "
            "x.to_dense().stride()"
        )
    if not array.size and not any(array.strides) and self._view_of is not None:
        base = self._view_of.base._array
        array = view_of(base, base.shape, [base.itemsize * n for n in steps(base)])
        for op, params, output in self._view_of.path:
            made = op.forward(array, **params)
            array = made if output is None else made[output]
    found = steps(array) if kind is strided else array.strides
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
    offset = getattr(array, "offset", None)
    if offset is not None:
        return int(offset // array.dtype.itemsize)
    return (address(array) - address(memory(array))) // int(array.itemsize)


def data_ptr(self: Tensor) -> int:
    """The address of the first element; 0 where there is none."""
    return address(self._array) if self._array.size and has_values(self._array) else 0


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether the elements lie in memory without gaps, in row-major order or a `memory_format`.

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


@named_in(IGNORED)
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
    here = memory_format is None and has_values(self._array)
    return self if here else self.to("cpu", memory_format=memory_format)


def cuda(
    self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None
) -> Tensor:
    """Raise AssertionError: there is no such device; RuntimeError for what is none of that kind."""
    found = Device("cuda" if device is None else device)
    if found.type != "cuda":
        raise RuntimeError(f"Invalid device, must be cuda device: {found}. Write x.to('{found}')")
    as_device(found)
    return self


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """False: no accelerator reads the memory, so none is pinned."""
    return False


METHODS: tuple[Any, ...] = (
    *(size, dim, element_size, stride, storage_offset, data_ptr, is_contiguous, is_set_to),
    *(is_complex, is_floating_point, is_signed, is_nonzero, is_same_size),
    *(get_device, cpu, cuda),
)
for function in METHODS:
    method(function)
method(is_pinned)


def _layout(self: Tensor) -> layout:
    """How the tensor lies in memory."""
    array = self._array
    if has_memory(array):
        return strided
    return next(each for each in LAYOUTS if each.name == array.layout)


def question(name: str, asked: Any) -> property:
    """A property by a name, which tells whether something is so."""

    def answer(self: Tensor) -> bool:
        return asked(self)  # type: ignore[no-any-return]

    return property(titled(answer, name, "Whether the tensor says that it is so."))


def _cdata(self: Tensor) -> int:
    """A number that tells one tensor from another while both live."""
    return id(self)


FIXED: dict[str, Any] = {
    "__array_priority__": 1000,
    "layout": property(_layout),
    "nbytes": property(nbytes),
    "itemsize": property(element_size),
    "_cdata": property(_cdata),
}
for kind in ("cpu", "cuda", "meta"):  # which tensors without data may say of any device
    FIXED[f"is_{kind}"] = question(f"is_{kind}", lambda x, kind=kind: x.device.type == kind)
for name, lies in (("is_sparse", sparse_coo), ("is_sparse_csr", sparse_csr)):
    FIXED[name] = question(name, lambda x, lies=lies: x.layout is lies)
ABSENT = "ipu maia mkldnn mps mtia nested quantized vulkan xla xpu"
for name in ABSENT.split():
    FIXED[f"is_{name}"] = False
for name, value in FIXED.items():
    method(value, name)

"""What programs use of PyTorch's private module `torch._utils`.

The functions `_rebuild_*` are called by tensors that PyTorch wrote through Python's own pickle, as
joblib does; files of `torch.save` are read without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..engine.tensor import Tensor, device
from ..nn.parameter import Parameter
from ..nn.utils.convert_parameters import parameters_to_vector
from ..ops.creation.factories import empty
from ..ops.shape.split import split
from .accelerator import get_device_module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ..dtypes import dtype as Dtype

__all__: list[str] = []

_flatten_dense_tensors = parameters_to_vector
_get_device_module = get_device_module


def _element_size(dtype: Dtype) -> int:
    """The bytes of one element of a dtype.

    >>> rg._utils._element_size(rg.float64)
    8
    """
    return dtype.itemsize  # type: ignore[no-any-return]


def _get_device_index(device_: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a device; -1 for the cpu, where it is allowed, else ValueError."""
    found = device_ if isinstance(device_, int) else device(device_).index
    if found is None and not (optional or allow_cpu):
        raise ValueError(f"Expected a device with a number, but got: {device_}")
    return -1 if found is None else found


def _get_available_device_type() -> None:
    """The kind of accelerator that is there: none."""


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in lists of one dtype, each of at most `size_limit` bytes or of one tensor.

    >>> parts = rg._utils._take_tensors([rg.ones(2), rg.ones(1).double(), rg.ones(3)], 16)
    >>> [[tensor.numel() for tensor in part] for part in parts]
    [[2], [3], [1]]
    """
    open_: dict[str, tuple[list[Tensor], int]] = {}
    for tensor in tensors:
        held, size = open_.get(tensor.type(), ([], 0))
        if held and size + tensor.nbytes > size_limit:
            yield held
            held, size = [], 0
        open_[tensor.type()] = [*held, tensor], size + tensor.nbytes
    yield from (held for held, _ in open_.values())


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Parts of `flat` as views in the shapes of tensors, whose elements it holds end to end."""
    parts = split(flat, [tensor.numel() for tensor in tensors])
    return tuple([part.view_as(like) for part, like in zip(parts, tensors, strict=True)])


def _rebuild_tensor_v2(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """A leaf that shows a storage, which PyTorch may have kept conjugated or negated."""
    made = empty(0, dtype=storage.dtype).set_(storage, storage_offset, size, stride)
    for name in metadata or ():
        made = {"conj": Tensor.conj, "neg": Tensor.neg}[name](made)
    return made.requires_grad_(requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Parameter:
    """A parameter with the memory of a tensor."""
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(
    data: Tensor, requires_grad: bool, backward_hooks: Any, state: dict[str, Any]
) -> Parameter:
    """A parameter with attributes."""
    made = Parameter(data, requires_grad)
    made.__dict__.update(state)
    return made

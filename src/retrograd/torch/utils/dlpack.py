"""DLPack under torch.utils.dlpack's names (names only; see `ops.tensor.dlpack`)."""

from ...engine.tensor import Tensor
from ...ops.tensor.dlpack import DLDeviceType, from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> object:
    """A DLPack capsule on the memory of `tensor`, which can be imported once.

    Raises as `Tensor.__dlpack__`; new code hands over the tensor itself. Source: PyTorch's
    `to_dlpack`.

    >>> from retrograd.utils import dlpack
    >>> dlpack.from_dlpack(dlpack.to_dlpack(rg.tensor([1, 2])))
    tensor([1, 2])
    """
    return tensor.__dlpack__()

"""Padding layers, one class per mode and number of dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d",
    "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d",
    "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _Pad(Module):
    """Padding of the last `n` dimensions: (last before, last after, second last before, ...)."""

    _shown_settings = "padding"
    n: int
    mode: str

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self.n)

    def forward(self, input: Tensor) -> Tensor:
        """`input` with its borders."""
        return F.pad(input, self.padding, self.mode)


class _ConstantPad(_Pad):
    """Padding with one value."""

    _shown_settings = "padding= value="
    mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """`input` with its borders."""
        return F.pad(input, self.padding, self.mode, self.value)


class _ZeroPad(_ConstantPad):
    """Padding with zeros; beside the class of that number of dimensions."""

    _shown_settings = "padding"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)


class ConstantPad1d(_ConstantPad):
    """`value` at both ends of the last dimension; `padding` is one number or (left, right).

    (*, L) to (*, left + L + right); any dtype. Negative widths crop. Source: PyTorch's
    `nn.ConstantPad1d`.

    >>> rg.nn.ConstantPad1d((1, 2), 9.0)(rg.ones(1, 2))
    tensor([[9., 1., 1., 9., 9.]])
    """

    n = 1


class ConstantPad2d(_ConstantPad):
    """`value` around the last two dimensions; one number or (left, right, top, bottom).

    (*, H, W) to (*, top + H + bottom, left + W + right); any dtype. Negative widths crop.

    >>> rg.nn.ConstantPad2d((1, 0, 0, 1), 9.0)(rg.ones(1, 1, 2))
    tensor([[[9., 1., 1.],
             [9., 9., 9.]]])
    """

    n = 2


class ConstantPad3d(_ConstantPad):
    """`value` around the last three dimensions; one number or six, last dimension first.

    (*, D, H, W) to the same shape with each size larger by its two widths; any dtype. Negative
    widths crop.

    >>> rg.nn.ConstantPad3d((0, 0, 0, 0, 1, 0), 9.0)(rg.ones(1, 1, 1, 2))
    tensor([[[[9., 9.]],
    <BLANKLINE>
             [[1., 1.]]]])
    """

    n = 3


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros at both ends of the last dimension; `padding` is one number or (left, right).

    (*, L) to (*, left + L + right); any dtype. Negative widths crop.

    >>> rg.nn.ZeroPad1d((1, 2))(rg.ones(1, 2))
    tensor([[0., 1., 1., 0., 0.]])
    """


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around the last two dimensions; one number or (left, right, top, bottom).

    (*, H, W) to (*, top + H + bottom, left + W + right); any dtype. Negative widths crop.

    >>> rg.nn.ZeroPad2d((1, 0, 0, 1))(rg.ones(1, 1, 2))
    tensor([[[0., 1., 1.],
             [0., 0., 0.]]])
    """


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around the last three dimensions; one number or six, last dimension first.

    (*, D, H, W) to the same shape with each size larger by its two widths; any dtype. Negative
    widths crop.

    >>> rg.nn.ZeroPad3d((0, 0, 0, 0, 1, 0))(rg.ones(1, 1, 1, 2))
    tensor([[[[0., 0.]],
    <BLANKLINE>
             [[1., 1.]]]])
    """


class _ReflectionPad(_Pad):
    """Padding with the mirror image."""

    mode = "reflect"


class ReflectionPad1d(_ReflectionPad):
    """The mirror image at both ends, without the border element again; one number or (left, right).

    (N, C, L) to (N, C, left + L + right), N optional; real or complex. Raises RuntimeError for
    widths not smaller than L, NotImplementedError for another number of dimensions.

    >>> rg.nn.ReflectionPad1d(2)(rg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 2., 1., 2., 3., 2., 1.]])
    """

    n = 1


class ReflectionPad2d(_ReflectionPad):
    """The mirror image around images; one number or (left, right, top, bottom).

    (N, C, H, W) to (N, C, top + H + bottom, left + W + right), N optional. Everything else is as
    for `ReflectionPad1d`.

    >>> x = rg.arange(6.0).reshape(1, 2, 3)
    >>> rg.nn.ReflectionPad2d((1, 0, 0, 1))(x)
    tensor([[[1., 0., 1., 2.],
             [4., 3., 4., 5.],
             [1., 0., 1., 2.]]])
    """

    n = 2


class ReflectionPad3d(_ReflectionPad):
    """The mirror image around volumes; one number or six, last dimension first.

    (N, C, D, H, W) to the same shape with each size larger by its two widths, N optional.
    Everything else is as for `ReflectionPad1d`.

    >>> x = rg.arange(6.0).reshape(1, 1, 2, 3)
    >>> rg.nn.ReflectionPad3d((1, 0, 0, 0, 0, 0))(x)
    tensor([[[[1., 0., 1., 2.],
              [4., 3., 4., 5.]]]])
    """

    n = 3


class _ReplicationPad(_Pad):
    """Padding with the border elements."""

    mode = "replicate"


class ReplicationPad1d(_ReplicationPad):
    """The border element repeated at both ends; `padding` is one number or (left, right).

    (N, C, L) to (N, C, left + L + right), N optional; real or complex. Raises NotImplementedError
    for another number of dimensions.

    >>> rg.nn.ReplicationPad1d(2)(rg.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 1., 2., 3., 3., 3.]])
    """

    n = 1


class ReplicationPad2d(_ReplicationPad):
    """The border elements repeated around images; one number or (left, right, top, bottom).

    (N, C, H, W) to (N, C, top + H + bottom, left + W + right), N optional. Everything else is as
    for `ReplicationPad1d`.

    >>> x = rg.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    >>> rg.nn.ReplicationPad2d((1, 0, 0, 1))(x)
    tensor([[[1., 1., 2.],
             [3., 3., 4.],
             [3., 3., 4.]]])
    """

    n = 2


class ReplicationPad3d(_ReplicationPad):
    """The border elements repeated around volumes; one number or six, last dimension first.

    (N, C, D, H, W) to the same shape with each size larger by its two widths, N optional.
    Everything else is as for `ReplicationPad1d`.

    >>> x = rg.arange(6.0).reshape(1, 1, 2, 3)
    >>> rg.nn.ReplicationPad3d((1, 0, 0, 0, 0, 0))(x)
    tensor([[[[0., 0., 1., 2.],
              [3., 3., 4., 5.]]]])
    """

    n = 3


class _CircularPad(_Pad):
    """Padding with the input continued."""

    mode = "circular"


class CircularPad1d(_CircularPad):
    """The input continued periodically at both ends; `padding` is one number or (left, right).

    (N, C, L) to (N, C, left + L + right), N optional; real or complex. Raises RuntimeError for
    widths larger than L, NotImplementedError for another number of dimensions.

    >>> rg.nn.CircularPad1d(1)(rg.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[3., 1., 2., 3., 1.]]])
    """

    n = 1


class CircularPad2d(_CircularPad):
    """The input continued periodically around images; one number or (left, right, top, bottom).

    (N, C, H, W) to (N, C, top + H + bottom, left + W + right), N optional. Everything else is as
    for `CircularPad1d`.

    >>> x = rg.arange(6.0).reshape(1, 2, 3)
    >>> rg.nn.CircularPad2d((1, 0, 0, 1))(x)
    tensor([[[2., 0., 1., 2.],
             [5., 3., 4., 5.],
             [2., 0., 1., 2.]]])
    """

    n = 2


class CircularPad3d(_CircularPad):
    """The input continued periodically around volumes; one number or six, last dimension first.

    (N, C, D, H, W) to the same shape with each size larger by its two widths, N optional.
    Everything else is as for `CircularPad1d`.

    >>> x = rg.arange(6.0).reshape(1, 1, 2, 3)
    >>> rg.nn.CircularPad3d((1, 0, 0, 0, 0, 0))(x)
    tensor([[[[2., 0., 1., 2.],
              [5., 3., 4., 5.]]]])
    """

    n = 3

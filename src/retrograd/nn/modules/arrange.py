"""Layers without parameters that rearrange or compare: shapes, patches, resolution, distances."""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "ChannelShuffle", "CosineSimilarity", "Flatten", "Fold", "PairwiseDistance", "PixelShuffle",
    "PixelUnshuffle", "Unflatten", "Unfold", "Upsample",
]  # fmt: skip


class Flatten(Module):
    """Dimensions `start_dim` to `end_dim` made one; by default all but the batch.

    (N, *) to (N, product of *); any dtype. Raises IndexError for a dimension that is not there.

    >>> rg.nn.Flatten()(rg.ones(2, 3, 4)).shape
    retrograd.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """`input` flattened."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """The dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Dimension `dim` split into the sizes `unflattened_size`, one of which may be -1.

    (*1, n, *2) to (*1, *unflattened_size, *2); any dtype. Raises TypeError for sizes that are no
    integers, RuntimeError where their product is not n.

    >>> rg.nn.Unflatten(1, (2, -1))(rg.ones(5, 6)).shape
    retrograd.Size([5, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim parameter")
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

    def extra_repr(self) -> str:
        """The dimension and its sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """Patches of images as columns: (N, C, H, W) to (N, C * kernel elements, positions).

    N is optional; real or complex. Raises RuntimeError for other shapes.

    >>> x = rg.arange(6.0).reshape(1, 1, 2, 3)
    >>> rg.nn.Unfold(2)(x)
    tensor([[[0., 1.],
             [1., 2.],
             [3., 4.],
             [4., 5.]]])
    """

    def __init__(
        self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The patches of `input`."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Fold(Module):
    """The transpose of `Unfold`: columns added up at their places in an image.

    (N, C * kernel elements, positions) to (N, C, *output_size), N optional; real or complex. Raises
    RuntimeError for other shapes.

    >>> rg.nn.Fold((1, 3), (1, 2))(rg.ones(1, 2, 2))
    tensor([[[[1., 2., 1.]]]])
    """

    def __init__(
        self,
        output_size: Any,
        kernel_size: Any,
        dilation: Any = 1,
        padding: Any = 0,
        stride: Any = 1,
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size = output_size, kernel_size
        self.dilation, self.padding, self.stride = dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        """The columns `input` added up."""
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(Module):
    """(*, C * r^2, H, W) to (*, C, H * r, W * r): channels become positions.

    Any dtype. Raises RuntimeError for fewer than three dimensions, or channels that r^2 does not
    divide.

    >>> rg.nn.PixelShuffle(2)(rg.arange(4.0).reshape(1, 4, 1, 1))
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` at the higher resolution."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The inverse of `PixelShuffle`, (*, C, H * r, W * r) to (*, C * r^2, H, W).

    Any dtype. Raises RuntimeError for fewer than three dimensions, or sizes that r does not divide.

    >>> rg.nn.PixelUnshuffle(2)(rg.arange(4.0).reshape(1, 1, 2, 2)).flatten(1)
    tensor([[0., 1., 2., 3.]])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` at the lower resolution."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """The factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels, read as a table of `groups` rows, in the order of its columns.

    (N, C, *) to the same shape, of at least three dimensions; any dtype. Raises RuntimeError for
    fewer, or unless `groups` divides C.

    >>> rg.nn.ChannelShuffle(2)(rg.arange(4.0).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """`input` with its channels reordered."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """The number of groups."""
        return f"groups={self.groups}"


class Upsample(Module):
    """Interpolation to `size`, or by `scale_factor`. Source: PyTorch's `nn.Upsample`.

    (N, C, L), (N, C, H, W) or (N, C, D, H, W) to (N, C, *size); real or complex. A call raises
    ValueError without size and factor, NotImplementedError for a `mode` that does not go with the
    number of dimensions.

    >>> rg.nn.Upsample(scale_factor=2)(rg.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, (tuple, list)):
            scale_factor = tuple(float(factor) for factor in scale_factor)
        elif scale_factor is not None:
            scale_factor = float(scale_factor)
        self.scale_factor, self.recompute_scale_factor = scale_factor, recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """`input` at the other resolution."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        """The size or factor, and the mode."""
        what = (
            f"size={self.size}"
            if self.scale_factor is None
            else f"scale_factor={self.scale_factor}"
        )
        return f"{what}, mode={self.mode!r}"


class CosineSimilarity(Module):
    """x1 . x2 / (|x1| |x2|) along `dim`, each norm at least `eps`.

    Two shapes (*1, D, *2) that broadcast to (*1, *2); floating or complex, else RuntimeError.

    >>> rg.nn.CosineSimilarity()(rg.tensor([[3.0, 4.0]]), rg.tensor([[1.0, 0.0]]))
    tensor([0.6000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosine of the angle between `x1` and `x2`."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps along the last dimension.

    Two shapes (*, D) that broadcast to (*), or (*, 1) with `keepdim`; floating, or complex with a
    real distance.

    >>> rg.nn.PairwiseDistance()(rg.tensor([[3.0, 4.0]]), rg.zeros(1, 2))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distance between `x1` and `x2`."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)

"""Adaptive pooling: maxima and means over bins that divide the input, however large it is.

Where the bins are all of one size this is ordinary pooling, and recorded as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.registry import declare, example, name_node
from ...engine.tensor import Tensor
from ...errors import wrong_type
from ...kernels import pooling
from ..core.pointwise import check_floating
from .pool import avg_pool_record, largest, like_images, max_pool_record, of_dims
from .sizes import Sizes, for_dims, sizes_in

__all__ = ["adaptive_avg_pool1d"]

_adaptive_max_pool = declare(
    "adaptive_max_pool(input, *, size) -> out, indices",
    lambda x, *, size: like_images(x, len(size), *pooling.adaptive_max(x, size)),
    input=lambda xp, g, indices, input_shape, size: xp.pool_scatter(
        g, indices, size=input_shape[-len(size) :]
    ),
    nondiff=("indices",),
    piecewise=True,
    complex=False,
    batch="leading",
    examples=[example("2x5", size=(3,)), example("1x4x5", size=(3, 2)), example("0x4", size=(3,))],
    node_name="AdaptiveMaxPool2DBackward0",
)

_adaptive_avg_pool = declare(
    "adaptive_avg_pool(input, *, size)",
    lambda x, *, size: like_images(x, len(size), pooling.adaptive_avg(x, size)),
    input=lambda xp, g, input_shape, size: xp.channels_like_shape(
        None if max(size) == 1 else input_shape,  # which is a mean in PyTorch
        xp.adaptive_avg_pool_input(g, size=input_shape[-len(size) :]),
    ),
    linear="input",
    piecewise=True,
    batch="leading",
    examples=[example("2x5", size=(3,)), example("1x4x5", size=(3, 2))],
    node_name="AdaptiveAvgPool2DBackward0",
)

adaptive_avg_pool_input = declare(
    "adaptive_avg_pool_input(input, *, size)",
    lambda g, *, size: like_images(g, len(size), pooling.adaptive_avg_input(g, size)),
    input=lambda xp, g, input_shape, size: xp.adaptive_avg_pool(g, size=input_shape[-len(size) :]),
    linear="input",
    batch="leading",
    examples=[example("2x3", size=(5,)), example("1x3x2", size=(4, 5))],
    doc="""The adjoint of `adaptive_avg_pool`, whose input has spatial sizes `size`.""",
)


def adaptive_size(name: str, dims: int, input: Tensor, output_size: Any) -> Sizes:
    """The output size of adaptive pooling, None standing for the input's own size."""
    if not isinstance(input, Tensor):
        raise wrong_type(name, "input", "Tensor", input, 1)
    shape = input._array.shape
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got {list(input.shape)}"
        )
    several = isinstance(output_size, (tuple, list))
    given = tuple(output_size) if several else (output_size,) * dims
    if len(given) != dims:
        raise RuntimeError(f"{name}: output_size must be {dims}, but got {given}")
    size = shape[-dims:]
    asked = tuple([n if m is None else m for m, n in zip(given, size, strict=True)])
    wanted = sizes_in(asked, "output_size", name)
    if min(wanted) < 0:
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{wanted}"
        )
    for dim, n in enumerate(size, len(shape) - dims):
        if n == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but "
                f"input has sizes {list(input.shape)} with dimension {dim} being empty"
            )
    return wanted


def even_kernel(size: Sizes, out: Sizes) -> Sizes | None:
    """The kernel with which ordinary pooling gives `out`, if the bins are all of one size."""
    if 0 in out or any(n % m for n, m in zip(size, out, strict=True)):
        return None
    return tuple([n // m for n, m in zip(size, out, strict=True)])


def _adaptive_max(name: str, dims: int) -> Any:
    of_bins = of_dims(_adaptive_max_pool, "AdaptiveMaxPool{}DBackward0", dims)
    of_windows = of_dims(max_pool_record, "AdaptiveMaxPool{}DBackward0", dims)

    def pool(
        input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
    ) -> Any:
        out = adaptive_size(name, dims, input, output_size)
        check_floating(name, input)
        kernel = even_kernel(tuple(input.shape[-dims:]), out)
        if kernel is None:
            pooled = largest(of_bins, input, dims, size=out)
        else:
            none, ones = (0,) * dims, (1,) * dims
            pooled = largest(
                of_windows, input, dims, kernel=kernel, stride=kernel, padding=none,
                dilation=ones, ceil=False,
            )  # fmt: skip
        return pooled if return_indices else pooled[0]

    return pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = for_dims(
    _adaptive_max,
    "adaptive_max_pool",
    """Maxima over `output_size` bins that divide the last dimension of `(N, C, L)` or `(C, L)`.

    Bin i covers `floor(i L / output_size)` to `ceil((i + 1) L / output_size)`. Returns, and raises,
    as `max_pool1d` does.

    >>> rg.nn.functional.adaptive_max_pool1d(rg.tensor([[1.0, 3.0, 2.0]]), 2)
    tensor([[3., 3.]])
    """,
    """Maxima over bins that divide images `(N, C, H, W)` or `(C, H, W)`.

    output_size: a number or a pair, None in it keeping a size.

    >>> adaptive_max_pool2d(rg.tensor([[[1.0, 3.0], [2.0, 4.0]]]), (1, None))
    tensor([[[2., 4.]]])
    """,
    """Maxima over bins that divide volumes `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> adaptive_max_pool3d(rg.ones(1, 3, 3, 3), 2).shape
    retrograd.Size([1, 2, 2, 2])
    """,
)


def adaptive_avg_pool(name: str, dims: int, input: Tensor, output_size: Any) -> Tensor:
    """What the adaptive means have in common."""
    out = adaptive_size(name, dims, input, output_size)
    check_floating(name, input)
    kernel = even_kernel(tuple(input.shape[-dims:]), out)
    if kernel is None:
        made = _adaptive_avg_pool(input, size=out)
    else:
        made = avg_pool_record(
            input, kernel=kernel, stride=kernel, padding=(0,) * dims, ceil=False, count_pad=True,
            divisor=None,
        )  # fmt: skip
    whole = f"AdaptiveAvgPool{dims}DBackward0" if max(out) > 1 else "MeanBackward1"
    return name_node(made, whole if dims > 1 else "SqueezeBackward1")


def _adaptive_avg(name: str, dims: int) -> Any:
    def pool(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
        return adaptive_avg_pool(name, dims, input, output_size)

    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = for_dims(
    _adaptive_avg,
    "adaptive_avg_pool",
    """Means over `output_size` bins that divide the last dimension of `(N, C, L)` or `(C, L)`.

    Bin i covers `floor(i L / output_size)` to `ceil((i + 1) L / output_size)`. Raises RuntimeError
    for other ranks and integer dtypes.

    >>> rg.adaptive_avg_pool1d(rg.tensor([[1.0, 3.0, 5.0]]), 2)
    tensor([[2., 4.]])
    """,
    """Means over bins that divide images `(N, C, H, W)` or `(C, H, W)`.

    output_size: a number or a pair, None in it keeping a size.

    >>> adaptive_avg_pool2d(rg.tensor([[[1.0, 3.0], [2.0, 4.0]]]), 1)
    tensor([[[2.5000]]])
    """,
    """Means over bins that divide volumes `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> adaptive_avg_pool3d(rg.ones(1, 3, 3, 3), 2).shape
    retrograd.Size([1, 2, 2, 2])
    """,
)

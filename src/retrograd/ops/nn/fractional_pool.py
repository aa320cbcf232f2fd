"""Fractional max pooling: maxima over windows whose starts are drawn at random.

The windows of one dimension start at steps of non-integer mean, so that an output may have any size
(Graham, 2014). Where the windows lie is decided once, by arrays; values are then read by index, so
that every order of differentiation sees the same windows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.tensor import Tensor, constant_like, new_tensor
from ...kernels.allocation import full, table, zeros
from ..core.engine_ops import piecewise
from ..random.factories import rand
from .pool import check_input, of_dims, pool_gather
from .sizes import for_dims, sizes_in


def _starts(samples: Any, size: int, out: int, kernel: int) -> Any:
    """Where the `out` windows of each channel start, `(..., out)`; the last ends at the end."""
    starts = full(samples, (*samples.shape, out), size - kernel, np.int64)
    if out > 1:
        step = samples.dtype.type((size - kernel) / (out - 1))
        shift = samples[..., None]
        places = table(samples, np.arange(out - 1, dtype=samples.dtype))
        steps = ((places + shift) * step).astype(np.int64)
        starts[..., :-1] = steps - (shift * step).astype(np.int64)
    return starts


def _best(x: Any, starts: list[Any], kernel: tuple[int, ...]) -> Any:
    """The flat index of the first maximum of each window, NaN counting as largest."""
    dims, (n, c) = len(kernel), x.shape[:2]
    flat: Any = zeros(x, (n, c, *[1] * (2 * dims)), np.int64)
    for axis, (start, k) in enumerate(zip(starts, kernel, strict=True)):
        shape = [n, c, *[1] * (2 * dims)]
        shape[2 + axis], shape[2 + dims + axis] = start.shape[-1], k
        places = start[..., None] + table(start, np.arange(k))
        flat = flat * x.shape[2 + axis] + places.reshape(shape)
    count = math.prod(flat.shape[2 : 2 + dims])
    windows = flat.reshape(*flat.shape[: 2 + dims], math.prod(kernel))
    everywhere = windows.reshape(n, c, count * windows.shape[-1])
    values = np.take_along_axis(x.reshape(n, c, math.prod(x.shape[2:])), everywhere, -1)
    first = values.reshape(windows.shape).argmax(-1)[..., None]
    return np.take_along_axis(windows, first, -1)[..., 0]


def _output_size(
    name: str, size: tuple[int, ...], output_size: Any, output_ratio: Any
) -> tuple[int, ...]:
    dims = len(size)
    if output_size is not None:
        return _one_or_all(output_size, dims, "output_size", name)
    if output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    given = (output_ratio,) * dims if isinstance(output_ratio, (int, float)) else output_ratio
    if len(given) != dims:
        raise ValueError(
            f"{name} requires output_ratio to either be a single float or a tuple of {dims} floats"
        )
    return tuple([int(n * ratio) for n, ratio in zip(size, given, strict=True)])


def _one_or_all(value: Any, dims: int, argument: str, name: str) -> tuple[int, ...]:
    """A number, or as many as there are dimensions: one alone is no sequence here."""
    sizes = sizes_in(value, argument, name)
    if isinstance(value, (tuple, list)) and len(sizes) != dims:
        raise RuntimeError(
            f"{name}: {argument} must either be a single Int or tuple of {dims} Ints, but is "
            f"{sizes}"
        )
    return sizes * dims if len(sizes) == 1 else sizes


def _check_windows(name: str, size: Any, out: Any, kernel: Any) -> None:
    """Raise RuntimeError for windows that do not fit into the input, or are empty."""
    names = ("time", "height", "width")[-len(size) :]
    for along, n, m, k in zip(names, size, out, kernel, strict=True):
        if m + k - 1 > n or m < 0 or k < 1:
            raise RuntimeError(
                f"{name}(): pool {along} {k} too large relative to input {along} {n} for the "
                f"output size {list(out)}: it takes 0 <= output_size and output_size + "
                "kernel_size - 1 <= input size"
            )


def _fractional(name: str, dims: int, always: bool = False) -> Any:
    """The function of a name; `always`: it returns indices without being asked."""
    record = of_dims(pool_gather, "FractionalMaxPool{}DBackward0", dims)

    def pool(
        input: Tensor,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        check_input(name, dims, input)
        batched = input if input._array.ndim == dims + 2 else input.unsqueeze(0)
        size = tuple(input.shape[-dims:])
        kernel = _one_or_all(kernel_size, dims, "kernel_size", name)
        out = _output_size(name, size, output_size, output_ratio)
        _check_windows(name, size, out, kernel)
        shape, samples = (*batched.shape[:2], dims), _random_samples
        size_of = np.abs(batched._array) if input.dtype.is_complex else batched._array
        real = dtypes.of_numpy(size_of.dtype)
        if samples is None:
            samples = constant_like(rand(*shape, dtype=real)._array, input)
        elif samples.shape != shape or samples.dtype != real:
            raise RuntimeError(
                f"{name}(): Expect _random_samples of shape {list(shape)} and {real}, got "
                f"{list(samples.shape)} of {samples.dtype}"
            )
        # PyTorch reads the samples of images columns first, those of volumes depth first.
        order = (1, 0) if dims == 2 else (0, 1, 2)
        drawn = [samples._array[..., place] for place in order]
        starts = [_starts(*one) for one in zip(drawn, size, out, kernel, strict=True)]
        indices = new_tensor(_best(size_of, starts, kernel))
        values = record(piecewise(batched), indices, dims=dims)
        found = values, indices
        if batched is not input:
            found = values.squeeze(0), indices.squeeze(0)
        return found if return_indices or always else found[0]

    return pool


fractional_max_pool2d, fractional_max_pool3d = for_dims(
    _fractional,
    "fractional_max_pool",
    """Maxima over randomly placed windows of images `(N, C, H, W)` or `(C, H, W)`.

    The output's spatial size is `output_size`, or `output_ratio` times the input's. With
    `return_indices` also the flat positions of the maxima, for `max_unpool2d`. `_random_samples`,
    (N, C, 2) in [0, 1), are drawn from the default generator if not given. Raises ValueError where
    neither size nor ratio is given, RuntimeError for windows that do not fit. Complex numbers are
    compared by modulus. Source: Graham, 2014.

    >>> out = rg.nn.functional.fractional_max_pool2d(rg.ones(1, 1, 5, 5), 2, output_size=(3, 4))
    >>> out.shape
    retrograd.Size([1, 1, 3, 4])
    """,
    """Maxima over randomly placed windows of volumes `(N, C, D, H, W)` or `(C, D, H, W)`.

    Everything else is as for `fractional_max_pool2d`, with samples (N, C, 3).

    >>> x = rg.ones(1, 1, 4, 4, 4)
    >>> rg.nn.functional.fractional_max_pool3d(x, 2, output_ratio=0.5).shape
    retrograd.Size([1, 1, 2, 2, 2])
    """,
    first=2,
)

fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = for_dims(
    partial(_fractional, always=True),
    "fractional_max_pool",
    """Maxima and always their indices; all else is as for `fractional_max_pool2d`.

    >>> x = rg.ones(1, 2, 2)
    >>> rg.nn.functional.fractional_max_pool2d_with_indices(x, 2, 1)
    (tensor([[[1.]]]), tensor([[[0]]]))
    """,
    """Maxima and always their indices; all else is as for `fractional_max_pool3d`.

    >>> x = rg.ones(1, 2, 2, 2)
    >>> rg.nn.functional.fractional_max_pool3d_with_indices(x, 2, 1)
    (tensor([[[[1.]]]]), tensor([[[[0]]]]))
    """,
    first=2,
    suffix="_with_indices",
)

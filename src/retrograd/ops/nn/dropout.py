"""Dropout: zeroing elements, or whole channels, at random.

A mask is drawn from the default generator and is an input without derivative, so that every order
of differentiation sees the same one.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.inplace import in_place
from ...engine.registry import declare, example
from ...engine.tensor import Tensor, constant_like, new_tensor
from ...errors import wrong_type
from ...kernels.layout import laid_out
from ..core.arguments import public
from ..random.generator import default_generator, examples, in_order, in_rows

ALPHA = -1.7580993408473766  # the limit of SELU at -infinity, -scale * alpha of its paper


def _masked_scale(input: Any, mask: Any, *, scale: float) -> Any:
    out = laid_out(input * mask, input, mask)
    out *= scale
    return out if out.dtype is input.dtype else out.astype(input.dtype, copy=False)


masked_scale = declare(
    "masked_scale(input, mask, *, scale)",
    _masked_scale,
    input=lambda xp, g, mask, scale: xp.masked_scale(g, mask, scale=scale),
    keeps="input",
    batch="elementwise",
    examples=[
        example("3x4, 3x4:bool", scale=2.0),
        example("2x3x2, 2x3x1:bool", scale=1.5),
        example(", :bool", scale=2.0),
    ],
    node_name="MulBackward0",
    saved={"other": lambda mask, scale: mask * scale, "self": lambda: None},
    doc="""`input * mask * scale` for a boolean mask; keeps the mask alone, a byte per element.""",
)


def keep_mask(like: Tensor, p: float, *, channels: bool) -> Tensor:
    """A mask that is True with probability 1 - p, for each element or for each channel.

    Numbers for elements are drawn in the order of the memory.
    """
    keep, array = 1.0 - p, like._array

    def draw(shape: tuple[int, ...]) -> Any:
        return examples(lambda s: default_generator.bernoulli(keep, s), shape)

    if channels:
        return constant_like(in_rows(draw, array[(..., *[slice(1)] * (array.ndim - 2))]), like)
    return constant_like(in_order(draw, array), like)


def check_probability(p: float) -> None:
    """Raise ValueError for what is no probability."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _dropped(input: Tensor, p: float, channels: bool, alpha: bool) -> Tensor:
    """With `alpha`, dropped values become ALPHA, and a map restores mean 0 and variance 1."""
    if p == 1.0:  # nothing is drawn, as in PyTorch
        return input * 0.0
    mask = keep_mask(input, p, channels=channels)
    if not alpha:
        return masked_scale(input, mask, scale=1.0 / (1.0 - p))
    a = 1.0 / ((ALPHA**2 * p + 1.0) * (1.0 - p)) ** 0.5
    noise = np.where(mask._array, 0.0, ALPHA * a) - ALPHA * a * p
    return masked_scale(input, mask, scale=a) + new_tensor(noise.astype(input._array.dtype))


WRITTEN = {
    (channels, alpha): in_place(_dropped, f"{'feature_' * channels}{'alpha_' * alpha}dropout_")
    for channels in (False, True)
    for alpha in (False, True)
}


def _applied(
    input: Tensor,
    p: float,
    training: bool,
    inplace: bool,
    channels: bool = False,
    alpha: bool = False,
) -> Tensor:
    """Dropout where it has an effect; in place where asked."""
    check_probability(p)
    if not isinstance(input, Tensor):
        raise wrong_type("dropout", "input", "Tensor", input, 1)
    if not training or p == 0.0 or input._array.size == 0:
        return input
    if input._array.ndim < 2 and channels:
        raise RuntimeError(
            "Feature dropout requires at least 2 dimensions in the input, of which the second is "
            f"that of the channels; got {list(input.shape)}. For single elements: dropout"
        )
    if input._array.dtype.kind in "biu":
        ours, floating = (dtypes.legacy_name(d) for d in (input.dtype, dtypes.default_numpy()))
        raise RuntimeError(
            f"result type {floating} can't be cast to the desired output type {ours}. Convert "
            "first: x.float()"
        )
    function = WRITTEN[channels, alpha] if inplace else _dropped
    return function(input, p, channels, alpha)


@public()
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero each element with probability `p` and divide the others by 1 - p, when training.

    Otherwise the input itself. Raises ValueError for p outside [0, 1], RuntimeError for integers.
    Source: Srivastava et al., 2014.

    >>> _ = rg.manual_seed(0)
    >>> sorted(set(rg.nn.functional.dropout(rg.ones(100)).tolist()))
    [0.0, 2.0]
    """
    return _applied(input, p, training, inplace)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels: `input` is (N, C, L), or (C, L) without a batch.

    Raises RuntimeError for other numbers of dimensions. Source: Tompson et al., 2015.

    >>> rg.nn.functional.dropout1d(rg.ones(2, 3), training=False).shape
    retrograd.Size([2, 3])
    """
    check_probability(p)
    if input._array.ndim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input._array.ndim}D input. Note "
            "that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial "
            "dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D "
            "inputs)."
        )
    if input._array.ndim == 3:
        return _applied(input, p, training, inplace, channels=True)
    return _unbatched(input, p, training, inplace)


def _unbatched(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Channels dropped where the first dimension is the channel."""
    made = _applied(input.unsqueeze(0), p, training, inplace, channels=True)
    return input if inplace else made.squeeze(0)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels: `input` is (N, C, H, W).

    Warns at other numbers of dimensions, of which the second is that of the channels. Source:
    Tompson et al., 2015.

    >>> out = rg.nn.functional.dropout2d(rg.ones(1, 50, 2, 2))
    >>> bool((out == out[:, :, :1, :1]).all())
    True
    """
    check_probability(p)
    if input._array.ndim == 3:
        warnings.warn(NO_BATCH, stacklevel=2)
    else:
        _check_channels("dropout2d", input, (4,))
    return feature_dropout(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels: `input` is (N, C, D, H, W), or (C, D, H, W) without a batch.

    Warns at other numbers of dimensions, of which the first is that of the channels.

    >>> rg.nn.functional.dropout3d(rg.ones(1, 2, 1, 1, 1), p=1.0).sum()
    tensor(0.)
    """
    check_probability(p)
    _check_channels("dropout3d", input, (4, 5))
    if input._array.ndim != 5:
        return _unbatched(input, p, training, inplace)
    return feature_dropout(input, p, training, inplace)


def feature_dropout(input: Tensor, p: float, training: bool, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels, which the second dimension counts, whatever the others are."""
    return _applied(input, p, training, inplace, channels=True)


NO_BATCH = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
    "behavior is desired, of (N, C, L); in a future release it will be (C, H, W). Use dropout1d "
    "for (N, C, L)"
)


def _check_channels(name: str, input: Tensor, ranks: tuple[int, ...]) -> None:
    """Warn where the input has not a number of dimensions for which a dropout of channels is."""
    ndim = input._array.ndim
    if ndim not in ranks:
        warnings.warn(
            f"{name}: Received a {ndim}-D input to {name}, which is deprecated and will result in "
            "an error in a future release. Use dropout instead, or feature_dropout for channels",
            stacklevel=3,
        )


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout to SELU's negative limit, with mean and variance kept at 0 and 1, when training.

    Source: Klambauer et al., 2017.

    >>> x = rg.zeros(10)
    >>> len(set(rg.nn.functional.alpha_dropout(x, training=True).tolist())) <= 2
    True
    """
    return _applied(input, p, training, inplace, alpha=True)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels: `input` is (N, C, ...).

    >>> rg.nn.functional.feature_alpha_dropout(rg.ones(1, 2, 3)).sum()
    tensor(6.)
    """
    return _applied(input, p, training, inplace, channels=True, alpha=True)

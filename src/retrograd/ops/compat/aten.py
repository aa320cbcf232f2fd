"""Functions that PyTorch has at its top level with other arguments than under `nn.functional`.

Each hands on to the function of the same name; what that says of shapes, dtypes, errors and
derivatives holds. A `reduction` is here the number 0 (none), 1 (mean) or 2 (sum); names are taken
too. Arguments that choose among GPU kernels are accepted and make no difference.
"""

from __future__ import annotations

from typing import Any

from ...engine.inplace import in_place
from ...engine.tensor import Tensor
from ..activation import piecewise
from ..activation.smooth import sigmoid
from ..elementwise.trigonometry import tanh
from ..loss import ctc, divergence, elementwise, metric
from ..nn import dropout as dropouts
from ..nn import embedding as lookups
from ..nn import interpolate, normalization
from ..nn.conv import conv1d

__all__ = [
    "alpha_dropout",
    "alpha_dropout_",
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "celu_",
    "channel_shuffle",
    "conv_tbc",
    "cosine_embedding_loss",
    "cosine_similarity",
    "ctc_loss",
    "dropout",
    "dropout_",
    "embedding",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "group_norm",
    "hinge_embedding_loss",
    "instance_norm",
    "kl_div",
    "layer_norm",
    "margin_ranking_loss",
    "native_channel_shuffle",
    "pairwise_distance",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson_nll_loss",
    "relu_",
    "rms_norm",
    "rrelu_",
    "selu_",
    "sigmoid_",
    "tanh_",
    "threshold_",
    "triplet_margin_loss",
]

channel_shuffle = interpolate.channel_shuffle
cosine_similarity = metric.cosine_similarity
native_channel_shuffle = interpolate.channel_shuffle
pairwise_distance = metric.pairwise_distance
pixel_shuffle = interpolate.pixel_shuffle
pixel_unshuffle = interpolate.pixel_unshuffle
rms_norm = normalization.rms_norm

celu_ = in_place(piecewise.celu)
relu_ = in_place(piecewise.relu)
rrelu_ = in_place(piecewise.rrelu)
selu_ = in_place(piecewise.selu)
sigmoid_ = in_place(sigmoid)
tanh_ = in_place(tanh)
threshold_ = in_place(piecewise.threshold)

REDUCTIONS = ("none", "mean", "sum")


def _reduction(value: Any) -> str:
    """The name of a reduction that may be given by its number."""
    if isinstance(value, str):
        return value
    if value not in (0, 1, 2):
        raise ValueError(f"{value} is not a valid value for reduction: 0 is none, 1 mean, 2 sum")
    return REDUCTIONS[value]


# -- normalizations and convolutions -----------------------------------------------------------


def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """`nn.functional.batch_norm` with the order of arguments of PyTorch's `torch.batch_norm`.

    >>> import retrograd as rg
    >>> rg.batch_norm(rg.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)
    tensor([[-1.],
            [ 1.]])
    """
    return normalization.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """`nn.functional.instance_norm` with the order of arguments of `torch.instance_norm`.

    >>> import retrograd as rg
    >>> x = rg.tensor([[[1.0, 3.0]]])
    >>> rg.instance_norm(x, None, None, None, None, True, 0.1, 0.0)
    tensor([[[-1.,  1.]]])
    """
    return normalization.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = False,
) -> Tensor:
    """`nn.functional.layer_norm`, with `torch.layer_norm`'s further argument.

    >>> import retrograd as rg
    >>> rg.layer_norm(rg.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return normalization.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = False,
) -> Tensor:
    """`nn.functional.group_norm`, with `torch.group_norm`'s further argument.

    >>> import retrograd as rg
    >>> rg.group_norm(rg.tensor([[1.0, 3.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]])
    """
    return normalization.group_norm(input, num_groups, weight, bias, eps)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences (time, batch, channels), weight (kernel, in channels, out channels).

    Raises RuntimeError for input or weight that is not 3-D. Source: PyTorch's `conv_tbc`.

    >>> import retrograd as rg
    >>> rg.conv_tbc(rg.ones(3, 1, 2), rg.ones(2, 2, 4), rg.zeros(4)).shape
    retrograd.Size([2, 1, 4])
    """
    for name, t in (("Input", input), ("Weight", weight)):
        if t._array.ndim != 3:
            raise RuntimeError(
                f"{name} must have 3 dims: time, batch, in_channel; it has {t._array.ndim}"
            )
    made = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return made.permute(2, 0, 1)  # type: ignore[no-any-return]


# -- dropout and embedding ---------------------------------------------------------------------


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.dropout` without defaults, as PyTorch's `torch.dropout`.

    >>> import retrograd as rg
    >>> rg.dropout(rg.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return dropouts.dropout(input, p, train)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.alpha_dropout` without defaults, as PyTorch's `torch.alpha_dropout`.

    >>> import retrograd as rg
    >>> rg.alpha_dropout(rg.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return dropouts.alpha_dropout(input, p, train)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels of (N, C, ...), as PyTorch's `torch.feature_dropout`.

    >>> import retrograd as rg
    >>> rg.feature_dropout(rg.ones(1, 2, 3), 1.0, True).sum()
    tensor(0.)
    """
    return dropouts.dropout2d(input, p, train)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`nn.functional.feature_alpha_dropout` without defaults.

    >>> import retrograd as rg
    >>> rg.feature_alpha_dropout(rg.ones(1, 2, 3), 0.5, False).sum()
    tensor(6.)
    """
    return dropouts.feature_alpha_dropout(input, p, train)


dropout_ = in_place(dropout)
alpha_dropout_ = in_place(alpha_dropout)
feature_dropout_ = in_place(feature_dropout)
feature_alpha_dropout_ = in_place(feature_alpha_dropout)


def embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight` at `indices`: `nn.functional.embedding` with the table first.

    A negative `padding_idx` is none. Source: PyTorch's `torch.embedding`.

    >>> import retrograd as rg
    >>> rg.embedding(rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([1]))
    tensor([[3., 4.]])
    """
    skipped = None if padding_idx < 0 else padding_idx
    return lookups.embedding(indices, weight, skipped, None, 2.0, scale_grad_by_freq, sparse)


# -- losses ------------------------------------------------------------------------------------


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: Any = 1,
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> rg.binary_cross_entropy_with_logits(rg.zeros(2), rg.ones(2))
    tensor(0.6931)
    """
    return elementwise.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: Any = 1
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> rg.cosine_embedding_loss(rg.ones(1, 2), rg.ones(1, 2), rg.tensor([-1]))
    tensor(1.)
    """
    reduction = _reduction(reduction)
    return metric.cosine_embedding_loss(input1, input2, target, margin, reduction=reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Any = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """`nn.functional.ctc_loss`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> x = rg.zeros(2, 1, 2).log_softmax(-1)
    >>> rg.ctc_loss(x, rg.tensor([[1]]), rg.tensor([2]), rg.tensor([1]))
    tensor(0.2877)
    """
    return ctc.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction),
        zero_infinity,
    )  # fmt: skip


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: Any = 1
) -> Tensor:
    """`nn.functional.hinge_embedding_loss`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> rg.hinge_embedding_loss(rg.tensor([0.25, 0.25]), rg.tensor([1, -1]))
    tensor(0.5000)
    """
    return metric.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def kl_div(
    input: Tensor, target: Tensor, reduction: Any = 1, *, log_target: bool = False
) -> Tensor:
    """`nn.functional.kl_div`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> rg.kl_div(rg.zeros(2), rg.ones(2))
    tensor(0.)
    """
    return divergence.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: Any = 1
) -> Tensor:
    """`nn.functional.margin_ranking_loss`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> rg.margin_ranking_loss(rg.tensor([1.0]), rg.tensor([3.0]), rg.tensor([1.0]))
    tensor(2.)
    """
    reduction = _reduction(reduction)
    return metric.margin_ranking_loss(input1, input2, target, margin, reduction=reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: Any
) -> Tensor:
    """`nn.functional.poisson_nll_loss`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> rg.poisson_nll_loss(rg.zeros(2), rg.ones(2), True, False, 1e-8, 1)
    tensor(1.)
    """
    return divergence.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=_reduction(reduction)
    )


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Any = 1,
) -> Tensor:
    """`nn.functional.triplet_margin_loss`; see the module for `reduction`.

    >>> import retrograd as rg
    >>> a, p, n = rg.tensor([[0.0]]), rg.tensor([[2.0]]), rg.tensor([[1.0]])
    >>> rg.triplet_margin_loss(a, p, n)
    tensor(2.)
    """
    return metric.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction)
    )

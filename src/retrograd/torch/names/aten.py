"""Functions that PyTorch has at its top level with other arguments than under `nn.functional`.

Each hands on to the function of the same name; what that says of shapes, dtypes, errors and
derivatives holds. A `reduction` is here the number 0 (none), 1 (mean) or 2 (sum); names are taken
too. Arguments that choose among GPU kernels are accepted and make no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.inplace import in_place
from ...engine.op import parameters_of
from ...ops.activation import piecewise
from ...ops.activation.smooth import sigmoid
from ...ops.elementwise.trigonometry import tanh
from ...ops.loss import ctc, divergence, elementwise, metric
from ...ops.nn import dropout as dropouts
from ...ops.nn import embedding as lookups
from ...ops.nn import interpolate, normalization
from ...ops.nn.conv import conv_tbc
from ..tables import older

REDUCTIONS = ("none", "mean", "sum")


def named(value: Any) -> str:
    """The name of a reduction that may be given by its number."""
    if isinstance(value, str):
        return value
    if value not in (0, 1, 2):
        raise ValueError(f"{value} is not a valid value for reduction: 0 is none, 1 mean, 2 sum")
    return REDUCTIONS[value]


# By name: what hands on; the arguments of an example; the tensor that it gives.
OLDER: dict[str, tuple[Callable[..., Any], str, str]] = {
    "batch_norm": (
        lambda input, weight, bias, running_mean, running_var, training, momentum, eps,
        cudnn_enabled=True: normalization.batch_norm(
            input, running_mean, running_var, weight, bias, training, momentum, eps),
        "rg.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0", "[[[-1.,  1.]]]",
    ),
    "instance_norm": (
        lambda input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps,
        cudnn_enabled=True: normalization.instance_norm(
            input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps),
        "rg.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0", "[[[-1.,  1.]]]",
    ),
    "layer_norm": (
        lambda input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True:
        normalization.layer_norm(input, normalized_shape, weight, bias, eps),
        "rg.tensor([1.0, 3.0]), (2,), eps=0.0", "[-1.,  1.]",
    ),
    "group_norm": (
        lambda input, num_groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True:
        normalization.group_norm(input, num_groups, weight, bias, eps),
        "rg.tensor([[1.0, 3.0]]), 1, eps=0.0", "[[-1.,  1.]]",
    ),
    "dropout": (
        lambda input, p, train: dropouts.dropout(input, p, train),
        "rg.ones(2), 0.5, False", "[1., 1.]",
    ),
    "alpha_dropout": (
        lambda input, p, train: dropouts.alpha_dropout(input, p, train),
        "rg.ones(2), 0.5, False", "[1., 1.]",
    ),
    "feature_dropout": (
        lambda input, p, train: dropouts.feature_dropout(input, p, train),
        "rg.ones(1, 1, 2), 1.0, True", "[[[0., 0.]]]",
    ),
    "feature_alpha_dropout": (
        lambda input, p, train: dropouts.feature_alpha_dropout(input, p, train),
        "rg.ones(1, 1, 2), 0.5, False", "[[[1., 1.]]]",
    ),
    "embedding": (
        lambda weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False:
        lookups.embedding(indices, weight, None if padding_idx < 0 else padding_idx, None, 2.0,
                          scale_grad_by_freq, sparse),
        "rg.tensor([[1.0, 2.0], [3.0, 4.0]]), rg.tensor([1])", "[[3., 4.]]",
    ),
    "binary_cross_entropy_with_logits": (
        lambda input, target, weight=None, pos_weight=None, reduction=1:
        elementwise.binary_cross_entropy_with_logits(
            input, target, weight, reduction=named(reduction), pos_weight=pos_weight),
        "rg.zeros(2), rg.ones(2)", "0.6931",
    ),
    "cosine_embedding_loss": (
        lambda input1, input2, target, margin=0.0, reduction=1: metric.cosine_embedding_loss(
            input1, input2, target, margin, reduction=named(reduction)),
        "rg.ones(1, 2), rg.ones(1, 2), rg.tensor([-1])", "1.",
    ),
    "ctc_loss": (
        lambda log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1,
        zero_infinity=False: ctc.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, blank, named(reduction),
            zero_infinity),
        "rg.full((2, 1, 2), 0.5).log(), rg.tensor([[1]]), rg.tensor([2]), rg.tensor([1])", "0.2877",
    ),
    "hinge_embedding_loss": (
        lambda input, target, margin=1.0, reduction=1: metric.hinge_embedding_loss(
            input, target, margin, reduction=named(reduction)),
        "rg.tensor([0.25, 0.25]), rg.tensor([1, -1])", "0.5000",
    ),
    "kl_div": (
        lambda input, target, reduction=1, *, log_target=False: divergence.divergence(
            input, target, None, None, named(reduction), log_target),
        "rg.zeros(2), rg.ones(2)", "0.",
    ),
    "margin_ranking_loss": (
        lambda input1, input2, target, margin=0.0, reduction=1: metric.margin_ranking_loss(
            input1, input2, target, margin, reduction=named(reduction)),
        "rg.tensor([1.0]), rg.tensor([3.0]), rg.tensor([1.0])", "2.",
    ),
    "poisson_nll_loss": (
        lambda input, target, log_input, full, eps, reduction: divergence.poisson_nll_loss(
            input, target, log_input, full, eps=eps, reduction=named(reduction)),
        "rg.zeros(2), rg.ones(2), True, False, 1e-8, 1", "1.",
    ),
    "triplet_margin_loss": (
        lambda anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction=1:
        metric.triplet_margin_loss(
            anchor, positive, negative, margin, p, eps, swap, reduction=named(reduction)),
        "rg.tensor([[0.0]]), rg.tensor([[2.0]]), rg.tensor([[1.0]])", "2.",
    ),
}  # fmt: skip

ELSEWHERE = {"feature_dropout": "dropout2d"}
ABOUT = "`nn.functional.{}` with the arguments that PyTorch has at its top level."
NUMBERED = " `reduction` is 0 (none), 1 (mean) or 2 (sum), or its name: else it raises ValueError."


def _older(name: str, call: Callable[..., Any], example: str, shown: str) -> Callable[..., Any]:
    about = ABOUT.format(ELSEWHERE.get(name, name))
    about += NUMBERED if "reduction" in parameters_of(call) else ""
    return older(name, call, about, f"rg.{name}({example})", f"tensor({shown})")


FUNCTIONS: dict[str, Any] = {name: _older(name, *row) for name, row in OLDER.items()}
FUNCTIONS |= {
    f"{name}_": in_place(FUNCTIONS[name])
    for name in ("alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout")
}
FUNCTIONS |= {
    f"{function.__name__}_": in_place(function)
    for function in (
        *(piecewise.celu, piecewise.relu, piecewise.rrelu, piecewise.selu, piecewise.threshold),
        *(sigmoid, tanh),
    )
}
FUNCTIONS |= {
    "channel_shuffle": interpolate.channel_shuffle,
    "conv_tbc": conv_tbc,
    "cosine_similarity": metric.cosine_similarity,
    "native_channel_shuffle": interpolate.channel_shuffle,
    "pairwise_distance": metric.pairwise_distance,
    "pixel_shuffle": interpolate.pixel_shuffle,
    "pixel_unshuffle": interpolate.pixel_unshuffle,
    "rms_norm": normalization.rms_norm,
}
globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)

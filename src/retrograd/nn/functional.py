"""torch.nn.functional's names; nothing is defined here but in-place forms."""

# ruff: noqa: F401, F403, F405

from .. import providers as _providers
from ..engine import inplace, overriding
from ..ops.activation.piecewise import *
from ..ops.activation.softmax_functional import gumbel_softmax, log_softmax, softmax, softmin
from ..ops.linalg.distance import pdist
from ..ops.linalg.matmul import linear
from ..ops.linalg.matrix_products import bilinear
from ..ops.loss.classification import (
    cross_entropy,
    linear_cross_entropy,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    nll_loss,
)
from ..ops.loss.ctc import ctc_loss
from ..ops.loss.divergence import gaussian_nll_loss, kl_div, poisson_nll_loss
from ..ops.loss.elementwise import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
    soft_margin_loss,
)
from ..ops.loss.metric import (
    cosine_embedding_loss,
    cosine_similarity,
    hinge_embedding_loss,
    margin_ranking_loss,
    pairwise_distance,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from ..ops.nn.adaptive_pool import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from ..ops.nn.attention import scaled_dot_product_attention
from ..ops.nn.conv import *
from ..ops.nn.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from ..ops.nn.embedding import embedding, embedding_bag, one_hot
from ..ops.nn.fractional_pool import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from ..ops.nn.grid_sample import affine_grid, grid_sample
from ..ops.nn.im2col import fold, unfold
from ..ops.nn.interpolate import (
    channel_shuffle,
    interpolate,
    pixel_shuffle,
    pixel_unshuffle,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from ..ops.nn.interpolate import channel_shuffle as native_channel_shuffle
from ..ops.nn.multihead_attention import (
    _in_projection,
    _in_projection_packed,
    multi_head_attention_forward,
)
from ..ops.nn.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from ..ops.nn.pool import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ..ops.nn.pool_with_indices import (
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices,
    max_pool1d_with_indices,
    max_pool2d_with_indices,
    max_pool3d_with_indices,
)
from ..ops.shape.pad import pad

celu_, elu_, hardtanh_, leaky_relu_, relu_, rrelu_, selu_, threshold_ = (
    inplace.in_place(overriding.public(function))
    for function in (celu, elu, hardtanh, leaky_relu, relu, rrelu, selu, threshold)
)

overriding.publish(globals(), "retrograd.nn.functional")


def __getattr__(name: str) -> object:
    """A module of PyTorch's world, when it is first asked for."""
    return _providers.attribute(__name__, name)

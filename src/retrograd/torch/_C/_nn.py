"""`torch._C._nn` under the alias: functions that `nn.functional` takes over as they are."""

from ...nn.casts import parse_to as _parse_to
from ...nn.functional import (
    avg_pool2d,
    avg_pool3d,
    elu_,
    gelu,
    hardtanh_,
    leaky_relu_,
    linear,
    one_hot,
    scaled_dot_product_attention,
    softplus,
    softshrink,
)

__all__ = [
    "_parse_to", "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear",
    "one_hot", "scaled_dot_product_attention", "softplus", "softshrink",
]  # fmt: skip

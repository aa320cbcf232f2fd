"""In-place methods as functions, as PyTorch has them: `retrograd.abs_(x)` is `x.abs_()`.

One name, one meaning: each function here is the method itself. Those that are not methods of every
tensor (`dropout_` and the like) are in `aten`.
"""

from __future__ import annotations

from ...engine.tensor import Tensor
from ...ops.elementwise import clamp_where, float_parts
from ...ops.indexing import assign, scatter
from ...ops.linalg import matrix_products
from ...ops.shape import strided
from ...ops.special import bessel, entropy, erf_gamma

NAMES = (
    "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ "
    "asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ "
    "deg2rad_ detach_ erf_ erfc_ exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ "
    "lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ "
    "resize_as_ round_ rsqrt_ sin_ sinc_ sinh_ sqrt_ square_ tan_ trunc_ xlogy_ zero_"
)
# Those whose methods load later: see `ops.lazy_loading`.
FAMILIES = (
    *(assign, bessel, clamp_where, entropy, erf_gamma, float_parts, matrix_products, scatter),
    strided,
)

__all__ = NAMES.split()  # noqa: PLE0605

globals().update({name: getattr(Tensor, name) for name in __all__})

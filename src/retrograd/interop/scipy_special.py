"""Which function stands for which of SciPy's special functions: ufuncs, told by name.

SciPy is not imported for that. Those that PyTorch has are its own; others are compositions, or
records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops, special
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor
from ..ops.special import beta_gamma
from . import numpy_math
from .array_api.arguments import pair, promoted

__all__ = ["SCIPY"]

ORDER = (
    "the derivative for '{name}: order' is not implemented: it has no closed form. If it is not "
    "wanted, pass that argument as v.detach()"
)


def of_order(record: Callable[..., Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """A Bessel function of (order, z), from its record, to which the order is a number.

    Orders that are an array broadcast; NotImplementedError for some that require grad.
    """

    def call(v: Tensor, z: Tensor) -> Tensor:
        if v.requires_grad:
            raise NotImplementedError(ORDER.format(name=record.__name__))
        if v.ndim == 0:
            return record(z, order=float(v))
        z = pair(v, z)[1].expand(np.broadcast_shapes(v.shape, z.shape))
        found = ops.full_like(z, math.nan)
        for order in np.unique(v._array).tolist():
            found = ops.where(v == order, record(z, order=order), found)
        return found

    return call


def erfcinv(x: Tensor) -> Tensor:
    """The inverse of `erfc`, exact for small x."""
    return special.ndtri(x * 0.5) * -math.sqrt(0.5)


def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularised incomplete beta function, with a derivative in `x`."""
    return beta_gamma.betainc(*promoted([a, b, x]))


SCIPY: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(special, name)
        for name in (
            *("digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1"),
            *("gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr"),
            *("logit", "ndtr", "ndtri", "psi", "xlog1py", "xlogy"),
        )
    },
    **{name: getattr(beta_gamma, name) for name in ("beta", "betaln", "gamma", "rgamma")},
    "betainc": betainc,
    "cbrt": numpy_math.cbrt,
    "erfcinv": erfcinv,
    "j0": special.bessel_j0,
    "j1": special.bessel_j1,
    "y0": special.bessel_y0,
    "y1": special.bessel_y1,
    "k0": special.modified_bessel_k0,
    "k1": special.modified_bessel_k1,
    "k0e": special.scaled_modified_bessel_k0,
    "k1e": special.scaled_modified_bessel_k1,
    "jv": of_order(recorded.bessel_j),
    **dict.fromkeys(("yn", "yv"), of_order(recorded.bessel_y)),
    **dict.fromkeys(("kn", "kv"), of_order(recorded.bessel_k)),
    "iv": of_order(recorded.bessel_i),
    "ive": of_order(recorded.bessel_ie),
    "kve": of_order(recorded.bessel_ke),
}

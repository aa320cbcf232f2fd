"""Methods of the families that load later: each loads its family when it is first called.

A family's own `method` calls replace what is attached here. A test compares the lists.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..engine.tensor import method

if TYPE_CHECKING:
    from collections.abc import Callable

__all__: list[str] = []

METHODS = {
    "bessel": "i0 i0_",
    "bins": "bincount histc histogram",
    "cholesky": "cholesky_inverse cholesky_solve",
    "copies": "narrow_copy",
    "covariance": "corrcoef cov",
    "determinant": "det logdet slogdet",
    "digits": "frexp gcd gcd_ lcm lcm_ ldexp ldexp_ nextafter nextafter_",
    "dlpack": "__dlpack__ __dlpack_device__",
    "elements": "apply_ fill_diagonal_ map2_ map_",
    "incomplete": "igamma igamma_ igammac igammac_ mvlgamma mvlgamma_",
    "layouts": "new_empty_strided",
    "logarithmic": "logit logit_ xlogy xlogy_",
    "lookup": "nonzero_static",
    "matrices": "addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ cross kron matrix_power "
    "trace",
    "matrix_functions": "addbmm addbmm_ matrix_exp",
    "old_methods": "const_data_ptr dense_dim dim_order is_distributed new pin_memory reinforce "
    "resize resize_as share_memory_ sparse_dim to_dense",
    "older": "eig lstsq solve symeig",
    "older_linalg": "cholesky lu lu_solve qr svd triangular_solve",
    "orthogonal": "geqrf orgqr ormqr",
    "pseudoinverse": "pinverse",
    "quantiles": "nanquantile quantile",
    "replace": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "segments": "index_reduce index_reduce_ scatter_reduce scatter_reduce_",
    "solve": "inverse",
    "spectrogram": "istft stft",
}


def stub(family: str, name: str) -> Callable[..., Any]:
    """The method `name`, by way of loading `family`."""

    def load_and_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        importlib.import_module(f"{__package__}.{family}")
        return getattr(self, name)(*args, **kwargs)

    return load_and_call


for family, names in METHODS.items():
    for name in names.split():
        method(stub(family, name), name, asks=False)

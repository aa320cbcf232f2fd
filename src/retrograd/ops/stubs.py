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
    "special.bessel": "i0 i0_",
    "reduction.histogram": "bincount histc histogram",
    "linalg.cholesky": "cholesky_inverse cholesky_solve",
    "compat.view_copies": "narrow_copy",
    "reduction.covariance": "corrcoef cov",
    "linalg.determinant": "det logdet slogdet",
    "elementwise.float_parts": "frexp gcd gcd_ lcm lcm_ ldexp ldexp_ nextafter nextafter_",
    "tensor.dlpack": "__dlpack__ __dlpack_device__",
    "indexing.elements": "apply_ fill_diagonal_ map2_ map_",
    "special.incomplete_gamma": "igamma igamma_ igammac igammac_ mvlgamma mvlgamma_",
    "creation.strided": "new_empty_strided",
    "special.entropy": "logit logit_ xlogy xlogy_",
    "sorting.search": "nonzero_static",
    "linalg.matrix_products": "addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ cross kron "
    "matrix_power trace",
    "linalg.matrix_functions": "addbmm addbmm_ matrix_exp",
    "compat.deprecated_methods": "const_data_ptr dense_dim dim_order is_distributed new "
    "pin_memory reinforce resize resize_as share_memory_ sparse_dim to_dense",
    "compat.deprecated": "eig lstsq solve symeig",
    "compat.deprecated_linalg": "cholesky lu lu_solve qr svd triangular_solve",
    "linalg.qr": "geqrf orgqr ormqr",
    "linalg.lstsq": "pinverse",
    "reduction.quantiles": "nanquantile quantile",
    "shape.functional_scatter": "as_strided_scatter diagonal_scatter select_scatter slice_scatter",
    "indexing.segment_reduce": "index_reduce index_reduce_ scatter_reduce scatter_reduce_",
    "linalg.solve": "inverse",
    "fft.stft": "istft stft",
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

"""What functions with several results return: named tuples that print as PyTorch's do."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from ... import version


class Named(tuple[Any, ...]):
    """A tuple whose entries have names, in `_fields`; made quicker than `namedtuple` makes it."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *values: Any) -> Named:
        """One value for each name, or one sequence of them, as PyTorch's types take."""
        if len(values) == 1:
            values = tuple(values[0])
        if len(values) != len(cls._fields):
            raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values, got {len(values)}")
        return tuple.__new__(cls, values)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        lines = [f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)]
        return f"{version.called}.return_types.{type(self).__name__}(\n" + ",\n".join(lines) + ")"


def result_type(name: str, *fields: str) -> Any:
    """A named tuple called `name`."""
    members: dict[str, Any] = {f: property(itemgetter(place)) for place, f in enumerate(fields)}
    members |= {"__slots__": (), "_fields": fields, "__module__": f"{version.called}.return_types"}
    members |= {"n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
    return type(name, (Named,), members)


PAIR = ("values", "indices")

max = result_type("max", *PAIR)
min = result_type("min", *PAIR)
aminmax = result_type("aminmax", "min", "max")
median = result_type("median", *PAIR)
nanmedian = result_type("nanmedian", *PAIR)
mode = result_type("mode", *PAIR)
kthvalue = result_type("kthvalue", *PAIR)
sort = result_type("sort", *PAIR)
topk = result_type("topk", *PAIR)
cummax = result_type("cummax", *PAIR)
cummin = result_type("cummin", *PAIR)

linalg_cholesky_ex = result_type("linalg_cholesky_ex", "L", "info")
linalg_eig = result_type("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = result_type("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_inv_ex = result_type("linalg_inv_ex", "inverse", "info")
linalg_ldl_factor = result_type("linalg_ldl_factor", "LD", "pivots")
linalg_ldl_factor_ex = result_type("linalg_ldl_factor_ex", "LD", "pivots", "info")
linalg_lstsq = result_type("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_lu = result_type("linalg_lu", "P", "L", "U")
linalg_lu_factor = result_type("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = result_type("linalg_lu_factor_ex", "LU", "pivots", "info")
linalg_qr = result_type("linalg_qr", "Q", "R")
linalg_slogdet = result_type("linalg_slogdet", "sign", "logabsdet")
linalg_solve_ex = result_type("linalg_solve_ex", "result", "info")
linalg_svd = result_type("linalg_svd", "U", "S", "Vh")
geqrf = result_type("geqrf", "a", "tau")
lu_unpack = result_type("lu_unpack", "P", "L", "U")
qr = result_type("qr", "Q", "R")
slogdet = result_type("slogdet", "sign", "logabsdet")
svd = result_type("svd", "U", "S", "V")
triangular_solve = result_type("triangular_solve", "solution", "cloned_coefficient")
frexp = result_type("frexp", "mantissa", "exponent")
histogram = result_type("histogram", "hist", "bin_edges")
histogramdd = result_type("histogramdd", "hist", "bin_edges")

"""Parametrizations ready to use: weight normalization, spectral normalization, orthogonality."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import linalg
from ...engine.registry import name_node
from ...engine.tensor import Tensor, alias, new_tensor, wrote
from ...engine.writable import check_writable
from ...kernels.allocation import has_values
from ...ops.creation.factories import eye
from ...ops.linalg.matmul import mv, vdot
from ...ops.random.factories import randn
from ...ops.shape.join import cat
from .. import functional as F
from ..modules.module import Module
from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# -- weight normalization ------------------------------------------------------------------------


def norm_except(v: Tensor, dim: int) -> Tensor:
    """The 2-norm of `v` over all dimensions but `dim`, kept as ones; over all for -1."""
    if dim == -1:
        return v.norm()
    others = [d for d in range(v._array.ndim) if d != dim % v._array.ndim]
    return v.norm(2, others, keepdim=True) if others else v.abs()


def of_norm(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The weight of direction `v` and norm `g`; PyTorch has a kernel for the first and last dim."""
    made = v * (g / norm_except(v, dim))
    fused = dim in (0, v.ndim - 1)
    return name_node(made, "WeightNormInterfaceBackward0") if fused else made


class _WeightNorm(Module):
    """weight = original1 / |original1| * original0, the norm being taken over all dims but one."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        """The weight of norm `weight_g` and direction `weight_v`."""
        return of_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norm and the direction of a weight, as the originals to keep."""
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Any:
    """Let the weight `name` have a norm and a direction of their own as parameters.

    The norm (original0) is one number per place of dimension `dim`, or one for all if that is None;
    original1 gives the direction. Complex weights work too. Returns the module. Source: PyTorch's
    `parametrizations.weight_norm`; Salimans and Kingma, NeurIPS 2016.

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    retrograd.Size([40, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(module: Any, state: Any, prefix: str, *rest: Any) -> None:
        """Read a state saved with `nn.utils.weight_norm`."""
        for old, number in (("g", 0), ("v", 1)):
            key = f"{prefix}{name}_{old}"
            if key in state:
                state[f"{prefix}parametrizations.{name}.original{number}"] = state.pop(key)

    module.register_load_state_dict_pre_hook(rename)
    return module


# -- spectral normalization ----------------------------------------------------------------------


def as_matrix(weight: Tensor, dim: int) -> Any:
    """`weight` with dimension `dim` first and the others made one."""
    if weight._array.ndim == 1:
        return weight.unsqueeze(1)
    order = [dim, *[d for d in range(weight._array.ndim) if d != dim]]
    return weight.permute(*order).flatten(1)


def power_steps(matrix: Any, u: Tensor, v: Tensor, steps: int, eps: float) -> None:
    """Bring `u` and `v` nearer to the first singular vectors of the array `matrix`, in place."""
    if not has_values(matrix):
        return
    adjoint = matrix.conj().T
    for _ in range(steps):
        for target, factor, other in ((u, matrix, v), (v, adjoint, u)):
            check_writable(target, "power iteration")
            found = factor @ other._array
            np.divide(found, np.maximum(np.linalg.norm(found), eps), out=target._array)
            wrote(target, "power iteration")


class _SpectralNorm(Module):
    """weight / its largest singular value, which power iteration estimates."""

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight._array.ndim
        if not -ndim <= dim < ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps = dim % ndim, eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(alias(weight, None), self.dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                drawn = randn(size, dtype=weight.dtype, device=weight.device)
                self.register_buffer(name, F.normalize(drawn, dim=0, eps=eps))
            power_steps(matrix._array, self._u, self._v, 15, eps)

    def forward(self, weight: Tensor) -> Any:
        """The normalized weight; while training, after further steps of the iteration."""
        if weight._array.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            power_steps(matrix._array, self._u, self._v, self.n_power_iterations, self.eps)
        u, v = self._u.clone(), self._v.clone()
        return weight / vdot(u, mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """`value` itself, which is divided by its norm when it is read."""
        return value


TRANSPOSED = ("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")


def output_dim(module: Module, dim: int | None) -> int:
    """`dim`, or where it is None the dimension of the outputs of `module`."""
    if dim is not None:
        return dim
    return int(any(kind.__name__ in TRANSPOSED for kind in type(module).__mro__))


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide the weight `name`, as a matrix, by its largest singular value.

    While training, every reading takes `n_power_iterations` steps of the power iteration that
    estimates it; `dim` is the dimension of the outputs. Complex weights work too. Returns the
    module. Raises ValueError without such a parameter. Source: PyTorch's
    `parametrizations.spectral_norm`; Miyato et al., ICLR 2018.

    >>> layer = rg.nn.utils.parametrizations.spectral_norm(rg.nn.Linear(20, 40))
    >>> bool((rg.linalg.matrix_norm(layer.weight, 2) - 1).abs() < 0.2)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    made = _SpectralNorm(weight, n_power_iterations, output_dim(module, dim), eps)
    return register_parametrization(module, name, made)


# -- orthogonality -------------------------------------------------------------------------------


def _nearest_unitary(a: Any) -> Any:
    """Q of the QR factors of the array `a`, with the phases of R's diagonal."""
    q, r = np.linalg.qr(a)
    diagonal = np.diagonal(r, axis1=-2, axis2=-1)
    size = np.abs(diagonal)
    return q * np.where(size == 0, 1, diagonal / np.where(size == 0, 1, size))[..., None, :]


def _is_unitary(q: Any) -> bool:
    """Whether the columns of the array `q` are orthonormal, to ten times the rounding error."""
    product = np.conj(np.swapaxes(q, -1, -2)) @ q
    tolerance = 10 * np.finfo(q.dtype).eps * q.shape[-2]
    return bool(np.allclose(product, np.eye(q.shape[-1]), rtol=0, atol=tolerance))


class _Orthogonal(Module):
    """An orthogonal (unitary) matrix as a function of a triangular one."""

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.dtype.is_complex and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = tuple(weight.shape), orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Any:
        """The matrix with orthonormal columns, or rows if it is wide."""
        wide = X.shape[-2] < X.shape[-1]
        tall: Any = X.mT if wide else X
        made = self._reflected(tall) if self.orthogonal_map == "householder" else self._mapped(tall)
        if self.use_trivialization:
            made = self.base @ made
        return made.mT if wide else made

    def _reflected(self, X: Any) -> Any:
        """The product of the reflections that the columns give, with the signs of the diagonal."""
        A = X.tril(-1)
        made = linalg.householder_product(A, 2.0 / (1.0 + (A * A).sum(-2)))
        signs = X.detach().diagonal(0, -2, -1).trunc()
        return made * signs.unsqueeze(-2)

    def _mapped(self, X: Any) -> Any:
        """The exponential, or the Cayley transform, of the skew-Hermitian matrix of X."""
        n, k = X.shape[-2:]
        X = X.tril()
        if n != k:
            X = cat([X, X.new_zeros((*X.shape[:-1], n - k))], -1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            made = linalg.matrix_exp(A)
        else:
            identity = eye(n, dtype=A.dtype)
            made = linalg.solve(identity - A * 0.5, identity + A * 0.5)
        return made[..., :k] if n != k else made

    def right_inverse(self, Q: Tensor) -> Tensor:
        """The matrix from which `forward` gives `Q`, made orthogonal first if it is not."""
        if tuple(Q.shape) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {tuple(Q.shape)}."
            )
        wide = Q.shape[-2] < Q.shape[-1]
        q = np.swapaxes(Q._array, -1, -2) if wide else Q._array
        if self.use_trivialization:
            return self._based(Q, q)
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        raw, tau = np.linalg.qr(q, mode="raw")
        found = np.swapaxes(raw, -1, -2).copy()
        places = np.arange(found.shape[-1])
        # A reflection that LAPACK leaves out (tau = 0) does not turn the sign of its column.
        found[..., places, places] = np.sign(found[..., places, places]) * np.where(tau == 0, -1, 1)
        return new_tensor(np.swapaxes(found, -1, -2) if wide else found)

    def _based(self, Q: Tensor, q: Any) -> Tensor:
        """Hold the whole unitary matrix of `q` as `base`; minus the identity then gives it."""
        n, k = q.shape[-2:]
        if n != k:
            more = randn(*q.shape[:-1], n - k, dtype=Q.dtype)._array
            q = _nearest_unitary(np.concatenate([q, more], -1))
        elif not _is_unitary(q):
            q = _nearest_unitary(q)
        self.base = new_tensor(q.copy())
        made = np.zeros(self.shape, Q._array.dtype)
        places = np.arange(min(self.shape[-2:]))
        made[..., places, places] = -1
        return new_tensor(made)


MAPS = ("matrix_exp", "cayley", "householder")


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Any:
    """Keep the matrix `name` orthogonal (unitary if complex), or batches of matrices.

    orthogonal_map: "matrix_exp", "cayley" or "householder" (real only); by default the first for
    square or complex matrices, else the last. Columns are orthonormal, or rows of a wide matrix.
    `use_trivialization` measures from the present matrix, which must be for assigning values to the
    first two. Returns the module. Raises ValueError for vectors and unknown maps. Source:
    PyTorch's `parametrizations.orthogonal`; Lezcano-Casado, NeurIPS 2019.

    >>> layer = rg.nn.utils.parametrizations.orthogonal(rg.nn.Linear(20, 40))
    >>> bool((layer.weight.mT @ layer.weight - rg.eye(20)).abs().max() < 1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight._array.ndim < 2:
        raise ValueError(
            "Expected a matrix or batch of matrices. Got a tensor of "
            f"{weight._array.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.dtype.is_complex else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)

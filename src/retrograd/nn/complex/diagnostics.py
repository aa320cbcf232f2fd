"""How far complex data are from circular: second moments that a real network cannot have.

Data are circular to second order if turning them by a phase changes no second moment, so if their
pseudo-covariance E[z z^T] is 0. Then linear layers suffice; else widely-linear ones do better.
Source: Schreier and Scharf, "Statistical signal processing of complex-valued data", 2010.
"""

from __future__ import annotations

from typing import NamedTuple

from ...engine.tensor import Tensor
from ...ops.linalg.eigen import eigh
from ...ops.linalg.svd import svdvals
from ...ops.special.incomplete_gamma import igammac
from .functional import check_complex

__all__ = [
    "CircularityTest", "circularity_coefficients", "circularity_quotient", "circularity_test",
    "covariance", "pseudo_covariance",
]  # fmt: skip


def centered(name: str, input: Tensor) -> Tensor:
    """The samples (N, F) less their mean; ValueError for what are not complex samples."""
    check_complex(name, input)
    if input.ndim != 2 or input.shape[0] < 2:
        raise ValueError(
            f"{name}(): expected samples of shape (N, features) with N > 1, got {list(input.shape)}"
        )
    return input - input.mean(0)


def covariance(input: Tensor) -> Tensor:
    """E[(z - m) (z - m)^H], Hermitian (F, F), of complex samples (N, F); divided by N.

    Raises ValueError for other shapes and dtypes.

    >>> rg.nn.complex.covariance(rg.tensor([[1j], [-1j]]))
    tensor([[1.+0.j]])
    """
    z = centered("covariance", input)
    return z.mT @ z.conj() / len(z)


def pseudo_covariance(input: Tensor) -> Tensor:
    """E[(z - m) (z - m)^T], symmetric (F, F), of complex samples (N, F); divided by N.

    Raises ValueError for other shapes and dtypes.

    >>> rg.nn.complex.pseudo_covariance(rg.tensor([[1j], [-1j]])).real
    tensor([[-1.]])
    """
    z = centered("pseudo_covariance", input)
    return z.mT @ z / len(z)


def circularity_quotient(input: Tensor) -> Tensor:
    """E[(z - m)^2] / E|z - m|^2 of each feature, complex (F), of samples (N, F).

    Its modulus is the eccentricity squared of the ellipse of scatter, from 0, circular, to 1, a
    line; half its angle is the direction of that line. Raises ValueError for other shapes and
    dtypes, and gives NaN for a constant. Source: Ollila, IEEE Signal Processing Letters 15 (2008).

    >>> rg.nn.complex.circularity_quotient(rg.tensor([[1.0, 1j], [-1.0, -1j]])).real
    tensor([ 1., -1.])
    """
    z = centered("circularity_quotient", input)
    return (z * z).mean(0) / (z * z.conj()).real.mean(0)


def circularity_coefficients(input: Tensor) -> Tensor:
    """The canonical correlations of z and z*, (F) in falling order, from samples (N, F).

    Singular values of C^(-1/2) P C^(-T/2) for covariance C and pseudo-covariance P: 0 for circular
    data, 1 in a direction that is real up to a phase. No linear map of z changes them. Raises
    ValueError for other shapes and dtypes, and LinAlgError or NaN follows from a singular C.
    Source: Eriksson and Koivunen, IEEE Trans. Information Theory 52 (2006).

    >>> z = rg.tensor([[1.0, 1j], [-1.0, 1j], [0j, -2j], [0j, 0j]])
    >>> rg.nn.complex.circularity_coefficients(z).round(decimals=4)
    tensor([1., 1.])
    """
    values, vectors = eigh(covariance(input))
    root = (vectors / values.sqrt()) @ vectors.mH
    return svdvals(root @ pseudo_covariance(input) @ root.mT)


class CircularityTest(NamedTuple):
    """What `circularity_test` found: `statistic` and `p_value`, 0-d real tensors."""

    statistic: Tensor
    p_value: Tensor


def circularity_test(input: Tensor) -> CircularityTest:
    """The likelihood-ratio test that Gaussian samples (N, F) are circular.

    statistic: -N sum log(1 - k^2) over the circularity coefficients k, chi-squared with F (F + 1)
    degrees of freedom if they are; p_value: the probability of a larger one, small where widely
    linear layers are worth their price. For N much larger than F. Raises ValueError for other
    shapes and dtypes. Source: Ollila and Koivunen, ISCCSP 2004; Schreier, Scharf and Hanssen, 2006.

    >>> z = rg.randn(500, 2, dtype=rg.complex128)
    >>> straight, turned = map(rg.nn.complex.circularity_test, (z, z + z.conj() / 2))
    >>> bool(straight.p_value > 0.001), bool(turned.p_value < 1e-9)
    (True, True)
    """
    k = circularity_coefficients(input)
    statistic = -(-k * k).log1p().sum() * input.shape[0]
    freedom = input.shape[1] * (input.shape[1] + 1)
    half = statistic.new_tensor(freedom / 2.0)
    return CircularityTest(statistic, igammac(half, statistic / 2))

"""`UnitarySGD`, `UnitaryAdam`: descent among matrices whose columns, or rows, are orthonormal.

NOTE [Cayley steps] Of a tall matrix x with x^H x = 1 and a gradient g, the skew-Hermitian matrix
A = (g x^H - x g^H) / 2 says along which rotations the loss grows: the gradient within the set of
such matrices is A x. The step is x <- (1 + t A / 2)^(-1) (1 - t A / 2) x, which is unitary times x
for any skew-Hermitian A and t; so averages of A may take its place. One step of Newton's iteration,
x <- x (3 - x^H x) / 2, takes the rounding errors of x^H x back, lest they add up. A wide matrix is
treated as its transpose. Real matrices are the special case of orthogonal ones.
Source: Wen and Yin, Mathematical Programming 142 (2013); Wisdom et al., NeurIPS 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor import Tensor, new_tensor
from ..kernels import allocation
from .optimizer import ParamsT
from .rules import Rule, check_betas, check_settings, scalar, settings

__all__ = ["UnitaryAdam", "UnitarySGD"]


def adjoint(x: Any) -> Any:
    """x^H of each matrix."""
    return x.conj().swapaxes(-1, -2)


def tall(x: Any) -> Any:
    """x, or its transpose if that has fewer columns: a view."""
    return x.swapaxes(-1, -2) if x.shape[-2] < x.shape[-1] else x


def rotation(x: Any, g: Any) -> Any:
    """A of NOTE [Cayley steps] for tall x and g."""
    half = g @ adjoint(x)
    return (half - adjoint(half)) * 0.5


def turn(x: Any, step: Any) -> None:
    """Write the Cayley step of a skew-Hermitian matrix into the tall matrix x."""
    half, one = step * 0.5, np.eye(x.shape[-2], dtype=x.dtype)
    y = np.linalg.solve(one + half, x - half @ x)
    x[...] = 1.5 * y - 0.5 * (y @ (adjoint(y) @ y))


class _Unitary(Rule):
    """What both share: the check of parameters, and states of the shape of A."""

    elementwise = False

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group; ValueError for a parameter whose columns or rows are not orthonormal."""
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            x = p._array
            if x.ndim < 2 or x.dtype.char not in "fdFD":
                raise ValueError(
                    f"{type(self).__name__}: parameters must be matrices, got {p.dtype} of shape "
                    f"{list(p.shape)}"
                )
            x = tall(x)
            apart = np.abs(adjoint(x) @ x - np.eye(x.shape[-1])).max(initial=0)
            if not apart < 1e-3:
                raise ValueError(
                    f"{type(self).__name__}: the columns of a parameter of shape {list(p.shape)} "
                    f"are not orthonormal: x^H x is {apart:.2g} away from the identity. Start with "
                    "nn.init.orthogonal_(x)"
                )

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """The first state: a mean of zeros in the shape of A."""
        x = tall(x)
        shape = (*x.shape[:-1], x.shape[-2])
        return {"step": scalar(0), self.arrays[0]: new_tensor(allocation.zeros(x, shape))}


class UnitarySGD(_Unitary):
    """SGD among unitary matrices: each parameter, (*, m, n), keeps its orthonormal columns.

    Rows, where m < n; real or complex. The step of length `lr` along the rotation A, or along
    `b <- momentum * b + A`, is Cayley's: NOTE [Cayley steps] in `optim.unitary`. State: "step",
    "momentum_buffer" (m, m). Raises ValueError for negative settings and for parameters that are
    not orthonormal to begin with. Source: Wen and Yin, 2013.

    >>> x = rg.eye(2, dtype=rg.complex64).requires_grad_()
    >>> optimizer = rg.optim.UnitarySGD([x], lr=0.5)
    >>> (x - rg.tensor([[0, 1], [1, 0j]])).abs().square().sum().backward()
    >>> optimizer.step()
    >>> bool((x @ x.mH - rg.eye(2)).abs().max() < 1e-6)
    True
    """

    arrays = ("momentum_buffer",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        momentum: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        check_settings(lr=lr, momentum=momentum)
        super().__init__(params, settings(locals()))

    def numbers(self, group: dict[str, Any], step: Any) -> tuple[Any, ...]:
        """The numbers of a step, which are the same in every step."""
        return group["lr"], group["momentum"]

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        (lr, momentum), (b,) = numbers, state
        x, g = tall(x), tall(g)
        b *= momentum
        b += rotation(x, g)
        turn(x, b * lr)


class UnitaryAdam(_Unitary):
    """Adam among unitary matrices: each parameter, (*, m, n), keeps its orthonormal columns.

    Rows, where m < n; real or complex. With averages `m` of the rotation A and `v`, one number per
    matrix, of the mean |A_ij|^2, the step is Cayley's along lr m' / (sqrt(v') + eps): NOTE [Cayley
    steps] in `optim.unitary`. State: "step", "exp_avg" (m, m), "exp_avg_sq" (1, 1). Raises
    ValueError for settings out of range and for parameters that are not orthonormal to begin with.
    Source: Becigneul and Ganea, "Riemannian adaptive optimization methods", ICLR 2019.

    >>> x = rg.eye(2, dtype=rg.complex64).requires_grad_()
    >>> optimizer = rg.optim.UnitaryAdam([x], lr=0.1)
    >>> (x - rg.tensor([[0, 1], [1, 0j]])).abs().square().sum().backward()
    >>> optimizer.step()
    >>> bool((x @ x.mH - rg.eye(2)).abs().max() < 1e-6)
    True
    """

    arrays = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, ...] = (0.9, 0.999),
        eps: float = 1e-8,
        *,
        maximize: bool = False,
    ) -> None:
        check_settings(lr=lr, eps=eps)
        check_betas(betas)
        super().__init__(params, settings(locals()))

    def begin(self, x: Any, group: dict[str, Any]) -> dict[str, Tensor]:
        """An average of A, and one number per matrix."""
        size = new_tensor(allocation.zeros(x.real, (*x.shape[:-2], 1, 1)))
        return {**super().begin(x, group), "exp_avg_sq": size}

    def numbers(self, group: dict[str, Any], step: Any) -> tuple[Any, ...]:
        """The rates, the step's length and eps, freed of the start at zero as in `Adam`."""
        beta1, beta2 = group["betas"]
        root = (1 - beta2**step) ** 0.5
        return beta1, beta2, group["lr"] * root / (1 - beta1**step), group["eps"] * root

    @staticmethod
    def rule(x: Any, g: Any, state: list[Any], numbers: Any, group: dict[str, Any]) -> None:
        """See the class."""
        (beta1, beta2, size, eps), (m, v) = numbers, state
        x, g = tall(x), tall(g)
        a = rotation(x, g)
        m *= beta1
        m += a * (1 - beta1)
        v *= beta2
        v += (np.abs(a) ** 2).mean((-2, -1), keepdims=True) * (1 - beta2)
        turn(x, m * (size / (np.sqrt(v) + eps)))

"""Batch normalization that whitens complex numbers, and one of moduli.

NOTE [Whitening] A complex number has two parts, whose covariance V is a 2 x 2 matrix. Dividing by
the root of E|z|^2 = tr V leaves the numbers on an ellipse; multiplying by V^(-1/2) makes its parts
uncorrelated, of variance 1 each. With s = sqrt(det V) and t = sqrt(tr V + 2 s) it is
[[V_ii + s, -V_ri], [-V_ri, V_rr + s]] / (s t). As a function of z it is widely linear: p z + q z*,
with p = (V_rr + V_ii + 2 s) / (2 s t), real, and q = (V_ii - V_rr - 2 i V_ri) / (2 s t).
Source: Trabelsi et al., "Deep complex networks", ICLR 2018, section 3.5.
"""

from __future__ import annotations

from ... import dtypes, modes
from ...dtypes import dtype
from ...engine.namespaces import recorded
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from ...ops.nn.normalization import squared_modulus
from ...ops.shape.join import stack
from .. import init
from ..modules.module import Module
from ..modules.utils import empty, empty_parameter
from .activation import per_channel
from .functional import check_complex
from .layers import complex_dtype

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "MagnitudeBatchNorm"]


class _Tracked(Module):
    """Running statistics in buffers, each of one number per channel."""

    _shown_settings = "num_features eps= momentum="

    def __init__(self, num_features: int, eps: float, momentum: float | None) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum

    def _track(self, **found: Tensor) -> None:
        """Move the running statistics towards those of this batch, outside the graph."""
        with modes.Changed(grad=False):
            self.num_batches_tracked.add_(1)
            share = self.momentum
            if share is None:  # a plain average over all batches so far
                share = 1.0 / self.num_batches_tracked.item()
            for name, value in found.items():
                getattr(self, f"running_{name}").mul_(1 - share).add_(value.detach() * share)

    def _check(self, input: Tensor) -> tuple[list[int], int]:
        """The dims to average over, and how many numbers of a channel they hold."""
        if input.ndim < 2 or input.shape[1] != self.num_features:
            raise ValueError(
                f"expected input of shape (N, {self.num_features}, ...), got {list(input.shape)}"
            )
        check_complex(type(self).__name__, input)
        count = input.numel() // self.num_features
        if self.training and count < 2:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size "
                f"{list(input.shape)}"
            )
        return [0, *range(2, input.ndim)], count


class _Whitening(_Tracked):
    """What the batch norms of one to three dimensions share."""

    _shown_settings = "num_features eps= momentum= affine= track_running_stats="
    dims: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        self.affine, self.track_running_stats = affine, track_running_stats
        dtype = complex_dtype(dtype)
        size, real = (num_features,), dtypes.of_numpy(dtypes.real_of(dtype.numpy))
        names = {"weight": ((num_features, 3), real), "bias": (size, dtype)}
        for name, (shape, kind) in names.items():
            made = empty_parameter(shape, device, kind) if affine else None
            self.register_parameter(name, made)
        on = track_running_stats
        self.register_buffer("running_mean", empty(size, device, dtype) if on else None)
        self.register_buffer("running_cov", empty((num_features, 3), device, real) if on else None)
        count = empty((), device, dtypes.int64) if on else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The identity, for circular data of E|z|^2 = 1."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.zeros_(self.num_batches_tracked)
            self.running_cov.copy_(self.running_cov.new_tensor([0.5, 0.0, 0.5]))
        if self.affine:
            init.zeros_(self.bias)
            with modes.Changed(grad=False):
                self.weight.copy_(self.weight.new_tensor([0.5**0.5, 0.0, 0.5**0.5]))

    def forward(self, input: Tensor) -> Tensor:
        """`input` whitened, by its own statistics while training, else by the running ones."""
        if input.ndim not in self.dims:
            wanted = " or ".join(f"{n}D" for n in self.dims)
            raise ValueError(f"expected {wanted} input (got {input.ndim}D input)")
        dims, count = self._check(input)
        if self.training or not self.track_running_stats:
            mean = input.mean(dims)
            centered = input - per_channel(mean, input)
            x, y = centered.real, centered.imag
            cov = stack([(a * b).mean(dims) for a, b in ((x, x), (x, y), (y, y))], -1)
            if self.training and self.track_running_stats:
                self._track(mean=mean, cov=cov * (count / (count - 1)))
        else:
            mean, cov = self.running_mean, self.running_cov.real
            centered = input - per_channel(mean, input)
        straight, conjugate = whitener(cov, self.eps)
        if self.affine:
            rr, ri, ii = self.weight.real.unbind(-1)
            p, q = (rr + ii) * 0.5, recorded.complex(rr - ii, 2 * ri) * 0.5
            straight, conjugate = (
                p * straight + q * conjugate.conj(),
                p * conjugate + q * straight,
            )
        out = per_channel(straight, input) * centered
        out = out + per_channel(conjugate, input) * centered.conj()
        return out + per_channel(self.bias, input) if self.affine else out


def whitener(cov: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """p and q of NOTE [Whitening] from (V_rr, V_ri, V_ii), (C, 3), with eps on the diagonal."""
    rr, ri, ii = cov.unbind(-1)
    rr, ii = rr + eps, ii + eps
    s = (rr * ii - ri * ri).sqrt()
    trace = rr + ii + 2 * s
    scale = 0.5 / (s * trace.sqrt())
    return trace * scale, recorded.complex((ii - rr) * scale, -2 * ri * scale)


class BatchNorm1d(_Whitening):
    """Batch norm of (N, C) or (N, C, L) that whitens both parts by each channel's 2 x 2 covariance.

    Parameters: `weight`, real (C, 3), the symmetric matrix (rr, ri, ii) that the whitened parts are
    multiplied by, at first the one that makes E|z|^2 = 1; `bias`, complex (C). Buffers:
    running_mean, running_cov (C, 3), with n / (n - 1) as in `nn.BatchNorm1d`, num_batches_tracked.
    Complex input, else ValueError, also for other shapes and for one number per channel in
    training. Source: Trabelsi et al., ICLR 2018.

    >>> z = rg.randn(64, 3, dtype=rg.complex64)
    >>> out = rg.nn.complex.BatchNorm1d(3)(z + 2 * z.conj() + 1)
    >>> bool((out * out).mean(0).abs().max() < 1e-3), bool((out.abs() ** 2).mean().sub(1) < 1e-3)
    (True, True)
    """

    dims = (2, 3)


class BatchNorm2d(_Whitening):
    """Batch norm of (N, C, H, W) by each channel's 2 x 2 covariance; all else as `BatchNorm1d`.

    Raises ValueError for input that does not fit.

    >>> rg.nn.complex.BatchNorm2d(3)(rg.ones(2, 3, 4, 4, dtype=rg.complex64)).abs().max().item()
    0.0
    """

    dims = (4,)


class BatchNorm3d(_Whitening):
    """Batch norm of (N, C, D, H, W) by each channel's covariance; all else as `BatchNorm1d`.

    Raises ValueError for input that does not fit.

    >>> rg.nn.complex.BatchNorm3d(3)(rg.ones(2, 3, 2, 4, 4, dtype=rg.complex64)).abs().max().item()
    0.0
    """

    dims = (5,)


class MagnitudeBatchNorm(_Tracked):
    """z over the root of its channel's E|z|^2, times a real weight: phases stay as they are.

    (N, C, *) to the same shape, complex, else ValueError, also for one number per channel in
    training. Nothing is subtracted, so that turning the input turns the output. Parameters:
    `weight`, real (C), 1 at first. Buffers: running_power (C), num_batches_tracked.

    >>> rg.nn.complex.MagnitudeBatchNorm(1, eps=0.0)(rg.tensor([[3j], [-3 + 0j]])).detach()
    tensor([[ 0.+1.j],
            [-1.+0.j]])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum)
        self.weight = empty_parameter((num_features,), device, dtype)
        self.register_buffer("running_power", empty((num_features,), device, dtype))
        self.register_buffer("num_batches_tracked", empty((), device, dtypes.int64))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight and running power 1."""
        init.ones_(self.weight)
        init.ones_(self.running_power)
        init.zeros_(self.num_batches_tracked)

    def forward(self, input: Tensor) -> Tensor:
        """`input` scaled, by its own power while training, else by the running one."""
        dims, _ = self._check(input)
        power = self.running_power.real
        if self.training:
            power = squared_modulus(input).mean(dims)
            self._track(power=power)
        return input * per_channel(self.weight.real / (power + self.eps).sqrt(), input)

"""`TransformedDistribution`: of f(x) for samples x of another; `Independent`: batches as events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..autograd.grad_mode import no_grad
from ..engine.tensor import Size, Tensor
from . import constraints
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["Independent", "TransformedDistribution"]


def of_base(name: str) -> property:
    """The property of a transformed distribution that its base has under the same name."""

    def read(self: Any) -> Any:
        base = self.base_dist
        return getattr(base.base_dist if isinstance(base, Independent) else base, name)

    return property(read, doc=f"`{name}` of the base distribution.")


class Independent(Distribution):
    """A distribution whose last `reinterpreted_batch_ndims` batch dimensions are its event's.

    `log_prob` is summed over them. Raises ValueError for more than there are. Source: PyTorch's
    `distributions.Independent`.

    >>> D = rg.distributions
    >>> diagonal = D.Independent(D.Normal(rg.zeros(3), rg.ones(3)), 1)
    >>> diagonal.batch_shape, diagonal.event_shape, diagonal.log_prob(rg.zeros(3))
    (retrograd.Size([]), retrograd.Size([3]), tensor(-2.7568))
    """

    arg_constraints: ClassVar = {}

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        shape = base_distribution.batch_shape + base_distribution.event_shape
        batch = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        if batch < 0:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:batch], shape[batch:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        more = self.event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(Size((*batch_shape, *more)))
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    mean = property(lambda self: self.base_dist.mean, doc="Of the base.")
    mode = property(lambda self: self.base_dist.mode, doc="Of the base.")
    variance = property(lambda self: self.base_dist.variance, doc="Of the base.")

    @property
    def has_enumerate_support(self) -> bool:
        """Whether `enumerate_support` is defined: not if independent values would multiply."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        """The base's support, of more dimensions."""
        support = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            support = constraints.independent(support, self.reinterpreted_batch_ndims)
        return support

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples of the base."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Differentiable samples of the base."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The base's, summed over the reinterpreted dimensions."""
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The base's, summed over the reinterpreted dimensions."""
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """The base's, unless dimensions were reinterpreted: then NotImplementedError."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of f(x) for x from `base_distribution` and f a transform, or a list of them.

    `log_prob(y)` is the base's at x, less log |det df/dx|; `cdf` and `icdf` need monotone
    transforms. Raises ValueError for what is no transform, and for a base of too few dimensions.
    Source: PyTorch's `distributions.TransformedDistribution`.

    >>> D = rg.distributions
    >>> logit = D.SigmoidTransform().inv
    >>> logistic = D.TransformedDistribution(D.Uniform(0.0, 1.0), [logit, D.AffineTransform(1, 2)])
    >>> logistic.cdf(rg.tensor([1.0, 3.0]))
    tensor([0.5000, 0.7311])
    """

    arg_constraints: ClassVar[Any] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(transforms, (Transform, list)):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        self.transforms = transforms if isinstance(transforms, list) else [transforms]
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        whole = ComposeTransform(self.transforms)
        base, event = base_distribution, len(base_distribution.event_shape)
        shape = base.batch_shape + base.event_shape
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {shape}."
            )
        forward = whole.forward_shape(shape)
        expanded = whole.inverse_shape(forward)
        if shape != expanded:
            base = base.expand(expanded[: len(expanded) - event])
        if event < whole.domain.event_dim:
            base = Independent(base, whole.domain.event_dim - event)
        self.base_dist = base
        event = whole.codomain.event_dim + max(event - whole.domain.event_dim, 0)
        batch = len(forward) - event
        super().__init__(forward[:batch], forward[batch:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = ComposeTransform(self.transforms).inverse_shape(
            Size((*batch_shape, *self.event_shape))
        )
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        return new

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        """The last transform's codomain, of as many dimensions as an event."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The base's samples, transformed."""
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """The base's differentiable samples, transformed."""
        return self._forward(self.base_dist.rsample(sample_shape))

    def _forward(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        """The base's at the preimage, less the logarithm of the transforms' Jacobian."""
        self._check_sample(value)
        result: Any = 0.0
        event = len(self.event_shape)
        for transform in reversed(self.transforms):
            x = transform.inv(value)
            event += transform.domain.event_dim - transform.codomain.event_dim
            jacobian = transform.log_abs_det_jacobian(x, value)
            result = result - _sum_rightmost(jacobian, event - transform.domain.event_dim)
            value = x
        density = self.base_dist.log_prob(value)
        return result + _sum_rightmost(density, event - len(self.base_dist.event_shape))

    def _monotone(self, share: Tensor) -> Tensor:
        """A share of samples below, or its complement if the transforms decrease."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """The base's at the preimage."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The base's quantile, transformed."""
        return self._forward(self.base_dist.icdf(self._monotone(value)))

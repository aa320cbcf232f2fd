"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ..autograd.grad_mode import no_grad
from ..engine.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """Each sample is one of a component, drawn with the weights of `mixture_distribution`.

    The components are the last batch dimension of `component_distribution`. Raises ValueError
    unless the first is a `Categorical` whose events are as many, and whose batch broadcasts with
    the rest. Source: PyTorch's `distributions.MixtureSameFamily`.

    >>> D = rg.distributions
    >>> two = D.Normal(rg.tensor([-1.0, 1.0]), rg.tensor([0.5, 0.5]))
    >>> mixture = D.MixtureSameFamily(D.Categorical(rg.ones(2)), two)
    >>> mixture.mean, mixture.variance, mixture.cdf(rg.tensor(0.0))
    (tensor(0.), tensor(1.2500), tensor(0.5000))
    """

    arg_constraints: ClassVar = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        mixture, component = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of "
                f"retrograd.distributions.Categorical, not {type(mixture).__name__}"
            )
        if not isinstance(component, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                f"retrograd.distributions.Distribution, not {type(component).__name__}"
            )
        batch, count = component.batch_shape[:-1], mixture.logits.shape[-1]
        for own, others in zip(reversed(mixture.batch_shape), reversed(batch), strict=False):
            if 1 not in (own, others) and own != others:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not "
                    f"compatible with `component_distribution.batch_shape` ({batch})"
                )
        if not component.batch_shape or count != component.batch_shape[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({component.batch_shape[-1:]})"
            )
        self._mixture, self._component, self._num_component = mixture, component, count
        super().__init__(batch, component.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._component = self._component.expand((*batch_shape, self._num_component))
        new._mixture = self._mixture.expand(batch_shape)
        return new

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component."""
        return self._mixture

    @property
    def component_distribution(self) -> Distribution:
        """The distribution of the components, along its last batch dimension."""
        return self._component

    @constraints.dependent_property
    def support(self) -> Any:
        """What every component can give."""
        return constraints.MixtureSameFamilyConstraint(self._component.support)

    def _averaged(self, values: Tensor) -> Tensor:
        """The mean over the components of a value of each."""
        probs, dims = self._mixture.probs, len(self.event_shape)
        probs = probs.reshape((*probs.shape, *[1] * dims))
        return (probs * values).sum(-1 - dims)

    mean = property(lambda self: self._averaged(self._component.mean), doc="The mean.")

    @property
    def variance(self) -> Tensor:
        """The mean variance, and the variance of the means."""
        away = self._component.mean - self._padded(self.mean)
        return self._averaged(self._component.variance) + self._averaged(away**2)

    def _padded(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - len(self.event_shape))

    def cdf(self, value: Tensor) -> Tensor:
        return (self._component.cdf(self._padded(value)) * self._mixture.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        densities = self._component.log_prob(self._padded(value))
        return (densities + self._mixture.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples: each of a component that is drawn first, picked from samples of all."""
        with no_grad():
            events = [1] * len(self.event_shape)
            index = self._mixture.expand(self.batch_shape).sample(sample_shape)
            values = self._component.sample(sample_shape)
            index = index.reshape((*index.shape, 1, *events))
            index = index.expand((*index.shape[: -1 - len(events)], 1, *self.event_shape))
            return values.gather(-1 - len(events), index).squeeze(-1 - len(events))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n  {self._mixture},\n  {self._component})"

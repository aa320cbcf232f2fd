"""The von Mises distribution, of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from .. import special
from ..engine.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .samplers import sample_von_mises
from .utils import Values

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles, from -pi to pi, of density ~ exp(concentration * cos(x - loc)), concentration > 0.

    The circular mean is `loc`, the circular variance 1 - I1 / I0. The derivative of samples by the
    concentration is implicit. Needs SciPy. Source: PyTorch's `distributions.VonMises`.

    >>> VonMises = rg.distributions.VonMises
    >>> VonMises(rg.tensor(0.0), rg.tensor([1.0, 4.0])).log_prob(rg.tensor(0.0)).exp()
    tensor([0.3417, 0.7689])
    """

    arg_constraints: ClassVar = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, loc: Values, concentration: Values, validate_args: bool | None = None
    ) -> None:
        self._parametrize(validate_args, loc=loc, concentration=concentration)

    mean = mode = property(lambda self: self.loc, doc="`loc`.")

    @property
    def variance(self) -> Tensor:
        """1 - I1 / I0."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """`loc` plus a sample about 0, as an angle from -pi to pi."""
        shape = self._extended_shape(sample_shape)
        angle = self.loc + sample_von_mises(self.concentration.expand(shape))
        return (angle + math.pi) % (2 * math.pi) - math.pi

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        k = self.concentration
        drop = -2 * ((value - self.loc) / 2).sin() ** 2  # cos - 1
        return k * drop - special.i0e(k).log() - math.log(2 * math.pi)

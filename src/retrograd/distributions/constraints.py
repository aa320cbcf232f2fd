"""Regions that parameters and samples lie in: which elements of a tensor do is what `check` says.

`is_discrete` tells whether a region is of separate points, `event_dim` how many of the last
dimensions make one element of it. Raises are ValueError. Source: PyTorch's
`distributions.constraints`.

>>> rg.distributions.constraints.positive.check(rg.tensor([-1.0, 2.0]))
tensor([False,  True])
>>> rg.distributions.constraints.simplex.check(rg.tensor([[0.2, 0.8], [0.5, 0.6]]))
tensor([ True, False])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes, linalg, ops
from ..engine.tensor import Tensor

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent",
    "dependent_property", "greater_than", "greater_than_eq", "half_open_interval", "independent",
    "integer_interval", "interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot", "positive",
    "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector",
    "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A region over which a variable is valid, for example one within which it can be optimised.

    >>> isinstance(rg.distributions.constraints.real, rg.distributions.constraints.Constraint)
    True
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """Which events of `value` are valid: booleans of its shape less `event_dim` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not define check(value)")

    def __repr__(self) -> str:
        own = ", ".join(f"{name}={_shown(value)}" for name, value in vars(self).items())
        return f"{type(self).__name__.removeprefix('_')}({own})"


def _shown(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) and value.dim() == 0 else value


# -- regions that depend on other variables --------------------------------------------------------


class _Dependent(Constraint):
    """Placeholder for a region that depends on other variables."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented):
        self._is_discrete, self._event_dim = is_discrete, event_dim

    is_discrete = property(lambda self: self._known("is_discrete"))

    event_dim = property(lambda self: self._known("event_dim"))

    def _known(self, name: str) -> Any:
        if (value := getattr(self, f"_{name}")) is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(
        self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> Any:
        """A dependent constraint of which `is_discrete` and `event_dim` are known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _DependentProperty(property, _Dependent):
    """A property whose value is a constraint; read off the class, a dependent constraint.

    Used as decorator, plainly or with what is known of all instances: `is_discrete`, `event_dim`.
    """

    def __init__(
        self, fn: Any = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other variables, so cannot check anything.

    >>> rg.distributions.constraints.is_dependent(rg.distributions.Uniform.support)
    True
    """
    return isinstance(constraint, _Dependent)


# -- numbers ---------------------------------------------------------------------------------------


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # noqa: PLR0124 - False for NaN


class _GreaterThan(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(Constraint):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & super().check(value)


class _IntegerGreaterThan(_GreaterThanEq):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & super().check(value)


# -- vectors ---------------------------------------------------------------------------------------


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Multinomial(Constraint):
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)

    def __repr__(self) -> str:
        return "Multinomial()"


# -- matrices --------------------------------------------------------------------------------------


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return ops.full(value.shape[:-2], square, dtype=dtypes.boolean)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        tolerance = dtypes.finfo(value.dtype).eps * value.shape[-1] * 10
        rows = ((value * value).sum(-1).sqrt() - 1).abs() <= tolerance
        return super().check(value) & rows.all(-1)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return ops.isclose(value, value.mT, atol=1e-6).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return symmetric & (linalg.eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return symmetric & (linalg.cholesky_ex(value).info == 0) if symmetric.all() else symmetric


# -- made of others --------------------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """One region for events of `reinterpreted_batch_ndims` dimensions more, all within it."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    is_discrete = property(lambda self: self.base_constraint.is_discrete)

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        dims = self.reinterpreted_batch_ndims
        return result.flatten(-dims).all(-1) if dims else result

    def __repr__(self) -> str:
        own = f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"
        return f"IndependentConstraint({own})"


class MixtureSameFamilyConstraint(Constraint):
    """The region of samples that every component of a mixture can give.

    >>> c = rg.distributions.constraints
    >>> c.MixtureSameFamilyConstraint(c.positive).check(rg.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise TypeError(f"base_constraint must be a Constraint, not {base_constraint!r}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        """Whether the components' regions are of separate points."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event of the components."""
        return self.base_constraint.event_dim

    def check(self, value: Tensor) -> Tensor:
        """Which events all components can give."""
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return self.base_constraint.check(value.unsqueeze(-1 - self.event_dim)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Cat(Constraint):
    """Regions for parts of lengths `lengths`, one after another along `dim`."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        self.dim = dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))

    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def check(self, value: Tensor) -> Tensor:
        parts = value.split(self.lengths, self.dim)
        checked = [c.check(part) for c, part in zip(self.cseq, parts, strict=True)]
        return ops.cat(checked, self.dim)

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


class _Stack(_Cat):
    """Regions for slices along `dim`."""

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        parts = value.unbind(self.dim)
        checked = [c.check(part) for c, part in zip(self.cseq, parts, strict=True)]
        return ops.stack(checked, self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack

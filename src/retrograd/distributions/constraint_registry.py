"""`biject_to` and `transform_to`: from unconstrained numbers onto what a constraint allows.

Source: PyTorch's `distributions.constraint_registry`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .constraints import Constraint
from .transforms import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Transforms by the class of the constraint that their results satisfy.

    Calling it with a constraint gives a transform onto it, or NotImplementedError.

    >>> D = rg.distributions
    >>> D.transform_to(D.constraints.positive)(rg.tensor([0.0]))
    tensor([1.])
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Callable[[Any], Transform]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Enter a function that makes a transform of a constraint; also as a decorator.

        `constraint` is a subclass of `Constraint`, or an instance of it; else TypeError.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            ) from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Any], Any]:
    """Register for `biject_to` and `transform_to`."""

    def enter(factory: Any) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return enter


@_both(constraints.real)
def _identity(constraint: Any) -> Transform:
    return transforms.identity_transform


@_both(constraints.positive, constraints.nonnegative)
def _above(constraint: Any) -> Transform:
    move = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), move])


@_both(constraints.less_than)
def _below(constraint: Any) -> Transform:
    flip = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), flip])


@_both(constraints.interval, constraints.half_open_interval)
def _between(constraint: Any) -> Transform:
    low, high, sigmoid = (
        constraint.lower_bound,
        constraint.upper_bound,
        transforms.SigmoidTransform(),
    )
    if not hasattr(low, "shape") and not hasattr(high, "shape") and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _stick(constraint: Any) -> Transform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _softmax(constraint: Any) -> Transform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _lower(constraint: Any) -> Transform:
    return transforms.LowerCholeskyTransform()


@_both(constraints.corr_cholesky)
def _correlation(constraint: Any) -> Transform:
    return transforms.CorrCholeskyTransform()


@transform_to.register(constraints.positive_semidefinite)
@transform_to.register(constraints.positive_definite)
def _definite(constraint: Any) -> Transform:
    return transforms.PositiveDefiniteTransform()


def _recursive(registry: ConstraintRegistry) -> None:
    """Enter constraints made of others, whose transforms are made of the others'."""

    @registry.register(constraints.independent)
    def independent(constraint: Any) -> Transform:
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def cat(constraint: Any) -> Transform:
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint: Any) -> Transform:
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


_recursive(biject_to)
_recursive(transform_to)

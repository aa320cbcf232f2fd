"""Forward-mode transforms: Jacobian-vector products of whole functions, and linearization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes, pytree
from ..autograd.forward_ad import dual, parts
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor
from ..engine.transforms.forward import Level, lying_as
from .reverse import (
    fresh_variable,
    fresh_variables,
    outputs,
    pull_back,
    recording,
    unpacked,
    values_given,
    write_back,
)

__all__ = ["jvp", "linearize"]


def jvp(
    func: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """The output of `func(*primals)` and its derivative along `tangents`.

    Primals and tangents are tuples, built alike, of tensors or containers of tensors. An output
    that does not depend on them has zeros, or raises with `strict`. With `has_aux`, `func` returns
    (output, extra), and the extra comes third. Raises RuntimeError where primals and tangents are
    no tuples of tensors built alike, ValueError for integer ones. Source: PyTorch's `func.jvp`.

    >>> rg.func.jvp(rg.sin, (rg.tensor(0.0),), (rg.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple) or not primals:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to be a tuple that contains at least one "
            f"Tensor, got {type(primals).__name__}. It should be valid to call f(*primals)."
        )
    xs, ts = pytree.flatten(primals), pytree.flatten(tangents)
    if not xs:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals to contain at least one Tensor, got "
            f"{primals}"
        )
    if not pytree.same_structure(tangents, primals):
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python "
            f"structure, got {len(xs)} tensors in {type(primals).__name__} and {len(ts)} in "
            f"{type(tangents).__name__}. For example, if primals is a tuple of 3 tensors, tangents "
            "also must be."
        )
    for name, values in (("primals", xs), ("tangents", ts)):
        for value in values:
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    f"jvp(f, primals, tangents): Expected {name} to only contain Tensors, got "
                    f"{type(value)}"
                )
            if not dtypes.is_differentiable(value._array.dtype):
                raise ValueError(
                    f"Expected {name[:-1]} to be floating point or complex, but got: {value.dtype}"
                )
    with Level() as level:
        duals = [dual(x, lying_as(t, x), level) for x, t in zip(xs, ts, strict=True)]
        result = func(*pytree.unflatten(primals, duals))
        output, extra = unpacked(result, has_aux, "jvp(f, primals, tangents)")
        aux = pytree.map_leaves(
            lambda leaf: parts(leaf, level)[0] if isinstance(leaf, Tensor) else leaf, extra
        )
        pairs = [parts(out, level) for out in outputs(output, "jvp(f, primals, tangents)")]
    values = pytree.unflatten(output, [value for value, _ in pairs])
    moved = pytree.unflatten(output, [_filled(*pair, strict) for pair in pairs])
    return (values, moved, aux) if has_aux else (values, moved)


def _filled(value: Tensor, tangent: Any, strict: bool) -> Tensor:
    if tangent is not None:
        return tangent  # type: ignore[no-any-return]
    if strict:
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. "
            "This is not allowed with strict=True."
        )
    return recorded.zeros_like(value)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """The output of `func(*primals)`, and a function that gives its derivative along tangents.

    `func` runs once; each further call of the returned function costs one backward pass through
    what was recorded. The returned function raises RuntimeError for tangents of another number,
    shape or dtype than the primals. Source: PyTorch's `func.linearize`.

    >>> out, push = rg.func.linearize(rg.sin, rg.tensor([0.0, 1.0]))
    >>> push(rg.tensor([1.0, 1.0]))
    tensor([1.0000, 0.5403])
    """
    leaves = pytree.flatten(primals)
    with recording(leaves) as call:
        variables, fresh = fresh_variables(leaves, "linearize")
        output = call.returned(func(*pytree.unflatten(primals, variables)))
        outs = outputs(output, "linearize(f, *primals)")
        # The vector-Jacobian product is linear in its cotangents; its transpose is the jvp.
        cotangents = [fresh_variable(recorded.zeros_like(out)) for out in outs]
        pulled = pull_back(outs, cotangents, fresh, retain=True)
    write_back(leaves, variables, fresh)

    def push(*tangents: Any) -> Any:
        given = pytree.flatten(tangents)
        if not pytree.same_structure(tangents, primals):
            raise RuntimeError(
                "linearize: Expected the tangents to have the same python structure as the "
                f"primals, got {len(given)} tensors in {len(tangents)} arguments for {len(fresh)} "
                f"in {len(primals)}"
            )
        for t, x in zip(given, fresh, strict=True):
            if t._array.shape != x._array.shape or t._array.dtype != x._array.dtype:
                raise RuntimeError(
                    f"linearize: expected a tangent of shape {list(x.shape)} and dtype {x.dtype}, "
                    f"got {list(t.shape)} and {t.dtype}"
                )
        return pytree.unflatten(output, pull_back(pulled, given, cotangents, retain=True))

    return values_given(output, outs), push

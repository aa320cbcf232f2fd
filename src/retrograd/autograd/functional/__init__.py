"""Whole derivatives of functions: Jacobians, Hessians, and their products with vectors.

NOTE [Double backward] A Jacobian-vector product comes from two backward passes: the gradient for a
cotangent u is linear in u, and differentiating it with respect to u transposes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ... import modes
from ...engine.tensor import Tensor
from .parts import (
    GRADIENT_CONSTANT,
    HESSIAN_CONSTANT,
    INDEPENDENT,
    JACOBIAN_CONSTANT,
    TRICK,
    _as_tuple,
    _grad_postprocess,
    _tuple_postprocess,
    as_tuple,
    check_history,
    check_v,
    filled,
    outputs_of,
    plain,
    pulled,
    single,
    fresh_variables,
    unpack,
    zeros,
)
from .jacobians import _construct_standard_basis_for, hessian, jacobian

T = TypeVar("T")
R = TypeVar("R")

__all__ = ["_construct_standard_basis_for", "hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def vjp(
    func: Callable[..., R],
    inputs: T,
    v: R | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[R, T]:
    """(outputs, vᵀJ): the product of a vector with the Jacobian of `func` at `inputs`.

    inputs: a tensor or a tuple; v: the cotangents, shaped like the outputs (by default 1 for a
    single number). The product is shaped like the inputs. With `strict`, a RuntimeError where
    something does not depend on the inputs, instead of zeros. Source: PyTorch's `functional.vjp`.

    >>> rg.autograd.functional.vjp(lambda x: x * x, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with modes.Changed(grad=True):
        several, given = as_tuple(inputs, "inputs", "vjp")
        xs = fresh_variables(given, create_graph)
        many, outputs = outputs_of(func, xs, "vjp", strict)
        cotangents = check_v(v, outputs, many, "the user-provided function returns", "vjp")
        found = pulled(outputs, xs, cotangents, create_graph)
        product = filled(found, xs, INDEPENDENT if strict else "", create_graph)
    if strict and create_graph:
        check_history(product, GRADIENT_CONSTANT)
    return unpack(plain(outputs, create_graph), many), unpack(product, several)


def jvp(
    func: Callable[..., R],
    inputs: T,
    v: T | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[R, R]:
    """(outputs, Jv): the product of the Jacobian of `func` at `inputs` with a vector.

    v: the tangents, shaped like the inputs (by default 1 for a single number). The product is
    shaped like the outputs. The rest is as for `vjp`; NOTE [Double backward] says how. Source:
    PyTorch's `functional.jvp`.

    >>> rg.autograd.functional.jvp(lambda x: x * x, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    with modes.Changed(grad=True):
        several, given = as_tuple(inputs, "inputs", "jvp")
        xs = fresh_variables(given, create_graph)
        tangents = check_v(v, xs, several, "the input to the user-provided function is", "jvp")
        many, outputs = outputs_of(func, xs, "jvp", strict)
        us = zeros(outputs)
        rows = filled(pulled(outputs, xs, us, True), xs, INDEPENDENT if strict else "", True)
        found = pulled(rows, us, tangents, create_graph)
        product = filled(found, outputs, TRICK if strict else "", create_graph)
    if strict and create_graph:
        check_history(product, GRADIENT_CONSTANT)
    return unpack(plain(outputs, create_graph), many), unpack(product, many)


def vhp(
    func: Callable[..., Tensor],
    inputs: T,
    v: T | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, T]:
    """(output, vᵀH): the product of a vector with the Hessian of `func` at `inputs`.

    `func` returns a single number; v and the product are shaped like the inputs. The rest is as
    for `vjp`. Source: PyTorch's `functional.vhp`.

    >>> cube = lambda x: (x * x * x).sum()
    >>> rg.autograd.functional.vhp(cube, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return product_with_hessian("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Tensor],
    inputs: T,
    v: T | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Tensor, T]:
    """(output, Hv): the product of the Hessian of `func` at `inputs` with a vector.

    As `vhp`, transposed by NOTE [Double backward]; the two differ where second derivatives do not
    commute, and `vhp` is cheaper. Source: PyTorch's `functional.hvp`.

    >>> cube = lambda x: (x * x * x).sum()
    >>> rg.autograd.functional.hvp(cube, rg.tensor([1.0, 2.0]), rg.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return product_with_hessian("hvp", func, inputs, v, create_graph, strict)


def product_with_hessian(
    caller: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    """(output, product) of `vhp` or of `hvp`, whichever the `caller` is."""
    with modes.Changed(grad=True):
        several, given = as_tuple(inputs, "inputs", caller)
        xs = fresh_variables(given, create_graph)
        vectors = check_v(v, xs, several, "the input to the user-provided function is", caller)
        output = single(func, xs, caller, strict)
        first = pulled([output], xs, None, True)
        rows = filled(first, xs, INDEPENDENT if strict else "", True)
        if strict:
            check_history(rows, JACOBIAN_CONSTANT)
        if caller == "vhp":
            found = pulled(rows, xs, vectors, create_graph)
        else:
            us = zeros(xs)
            twice = filled(pulled(rows, xs, us, True), xs, "", True)
            found = pulled(twice, us, vectors, create_graph)
        product = filled(found, xs, HESSIAN_CONSTANT if strict else "", create_graph)
    return plain((output,), create_graph)[0], unpack(product, several)

"""Whole matrices of derivatives: `functional.jacobian` and `functional.hessian`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import modes
from ...engine.namespaces import recorded
from ...engine.tensor import Tensor, constant_like, new_tensor
from ...engine.transforms.batch import BatchLevel, batched, split
from ...engine.transforms.forward import Level
from ..forward_ad import dual, parts
from ..grad import grad
from .pairs import from_cotangents, from_tangents
from .parts import (
    FORWARD_SINGLY,
    GRADIENT_CONSTANT,
    JACOBIAN_CONSTANT,
    JACOBIAN_INDEPENDENT,
    STRICT_FORWARD,
    STRICT_VECTORIZED,
    as_tuple,
    check_history,
    filled,
    fresh_variables,
    outputs_of,
    plain,
    pulled,
    single,
    unpack,
)


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
    *,
    wirtinger: bool = False,
) -> Any:
    """All derivatives of `func` at `inputs`, of shape output.shape + input.shape.

    One tensor for one output and one input, else a tuple over inputs, or over outputs of tuples
    over inputs. For complex tensors, row j is the gradient for the cotangent 1 at element j; with
    `wirtinger=True` each entry is the pair (∂f/∂z, ∂f/∂z*), exact for any function (NOTE [Complex
    Jacobians] of `pairs`; a real z keeps one matrix). `vectorize` computes all rows in one
    batched pass. `strategy` "forward-mode", which needs `vectorize`, computes columns instead.
    Raises RuntimeError with `strict` where an output does not depend on an input, and for `strict`
    with "forward-mode" or `vectorize`; AssertionError for another `strategy`, NotImplementedError
    for "forward-mode" without `vectorize`. Source: PyTorch's `functional.jacobian`.

    >>> rg.autograd.functional.jacobian(lambda x: x * x, rg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    >>> rg.autograd.functional.jacobian(lambda z: z * z.conj(), rg.tensor(3 + 4j), wirtinger=True)
    (tensor(3.-4.j), tensor(3.+4.j))
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your '
            'function has more outputs than inputs, "forward-mode" tends to be more performant. '
            'Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if strict:
            raise RuntimeError(STRICT_FORWARD.format(name="jacobian"))
        if not vectorize:
            raise NotImplementedError(FORWARD_SINGLY)
    elif strict and vectorize:
        raise RuntimeError(STRICT_VECTORIZED.format(name="jacobian"))
    with modes.Changed(grad=True):
        several, given = as_tuple(inputs, "inputs", "jacobian")
        xs = fresh_variables(given, create_graph)
        if strategy == "forward-mode":
            many, table = by_columns(func, xs, create_graph, wirtinger)
        else:
            many, outputs = outputs_of(func, xs, "jacobian", strict)
            table = [
                rows_of(
                    output,
                    xs,
                    create_graph,
                    JACOBIAN_INDEPENDENT.format(output=place, place="{place}") if strict else "",
                    vectorize,
                    wirtinger,
                )
                for place, output in enumerate(outputs)
            ]
    return unpack(tuple([unpack(row, several) for row in table]), many)


def rows_of(
    output: Tensor,
    xs: Sequence[Tensor],
    create_graph: bool,
    strict: str,
    vectorize: bool,
    wirtinger: bool,
) -> tuple[Any, ...]:
    """The Jacobians of one output with respect to each input, by backward passes.

    `strict` is the error to raise where the output does not depend on an input, or "".
    """
    both = wirtinger and output._array.dtype.kind == "c"
    found = [
        _stacked_rows(output, xs, unit_vectors(output, unit), create_graph, strict, vectorize)
        for unit in ((1.0, 1j) if both else (1.0,))
    ]
    if not wirtinger:
        return found[0]
    imaginary: Sequence[Any] = found[1] if both else [None] * len(xs)
    return tuple([from_cotangents(*parts) for parts in zip(found[0], imaginary, xs, strict=True)])


def unit_vectors(like: Tensor, scale: complex) -> Tensor:
    """All unit vectors of a tensor's shape, times `scale`, along a new first dimension."""
    size = like._array.size
    rows = np.zeros(size * size, like._array.dtype)
    rows[:: size + 1] = scale
    return constant_like(rows.reshape(size, *like._array.shape), like)


def _construct_standard_basis_for(
    tensors: Sequence[Tensor], tensor_numels: Sequence[int]
) -> tuple[Tensor, ...]:
    """The unit vectors of all tensors together, (N, number of elements) for each.

    Source: the PyTorch function of this name, which programs use though it is private.

    >>> _construct_standard_basis_for((rg.ones(1), rg.ones(2)), (1, 2))
    (tensor([[1.],
            [0.],
            [0.]]), tensor([[0., 0.],
            [1., 0.],
            [0., 1.]]))
    """
    if len(tensors) != len(tensor_numels) or not tensors:
        raise AssertionError("expected as many numbers as tensors, and one tensor at least")
    rows = np.eye(sum(tensor_numels))
    ends = np.cumsum(tensor_numels)[:-1]
    columns = np.split(rows, ends, axis=1)
    pairs = zip(columns, tensors, strict=True)
    return tuple([new_tensor(part.astype(t._array.dtype)) for part, t in pairs])


def _stacked_rows(
    output: Tensor,
    xs: Sequence[Tensor],
    units: Tensor,
    create_graph: bool,
    strict: str,
    vectorize: bool,
) -> tuple[Tensor, ...]:
    """The gradients for every cotangent along the first dimension of `units`."""
    if not output._array.size:
        return tuple([recorded.zeros_like(new_tensor(np.empty((*output.shape, *x.shape),
                      x._array.dtype))) for x in xs])  # fmt: skip
    if vectorize and output._node is not None:
        rows: Any = grad(
            [output], xs, [units], True, create_graph, allow_unused=True, is_grads_batched=True
        )
        like = [new_tensor(np.empty((len(units._array), *x.shape), x._array.dtype)) for x in xs]
        made = filled(rows, like, "", create_graph)
    else:
        table = []
        for index in range(output._array.size):
            found = pulled([output], xs, [recorded.select(units, index=(index,))], create_graph)
            row = filled(found, xs, strict, create_graph)
            if strict and create_graph:
                check_history(row, GRADIENT_CONSTANT)
            table.append(row)
        made = tuple([recorded.stack(*column, dim=0) for column in zip(*table, strict=True)])
    return tuple(
        [
            recorded.reshape(g, shape=(*output._array.shape, *x._array.shape))
            for g, x in zip(made, xs, strict=True)
        ]
    )


def by_columns(
    func: Callable[..., Any], xs: Sequence[Tensor], create_graph: bool, wirtinger: bool
) -> tuple[bool, list[tuple[Any, ...]]]:
    """Whether there are several outputs, and their Jacobians by one batched forward derivative."""
    columns = []
    for place, x in enumerate(xs):
        complex_x = x._array.dtype.kind == "c"
        found = []
        for unit in (1.0, 1j) if complex_x and wirtinger else (1.0,):
            many, moved = _pushed(func, xs, place, unit_vectors(x, unit))
            found.append(moved if create_graph else plain(moved, False))
        imaginary: Sequence[Any] = found[1] if len(found) > 1 else [None] * len(found[0])
        columns.append(
            [
                from_tangents(one, other, x) if wirtinger else one
                for one, other in zip(found[0], imaginary, strict=True)
            ]
        )
    return many, list(zip(*columns, strict=True))


def _pushed(
    func: Callable[..., Any], xs: Sequence[Tensor], place: int, units: Tensor
) -> tuple[bool, tuple[Tensor, ...]]:
    """The tangents of each output for every tangent of one input, as columns of its Jacobian."""
    x = xs[place]
    level = BatchLevel(len(units._array))
    with level:
        with Level() as forward:
            duals = [recorded.clone(t) for t in xs]  # the function may write to them
            duals[place] = dual(duals[place], batched(units, level), forward)
            found = func(*duals)
            many, outputs = as_tuple(found, "outputs of the user-provided function", "jacobian")
            pairs = [parts(output, forward) for output in outputs]
        columns = [
            split(recorded.zeros_like(value) if t is None else t, level) for value, t in pairs
        ]
    moved = []
    for rows, (value, _) in zip(columns, pairs, strict=True):
        last = recorded.permute(rows, dims=(*range(1, rows._array.ndim), 0))
        moved.append(recorded.reshape(last, shape=(*value._array.shape, *x._array.shape)))
    return many, tuple(moved)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
    *,
    wirtinger: bool = False,
) -> Any:
    """All second derivatives of `func`, which returns a single number, at `inputs`.

    Of shape input.shape + input.shape for one input, else a tuple of tuples: entry [i][j] for
    inputs i and j. With `wirtinger=True`, for a function of complex z that is real, each entry is
    the pair of pairs ((f_zz, f_zz*), (f_z*z, f_z*z*)). The rest is as for `jacobian`. Raises
    RuntimeError with `strict` as `jacobian` does, and where `func` returns no single number.
    Source: PyTorch's `functional.hessian`.

    >>> rg.autograd.functional.hessian(lambda x: (x * x * x).sum(), rg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, given = as_tuple(inputs, "inputs", "hessian")
    if strict and outer_jacobian_strategy == "forward-mode":
        raise RuntimeError(STRICT_FORWARD.format(name="hessian"))
    if strict and vectorize:
        raise RuntimeError(STRICT_VECTORIZED.format(name="hessian"))

    def gradient(*xs: Tensor) -> tuple[Tensor, ...]:
        output = single(func, xs, "hessian", strict)
        found = pulled([output], xs, None, True)
        rows = filled(found, xs, "", True)
        if strict:
            check_history(rows, JACOBIAN_CONSTANT)
        return rows

    how = (create_graph, strict, vectorize, outer_jacobian_strategy)
    table = jacobian(gradient, given, *how, wirtinger=wirtinger)
    if wirtinger:
        table = [
            [from_gradient(entry, x) for entry in row] for row, x in zip(table, given, strict=True)
        ]
    return unpack(tuple([unpack(tuple(row), several) for row in table]), several)


def from_gradient(entry: Any, x: Tensor) -> Any:
    """Second derivatives from the Jacobian of a gradient, which is 2 ∂f/∂z* of a real f(z).

    Its pair (A, B) has A = 2 f_z*z and B = 2 f_z*z*; the row f_z is the conjugate, for f is real.
    """
    if x._array.dtype.kind != "c":
        return entry
    if isinstance(entry, tuple):
        a, b = entry[0] * 0.5, entry[1] * 0.5
        return (b.conj(), a.conj()), (a, b)
    half = entry * 0.5
    return half.conj(), half

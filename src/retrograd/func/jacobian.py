"""Jacobians and Hessians of whole functions, real and complex.

For complex arguments: NOTE [Complex Jacobians] of `functional.pairs`. Without `wirtinger=True` the
plain matrix ∂f/∂z is returned, and a function that is not holomorphic where it was evaluated
(∂f/∂z* is not 0 up to rounding) raises, for that matrix alone would be half of the truth.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import modes, pytree
from ..autograd.functional.jacobians import unit_vectors
from ..autograd.functional.pairs import check_holomorphic, from_cotangents, from_tangents
from ..autograd.grad import apart
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor
from .batching import mapped, vmap
from .forward import jvp
from .reverse import replaced, select, vjp

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
    wirtinger: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func` by one batched vector-Jacobian product.

    For an output of shape (m...) and an argument of shape (n...) it is (m..., n...): entry [i, j]
    is the derivative of output element i by input element j. Several outputs give a container
    built like them, several `argnums` a tuple within. Complex arguments: the plain matrix of a
    holomorphic function, or with `wirtinger=True` the pair (∂f/∂z, ∂f/∂z*) of any function, where
    PyTorch refuses; NOTE [Complex Jacobians]. chunk_size: rows computed at a time.
    `_preallocate_and_copy` is accepted, without effect. Raises RuntimeError for a function that is
    not holomorphic, without `wirtinger`. Source: PyTorch's `func.jacrev`.

    >>> rg.func.jacrev(lambda x: x**2)(rg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    >>> rg.func.jacrev(lambda z: z.abs() ** 2, wirtinger=True)(rg.tensor(3 + 4j))
    (tensor(3.-4.j), tensor(3.+4.j))
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        check_chunk(chunk_size, "jacrev")
        own, named = copied((args, kwargs))
        chosen = select(own, argnums, "jacrev")

        def of_chosen(*given: Any) -> Any:
            return func(*replaced(own, argnums, given), **named)

        output, pull, *aux = vjp(of_chosen, *chosen, has_aux=has_aux)
        outs, xs = pytree.flatten(output), pytree.flatten(chosen)
        rows = [_rows(pull, outs, xs, place, output, chunk_size) for place in range(len(outs))]
        blocks = [
            [
                _shown("jacrev", from_cotangents(one, imaginary, x), x, wirtinger)
                for one, imaginary, x in zip(*row, xs, strict=True)
            ]
            for row in rows
        ]
        return _built(blocks, output, chosen, argnums, aux)

    return wrapped


def copied(tree: Any) -> Any:
    """A container with copies of the tensors, for one call of a function that may write to them.

    They are no inference tensors: a derivative is what was asked for. But inference mode records no
    history, whatever grad mode is.
    """
    with modes.Changed(inference=False, grad=modes.state.records):
        return pytree.map_leaves(lambda x: recorded.clone(x) if isinstance(x, Tensor) else x, tree)


def check_chunk(size: int | None, caller: str) -> None:
    """Raise unless rows can be computed `size` at a time."""
    if size is not None and size <= 0:
        raise ValueError(f"{caller}: `chunk_size` should be greater than 0, got {size}.")


def _rows(
    pull: Any, outs: list[Tensor], xs: list[Tensor], place: int, output: Any, chunk: int | None
) -> tuple[list[Any], list[Any]]:
    """What all cotangents e_i of one output give, and what the i·e_i give (None if not asked)."""
    out = outs[place]
    directions = (1.0, 1j) if out._array.dtype.kind == "c" else (1.0,)
    found: list[list[Any]] = []
    for direction in directions:
        basis = unit_vectors(out, direction)

        def one_row(row: Tensor) -> Any:
            zeros = recorded.zeros_like
            given = [row if at == place else zeros(other) for at, other in enumerate(outs)]
            return tuple(pytree.flatten(pull(pytree.unflatten(output, given))))

        columns = mapped(one_row, (basis,), {}, chunk_size=chunk)
        found.append([c.view((*out.shape, *x.shape)) for c, x in zip(columns, xs, strict=True)])
    return found[0], found[1] if len(found) > 1 else [None] * len(xs)


def _shown(name: str, found: Any, x: Tensor, wirtinger: bool) -> Any:
    """A Jacobian as it is returned: the pair, if that was asked for, or one matrix."""
    if x._array.dtype.kind != "c" or wirtinger:
        return found
    return check_holomorphic(name, found)


def _built(blocks: Any, output: Any, chosen: Any, argnums: Any, aux: list[Any]) -> Any:
    """The blocks in containers: those of the output outside, those of the arguments inside."""
    rows = [_of_arguments(row, chosen, argnums) for row in blocks]
    result = pytree.unflatten(output, rows)
    return (result, *aux) if aux else result


def _of_arguments(row: list[Any], chosen: Any, argnums: Any) -> Any:
    built = pytree.unflatten(chosen, row)
    return built if isinstance(argnums, tuple) else built[0]


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: int | None = None,
    wirtinger: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func` by one batched Jacobian-vector product.

    Arguments and results are those of `jacrev`; this way is the cheaper one where there are fewer
    inputs than outputs. `randomness` is as in `vmap`. Source: PyTorch's `func.jacfwd`.

    >>> rg.func.jacfwd(rg.sin)(rg.tensor([0.0]))
    tensor([[1.]])
    """

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        check_chunk(chunk_size, "jacfwd")
        chosen = select(args, argnums, "jacfwd")
        xs = pytree.flatten(chosen)
        outputs: list[Any] = []

        blocks_by_x, aux = [], list[Any]()
        outs: list[Tensor] = []
        beside: list[Tensor] = []
        for place, x in enumerate(xs):
            found = []
            for direction in (1.0, 1j) if x._array.dtype.kind == "c" else (1.0,):

                def one_column(t: Tensor, place: int = place) -> Any:
                    own, named = copied((args, kwargs))
                    zeros = recorded.zeros_like
                    tangents = [t if at == place else zeros(x) for at, x in enumerate(xs)]

                    def of_chosen(*given: Any) -> Any:
                        result = func(*replaced(own, argnums, given), **named)
                        outputs[:] = [result[0] if has_aux else result]
                        return result

                    primals = select(own, argnums, "jacfwd")
                    along = pytree.unflatten(primals, tangents)
                    _, moved, *rest = jvp(of_chosen, primals, along, has_aux=has_aux)
                    aux[:] = rest
                    kept = [leaf for leaf in pytree.flatten(rest) if isinstance(leaf, Tensor)]
                    return pytree.flatten(moved), kept

                columns, beside = vmap(one_column, randomness=randomness, chunk_size=chunk_size)(
                    unit_vectors(x, direction)
                )
                outs = list(columns)
                found.append([_last(c, x) for c in columns])
            blocks_by_x.append((found[0], found[1] if len(found) > 1 else [None] * len(outs)))
        blocks = [
            [
                _shown("jacfwd", from_tangents(one[row], imaginary[row], x), x, wirtinger)
                for (one, imaginary), x in zip(blocks_by_x, xs, strict=True)
            ]
            for row in range(len(outs))
        ]
        own = pytree.unflatten(blocks, apart(pytree.flatten(blocks)))
        return _built(own, outputs[0], chosen, argnums, _first(aux, beside))

    return wrapped


def _first(aux: list[Any], columns: list[Tensor]) -> list[Any]:
    """What a function gave beside its output, of the first column: the same in all."""
    found = iter(columns)

    def chosen(leaf: Any) -> Any:
        column = next(found) if isinstance(leaf, Tensor) else None
        return column[0] if column is not None and len(column) else leaf

    return pytree.map_leaves(chosen, aux)  # type: ignore[no-any-return]


def _last(columns: Tensor, x: Tensor) -> Tensor:
    """Derivatives along the first dimension, moved behind and given the shape of `x`."""
    ndim = columns._array.ndim
    moved = recorded.permute(columns, dims=(*range(1, ndim), 0))
    return moved.view((*columns.shape[1:], *x.shape))


def hessian(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    wirtinger: bool = False,
) -> Callable[..., Any]:
    """A function that gives the second derivatives of `func`: `jacfwd` of `jacrev`.

    For a scalar function of x of shape (n...) they are (n..., n...). For complex z, the plain
    matrix ∂²f/∂z∂z of a holomorphic function, or with `wirtinger=True` the pair of pairs
    ((f_zz, f_zz*), (f_z*z, f_z*z*)), differentiated first by the outer and then by the inner index;
    exact for any function. Source: PyTorch's `func.hessian`.

    >>> rg.func.hessian(lambda x: (x**3).sum())(rg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    first = jacrev(func, argnums, wirtinger=wirtinger)
    return jacfwd(first, argnums, wirtinger=wirtinger)

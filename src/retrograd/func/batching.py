"""`vmap`: a function of one example, on many at once; see NOTE [Batches] of `transforms.batch`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import modes, pytree
from ..autograd.transformed import to_front
from ..engine.inplace import become_view, exchange
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor, concrete, wrote
from ..engine.transforms.batch import BatchLevel, argument, split
from ..engine.views import base_of
from ..errors import UnbatchableError
from ..kernels.allocation import has_memory, is_batched
from ..ops.shape.join import cat, stack

__all__ = ["debug_unwrap", "vmap"]

LOOPED = (
    "vmap: {name} asks for the value of a single example ({error}), so it runs once per example. "
    "Write it without control flow on values and without .item() to run it at once."
)
LACKS = "vmap: {error}, so {name} runs once per example. {advice}."
DIFFERS = (
    "vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: this output "
    "differs between examples. Give it a dimension"
)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that applies `func` to every example along a dimension of its arguments.

    in_dims: the dimension of each positional argument that counts examples, None for one that all
    examples share; a number for all arguments, or a container built like them. out_dims: where that
    dimension goes in each output. randomness: "error" refuses random operations, "same" draws one
    sample for all examples, "different" one for each. chunk_size: examples taken at a time. Keyword
    arguments are shared. A function whose Python code depends on values works too: it then runs
    once per example, with a warning (PyTorch refuses). Raises ValueError where the arguments do not
    fit `in_dims` or each other, RuntimeError for another `randomness`, IndexError for an `out_dims`
    that the output lacks. Source: PyTorch's `func.vmap`.

    >>> x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> rg.func.vmap(rg.dot)(x, x)
    tensor([ 5., 25.])
    >>> rg.func.vmap(rg.func.grad(lambda row: (row**2).sum()))(x)
    tensor([[2., 4.],
            [6., 8.]])
    """
    check_out_dims(out_dims, func)
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return mapped(func, args, kwargs, in_dims, out_dims, randomness, chunk_size)

    return wrapped


def mapped(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    chunk_size: int | None = None,
) -> Any:
    """What the function that `vmap` gives returns for these arguments."""
    leaves = pytree.flatten(args, is_own)
    dims = dims_of(in_dims, args, leaves, func)
    size = size_of(leaves, dims)
    examples = [
        in_front(leaf, dim) if dim else leaf for leaf, dim in zip(leaves, dims, strict=True)
    ]
    step = size if chunk_size is None else chunk_size
    call = functools.partial(_at_once, func, args, kwargs, dims, randomness)
    if step >= size:
        results, shared, like = call(examples, size)
    else:
        pieces, differ = [], set()
        for start in range(0, size, step):
            part = slice(start, min(start + step, size))
            given = [
                leaf if dim is None else leaf[part]
                for leaf, dim in zip(examples, dims, strict=True)
            ]
            piece, shared, like = call(given, part.stop - start)
            pieces.append(piece)
            differ |= {place for place, same in enumerate(shared) if not same}
        results = [cat(column) for column in zip(*pieces, strict=True)]
        shared = [place not in differ for place in range(len(results))]
    return _placed(results, shared, like, out_dims, func)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor within `vmap` holds: all examples, to be looked at; any other tensor itself.

    With `recurse`, those of all nested calls of `vmap`, else of the innermost. Source: PyTorch's
    `func.debug_unwrap`.

    >>> held = []
    >>> _ = rg.func.vmap(lambda x: held.append(rg.func.debug_unwrap(x)) or x)(rg.zeros(3, 2))
    >>> held[0].shape
    retrograd.Size([3, 2])
    """
    while is_batched(tensor._array):
        tensor = tensor._array.given()
        if not recurse:
            break
    return tensor


def check_out_dims(out_dims: Any, func: Any) -> None:
    """Raise unless `out_dims` holds nothing but integers and None."""
    if not all(dim is None or isinstance(dim, int) for dim in pytree.flatten(out_dims)):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or "
            "a python collection of ints representing where in the outputs the vmapped dimension "
            "should appear."
        )


def dims_of(in_dims: Any, args: tuple[Any, ...], leaves: list[Any], func: Any) -> list[int | None]:
    """The batch dimension of each of the `leaves` of the arguments."""
    if not isinstance(in_dims, (int, tuple)):
        raise misfit(
            func,
            in_dims,
            "expected `in_dims` to be int or a (potentially nested) tuple matching the structure "
            f"of inputs, got: {type(in_dims)}.",
        )
    if not leaves:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    try:
        alike = isinstance(in_dims, int)
        dims = [in_dims] * len(leaves) if alike else pytree.broadcast(in_dims, args, is_own)
    except ValueError as error:
        raise misfit(
            func,
            in_dims,
            f"in_dims is not compatible with the structure of `inputs`: {error}. `in_dims` has one "
            f"entry for each of {len(args)} arguments, or is a single number.",
        ) from None
    return [_dim_of(leaf, dim, func, in_dims) for leaf, dim in zip(leaves, dims, strict=True)]


def misfit(func: Any, in_dims: Any, text: str) -> ValueError:
    """The error for arguments of a call that do not fit `in_dims`."""
    return ValueError(f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): {text}")


def _dim_of(leaf: Any, dim: Any, func: Any, in_dims: Any) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise misfit(
            func,
            in_dims,
            f"Got in_dim={dim} for an input but in_dim must be either an integer dimension or "
            "None.",
        )
    if not (isinstance(leaf, Tensor) or is_own(leaf)):
        raise misfit(
            func,
            in_dims,
            f"Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap "
            "over non-Tensor arguments, please use None as the respective in_dim",
        )
    ndim: int = len(shape_of(leaf))
    if not -ndim <= dim < ndim:
        raise misfit(
            func,
            in_dims,
            f"Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {ndim} "
            f"so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}.",
        )
    return dim % ndim


def size_of(leaves: list[Any], dims: list[int | None]) -> int:
    """The number of examples, which all batched arguments share."""
    sizes: list[int] = [
        shape_of(leaf)[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None
    ]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over: an argument whose "
                         "in_dim is not None")  # fmt: skip
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension. What is no batch has None in in_dims, as "
            "in_dims=(0, None)"
        )
    return sizes[0]


def _at_once(
    func: Any,
    args: Any,
    kwargs: Any,
    dims: list[int | None],
    randomness: str,
    examples: list[Any],
    size: int,
) -> tuple[list[Any], list[bool], Any]:
    """The outputs with the batch dimension in front, which of them all examples share, the result.

    What the function writes to its arguments is written at once: `argument`.
    """
    level = Attempt(size, randomness)
    try:
        with level:
            given = [
                leaf if dim is None else example_of(leaf, level, dim)
                for leaf, dim in zip(examples, dims, strict=True)
            ]
            like = func(*pytree.unflatten(args, given, is_own), **kwargs)
            leaves = [checked(leaf, func) for leaf in pytree.flatten(like, is_own)]
            results = [all_of(leaf, level, func) for leaf in leaves]
        shared = [
            not is_own(leaf) and (not level.holds(leaf) or leaf._array.shared) for leaf in leaves
        ]
        return results, shared, like
    except UnbatchableError as error:
        if error.level not in (None, level):
            raise  # it is for an outer batched call to run once per example
        level.undo()
        level.rewind()
        if randomness != "different":
            text = LACKS if error.advice else LOOPED
            text = text.format(name=name_of(func), error=error, advice=error.advice)
            warnings.warn(text, UserWarning, stacklevel=4)
    return _singly(func, args, kwargs, dims, randomness, examples, size)


class Attempt(BatchLevel):
    """A batched call that may fail half-way, and what it has written to tensors from outside."""

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__(size, randomness)
        self.watcher = modes.state.before_write
        self.originals: dict[int, tuple[Tensor, Any, Any]] = {}
        self.turns: dict[int, tuple[Tensor, int]] = {}

    def __enter__(self) -> Attempt:
        batches = (*modes.state.batches, self)
        self.before = modes.change(batches=batches, before_write=self.before_write)
        return self

    def before_write(self, target: Tensor) -> None:
        """Keep the values and the history that `target`, or its base, had first."""
        if self.watcher is not None:
            self.watcher(target)
        self.turns.setdefault(id(target), (target, len(target._turns)))
        base = base_of(target)
        if id(base) not in self.originals and not self.holds(base):
            self.originals[id(base)] = base, base._array.copy(), base._node

    def undo(self) -> None:
        """Give them back, and turn back what was turned."""
        for target, count in self.turns.values():
            for (op, params, _), (back, own, _) in reversed(target._turns[count:]):
                become_view(target, "vmap", (back.name, own), (op.name, params))
        for base, array, node in self.originals.values():
            if not has_memory(array):
                exchange(base, array)
            else:
                np.copyto(base._array, array)
            wrote(base, "vmap")
            base._node = node


def _singly(
    func: Any,
    args: Any,
    kwargs: Any,
    dims: list[int | None],
    randomness: str,
    examples: list[Any],
    size: int,
) -> tuple[list[Any], list[bool], Any]:
    """The results of a batched call, computed by a call for each example."""
    if not size:
        raise RuntimeError(
            f"vmap({name_of(func)}, ...): `{name_of(func)}` runs for each example by itself, and "
            "of no examples there is none that says what it returns. Leave empty batches out"
        )
    level = BatchLevel(size, randomness)
    level.singly = True
    rows: list[Any] = []
    for k in range(size):
        level.rewind()
        given = [
            leaf if dim is None else leaf[k] if is_own(leaf) else recorded.select(leaf, index=(k,))
            for leaf, dim in zip(examples, dims, strict=True)
        ]
        with level:
            like = func(*pytree.unflatten(args, given, is_own), **kwargs)
        rows.append([checked(leaf, func) for leaf in pytree.flatten(like, is_own)])
    columns = list(zip(*rows, strict=True))
    shared = [all(_alike(row, column[0]) for row in column) for column in columns]
    return [stack(column) for column in columns], shared, like


def _alike(x: Tensor, y: Tensor) -> bool:
    """Whether two outputs are the same tensor, or constants of equal value."""
    if x is y or is_own(x) or x._node is not None or y._node is not None:
        return x is y
    a, b = concrete(x._array), concrete(y._array)
    return a.shape == b.shape and bool(np.array_equal(a, b))


def checked(leaf: Any, func: Any) -> Any:
    """An output, which must be a tensor, or a container of tensors that batches itself."""
    if not (isinstance(leaf, Tensor) or is_own(leaf)):
        raise ValueError(
            f"vmap({name_of(func)}, ...): `{name_of(func)}` must only return Tensors, got type "
            f"{type(leaf)}. Return a tensor of it, or leave it away: grad(..., has_aux=True) and "
            "its like pass other things on"
        )
    return leaf


def _placed(results: list[Any], shared: list[bool], like: Any, out_dims: Any, func: Any) -> Any:
    """The outputs with the batch dimension where `out_dims` wants it."""
    alone = is_own(like) or not pytree.is_container(like)
    if alone and isinstance(out_dims, tuple) and len(out_dims) == 1:
        (out_dims,) = out_dims
    try:
        alike = isinstance(out_dims, int)
        places = [out_dims] * len(shared) if alike else pytree.broadcast(out_dims, like, is_own)
    except ValueError as error:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            f"compatible with the structure of `outputs`: {error}."
        ) from None
    for place, same in zip(places, shared, strict=True):
        if place is None and not same:
            raise ValueError(DIFFERS.format(name=name_of(func)))
    return pytree.unflatten(
        like, [moved(t, place) for t, place in zip(results, places, strict=True)], is_own
    )


def moved(t: Tensor, place: int | None) -> Tensor:
    if place is None:
        return recorded.select(t, index=(0,))
    ndim = len(shape_of(t))
    if not -ndim <= place < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, "
                         f"{ndim - 1}], but got {place})")  # fmt: skip
    if place % ndim == 0:
        return t
    dims = list(range(1, ndim))
    dims.insert(place % ndim, 0)
    return t.permute(*dims)


# -- containers that batch themselves -----------------------------------------------------------


def is_own(value: Any) -> bool:
    """Whether a container puts batch dimensions into its tensors by itself, as tensordict's do."""
    return not isinstance(value, Tensor) and hasattr(type(value), "_add_batch_dim")


def shape_of(leaf: Any) -> Any:
    """The shape of a tensor, or the dimensions that the tensors of a container share."""
    return leaf._array.shape if isinstance(leaf, Tensor) else leaf.shape


def in_front(leaf: Any, dim: int) -> Any:
    """A leaf with dimension `dim` first."""
    if not is_own(leaf):
        return to_front(leaf, dim)
    order = [dim, *(each for each in range(len(leaf.shape)) if each != dim)]
    return leaf.permute(*order) if dim else leaf


def example_of(leaf: Any, level: BatchLevel, dim: int) -> Any:
    """What stands for each example along the first dimension of a leaf, which was `dim`."""
    if is_own(leaf):
        return leaf._add_batch_dim(in_dim=0, vmap_level=level.depth + 1)
    return argument(leaf, level, dim)


def all_of(leaf: Any, level: BatchLevel, func: Any) -> Any:
    """All examples that an output stands for, along its first dimension."""
    if not is_own(leaf):
        return split(leaf, level)
    return leaf._maybe_remove_batch_dim(
        name_of(func), vmap_level=level.depth + 1, batch_size=level.size, out_dim=0
    )


def name_of(func: Any) -> str:
    """What messages call a function: its name, which may be given itself."""
    return func if isinstance(func, str) else getattr(func, "__name__", None) or repr(func)

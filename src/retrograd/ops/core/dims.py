"""Arguments that name dimensions or give shapes: negative values, tuples or several arguments.

Errors are PyTorch's.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from ...engine import native
from ...engine.naming import integer_in
from ...engine.overriding import IGNORED, named_in
from ...errors import wrong_type


@native.in_c
def normalize_dim(dim: Any, ndim: int) -> int:
    """`dim` counted from the front; a 0-d tensor counts as having one dimension.

    Raises IndexError out of range, TypeError for what is no integer, as True.
    """
    found = dim if dim.__class__ is int else integer(dim, "dim")
    size = ndim or 1
    if not -size <= found < size:
        integer(found, "dim")
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got "
            f"{found}). Dimensions count from 0: the last of {size} is {size - 1}, or -1"
        )
    return found + size if found < 0 else found


def as_number(dim: Any) -> Any:
    """A tuple of one dimension as a number, as PyTorch shows it; one of several as it is."""
    return dim[0] if len(dim) == 1 else dim


def place_of(dim: Any, ndim: int) -> int:
    """`dim` counted from the front, where a 0-d tensor has none; raises as `normalize_dim`."""
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, ndim)


def integer(value: Any, argument: str) -> int:
    """An argument that must be an integer; TypeError for anything else, also for True and False.

    Raises ValueError for one beyond 64 bits.
    """
    found: int | None = integer_in(value)
    if found is None:
        raise TypeError(f"argument '{argument}' must be int, not {type(value).__name__}")
    return found


def normalize_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """One dim or a sequence of them, counted from the front; RuntimeError for a repeated one."""
    given = dims if isinstance(dims, (tuple, list)) else (dims,)
    found = tuple([normalize_dim(dim, ndim) for dim in given])
    for dim in found:
        if found.count(dim) > 1:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return found


def once(given: tuple[Any, ...], named: Any, name: str, argument: str) -> tuple[Any, ...]:
    """What was given by name in place of several arguments; TypeError where they are there, too."""
    if given:
        raise TypeError(f"{name}() got multiple values for argument '{argument}'")
    return (named,)


@native.in_c
def integers(values: Any, name: str, argument: str = "shape") -> tuple[int, ...]:
    """The integers given as several arguments, or as one sequence; TypeError for anything else.

    An empty sequence is one; no arguments at all are not. As in PyTorch, the first tells what they
    are: True is none, and counts as 1 behind it.
    """
    if not values:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    sizes = values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
    try:
        if not sizes or sizes[0].__class__ is not bool:
            return tuple(map(operator.index, sizes))
    except TypeError:
        pass
    check_single(values, name)
    wrong = next(v for i, v in enumerate(sizes) if not is_size(v, i))
    raise TypeError(
        f"{name}(): argument '{argument}' must be tuple of ints, but found element of type "
        f"{type(wrong).__name__}"
    )


def check_single(values: Any, name: str) -> None:
    """Raise TypeError for a sequence of sizes with more beside it."""
    if len(values) > 1 and isinstance(values[0], (tuple, list)):
        raise TypeError(
            f"{name}() takes 1 positional argument but {len(values)} were given: a sequence has "
            "all sizes"
        )


def sequence(value: Any, name: str, argument: str) -> tuple[int, ...]:
    """The integers in a tuple or list; TypeError for anything else, also for one integer."""
    if not isinstance(value, (tuple, list)):
        raise wrong_type(name, argument, "tuple of ints", value)
    return integers((value,), name, argument)


def is_size(value: Any, place: int) -> bool:
    """Whether a value is an integer, or stands for one; True does so behind the first place."""
    if value.__class__ is int:
        return True
    try:
        operator.index(value)
    except TypeError:
        return False
    return place > 0 or value.__class__ is not bool


@native.in_c
def resolve_shape(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """`shape` with its -1, if there is one, replaced by what `size` elements need."""
    if math.prod(shape) == size and min(shape, default=0) >= 0:
        return shape
    known = math.prod([n for n in shape if n != -1])
    unknown = shape.count(-1)
    if unknown > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if unknown and known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if (unknown and (known == 0 or size % known)) or (not unknown and known != size):
        needs = f"a multiple of {known}" if unknown else f"{known}"
        raise RuntimeError(
            f"shape '{list(shape)}' is invalid for input of size {size}: it takes {needs} "
            "elements. A size of -1 stands for what is left"
        )
    return tuple([size // known if n == -1 else n for n in shape])


@named_in(IGNORED)
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape to which all of `shapes` broadcast; RuntimeError where they do not."""
    ndim = max((len(shape) for shape in shapes), default=0)
    found = [1] * ndim
    for place, shape in enumerate(shapes):
        for back, n in enumerate(reversed(shape), 1):
            if found[-back] == 1:
                found[-back] = n
            elif n not in (1, found[-back]):
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {n} at {-back}! Mismatching "
                    f"argument at index {place} had {tuple(shape)}; but expected shape should be "
                    f"broadcastable to {found}"
                )
    return tuple(found)


def rank(input: Any) -> int:
    """The number of dimensions of a tensor; raises TypeError for what has none, as a list."""
    try:
        return input._array.ndim  # type: ignore[no-any-return]
    except AttributeError:
        raise TypeError(
            f"argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        ) from None


def wrap_dim(input: Any, dim: Any) -> int:
    """`dim` of the tensor `input`, counted from the front; raises as `normalize_dim`."""
    return normalize_dim(dim, rank(input))


def wrap_dims(input: Any, dim: Any) -> tuple[int, ...]:
    """One dim of `input`, a sequence of them, or None or an empty sequence for all, sorted.

    Empty for a 0-d tensor. Raises as `normalize_dims`.
    """
    if dim.__class__ is int:  # the commonest case, in the fewest steps: it is timed
        ndim = rank(input)
        if -ndim <= dim < ndim:
            return (dim % ndim,)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank(input)))
    dims = normalize_dims(dim, rank(input))
    return tuple(sorted(dims)) if rank(input) else ()


def check_kept(name: str, dim: Any, keepdim: bool) -> None:
    """Raise TypeError for a `keepdim` that has no `dim` to keep."""
    if keepdim and dim is None:
        raise TypeError(
            f'{name}() missing 1 required positional arguments: "dim", of which keepdim=True speaks'
        )

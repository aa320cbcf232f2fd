"""Public functions of nested tensors that ask for sizes: NOTE [Layouts] in `layout`, 3."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ....engine.overriding import PASSED
from ....engine.registry import name_node
from ....engine.tensor import Tensor
from ....ops.core.arguments import public
from ....ops.linalg.matmul import matmul
from ....ops.nn.attention import scaled_dot_product_attention
from ....ops.shape.join import stack
from ....ops.shape.pad import pad
from .array import (
    Nested,
    apart,
    gathered,
    is_nested,
    parts_of,
    refused,
    values_of_nested,
    with_pattern,
)
from .pattern import Jagged, Ragged
from .rules import along, inner

__all__ = ["to_padded_tensor"]

OWN_NODE = "BackwardAutogradNestedTensor0"
TRUNCATED = (
    "Value in output_size is less than NestedTensor padded size. Truncation is not supported. "
    "The components need {}, got {}"
)


# -- components and sizes --------------------------------------------------------------------------


@Nested.function("unbind")
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The components."""
    if dim % input.ndim:
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    return tuple([apart(part, f"Unbind{OWN_NODE}") for part in parts_of(input)])


@Nested.function("numel", "nelement")
def numel(input: Tensor) -> int:
    """The number of elements of all components."""
    return input._array.size  # type: ignore[no-any-return]


@Nested.function("is_same_size")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the components of both have the same shapes; RuntimeError if one is not nested."""
    if not (is_nested(input) and is_nested(other)):
        raise RuntimeError(
            "is_same_size(): Expected both self and other to be nested tensors. Compare the "
            "components: nt.unbind()"
        )
    if "strided" not in (input.layout.name, other.layout.name):
        return bool(input.shape == other.shape)
    parts = [[part.shape for part in parts_of(nt)] for nt in (input, other)]
    return parts[0] == parts[1]


@Nested.function("is_contiguous")
def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """Whether values lie in row-major order, without gaps between components."""
    gapless = getattr(self._array.pattern, "lengths", None) is None
    return gapless and values_of_nested(self).is_contiguous()


@Nested.function("contiguous")
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    """The components one after the other in memory; itself where they are."""
    pattern = self._array.pattern
    if is_contiguous(self):
        return self
    if pattern.lengths is None:
        return with_pattern(values_of_nested(self).contiguous(), pattern)
    return gathered(parts_of(self), pattern)


def padded_size(parts: list[Tensor]) -> list[int]:
    """The sizes that hold each of the components, their number before."""
    return [len(parts), *[max(n) for n in zip(*[part.shape for part in parts], strict=True)]]


@public(out=True, methods="to_padded_tensor")
def to_padded_tensor(input: Tensor, padding: float, output_size: Any = None) -> Tensor:
    """The components of a nested tensor in a plain one, each at the front of its part.

    What is left has the value `padding`. output_size: the sizes of the result, by default the least
    that hold all components. Raises RuntimeError for less, NotImplementedError for a plain tensor.
    Source: PyTorch's `nested.to_padded_tensor`.

    >>> nt = rg.nested.nested_tensor([[1, 2], [3]], layout=rg.jagged)
    >>> nt.to_padded_tensor(0)
    tensor([[1, 2],
            [3, 0]])
    """
    if not is_nested(input):
        raise NotImplementedError(
            f"to_padded_tensor(): the tensor of shape {list(input.shape)} is not nested, so there "
            "is nothing to fill"
        )
    parts = parts_of(input)
    least = padded_size(parts)
    sizes = [n if m is None else m for n, m in zip(least, output_size or least, strict=True)]
    if any(n < m for n, m in zip(sizes, least, strict=True)):
        raise RuntimeError(TRUNCATED.format(least, sizes))
    rows = []
    for part in parts:
        room = [n - m for n, m in zip(sizes[1:], part.shape, strict=True)]
        pads = list(itertools.chain.from_iterable([(0, n) for n in reversed(room)]))
        rows.append(pad(part, pads, value=padding))
    return name_node(stack(rows), "ToPaddedTensorBackward0")


@Nested.rule("select", "slice")
def part(op: Any, input: Tensor, *, index: Any) -> Any:
    return getitem(input, index)


@Nested.function("__getitem__")
def getitem(self: Tensor, key: Any) -> Any:
    """A component, what an index takes of one, or of dimensions in which they do not differ."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (self.ndim - len(keys) + 1)
    first, *rest = keys
    if isinstance(first, (int, np.integer)) or (isinstance(first, Tensor) and not first.ndim):
        part = apart(parts_of(self)[int(first)], f"Select{OWN_NODE}")
        return part[tuple(rest)] if rest else part
    if not isinstance(first, slice):
        raise refused("index")
    if first != slice(None):
        return gathered(parts_of(self)[first], self._array.pattern)[(slice(None), *rest)]
    if any(not isinstance(each, (int, slice)) for each in rest):
        raise refused("index")
    pattern = self._array.pattern
    places = [d for d, each in enumerate(rest) if each != slice(None)]
    if isinstance(pattern, Jagged) and pattern.ragged - 1 in places:
        inner(self, pattern.ragged, "slice")
    ragged = None
    if isinstance(pattern, Jagged):
        ragged = pattern.ragged - sum(isinstance(each, int) for each in rest[: pattern.ragged - 1])
    return along(self, places, lambda x: x[tuple(rest)], ragged)


@Nested.function("__setitem__")
def setitem(self: Tensor, key: Any, value: Any) -> Any:
    """Into a component, or into all; what slices take of the components is a copy."""
    first = key[0] if isinstance(key, tuple) and key else key
    if is_nested(self) and isinstance(first, slice) and first != slice(None):
        raise refused("assignment to a slice")
    return PASSED


# -- sizes that functions are given ----------------------------------------------------------------


def sizes_of(given: Any) -> list[Any]:
    return list(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else [*given]


@Nested.function("view", "reshape")
def view(self: Tensor, *given: Any, shape: Any = ()) -> Tensor:
    """Each component in another shape; -1 or its symbol stands for the size that differs."""
    sizes, pattern = sizes_of(given or shape), self._array.pattern
    if not sizes or sizes[0] not in (len(self), -1):
        raise_view(self, sizes)
    if not isinstance(pattern, Jagged):
        return gathered(
            [x.reshape(component_sizes(sizes[1:], x.shape)) for x in parts_of(self)], pattern
        )
    symbols = [d for d, n in enumerate(sizes) if isinstance(n, Ragged)]
    if any(sizes[d] != pattern.size for d in symbols):
        raise_view(self, sizes)
    ragged = next(iter(symbols or [d for d, n in enumerate(sizes) if d and n == -1]), 0)
    values = values_of_nested(self)
    before = values.shape[: pattern.ragged - 1]
    if not ragged or int(np.prod(before)) != int(np.prod(sizes[1:ragged])):
        raise_view(self, sizes)
    sizes[ragged] = values.shape[pattern.ragged - 1]
    return with_pattern(values.reshape(sizes[1:]), pattern.at(ragged))


def component_sizes(sizes: list[Any], shape: Any) -> list[int]:
    """Sizes with those of a component where -1 stands for its own."""
    own = [isinstance(n, Ragged) or (n == -1 and d < len(shape)) for d, n in enumerate(sizes)]
    return [shape[d] if own[d] else n for d, n in enumerate(sizes)]


def raise_view(nt: Tensor, sizes: Any) -> None:
    raise RuntimeError(f"view(): cannot view shape {tuple(nt._array.shape)} as {sizes}")


@Nested.function("expand")
def expand(self: Tensor, *sizes: Any, size: Any = ()) -> Any:
    """Dimensions of size 1 repeated."""
    wanted = [-1 if isinstance(n, Ragged) else n for n in sizes_of(sizes or size)]
    if len(wanted) != self.ndim or wanted[0] not in (-1, len(self)):
        raise RuntimeError(f"expand(): cannot expand {tuple(self._array.shape)} to {wanted}")
    return along(self, (), lambda x: x.expand(wanted[1:]))


@Nested.function("chunk")
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of nearly equal size: of dimensions in which components do not differ, or of these."""
    if dim % input.ndim:
        place = inner(input, dim, "chunk")
        return along(input, (place,), lambda x: x.chunk(chunks, place))  # type: ignore[no-any-return]
    parts, each = parts_of(input), -(-len(input) // chunks)
    pattern = input._array.pattern
    return tuple([gathered(parts[i : i + each], pattern) for i in range(0, len(parts), each)])


# -- layers ----------------------------------------------------------------------------------------


@Nested.function("empty_like", "full_like", "ones_like", "zeros_like")
@Nested.function("rand_like", "randint_like", "randn_like")
def of_values(function: Any, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A function of a tensor, which looks at no other dimension than the last ones, of values."""
    return with_pattern(function(values_of_nested(input), *args, **kwargs), input._array.pattern)


@Nested.function("alpha_dropout", "dropout")
def dropping(
    function: Any, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    """`dropout` of the values of a nested tensor."""
    found = of_values(function, input, p, training)
    return input.copy_(found) if inplace else found


@Nested.function("layer_norm", "rms_norm")
def normalization(
    function: Any, input: Tensor, normalized_shape: Any, *args: Any, **kwargs: Any
) -> Any:
    """Normalization over last dimensions, in which components do not differ."""
    last = [inner(input, -1 - d, function.__name__) for d in range(len(normalized_shape))]
    return along(input, last, lambda x: function(x, normalized_shape, *args, **kwargs))


# -- products --------------------------------------------------------------------------------------


def each_of(t: Any, like: Tensor) -> list[Any]:
    """The part of an operand for each component."""
    if is_nested(t):
        return parts_of(t)
    count = len(like)
    if not isinstance(t, Tensor) or t.ndim < like.ndim:
        return [t] * count
    return list(t.expand(count, *t.shape[1:]))


@Nested.function("matmul", "bmm", "__matmul__")
def product(input: Tensor, other: Tensor) -> Any:
    """Products of matrices, component by component."""
    nt = input if is_nested(input) else other
    if not is_nested(other) and other.ndim <= 2 and isinstance(nt._array.pattern, Jagged):
        last = inner(input, -1, "matmul")
        return along(input, (last,), lambda x: matmul(x, other))
    found = [matmul(a, b) for a, b in zip(each_of(input, nt), each_of(other, nt), strict=True)]
    patterns: list[Any] = [t._array.pattern if is_nested(t) else None for t in (input, other)]
    if not isinstance(nt._array.pattern, Jagged):
        return gathered(found, nt._array.pattern)
    rows = patterns[0] is not None and patterns[0].ragged != input.ndim - 1
    columns = patterns[1] is not None and patterns[1].ragged != other.ndim - 2
    if rows and columns and patterns[0].ragged == input.ndim - 2:
        raise RuntimeError(
            f"matmul(): not supported between inputs of shapes {tuple(input._array.shape)} and "
            f"{tuple(other._array.shape)}"
        )
    if not rows and not columns:
        return name_node(stack(found), "MatmulBackward0")
    return gathered(found, patterns[0] if rows else patterns[1])


@Nested.function("__rmatmul__")
def product_from_right(self: Tensor, other: Any) -> Any:
    return product(other, self)


@Nested.function("scaled_dot_product_attention")
def attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, *args: Any, **kwargs: Any
) -> Tensor:
    """Attention within each component; queries and keys may differ in number."""
    if attn_mask is not None:
        raise RuntimeError(
            "scaled_dot_product_attention(): attn_mask must be None for nested tensors, whose "
            "components differ. Write is_causal=True, or pad them: nt.to_padded_tensor(0.)"
        )
    nt = query if is_nested(query) else key
    attend: Any = scaled_dot_product_attention
    triples = zip(*[each_of(t, nt) for t in (query, key, value)], strict=True)
    found = [attend(*each, None, *args, **kwargs) for each in triples]
    if is_nested(query):
        return gathered(found, query._array.pattern)
    return stack(found)

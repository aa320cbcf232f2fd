"""Nested tensors: components of different sizes as one tensor, and what ops give for them.

NOTE [Nested tensors]
1. A nested tensor is a `NestedTensor`, whose array is `Nested`: the values of all components in one
   array, and a pattern that says how they lie there.
2. Two linear records lead in and out: `nested_of` makes a nested array of values, `values_of` takes
   them. All else is computed on values or on components (NOTE [Layouts] in `layouts.layout`).
3. A nested tensor, its values and its components share memory, and count writes together; where a
   history is recorded users get copies of these, since what they write there could not be followed.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ....engine.graph import LEAF
from ....engine.overriding import stands_below
from ....engine.registry import declare, name_node
from ....engine.tensor import Tensor, new_tensor
from ....ops.core.dims import normalize_dim
from ....quiet import copyto
from ..layout import Layout, sharing
from .pattern import Jagged, Packed, Ragged

__all__ = [
    "Nested", "NestedTensor", "gathered", "is_nested", "parts_of", "refused", "values_of_nested",
    "with_pattern",
]  # fmt: skip

NO_SHAPE = (
    "Internal error: NestedTensorImpl doesn't support {0}: components of the strided layout differ."
    " Ask nt.size(dim) for a regular dimension, or the components: [t.shape for t in nt.unbind()]"
)


class Nested(Layout):
    """An array of components: `data` holds their values as `pattern` says."""

    __slots__ = ("data", "pattern", "shape")

    parts = ("data", "pattern")
    own = ("nested_of", "values_of")
    no_rule = (
        "{}(): not supported for {}. Compute on nt.values(), on the components nt.unbind(), or on "
        "the padded tensor nt.to_padded_tensor(0.)"
    )
    has_class = True

    def __init__(self, data: Any, pattern: Jagged | Packed) -> None:
        self.data, self.pattern = data, pattern
        self.shape = pattern.shape(data.shape)

    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self.pattern.numel(self.data))
    itemsize = property(lambda self: self.data.itemsize)
    nbytes = property(lambda self: self.data.nbytes)
    layout = property(lambda self: self.pattern.layout)
    value = property(lambda self: new_tensor(self.data))
    strides = property(lambda self: (0,) * self.ndim)

    def copy(self) -> Any:
        """A copy with memory of its own."""
        return self.of(lambda data: data.copy())

    def check_room(self, target: Tensor) -> None:
        """Raise unless `target` is nested, too: writes replace its array."""
        if not is_nested(target) or target._array.pattern != self.pattern:
            raise RuntimeError(
                "a nested result is written into a nested tensor of its offsets alone. Write out "
                "of place"
            )

    def stored(self, target: Any) -> Nested:
        """The array of `target`, which gets these values: aliases see them, too."""
        copyto(target._array.data, self.data, casting="unsafe")
        return target._array  # type: ignore[no-any-return]

    def around(self, made: Tensor) -> NoReturn:
        """Raise: what would be written is a plain tensor."""
        raise RuntimeError(
            "a plain tensor cannot be written into a nested one. Make it nested first: "
            "nested.as_nested_tensor(list_of_components)"
        )

    def __add__(self, other: Any) -> Nested:  # of cotangents
        return Nested(self.data + other.data, self.pattern)

    def __array_ufunc__(self, ufunc: Any, *args: Any, **options: Any) -> Any:
        """Raise: sums of cotangents are made by `+`."""
        raise ValueError(str(self.refused(ufunc.__name__)))


is_nested, refused = Nested.holds, Nested.refused

nested_of: Any = declare(
    "nested_of(values, *, pattern)",
    lambda values, *, pattern: Nested(values, pattern),
    values=lambda xp, g, pattern: xp.values_of(g, pattern=pattern),
    linear="values",
    batch=None,
    node_name="NestedViewFromJaggedBackward0",
    doc="""A nested tensor of the values of its components.""",
)

values_of: Any = declare(
    "values_of(input, *, pattern)",
    lambda input, *, pattern: input.data,
    input=lambda xp, g, pattern: xp.nested_of(g, pattern=pattern),
    linear="input",
    batch=None,
    node_name="NestedGetValuesBackward0",
    doc="""The values of all components of a nested tensor.""",
)


class NestedTensor(Tensor, sees_properties=False):
    """A tensor of components of different sizes: NOTE [Nested tensors].

    Made by the functions of `nested`. In the jagged layout components differ in one dimension,
    whose size is a symbol, j1; in the strided one in any.

    >>> nt = rg.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=rg.jagged)
    >>> nt.values(), nt.offsets(), nt.is_nested
    (tensor([1., 2., 3.]), tensor([0, 2, 3]), True)
    >>> (nt * 2).sum(1)
    tensor([6., 6.])
    """

    __slots__ = ()

    is_nested = True

    __torch_function__ = staticmethod(stands_below)  # its array is asked: `Nested.called`

    @property
    def shape(self) -> Any:
        """The sizes. Raises RuntimeError in the strided layout, which has `size(dim)`."""
        return self.size()

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or that of one dimension.

        Raises RuntimeError where it is not the same for all components, IndexError for a dimension
        that is not there.
        """
        shape = self._array.shape
        if dim is None:
            if self._array.layout == "strided":
                raise RuntimeError(NO_SHAPE.format("sizes"))
            return shape
        place = normalize_dim(dim, len(shape))
        if isinstance(shape[place], Ragged) and self._array.layout == "strided":
            raise RuntimeError(
                f"Given dimension {place} is irregular and does not have a size. Ask the "
                "components: [t.shape for t in nt.unbind()]"
            )
        return shape[place]

    def stride(self, dim: int | None = None) -> Any:
        """The strides of the jagged layout; that of the batch is a multiple of the ragged size."""
        array = self._array
        if array.layout == "strided":
            raise RuntimeError(NO_SHAPE.format("strides"))
        inner, ragged = array.value.stride(), array.pattern.ragged - 1
        found = (array.pattern.size * inner[ragged], *inner)
        return found if dim is None else found[dim]

    def storage_offset(self) -> int:
        """0: the values are no part of another tensor's memory."""
        return 0

    @property
    def grad_fn(self) -> Any:
        """The node of what made the values: the one that wraps them says nothing."""
        own = super().grad_fn
        behind = None if own is None or own.op is not nested_of.op else own.next_functions[0][0]
        return own if behind is None or behind.op is LEAF else behind

    nbytes = property(lambda self: self._array.nbytes)

    def offsets(self) -> Tensor:
        """Where the components begin, and where the last one ends: (B + 1,), integers."""
        return jagged(self, "offsets").offsets

    def lengths(self) -> Tensor | None:
        """The lengths of the components (B,), None where each ends as the next one begins."""
        return jagged(self, "lengths").lengths

    def values(self) -> Tensor:
        """The values of all components, on the same memory where no history is recorded."""
        found = values_of_nested(self)
        if found.requires_grad:
            found._array, found._cell = found._array.copy(), None
        return found

    def _get_max_seqlen(self) -> int:
        return jagged(self, "_get_max_seqlen").longest

    def _get_min_seqlen(self) -> int:
        return min(length for _, length in jagged(self, "_get_min_seqlen").bounds)

    _values = property(values)
    _offsets = property(offsets)
    _lengths = property(lengths)

    def __len__(self) -> int:
        return int(self._array.pattern.count)

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __repr__(self) -> str:
        node, jagged = self.grad_fn, self._array.layout == "jagged"
        history = ", requires_grad=True" if self.requires_grad else ""
        if node is not None:
            history = f", grad_fn={node if jagged else f'<{node.name()}>'}"
        if jagged:
            return (
                f"NestedTensor(size={tuple(self.shape)}, offsets={self.offsets()}{history}, "
                f"contiguous={self.is_contiguous()})"
            )
        parts = [t.requires_grad_(self.requires_grad) for t in self.detach().unbind()]
        text = ",\n".join([f"  {part!r}".replace("\n", "\n  ") for part in parts])
        return f"nested_tensor([\n{text}\n]{history})"


Nested.cls = NestedTensor


def jagged(nt: Tensor, name: str) -> Jagged:
    """The pattern of a tensor of the jagged layout; AttributeError for the strided one."""
    found = nt._array.pattern
    if not isinstance(found, Jagged):
        raise AttributeError(f"'Tensor' object has no attribute '{name}': its layout is strided")
    return found


# -- in and out ------------------------------------------------------------------------------------


def with_pattern(values: Tensor, pattern: Jagged | Packed) -> Tensor:
    """The nested tensor of these values, on their memory."""
    return sharing(nested_of(values, pattern=pattern), values)


def values_of_nested(nt: Tensor) -> Tensor:
    """The values of a nested tensor, on its memory."""
    return sharing(values_of(nt, pattern=nt._array.pattern), nt)


def apart(x: Tensor, name: str) -> Tensor:
    """A tensor for users: a copy if it has a history, which their writes would not reach.

    `name`: that of its node.
    """
    return name_node(x.clone(), name) if x.requires_grad else x


def parts_of(nt: Tensor) -> list[Tensor]:
    """The components of a nested tensor."""
    return nt._array.pattern.parts(values_of_nested(nt))  # type: ignore[no-any-return]


def gathered(parts: list[Tensor], pattern: Jagged | Packed) -> Tensor:
    """The nested tensor of these components, in the layout of a pattern."""
    return with_pattern(*pattern.joined(parts))

"""Which sizes of the arguments may differ: PyTorch's `torch.export.dynamic_shapes`.

NOTE [Dynamic sizes]
1. A module is traced twice, with other sizes in the dimensions that may differ. Both graphs must
   be one but for what they compute of sizes; so a size that the module has made a constant of, or
   a way that it goes at one size only, is found, and refused.
2. A size of an argument that is the same in both is a constant. Any other is read from its tensor
   as the graph runs, for `n % 2` may be the same twice by chance.
3. Dimensions of one `Dim` are equal. Of those that are `AUTO` or `DYNAMIC`, each is tried alone,
   then with others of its size.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...engine.tensor import Tensor
from ...errors import UserError
from ...pytree import is_container

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Dim", "ShapesCollection", "dims"]

UNBOUNDED = 2**63


@dataclass(frozen=True)
class DimHint:
    """A hint about a size that has no name: whether it may differ, and its bounds."""

    kind: str
    min: int | None = None
    max: int | None = None

    def __call__(self, min: int | None = None, max: int | None = None) -> DimHint:
        """The hint with bounds."""
        return DimHint(self.kind, min, max)

    def __repr__(self) -> str:
        bounds = [f", {k}={v}" for k in ("min", "max") if (v := getattr(self, k)) is not None]
        return f"DimHint({self.kind}{''.join(bounds)})"


class Dim:
    """A size of arguments that may differ between calls: for `dynamic_shapes`.

    name: an identifier; min, max: its bounds, which calls are held to. `Dim.AUTO` is a size that
    may differ if the module allows for it, `Dim.DYNAMIC` one that has to, `Dim.STATIC` one that is
    what it is. Raises AssertionError for bounds of which none is between. Source: PyTorch's class.

    >>> from retrograd.export import Dim, export
    >>> ep = export(rg.nn.ReLU(), (rg.ones(4, 2),), dynamic_shapes={"input": {0: Dim("n", max=9)}})
    >>> ep.module()(rg.ones(7, 2)).shape, ep.range_constraints
    (retrograd.Size([7, 2]), {s0: VR[0, 9]})
    """

    AUTO = DimHint("AUTO")
    DYNAMIC = DimHint("DYNAMIC")
    STATIC = DimHint("STATIC")

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, min or 0, max or UNBOUNDED
        if self.max <= self.min:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")

    def __repr__(self) -> str:
        low = "" if self.max < UNBOUNDED and not self.min else f", min={self.min}"
        high = "" if self.max == UNBOUNDED else f", max={self.max}"
        return f"Dim({self.__name__!r}{low}{high})"

    def _derived(self, other: Any) -> Any:
        raise NotImplementedError(
            f"a size that is computed of {self!r}: only sizes that are equal can be said. Write "
            "Dim.AUTO"
        )

    __add__ = __sub__ = __mul__ = __rmul__ = _derived


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """A `Dim` for each name.

    >>> from retrograd.export import dims
    >>> dims("batch", "time", max=8)
    (Dim('batch', max=8), Dim('time', max=8))
    """
    return tuple([Dim(name, min=min, max=max) for name in names])


class ShapesCollection:
    """Dynamic sizes by tensor: a way to write the argument `dynamic_shapes`.

    >>> from retrograd.export import Dim, ShapesCollection
    >>> x, sizes = rg.ones(4, 2), ShapesCollection()
    >>> sizes[x] = {0: Dim.AUTO}
    >>> sizes.dynamic_shapes(rg.nn.ReLU(), (x,))
    {'input': {0: DimHint(AUTO)}}
    """

    def __init__(self) -> None:
        self._shapes: dict[int, tuple[Tensor, Any]] = {}

    def __setitem__(self, t: Tensor, shape: Any) -> None:
        self._shapes[id(t)] = t, shape

    def __getitem__(self, t: Tensor) -> Any:
        return self._shapes[id(t)][1]

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(self, m: Any, args: Any, kwargs: Any = None) -> Any:
        """The argument `dynamic_shapes` for a call with these tensors."""

        def said(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: said(part) for key, part in value.items()}
            if is_container(value):
                return type(value)(map(said, value))
            return self._shapes.get(id(value), (None, None))[1]

        return {name: said(value) for name, value in arguments(m, args, kwargs or {}).items()}


def arguments(module: Any, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, in the order of the signature."""
    return dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)


def specs_of(dynamic_shapes: Any, module: Any, args: Any, kwargs: Any) -> Iterator[Any]:
    """The tensors among the arguments for which something is said, with that by dimension."""
    given = arguments(module, args, kwargs)
    if isinstance(dynamic_shapes, ShapesCollection):
        dynamic_shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
    if isinstance(dynamic_shapes, dict):
        if list(dynamic_shapes) != list(given) and {*dynamic_shapes} != {*given}:
            raise UserError(
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {list(given)} of `inputs`, but here they are {list(dynamic_shapes)}. "
                "Alternatively, give a list or tuple of one for each argument"
            )
    elif len(dynamic_shapes) != len(given):
        raise UserError(
            f"dynamic_shapes: {len(dynamic_shapes)} for {len(given)} arguments, {list(given)}"
        )
    else:
        dynamic_shapes = dict(zip(given, dynamic_shapes, strict=True))
    for name, value in given.items():
        yield from matched(dynamic_shapes[name], value, f"dynamic_shapes[{name!r}]")


def matched(spec: Any, value: Any, place: str) -> Iterator[Any]:
    """The tensors in one argument, with what its part of `dynamic_shapes` says, by dimension."""
    if spec is None:
        return
    if isinstance(value, Tensor):
        yield value, dimensions(spec, value, place)
    elif is_container(value):
        keys = value if isinstance(value, dict) else range(len(value))
        if not is_container(spec) or len(spec) != len(value):
            raise UserError(f"{place} is {spec}, but there are {len(value)} arguments there")
        for key in keys:
            yield from matched(spec[key], value[key], f"{place}[{key!r}]")
    elif not isinstance(spec, DimHint):
        raise UserError(f"{place} is said of {value!r}, which is no tensor. Write None")


def dimensions(spec: Any, tensor: Tensor, place: str) -> dict[int, Any]:
    """The specification of a tensor's sizes, by dimension."""
    shape = tuple(tensor.shape)
    if not isinstance(spec, dict):
        if len(spec) != len(shape):
            raise UserError(
                f"Expected dynamic shape spec {spec} specified at `{place}` to have the same "
                f"length as the actual tensor shape {shape} (expected {len(shape)}, but got "
                f"{len(spec)} instead)"
            )
        spec = dict(enumerate(spec))
    for dim, each in spec.items():
        if not -len(shape) <= dim < len(shape):
            raise UserError(f"{place}: no dimension {dim} in a tensor of shape {shape}")
        if not (each is None or isinstance(each, (int, Dim, DimHint))):
            raise UserError(
                f"Unexpected dimension mapped to index {dim} in input tensor shape {spec} "
                f"specified at `{place}` (expected None, an int, a Dim, Dim.AUTO, Dim.STATIC, or "
                f"Dim.DYNAMIC, but got {each!r} instead)"
            )
    return {dim % len(shape): each for dim, each in spec.items()}

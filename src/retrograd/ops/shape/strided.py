"""Views with any sizes and strides into the storage, all the memory behind a tensor.

And what makes a view anew of another base.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.inplace import become_view
from ...engine.record import walk
from ...engine.registry import declare, example
from ...engine.tensor import Tensor
from ...engine.views import live_views
from ...kernels.allocation import is_batched, zeros
from ...kernels.memory import address, memory, overlaps, span, strided
from ..core.arguments import public
from ..core.dims import sequence
from .basic_views import as_strided as region

__all__ = ["as_strided"]


def _over_storage(
    input: Any,
    *,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    place: tuple[int, tuple[int, ...], int],
    repeated: bool,
) -> Any:
    width, (room, own, start) = input.dtype.itemsize, place
    if place_in_memory(input) != place:  # a copy; what lies beside the input is unknown, so 0
        flat = zeros(input, (room,))
        strided(flat, input.shape, [step * width for step in own], start * width)[...] = input
        input = flat
    steps = [step * width for step in stride]
    return strided(memory(input), size, steps, offset * width, input.dtype)


def _off_storage(
    xp: Any,
    g: Any,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    offset: int,
    place: tuple[int, tuple[int, ...], int],
    repeated: bool,
    input_shape: tuple[int, ...],
) -> Any:
    """The gradient of the input: places that show the same element share its gradient."""
    room, steps, start = place
    own = {"size": input_shape, "stride": steps, "offset": start}
    flat = xp.unstrided(g, size=size, stride=stride, offset=offset, shape=(room,))
    back = xp.as_strided(flat, **own)
    if not repeated:
        return back
    counts = xp.unstrided(xp.zeros_like(back) + 1.0, **own, shape=(room,))
    return back / xp.as_strided(counts, **own)


def _over_all(
    xp: Any, size: int, inputs: Any, batched: Any, /, *, offset: int, place: Any, **how: Any
) -> Any:
    """The views of all examples as one of what holds them, each as far on as its example is."""
    (x,) = inputs
    own = x.stride()
    if own[1:] != place[1]:  # a copy of the examples
        return None
    return as_strided(x, (size, *how["size"]), (own[0], *how["stride"]), offset)


over_storage = declare(
    "over_storage(input, *, size, stride, offset, place, repeated)",
    _over_storage,
    input=_off_storage,
    linear="input",
    view=True,
    batch=_over_all,
    examples=[
        example("3x4", size=(2, 2), stride=(4, 1), offset=1, place=(12, (4, 1), 0), repeated=False)
    ],
    node_name="AsStridedBackward0",
    doc="""A view with any sizes and strides into the memory of a tensor, whose `place` there is
    (elements of the memory, strides, first element); `repeated` says whether some are one.""",
)


def place_in_memory(array: Any) -> tuple[int, tuple[int, ...], int]:
    """(elements in the memory behind an array, the array's strides, its start)."""
    width, owner = array.dtype.itemsize, memory(array)
    first = (address(array) - address(owner)) // width
    return owner.size // width, tuple([step // width for step in array.strides]), first


@public(methods="as_strided")
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A view whose element (i, j, ...) is element `offset + i * stride[0] + j * stride[1] + ...`.

    Elements are those of the storage: of all memory behind the input, which may be a view. The
    offset is that of the input if it is not given. A view of more than a contiguous input's own
    elements cannot be written in place while that is recorded, and elements that are not the
    input's get no gradient through it. Under `vmap` the offset is that of the first example. Raises
    RuntimeError where the view exceeds the storage or, under `vmap`, what lies between the first
    and the last element of an example.

    >>> x = rg.tensor([1, 2, 3, 4])
    >>> rg.as_strided(x, (2, 2), (1, 2)), rg.as_strided(x[2:], (2,), (1,), 0)
    (tensor([[1, 3],
            [2, 4]]), tensor([1, 2]))
    """
    sizes, strides = sequence(size, "as_strided", "size"), sequence(stride, "as_strided", "stride")
    own = own_offset(input._array, sizes, strides, storage_offset)
    if own is not None:
        return region(input, size=sizes, stride=strides, offset=own)
    array = in_memory(input._array)
    place = place_in_memory(array)
    offset = place[2] if storage_offset is None else storage_offset
    made = over_storage(
        input, size=sizes, stride=strides, offset=offset, place=place, repeated=overlaps(array)
    )
    if made._view_of is not None:
        made._view_of.origin = "resized"
    return made


def in_memory(array: Any) -> Any:
    """The array whose layout counts: of a batch, that of its first example."""
    return array.example if is_batched(array) else array


def own_offset(
    array: Any, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int | None
) -> int | None:
    """Where a strided view starts, counted from the first element of a contiguous array.

    None where it shows what is not that array's, or the array is not contiguous; RuntimeError where
    it exceeds the memory, or the extent of an example.
    """
    single, array = not is_batched(array), in_memory(array)
    if len(sizes) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(strides, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(strides)}"
        )
    if min(sizes, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(sizes)} and "
            f"strides={list(strides)}: sizes are not negative"
        )
    if offset is not None and offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if array.__class__ is np.ndarray:
        room, _, start = place_in_memory(array)
    else:
        room, start = array.size, 0
    first = start if offset is None else offset
    last = first + sum([(n - 1) * step for n, step in zip(sizes, strides, strict=True)])
    if 0 not in sizes and last >= room:
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {first} are "
            f"out of bounds for storage of size {room}"
        )
    if not single and 0 not in sizes:
        extent = span(array, writeable=False).size // array.dtype.itemsize
        if first < start or last >= start + extent:
            raise RuntimeError(
                f"result = tensor.as_strided({list(sizes)}, {list(strides)}, {first}) can access "
                "memory outside of `tensor`: under vmap, a view is of what lies between the first "
                f"and the last element of an example, elements {start} to {start + extent - 1}"
            )
    if not array.flags.c_contiguous:
        return None
    inside = first >= start and last < start + array.size
    return max(first - start, 0) if inside or 0 in sizes else None


def own_strided(
    input: Tensor, sizes: Any, strides: Any, offset: Any, caller: str
) -> dict[str, Any]:
    """The parameters of `as_strided`, of a contiguous tensor and its own elements only."""
    params = {
        "size": sequence(sizes, caller, "size"),
        "stride": sequence(strides, caller, "stride"),
    }
    own = own_offset(input._array, params["size"], params["stride"], offset)
    if own is None:
        raise RuntimeError(
            f"{caller}(): the input of shape {list(input.shape)} is not contiguous, or has other "
            "elements than the view. Copy it first: x.contiguous()"
        )
    return {**params, "offset": own}


@public(methods="as_strided_")
def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Change the tensor itself into its `as_strided` view; errors as for `as_strided`.

    Raises RuntimeError for a tensor that is not contiguous, for elements of the storage that are
    not its own, and while views of it are alive: they could not be followed.

    >>> rg.tensor([1, 2, 3]).as_strided_((2, 2), (1, 1))
    tensor([[1, 2],
            [2, 3]])
    """
    params = own_strided(self, size, stride, storage_offset, "as_strided_")
    if live_views(self):
        raise RuntimeError("as_strided_() needs a tensor without live views: x = x.clone()")
    return become_view(self, "as_strided_", ("as_strided", params), ("as_strided", {}))


@public(methods="_view_func")
def _view_func(self: Tensor, new_base: Tensor) -> Tensor | None:
    """The view of `new_base` that this tensor is of its own base; None for what is no view.

    Raises RuntimeError where `new_base` has another shape than the base.

    >>> v = rg.zeros(2, 3).t()[1]
    >>> v._view_func(rg.arange(6.0).reshape(2, 3))
    tensor([1., 4.])
    """
    view = self._view_of
    if view is None:
        return None
    if new_base._array.shape != view.base._array.shape:
        raise RuntimeError(
            f"_view_func(): the base has shape {list(view.base.shape)}, and the new one "
            f"{list(new_base.shape)}; they must be equal"
        )
    return walk(new_base, view.path)  # type: ignore[no-any-return]

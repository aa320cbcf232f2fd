"""Forward-mode differentiation by dual numbers, with PyTorch's names: see `transforms.forward`.

One level is open at a time in a thread, as in PyTorch; `func.jvp` nests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, modes
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor, new_tensor
from ..engine.transforms.forward import Level, make_root, set_tangent, tangent_of
from ..errors import check_bool
from ..kernels.memory import memory, overlaps, same_view_of
from .grad_mode import decorate
from .transformed import OTHER_SIZE

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual",
]  # fmt: skip

NO_LEVEL = (
    "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
    "enter_dual_level() first: with forward_ad.dual_level(): ..."
)
NESTED = (
    "Nested forward mode AD is not supported at the moment: one dual level is open already. Use "
    "nested calls of retrograd.func.jvp instead."
)
NOT_LAST = (
    "Trying to exit a forward AD level that was not the last one that was created. This is not "
    "supported."
)
NO_LEVEL_LEFT = "Dual level must be a positive number: no level is open, so none can be left."
TWICE = (
    "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
    "0 is not supported. Take unpack_dual(tensor).primal first."
)
DUAL_TANGENT = (
    "Setting a forward grad that itself has a forward gradient at the same level 0 is not "
    "supported. Take unpack_dual(tangent).primal first."
)


class UnpackedDualTensor(NamedTuple):
    """The two parts of a dual tensor; `tangent` is None where there is none."""

    primal: Tensor
    tangent: Tensor | None


class _DualLevel(Level):
    """The level of `enter_dual_level`, to be told from those of `func`."""

    writes_tangents = True


def _open() -> _DualLevel | None:
    """The dual level that the calling thread has open, None if it has none."""
    levels = [level for level in modes.state.levels if isinstance(level, _DualLevel)]
    return levels[-1] if levels else None


def __getattr__(name: str) -> Any:
    """`_current_level`, PyTorch's number of the open level: 0, or -1 where none is open."""
    if name == "_current_level":
        return -1 if _open() is None else 0
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def enter_dual_level() -> int:
    """Open a level in which dual tensors can be made; returns its number, 0.

    Raises RuntimeError where one is open already. Prefer `dual_level`.

    >>> from retrograd.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=level)
    """
    if _open() is not None:
        raise RuntimeError(NESTED)
    _DualLevel().__enter__()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the level; the tangents of its dual tensors are gone.

    Raises RuntimeError for a number that is not the open level's, or where none is open.

    >>> from retrograd.autograd import forward_ad
    >>> _ = forward_ad.enter_dual_level(); forward_ad.exit_dual_level()
    """
    opened = _open()
    if opened is None:
        raise RuntimeError(NO_LEVEL_LEFT)
    if level not in (None, 0):
        raise RuntimeError(NOT_LAST)
    opened.__exit__()


class dual_level:  # noqa: N801 (PyTorch's name)
    """A context in which dual tensors can be made and carry their tangents; also a decorator.

    Source: PyTorch's `autograd.forward_ad.dual_level`.

    >>> from retrograd.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """

    __slots__ = ("level",)

    def __enter__(self) -> int:
        number = enter_dual_level()
        self.level = modes.state.levels[-1]
        return number

    def __exit__(self, *exc: object) -> None:
        self.level.__exit__()

    def __call__(self, function: Any) -> Any:
        """Decorate a function: each call has a level of its own."""
        return decorate(function, type(self))


def _is_fwd_grad_enabled() -> bool:
    """Whether dual tensors keep their tangents."""
    return modes.state.paused is None and not modes.state.inference


class _set_fwd_grad_enabled:  # noqa: N801 (PyTorch's name)
    """Turn forward derivatives off, or on again, at once; as a context, for as long as it lasts.

    While they are off, no tensor has a tangent, one from `make_dual` included.

    >>> from retrograd.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(rg.tensor(2.0), rg.tensor(1.0))
    ...     with forward_ad._set_fwd_grad_enabled(False):
    ...         forward_ad.unpack_dual(x).tangent is None
    True
    """

    def __init__(self, mode: bool) -> None:
        check_bool(mode, "_set_fwd_grad_enabled", "mode")
        state = modes.state
        self.before = {"levels": state.levels, "paused": state.paused}
        if not mode and state.paused is None:
            modes.change(levels=(), paused=state.levels)
        elif mode and state.paused is not None:
            modes.change(levels=state.paused, paused=None)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.restore(self.before)


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of `tensor` whose derivative along the direction is `tangent`, of the same shape.

    Both are floating or complex. The result is recorded like any view, so gradients flow to both.
    Raises RuntimeError outside a level, for other sizes or dtypes, or for a tensor that is dual
    already. Source: PyTorch's `make_dual`.

    >>> from retrograd.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(rg.tensor(2.0), rg.tensor(1.0))
    ...     forward_ad.unpack_dual(x**3)
    UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
    """
    opened = _open()
    if modes.state.paused:
        return tensor.view_as(tensor)
    if opened is None or level not in (None, 0):
        raise RuntimeError(NO_LEVEL)
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): the {name} must be a Tensor, not {type(value).__name__}")
        if not dtypes.is_differentiable(value._array.dtype):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: "
                             f"{value.dtype}")  # fmt: skip
    if tangent_of(tangent, opened) is not None:
        raise RuntimeError(DUAL_TANGENT)
    with opened.hidden():
        laid_out = like_layout(tensor, tangent)
    return dual(tensor, laid_out, opened)


def dual(tensor: Tensor, tangent: Tensor, level: Level) -> Tensor:
    """`make_dual` at any level."""
    if tensor._array.shape != tangent._array.shape:
        raise RuntimeError(OTHER_SIZE.format(list(tensor.shape), list(tangent.shape)))
    if tensor._array.dtype != tangent._array.dtype:
        if tangent._array.dtype.kind == "c" != tensor._array.dtype.kind:
            raise RuntimeError(
                f"Expected the tangent of a real tensor to be real, but got {tangent.dtype} for "
                f"{tensor.dtype}. Take its real part, or make the tensor complex"
            )
        tangent = recorded.cast(tangent, dtype=tensor._array.dtype)
    if tangent_of(tensor, level) is not None:
        raise RuntimeError(TWICE)
    made: Tensor = recorded.reshape(tensor, shape=tensor._array.shape)
    make_root(made, level)
    set_tangent(made, level, tangent)
    return made


def like_layout(tensor: Tensor, tangent: Tensor) -> Tensor:
    """`tangent`, laid out in memory as `tensor` is: itself, or a copy in memory of the same size.

    Elements that are one in `tensor` have tangents of their own: then it is `tangent` itself.
    So views of a dual tensor, those by `as_strided` too, lead to the same elements of its tangent.
    """
    x, t = tensor._array, tangent._array
    if not (isinstance(x, np.ndarray) and isinstance(t, np.ndarray)) or x.shape != t.shape:
        return tangent
    same = all(a == b for a, b, n in zip(x.strides, t.strides, x.shape, strict=True) if n > 1)
    size = memory(x).size
    if not x.size or x.dtype != t.dtype or (same and memory(t).size == size) or overlaps(x):
        return tangent
    copy: Tensor = new_tensor(same_view_of(x, np.zeros(size, np.uint8)))
    return copy.copy_(tangent)


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a dual tensor, without tangent, and its tangent: None where it has none.

    Outside a level the tensor itself is returned, with None. Source: PyTorch's `unpack_dual`.

    >>> from retrograd.autograd import forward_ad
    >>> forward_ad.unpack_dual(rg.tensor(2.0))
    UnpackedDualTensor(primal=tensor(2.), tangent=None)
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual(): the dual must be a Tensor, not {type(tensor).__name__}")
    opened = _open()
    if opened is None or level not in (None, 0):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*parts(tensor, opened))


def parts(tensor: Tensor, level: Level) -> tuple[Tensor, Any]:
    """The value and the tangent of a tensor at any level."""
    tangent = tangent_of(tensor, level)
    with level.hidden():
        primal: Tensor = recorded.reshape(tensor, shape=tensor._array.shape)
    make_root(primal, level)
    return primal, tangent

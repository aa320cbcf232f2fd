"""The tools of update rules: constants, blocks, step counts, checks of settings.

NOTE [Update rules]
1. A rule works on arrays, in place, with NumPy's functions and `out`: no graph, no grad mode.
2. It is written for one parameter. Large arrays come to it in blocks (`pieces`): the temporaries
   of a block stay in the cache, where whole arrays would travel to memory and back once per call.
3. The versions of a parameter and of its state count the write (`wrote_all`), so a graph that
   saved an old value raises.
4. Constants are 0-d arrays of the parameter's dtype (`constants`): NumPy takes those twice as fast
   as Python numbers.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .. import modes
from ..dtypes import default_numpy, real_of, scalar_array
from ..engine.dispatch import check_memory
from ..engine.tensor import Tensor, new_tensor, wrote
from ..kernels.allocation import zeros
from ..quiet import QUIET, Quiet, quieten, restore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

F = TypeVar("F", bound="Callable[..., Any]")

__all__: list[str] = []

BLOCK = 16384  # elements; a float32 block and its temporaries fit in a core's L2 cache


def evaluate(closure: Callable[[], Any] | None) -> Any:
    """What `closure` returns, run with gradients on; None without one."""
    if closure is None:
        return None
    before = modes.change(grad=True)
    try:
        return closure()
    finally:
        modes.restore(before)


def quiet_step(step: F) -> F:
    """An optimizer's `step(self, closure)`, quiet but for the closure: NOTE [Quiet] in `quiet`.

    Raises RuntimeError, before anything is written, for a parameter that cannot be: one that was
    expanded or is read-only.
    """
    name = step.__qualname__

    @functools.wraps(step)
    def call(self: Any, closure: Callable[[], Any] | None = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                array = p._array
                plain = array.__class__ is np.ndarray and array.flags.carray
                if not plain and (p._gradient is not None or closure is not None):
                    check_memory(array, name)
        if closure is not None:
            with Quiet() as calm:
                return step(self, partial(calm.aloud, closure))
        token = quieten(QUIET)
        try:
            return step(self)
        except ValueError:
            check_shapes(self)
            raise
        finally:
            restore(token)

    return call  # type: ignore[return-value]


def check_shapes(optimizer: Any) -> None:
    """Raise RuntimeError where a gradient has not the shape of its parameter."""
    for group in optimizer.param_groups:
        for p in group["params"]:
            grad = p._gradient
            if grad is not None and grad.shape != p.shape:
                raise RuntimeError(
                    f"{type(optimizer).__name__}.step(): output with shape {list(p.shape)} doesn't "
                    f"match the broadcast shape {list(grad.shape)} of its gradient. The parameter "
                    "got another shape since: optimizer.zero_grad()"
                )


def constants(dtype: np.dtype[Any], *values: Any) -> list[Any]:
    """Numbers that stay the same from step to step, as 0-d arrays of the components' dtype."""
    real = dtype if dtype.kind == "f" else real_of(dtype)
    return [scalar_array(float(value), real) for value in values]


def zeros_for(x: Any, *names: str) -> dict[str, Any]:
    """The new state of the parameter `x`: "step", and zeros under each of `names`."""
    return {"step": first_step(), **{n: new_tensor(zeros(x, x.shape)) for n in names}}


def passing(dtype: np.dtype[Any], *values: float) -> list[Any]:
    """Numbers that belong to one step; like `constants`, but not remembered."""
    real = real_of(dtype)
    return [np.array(value, real) for value in values]


def is_small(array: Any) -> bool:
    """Whether a rule may run on the whole array at once: NOTE [Update rules], 2."""
    return array.ndim > 0 and array.size <= BLOCK


def row_major(x: Any) -> Any:
    """`x` in row-major order: itself if it is."""
    return x if x.flags.c_contiguous else x.copy()


def pieces(*arrays: Any) -> Iterator[Any]:
    """Arrays of one shape, in blocks; the results of 0-d arithmetic would be no arrays."""
    whole = [row_major(a) if i == 1 else a for i, a in enumerate(arrays)]  # the gradient
    if not all(a.flags.c_contiguous for a in whole):
        yield arrays
        return
    flat = [a.reshape(-1) for a in whole]
    for start in range(0, flat[0].size, BLOCK):
        yield [a[start : start + BLOCK] for a in flat]


def real_pieces(*arrays: Any) -> Iterator[Any]:
    """The same for a rule that treats real and imaginary parts as separate real numbers."""
    if arrays[0].dtype.kind != "c":
        yield from pieces(*arrays)
        return
    real = real_of(arrays[0].dtype)
    whole = [row_major(a) if i == 1 else a for i, a in enumerate(arrays)]
    if all(a.flags.c_contiguous for a in whole):
        yield from pieces(*[a.reshape(-1).view(real) for a in whole])
        return
    for part in ("real", "imag"):
        yield from pieces(*[np.atleast_1d(getattr(a, part)) for a in arrays])


def count_step(state: dict[str, Any]) -> float:
    """Add one to a parameter's "step", and return it as a number."""
    array = state["step"]._array
    np.add(array, 1, array)
    return array.item()  # type: ignore[no-any-return]


def first_step() -> Tensor:
    """The "step" of a new state: 0."""
    return new_tensor(np.zeros((), default_numpy()))


def wrote_all(p: Tensor, own: dict[str, Any], by: str) -> None:
    """Count a write to a parameter and to all tensors of its state."""
    wrote(p, by)
    for value in own.values():
        if isinstance(value, Tensor):
            wrote(value, by)


def check_settings(**settings: Any) -> None:
    """Raise ValueError for a negative setting, as PyTorch words it."""
    names = {"lr": "learning rate", "eps": "epsilon value"}
    for name, value in settings.items():
        if isinstance(value, Tensor) and value._array.size != 1:
            raise ValueError(f"Tensor {name} must be 1-element")
        if not value >= 0.0:
            raise ValueError(f"Invalid {names.get(name, name + ' value')}: {value}")


def check_betas(betas: Any) -> tuple[Any, ...]:
    """The rates of averages as numbers; ValueError unless each is in [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
    return tuple(float(b) if isinstance(b, Tensor) else b for b in betas)


def check_implementation(differentiable: bool, **choices: Any) -> None:
    """Raise for settings that ask for another way of updating than in place on arrays.

    `foreach`, `fused` and `capturable` choose among PyTorch's implementations; here there is one,
    and they are kept in the groups only so that states can be exchanged.
    """
    if differentiable:
        raise ValueError(
            "differentiable=True is not supported: the update is written into the parameters' "
            "arrays. Write the step as operations: w = w - lr * g, with g from autograd.grad(..., "
            "create_graph=True)"
        )
    if choices.get("fused") and choices.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

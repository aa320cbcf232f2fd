"""Parameters that are whole while they are needed: what both wrappers do around a module.

NOTE [Units]
1. A unit is the parameters that one call of `fully_shard`, or one wrapper, has cut. They are whole
   while the module's forward runs, and again from when a gradient reaches its outputs until all of
   theirs are there; between, each rank holds its parts alone.
2. So the graph may not hold whole parameters. Within the forward, a saved value that lies in the
   memory of one is kept as its place there, and read from the parameter as it is gathered again.
   Other values go on to the hooks around, if there are any.
3. Gathering takes all ranks, which run the same units in the same order, backward too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .... import modes
from ....autograd.variable import Variable
from ....engine.tensor import Tensor, new_tensor
from ....kernels.allocation import has_values
from ....kernels.memory import address, memory, root, strided
from ....pytree import flatten
from ..tensor import DTensor, Partial

if TYPE_CHECKING:
    from .policies import MixedPrecisionPolicy

__all__ = ["Unit", "whole"]

WRITTEN = (
    "a parameter of shape {shape} has been modified by an inplace operation between the forward "
    "and the backward pass, which gathers it again: is at version {now}; expected version {then} "
    "instead. Call backward() before optimizer.step()"
)


class Place(NamedTuple):
    """Where a saved value lies in a whole parameter."""

    number: int
    version: int
    offset: int
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class Unit:
    """The parameters of one module that come and go together: NOTE [Units].

    sharded: the dict of each, its name there, and the DTensor. reshards: whether they are cut after
    the forward; after the backward pass they always are.
    """

    def __init__(
        self, sharded: list[Any], policy: MixedPrecisionPolicy, reshards: bool = True
    ) -> None:
        self.sharded, self.policy, self.reshards = sharded, policy, reshards
        self.parameters = [*{id(parameter): parameter for *_, parameter in sharded}.values()]
        self._whole: dict[int, Tensor] = {}  # by number, those that are whole now
        self._before: list[Any] = []  # how modes were before the forwards that run
        self._pass: Any = None  # the backward pass that has reached it
        self._left: set[int] = set()  # whose gradients that has not yet given
        for number, parameter in enumerate(self.parameters):
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(partial(self._arrived, number))

    def unshard(self) -> None:
        """Let the module have whole parameters."""
        numbers = {id(parameter): n for n, parameter in enumerate(self.parameters)}
        with modes.Changed(grad=True, saved_hooks=()):
            for own, name, parameter in self.sharded:
                number = numbers[id(parameter)]
                if number not in self._whole:
                    self._whole[number] = whole(parameter, self.policy)
                own[name] = self._whole[number]

    def reshard(self) -> None:
        """Let the module have those that lie over the ranks."""
        self._whole.clear()
        for own, name, parameter in self.sharded:
            own[name] = parameter

    def materialize(self) -> None:
        """Give parameters on the meta device memory."""
        for parameter in self.parameters:
            array: Any = parameter._array
            if not has_values(array.local):
                array.local = np.empty(array.local.shape, array.dtype)

    # -- forward -------------------------------------------------------------------------------

    def begin(self) -> None:
        """Prepare for the module's forward."""
        self.unshard()
        hooks = modes.state.saved_hooks
        if self.reshards and modes.state.saved_hooks_disabled is None:
            owners = {id(root(held._array)): n for n, held in self._whole.items()}
            around = hooks[-1] if hooks else (same, same)
            hooks = (*hooks, (partial(self._pack, owners, around[0]),
                              partial(self._unpack, around[1])))  # fmt: skip
        self._before.append(modes.change(saved_hooks=hooks))

    def end(self, output: Any) -> None:
        """Clean up after the forward, and wait for gradients of its output."""
        modes.restore(self._before.pop())
        if self.reshards and self._pass is None:  # else it is computed again for a backward pass
            self.reshard()
        for value in flatten(output) if modes.state.grad else ():
            if isinstance(value, Tensor) and value.requires_grad and not value.is_leaf:
                value.register_hook(self._reached)

    def _pack(self, owners: dict[int, int], around: Any, tensor: Tensor) -> Any:
        array = tensor._array
        number = owners.get(id(root(array)))
        if number is None:
            return around(tensor)
        offset = address(array) - address(memory(array)) if array.size else 0
        version = self.parameters[number]._version
        return Place(number, version, offset, array.dtype, array.shape, array.strides)

    def _unpack(self, around: Any, packed: Any) -> Any:
        if not isinstance(packed, Place):
            return around(packed)
        parameter = self.parameters[packed.number]
        if parameter._version != packed.version:
            shape, now = tuple(parameter.shape), parameter._version
            raise RuntimeError(WRITTEN.format(shape=shape, now=now, then=packed.version))
        held = self._whole.get(packed.number)
        array = whole(parameter, self.policy)._array if held is None else held._array
        laid = strided(memory(array), packed.shape, packed.strides, packed.offset, packed.dtype)
        return new_tensor(laid)

    # -- backward ------------------------------------------------------------------------------

    def _reached(self, _: Any) -> None:
        """A gradient has reached the output: the backward pass comes to this unit."""
        if self._pass is not modes.state.current_pass:
            self._pass = modes.state.current_pass
            self._left = {n for n, p in enumerate(self.parameters) if p.requires_grad}
            Variable._execution_engine.queue_callback(self._passed)
            self.unshard()

    def _arrived(self, number: int, _: Any) -> None:
        self._left.discard(number)
        if self._pass is not None and not self._left:
            self.reshard()

    def _passed(self) -> None:
        self._pass = None
        self.reshard()


def whole(parameter: DTensor, policy: MixedPrecisionPolicy) -> Tensor:
    """A parameter as a plain tensor; the mean of its gradients goes to the parts."""
    means = [Partial("avg")] * parameter.device_mesh.ndim
    found = parameter.full_tensor(grad_placements=means)
    if policy.param_dtype is None:
        return found
    return found.to(policy.reduce_dtype or policy.param_dtype).to(policy.param_dtype)


def same(value: Any) -> Any:
    """What hooks do where there are none."""
    return value

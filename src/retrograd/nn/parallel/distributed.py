"""One batch computed in parts, by processes.

NOTE [Processes]
1. Every rank calls its own module on its own part of the batch. At the end of a backward pass that
   reached parameters, `.grad` of all of them becomes its mean over the ranks: in one message per
   dtype, in the order of the parameters, the same bits on every rank.
2. So a parameter's own post-accumulate hook sees the gradient of its rank alone, and
   `autograd.grad` exchanges nothing.
3. The ranks first tell each other which parameters their pass reached. One that some rank did not
   reach is an error on all, or counts as it is (no `.grad` is 0) with `find_unused_parameters`; one
   that none reached is left alone.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import modes
from ...autograd.variable import Variable
from ...engine.tensor import Tensor, new_tensor
from ...locks import load
from ..modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A module of which every process of the group has a copy, trained on a part of the batch each.

    module: any with parameters that require a gradient; all ranks take the parameters and buffers
    of rank 0 now, and its buffers before every forward pass with gradients, unless
    `broadcast_buffers=False`. After `backward()` every `.grad`, real or complex, is the mean over
    the ranks, so with losses that are means over parts of one size it is the gradient of the whole
    batch. init_sync: whether they do now. find_unused_parameters: let
    a rank's pass leave out some parameters. process_group: the ranks, all by default; rank 0 is its
    first. device_ids: None or []. The other arguments are accepted, without effect. Raises
    RuntimeError where the ranks' modules differ in shapes or dtypes, or a rank ends; ValueError
    without a group. Source: PyTorch's `DistributedDataParallel`.

    >>> rg.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> net(rg.ones(5, 3)).sum().backward()
    >>> list(net.state_dict()), net.module.bias.grad
    (['module.weight', 'module.bias'], tensor([5., 5.]))
    >>> rg.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: None = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        load("retrograd.distributed").get_world_size(process_group)
        self.process_group = process_group
        self._names = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not self._names:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                f"modules on GPUs, got {device_ids} and {output_device}. Leave them out"
            )
        self.module, self.broadcast_buffers = module, broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self._synchronizes, self._pass, self._reached = False, None, set[str]()
        group = load("retrograd.distributed")
        for tensor in [*module.parameters(), *module.buffers()] if init_sync else ():
            group.broadcast(tensor, group=process_group, group_src=0)
        for name, parameter in self._names.items():
            parameter.register_post_accumulate_grad_hook(partial(self._note, name))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output for this rank's part of the batch."""
        if modes.state.records:
            self._synchronizes = self.require_backward_grad_sync
            if self._synchronizes and self.broadcast_buffers:
                for buffer in self.module.buffers():
                    load("retrograd.distributed").broadcast(
                        buffer, group=self.process_group, group_src=0
                    )
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Passes forward in this context, and theirs backward, only add to this rank's `.grad`.

        The next backward pass outside averages the sums.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def _note(self, name: str, parameter: Tensor) -> None:
        """A backward pass has reached a parameter: average once it is complete."""
        if not self._synchronizes:
            return
        if self._pass is not modes.state.current_pass:  # that of an earlier pass may have failed
            self._pass = modes.state.current_pass
            self._reached.clear()
            Variable._execution_engine.queue_callback(self._average)
        self._reached.add(name)

    def _average(self) -> None:
        """Let the gradients be their means over the ranks."""
        self._pass, group = None, load("retrograd.distributed")
        counts = new_tensor(np.array([name in self._reached for name in self._names], np.int64))
        group.all_reduce(counts, group=self.process_group)
        reached = dict(zip(self._names, counts._array.tolist(), strict=True))
        missing = [
            name
            for name, count in reached.items()
            if count < group.get_world_size(self.process_group)
        ]
        if missing and not self.find_unused_parameters:
            raise RuntimeError(
                "Expected to have finished reduction of all gradients, but the backward pass of "
                f"some rank did not reach {', '.join(missing)}. Let the loss depend on all "
                "parameters, or pass find_unused_parameters=True to DistributedDataParallel"
            )
        chosen = [self._names[name] for name, count in reached.items() if count]
        for p in chosen:
            if p.grad is None:
                p.grad = new_tensor(np.zeros_like(p._array))
        by_dtype: dict[Any, list[Tensor]] = {}
        for grad in (p.grad for p in chosen if p.grad is not None):
            by_dtype.setdefault(grad._array.dtype, []).append(grad)
        for grads in by_dtype.values():
            whole = new_tensor(np.concatenate([g._array.reshape(-1) for g in grads]))
            group.all_reduce(whole, group.ReduceOp.AVG, self.process_group)
            ends = np.cumsum([g._array.size for g in grads])
            for grad, part in zip(grads, np.split(whole._array, ends[:-1]), strict=True):
                grad.detach().copy_(new_tensor(part.reshape(grad._array.shape)))

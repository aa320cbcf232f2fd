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
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from .... import modes
from ....autograd.variable import Variable
from ....engine.tensor import Tensor, device, new_tensor
from ....locks import load
from ....nn.modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["DistributedDataParallel"]


UNLIKE = (
    "DistributedDataParallel expects the same module on all ranks, but rank 0 of the group has "
    "{ours} where rank {rank} has {theirs}"
)
UNREACHED = (
    "Expected to have finished reduction of all gradients, but the backward pass of some rank did "
    "not reach {names}. Let the loss depend on all parameters, or pass find_unused_parameters=True "
    "to DistributedDataParallel"
)


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
        load("retrograd.torch.distributed").get_world_size(process_group)
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
        self._hook: Any = None
        self._join_config, self._divides = None, True
        self._synchronizes, self._pass, self._reached = False, None, set[str]()
        if init_sync:
            self._take_those_of_rank_0()
        for name, parameter in self._names.items():
            parameter.register_post_accumulate_grad_hook(partial(self._note, name))

    def _take_those_of_rank_0(self) -> None:
        """Take the parameters and buffers of rank 0, once all ranks know that theirs match."""
        group = load("retrograd.torch.distributed")
        tensors = dict(chain(self.module.named_parameters(), self.module.named_buffers()))
        own = [f"{k} of shape {tuple(t.shape)} and dtype {t.dtype}" for k, t in tensors.items()]
        lists: list[Any] = [None] * group.get_world_size(self.process_group)
        group.all_gather_object(lists, own, self.process_group)
        for rank, other in enumerate(lists):
            for ours, theirs in zip_longest(lists[0], other, fillvalue="nothing more"):
                if ours != theirs:
                    raise RuntimeError(UNLIKE.format(ours=ours, theirs=theirs, rank=rank))
        for tensor in tensors.values():
            group.broadcast(tensor, group=self.process_group, group_src=0)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output for this rank's part of the batch."""
        if modes.state.records:
            self._synchronizes = self.require_backward_grad_sync
            if self._synchronizes:
                if self._join_config is not None:
                    joining = load("retrograd.torch.distributed.algorithms.join")
                    joining.Join.notify_join_context(self)
                self._spread_buffers(alive=True)
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
        self._pass = None
        self._exchange(self._reached, alive=True)

    def _exchange(self, reached: set[str], alive: bool) -> None:
        """The same; a rank that is not alive, but follows others, gives zeros and takes nothing."""
        group = load("retrograd.torch.distributed")
        flags = [*(name in reached for name in self._names), alive]
        counts = new_tensor(np.array(flags, np.int64))
        group.all_reduce(counts, group=self.process_group)
        *found, present = counts._array.tolist()
        missing = [name for name, n in zip(self._names, found, strict=True) if n < present]
        if missing and not self.find_unused_parameters:
            raise RuntimeError(UNREACHED.format(names=", ".join(missing)))
        chosen = [p for p, count in zip(self._names.values(), found, strict=True) if count]
        scale = 1.0 if self._divides else group.get_world_size(self.process_group) / present
        by_dtype: dict[Any, list[Tensor]] = {}
        for p in chosen:
            if alive and p.grad is None:
                p.grad = new_tensor(np.zeros_like(p._array))
            by_dtype.setdefault((p if p.grad is None else p.grad)._array.dtype, []).append(p)
        for number, members in enumerate(by_dtype.values()):
            grads: list[Any] = [
                p.grad if alive else new_tensor(np.zeros_like(p._array)) for p in members
            ]
            last = number == len(by_dtype) - 1
            bucket = group.GradBucket(number, last, grads, members)
            mean = self._mean(bucket) * scale if scale != 1.0 else self._mean(bucket)
            for grad, part in zip(grads, bucket.parts(mean), strict=True):
                grad.detach().copy_(part)

    def _mean(self, bucket: Any) -> Any:
        """What takes the place of a bucket's gradients."""
        if self._hook is not None:
            return self._hook[1](self._hook[0], bucket).wait()
        group = load("retrograd.torch.distributed")
        group.all_reduce(bucket.buffer(), group.ReduceOp.AVG, self.process_group)
        return bucket.buffer()

    def register_comm_hook(self, state: object, hook: Callable[[Any, Any], Any]) -> None:
        """Let gradients be what `hook(state, bucket)` makes of them, in place of their mean.

        bucket: a `distributed.GradBucket`. The result is a future of a tensor like its buffer. The
        next bucket waits for it. Raises RuntimeError for a second hook, TypeError for what is not
        callable.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._hook is not None:
            raise RuntimeError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self._hook = (state, hook)

    # -- ranks with different numbers of inputs ------------------------------------------------

    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Any:
        """A context for loops over inputs of which ranks may have different numbers.

        divide_by_initial_world_size: whether a mean counts the ranks that are done, with gradients
        of zeros. The other arguments are those of `distributed.algorithms.join.Join`.
        """
        return load("retrograd.torch.distributed.algorithms.join").Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, *, divide_by_initial_world_size: bool = True, **_: Any) -> Any:
        """What a rank does that has no more inputs."""
        self._divides = divide_by_initial_world_size
        return load("retrograd.torch.distributed.algorithms.join").DataParallelHook(self)

    join_device = device("cpu")

    @property
    def join_process_group(self) -> Any:
        """The group whose ranks join."""
        return self.process_group or load("retrograd.torch.distributed").group.WORLD

    def _spread_buffers(self, alive: bool) -> None:
        """Take the buffers of the first rank; of one that has inputs, where not all have."""
        buffers = [*self.module.buffers()] if self.broadcast_buffers else []
        source, group = 0, load("retrograd.torch.distributed")
        if buffers and self._join_config is not None:
            joining = load("retrograd.torch.distributed.algorithms.join")
            source = joining.common_rank(self.process_group, alive)
        for buffer in buffers:
            group.broadcast(buffer, group=self.process_group, group_src=source)

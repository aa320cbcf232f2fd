"""One batch computed in parts, by processes.

NOTE [Processes]
1. Every rank calls its own module on its own part of the batch. A backward pass makes `.grad` of
   all parameters its mean over the ranks, the same bits on every rank.
2. Gradients travel in buckets, of the last parameters first. A bucket starts when the pass has
   reached all of its parameters and all buckets before it have started, and moves beside the rest
   of the pass; what is not full at the end of the pass starts then. With a communication hook all
   start then, one after the other.
3. So a parameter's own post-accumulate hook sees the gradient of its rank alone, and
   `autograd.grad` exchanges nothing.
4. Each bucket says which of its parameters the rank's pass has reached. One that some rank did not
   reach is an error on all, or counts as it is (no `.grad` is 0) with `find_unused_parameters` or
   `static_graph`; one that none reached is left alone.
5. Ranks whose passes fail at different places break the group: a bucket says of which pass it is.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from .... import modes
from ....autograd.variable import Variable
from ....engine.tensor import Tensor, device
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
    batch. init_sync: whether they do now. find_unused_parameters, static_graph: let a rank's pass
    leave out some parameters. bucket_cap_mb: the megabytes of gradients that travel together, 25 by
    default, 1 for the first. gradient_as_bucket_view: let every `.grad` lie in the memory that
    travels, which the next pass writes. process_group: the ranks, all by default; rank 0 is its
    first. device_ids: None or []. The other arguments are accepted, without effect. Raises
    RuntimeError where the ranks' modules differ in shapes or dtypes, or a rank ends; ValueError
    without a group. Source: PyTorch's `DistributedDataParallel`.

    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> net(rg.ones(5, 3)).sum().backward()
    >>> list(net.state_dict()), net.module.bias.grad
    (['module.weight', 'module.bias'], tensor([5., 5.]))
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
        self.find_unused_parameters = find_unused_parameters or static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self._hook: Any = None
        self._join_config, self._divides = None, True
        self._synchronizes, self._pass, self._passes, self._next = False, None, 0, 0
        buckets = load("retrograd.torch.distributed.buckets")
        self._buckets = buckets.bucketed([*self._names.values()], bucket_cap_mb or 25)
        if init_sync:
            self._take_those_of_rank_0()
        for bucket in self._buckets:
            for place, parameter in enumerate(bucket.parameters()):
                parameter.register_post_accumulate_grad_hook(partial(self._note, bucket, place))

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

    def _note(self, bucket: Any, place: int, parameter: Tensor) -> None:
        """A backward pass has reached a parameter: start what is complete."""
        if not self._synchronizes:
            return
        if self._pass is not modes.state.current_pass:
            self._begin()
            self._pass = modes.state.current_pass
            Variable._execution_engine.queue_callback(self._average)
        bucket.take(place)
        while self._hook is None and self._next < len(self._buckets):
            if not all(self._buckets[self._next].reached):
                break
            self._start(alive=True)

    def _begin(self) -> None:
        """Empty the buckets, once what an earlier pass that failed has started is done."""
        for bucket in self._buckets:
            bucket.empty()
        self._passes, self._next = self._passes + 1, 0

    def _start(self, alive: bool) -> None:
        """Let the next bucket travel."""
        bucket, self._next = self._buckets[self._next], self._next + 1
        bucket.fill(alive)
        world = load("retrograd.torch.distributed").membership.joined(self.process_group).world
        call = f"gradients {self._next} of {len(self._buckets)} of pass {self._passes}"
        if self._hook is None:
            bucket.work = world.all_reduce(call, bucket.memory, "mean", beside=True)
        else:
            world.all_reduce(call, bucket.flags, "mean")
            bucket.travel(self._hook)

    def _average(self) -> None:
        """Let the gradients be their means over the ranks."""
        self._pass = None
        self._finish(alive=True)

    def _follow(self) -> None:
        """Do what the others do in a pass, with zeros, and take nothing."""
        self._begin()
        self._finish(alive=False)

    def _finish(self, alive: bool) -> None:
        """Let the buckets travel that have not yet, wait for all, and take what has come."""
        while self._next < len(self._buckets):
            self._start(alive)
        size = load("retrograd.torch.distributed").get_world_size(self.process_group)
        unreached = set[int]()
        for bucket in self._buckets:
            unreached |= bucket.arrive(size)
        if unreached and not self.find_unused_parameters:
            names = [name for name, p in self._names.items() if id(p) in unreached]
            raise RuntimeError(UNREACHED.format(names=", ".join(names)))
        for bucket in self._buckets if alive else ():
            bucket.give(self.gradient_as_bucket_view, self._divides)

    def register_comm_hook(self, state: object, hook: Callable[[Any, Any], Any]) -> None:
        """Let gradients be what `hook(state, bucket)` makes of them, in place of their mean.

        bucket: a `distributed.GradBucket`. The result is a future of a tensor like its buffer. The
        first bucket waits for the end of the pass, each other one for that before it. Raises
        RuntimeError for a second hook, TypeError for what is not callable.
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

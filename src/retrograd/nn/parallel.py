"""One batch computed in chunks: `DataParallel` in threads, `DistributedDataParallel` in processes.

NOTE [Threads]
1. Every chunk runs in a new thread, even if there is only one chunk. So what is thread-local in the
   calling thread, saved-tensor hooks for instance, does not reach the module: put such a context
   into its `forward`. Only the grad mode is carried over, as in PyTorch.
2. Each thread calls a replica: a copy of the module tree that shares the parameters, so gradients
   of all chunks add up there. The first replica shares the buffers too; the others have copies, so
   running statistics follow the first chunk, and no two threads write one buffer.

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

import os
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import modes
from ..autograd.variable import Variable
from ..engine.tensor import Tensor, new_tensor
from ..locks import load
from ..ops.shape.join import cat, stack
from .modules.module import Module

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["DataParallel", "DistributedDataParallel", "replicate"]


class DataParallel(Module):
    """A module called on chunks of the batch in parallel threads, the outputs joined.

    module: takes tensors with the batch in `dim`, (N, *) by default, and returns such; device_ids:
    the number of threads, or a list with one entry for each, by default one for each processor.
    Tensors in the arguments (nested in tuples, lists, dictionaries too) are split along `dim`,
    everything else is handed to every thread; outputs are joined along `dim`, 0-d ones into a
    vector. An exception in a thread is raised here. Raises ValueError unless there is a thread.
    Source: PyTorch's `nn.DataParallel`, whose chunks go to several devices.

    >>> net = rg.nn.DataParallel(rg.nn.Linear(3, 2), device_ids=2)
    >>> net(rg.ones(5, 3)).shape
    retrograd.Size([5, 2])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        if device_ids is None:
            device_ids = os.cpu_count() or 1
        self.device_ids = list(range(device_ids)) if isinstance(device_ids, int) else [*device_ids]
        if not self.device_ids:
            raise ValueError("device_ids must name at least one thread")
        self.dim, self.output_device = dim, output_device
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output for the whole batch."""
        calls = split_arguments(inputs, kwargs, len(self.device_ids), self.dim)
        replicas = [replicate(self.module, shares_buffers=n == 0) for n in range(len(calls))]
        return join(run_in_threads(replicas, calls), self.dim)


def replicate(module: Module, *, shares_buffers: bool) -> Any:
    """A copy of the module tree with the same parameters, and the same buffers if asked."""
    copies: dict[int, Any] = {}

    def copy(source: Any) -> Any:
        made = copies.get(id(source))
        if made is None:
            made = copies[id(source)] = object.__new__(type(source))
            made.__dict__.update(source.__dict__)
            buffers = source._buffers.items()
            made.__dict__.update(
                _parameters=dict(source._parameters),
                _buffers={name: b if shares_buffers else _copied(b) for name, b in buffers},
                _modules={
                    name: None if child is None else copy(child)
                    for name, child in source._modules.items()
                },
            )
        return made

    return copy(module)


def _copied(buffer: Tensor | None) -> Tensor | None:
    return None if buffer is None else new_tensor(buffer._array.copy())


def split_arguments(
    inputs: tuple[Any, ...], kwargs: dict[str, Any], count: int, dim: int
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """(inputs, kwargs) of each chunk: `count` of them, or as many as the batch allows."""
    found = [len(t.chunk(count, dim)) for t in tensors_in([*inputs, *kwargs.values()])]
    return scatter((inputs, kwargs), min(found, default=1), dim)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def scatter(value: Any, count: int, dim: int) -> list[Any]:
    """`value` for each of `count` calls, tensors in it split along `dim`."""
    if isinstance(value, Tensor):
        return list(value.chunk(count, dim))
    if isinstance(value, (tuple, list)):
        columns = [scatter(item, count, dim) for item in value]
        rows = list(zip(*columns, strict=True)) if columns else [()] * count
        if hasattr(value, "_fields"):
            return [type(value)(*row) for row in rows]
        return [type(value)(row) for row in rows]
    if isinstance(value, dict):
        rows = scatter(list(value.values()), count, dim)
        return [dict(zip(value, row, strict=True)) for row in rows]
    return [value] * count


def run_in_threads(modules: list[Any], calls: list[Any]) -> list[Any]:
    """The modules' outputs, each computed in a thread; the first exception is raised."""
    outputs: list[Any] = [None] * len(calls)
    errors: list[BaseException | None] = [None] * len(calls)
    grad = modes.state.grad

    def work(number: int) -> None:
        before = modes.change(grad=grad)
        try:
            inputs, kwargs = calls[number]
            outputs[number] = modules[number](*inputs, **kwargs)
        except BaseException as error:
            error.add_note(f"Raised in replica {number} of DataParallel.")
            errors[number] = error
        finally:
            modes.restore(before)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    try:
        for error in errors:
            if error is not None:
                raise error
    finally:
        errors.clear()  # a traceback holds this frame
        error = None
    return outputs


def join(outputs: list[Any], dim: int) -> Any:
    """One output from those of the chunks."""
    first = outputs[0]
    if isinstance(first, Tensor):
        if first._array.ndim == 0:
            return stack(outputs)
        return cat(outputs, dim)
    if isinstance(first, dict):
        if any(out.keys() != first.keys() for out in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, join([out[key] for out in outputs], dim)) for key in first)
    if isinstance(first, (tuple, list)):
        columns = [join(list(column), dim) for column in zip(*outputs, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    return first


class DistributedDataParallel(Module):
    """A module of which every process of the group has a copy, trained on a part of the batch each.

    module: any with parameters that require a gradient; all ranks take the parameters and buffers
    of rank 0 now, and its buffers before every forward pass with gradients, unless
    `broadcast_buffers=False`. After `backward()` every `.grad`, real or complex, is the mean over
    the ranks, so with losses that are means over parts of one size it is the gradient of the whole
    batch. find_unused_parameters: let a rank's pass leave out some parameters. Raises
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
        device_ids: None = None,
        output_device: None = None,
        *,
        broadcast_buffers: bool = True,
        find_unused_parameters: bool = False,
    ) -> None:
        super().__init__()
        self._names = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not self._names:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter "
                "that requires a gradient."
            )
        if device_ids is not None or output_device is not None:
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                f"modules on GPUs, got {device_ids} and {output_device}. Leave them out"
            )
        self.module, self.broadcast_buffers = module, broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True
        self._synchronizes, self._pass, self._reached = False, None, set[str]()
        group = load("retrograd.distributed")
        for tensor in [*module.parameters(), *module.buffers()]:
            group.broadcast(tensor, 0)
        for name, parameter in self._names.items():
            parameter.register_post_accumulate_grad_hook(partial(self._note, name))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output for this rank's part of the batch."""
        if modes.state.grad:
            self._synchronizes = self.require_backward_grad_sync
            if self._synchronizes and self.broadcast_buffers:
                for buffer in self.module.buffers():
                    load("retrograd.distributed").broadcast(buffer, 0)
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
        group.all_reduce(counts)
        reached = dict(zip(self._names, counts._array.tolist(), strict=True))
        missing = [name for name, count in reached.items() if count < group.get_world_size()]
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
            group.all_reduce(whole, group.ReduceOp.AVG)
            ends = np.cumsum([g._array.size for g in grads])
            for grad, part in zip(grads, np.split(whole._array, ends[:-1]), strict=True):
                grad.detach().copy_(new_tensor(part.reshape(grad._array.shape)))

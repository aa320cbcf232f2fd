"""One batch computed in chunks, by threads.

NOTE [Threads]
1. Every chunk runs in a new thread, even if there is only one chunk. So what is thread-local in the
   calling thread, saved-tensor hooks for instance, does not reach the module: put such a context
   into its `forward`. Only the grad mode is carried over, as in PyTorch.
2. Each thread calls a replica: a copy of the module tree that shares the parameters, so gradients
   of all chunks add up there. The first replica shares the buffers too; the others have copies, so
   running statistics follow the first chunk, and no two threads write one buffer.
"""

from __future__ import annotations

import threading
from typing import Any

from .... import modes
from ....engine.tensor import Tensor, new_tensor
from ....kernels.allocation import copied
from ....nn.modules.module import Module
from .scatter_gather import chunks, gather, tensors_in

__all__ = ["DataParallel", "replicate"]


class DataParallel(Module):
    """A module called on chunks of the batch in parallel threads, the outputs joined.

    module: takes tensors with the batch in `dim`, (N, *) by default, and returns such; device_ids:
    the number of threads, or a list with one entry for each, by default none: the module is called.
    Tensors in the arguments (nested in tuples, lists, dictionaries too) are split along `dim`,
    everything else is handed to every thread; outputs are joined along `dim`, 0-d ones into a
    vector. An exception in a thread is raised here.
    Source: PyTorch's `nn.DataParallel`, whose chunks go to devices, by default to all GPUs.

    >>> net = rg.nn.DataParallel(rg.nn.Linear(3, 2), device_ids=2)
    >>> net(rg.ones(5, 3)).shape
    retrograd.Size([5, 2])
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        ids = range(device_ids) if isinstance(device_ids, int) else device_ids or ()
        self.device_ids = list(ids)
        self.dim, self.output_device = dim, output_device
        self.module = module

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's output for the whole batch."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        calls = split_arguments(inputs, kwargs, len(self.device_ids), self.dim)
        replicas = [replicate(self.module, shares_buffers=n == 0) for n in range(len(calls))]
        return gather(run_in_threads(replicas, calls), None, self.dim)


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
    return None if buffer is None else new_tensor(copied(buffer._array))


def split_arguments(
    inputs: tuple[Any, ...], kwargs: dict[str, Any], count: int, dim: int
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """(inputs, kwargs) of each chunk: `count` of them, or as many as the batch allows."""
    found = [len(t.chunk(count, dim)) for t in tensors_in([*inputs, *kwargs.values()])]
    return chunks((inputs, kwargs), min(found, default=1), dim)


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

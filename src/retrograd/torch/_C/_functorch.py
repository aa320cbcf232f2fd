"""`torch._C._functorch`: the steps of `vmap` one by one, for programs with a `vmap` of their own.

A level is told by its number: 1 for the outermost batched call in progress.
"""

from __future__ import annotations

from typing import Any

from ... import modes
from ...autograd.transformed import to_front
from ...engine.tensor import Tensor
from ...engine.transforms.batch import BatchLevel, argument, is_batch, split
from ...func.batching import debug_unwrap, moved
from ...ops.tensor.printing import transforms_of

__all__ = [
    "get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor",
    "maybe_get_level",
]  # fmt: skip


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begin a batched call; its number.

    >>> from retrograd._C import _functorch as levels
    >>> level = levels._vmap_increment_nesting(3, "error")
    >>> x = levels._add_batch_dim(rg.arange(6.0).reshape(2, 3), 1, level)
    >>> x.shape, levels._remove_batch_dim(x.sum(), level, 3, 0)
    (retrograd.Size([2]), tensor([3., 5., 7.]))
    >>> levels._vmap_decrement_nesting()
    1
    """
    return BatchLevel(batch_size, randomness).__enter__().depth + 1


def _vmap_decrement_nesting() -> int:
    """End the newest batched call; its number."""
    level = modes.state.batches[-1]
    level.__exit__()
    return level.depth + 1  # type: ignore[no-any-return]


def _add_batch_dim(tensor: Tensor, in_dim: int, level: int) -> Tensor:
    """A tensor that stands for each example along a dimension of `tensor`."""
    return argument(to_front(tensor, in_dim), modes.state.batches[level - 1], in_dim)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """All examples that `tensor` stands for, along a dimension; those of any other are alike."""
    return moved(split(tensor, modes.state.batches[level - 1]), out_dim)


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor stands for an example of a batched call.

    >>> from retrograd._C._functorch import is_batchedtensor
    >>> seen = []
    >>> _ = rg.vmap(lambda x: seen.append(is_batchedtensor(x)) or x)(rg.ones(2))
    >>> seen, is_batchedtensor(rg.ones(2))
    ([True], False)
    """
    return is_batch(tensor)


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a function transform in progress differentiates by what a tensor was computed from.

    >>> from retrograd._C._functorch import is_gradtrackingtensor
    >>> seen = []
    >>> _ = rg.func.grad(lambda x: seen.append(is_gradtrackingtensor(x * 2)) or x)(rg.tensor(1.0))
    >>> seen, is_gradtrackingtensor(rg.ones(2, requires_grad=True))
    ([True], False)
    """
    return bool(transforms_of(tensor))


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a function transform in progress sees a tensor as one of its own."""
    return is_batchedtensor(tensor) or is_gradtrackingtensor(tensor)


def get_unwrapped(tensor: Tensor) -> Tensor:
    """All examples that a tensor of the newest batched call stands for; of others the values."""
    return debug_unwrap(tensor, recurse=False) if is_batch(tensor) else tensor.detach()


def maybe_get_level(tensor: Tensor) -> int:
    """The number of the batched call that a tensor is of, or -1."""
    return tensor._array.level.depth + 1 if is_batch(tensor) else -1

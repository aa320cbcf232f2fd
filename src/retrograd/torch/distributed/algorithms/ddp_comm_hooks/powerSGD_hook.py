"""Gradients as products of two thin matrices: PowerSGD.

Source: T. Vogels, S. P. Karimireddy, M. Jaggi (2019). A matrix M of a gradient is sent as P = M Q,
made orthogonal, and Q = M^T P; what that leaves out is added to the next gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....futures import Future
from ...membership import joined
from .default_hooks import allreduce_hook

if TYPE_CHECKING:
    from .....engine.tensor import Tensor
    from ...buckets import GradBucket

__all__ = ["PowerSGDState", "powerSGD_hook"]


class PowerSGDState:
    """What `powerSGD_hook` keeps from pass to pass.

    matrix_approximation_rank: how thin the matrices are; start_powerSGD_iter: the number of passes
    before, in which gradients are sent whole; min_compression_rate: matrices that would not become
    that many times smaller are sent whole; use_error_feedback: whether what is left out is added to
    the next gradient; warm_start: whether Q starts from that of the last pass; random_seed: of the
    first Q. Raises ValueError where a feedback or a warm start begins with the first pass.

    >>> from retrograd.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> PowerSGDState(None, matrix_approximation_rank=2).start_powerSGD_iter
    1000
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        *,
        random_seed: int = 0,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is "
                f"enabled, got {start_powerSGD_iter}: the first passes may have other buckets"
            )
        self.process_group, self.start_powerSGD_iter = process_group, start_powerSGD_iter
        self.matrix_approximation_rank = matrix_approximation_rank
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.rng = np.random.RandomState(random_seed)
        self.iter = 0
        self.error_dict: dict[int, Any] = {}
        self.q_memory: dict[tuple[int, int], Any] = {}


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:  # noqa: N802
    """The mean of gradients, of which those that are matrices are sent as thin ones.

    >>> from retrograd.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import *
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> net.register_comm_hook(PowerSGDState(None), powerSGD_hook)
    """
    state.iter += bucket.is_last()
    if state.iter - bucket.is_last() < state.start_powerSGD_iter:
        return allreduce_hook(state.process_group, bucket)
    buffer, index = bucket.buffer()._array, bucket.index()
    if state.use_error_feedback:
        buffer += state.error_dict.get(index, 0)
        state.error_dict[index] = buffer.copy()
    rest = []
    for number, grad in enumerate(bucket.gradients()):
        matrix = grad._array.reshape(len(grad) if grad.ndim > 1 else 1, -1)
        rank = min(*matrix.shape, state.matrix_approximation_rank)
        if sum(matrix.shape) * rank * state.min_compression_rate < matrix.size:
            _compress(state, (index, number), matrix, rank)
        else:
            rest.append(matrix.reshape(-1))
    if rest:
        ends = np.cumsum([part.size for part in rest])
        whole = _joined(state, np.concatenate(rest), "mean")
        for part, found in zip(rest, np.split(whole, ends[:-1]), strict=True):
            part[...] = found
    if state.use_error_feedback:
        state.error_dict[index] -= buffer
    done: Future[Tensor] = Future()
    done.set_result(bucket.buffer())
    return done


def _compress(state: PowerSGDState, key: tuple[int, int], matrix: Any, rank: int) -> None:
    """Overwrite a matrix by the mean over the ranks of what its thin ones give."""
    q = state.q_memory.get(key) if state.warm_start else None
    if q is None:
        q = state.rng.standard_normal((matrix.shape[1], rank)).astype(matrix.dtype)
        q, _ = np.linalg.qr(q)
    p, _ = np.linalg.qr(_joined(state, matrix @ q, "add"))
    q = state.q_memory[key] = _joined(state, matrix.conj().T @ p, "mean")
    matrix[...] = p @ q.conj().T


def _joined(state: PowerSGDState, array: Any, how: str) -> Any:
    """The sum over the ranks, or the mean."""
    return joined(state.process_group).world.all_reduce("PowerSGD", array, how, False)

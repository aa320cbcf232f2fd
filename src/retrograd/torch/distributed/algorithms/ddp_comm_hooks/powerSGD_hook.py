"""Gradients as products of two thin matrices: PowerSGD.

Source: T. Vogels, S. P. Karimireddy, M. Jaggi (2019). A matrix M of a gradient is sent as P = M Q,
made orthogonal, and Q = M^T P; what that leaves out is added to the next gradient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....futures import Future
from ...membership import get_world_size, joined
from .default_hooks import allreduce_hook

if TYPE_CHECKING:
    from .....engine.tensor import Tensor
    from ...buckets import GradBucket

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


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
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
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

    def compress(buffer: Any) -> None:
        grads = [grad._array for grad in bucket.gradients()]
        matrices = [grad.reshape(len(grad), -1) if grad.ndim else grad for grad in grads]
        thin = [_pays(state, matrix) for matrix in matrices]
        rest = [m.reshape(-1) for m, flag in zip(matrices, thin, strict=True) if not flag]
        if rest:
            whole = _sum(state, np.concatenate(rest)) / get_world_size(state.process_group)
            ends = np.cumsum([part.size for part in rest])
            for part, found in zip(rest, np.split(whole, ends[:-1]), strict=True):
                part[...] = found
        for number, (matrix, flag) in enumerate(zip(matrices, thin, strict=True)):
            if flag:
                _compress(state, (bucket.index(), number), matrix)

    return _with_feedback(state, bucket, compress)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Tensor]:  # noqa: N802
    """The same with the whole bucket as one square matrix: faster, and less exact.

    >>> from retrograd.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import *
    >>> net = rg.nn.parallel.DistributedDataParallel(rg.nn.Linear(3, 2))
    >>> net.register_comm_hook(PowerSGDState(None), batched_powerSGD_hook)
    """

    def compress(buffer: Any) -> None:
        side = math.isqrt(buffer.size - 1) + 1
        square = np.zeros(side * side, buffer.dtype)
        square[: buffer.size] = buffer
        _compress(state, (bucket.index(), 0), square.reshape(side, side))
        buffer[...] = square[: buffer.size]

    return _with_feedback(state, bucket, compress)


def _with_feedback(state: PowerSGDState, bucket: GradBucket, compress: Any) -> Future[Tensor]:
    """Compress a bucket in place, with what was left out of the last one."""
    if state.iter < state.start_powerSGD_iter:
        state.iter += bucket.is_last()
        return allreduce_hook(state.process_group, bucket)
    buffer, index = bucket.buffer()._array, bucket.index()
    if state.use_error_feedback:
        buffer += state.error_dict.get(index, 0)
        before = buffer.copy()
    compress(buffer)
    if state.use_error_feedback:
        state.error_dict[index] = before - buffer
    state.iter += bucket.is_last()
    found: Future[Tensor] = Future()
    found.set_result(bucket.buffer())
    return found


def _pays(state: PowerSGDState, matrix: Any) -> bool:
    if matrix.ndim < 2:
        return False
    rows, columns = matrix.shape
    rank = min(rows, columns, state.matrix_approximation_rank)
    smaller: bool = (rows + columns) * rank * state.min_compression_rate < rows * columns
    return smaller


def _compress(state: PowerSGDState, key: tuple[int, int], matrix: Any) -> None:
    """Overwrite a matrix by the mean over the ranks of what its thin ones give."""
    rank = min(*matrix.shape, state.matrix_approximation_rank)
    q = state.q_memory.get(key) if state.warm_start else None
    if q is None:
        q = state.rng.standard_normal((matrix.shape[1], rank)).astype(matrix.dtype)
        q, _ = np.linalg.qr(q)
    p, _ = np.linalg.qr(_sum(state, matrix @ q))
    q = _sum(state, matrix.conj().T @ p) / get_world_size(state.process_group)
    state.q_memory[key] = q
    matrix[...] = p @ q.conj().T


def _sum(state: PowerSGDState, array: Any) -> Any:
    """The sum over the ranks."""
    return joined(state.process_group).world.all_reduce("PowerSGD", array, "add", False)

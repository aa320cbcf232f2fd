"""A softmax over many classes that spends less on the rare ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor, new_tensor
from ...ops.shape.join import cat
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by frequency, in a head and clusters of rare ones.

    The head holds the first `cutoffs[0]` classes and one entry per cluster; cluster i holds classes
    cutoffs[i] to cutoffs[i + 1] and works on in_features / div_value^(i + 1) features. A call takes
    (N, in_features) and classes (N), or one of each, and returns (output: the log-probability of
    each target, loss: minus their mean). Raises ValueError for cutoffs that do not increase within
    1 to n_classes - 1, RuntimeError for shapes and targets that do not fit. Source: PyTorch's class
    of this name; Grave et al., ICML 2017.

    >>> layer = rg.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [4, 10])
    >>> layer(rg.ones(3, 16), rg.tensor([0, 7, 19])).output.shape
    retrograd.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            any(a >= b for a, b in itertools.pairwise(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(itertools.pairwise(self.cutoffs), 1):
            inner = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, False, device, dtype),
                    Linear(inner, high - low, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        for module in self.modules():
            if isinstance(module, Linear):
                module.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """(output, loss): see the class."""
        _check(input_, target_)
        batched = target_._array.ndim > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_._array.reshape(-1)
        if target.size and not (target.min() >= 0 and target.max() < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min()}, {target.max()}] were found. "
            )
        cluster = np.searchsorted(self.cutoffs, target, "right")
        place = np.where(cluster == 0, target, self.shortlist_size + cluster - 1)
        head = F.log_softmax(self.head(input), 1)
        tails = head.new_zeros(len(place))
        for number in range(1, self.n_clusters + 1):
            rows = np.flatnonzero(cluster == number)
            if rows.size:
                index = new_tensor(rows)
                within = new_tensor((target[rows] - self.cutoffs[number - 1])[:, None])
                local = F.log_softmax(self.tail[number - 1](input.index_select(0, index)), 1)
                tails = tails.index_add(0, index, local.gather(1, within).squeeze(1))
        output = tails + head.gather(1, new_tensor(place[:, None])).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: (N, in_features) to (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        found = [head[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            entry = head[:, self.shortlist_size + number].unsqueeze(1)
            found.append(F.log_softmax(tail(input), 1) + entry)
        return cat(found, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The class with the highest probability, (N): that of the head if it is no cluster."""
        head = self.head(input).real.argmax(1)
        outside = head >= self.shortlist_size
        return self.log_prob(input).real.argmax(1).where(outside, head)


def _check(input: Tensor, target: Tensor) -> None:
    ndim = target._array.ndim
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if ndim == 1 and input.shape[0] != target.shape[0]:
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input._array.ndim != ndim + 1:
        raise RuntimeError(
            f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with size "
            f"{input.shape}"
        )

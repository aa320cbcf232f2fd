"""Losses as layers: each holds the settings of one function of `functional`.

`reduction` is "mean", "sum" or "none"; the deprecated flags `size_average` and `reduce` of PyTorch,
where given, choose among these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from ...ops.loss.elementwise import older_reduction
from .. import functional as F
from .distance import PairwiseDistance
from .linear import Linear
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss",
    "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss",
    "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


def called_at_once(name: str) -> TypeError:
    """The error for tensors where a loss of that name takes settings."""
    return TypeError(
        f"{name}() takes settings, not tensors. Make the loss first, then call it: "
        f"{name}()(input, target)"
    )


class _Loss(Module):
    """A function of two tensors with `settings`: attributes that it takes by the same keyword."""

    settings: tuple[str, ...] = ("reduction",)

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        if any(isinstance(each, Tensor) for each in (size_average, reduce, reduction)):
            raise called_at_once(type(self).__name__)
        if size_average is not None or reduce is not None:
            reduction = older_reduction(size_average, reduce)
        self.reduction = reduction

    @staticmethod
    def function(*args: Any, **kwargs: Any) -> Tensor:
        """The function of `nn.functional` that computes the loss."""
        raise NotImplementedError

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of `input` against `target`."""
        return self.function(input, target, **self._given())

    def _given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.settings}


class _WeightedLoss(_Loss):
    """A loss with a `weight` buffer."""

    settings: tuple[str, ...] = ("weight", "reduction")

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|input - target|. Source: PyTorch's `nn.L1Loss`.

    input and target: shapes that broadcast to (*), else RuntimeError; real or complex. Returns a
    real scalar, or (*) if the reduction is "none".

    >>> rg.nn.L1Loss()(rg.tensor([1.0, 4.0]), rg.tensor([2.0, 2.0]))
    tensor(1.5000)
    """

    function = staticmethod(F.l1_loss)


class MSELoss(_Loss):
    """|input - target|^2. Source: PyTorch's `nn.MSELoss`.

    input and target: floating or complex, of shapes that broadcast to (*), else RuntimeError.
    Returns a real scalar, or (*) if the reduction is "none".

    >>> rg.nn.MSELoss(reduction="sum")(rg.tensor([1.0, 4.0]), rg.tensor([2.0, 2.0]))
    tensor(5.)
    """

    function = staticmethod(F.mse_loss)


class CrossEntropyLoss(_WeightedLoss):
    """-log softmax(input) at the target class. Source: PyTorch's `nn.CrossEntropyLoss`.

    input: (C), (N, C) or (N, C, *) logits, floating; target: class numbers of the shape without C,
    or probabilities of the input's shape. Returns a scalar, or the shape without C if the reduction
    is "none". weight: (C); `ignore_index` is a class that does not count; `label_smoothing` mixes
    in the uniform distribution. Raises IndexError for a class outside 0 to C - 1, RuntimeError or
    ValueError for shapes that do not fit, NotImplementedError for other dtypes.

    >>> rg.nn.CrossEntropyLoss()(rg.zeros(2, 4), rg.tensor([0, 3]))
    tensor(1.3863)
    """

    settings = ("weight", "ignore_index", "reduction", "label_smoothing")
    function = staticmethod(F.cross_entropy)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing


class NLLLoss(_WeightedLoss):
    """-input at the target class, `input` log-probabilities; shapes as for `CrossEntropyLoss`.

    Errors are as there too; targets are class numbers alone.

    >>> log_p = rg.tensor([[0.25, 0.75]]).log()
    >>> rg.nn.NLLLoss()(log_p, rg.tensor([0]))
    tensor(1.3863)
    """

    settings = ("weight", "ignore_index", "reduction")
    function = staticmethod(F.nll_loss)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class PoissonNLLLoss(_Loss):
    """exp(input) - target * input, or with `log_input=False` input - target * log(input + eps).

    input and target: floating, of shapes that broadcast to (*), else RuntimeError. Returns a
    scalar, or (*) if the reduction is "none". `full` adds Stirling's approximation of log(target!).
    Source: PyTorch's `nn.PoissonNLLLoss`.

    >>> rg.nn.PoissonNLLLoss()(rg.tensor([0.0, 1.0]), rg.tensor([1.0, 2.0]))
    tensor(0.8591)
    """

    settings = ("log_input", "full", "eps", "reduction")

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss of `log_input` (or the rate itself) against `target`."""
        return F.poisson_nll_loss(log_input, target, **self._given())


class GaussianNLLLoss(_Loss):
    """Half of log(var) + (input - target)^2 / var, `var` at least `eps`.

    input and target: (*), floating; var: (*), (*) with a last size of 1 or without the last size,
    or a number. Returns a scalar, or (*) if the reduction is "none". `full` adds half of log(2 pi).
    Raises ValueError for another shape of `var`, or a negative entry of it. Source: PyTorch's
    `nn.GaussianNLLLoss`.

    >>> x, mean, var = rg.tensor([1.0]), rg.tensor([3.0]), rg.tensor([2.0])
    >>> rg.nn.GaussianNLLLoss()(mean, x, var)
    tensor(1.3466)
    """

    settings = ("full", "eps", "reduction")

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: float | Tensor) -> Tensor:  # type: ignore[override]
        """The loss of the mean `input` and the variance `var` against `target`."""
        return F.gaussian_nll_loss(input, target, var, **self._given())


class KLDivLoss(_Loss):
    """target * (log target - input), for `input` of log-probabilities.

    input and target: floating, of shapes that broadcast to (*), else RuntimeError. Returns a
    scalar, or (*) if the reduction is "none". "batchmean", a further reduction, is the mathematical
    divergence: the sum divided by N. With `log_target` the target is of log-probabilities too.
    Source: PyTorch's `nn.KLDivLoss`.

    >>> log_p, q = rg.tensor([[0.5, 0.5]]).log(), rg.tensor([[0.25, 0.75]])
    >>> rg.nn.KLDivLoss(reduction="batchmean")(log_p, q)
    tensor(0.1308)
    """

    settings = ("reduction", "log_target")
    function = staticmethod(F.kl_div)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target


class BCELoss(_WeightedLoss):
    """-(target * log input + (1 - target) * log(1 - input)), logarithms cut at -100.

    input and target: (*), floating. Returns a scalar, or (*) if the reduction is "none". Raises
    ValueError for different shapes, RuntimeError for an input outside [0, 1], NotImplementedError
    for complex numbers.

    >>> rg.nn.BCELoss()(rg.tensor([0.5, 0.5]), rg.tensor([0.0, 1.0]))
    tensor(0.6931)
    """

    function = staticmethod(F.binary_cross_entropy)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of sigmoid(input), without overflow.

    input and target: (*), floating. Returns a scalar, or (*) if the reduction is "none". weight:
    broadcasts with the input; pos_weight: weight of positive targets, one per class. Raises
    ValueError for different shapes, NotImplementedError for complex numbers. Source: PyTorch's
    `nn.BCEWithLogitsLoss`.

    >>> rg.nn.BCEWithLogitsLoss()(rg.zeros(2), rg.tensor([0.0, 1.0]))
    tensor(0.6931)
    """

    settings = ("weight", "reduction", "pos_weight")
    function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)


class SmoothL1Loss(_Loss):
    """d^2 / (2 beta) where d = |input - target| is below beta, else d - beta / 2.

    input and target: shapes that broadcast to (*); floating or complex. Returns a real scalar, or
    (*) if the reduction is "none". Raises RuntimeError for other shapes, and a negative `beta`.

    >>> loss = rg.nn.SmoothL1Loss(reduction="none")
    >>> loss(rg.tensor([0.5, 3.0]), rg.zeros(2))
    tensor([0.1250, 2.5000])
    """

    settings = ("reduction", "beta")
    function = staticmethod(F.smooth_l1_loss)

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta


class HuberLoss(_Loss):
    """d^2 / 2 where d = |input - target| is below delta, else delta * (d - delta / 2).

    input and target: shapes that broadcast to (*); floating or complex. Returns a real scalar, or
    (*) if the reduction is "none". Raises RuntimeError for other shapes, and unless `delta` is
    positive, TypeError unless it is a number.

    >>> loss = rg.nn.HuberLoss(reduction="none", delta=2.0)
    >>> loss(rg.tensor([1.0, 3.0]), rg.zeros(2))
    tensor([0.5000, 4.0000])
    """

    settings = ("reduction", "delta")
    function = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), targets 1 or -1. Source: PyTorch's `nn.SoftMarginLoss`.

    input and target: floating, of shapes that broadcast to (*), else RuntimeError. Returns a
    scalar, or (*) if the reduction is "none".

    >>> rg.nn.SoftMarginLoss()(rg.tensor([0.0, 2.0]), rg.tensor([1.0, -1.0]))
    tensor(1.4100)
    """

    function = staticmethod(F.soft_margin_loss)


class HingeEmbeddingLoss(_Loss):
    """input where the target is 1, max(0, margin - input) where it is -1.

    input and target: shapes that broadcast to (*), else RuntimeError. Returns a scalar, or (*) if
    the reduction is "none".

    >>> loss = rg.nn.HingeEmbeddingLoss(reduction="none")
    >>> loss(rg.tensor([0.25, 0.25]), rg.tensor([1.0, -1.0]))
    tensor([0.2500, 0.7500])
    """

    settings = ("margin", "reduction")
    function = staticmethod(F.hinge_embedding_loss)

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class _PairLoss(_Loss):
    """A loss of two inputs and a target, with a margin of 0 by default."""

    settings = ("margin", "reduction")

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(  # type: ignore[override]
        self, input1: Tensor, input2: Tensor, target: Tensor
    ) -> Tensor:
        """The loss of the pair against `target`."""
        return self.function(input1, input2, target, **self._given())


class CosineEmbeddingLoss(_PairLoss):
    """1 - cos(x1, x2) where the target is 1, max(0, cos(x1, x2) - margin) where it is -1.

    Inputs (N, D) and a target (N), or (D) and a scalar; floating. Returns a scalar, or the target's
    shape if the reduction is "none". Raises RuntimeError for other shapes.

    >>> x1, x2 = rg.tensor([[3.0, 4.0]]), rg.tensor([[1.0, 0.0]])
    >>> rg.nn.CosineEmbeddingLoss()(x1, x2, rg.tensor([1.0]))
    tensor(0.4000)
    """

    function = staticmethod(F.cosine_embedding_loss)


class MarginRankingLoss(_PairLoss):
    """max(0, -target * (input1 - input2) + margin), targets 1 or -1.

    Inputs and target: floating, as many dimensions each, else RuntimeError; the shapes broadcast to
    (*). Returns a scalar, or (*) if the reduction is "none".

    >>> x1, x2 = rg.tensor([1.0, 1.0]), rg.tensor([3.0, 0.0])
    >>> rg.nn.MarginRankingLoss(0.5)(x1, x2, rg.ones(2))
    tensor(1.2500)
    """

    function = staticmethod(F.margin_ranking_loss)


class MultiLabelMarginLoss(_Loss):
    """Hinge loss of every target class against every other; targets end with -1.

    input: (N, C) or (C), floating; target: int64 class numbers of the same shape. Returns a scalar,
    or (N) if the reduction is "none". Raises RuntimeError where the shapes differ.

    >>> rg.nn.MultiLabelMarginLoss()(rg.tensor([0.5, 0.25, 1.0]), rg.tensor([2, -1, 0]))
    tensor(0.2500)
    """

    function = staticmethod(F.multilabel_margin_loss)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """The mean over classes of `BCEWithLogitsLoss`.

    input and target: (*, C), floating. Returns a scalar, or (*) if the reduction is "none". weight:
    (C).

    >>> rg.nn.MultiLabelSoftMarginLoss()(rg.zeros(1, 2), rg.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """

    function = staticmethod(F.multilabel_soft_margin_loss)


class MultiMarginLoss(_WeightedLoss):
    """The mean over other classes of max(0, margin - input[target] + input)^p, p 1 or 2.

    input: (N, C) or (C), floating; target: class numbers (N) or a scalar. Returns a scalar, or the
    target's shape if the reduction is "none". weight: (C). Raises ValueError for another `p` or a
    weight that is no vector, RuntimeError for other shapes and class numbers.

    >>> rg.nn.MultiMarginLoss()(rg.tensor([[0.5, 0.25, 1.0]]), rg.tensor([2]))
    tensor(0.2500)
    """

    settings = ("p", "margin", "weight", "reduction")
    function = staticmethod(F.multi_margin_loss)

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight._array.ndim != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{weight._array.ndim}D instead"
            )
        self.p, self.margin = p, margin


def _check_margin(loss: Module, margin: float) -> None:
    if margin <= 0:
        raise ValueError(
            f"{type(loss).__name__}: expected margin to be greater than 0, got {margin} instead"
        )


class CTCLoss(Module):
    """Connectionist temporal classification: sequences of labels without an alignment.

    log_probs (T, N, C) or (T, C), floating, to a scalar, or (N) if the reduction is "none". What
    the other arguments of the call mean, and the errors, are said at `functional.ctc_loss`. Source:
    PyTorch's `nn.CTCLoss`; Graves et al., ICML 2006.

    >>> log_probs = rg.zeros(2, 1, 2).log_softmax(-1)
    >>> rg.nn.CTCLoss()(log_probs, rg.tensor([[1]]), rg.tensor([2]), rg.tensor([1]))
    tensor(0.2877)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[int],
        target_lengths: Tensor | Sequence[int],
    ) -> Tensor:
        """The loss of `log_probs` (T, N, C) against `targets`."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
            self.zero_infinity,
        )  # fmt: skip


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch divides the work of `linear_cross_entropy` to save memory; here, no difference.

    >>> rg.nn.LinearCrossEntropyOptions().chunking_method
    'auto'
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str | None = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer from features to classes, and the cross-entropy of its logits.

    input: (in_features) or (N, in_features); target as for `CrossEntropyLoss` with logits (N,
    num_classes, *out_features), and so are the returned shape and the errors. The layer is
    `linear`. Source: PyTorch's class of this name.

    >>> loss = rg.nn.LinearCrossEntropyLoss(3, 4)
    >>> loss(rg.zeros(2, 3), rg.tensor([0, 1])).item()
    1.3862943649291992
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__(weight, None, None, reduction)
        self.in_features, self.num_classes = in_features, num_classes
        self.out_features = tuple(out_features)
        rows = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, rows, bias, device, dtype)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the logits of `input` against `target`."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
        )

    def extra_repr(self) -> str:
        """The settings."""
        return (
            f"in_features={self.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the p-norm of the difference.

    Three inputs (*, D), of as many dimensions each, else RuntimeError. Returns a scalar, or (*) if
    the reduction is "none"; real. `swap` takes the smaller of d(anchor, negative) and d(positive,
    negative). Raises ValueError for a margin that is not positive. Source: Balntas et al., BMVC
    2016.

    >>> a, p, n = rg.tensor([[0.0, 0.0]]), rg.tensor([[3.0, 4.0]]), rg.tensor([[0.0, 2.0]])
    >>> rg.nn.TripletMarginLoss()(a, p, n)
    tensor(4.0000)
    """

    settings = ("margin", "p", "eps", "swap", "reduction")

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        _check_margin(self, margin)
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(  # type: ignore[override]
        self, anchor: Tensor, positive: Tensor, negative: Tensor
    ) -> Tensor:
        """The loss of the triples."""
        return F.triplet_margin_loss(anchor, positive, negative, **self._given())


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any distance function of two tensors; the 2-norm by default.

    Three inputs of any one shape. Returns a scalar, or the shape of the distances if the reduction
    is "none". Raises ValueError for a margin that is not positive.

    >>> l1 = lambda x, y: (x - y).abs().sum(1)
    >>> a, p, n = rg.zeros(1, 2), rg.tensor([[3.0, 4.0]]), rg.tensor([[0.0, 2.0]])
    >>> rg.nn.TripletMarginWithDistanceLoss(distance_function=l1)(a, p, n)
    tensor(6.)
    """

    settings = ("distance_function", "margin", "swap", "reduction")

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        _check_margin(self, margin)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin, self.swap = margin, swap

    def forward(  # type: ignore[override]
        self, anchor: Tensor, positive: Tensor, negative: Tensor
    ) -> Tensor:
        """The loss of the triples."""
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, **self._given())

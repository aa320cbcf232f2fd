"""Tables of vectors, looked up by index: one by one, or in bags that are reduced."""

from __future__ import annotations

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor, alias
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .utils import empty_parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A `weight` (num_embeddings, embedding_dim), drawn or given, with a row for padding."""

    def _hold(
        self, weight: Tensor | None, frozen: bool, device: DeviceLike, dtype: dtype | None
    ) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            self.weight = empty_parameter(shape, device, dtype)
            self.weight.requires_grad = not frozen
            self.reset_parameters()
            return
        if tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        self.weight = Parameter(weight, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw the weight anew."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        """Make the row of the padding zeros; programs that draw weights of their own call it."""
        if self.padding_idx is not None:
            init.zeros_(alias(self.weight, None)[self.padding_idx])


class Embedding(_Table):
    """Rows of `weight` (num_embeddings, embedding_dim) at integer indices.

    From indices of any shape (*) to (*, embedding_dim), of the dtype of the weight, floating or
    complex. The row `padding_idx` starts at zero and gets no gradient; with `max_norm`, rows that
    are looked up are first scaled down to that norm of order `norm_type`; `scale_grad_by_freq`
    divides gradients by how often an index occurs. The weight starts standard normal. Raises
    AssertionError for a `padding_idx` that is no row, IndexError for such an index, RuntimeError
    for indices that are no integers. Source: PyTorch's `nn.Embedding`.

    >>> table = rg.nn.Embedding(10, 3, padding_idx=0)
    >>> table(rg.tensor([[1, 2], [0, 5]])).shape, table(rg.tensor(0)).tolist()
    (retrograd.Size([2, 2, 3]), [0.0, 0.0, 0.0])
    """

    _shown_settings = (
        "num_embeddings embedding_dim padding_idx=None max_norm=None norm_type=2 "
        "scale_grad_by_freq=False sparse=False"
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._hold(_weight, _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The rows at the indices `input`."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding with the given table (rows, size), frozen by default."""
        if embeddings._array.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings._array.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of the rows of `weight` (num_embeddings, embedding_dim) in bags.

    input: (B, N), B bags of N indices, or (N) with `offsets` (B), where each bag starts (with
    `include_last_offset` and where the last one ends). `mode` is "sum", "mean" or "max";
    `per_sample_weights`, with "sum", scale the rows. Everything else is as for `Embedding`. Returns
    (B, embedding_dim). Raises ValueError for input and offsets that do not fit, NotImplementedError
    for `per_sample_weights` with another mode. Source: PyTorch's `nn.EmbeddingBag`.

    >>> bags = rg.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(rg.tensor([1, 2, 4, 5]), rg.tensor([0, 3])).shape
    retrograd.Size([2, 3])
    """

    _shown_settings = (
        "num_embeddings embedding_dim max_norm=None norm_type=2 scale_grad_by_freq=False mode=!r "
        "padding_idx=None"
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.mode, self.sparse = scale_grad_by_freq, mode, sparse
        self.include_last_offset = include_last_offset
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self._hold(_weight, False, device, dtype)

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """The reduced rows of each bag."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Bags of the rows of a given table (rows, size), frozen by default."""
        if embeddings._array.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings._array.shape
        made = cls(
            rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
            include_last_offset, padding_idx,
        )  # fmt: skip
        made.weight.requires_grad = not freeze
        return made

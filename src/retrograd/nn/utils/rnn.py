"""Sequences of several lengths as one tensor: padded to the longest, or packed without padding.

NOTE [Packed] A packed tensor holds first the first steps of all sequences, then the second steps of
those that have one, and so on; `batch_sizes[t]` says how many do. Sequences are sorted by length,
longest first; `sorted_indices` says where they came from, `unsorted_indices` where they go back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...engine.registry import name_node
from ...engine.tensor import Tensor, new_tensor
from ...errors import check_bool, wrong_type
from ...ops.elementwise.clamp_where import where
from ...ops.shape.join import stack
from ...ops.shape.pad import pad

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence",
    "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of several lengths, packed: NOTE [Packed]. `pack_padded_sequence` makes them.

    data: (sum of lengths, *); batch_sizes: int64 (longest length). Source: PyTorch's class of this
    name.

    >>> rg.nn.utils.rnn.pack_sequence([rg.tensor([1, 2]), rg.tensor([3])]).data
    tensor([1, 3, 2])
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        """A packed sequence; `unsorted_indices` follows from `sorted_indices`."""
        if batch_sizes is None:
            if not isinstance(data, (tuple, list)) or len(data) != 2:
                raise AssertionError(
                    "Expected data to be a list or tuple of length 2, data and batch_sizes. Make "
                    "one by pack_padded_sequence(...)"
                )
            data, batch_sizes = data
        if not isinstance(batch_sizes, Tensor):
            raise wrong_type("PackedSequence", "batch_sizes", "Tensor", batch_sizes, 2)
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The packed sequence with `data.to(...)`."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def cpu(self) -> PackedSequence:
        """This sequence: its tensors live on the cpu."""
        return self

    def double(self) -> PackedSequence:
        """The same with float64 data."""
        return self.to(dtypes.by_name("float64"))

    def float(self) -> PackedSequence:
        """The same with float32 data."""
        return self.to(dtypes.by_name("float32"))

    def half(self) -> PackedSequence:
        """The same with float16 data."""
        return self.to(dtypes.by_name("float16"))

    def long(self) -> PackedSequence:
        """The same with int64 data."""
        return self.to(dtypes.by_name("int64"))

    def int(self) -> PackedSequence:
        """The same with int32 data."""
        return self.to(dtypes.by_name("int32"))

    def short(self) -> PackedSequence:
        """The same with int16 data."""
        return self.to(dtypes.by_name("int16"))

    def char(self) -> PackedSequence:
        """The same with int8 data."""
        return self.to(dtypes.by_name("int8"))

    def byte(self) -> PackedSequence:
        """The same with uint8 data."""
        return self.to(dtypes.by_name("uint8"))

    def pin_memory(self) -> PackedSequence:
        """This sequence: there is no other memory."""
        return self

    def is_pinned(self) -> bool:
        """False: memory is never pinned."""
        return False

    @property
    def is_cuda(self) -> bool:
        """False."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes `permutation`; None for None.

    >>> rg.nn.utils.rnn.invert_permutation(rg.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    if not isinstance(permutation, Tensor):
        raise wrong_type("invert_permutation", "permutation", "Tensor", permutation, 1)
    return new_tensor(np.argsort(permutation._array))


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences padded to one length, (T, N, *), or (N, T, *) if `batch_first`.

    lengths: how long each is, at least 1. Longest first, unless `enforce_sorted` is false: then
    they are sorted here and `pad_packed_sequence` puts them back. Raises RuntimeError for lengths
    that are not sorted, too many or not positive. Source: PyTorch's function of this name.

    >>> x = rg.tensor([[1, 2, 0], [3, 4, 5]])
    >>> packed = rg.nn.utils.rnn.pack_padded_sequence(x, [2, 3], True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([3, 1, 4, 2, 5]), tensor([2, 2, 1]))
    """
    if not isinstance(input, Tensor):
        raise wrong_type("pack_padded_sequence", "input", "Tensor", input, 1)
    check_bool(batch_first, "pack_padded_sequence", "batch_first", 3)
    sizes = np.array(lengths._array if isinstance(lengths, Tensor) else lengths, np.int64)
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(sizes, input, enforce_sorted)
    order = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes, input = sizes[order], input.index_select(1, new_tensor(order))
    step, place = np.nonzero(np.arange(sizes[0])[:, None] < sizes)
    counts = np.bincount(step, minlength=sizes[0])
    data = input.flatten(0, 1).index_select(0, new_tensor(step * len(sizes) + place))
    data = name_node(data, "PackPaddedSequenceBackward0")
    sorting = None if order is None else new_tensor(order)
    return PackedSequence(data, new_tensor(counts), sorting)


def _check_lengths(sizes: Any, input: Tensor, enforce_sorted: bool) -> None:
    if input._array.ndim < 2 or not input._array.size:
        raise RuntimeError("Cannot pack empty tensors.")
    steps, batch = input.shape[:2]
    if sizes.shape != (batch,):
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {sizes.size} "
            f"(batch_size={batch})"
        )
    if enforce_sorted and (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You "
            "can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if sizes.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if sizes.max() > steps:
        raise RuntimeError(
            f"Expected lengths of at most {steps}, the padded length, but got {sizes.max()}"
        )


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The inverse of `pack_padded_sequence`: (padded (T, N, *) or (N, T, *), lengths (N)).

    T is the longest length, or `total_length`; ValueError where that is shorter. Source: PyTorch's
    function of this name.

    >>> packed = rg.nn.utils.rnn.pack_sequence([rg.tensor([1, 2]), rg.tensor([3])])
    >>> rg.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    check_bool(batch_first, "pad_packed_sequence", "batch_first", 2)
    counts = sequence.batch_sizes._array
    steps = len(counts)
    if total_length is not None and total_length < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but "
            f"got total_length={total_length} and max sequence length being {steps}"
        )
    lengths = (counts[:, None] > np.arange(counts[0])).sum(0)
    length = steps if total_length is None else total_length
    starts = np.concatenate([np.cumsum(counts) - counts, np.zeros(length - steps, np.int64)])
    inside = np.arange(length)[:, None] < lengths
    rows = np.where(inside, starts[:, None] + np.arange(len(lengths)), 0)
    data = sequence.data
    padded = data.index_select(0, new_tensor(rows.reshape(-1)))
    padded = padded.reshape(length, len(lengths), *data.shape[1:])
    outside = new_tensor(~inside.reshape((*inside.shape, *[1] * (data._array.ndim - 1))))
    padded = where(outside, padded.new_full((), padding_value), padded)
    padded = padded.transpose(0, 1) if batch_first else padded
    order = sequence.unsorted_indices
    if order is None:
        return padded, new_tensor(lengths)
    return padded.index_select(1 - batch_first, order), new_tensor(lengths[order._array])


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (T_i, *) padded to the longest and stacked: (T, N, *), or (N, T, *).

    `padding_side` is "right" or "left", else RuntimeError, as for no sequences and for numbers;
    TypeError for what is no tensor. Source: PyTorch's function of this name.

    >>> rg.nn.utils.rnn.pad_sequence([rg.tensor([1, 2]), rg.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    check_bool(batch_first, "pad_sequence", "batch_first", 2)
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"padding_side should be 'left' or 'right', but got {padding_side!r}")
    if not hasattr(sequences, "__iter__"):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    given = sequences.unbind(0) if isinstance(sequences, Tensor) else list(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    for number, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"expected Tensor as element {number} in argument 0, but got {type(t).__name__}"
            )
        if not t.ndim:
            raise RuntimeError(
                f"pad_sequence: sequences need a dimension of time, but number {number} is a "
                "number. Pad vectors or larger tensors"
            )
    longest = max(t.shape[0] for t in given)
    padded = []
    for t in given:
        missing = longest - t.shape[0]
        widths = (missing, 0) if padding_side == "left" else (0, missing)
        padded.append(pad(t, (*[0, 0] * (t._array.ndim - 1), *widths), value=padding_value))
    return stack(padded, 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Any, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded tensor (T, N, *), or (N, T, *), cut to their lengths.

    >>> rg.nn.utils.rnn.unpad_sequence(rg.tensor([[1, 2], [3, 0]]), rg.tensor([2, 1]), True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    sizes = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    rows = zip(padded_sequences.unbind(0), sizes, strict=True)
    return [name_node(row[:size].clone(), "IndexBackward0") for row, size in rows]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Sequences (T_i, *) packed; longest first, unless `enforce_sorted` is false.

    >>> rg.nn.utils.rnn.pack_sequence([rg.tensor([1, 2]), rg.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    lengths = [t.shape[0] for t in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed, in their first order.

    >>> rnn = rg.nn.utils.rnn
    >>> rnn.unpack_sequence(rnn.pack_sequence([rg.tensor([1, 2]), rg.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)

"""Attention whose scores and masks are functions of positions: PyTorch's flex attention.

The functions are written for one score, and run for all of them at once under `vmap`: a piece at a
time, for blocks of scores of which a mask shows nothing are left out.
"""

from __future__ import annotations

import inspect
import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from ....dtypes import boolean, int32
from ....engine.tensor import Tensor
from ....func import vmap
from ....ops.creation.factories import arange, ones
from ....ops.elementwise.clamp_where import where
from ....ops.nn.attention import repeated
from ....ops.shape.join import cat
from ....ops.shape.pad import pad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask",
    "flex_attention", "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128

BLOCKS = [
    f"{kind}{side}_{what}"
    for side in ("kv", "q")
    for kind in ("", "full_")
    for what in ("num_blocks", "indices")
]


class AuxRequest(NamedTuple):
    """What `flex_attention` gives beside its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithms of the sums of exponentials of each row, and its largest score."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True: every position is seen."""
    return batch.new_ones((), dtype=boolean)


def and_masks(*mask_mods: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The mask of what all masks show.

    >>> from retrograd.nn.attention.flex_attention import and_masks, create_mask
    >>> near = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(near, None, None, 3, 3)[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=retrograd.int32)
    """

    def and_mask(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = b.new_ones((), dtype=boolean)
        for mask in mask_mods:
            result = result & mask(b, h, q, k)
        return result

    return and_mask


def or_masks(*mask_mods: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The mask of what one mask or more shows."""

    def or_mask(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=boolean)
        for mask in mask_mods:
            result = result | mask(b, h, q, k)
        return result

    return or_mask


def over_positions(function: Callable[..., Tensor], scores: bool) -> Callable[..., Tensor]:
    """A function of one position, of all of them; a score stands in front of the positions."""
    for place in (3, 2, 1, 0):
        dims: list[int | None] = [None] * 4
        dims[place] = 0
        function = vmap(function, in_dims=(0, *dims) if scores else tuple(dims))
    return function


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None,
) -> Tensor:  # fmt: skip
    """What `mod_fn(batch, head, query, key)` is at all positions: (B or 1, H or 1, Q_LEN, KV_LEN).

    A function of five arguments has the score first, of which it is given 0.

    >>> from retrograd.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2)
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    places = [arange(size, device=device) for size in sizes]
    if len(inspect.signature(mod_fn).parameters) == 5:
        return over_positions(mod_fn, True)(ones(sizes, device=device) * 0, *places)
    return over_positions(mod_fn, False)(*places).expand(sizes)


def shade(cell: Tensor) -> str:
    """How a part of a mask is drawn, by the share of it that is seen."""
    share = cell.mean().item()
    return " " if share == 0 else "█" if share == 1 else "░"


class BlockMask:
    """A mask by the function `mask_mod(batch, head, query, key)`, made by `create_block_mask`.

    `shape` is (batches, heads, queries, keys). Of the blocks of which a row of blocks sees
    something but not all, `kv_num_blocks` is the number, and `kv_indices` has them first, then the
    others; those that it sees whole are the `full_` ones. `q_` in place of `kv_` is the same of a
    column. Drawn by `print`: a block of which something is seen.
    """

    def __init__(
        self, mask_mod: Callable[..., Tensor], shape: tuple[int, ...], device: Any, size: Any
    ) -> None:
        self.mask_mod, self.shape, self.device = mask_mod, shape, device
        self.seq_lengths = shape[-2:]
        self.BLOCK_SIZE = (size, size) if isinstance(size, int) else tuple(size)
        self._seen: Tensor | None = None

    def seen(self) -> Tensor:
        """Whether a query sees a key, for all of them."""
        if self._seen is None:
            B, H, queries, keys = self.shape
            self._seen = create_mask(self.mask_mod, B, H, queries, keys, self.device)
        return self._seen

    def blocks(self) -> Tensor:
        """The mask by blocks, where nothing beyond its ends is seen, as int32.

        It is (batches, heads, rows of blocks, queries, columns of blocks, keys).
        """
        rows, columns = self.BLOCK_SIZE
        queries, keys = self.seq_lengths
        whole = pad(self.seen().int(), (0, -keys % columns, 0, -queries % rows))
        return whole.unflatten(-1, (-1, columns)).unflatten(-3, (-1, rows))

    def to_dense(self) -> Tensor:
        """1 for each block of which something is seen: (batches, heads, rows, columns), int32."""
        return self.blocks().amax((-1, -3))

    def __getattr__(self, name: str) -> Tensor:
        """Numbers and indices of blocks."""
        if name not in BLOCKS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        blocks = self.blocks()
        chosen = blocks.amin((-1, -3))
        if not name.startswith("full_"):
            chosen = blocks.amax((-1, -3)) - chosen
        if "q_" in name:
            chosen = chosen.transpose(-2, -1)
        if name.endswith("num_blocks"):
            return chosen.sum(-1, dtype=int32)
        return chosen.argsort(descending=True, stable=True).to(int32)

    def pieces(self, queries: int, keys: int) -> list[list[list[Any]]]:
        """What is to be computed, by batch, head and rows: indices of each, and of keys.

        Rows of blocks that see the same blocks are one piece; where nothing is seen, one block
        stands for none.
        """
        height, width = self.BLOCK_SIZE
        batches, heads = [
            [slice(i, i + 1) for i in range(n)] if n > 1 else [slice(None)] for n in self.shape[:2]
        ]
        table = self.to_dense().tolist()

        def columns_of(seen: list[int]) -> Any:
            chosen = [j for j in range(-(-keys // width)) if seen[j]] or [0]
            ends = [(j * width, min((j + 1) * width, keys)) for j in chosen]
            if chosen == [*range(chosen[0], chosen[-1] + 1)]:
                return slice(ends[0][0], ends[-1][1])
            return cat([arange(*pair, device=self.device) for pair in ends])

        def of_head(rows: list[list[int]]) -> Iterator[tuple[slice, Any]]:
            count = -(-queries // height)
            for seen, alike in itertools.groupby(range(count), rows.__getitem__):
                run = [*alike]
                last = min((run[-1] + 1) * height, queries)
                yield slice(run[0] * height, last), columns_of(seen)

        return [
            [[(b, h, *piece) for piece in of_head(table[i][j])] for j, h in enumerate(heads)]
            for i, b in enumerate(batches)
        ]

    def sparsity(self) -> float:
        """How many percent of the scores lie in blocks of which nothing is seen."""
        inside = self.to_dense().sum().item() * math.prod(self.BLOCK_SIZE)
        return 100.0 * float(1 - inside / self.numel())

    def numel(self) -> int:
        """The number of scores."""
        return math.prod(self.shape)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, or of some batches and heads; one of them stays a dimension.

        Raises NotImplementedError for an index of queries: they belong to `mask_mod`.
        """
        chosen = index if isinstance(index, tuple) else (index,)
        if len(chosen) > 2:
            raise NotImplementedError(
                f"BlockMask[...] of {len(chosen)} indices: batches and heads can be chosen. For "
                "some queries create a mask of their number, with a mask_mod that shifts them"
            )
        pair = (*chosen, slice(None))[:2]
        numbers = [arange(n, device=self.device) for n in self.shape[:2]]
        b, h = [each[some].reshape(-1) for each, some in zip(numbers, pair, strict=True)]

        def mask_mod(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
            return self.mask_mod(b[batch], h[head], token_q, token_kv)

        shape = (b.numel(), h.numel(), *self.shape[2:])
        return BlockMask(mask_mod, shape, self.device, self.BLOCK_SIZE)

    def to(self, device: Any) -> BlockMask:
        """The mask on another device."""
        return BlockMask(self.mask_mod, self.shape, device, self.BLOCK_SIZE)

    def __repr__(self) -> str:
        lines = [f"{name}={getattr(self, name).shape}" for name in BLOCKS]
        lines += [f"BLOCK_SIZE={self.BLOCK_SIZE}", f"shape={self.shape}"]
        lines += [f"sparsity={self.sparsity():.2f}%"]
        lines += [f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}"]
        return "BlockMask(\n    " + ",\n    ".join(lines) + "\n)"

    def __str__(self) -> str:
        told = f"shape={self.shape}, sparsity={self.sparsity():.2f}%"
        return f"BlockMask({told}, \n{self.to_string()})"

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the first `limit` masks, of at most `grid_size` rows and columns.

        A cell of which only a part of the blocks is seen is shaded.
        """
        dense = self.to_dense().float()
        most = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        rows, columns = [max(1, -(-n // m)) for n, m in zip(dense.shape[2:], most, strict=True)]
        pictures = []
        for batch, head in itertools.product(*map(range, self.shape[:2])):
            cells = [part.split(columns, 1) for part in dense[batch, head].split(rows, 0)]
            lines = ["".join(2 * shade(cell) for cell in line) for line in cells]
            pictures.append("\n".join([str((batch, head)), *lines, ""]))
        more = "...\nto_string(limit=...) draws more of them\n"
        return "\n".join(pictures[:limit] + [more] * (len(pictures) > limit))


def create_block_mask(
    mask_mod: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = None, BLOCK_SIZE: int | tuple[int, int] = 128, _compile: bool = False,
) -> BlockMask:  # fmt: skip
    """A mask for `flex_attention`; B and H are None where it is the same for all.

    >>> from retrograd.nn.attention.flex_attention import create_block_mask
    >>> create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256).to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=retrograd.int32)
    """
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), device, BLOCK_SIZE)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable[..., Tensor] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ key^T * scale)) @ value, where `block_mask` lets queries see keys.

    query: (B, H, L, E); key: (B, H, S, E); value: (B, H, S, V); returns (B, H, L, V).
    `score_mod(score, batch, head, query, key)` changes one score. A row that sees nothing gives 0.
    With `return_aux`, or `return_lse`, also what is asked for of each row. Raises ValueError for a
    mask of other lengths. Source: PyTorch's function of this name; Dong et al., 2024.

    >>> from retrograd.nn.attention.flex_attention import flex_attention
    >>> q, v = rg.zeros(1, 1, 2, 2), rg.tensor([[[[1.0], [3.0]]]])
    >>> flex_attention(q, q, v, lambda score, b, h, q, k: score - (q - k).abs() * 100.0)
    tensor([[[[1.],
              [3.]]]])
    """
    check(query, key, value, enable_gqa, block_mask)
    if enable_gqa:
        key, value = repeated(key, query), repeated(value, query)
    key, value = (t.expand(len(query), -1, -1, -1) for t in (key, value))
    sizes = (*query.shape[:-1], key.shape[-2])
    pieces = [[[(slice(None), slice(None), slice(None), slice(None))]]]
    if block_mask is not None:
        if block_mask.shape[-2] < sizes[-2] or block_mask.shape[-1] < sizes[-1]:
            raise ValueError(
                f"block_mask was created for block_mask.shape={block_mask.shape} but got "
                f"q_len={sizes[-2]} and kv_len={sizes[-1]}. Create one of these lengths"
            )
        if any(n not in (1, m) for n, m in zip(block_mask.shape, sizes[:2], strict=False)):
            shape = (*sizes[:2], *block_mask.seq_lengths)
            block_mask = BlockMask(
                block_mask.mask_mod, shape, block_mask.device, block_mask.BLOCK_SIZE
            )
        pieces = block_mask.pieces(*sizes[-2:])
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    places = [arange(size, device=query.device) for size in sizes]

    def attended(piece: Any) -> tuple[Tensor, ...]:
        """Output, logarithms of sums and largest scores of some queries, by the keys they see."""
        batches, heads, rows, columns = piece
        q, k, v = query[batches, heads, rows], key[batches, heads], value[batches, heads]
        scores = q @ k[:, :, columns].transpose(-2, -1) * factor
        if score_mod is not None:
            at = [each[some] for each, some in zip(places, piece, strict=True)]
            scores = over_positions(score_mod, True)(scores, *at)
        if block_mask is not None:
            seen = block_mask.seen()[batches, heads, rows][..., columns]
            scores = where(seen, scores, -math.inf)
        lse = scores.logsumexp(-1)
        blind = (lse == -math.inf).unsqueeze(-1)
        weights = scores.masked_fill(blind, 0.0).softmax(-1).masked_fill(blind, 0.0)
        out = (weights @ v[:, :, columns]).to(query.dtype)
        most = return_aux is not None and return_aux.max_scores
        return (out, lse, scores.amax(-1)) if most else (out, lse)

    by_head = [[joined(map(attended, rows), 2) for rows in heads] for heads in pieces]
    out, lse, *most = joined([joined(heads, 1) for heads in by_head], 0)
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, most[0] if most else None)
    return (out, lse) if return_lse else out


def check(
    query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, block_mask: BlockMask | None
) -> None:
    """Raise unless there are four dimensions each, whose batches, heads and widths fit."""
    shapes = [tuple(t.shape) for t in (query, key, value)]
    if {*map(len, shapes)} != {4}:
        raise NotImplementedError(
            f"NYI: query, key, and value must be 4D tensors, but their shapes are {shapes}. Write "
            "x.unsqueeze(0) for a single batch"
        )
    if not enable_gqa and not shapes[0][1] == shapes[1][1] == shapes[2][1]:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got shapes "
            f"{shapes}. Try setting enable_gqa=True"
        )
    if shapes[1][1] and shapes[0][1] % shapes[1][1]:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA but got shapes "
            f"{shapes}"
        )
    if shapes[0][3] != shapes[1][3]:
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension but got shapes "
            f"{shapes}"
        )
    batches = {shapes[0][0], 1 if block_mask and block_mask.shape[0] == shapes[0][0] else None}
    if not batches.issuperset((shapes[1][0], shapes[2][0])):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or key/value to have 1 and "
            f"block_mask that of query, but got shapes {shapes}"
        )


def joined(parts: Iterable[tuple[Tensor, ...]], dim: int) -> tuple[Tensor, ...]:
    """Tuples of tensors, one after another along a dimension."""
    columns = zip(*parts, strict=True)
    return tuple([each[0] if len(each) == 1 else cat(each, dim) for each in columns])

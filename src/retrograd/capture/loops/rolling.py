"""Equal pieces of a program are arranged once, however often they come: NOTE [Rolling].

NOTE [Rolling]
1. Where calls repeat, a program is cut into pieces, each of which begins with a call of the kind
   with which the one before began: some steps in time, for example.
2. Pieces of the same calls, which share storages in the same way and of which the same is seen
   outside, have one `Piece`: loops are grouped, and what is between them is placed, once.
3. The table of a piece's calls is that of its `Piece`, but for the bases and offsets of storages
   that it shares with others. So a thousand steps in time take little more work than ten.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from ..explaining import Row, of_item
from .grouping import arranged, grouped, living
from .lowering import Lowered
from .native import Form, Forms, apart, may_fail
from .storages import Storage

__all__ = ["Table"]

PARTS_AT_ONCE = 4  # the parts of a call are a multiple of it: `run_steps` in C
LEAST = 64  # calls of a piece
FAR = 256  # calls after which one of the same kind is no repetition
OFTEN = 8  # calls of a kind that repeats
ENDS, WITHIN = 1, 2  # a storage ends with a piece; it begins with it, too


def cut(calls: list[Lowered]) -> list[list[Lowered]]:
    """The calls in pieces."""
    kinds = [id(call.body) for call in calls]
    ahead, coming, counts = [0] * len(kinds), dict[int, int](), Counter(kinds)
    for place in reversed(range(len(kinds))):  # how far it is to the next of its kind
        ahead[place] = coming.get(kinds[place], sys.maxsize) - place
        coming[kinds[place]] = place
    starts, first = [0], None
    for place, kind in enumerate(kinds):
        if kind == first and place >= starts[-1] + LEAST:
            starts.append(place)
        if first in (None, kind):
            first = kind if ahead[place] <= FAR and counts[kind] >= OFTEN else None
    return [calls[a:b] for a, b in itertools.pairwise([*starts, len(calls)])]


def shared(calls: list[Lowered]) -> tuple[tuple[int, ...], dict[Storage, int]]:
    """What calls do, and how they share storages; and these, each with where it begins to them."""
    kind: list[int] = []
    begins: dict[Storage, int] = {}
    numbers: dict[Storage, int] = {}
    for body, places in calls:
        kind.append(id(body))
        for storage, offset in places.values():
            kind.append(numbers.setdefault(storage, len(numbers)))
            kind.append(offset - begins.setdefault(storage, offset))
    return tuple(kind), begins


class Piece(NamedTuple):
    """What equal pieces have in common: the table of their calls without bases and offsets."""

    words: Any
    places: Any  # of the bases in it; offsets follow them
    storages: Any  # to which these belong, by number; the last one is the piece's own
    size: int  # of that
    codes: Any  # places of functions,
    forms: list[Form]  # which these are
    rows: list[tuple[Row, int]]


class Table:
    """The table of some calls.

    `placed` has, for each storage, base and offset, or None for what is between.
    """

    def __init__(self, calls: list[Lowered], placed: dict[Storage, Any], forms: Forms) -> None:
        self.forms = forms
        self.rows: list[
            tuple[Row, int]
        ] = []  # one for each call of the table; how many parts it has
        pieces, known = cut(calls), dict[Any, Piece]()
        shapes = [*enumerate(map(shared, pieces))]
        first = {s: number for number, (_, begins) in reversed(shapes) for s in begins}
        read: set[Storage] = set()
        found: list[tuple[Piece, dict[Storage, int], list[Storage]]] = []
        for number, (kind, begins) in reversed(shapes):
            fates = tuple([
                placed[s] is None and s not in read and (ENDS, WITHIN)[first[s] == number]
                for s in begins
            ])  # fmt: skip
            piece = known.get((kind, fates))
            if piece is None:
                piece = known[kind, fates] = self.piece(pieces[number], begins, fates)
            own = Storage("inner", -1, np.empty(piece.size, np.uint8))
            placed[own], begins[own] = None, 0
            every = [*begins]
            used = [every[n] for n in sorted({*piece.storages.tolist()})]
            read.update(used)
            found.insert(0, (piece, begins, used))
        self.arena = arranged([used for *_, used in found], placed)
        self.forms.build()
        for piece in known.values():
            piece.words[piece.codes] = [form.address for form in piece.forms]
        tables = []
        for piece, begins, _ in found:
            table = piece.words.copy()
            places = np.array([(*(placed[s] or (0, 0)), start) for s, start in begins.items()])
            table[piece.places] = places[piece.storages, 0]
            table[piece.places + 1] += places[piece.storages, 1:].sum(1)
            tables.append(table.tobytes())
            self.rows += piece.rows
        self.calls = b"".join(tables)

    def piece(self, calls: list[Lowered], begins: dict[Storage, int], fates: Any) -> Piece:
        """Calls as one piece."""
        loops = [loop for call in calls for loop in call.loops()]
        every = {part.storage for loop in loops for part in loop.parts}
        fate = dict.fromkeys(every, WITHIN) | dict(zip(begins, fates, strict=True))
        ending = {storage for storage in fate if fate[storage]}
        items = grouped(living(loops, ending, may_fail), ending)
        placed = {storage: None if fate[storage] == WITHIN else () for storage in fate}
        size = arranged([[part.storage for part in item.parts] for item in items], placed)
        numbers = {storage: number for number, storage in enumerate(begins)}
        words: list[int] = []
        codes: list[int] = []
        forms: list[Form] = []
        places: list[int] = []
        storages: list[int] = []
        for item in items:
            kind, parts = apart(item)
            form, given = self.forms.found(kind)
            codes.append(len(words))
            forms.append(form)
            none = [0, 0] * (-len(parts) % PARTS_AT_ONCE)
            words += [0, len(parts) + len(none) // 2, len(given)]
            for part in parts:
                storage, within = part.storage, placed[part.storage]
                places.append(len(words))
                storages.append(len(begins) if within else numbers[storage])
                words += [0, part.offset + (within[1] if within else -begins[storage])]
            words += none + given
        table, begun, where, which = [
            np.array(v, np.int64) for v in (words, codes, places, storages)
        ]
        rows = [(of_item(item), len(item.parts)) for item in items]
        return Piece(table, where, which, size, begun, forms, rows)

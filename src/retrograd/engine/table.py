"""What the nodes of an op save, and which formula reads what of it: one table, for Python and C.

    addcmul(input, tensor1, tensor2, *, value): for each edge a row, for each value a column

                              tensor1  tensor2  value
        `saved`, `facts`         1        2    "value"     where a call has it
                              -------  -------  -----
        edge 0 to input 0        .        .        .       reads ()      needs 0b00
        edge 1 to input 1        .        x        x       reads (1, 2)  needs 0b10
        edge 2 to input 2        x        .        x       reads (0, 2)  needs 0b01
                              `---------------´ `---´
                                `node.saved`    `node.params`

A saved value is kept only if an edge that needs a gradient has it in its row, and those of
`for_complex` only if the result is complex; None stands for it otherwise. Facts, which take no
memory, are always kept. This module knows no node and no op.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NEVER, DTYPES, SHAPES = range(3)  # `Table.fits`
NOBODY, COTANGENT, FIRST = range(3)  # `Table.leads`: value i is FIRST + i


class Table:
    """Which inputs an op's edges lead to, what its nodes save, and which formula reads what of it.

    `edges`: the input that each leads to (of an op with any number of inputs, one row stands for
    all). `reads`: for each formula the values that it takes, in order. `saved`: input i is i, and
    output i is ~i. `facts`: a parameter by name, or the input whose shape it is, -1 for those of
    all. `needs`: for each edge the saved values among what it reads, as bits; `for_complex`: those
    that only calls with a complex result save. `fits` says what has to be equal, in all inputs and
    edges, for contributions to fit their edges as they are: dtypes, shapes as well, or that they
    have to be looked at. `leads`: the value, or the cotangent, whose order in memory the formulas'
    results have: NOTE [Leaders] in `kernels.layout`.
    """

    __slots__ = ("edges", "facts", "fits", "for_complex", "leads", "needs", "reads", "saved")

    def __init__(
        self,
        edges: Iterable[int] = (),
        reads: Iterable[Iterable[int]] = (),
        saved: Iterable[int] = (),
        facts: Iterable[Any] = (),
        fits: int = NEVER,
        for_complex: int = 0,
        leads: int = NOBODY,
    ) -> None:
        self.edges, self.saved, self.facts = tuple(edges), tuple(saved), tuple(facts)
        self.reads = tuple([tuple(row) for row in reads])
        count = len(self.saved)
        self.needs = tuple([sum({1 << k for k in row if k < count}) for row in self.reads])
        self.fits, self.for_complex, self.leads = fits, for_complex, leads

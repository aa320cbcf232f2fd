"""What PyTorch's world has to know of functions and records, and cannot tell from them.

NOTE [Sheets]
1. A sheet for each family, which is a folder of `ops`; `layouts` and `names` are folders of
   `torch`. A line is `what is said: the names of which it is said`, and a name may have values
   after dots. What follows from a record, a function or a convention is said nowhere, so that most
   names are in no sheet; and a law finds rows of nothing, and rows that say what follows.
2. A public function is PyTorch's operator of its name, with a prefix where it is in `linalg`,
   `special` or `fft`, unless a sheet says `no operator`.
3. `overloads` are "default" alone where no sheet says another thing: those of the operator that it
   is by another name, and of one that writes in place those of the other without that, but for
   overloads with a number first.
"""

from __future__ import annotations

from . import (
    activation,
    creation,
    elementwise,
    fft,
    indexing,
    layouts,
    linalg,
    loss,
    names,
    nn,
    random,
    reduction,
    shape,
    sorting,
    special,
    tensor,
)

__all__ = ["SHEETS", "said"]

SHEETS = {
    module.__name__.rpartition(".")[2]: {
        what: {name: values for name, *values in (row.split(".") for row in rows.split())}
        for what, _, rows in (
            line.partition(":") for line in module.SHEET.replace("\n    ", " ").strip().split("\n")
        )
    }
    for module in (
        *(activation, creation, elementwise, fft, indexing, layouts, linalg, loss, names, nn),
        *(random, reduction, shape, sorting, special, tensor),
    )
}  # by family, by what is said, by name: the values


def said(what: str) -> dict[str, list[str]]:
    """What all sheets say of one kind: the values by name."""
    return {name: row for sheet in SHEETS.values() for name, row in sheet.get(what, {}).items()}

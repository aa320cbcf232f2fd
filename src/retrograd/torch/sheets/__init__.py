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
4. Of operators that are `composed` of others modes see the parts, and so of those that are others
   by other names, or write in place what is composed, unless they are `basic`. `unrecorded` is what
   runs no record, so that operators are seen in any case; `no tensors` what gives none, or the
   tensor itself, or takes other arguments than its operator; `numbers` what takes numbers that are
   no sizes; `part of it` a record that is a part of the operator of its name.
5. Under autocast, products run in the `lower` dtype, others in `float32`, or in the `widest` dtype
   that is given.
6. A record works `along` one dimension, on each of its lines alone, and gives as many dimensions.
7. An elementwise record has the same name in `onnx`, but for its spelling, where no other is said.
"""

from __future__ import annotations

from importlib import import_module

__all__ = ["SHEETS", "said"]

FAMILIES = (
    *("activation", "creation", "elementwise", "fft", "indexing", "layouts", "linalg", "loss"),
    *("names", "nn", "random", "reduction", "shape", "sorting", "special", "tensor"),
)


def read(sheet: str) -> dict[str, dict[str, list[str]]]:
    """The values of a sheet, by what is said and by name."""
    lines = [line.partition(":") for line in sheet.replace("\n    ", " ").strip().split("\n")]
    return {
        what: {name: values for name, *values in (row.split(".") for row in rows.split())}
        for what, _, rows in lines
    }


SHEETS = {name: read(import_module(f"{__name__}.{name}").SHEET) for name in FAMILIES}


def said(what: str) -> dict[str, list[str]]:
    """What all sheets say of one kind: the values by name."""
    return {name: row for sheet in SHEETS.values() for name, row in sheet.get(what, {}).items()}

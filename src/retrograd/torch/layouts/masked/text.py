"""Masked arrays as text, as PyTorch writes them: what is masked out is "--"."""

from __future__ import annotations

from typing import Any


def text(data: Any, mask: Any) -> str:
    """An array as text: an element and its mask, or a line for each vector.

    >>> from retrograd.torch.layouts.masked.text import text
    >>> text(np.array(0.5), np.array(True))
    '  0.5000, True'
    """
    if not data.ndim:
        return f"{element(data) if mask else '--'}, {bool(mask)}"
    return f"\n{indented(rows(data, mask))}\n"


def element(number: Any) -> str:
    """The text of one element."""
    kind = number.dtype.kind
    if kind in "biu":
        return str(number.item())
    if kind == "c":
        return f"{number.real:.4f}{number.imag:+.4f}j"
    return f"{float(number):8.4f}"


def rows(data: Any, mask: Any) -> str:
    """A vector in one line, the parts of any other array one after the other."""
    pairs = list(zip(data, mask, strict=True))
    if data.ndim > 1:
        return "[\n" + ",\n".join([indented(rows(*pair)) for pair in pairs]) + "\n]"
    shown = [element(number) if kept else "--" for number, kept in pairs]
    width = max([8, *map(len, shown)])
    return f"[{', '.join([part.rjust(width) if part == '--' else part for part in shown])}]"


def indented(lines: str) -> str:
    """Lines, each two columns further right."""
    return "\n".join(["  " + line for line in lines.split("\n")])

"""`Picture`: what all functions here give, as a page, as SVG and as text."""

from __future__ import annotations

import base64
import html
import os
import struct
import zlib
from pathlib import Path

import numpy as np

__all__ = ["FONT", "Picture", "document", "inlined", "savable"]

FONT = "system-ui, sans-serif"
STYLE = (
    "<style>text{font:12px " + FONT + ";fill:#1f2933}.dim{fill:#5b6b7b}.line{stroke:#8796a5;"
    "fill:none}@media(prefers-color-scheme:dark){text{fill:#e4e9ee}.dim{fill:#9fb0c0}"
    ".paper{fill:#15191e}}</style>"
)
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{margin:1rem;font:16px/1.5 {font};background:Canvas;
color:CanvasText}}svg{{max-width:100%;height:auto}}h1{{font-size:1.2rem}}</style></head>
<body><h1>{title}</h1>{svg}</body></html>
"""


def savable(path: str | os.PathLike[str]) -> Path:
    """The path for a picture; ValueError for an ending that stands for none of its forms."""
    place = Path(path)
    if place.suffix not in (".html", ".svg", ".txt"):
        raise ValueError(
            f"a picture is saved as .html, .svg or .txt, not as {place.name!r}: for example "
            f"{place.stem + '.svg'!r}, which a browser shows and prints"
        )
    return place


class Picture:
    """A picture in three forms: `html`, a page of its own; `svg`; and `text`.

    A notebook displays it; a terminal prints its text.

    >>> picture = rg.viz.graph(rg.ones(2, requires_grad=True).sum())
    >>> picture.svg[:4], picture.html[:15]
    ('<svg', '<!doctype html>')
    """

    def __init__(self, title: str, text: str, svg: str, page: str = "", height: int = 0) -> None:
        self.title, self.text, self.svg = title, text, svg
        self.html = page or PAGE.format(title=html.escape(title), font=FONT, svg=svg)
        self.height = height  # of the page in a notebook; 0 shows the SVG there

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the picture as .html, .svg or .txt, by the ending of `path`; return the path.

        Raises ValueError for another ending.

        >>> from tempfile import mkdtemp
        >>> picture = rg.viz.derivatives(lambda x: x * x, -1, 1)
        >>> picture.save(mkdtemp() + "/square.svg").name
        'square.svg'
        """
        place = savable(path)
        forms = {".html": self.html, ".svg": self.svg, ".txt": self.text + "\n"}
        place.write_text(forms[place.suffix], encoding="utf-8")
        return place

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        if not self.height:
            return self.svg
        content = html.escape(self.html)
        style = f"width:100%;height:{self.height}px;border:0"
        return f'<iframe style="{style}" srcdoc="{content}"></iframe>'


def document(width: float, height: float, parts: list[str]) -> str:
    """An SVG of a size in pixels with its own colours, light or dark as the reader's."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    paper = f'<rect class="paper" width="{width:g}" height="{height:g}" fill="#ffffff"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{STYLE}{paper}{"".join(parts)}</svg>'


def inlined(colors: np.ndarray) -> str:
    """An array (height, width, 3) of bytes as the address of a PNG."""
    height, width, _ = colors.shape
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # each begins with its filter, none
    rows[:, 1:] = colors.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    png += chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()

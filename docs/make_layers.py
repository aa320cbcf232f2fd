"""Writes docs/layers.svg, the layers of the package by its imports: `python docs/make_layers.py`.

A box is a folder, with the first line of its docstring and its files; loose files share one. A row
stands on the rows below it; what imports each other in a circle, as families of ops do, shares one.
An arrow is drawn where the row below has several boxes, and says which of them is meant.
"""

from __future__ import annotations

import ast
import textwrap
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent / "src" / "retrograd"
ORDERED, BY_FILE = [(), ("ops",), ("engine",)], ("engine",)  # folders drawn in rows; of files
WIDTH, LEAST, MOST = 1160, 100, 3  # of the picture and of a box, in pixels; boxes side by side
GAP, PAD, LINE, LETTER = 8, 8, 14, 6.7  # between boxes and within them; a line's, a letter's size
HEAD = """<style>text { font: 11px monospace; fill: #1f2933 } .title { font-weight: bold }
.about { fill: #5b6b7b } rect { stroke: #8796a5; rx: 4 } path { stroke: #5b6b7b; fill: none }
.arrow { marker-end: url(#tip) }</style>
<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8"
orient="auto"><path d="M0,0 L8,4 L0,8"/></marker>"""

Name = tuple[str, ...]  # ("engine", "graph"); of a folder's `__init__`, the folder's
Ends = list[tuple[list[Name], float]]  # what is in each box of a line, and where its middle is

PATHS = {path.relative_to(ROOT).with_suffix("").parts: path for path in sorted(ROOT.rglob("*.py"))}
FILES = {tuple(p for p in parts if p != "__init__"): path for parts, path in PATHS.items()}
FOLDERS = {parts[:n] for parts in PATHS for n in range(len(parts))}  # some have no file of theirs


def read(name: Name) -> tuple[str, set[Name]]:
    """The first line of a module, and the modules of the package that it imports."""
    found, tree = set(), ast.parse(FILES[name].read_text())
    package = name if name in FOLDERS else name[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            outer = package[: len(package) - node.level + 1]
            base = (*outer, *(node.module.split(".") if node.module else ()))
            found |= {(*base, a.name) if (*base, a.name) in FILES else base for a in node.names}
    return (ast.get_docstring(tree) or "").partition("\n")[0], found


READ = {name: read(name) for name in FILES}
IMPORTS = {name: found for name, (_, found) in READ.items()}


def below(folder: Name) -> dict[Name, set[Name]]:
    """What a folder consists of, each with what it imports of the folder, directly or not."""
    depth = None if folder == BY_FILE else len(folder) + 1
    held = [name for name in FILES if name[: len(folder)] == folder != name]
    unit = {name: name[:depth] for name in held if depth or name not in FOLDERS}
    found: dict[Name, set[Name]] = {own: set() for own in unit.values()}
    for name, own in unit.items():
        found[own] |= {unit[each] for each in IMPORTS[name] & unit.keys()}
    for middle, further in found.items():
        for names in found.values():
            names.update(further if middle in names else ())
    return found


def rows(folder: Name) -> list[list[Name]]:
    """What a folder consists of, from the top to the bottom; what is in a circle in one row."""
    under, placed = below(folder), []
    if folder not in ORDERED:
        return [sorted(under)]
    while left := under.keys() - {name for row in placed for name in row}:
        placed.append(sorted(u for u in left if all(u in under[v] for v in under[u] & left)))
    return placed[::-1]


def text(words: str, width: float, kind: str = "") -> tuple[float, str]:
    """Words in lines of a width: their height, and the drawing."""
    lines = textwrap.wrap(
        words, int(width / LETTER), break_on_hyphens=False, break_long_words=False
    )
    opening = f'<text class="{kind}" y='
    drawn = [f'{opening}"{LINE * n - 3}">{escape(s)}</text>' for n, s in enumerate(lines, 1)]
    return LINE * len(drawn), "\n".join(drawn)


def column(parts: list[tuple[float, str]]) -> tuple[float, str]:
    """Drawings one below the other."""
    y, drawn = 0.0, []
    for height, part in parts:
        drawn.append(f'<g transform="translate(0,{y:.0f})">\n{part}\n</g>')
        y += height
    return y, "\n".join(drawn)


def box(names: list[Name], width: float) -> tuple[float, str]:
    """What stands in a box: of one folder, or of loose files."""
    folder = names[0]
    if folder not in FOLDERS:
        return text(" · ".join(name[-1] for name in names), width)
    about = READ[folder][0] if folder in READ else ""
    head = [text(folder[-1], width, "title"), text(about, width, "about"), (GAP / 2, "")]
    if any(name in FOLDERS for row in rows(folder) for name in row):
        return column([*head, stack(folder, width)])
    words = [" · ".join("/".join(name[len(folder) :]) for name in row) for row in rows(folder)]
    return column([*head, *(text(each, width) for each in words)])


def line(boxes: list[list[Name]], width: float) -> tuple[float, str, Ends]:
    """Boxes side by side, wide where they hold much."""
    sizes = [sum(name[: len(names[0])] in names for name in FILES) for names in boxes]
    spare = width - LEAST * len(boxes) - GAP * (len(boxes) - 1)
    widths = [LEAST + spare * size / sum(sizes) for size in sizes]
    made = [box(names, own - 2 * PAD) for names, own in zip(boxes, widths, strict=True)]
    height = max(tall for tall, _ in made) + 2 * PAD
    x, drawn, ends = 0.0, [], []
    for names, own, (_, inner) in zip(boxes, widths, made, strict=True):
        fill = "white" if len(names[0]) > 1 else "#e8eef4"
        drawn.append(f'<rect x="{x:.0f}" width="{own:.0f}" height="{height}" fill="{fill}"/>')
        drawn.append(f'<g transform="translate({x + PAD:.0f},{PAD})">\n{inner}\n</g>')
        ends.append((names, x + own / 2))
        x += own + GAP
    return height, "\n".join(drawn), ends


def stack(folder: Name, width: float) -> tuple[float, str]:
    """The rows of a folder one below the other; those of the package with arrows."""
    under, above, parts = below(folder), [], []
    for row in rows(folder):
        files = [name for name in row if name not in FOLDERS]
        boxes = [*([name] for name in row if name in FOLDERS), *([files] if files else [])]
        fit = max(1, int((width + GAP) / (LEAST + GAP)))  # no box is narrower than LEAST
        most = min(MOST, fit) if folder else len(boxes)
        for start in range(0, len(boxes), most):
            height, drawn, ends = line(boxes[start : start + most], width)
            arrows = [
                f'<path class="arrow" d="M{x:.0f},2 L{end:.0f},22"/>'
                for names, x in above
                for others, end in ends
                if not folder and len(ends) > 1 and any(under[n] & set(others) for n in names)
            ]
            parts += [(3 * GAP if arrows else GAP, "\n".join(arrows)), (height, drawn)]
            above = ends
    return column(parts[1:])


def picture() -> str:
    """The whole file."""
    height, drawn = stack((), WIDTH)
    space = f'xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {WIDTH + 4} {height + 4:.0f}"'
    return f"<svg {space}>\n{HEAD}\n{drawn}\n</svg>\n"


if __name__ == "__main__":
    (HERE / "layers.svg").write_text(picture())

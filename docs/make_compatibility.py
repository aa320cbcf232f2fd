"""Writes docs/compatibility.md from docs/compatibility.json: `python docs/make_compatibility.py`.

The data says, of each library, its version, what a program did with it, and what did not agree with
PyTorch: nothing, if all that it printed was the same.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# Libraries that run

A program over each library ran under PyTorch {followed} and, unmodified, under `retrograd run`;
what both printed was compared. {same} of {all} agree. None of the libraries was changed, and
PyTorch was not installed.

| library | version | what was run | agrees |
|---|---|---|---|
"""


def page() -> str:
    """The page, as Markdown."""
    data = json.loads((HERE / "compatibility.json").read_text())
    rows = sorted(data["programs"], key=lambda row: (bool(row[3]), row[0].lower()))
    same = sum(not why for *_, why in rows)
    head = HEAD.format(followed=data["followed"], same=same, all=len(rows))
    lines = [
        f"| {name} | {version} | {ran} | {why or 'yes'} |\n" for name, version, ran, why in rows
    ]
    return head + "".join(lines)


if __name__ == "__main__":
    (HERE / "compatibility.md").write_text(page())

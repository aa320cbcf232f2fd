"""Writes docs/compatibility.md from docs/compatibility.json: `python docs/make_compatibility.py`.

The data says, of each library, its version, what a program did with it, and what did not agree with
PyTorch: nothing, if all that it printed was the same. Of libraries' own tests it says how many pass
under PyTorch, how many of these pass here, and why the others do not.
"""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).parent
HEAD = """# Libraries that run

For each library a program was run with PyTorch {followed} and, unchanged, with `retrograd run`.
Then the printed results were compared. {same} of {all} agree. The libraries were not changed, and
PyTorch was not installed.

| library | version | what was run | agrees |
|---|---|---|---|
"""
SUITES = """
## Do their own tests pass?

These are the tests of the libraries, run with `pytest -p retrograd.alias.plugin --retrograd`.
{passed:,} tests pass with PyTorch {followed}. {here:,} of them pass with Retrograd. In {complete}
of {all} suites all pass. Only a part of long suites was run.

| library | version | pass with PyTorch | of these with Retrograd | the others |
|---|---|---|---|---|
"""


def programs(data: dict[str, list[list[str]]]) -> str:
    """The table of programs."""
    rows = sorted(data["programs"], key=lambda row: (bool(row[3]), row[0].lower()))
    same = sum(not why for *_, why in rows)
    return HEAD.format(followed=data["followed"], same=same, all=len(rows)) + "".join(
        f"| {name} | {version} | {ran} | {why or 'yes'} |\n" for name, version, ran, why in rows
    )


def suites(data: dict[str, list[list[str]]]) -> str:
    """The table of libraries' own tests."""
    rows = sorted(data["suites"], key=lambda row: (row[2] != row[3], row[0].lower()))
    head = SUITES.format(
        followed=data["followed"],
        passed=sum(row[2] for row in rows),
        here=sum(row[3] for row in rows),
        complete=sum(row[2] == row[3] for row in rows),
        all=len(rows),
    )
    return head + "".join(
        f"| {name} | {version} | {passed:,} | {here:,} | {why} |\n"
        for name, version, passed, here, why in rows
    )


def page() -> str:
    """The page, as Markdown."""
    data = json.loads((HERE / "compatibility.json").read_text())
    return programs(data) + suites(data)


if __name__ == "__main__":
    (HERE / "compatibility.md").write_text(page())

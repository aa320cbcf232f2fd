"""Writes the programs of the tutorials into a folder, where type checkers read them: `make lint`.

They are as people write them: functions say no types, one name is many things after another, and
nobody asks whether a gradient is None. All else must fit.
"""

from __future__ import annotations

import sys
from doctest import DocTestParser
from pathlib import Path

TUTORIALS = Path(__file__).parents[3] / "docs" / "tutorials"
HEAD = """\
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls
# mypy: disable-error-code="assignment, has-type, import-not-found, no-redef"
# mypy: disable-error-code="operator, union-attr, var-annotated"
# pyright: standard, reportMissingImports=false, reportUnusedExpression=false
# pyright: reportOptionalMemberAccess=false, reportOptionalOperand=false
# pyright: reportOperatorIssue=false, reportPossiblyUnboundVariable=false
"""


def program(path: Path) -> str:
    """The program of a page, without the lines that are to fail."""
    examples = DocTestParser().get_examples(path.read_text())
    return HEAD + "".join(each.source for each in examples if not each.exc_msg)


def main(folder: Path) -> None:
    """A file for each tutorial."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in TUTORIALS.glob("*.md"):
        (folder / f"{path.stem.replace('-', '_')}.py").write_text(program(path))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

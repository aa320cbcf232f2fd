"""docs/ops.md is what docs/make_ops.py writes now, and fills every column for every op."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from retrograd.engine.registry import OPS

DOCS = Path(__file__).parents[1] / "docs"
spec = importlib.util.spec_from_file_location("make_ops_page", DOCS / "make_ops.py")
make_ops = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_ops)

PAGE = (DOCS / "ops.md").read_text()
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| ") and line.count(" | ") >= len(make_ops.COLUMNS) - 1
]


def test_the_page_is_up_to_date():
    assert make_ops.page() == PAGE, "docs/ops.md is old: run python docs/make_ops.py"


def test_no_cell_is_blank():
    assert len(ROWS) > len(OPS)
    for row in ROWS:
        assert len(row) == len(make_ops.COLUMNS), row
        assert all(row), row


def test_every_op_is_on_the_page():
    called = set(re.findall(r"(\w+)\(", PAGE))
    assert not [name for name in OPS if name not in called]


def test_every_op_that_vmap_runs_one_by_one_is_listed():
    section = PAGE.partition("## One example at a time")[2].partition("\n## ")[0]
    listed = re.findall(r"`(\w+)`", section.partition("\n\n")[2].partition("\n\n")[2])
    assert listed == sorted(op.name for op in OPS.values() if op.batch is None)

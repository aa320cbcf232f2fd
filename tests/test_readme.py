"""The README's table of speeds is that of the last measurement."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_table_of_speeds_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_readme.py"))
    assert made["PLACE"].read_text() == made["text"](), "run python docs/make_readme.py"

"""Writes the README's table of speeds from `docs/performance.md`: `python docs/make_readme.py`.

For each group of workloads the geometric mean, as that page says it, and the two ends.
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PLACE = HERE.parent / "README.md"
START, END = "<!-- speed: written by docs/make_readme.py -->\n", "<!-- end -->"
HEAD = "| workloads | mean | slowest | fastest |\n|---|---|---|---|\n"


def groups(text: str) -> dict[str, list[tuple[float, str]]]:
    """For each group of workloads the ratios with their names, the smallest first."""
    found = {}
    for part in text.split("\n## ")[1:]:
        rows = [row.strip("| ").split(" | ") for row in part.splitlines() if row.startswith("| ")]
        ratios = [(float(row[2].split()[0]), row[0]) for row in rows if re.match(r"\d", row[2])]
        if ratios:
            found[part.partition("\n")[0]] = sorted(ratios)
    return found


def text() -> str:
    """The README with the table of the last measurement."""
    measured = (HERE / "performance.md").read_text()
    means = dict(re.findall(r"Geometric mean, (.*): ([\d.]+)\.", measured))
    rows = [
        f"| {name.lower()} | {means[name.lower()]} | {first[0]:g}, {first[1]} | "
        f"{last[0]:g}, {last[1]} |\n"
        for name, (first, *_, last) in groups(measured).items()
    ]
    before, _, rest = PLACE.read_text().partition(START)
    return f"{before}{START}{HEAD}{''.join(rows)}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PLACE.write_text(text())

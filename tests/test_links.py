"""Links within the repository's pages lead to files and headings that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")])
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")


def prose(path):
    """A page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(), flags=re.S)


def headings(path):
    """The anchors of a page's headings."""
    found = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in found]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in LINK.findall(prose(page)):
        if re.match(r"\w+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), f"{page.name}: {link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in headings(target), f"{page.name}: {link}: no such heading"

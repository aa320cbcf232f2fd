"""What comments and pages point to is there: NOTEs where they are said to be, files, modules."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
FILES = {
    str(path.relative_to(HERE)): path.read_text()
    for pattern in ("*.md", "docs/*.md", "src/**/*.py", "src/**/*.[ch]", "tests/**/*.py")
    for path in sorted(HERE.glob(pattern))
}
MORE = [
    path for place in (".", "docs", "benchmarks", "demo") for path in (HERE / place).glob("*.*")
]
ALL = [*FILES, *(str(path.relative_to(HERE)) for path in MORE)]
PAGES = [name for name in FILES if name.endswith(".md") and name != "CHANGELOG.md"]
TEXTS = {name: re.sub(r"\n *(?:# |\* )?", " ", text) for name, text in FILES.items()}

NOTES = defaultdict(set)  # by title, in which files one is
for name, text in FILES.items():
    for title in re.findall(
        r'^ *(?:"""|/\* )?NOTE \[(.+?)\](?!,? (?:in|of) `)', text, re.MULTILINE
    ):
        NOTES[title].add(name)


def found(pattern):
    """What a pattern finds, with the file in which it does."""
    return [(name, each) for name, text in TEXTS.items() for each in re.findall(pattern, text)]


def means(word, name):
    """Whether a reference such as `transforms.batch` or `engine/op.py` means a file."""
    module = re.sub(r"(/__init__)?\.\w+$", "", name)
    return f"/{name}".endswith(f"/{word}") or f"/{module}".endswith(f"/{word.replace('.', '/')}")


def test_a_note_is_where_comments_say():
    cited = found(r"NOTE \[([^\]]+)\],? (?:in|of) `([\w./]+)`")
    assert len(cited) > 20
    assert not [
        (name, title, word)
        for name, (title, word) in cited
        if not any(means(word, place) for place in NOTES[title])
    ]


def test_a_note_that_is_cited_exists():
    cited = found(r"NOTE \[(\w[^\]]*?)(?: \.\.\.)?\]")
    assert not [each for each in cited if not any(t.startswith(each[1]) for t in NOTES if NOTES[t])]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_files_that_exist(page):
    words = re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|c|h|md|svg))`", FILES[page])
    assert not [word for word in words if not any(means(word, name) for name in ALL)]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_links_to_what_is_there(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", FILES[page])
    assert not [link for link in links if not (HERE / page).parent.joinpath(link).exists()]


def test_a_module_that_is_named_in_the_engine_the_ops_or_the_kernels_exists():
    modules = [name for name in FILES if name.startswith("src/retrograd/")]
    cited = found(r"`((?:engine|ops|kernels)\.(?!json|npz)\w+)[\w.]*(?:\(\))?`")
    assert len(cited) > 10
    assert not [each for each in cited if not any(means(each[1], name) for name in modules)]

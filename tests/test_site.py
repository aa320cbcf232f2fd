"""The site: formulas as mathematics, pages in the navigation, docstrings as Markdown."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from retrograd.engine.registry import OPS

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def mathematics():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        yield importlib.import_module("mathematics")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exp", "f"),
        ("sigmoid", r"f\,\left(1-f\right)"),
        ("sin", r"\cos\left(x\right)"),
        ("tanh", "1-{f}^2"),
        ("erf", r"e^{-{x}^2}\,\frac{2}{\sqrt{\pi}}"),
    ],
)
def test_a_derivative_is_written_as_mathematics(mathematics, name, expected):
    assert mathematics.tex(OPS[name].derivative) == expected


def test_a_formula_of_several_statements_is_none(mathematics):
    def formula(xp, g, input):
        size = xp.abs(input)
        return g * size

    assert mathematics.tex(formula) is None


def test_what_binds_less_tightly_stands_in_parentheses(mathematics):
    assert mathematics.tex(lambda xp, g, x, y: g * (x + y) ** 2) == (r"g\,{\left(x+y\right)}^{2}")
    assert mathematics.tex(lambda xp, g, x, y: x - (y - g)) == r"x-\left(y-g\right)"
    assert mathematics.tex(lambda xp, g, x: -(g * xp.conj(x)) / x) == (
        r"\frac{-g\,\overline{x}}{x}"
    )


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    assert listed - {"reference/index.md"} == pages


def test_a_docstring_becomes_markdown(monkeypatch):
    why = "the site needs MkDocs: pip install retrograd[docs]"
    pytest.importorskip("mkdocs", reason=why)
    pytest.importorskip("latex2mathml", reason=why)
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    pages = importlib.import_module("pages")
    doc = "Gives x * y * z, `a_b`.\n\n>>> 1 + 1\n2\n\nEnd."
    example = "```pycon\n>>> 1 + 1\n2\n```"
    assert pages.prose(doc) == f"Gives x \\* y \\* z, `a_b`.\n\n\n{example}\n\nEnd.\n"


def test_the_environment_of_the_site_has_what_pages_compute_with():
    """Else what is made there differs from what is committed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "retrograd[fast]" in extras["optional-dependencies"]["docs"]
    for workflow in (".ci/run", ".github/workflows/test.yml"):
        text = (ROOT / workflow).read_text()
        assert text.index("make docs") < text.index("git diff --exit-code"), workflow

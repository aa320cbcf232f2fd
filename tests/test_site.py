"""The site: formulas as mathematics, pages in the navigation, docstrings as Markdown."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import retrograd as rg
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


@pytest.fixture(scope="module")
def reference():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        yield importlib.import_module("reference")


def test_the_reference_has_every_name_of_a_module_once(reference):
    """In a section, on the card of its function, or among the values."""
    for place in ("", *sum(reference.PARTS.values(), ())):
        own = reference.public(place)
        cards = {name for name, value in own.items() if reference.on_card(value)}
        in_place = {name for name in own if reference.is_in_place(place, name)}
        modules = {name for name, value in own.items() if isinstance(value, ModuleType)}
        told, values = set(reference.told(place)), set(reference.values(place))
        apart = {"Tensor"} & own.keys() if place == "" else set()
        assert told | values | cards | in_place | modules | apart == own.keys(), place
        assert not told & (values | cards | in_place | modules), place


def test_the_reference_has_a_page_for_every_public_module(reference):
    paged = set(sum(reference.PARTS.values(), ()))
    on_cards = {"fft", "linalg", "special", "functional", "return_types", "signal"}
    private = {"ao", "mps", "version", "torch_version", "types", "xpu", "vision"}  # of a few names
    for name in (*rg.LATER, *rg.torch.modules()):
        public = not name.startswith("_") and hasattr(getattr(rg, name), "__all__")
        assert not public or name in paged | on_cards | private, name


def test_the_reference_has_every_method_of_tensors(reference):
    """In a table by family, or in the body of the class, which mkdocstrings shows."""
    listed = {name for names in reference.methods().values() for name in names}
    body = next(
        node
        for node in ast.parse(Path(rg.engine.tensor.__file__).read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == "Tensor"
    )
    own = {getattr(node, "name", "") for node in body.body}
    public = {name for name, _ in inspect.getmembers(rg.Tensor, callable) if name[0] != "_"}
    assert len(listed) > 530
    assert public - listed - own == set()


def test_layers_and_functions_lead_to_each_other(reference):
    assert reference.functions("nn.ReLU") == ["relu"]
    assert "nn.Conv2d" in reference.layers()["conv2d"]
    assert reference.functions("nn.CrossEntropyLoss") == ["nn.functional.cross_entropy"]


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text()))
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    assert listed - {"reference/index.md", "examples/index.md"} == pages


def test_a_docstring_becomes_markdown(reference):
    doc = "Gives x * y * z, `a_b`.\n\n>>> 1 + 1\n2\n\nEnd."
    example = "```pycon\n>>> 1 + 1\n2\n```"
    assert reference.prose(doc) == f"Gives x \\* y \\* z, `a_b`.\n\n\n{example}\n\nEnd.\n"


def test_links_of_differences_lead_out_of_the_reference(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    told = importlib.import_module("pages").differing("jacfwd")
    assert "](../transforms.md)" in told
    assert re.findall(r"\]\((?!\.\./)[\w-]+\.md", told) == []


def test_the_environment_of_the_site_has_what_pages_compute_with():
    """Else what is made there differs from what is committed."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "retrograd[fast]" in extras["optional-dependencies"]["docs"]
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert workflow.index("make docs") < workflow.index("git diff --exit-code")


def test_each_page_that_is_made_is_compared_with_what_is_committed():
    """By a test, for `.ci/run` makes the site of those that are committed."""
    made = re.findall(r"python (docs/make_\w+\.py)", (ROOT / "Makefile").read_text())
    tests = "".join(path.read_text() for path in ROOT.glob("tests/test_*.py"))
    assert len(made) >= 7
    assert [script for script in made if f'run python {script}"' not in tests] == []


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("docs/tutorials/*.md"), ROOT / "docs/viz.md", ROOT / "docs/quickstart.md"],
    ids=str,
)
def test_pictures_of_a_page_show_what_it_computed(page, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    made = importlib.import_module("pictures").illustrated(page.read_text())
    drawn = made.count('src="data:image/svg+xml;base64,')
    assert drawn == {"index": 0, "quickstart": 3, "training": 3, "viz": 9}.get(page.stem, 1)


def test_notebooks_are_made_of_pages_and_programs(monkeypatch):
    """They run while the site is built."""
    pytest.importorskip("jupytext", reason="notebooks are made with jupytext")
    monkeypatch.syspath_prepend(ROOT / "docs")
    notebooks = importlib.import_module("notebooks")
    assert len(notebooks.EXAMPLES) == 6
    for name in (*notebooks.EXAMPLES, *notebooks.TUTORIALS):
        cells = notebooks.made(name).cells
        assert cells[0].source.startswith("# ")
        code = [cell.source for cell in cells if cell.cell_type == "code"]
        for source in code:
            ast.parse(source)
            assert ">>>" not in source
        assert (code[-1] == notebooks.CLOSING) == (name in notebooks.EXAMPLES)


def test_messages_of_the_page_are_those_of_the_package():
    page = (ROOT / "docs/messages.md").read_text().replace("\\_", "_")
    shown = re.findall(r"^\| ([^|]*[^|-]) \|", page, re.MULTILINE)[1:]
    assert len(shown) > 20
    said = " ".join(
        node.value
        for path in Path(rg.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    apart = (
        r"CrossEntropyLoss|'retrograd'|Only |with more than one value|module before|\d|\.\.\.|SciPy"
        "|mat1|unsupported operand type.*"
    )
    parts = [part.strip() for message in shown for part in re.split(apart, message)]
    assert [part for part in parts if part not in said] == []

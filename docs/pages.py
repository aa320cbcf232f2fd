"""Makes the pages of the site that are not written by hand, while MkDocs builds it (its `hooks`).

NOTE [Pages]
1. The reference has a section for each public name: `reference.py` says on which page, mkdocstrings
   writes it. A function of tensors has a card: beside that its derivatives as mathematics where
   they are one expression, kinks, what it does with complex numbers, and a picture of function and
   derivative. Beside it are the lines of `differences.md` that name it.
2. Mathematics becomes MathML here, so that pages need no script and no other site.
3. On the site, the table of all ops, which is wider than a page, gives way to the cards.
4. What is marked `<!-- searchable -->` is folded by topic, with a field that searches (`site.js`).
5. Notebooks are run and can be downloaded, and those of examples are pages: `notebooks.py`.
"""

from __future__ import annotations

import functools
import html
import importlib
import inspect
import re
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

import griffe
import numpy as np
from latex2mathml.converter import convert
from mkdocs.structure.files import File

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import make_ops
import nbformat
import notebooks
import reference
from mathematics import tex
from pictures import illustrated
from reference import from_below, prose

import retrograd as rg
from retrograd.engine.registry import OPS

ARITHMETIC = re.compile(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", re.S)


@functools.cache
def differences() -> list[tuple[str, str, str, str]]:
    """The rows of the page about differences: what, PyTorch, Retrograd, why."""
    rows = []
    for line in (HERE / "differences.md").read_text().splitlines():
        cells = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and not cells[0].startswith(("---", "what")):
            rows.append(tuple(cells))
    return rows  # type: ignore[return-value]


def differing(name: str) -> str:
    """What is different of a name, as a note; nothing where nothing is."""
    short = name.rpartition(".")[2]
    pattern = re.compile(rf"`[^`]*(?<!\w){re.escape(short)}(?!\w)[^`]*`")
    found = [row for row in differences() if pattern.search(row[0])]
    if not found or len(short) < 3:
        return ""
    lines = [f"    - {what}: PyTorch: {there or '-'}; here: {here or 'the same'}. {why}"
             for what, there, here, why in found]  # fmt: skip
    return from_below("\n".join(['\n??? info "Differences from PyTorch"\n', *lines, ""]))


def called(name: str, value: Any) -> str:
    """How a function or class is called, as a block of code: types are in the docstring."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    plain = [each.replace(annotation=each.empty) for each in found.parameters.values()]
    text = f"{name}{found.replace(parameters=plain, return_annotation=found.empty)}"
    if len(text) > 88:
        inside = text[len(name) + 1 : -1]
        filled = textwrap.fill(inside, 84, initial_indent="    ", subsequent_indent="    ")
        text = f"{name}(\n{filled}\n)"
    return code(text)


def code(text: str) -> str:
    """A block of code."""
    return f"```python\n{text}\n```\n"


@functools.cache
def source() -> griffe.Module:
    """The package, as griffe reads it."""
    loader = griffe.GriffeLoader(search_paths=[HERE.parent / "src"])
    package = loader.load("retrograd")
    loader.resolve_aliases()
    return package  # type: ignore[return-value]


def is_read(path: str) -> bool:
    """Whether griffe finds a function or a class where users find it."""
    try:
        found: Any = source()[path]
        found = found.final_target if found.is_alias else found
    except (KeyError, griffe.AliasResolutionError, griffe.CyclicAliasError):
        return False
    return bool(found.is_function or found.is_class)


def section(full: str, value: Any, heading: str = "") -> str:
    """The section of a public name: mkdocstrings writes it, unless what it is made by is run."""
    if is_read(full):
        return f'::: retrograd.{full}\n    options:\n      heading: "{heading or full}"\n'
    parts = [f"## `{heading or full}` {{#retrograd.{full}}}\n"]
    if callable(value):
        parts += [called(full.rpartition(".")[2], value)]
    return "\n".join([*parts, prose(inspect.getdoc(value))])


def page(place: str) -> str:
    """The page of a module."""
    module = importlib.import_module(f"retrograd.{place}".rstrip("."))
    title = f"rg.{place}".rstrip(".") if place else "retrograd"
    parts = [f"# {title}\n\n{prose(module.__doc__)}"]
    for name in reference.told(place):
        full = f"{place}.{name}".lstrip(".")
        parts += [section(full, reference.public(place)[name]), differing(full)]
        parts.append(linked("Function", reference.functions(full)))
    if others := reference.values(place):
        parts.append(f"## Values\n\n{', '.join(f'`{name}`' for name in others)}\n")
    return "\n".join(parts)


def linked(what: str, names: list[str]) -> str:
    """A line of links to other sections; nothing for no names."""
    links = ", ".join(f"[`{name}`][retrograd.{name}]" for name in names)
    return f"{what}: {links}\n" if links else ""


def tensor() -> str:
    """The page of `Tensor`: what only tensors have, then its methods that are functions, too."""
    parts, alone = ["# Tensor\n", section("Tensor", rg.Tensor)], []
    for family, names in reference.methods().items():
        rows = []
        for name, card_name in names.items():
            value = getattr(rg.Tensor, name)
            said = prose(inspect.getdoc(value)).partition("\n")[0]
            where = f"[`{name}`][retrograd.{card_name or f'Tensor.{name}'}]"
            rows.append(f"| {where} | {said.replace('|', chr(92) + '|')} |")
            alone += [] if card_name else [section(f"Tensor.{name}", value)]
        parts.append("\n".join([f"## Methods: {family}\n", "| method | |", "|---|---|", *rows, ""]))
    return "\n".join([*parts, "## Methods that are no functions\n", *alone])


# -- cards of ops ----------------------------------------------------------------------------------

FACTS = ("kinks", "complex", "double backward", "forward", "vmap", "in place")


def card(value: Any, names: list[str], plots: dict[str, str]) -> str:
    """The card of a public function, which may be the caller of a record."""
    op = getattr(value, "op", None)
    cells = (
        make_ops.row_of_record(op, names[0], names)
        if op is not None
        else make_ops.row_of_function(value, names)
    )
    row = dict(zip(make_ops.COLUMNS, cells, strict=True))
    others = ", ".join(f"`{name}`" for name in names[1:])
    parts = [section(names[0], make_ops.forms.get(value, value))]
    parts += [
        f"Also {others}.\n" if others else "",
        linked("Layer", reference.layers().get(names[0], [])),
    ]
    if op is None:
        op = next((OPS[n] for n in make_ops.parts(value)[1] if n == value.__name__), None)
    parts.append(mathematics(op) or f"**Derivative** {unescaped(row['derivative'])}\n")
    if op is not None and (name := plotted(op, names, plots)):
        parts.append(f"![{names[0]} and its derivative](plots/{name})\n")
    facts = [f"**{fact}** {unescaped(row[fact])}" for fact in FACTS]
    text = " · ".join(facts).replace("#one-example-at-a-time", "../ops.md#one-example-at-a-time")
    parts += [text + "\n", differing(names[0])]
    return "\n".join(parts)


def unescaped(text: str) -> str:
    """A cell of a table outside of it."""
    return text.replace("\\|", "|")


def mathematics(op: Any) -> str:
    """The derivatives of a record as mathematics; nothing where one is no single expression."""
    if op is None or not op.vjps:
        return ""
    if op.derivative is not None:
        slope = tex(op.derivative)
        return (slope and f"**Derivative** {mathml(rf'f′(x)={slope}', True)}\n") or ""
    lines = []
    for name, formula in op.vjps.items():
        found = tex(formula)
        if found is None:
            return ""
        lines.append(f"`{name}` {mathml(found)}")
    return f"**A cotangent g gives** {', '.join(lines)}\n"


def plotted(op: Any, names: list[str], plots: dict[str, str]) -> str:
    """The file with a picture of an elementwise function of one number; nothing for others."""
    if not (op.elementwise and len(op.inputs) == 1 and op.vjps and not op.params):
        return ""
    low, high = -3.0, 3.0
    try:
        if np.isnan(op.call(rg.linspace(low, high, 61)).numpy()).any():
            low, high = op.domain
        picture = rg.viz.derivatives(op.call, low, high)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return ""  # of complex numbers only, or not of doubles
    name = f"{op.name}.svg"
    plots[name] = picture.svg
    return name


def cards(plots: dict[str, str]) -> dict[str, str]:
    """For each family of ops its page."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for name, value in reference.cards().items():
        op, names = getattr(value, "op", None), make_ops.PUBLIC[id(value)][1]
        place = reference.family(value)
        if op is None and (
            make_ops.NO_OPS & {value.__name__, value.__module__.rpartition(".")[2]}
            or not make_ops.parts(value)[1]
            or value.__name__ in make_ops.STEPS
        ):
            found[place][name] = section(name, value)
        else:
            found[place][name] = card(value, names, plots)
    return {
        family: f"# Ops: {family}\n\n" + "\n".join(text for _, text in sorted(own.items()))
        for family, own in sorted(found.items())
    }


# -- the hooks -------------------------------------------------------------------------------------


def mathml(text: str, display: bool = False) -> str:
    """TeX as MathML, which browsers draw."""
    return convert(text, display="block" if display else "inline")  # type: ignore[no-any-return]


def examples(made: dict[str, str]) -> list[str]:
    """Add the notebooks, and the pages of those that are examples; give these."""
    lines = ["# Examples\n\nEach is a program of `examples/complex/`, and a notebook. All need the "
             "package alone, but for `denoising`, which needs SciPy.\n"]  # fmt: skip
    for name, notebook in notebooks.run_all().items():
        made[f"notebooks/{name}.ipynb"] = nbformat.writes(notebook)
        if name in notebooks.EXAMPLES:
            title, _, text = notebooks.written(notebook).partition("\n")
            made[f"examples/{name}.md"] = f"{title}\n\n{as_notebook(name)}\n{text}"
            lines.append(
                f"- [{title.lstrip('# ')}]({name}.md): {text.strip().partition(chr(10))[0]}"
            )
    made["examples/index.md"] = "\n".join(lines) + "\n"
    return ["examples/index.md", *(f"examples/{name}.md" for name in notebooks.EXAMPLES)]


def as_notebook(name: str) -> str:
    """A link to the notebook of a page."""
    return f"[This page as a notebook](../notebooks/{name}.ipynb)\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, and what they show."""
    plots: dict[str, str] = {}
    made = {f"reference/ops-{family}.md": text for family, text in cards(plots).items()}
    families = [*made]
    made |= {"reference/tensor.md": tensor(), "reference/retrograd.md": page("")}
    parts: dict[str, list[str]] = {"": ["reference/tensor.md", "reference/retrograd.md"]}
    for part, places in reference.PARTS.items():
        parts[part] = [f"reference/{place}.md" for place in places]
        made |= {f"reference/{place}.md": page(place) for place in places}
    parts["Ops"] = families
    lines = ["# Reference\n\nEvery public name, by its module; functions of tensors by family.\n"]
    nav: list[Any] = ["reference/index.md"]
    for part, places in parts.items():
        titles = {place: made[place].partition("\n")[0].lstrip("# ") for place in places}
        lines.append(f"## {part}\n" if part else "")
        lines += [f"- [{title}]({Path(place).name})" for place, title in titles.items()]
        lines.append("")
        nav += [{part: places}] if part else places
    made["reference/index.md"] = "\n".join(lines)
    next(entry for entry in config.nav if "Reference" in entry)["Reference"] = nav
    next(entry for entry in config.nav if "Examples" in entry)["Examples"] = examples(made)
    made |= {f"reference/plots/{name}": text for name, text in plots.items()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Draw pictures, and let the table of all ops give way to the cards."""
    if page.file.src_uri != "ops.md":
        place = Path(page.file.src_uri)
        if place.parent.name == "tutorials" and place.stem in notebooks.TUTORIALS:
            title, _, text = markdown.partition("\n")
            markdown = f"{title}\n\n{as_notebook(place.stem)}{text}"
        return illustrated(markdown)
    families = [f for f in files if f.src_uri.startswith("reference/ops-")]
    listed = "\n".join(
        f"- [{Path(f.src_uri).stem.removeprefix('ops-')}]({f.src_uri})" for f in families
    )
    rest = markdown[markdown.index("## One example at a time") :]
    return (
        f"# Every op\n\nA card for each, by family: what it computes, its derivative, its kinks, "
        f"what it does with complex numbers.\n\n{listed}\n\n{rest}"
    )


FINDER = '<input class="finder" type="search" placeholder="Search the tables" aria-label="Search">'


def searchable(content: str) -> str:
    """Tables after a mark `<!-- searchable -->`: folded but for the first, and below a field.

    Each cell knows its column's title, which a narrow screen shows beside it.
    """
    before, mark, after = content.partition("<!-- searchable -->")

    def folded(match: re.Match[str]) -> str:
        titles = [title.strip() for title in re.findall(r"<th>(.*?)</th>", match[0])]
        count = match[0].count("<tr>") - 1
        cells = iter(titles * count)
        table = re.sub("<td>", lambda _: f'<td data-title="{next(cells)}">', match[0])
        return f"<details><summary>{count} rows</summary>{table}</details>"

    after = re.sub(r"<table>.*?</table>", folded, after, flags=re.DOTALL)
    return before + (FINDER + after.replace("<details>", "<details open>", 1) if mark else "")


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Write mathematics as MathML, and let wide tables scroll by themselves."""

    def drawn(match: re.Match[str]) -> str:
        inline, block = match.groups()
        return mathml(html.unescape(inline or block), display=block is not None)

    content = searchable(ARITHMETIC.sub(drawn, content))
    return content.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )

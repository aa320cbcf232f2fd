"""Makes the pages of the site that are not written by hand, while MkDocs builds it (its `hooks`).

NOTE [Pages]
1. The reference has a section for each public name, by its docstring: for the modules in `PLACES`,
   and for functions by family of ops. A function's section is a card: what it computes, its
   derivatives as mathematics where they are one expression, kinks, what it does with complex
   numbers, and a picture of function and derivative. Beside it are the lines of `differences.md`
   that name it.
2. Mathematics becomes MathML here, so that pages need no script and no other site.
3. On the site, the table of all ops, which is wider than a page, gives way to the cards.
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

import numpy as np
from latex2mathml.converter import convert
from mkdocs.structure.files import File

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import make_ops
from mathematics import tex

import retrograd as rg
from retrograd.engine.registry import OPS

PLACES = (
    "serialization",
    *("autograd", "autograd.functional", "autograd.graph", "autograd.forward_ad", "func"),
    *("nn", "nn.complex", "nn.init", "nn.utils", "optim", "optim.lr_scheduler", "utils.data"),
    *(
        "distributions",
        "vision.models",
        "vision.ops",
        "viz",
        "tape",
        "wirtinger",
        "amp",
        "testing",
        "compiler",
        "__config__",
    ),
)
INNER = {"function", "extra_repr"}  # of layers: what they call, and how they print
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
    return "\n".join(['\n??? info "Differences from PyTorch"\n', *lines, ""])


def prose(doc: str | None) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    lines, inside = [], False
    for line in inspect.cleandoc(doc or "").splitlines():
        begins = line.startswith(">>>")
        if begins and not inside:
            lines += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line if inside else escaped(line))
    return "\n".join([*lines, *(["```"] if inside else []), ""])


def escaped(line: str) -> str:
    """A line of a docstring of which nothing but what is in backticks means anything."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(p if p.startswith("`") else re.sub(r"([*_#<])", r"\\\1", p) for p in parts)


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


def section(place: str, name: str, value: Any) -> str:
    """The section of a public name."""
    full = f"{place}.{name}" if place else name
    parts = [f"## `{full}`\n"]
    if callable(value):
        parts += [called(name, value)]
    parts += [prose(inspect.getdoc(value)), differing(full)]
    if inspect.isclass(value):
        parts += members(value)
    return "\n".join(parts)


def members(kind: type) -> list[str]:
    """The public methods and properties that a class itself defines, a line for each."""
    rows = []
    for name, value in vars(kind).items():
        doc = inspect.getdoc(value)
        shown = callable(value) or isinstance(value, property)
        if name.startswith("_") or name in INNER or not doc or not shown:
            continue
        rows.append(f"- `{name}`: {doc.splitlines()[0]}")
    return ["", *rows, ""] if rows else []


def reference(place: str) -> str:
    """The page of a module."""
    module = importlib.import_module(f"retrograd.{place}")
    names = [name for name in module.__all__ if not name.startswith("_")]
    head = f"# rg.{place}\n\n{prose(module.__doc__)}\n"
    values = ((name, getattr(module, name)) for name in names)
    shown = [(name, value) for name, value in values if not inspect.ismodule(value)]
    return head + "\n".join(section(place, name, value) for name, value in shown)


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
    parts = [f"## `{names[0]}`\n", f"Also {others}.\n" if others else ""]
    short = names[0].rpartition(".")[2]
    parts += [
        called(short, make_ops.forms.get(value, value)) if op is None else declared(short, op)
    ]
    parts += [prose(inspect.getdoc(value))]
    if op is None:
        op = next((OPS[n] for n in make_ops.parts(value)[1] if n == value.__name__), None)
    parts.append(mathematics(op) or f"**Derivative** {unescaped(row['derivative'])}\n")
    if op is not None and (name := plotted(op, names, plots)):
        parts.append(f"![{names[0]} and its derivative](plots/{name})\n")
    facts = [f"**{fact}** {unescaped(row[fact])}" for fact in FACTS]
    text = " · ".join(facts).replace("#one-example-at-a-time", "ops.md#one-example-at-a-time")
    parts += [text + "\n", differing(names[0])]
    return "\n".join(parts)


def declared(name: str, op: Any) -> str:
    """How the caller of a record is called."""
    inside = make_ops.signature(op).strip("`").partition("(")[2].partition(")")[0]
    return code(f"{name}({inside})")


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
    for value, names in make_ops.PUBLIC.values():
        op = getattr(value, "op", None)
        if op is not None:
            place = make_ops.family(op)
        elif value.__module__.startswith("retrograd.ops"):
            place = "/".join(value.__module__.split(".")[2:4])
        else:
            continue
        if op is None and (
            make_ops.NO_OPS & {value.__name__, value.__module__.rpartition(".")[2]}
            or not make_ops.parts(value)[1]
            or value.__name__ in make_ops.STEPS
        ):
            found[place][names[0]] = section("", names[0], value)
        else:
            found[place][names[0]] = card(value, names, plots)
    merged: dict[str, dict[str, str]] = defaultdict(dict)
    for place, sections in found.items():
        merged[place.partition("/")[0]] |= sections
    return {
        family: f"# Ops: {family}\n\n" + "\n".join(text for _, text in sorted(own.items()))
        for family, own in sorted(merged.items())
    }


# -- the hooks -------------------------------------------------------------------------------------


def mathml(text: str, display: bool = False) -> str:
    """TeX as MathML, which browsers draw."""
    return convert(text, display="block" if display else "inline")  # type: ignore[no-any-return]


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made, and what they show."""
    plots: dict[str, str] = {}
    made = {f"reference/ops-{family}.md": text for family, text in cards(plots).items()}
    made |= {f"reference/{place}.md": reference(place) for place in PLACES}
    made = {place: upwards(text) for place, text in made.items()}
    listed = "\n".join(
        f"- [{text.partition(chr(10))[0].lstrip('# ')}]({Path(place).name})"
        for place, text in made.items()
    )
    made["reference/index.md"] = (
        "# Reference\n\nEvery public name by its docstring; ops by family, as cards.\n\n"
        f"{listed}\n\nUnder `vmap`, a few ops run one example at a time; they say so the first "
        "time, and results and derivatives are the same.\n"
    )
    nav = next(entry for entry in config.nav if "Reference" in entry)
    nav["Reference"] = ["reference/index.md", *(p for p in made if not p.endswith("index.md"))]
    made |= {f"reference/plots/{name}": text for name, text in plots.items()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def upwards(text: str) -> str:
    """Let links of docstrings to pages by hand lead there from a page of the reference."""
    return re.sub(r"\]\((?=\w+\.md)", "](../", text)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let the table of all ops give way to the cards."""
    if page.file.src_uri != "ops.md":
        return markdown
    families = [f for f in files if f.src_uri.startswith("reference/ops-")]
    listed = "\n".join(
        f"- [{Path(f.src_uri).stem.removeprefix('ops-')}]({f.src_uri})" for f in families
    )
    rest = markdown[markdown.index("## One example at a time") :]
    return (
        f"# Every op\n\nA card for each, by family: what it computes, its derivative, its kinks, "
        f"what it does with complex numbers.\n\n{listed}\n\n{rest}"
    )


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Write mathematics as MathML, and let wide tables scroll by themselves."""

    def drawn(match: re.Match[str]) -> str:
        inline, block = match.groups()
        return mathml(html.unescape(inline or block), display=block is not None)

    content = ARITHMETIC.sub(drawn, content)
    return content.replace("<table>", '<div class="wide"><table>').replace(
        "</table>", "</table></div>"
    )

"""Notebooks of examples and tutorials, made and run: `python docs/notebooks.py FOLDER`.

NOTE [Notebooks]
1. No notebook is stored: each has one source, which other tests run, too. That of an example is its
   program, whose cells jupytext finds by `# %%`; in place of the program's last cell, the notebook
   has the brief run and its picture. That of a tutorial is its page: a cell ends where an example
   prints something.
2. `pages.py` runs them while the site is built, so where a cell fails the build fails. The site has
   all of them to download, and each example as a page.
"""

from __future__ import annotations

import doctest
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbconvert import MarkdownExporter
from pictures import BLOCK, embedded

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(
    path.stem for path in (ROOT / "examples/complex").glob("*.py") if path.stem != "__init__"
)
TUTORIALS = ("training", "hooks", "memory")
CLOSING = "found = run(quick=True)  # run() goes on for longer\ndraw(found)"
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


def made(name: str) -> nbformat.NotebookNode:
    """A notebook that has not been run."""
    if name in EXAMPLES:
        notebook = jupytext.read(ROOT / f"examples/complex/{name}.py", fmt="py:percent")
        notebook.cells[-1].source = CLOSING
        title = name.replace("_", " ").capitalize()
        notebook.cells[0].source = f"# {title}\n\n{notebook.cells[0].source}"
    else:
        page = (ROOT / f"docs/tutorials/{name}.md").read_text()
        notebook = jupytext.reads(LINK.sub(r"\1", BLOCK.sub(cells, page)), fmt="md")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    return notebook


def cells(block: re.Match[str]) -> str:
    """A block of doctests as cells, each up to something printed or drawn."""
    sources = [""]
    for example in doctest.DocTestParser().get_examples(block[1]):
        sources[-1] += re.sub(r" *# doctest: .*", "", example.source)
        sources += [""] if example.want else []
    return "\n".join(f"```python\n{source.rstrip()}\n```\n" for source in sources if source)


def run(name: str) -> nbformat.NotebookNode:
    """A notebook with what its cells give; raises where one fails."""
    notebook = made(name)
    NotebookClient(
        notebook,
        timeout=120,
        coalesce_streams=True,  # what is printed is one output
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(ROOT)}},
    ).execute()
    return notebook


def run_all() -> dict[str, nbformat.NotebookNode]:
    """All notebooks, two at a time."""
    names = (*EXAMPLES, *TUTORIALS)
    with ThreadPoolExecutor(max_workers=2) as pool:
        return dict(zip(names, pool.map(run, names), strict=True))


def written(notebook: nbformat.NotebookNode) -> str:
    """A notebook as a page, its pictures as images: the style of an SVG would be the page's."""
    text = MarkdownExporter().from_notebook_node(notebook)[0]
    return re.sub(
        r"<svg.*?</svg>", lambda found: embedded(found[0], "what is drawn"), text, flags=re.S
    )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for each, notebook in run_all().items():
        nbformat.write(notebook, folder / f"{each}.ipynb")

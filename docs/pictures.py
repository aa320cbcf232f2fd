"""Pictures on pages: what an example gives that is a picture is drawn below its block.

The examples run when the site is built, so the page shows what it computed.
"""

from __future__ import annotations

import base64
import contextlib
import doctest
import html
import io
import re
import warnings
from typing import Any
from unittest.mock import patch

import retrograd as rg

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def illustrated(markdown: str) -> str:
    """A page with its pictures drawn; one without any is not run."""
    names: dict[str, Any] = {}

    def drawn(block: re.Match[str]) -> str:
        pictures = [embedded(each.svg, each.title) for each in run(block[1], names)]
        return "\n\n".join([block[0], *pictures])

    return BLOCK.sub(drawn, markdown) if re.search(r"^>>> .*viz\.", markdown, re.M) else markdown


def run(text: str, names: dict[str, Any]) -> list[rg.viz.Picture]:
    """Run the examples in a text; give the pictures that they show."""
    shown: list[Any] = []
    for example in doctest.DocTestParser().get_examples(text):
        expected = contextlib.suppress(*([Exception] if example.exc_msg else []))
        quiet = contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings()
        with quiet[0], quiet[1], expected, patch("sys.displayhook", shown.append):
            warnings.simplefilter("ignore")
            exec(compile(example.source, "<page>", "single"), names)
    return [each for each in shown if isinstance(each, rg.viz.Picture)]


def embedded(svg: str, title: str) -> str:
    """An SVG as an image in the page."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}">'

"""Pictures on pages: `<!-- picture: expression -->` is drawn when the site is built.

The examples above it on the page have run by then, so the page shows what it computed.
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

import retrograd as rg

PICTURE = re.compile(r"<!-- picture: (.*?) -->", re.DOTALL)


def illustrated(markdown: str) -> str:
    """A page with its pictures drawn; one without any is not run."""
    names: dict[str, Any] = {}
    parts, done = [], 0
    for found in PICTURE.finditer(markdown):
        between = markdown[done : found.start()]
        run(between, names)
        picture: rg.viz.Picture = eval(found[1], names)
        parts += [between, embedded(picture.svg, picture.title)]
        done = found.end()
    return "".join([*parts, markdown[done:]])


def run(text: str, names: dict[str, Any]) -> None:
    """Run the examples in a text."""
    for example in doctest.DocTestParser().get_examples(text):
        expected = contextlib.suppress(*([Exception] if example.exc_msg else []))
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), expected:
            warnings.simplefilter("ignore")
            exec(compile(example.source, "<page>", "single"), names)


def embedded(svg: str, title: str) -> str:
    """An SVG as an image in the page."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{html.escape(title)}" src="data:image/svg+xml;base64,{data}">'

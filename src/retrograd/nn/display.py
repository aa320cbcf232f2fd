"""How a notebook shows a module: a tree that opens, with shapes and numbers of parameters."""

from __future__ import annotations

import html
from typing import Any

from .parameter import is_lazy

__all__ = ["as_html"]

ROW = "<div style='margin-left:1.4em'>{}</div>"


def as_html(module: Any, name: str = "") -> str:
    """A module and all below it; the first level is open.

    >>> rg.nn.Linear(2, 1)._repr_html_()[:42]
    "<details open=''><summary><b>Linear</b>(in"
    """
    count = sum(0 if is_lazy(each) else each.numel() for each in module.parameters())
    frozen = sum(not each.requires_grad for each in module.parameters())
    facts = [f"{count:,} parameters", f"{frozen} frozen" if frozen else ""]
    facts.append("" if module.training else "eval")
    label = f"{html.escape(name)}: " if name else ""
    said = html.escape(module.extra_repr())
    head = f"{label}<b>{html.escape(module._get_name())}</b>({said})"
    head += f" <span style='opacity:.6'>{', '.join(filter(None, facts))}</span>"
    inside = [
        f"{html.escape(key)}: {html.escape(described(each))}"
        for key, each in (*module._parameters.items(), *module._buffers.items())
        if each is not None
    ]
    inside += [as_html(child, key) for key, child in module._modules.items() if child is not None]
    opened = "" if name else " open=''"
    body = "".join(map(ROW.format, inside))
    return f"<details{opened}><summary>{head}</summary>{body}</details>"


def described(tensor: Any) -> str:
    """The shape and dtype of a parameter or buffer."""
    if is_lazy(tensor):
        return "no shape yet"
    return f"{'×'.join(map(str, tensor.shape)) or '()'} {tensor.dtype.name}"

"""What the pages of the reference hold: for each page its names, for `pages.py` and for tests.

NOTE [The reference]
1. A page is of a module, or of a family of ops; those of PyTorch's world are a part of their own.
2. `Tensor` comes first. Most of its methods are functions, too: they are in a table by family, with
   a link to the function's card; what only tensors have is told there.
3. What a module has by `__all__` is on its page, on a card, or among the values at its end.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
from typing import Any

import make_ops

import retrograd as rg

ENGINE = (
    *("autograd", "autograd.functional", "autograd.graph", "autograd.forward_ad", "func", "tape"),
    *("wirtinger", "capture", "runtime", "compiler", "random", "quasirandom", "signal", "testing"),
)
TRAINING = (
    *("nn", "nn.complex", "nn.complex.functional", "nn.init", "nn.utils", "nn.utils.rnn"),
    *("nn.utils.parametrize", "nn.utils.parametrizations", "optim", "optim.lr_scheduler"),
    *("optim.swa_utils", "utils", "utils.data", "utils.checkpoint", "serialization"),
    *("distributions", "distributions.constraints", "distributions.transforms"),
    *("distributions.kl", "interop.autograd", "interop.dask", "viz"),
)
WORLD = (
    *("__config__", "accelerator", "amp", "backends", "cpu", "cuda", "distributed", "export"),
    *("futures", "fx", "hub", "jit", "library", "masked", "multiprocessing", "nested", "onnx"),
    *("overrides", "profiler", "sparse", "storage", "vision.models", "vision.ops"),
)
PARTS = {"The engine": ENGINE, "Training": TRAINING, "PyTorch's world": WORLD}


def public(place: str) -> dict[str, Any]:
    """The public names of a module, and what they stand for; "" is the package itself."""
    module = importlib.import_module(f"retrograd.{place}".rstrip("."))
    names = [name for name in module.__all__ if not name.startswith("_")]
    return {name: getattr(module, name) for name in sorted(set(names))}


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
    text = "\n".join([*lines, *(["```"] if inside else []), ""])
    return from_below(text)


def from_below(text: str) -> str:
    """A text for a page of the reference, with links to the pages that are written by hand."""
    return re.sub(r"\]\((?=[\w-]+\.md)", "](../", text)


def escaped(line: str) -> str:
    """A line of a docstring of which nothing but what is in backticks means anything."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(p if p.startswith("`") else re.sub(r"([*_#<])", r"\\\1", p) for p in parts)


@functools.cache
def cards() -> dict[str, Any]:
    """The functions that have a card, by the first of their names."""
    return {
        names[0]: value
        for value, names in make_ops.PUBLIC.values()
        if hasattr(value, "op") or value.__module__.startswith("retrograd.ops")
    }


def on_card(value: Any) -> str | None:
    """The first name of a function that has a card among the ops; None for all else."""
    names: list[str] = make_ops.PUBLIC.get(id(make_ops.bare(value)), (None, [""]))[1]
    return names[0] if names[0] in cards() else None


def is_in_place(place: str, name: str) -> bool:
    """Whether a name is the form in place of a function, whose card tells of it."""
    module = importlib.import_module(f"retrograd.{place}".rstrip("."))
    return name.endswith("_") and hasattr(module, name[:-1])


def told(place: str) -> list[str]:
    """The names that have a section on the page of a module."""
    return [
        name
        for name, value in public(place).items()
        if callable(value)
        and not inspect.ismodule(value)
        and on_card(value) is None
        and not is_in_place(place, name)
    ]


def values(place: str) -> list[str]:
    """The names on a page that stand for no function or class: dtypes, numbers, layouts."""
    return [
        name
        for name, value in public(place).items()
        if not callable(value) and not inspect.ismodule(value)
    ]


def methods() -> dict[str, dict[str, str]]:
    """For each family the methods that tensors get, with the card that tells of each, or ""."""
    found: dict[str, dict[str, str]] = {}
    for name, value in inspect.getmembers(rg.Tensor, callable):
        if name.startswith("_") or f"{rg.Tensor.__module__}." in f"{value.__module__}.":
            continue
        base = getattr(rg.Tensor, name.removesuffix("_"), value)
        card = on_card(value) or on_card(base) or ""
        found.setdefault(family(cards().get(card, value)), {})[name] = card
    return dict(sorted(found.items()))


def family(value: Any) -> str:
    """The family of ops that a function is of: the folder where it is made."""
    op = getattr(value, "op", None)
    if op is not None:
        place: str = make_ops.family(op)
        return place.partition("/")[0]
    _, ring, *inner = value.__module__.split(".")
    return inner[0] if ring == "ops" else "PyTorch's world" if ring == "torch" else ring


@functools.cache
def layers() -> dict[str, list[str]]:
    """For each card the layers that compute its function."""
    found: dict[str, list[str]] = {}
    for name, layer in public("nn").items():
        if not isinstance(layer, type) or not issubclass(layer, rg.nn.Module):
            continue
        called = {getattr(layer, "function", None)} - {None}
        forward = vars(layer).get("forward")
        if not called and forward is not None:
            names = re.findall(r"\bF\.(\w+)\(", inspect.getsource(inspect.unwrap(forward)))
            called = {getattr(rg.nn.functional, each, None) for each in names}
        for card in filter(None, map(on_card, called)):
            found.setdefault(card, []).append(f"nn.{name}")
    return found


def functions(layer: str) -> list[str]:
    """The cards of the functions that a layer computes."""
    return [card for card, names in layers().items() if layer in names]

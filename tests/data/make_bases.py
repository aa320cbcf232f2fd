"""Write bases.json: which public classes of PyTorch derive from which.

Run by a Python that has PyTorch: `python -m tests.data.make_bases`.
"""

from __future__ import annotations

import importlib
import json
import pathlib
from typing import Any

PLACES = ("nn", "optim", "optim.lr_scheduler", "distributions", "distributions.transforms",
          "utils.data", "nn.utils.prune", "fx")  # fmt: skip


def public_classes(module: Any) -> dict[str, type]:
    """The classes of a module by their names."""
    found = {name: getattr(module, name, None) for name in dir(module) if name[0].isupper()}
    return {name: each for name, each in found.items() if isinstance(each, type)}


def bases(classes: dict[str, type]) -> dict[str, list[str]]:
    """For each class the others among them from which it derives."""
    found = {
        name: sorted(n for n, other in classes.items() if n != name and issubclass(each, other))
        for name, each in classes.items()
    }
    return dict(sorted(found.items()))


if __name__ == "__main__":
    named = {place: public_classes(importlib.import_module(f"torch.{place}")) for place in PLACES}
    found = {
        place: bases({n: c for n, c in classes.items() if c.__module__.startswith("torch.")})
        for place, classes in named.items()
    }
    path = pathlib.Path(__file__).with_name("bases.json")
    path.write_text(json.dumps(found, indent=0) + "\n")

"""Weights of a model from a file: nothing is downloaded.

NOTE [Pretrained weights]
1. `weights` is the path of a checkpoint of torchvision's names, in any format that `load` reads.
2. `pretrained=True` stands for the file `<name>-<hash>.pth` in the folder where PyTorch keeps what
   it has downloaded: `$TORCH_HOME/hub/checkpoints`, by default in `~/.cache/torch`.
3. torchvision's own names of weights, such as "DEFAULT", name files on its server: an error.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...serialization import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...nn import Module

__all__ = ["filled"]


def filled(
    model: Module, name: str, pretrained: bool, weights: Any, old: Callable[[str], str] = str
) -> Module:
    """The model with the weights asked for: NOTE [Pretrained weights].

    `old` gives the name of a parameter by the one that older files have. Raises FileNotFoundError
    where there is no such file, and RuntimeError where it is of another model.
    """
    if not (pretrained or weights):
        return model
    path = Path(weights) if weights else kept(name)
    if not path.exists():
        raise FileNotFoundError(
            f"{name}: there is no file {str(path)!r}, and no weights are downloaded. Write "
            f"weights='path/of/{name}.pth', the path of a checkpoint"
        )
    state = load(path, map_location="cpu", weights_only=True)
    for key in list(state):
        state[old(key)] = state.pop(key)
    model.load_state_dict(state)
    return model


def kept(name: str) -> Path:
    """The one checkpoint of a model where PyTorch keeps those that it has downloaded."""
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = Path(os.environ.get("TORCH_HOME", f"{cache}/torch")).expanduser()
    found = sorted(home.glob(f"hub/checkpoints/{name}-*.pth"))
    if len(found) > 1:
        raise ValueError(
            f"{name}: pretrained=True fits several files: {', '.join(map(str, found))}. Write "
            "weights= with the path of one"
        )
    return found[0] if found else home / "hub" / "checkpoints" / f"{name}-*.pth"

"""Writes vision.json, what torchvision says of `vision_cases`: `python make_vision.py`.

Needs PyTorch and torchvision.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torchvision
import vision_cases as cases


def state(name: str) -> list:
    """The state of a model without its numbers."""
    with torch.device("meta"):
        return cases.state_of(getattr(torchvision.models, name)())


found = {
    "states": {name: state(name) for name in cases.MODELS},
    "outputs": {name: cases.outputs(torch, torchvision, name) for name in cases.RUN},
}
lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
(Path(__file__).parent / "vision.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

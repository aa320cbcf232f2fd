"""Writes vision_ops.json, what torchvision says of `vision_ops_cases`: `python make_vision_ops.py`.

Needs PyTorch and torchvision.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torchvision
import vision_ops_cases as cases

found = {name: cases.result(torch, torchvision, name) for name in cases.CASES}
found["chosen"] = cases.chosen(torch, torchvision)
lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
(Path(__file__).parent / "vision_ops.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

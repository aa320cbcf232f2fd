"""Writes aten.json: PyTorch's operators on tensors, and the overloads of each.

Needs PyTorch: `python tests/data/make_aten.py`.
"""

import json
from pathlib import Path

import torch

found: dict[str, list[str]] = {}
for schema in torch._C._jit_get_all_schemas():
    space, _, name = schema.name.partition("::")
    types = [str(a.type) for a in (*schema.arguments, *schema.returns)]
    if space == "aten" and any("Tensor" in t for t in types):
        found.setdefault(name, []).append(schema.overload_name or "default")
text = json.dumps({name: " ".join(found[name]) for name in sorted(found)}, indent=0)
(Path(__file__).parent / "aten.json").write_text(text + "\n")

"""The op of CONTRIBUTING.md in one file of a copy of the tree: all else follows from its record."""

from __future__ import annotations

import functools
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ..test_contributing import EXAMPLES

ROOT = Path(__file__).parents[2]

# What follows from a record in its place, with what is generated; as a script, it prints that.
FOLLOWS = """
import json, sys, warnings
sys.path[:0] = ["docs", "."]
import make_ops, make_stubs
import retrograd as rg
from retrograd.utils._python_dispatch import TorchDispatchMode
from tests.laws.samples import samples

warnings.simplefilter("error")
x = rg.tensor([0.0, 1.0], requires_grad=True)
found = {
    "values": [rg.gaussian(x).tolist(), x.gaussian().tolist(), x.clone().gaussian_().tolist()],
    "batch": rg.func.vmap(rg.func.grad(rg.gaussian))(x).tolist(),
    "samples": sum(sample.op.name == "gaussian" for sample in samples()),
    "stubs": sum("def gaussian(" in text for text in make_stubs.stubs().values()),
    "page": "| **gaussian** | `gaussian(input)` |" in make_ops.page(),
}

class Seen(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        seen.append(str(func))
        return func(*args, **(kwargs or {}))

seen, y, mask = [], rg.ones(2), rg.tensor([True, False])
with Seen():
    x.gaussian()
    y.gaussian_()
warnings.simplefilter("ignore")
found["operators"] = [each for each in seen if "detach" not in each]
found["operator"] = rg.library.ops.aten.gaussian.default(x).tolist()
found["masked"] = rg.masked.masked_tensor(x.detach(), mask).gaussian().get_mask().tolist()
found["nested"] = len(rg.nested.nested_tensor([x.detach(), x.detach()[:1]]).gaussian())
print(json.dumps(found))
"""


def test_one_file_of_the_package_is_all_that_an_op_needs(tmp_path):
    for folder in ("src", "docs", "tests/laws", "tests/data"):
        skipped = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=skipped)
    family = tmp_path / "src/retrograd/ops/elementwise/exp_log.py"
    imports = "\nfrom ...engine.".join(
        ["", "inplace import in_place", "registry import declare, example", "tensor import method"]
    )
    text = family.read_text().replace('"exp", ', '"exp", "gaussian", ', 1)
    family.write_text(f"{text}\n{imports}\n{EXAMPLES['gaussian']}")
    run = functools.partial(
        subprocess.run,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        check=True,
        stdout=subprocess.PIPE,
    )
    run([sys.executable, "docs/make_families.py"])
    found = json.loads(run([sys.executable, "-c", FOLLOWS]).stdout)
    values, slopes = [1.0, math.exp(-1.0)], [0.0, -2.0 * math.exp(-1.0)]
    assert found.pop("values") == [pytest.approx(values, rel=1e-6)] * 3
    assert found.pop("batch") == pytest.approx(slopes, rel=1e-6)
    assert (found.pop("samples"), found.pop("stubs"), found.pop("page")) == (4, 2, True)
    assert found.pop("operators") == ["aten.gaussian.default", "aten.gaussian_.default"]
    assert found.pop("operator") == pytest.approx(values, rel=1e-6)
    assert found == {"masked": [True, False], "nested": 2}

"""The rings: PyTorch's world is found by the names of the others, and they work without it."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import retrograd as rg
from retrograd import providers

from .test_import import run

ROOT = Path(rg.__file__).parent

WITHOUT = """
import retrograd as rg
from retrograd import distributions, func, interop, nn, optim, tape, viz, wirtinger
from retrograd.utils import checkpoint, data

rg.manual_seed(0)
x, y = rg.randn(64, 3), rg.randn(64, 1)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
rule = optim.Adam(net.parameters(), lr=0.05)
losses = []
for _ in range(5):
    for a, b in data.DataLoader(data.TensorDataset(x, y), batch_size=32):
        rule.zero_grad()
        loss = nn.functional.mse_loss(net(a), b)
        loss.backward()
        rule.step()
    losses.append(loss.item())
print(losses[-1] < losses[0])
print(func.hessian(lambda x: (x**3).sum())(rg.tensor([1.0, 2.0])).tolist())
for name in ("cuda", "sparse_coo_tensor", "fx"):
    print(hasattr(rg, name))
try:
    nn.functional.embedding(rg.zeros(2).long(), rg.ones(3, 2, requires_grad=True), sparse=True)
except ImportError as error:
    print(error)
"""


def test_the_inner_rings_work_where_the_outer_one_is_not_installed(tmp_path):
    leave = shutil.ignore_patterns("torch", "as_torch.py", "__main__.py", "__pycache__")
    shutil.copytree(ROOT, tmp_path / "retrograd", ignore=leave)
    assert not (tmp_path / "retrograd" / "torch").exists()
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    *said, lacks = done.stdout.splitlines()
    assert said == ["True", "[[6.0, 0.0], [0.0, 12.0]]", "False", "False", "False"]
    assert lacks == (
        "sparse lookup is of retrograd.torch, the part of the package for PyTorch's programs, "
        "which is not installed"
    )


def test_a_folder_that_an_older_version_left_hides_no_module(tmp_path):
    shutil.copytree(ROOT, tmp_path / "retrograd", ignore=shutil.ignore_patterns("__pycache__"))
    for left in ("fx/passes", "nn/parallel"):
        (tmp_path / "retrograd" / left).mkdir(parents=True)
    code = "import retrograd.fx.passes, retrograd.nn.parallel.distributed\n"
    code += (
        "print(retrograd.fx.__name__, retrograd.fx.passes.__name__, retrograd.nn.parallel.__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
    )
    assert done.stdout.split() == [
        "retrograd.torch.fx",
        "retrograd.torch.fx.passes",
        "retrograd.torch.nn.parallel",
    ]


@pytest.mark.parametrize(
    "name", ["cuda", "cuda.amp", "fx.passes.shape_prop", "utils._pytree", "autograd.profiler"]
)
def test_a_module_of_the_world_is_one_by_either_name(name):
    known = importlib.import_module(f"retrograd.{name}")
    assert known is importlib.import_module(f"retrograd.torch.{name}")
    assert known.__name__ == known.__spec__.name == f"retrograd.torch.{name}"


def test_what_nobody_has_is_not_found_by_any_name():
    for name in ("retrograd.nothing", "retrograd.cuda.nothing", "retrograd.torch.nothing"):
        with pytest.raises(ModuleNotFoundError, match=name.rpartition(".")[2]):
            importlib.import_module(name)
    with pytest.raises(AttributeError, match=r"'retrograd.nn' has no attribute 'nothing'"):
        rg.nn.nothing


def test_a_folder_that_only_leads_to_its_modules_stands_for_nothing():
    assert providers.mirrored("retrograd.nn") is None
    assert providers.mirrored("retrograd.nn.common_types") == "retrograd.torch.nn.common_types"


def test_every_service_and_every_name_is_there():
    assert {providers.service(name).__name__ for name in rg.torch.SERVICES} == {
        f"retrograd.torch.{home}" for home in rg.torch.SERVICES.values()
    }
    for name in rg.torch.NAMES:
        package, _, own = f"retrograd.{name}".rpartition(".")
        found = getattr(importlib.import_module(package), own)
        if isinstance(found, ModuleType):
            assert found.__name__.rpartition(".")[2] == own
        assert found is not None


def test_a_module_has_the_names_of_its_namesake_in_the_world():
    operator = rg.library.custom_op(
        "namesakes::twice", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    assert rg.ops.namesakes.twice(rg.ones(2)).equal(operator(rg.ones(2)))
    assert rg.ops.aten.sin(rg.ones(2)).equal(rg.ones(2).sin())
    assert (rg.version.cuda, rg.version.hip, rg.version.__version__) == (None, None, rg.__version__)
    for module in (rg.ops, rg.version):
        for name in ("nothing", "__nothing__"):
            with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
                getattr(module, name)


def test_a_module_of_the_world_runs_as_a_program_by_either_name():
    for name in ("retrograd.distributed.run", "retrograd.torch.distributed.run"):
        command = [sys.executable, "-m", name, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "--nproc_per_node" in done.stdout.replace("-per-", "_per_")


@pytest.mark.parametrize("module", ["nn", "nn.functional", "linalg", "optim", "torch.names.aten"])
def test_whatever_is_imported_first_all_names_are_there(module):
    code = (
        f"import retrograd.{module}; from retrograd.torch import lazy_families as later; "
        "from retrograd.torch.names import aten as n\n"
    )
    code += "print({*n.__all__} <= {*later.__all__}, retrograd.batch_norm is n.batch_norm)"
    assert run(code) == "True True"


def test_nothing_is_found_below_a_module_whose_path_is_empty():
    importlib.import_module("retrograd.nn.utils.prune")
    for finder in (providers.Mirror(last) for last in (False, True)):
        assert finder.find_spec("retrograd.nn.utils.prune.Nothing", []) is None


@pytest.mark.parametrize(
    ("package", "name"),
    [
        *(("nn", "SyncBatchNorm"), ("nn.utils", "skip_init"), ("nn.modules", "Container")),
        *(("optim", "SparseAdam"), ("utils.data", "DistributedSampler"), ("autograd", "Function")),
    ],
)
def test_packages_list_what_is_added_to_them(package, name):
    found = importlib.import_module(f"retrograd.{package}")
    assert name in dir(found)
    assert all(hasattr(found, each) for each in dir(found))

"""The core imports quickly: optional libraries and most families load when they are asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from retrograd import providers
from retrograd.ops import lazy_loading


def run(code, place=None):
    """What a fresh interpreter prints, started in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=place
    )
    return done.stdout.strip()


def test_pytorchs_world_is_there_where_its_tests_are():
    """So a run without it, `make test-core`, tests its own copy of the package."""
    assert bool(providers.world()) == (Path(__file__).parent / "torch").is_dir()


def test_importing_loads_no_optional_library_and_no_later_family():
    code = "import sys, retrograd; print(*sys.modules)"
    loaded = set(run(code).split())
    assert not loaded & {"scipy", "ml_dtypes", "torch", "sklearn", "matplotlib"}
    later = ("nn", "func", "ops.lazy_families", "tape", "wirtinger", "distributions")
    assert not loaded & {f"retrograd.{name}" for name in later}
    assert not loaded & set(lazy_loading.METHODS)


def test_importing_loads_few_modules():
    code = (
        "import sys, retrograd; print(sum(name.startswith('retrograd.') for name in sys.modules))"
    )
    assert int(run(code)) <= 98


def test_importing_leaves_the_garbage_collector_as_it_was():
    assert run("import gc, retrograd; print(gc.isenabled())") == "True"
    assert run("import gc; gc.disable(); import retrograd; print(gc.isenabled())") == "False"


def test_a_name_that_loads_later_is_there():
    names = [
        *("conv2d", "einsum", "det", "i0", "hann_window", "nn", "linalg", "wirtinger", "tape"),
        *("GradientTape", "ForwardAccumulator", "custom_gradient", "recompute_grad"),
        "distributions",
    ]
    code = f"""
import os, retrograd as rg
for name in {names}:
    for use in ("print(rg.NAME is rg.NAME, end=' ', flush=True)",
                "from retrograd import NAME; print(NAME.__name__.split('.')[-1], flush=True)"):
        if not os.fork():  # each in a process in which nothing is loaded yet
            exec(use.replace("NAME", name))
            os._exit(0)
        os.wait()
"""
    assert run(code).splitlines() == [f"True {name}" for name in names]


def test_a_name_loads_its_family_alone():
    code = """
import sys, retrograd as rg
before = set(sys.modules)
rg.softmax, rg.ops.softmax
print(*sorted(name for name in set(sys.modules) - before if name.startswith("retrograd")))
softmax = rg.softmax
from retrograd.ops import lazy_families as later
print(softmax is later.softmax)
"""
    activation = "retrograd.ops.activation"
    assert run(code).splitlines() == [f"{activation} {activation}.softmax", "True"]


def test_a_formula_loads_the_ops_that_it_names():
    code = """
import sys, retrograd as rg
x = rg.tensor([2.0, 3.0], requires_grad=True)
x.prod().backward()
loaded = [f"retrograd.ops.{name}" in sys.modules for name in ("reduction.scan", "lazy_families")]
print(x.grad.tolist(), *loaded)
print(rg.func.vmap(rg.nn.functional.cross_entropy)(rg.zeros(2, 3, 4), rg.zeros(2, 3).long()).shape)
"""
    assert run(code).splitlines() == ["[3.0, 2.0] True False", "retrograd.Size([2])"]


def test_an_op_that_a_checkpoint_keeps_loads_its_family():
    code = """
from retrograd.utils.checkpoint import create_selective_checkpoint_contexts as contexts
print(len(contexts(["airy"])))
"""
    assert run(code) == "2"


def test_a_star_imports_names_that_load_later_and_no_modules():
    code = (
        "from retrograd import *; print(exp(zeros(1)).item(), save.__name__, float, 'nn' in dir())"
    )
    assert run(f"from retrograd import *; {code}") == "1.0 save retrograd.float32 False"


def test_a_name_that_nobody_has_raises():
    code = "import retrograd as rg; print(hasattr(rg, 'nothing'), 'conv2d' in dir(rg))"
    assert run(code) == "False True"


def test_a_method_of_a_later_family_loads_it():
    code = "import retrograd as rg; print(rg.eye(2).det().item(), rg.ones(1).i0_().shape)"
    assert run(code) == "1.0 retrograd.Size([1])"


def test_a_method_of_a_later_family_is_the_same_before_and_after_its_first_call():
    code = "import retrograd as rg; f = rg.Tensor.sin; rg.ones(1).sin(); print(f is rg.Tensor.sin)"
    assert run(code) == "True"


def test_an_override_that_calls_a_method_of_a_later_family_runs_once():
    code = """
import retrograd as rg
class Loud(rg.Tensor):
    def exp(self):
        print("exp")
        return super().exp()
rg.ones(1).as_subclass(Loud).exp()
"""
    assert run(code) == "exp"


def test_subclasses_see_calls_and_properties_whatever_is_loaded():
    code = """
import retrograd as rg
class Loud(rg.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)
x = rg.Tensor._make_subclass(Loud, rg.ones(2))
x.shape, x + 1, x > 0, x ** 2, x @ x, x % 2, x.float()
"""
    assert run(code).split() == ["__get__", "add", "gt", "pow", "matmul", "remainder", "float"]

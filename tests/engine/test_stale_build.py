"""An extension that does not fit the source is left unused, all of it, with a warning."""

from __future__ import annotations

import subprocess
import sys

import pytest

from retrograd.engine.native import native
from retrograd.kernels.native import built_from

pytestmark = pytest.mark.skipif(native is None, reason="the hot path in C is not built")

# Gives the engine an extension that `wrong` has changed, and says what came of it.
PROGRAM = """
import importlib.util, sys, types
spec = importlib.util.spec_from_file_location("retrograd.engine._native", sys.argv[1])
real = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)
built = types.ModuleType(spec.name)
vars(built).update(vars(real))
{wrong}
sys.modules[spec.name] = built

import retrograd as rg
from retrograd.engine import native
assert native.native is None
for thing in (rg.mul, rg.exp):
    assert isinstance(thing, types.FunctionType), thing
x = rg.tensor([1.0, 2.0], requires_grad=True)
for _ in range(2):
    (x * x).view(-1).mul_(2.0).sum().backward()
print(x.grad.tolist(), x.grad._version)
"""

WRONG = {
    "sources": (f'built.BUILT_FROM = "{built_from()}0"', "it was built from"),
    "version": ('built.BUILT_FROM = "0.0.1"', "it was built from 0.0.1, and this is"),
    "older than that": ("del built.BUILT_FROM", "has no attribute 'BUILT_FROM'"),
    "no setup": ("del built.setup", "has no attribute 'setup'"),
    "no twins": ("del built.twin", "has no attribute 'twin'"),
    "a setup that fails": ("built.setup = lambda **parts: 1 / 0", "ZeroDivisionError"),
    "a part less": (
        "built.setup = lambda calm, **parts: real.setup(**parts)",
        "setup() needs calm",
    ),
    "a part more": (
        "built.setup = lambda **parts: real.setup(**parts, more=1)",
        "parts, not ",
    ),
    "a constant less": (
        "built.setup = lambda **p: real.setup(**{**p, 'constants': {}})",
        "setup() needs the number KEPT, not None",
    ),
    "another slot": (
        "built.setup = lambda **p: real.setup(**{**p, 'leaf': types.SimpleNamespace})",
        "tensor",
    ),
}


def run(code, *options):
    """What a fresh interpreter prints, and what it says on the side."""
    call = [sys.executable, *options, "-c", code, native.__file__]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return done.stdout.strip(), done.stderr


@pytest.mark.parametrize("name", WRONG)
def test_the_package_warns_once_and_works_without_it(name):
    change, reason = WRONG[name]
    printed, said = run(PROGRAM.replace("{wrong}", change))
    assert printed == "[8.0, 16.0] 1"
    assert said.count("RuntimeWarning: Retrograd's hot path in C is not used, since") == 1
    assert reason in said
    assert "python setup.py build_ext --inplace" in said


def test_an_extension_that_is_not_there_is_no_reason_to_warn():
    code = (
        "import sys; sys.modules['retrograd.engine._native'] = None\n"
        "import retrograd; from retrograd.engine.native import native; print(native)"
    )
    assert run(code) == ("None", "")


def test_one_that_fits_is_used_without_a_word():
    code = "import retrograd; from retrograd.engine.native import native; print(native.BUILT_FROM)"
    printed, said = run(code, "-W", "error")
    assert f"{printed} ".startswith(f"{built_from()} ")  # without sources here, by version alone
    assert said == ""

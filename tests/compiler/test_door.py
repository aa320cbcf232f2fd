"""When a kernel computes, and that whatever it does not take is NumPy's."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import retrograd as rg
from retrograd.compiler import door
from retrograd.engine.registry import OPS
from retrograd.kernels.native import loops
from retrograd.kernels.native.threads import set_threads, threads

pytestmark = pytest.mark.skipif(not door.AVAILABLE, reason="kernels need llvmlite")

if door.AVAILABLE:
    from retrograd.compiler import kernels

in_c = pytest.mark.skipif(loops is None, reason="rows across dimensions are found in C")


def ran(function):
    """Which forwards and formulas ran as kernels, of those that ran."""
    return {call.name: call.kernel for call in rg.compiler.explain(function).calls}


def test_small_arrays_are_numpys():
    assert ran(lambda: rg.nn.functional.silu(rg.ones(100))) == {"silu": False}


def test_large_arrays_are_computed_by_kernels_forward_and_backward():
    x = rg.linspace(-3, 3, 5000, requires_grad=True)
    y = rg.nn.functional.silu(x)
    assert ran(lambda: y.backward(rg.ones(5000))) == {"silu, input": True}


def test_the_explanation_shows_the_program():
    text = str(rg.compiler.explain(lambda: rg.nn.functional.silu(rg.ones(5000))))
    assert "silu  float32[5000]  kernel: 6 calls of NumPy, 0.0 MB" in text
    assert "%6: float32 = multiply(%0, %5)" in text


def test_complex_numbers_and_decimals_are_computed_by_kernels():
    x = np.linspace(-3, 3, 5000)
    z = x + 1j * x[::-1] ** 2
    assert ran(lambda: OPS["exp"].forward(z)) == {"exp": True}
    np.testing.assert_allclose(OPS["exp"].forward(z), np.exp(z), rtol=1e-15)
    forward = OPS["round_decimals"].forward
    assert ran(lambda: forward(x, decimals=2)) == {"round_decimals": True}
    np.testing.assert_array_equal(forward(x, decimals=2), np.round(x, 2))


def test_the_explanation_says_why_not():
    text = str(rg.compiler.explain(lambda: rg.special.bessel_j1(rg.ones(5000))))
    assert "NumPy: there is no code for j1(float" in text


@in_c
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((64, 100), (100,)),
        ((64, 100), (64, 1)),
        ((64, 100), (1, 1)),
        ((64, 100), ()),
        ((100,), (64, 100)),
        ((4, 16, 100), (16, 1)),
        ((4, 1, 100), (64, 100)),
    ],
)
def test_rows_are_broadcast(first, second):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in (first, second))
    expected = np.where(x > 0, x, x * y)
    calls = rg.compiler.explain(lambda: OPS["prelu"].forward(x, y)).calls
    assert [call.kernel for call in calls] == [True]
    np.testing.assert_array_equal(OPS["prelu"].forward(x, y), expected)


@in_c
def test_one_number_in_all_of_a_row_is_written_to_all_of_it():
    x = np.broadcast_to(np.linspace(-3, 3, 64)[:, None], (64, 100))
    forward = OPS["exp"].forward
    assert ran(lambda: forward(x)) == {"exp": True}
    np.testing.assert_allclose(forward(x), forward.__wrapped__(x), rtol=1e-15)


@in_c
def test_columns_keep_their_order():
    x = np.asfortranarray(np.random.default_rng(0).standard_normal((64, 100)))
    calls = rg.compiler.explain(lambda: OPS["silu"].forward(x)).calls
    assert [call.kernel for call in calls] == [True]
    found = OPS["silu"].forward(x)
    assert found.flags.f_contiguous
    np.testing.assert_array_equal(found, OPS["silu"].forward(np.ascontiguousarray(x)))


@pytest.mark.parametrize("axes", [(0, 2, 3, 1), (3, 1, 0, 2), (2, 3, 0, 1), (0, 1, 3, 2)])
@pytest.mark.parametrize("name", ["silu", "prelu", "add", "lt"])
def test_results_lie_in_memory_as_numpys_do(axes, name):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((8, 130, 40, 36)).transpose(np.argsort(axes))
    others = [rng.standard_normal((x.shape[1], 1, 1))] if name != "silu" else []
    forward = OPS[name].forward
    found, expected = forward(x, *others), forward.__wrapped__(x, *others)
    assert found.strides == expected.strides
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@in_c
def test_a_large_channels_last_tensor_stays_so():
    x = rg.ones(2, 64, 64, 64).to(memory_format=rg.channels_last)
    for y in (x + x, x * rg.ones(1, 64, 1, 1), rg.nn.functional.silu(x), x < 1):
        assert y.is_contiguous(memory_format=rg.channels_last)


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[::-1]])
def test_elements_apart_are_numpys(part):
    x = np.linspace(-3, 3, 10000)[part]
    assert ran(lambda: OPS["silu"].forward(x)) == {"silu": False}
    np.testing.assert_allclose(OPS["silu"].forward(x), x / (1 + np.exp(-x)), rtol=1e-14)


def test_other_byte_orders_are_numpys():
    x = np.linspace(-3, 3, 5000).astype(">f8")
    assert ran(lambda: OPS["silu"].forward(x)) == {"silu": False}


def test_memory_that_may_not_be_written_is_read():
    x = np.linspace(-3, 3, 5000)
    x.flags.writeable = False
    assert ran(lambda: OPS["silu"].forward(x)) == {"silu": True}


def test_a_number_among_the_parameters_needs_no_other_kernel():
    x = np.linspace(-3, 3, 5000)
    op = OPS["softplus"]
    before = {*(op.forward.kernels or {}).values()}
    for beta in (0.3, 0.7, 1.1, 1.9):
        found = op.forward(x, beta=beta, threshold=20.0)
        np.testing.assert_allclose(found, np.logaddexp(beta * x, 0) / beta, rtol=1e-14)
    assert len({*op.forward.kernels.values()} - before) <= 1


def test_a_kernel_is_for_arrays_with_dimensions_or_without():
    def scaled(x, y):
        return x * 2 + y if y.ndim else x * 3 + y

    x = np.linspace(-3, 3, 5000)
    for y in (x, np.array(1.0)):
        found = kernels.kernel(scaled, (), (x, y))((x, y))
        np.testing.assert_allclose(found, scaled(x, y), rtol=1e-15)


@pytest.mark.parametrize("exponent", [2.5, 2.50001])
def test_a_number_that_decides_is_one_of_few(exponent):
    x = np.linspace(0.5, 3, 5000)
    kernel = ran(lambda: OPS["pow"].forward(x, exponent=exponent))["pow"]
    assert kernel is (exponent == 2.5)
    np.testing.assert_allclose(OPS["pow"].forward(x, exponent=exponent), x**exponent, rtol=1e-13)


@pytest.mark.parametrize("kind", [int, np.float64, np.float32, rg.tensor])
def test_numbers_that_are_one_of_many_are_not_kept(kind):
    x = np.linspace(0.5, 3, 5000)
    op = OPS["leaky_relu"]
    op.forward(x, negative_slope=0.5)
    before = len(op.forward.kernels)
    for k in range(300, 310):
        given = kind(k)
        np.testing.assert_array_equal(op.forward(x, negative_slope=given), x)
    assert len(op.forward.kernels) == before


def test_shapes_that_do_not_fit_raise_as_ever():
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(5000\) must match"):
        rg.ones(5000) * rg.ones(5001)


@pytest.mark.parametrize("size", [4095, 4096, 4097, 70000])
def test_both_sides_of_the_threshold_agree(size):
    x = np.linspace(-9, 9, size)
    found = OPS["mish"].forward(x)
    np.testing.assert_allclose(found, x * np.tanh(np.logaddexp(x, 0)), rtol=1e-14)


def test_the_bits_are_the_same_for_any_number_of_threads():
    x = np.random.default_rng(0).standard_normal(100_003).astype(np.float32)
    before, found = threads(), []
    try:
        for count in (1, 2, 3):
            set_threads(count)
            found.append(OPS["mish"].forward(x).tobytes())
    finally:
        set_threads(before)
    assert len({*found}) == 1


def test_the_bits_of_an_element_do_not_depend_on_its_place():
    x = np.random.default_rng(0).standard_normal(20_011).astype(np.float32)
    whole = OPS["mish"].forward(x)
    np.testing.assert_array_equal(OPS["mish"].forward(x[1:]), whole[1:])
    np.testing.assert_array_equal(OPS["mish"].forward(x[::-1].copy()), whole[::-1])


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
import importlib.util as util
find = util.find_spec
util.find_spec = lambda name, *rest: None if name == "llvmlite" else find(name, *rest)
import retrograd as rg
x = rg.linspace(-3, 3, 5000, dtype=rg.float64, requires_grad=True)
rg.nn.functional.silu(x).sum().backward()
print(rg.compiler.door.AVAILABLE, "llvmlite is not installed" in str(rg.compiler.explain(int)))
print(x.grad.sum().item())
"""
OFF = "import retrograd as rg; print(rg.compiler.door.AVAILABLE)"


def printed(code, **env):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", code]
    given = {**os.environ, **env}
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_without_llvmlite_numpy_computes():
    available, said, total = printed(WITHOUT)
    assert (available, said) == ("False", "True")
    assert abs(float(total) - 2500) < 30


def test_compiling_can_be_turned_off():
    assert printed(OFF, RETROGRAD_COMPILE="0") == ["False"]


def test_importing_and_small_arrays_load_no_compiler():
    code = "import sys, retrograd as rg; rg.ones(9).exp().tanh(); print(*sys.modules)"
    assert "llvmlite" not in printed(code)


def test_the_command_says_how_it_is_used():
    done = subprocess.run(
        [sys.executable, "-m", "retrograd.compiler"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("usage: python -m retrograd.compiler warm")


def test_a_kernel_that_cannot_be_built_is_numpys_with_a_warning(monkeypatch):
    def fail(*args):
        raise OSError("no")

    op, x = OPS["log_sigmoid"], np.linspace(-3, 3, 5000).astype(np.float32)
    monkeypatch.setattr(kernels, "address", fail)
    with pytest.warns(RuntimeWarning, match="could not be built: no. NumPy computes instead"):
        found = op.forward(x)
    np.testing.assert_allclose(found, -np.logaddexp(-x, np.float32(0)), rtol=1e-6)


@in_c
def test_a_kernel_in_c_checks_what_it_is_made_of():
    build = {"build": int, "targets": (-1,), "times": 1, "grain": 64, "ufunc": None}
    for types, places in [
        ((11, 11), (24,)),
        ((11, 99), (0,)),
        ((11,), (0,)),
        ((11,) * 18, (0,) * 17),
    ]:
        with pytest.raises(ValueError, match="no such operands"):
            loops.Kernel(types=types, places=places, **build)
    with pytest.raises(ValueError, match="has no loop for such operands"):
        loops.Kernel(types=(11, 0), places=(0,), **{**build, "ufunc": np.exp})
    kernel = loops.Kernel(types=(12, 12), places=(3,), **build)
    assert kernel([np.ones(5000)]) is None
    assert kernel([None] * 4) is None
    with pytest.raises(TypeError, match="'int' object is not iterable"):
        kernel(1)


@pytest.mark.parametrize("way", [pytest.param("loops", marks=in_c), "arrays"])
def test_a_door_with_too_many_kernels_forgets_those_that_were_not_used_lately(way, monkeypatch):
    made = []

    def new_kernel(function, names, operands, writes=False):
        made.append(operands)
        return None

    monkeypatch.setattr(door, "new_kernel", new_kernel)
    if way == "arrays":
        monkeypatch.setattr(door, "loops", None)
    door.change()
    try:
        opened, x = door.opened(lambda x, n, m: x, "many"), np.ones(5000)
        for n in range(1500):
            opened(x, n % 250, n // 250)
            opened(x, 7, 0)
    finally:
        monkeypatch.undo()
        door.change()
    assert len(opened.kernels) == 1024
    assert len(made) == 1500


@pytest.mark.parametrize(
    ("features", "available"),
    [
        ({"SSE2": True, "FMA3": True}, True),
        ({"SSE2": True, "FMA3": False}, False),
        ({"SSE2": False, "FMA3": False, "NEON": True}, True),  # as NumPy has it on ARM
    ],
)
def test_an_x86_without_fused_multiply_adds_has_no_kernels(features, available):
    code = f"""
from numpy._core._multiarray_umath import __cpu_features__
__cpu_features__.update({features})
import retrograd
from retrograd.compiler import door
print(door.AVAILABLE)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{available}\n"

"""The same seeds give PyTorch's numbers: equal where they are whole, else to rounding."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.kernels.native import twister
from retrograd.ops.random import streams

DATA = Path(__file__).parents[2] / "data"
sys.path.insert(0, str(DATA))

from random_cases import CASES  # noqa: E402 (from the folder of the data)

sys.path.remove(str(DATA))
STORED = np.load(DATA / "random.npz")


@pytest.mark.parametrize("case", STORED.files)
def test_a_seed_gives_the_numbers_that_it_gives_in_pytorch(case):
    name, seed = case.split("; ")
    expected = STORED[case]
    rg.manual_seed(int(seed))
    found = CASES[name](rg).detach().numpy()
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    if np.array_equal(expected, np.round(expected)):
        assert np.array_equal(found, expected)
    else:
        bound = 1e-14 if "64 bits" in name else 2e-6
        assert np.allclose(found, expected, bound, bound)


def test_a_state_of_pytorch_is_gone_on_from():
    """The state was stored after `randn(5)`, which keeps a number, and 700 words."""
    rg.manual_seed(42)
    rg.randn(5)
    rg.rand(700)
    expected = rg.randn(9), rg.randperm(5)
    generator = rg.Generator()
    generator.set_state(rg.tensor(STORED["the state; 42"]))
    assert generator.initial_seed() == 42
    assert rg.equal(rg.randn(9, generator=generator), expected[0])
    assert rg.equal(rg.randperm(5, generator=generator), expected[1])


@pytest.mark.parametrize("algorithm", ["mt19937", "pcg64"])
def test_a_generator_that_was_copied_or_pickled_goes_on_in_the_same_way(algorithm):
    generator = rg.Generator(algorithm=algorithm).manual_seed(5)
    rg.randn(3, generator=generator)
    others = (
        copy.deepcopy(generator),
        pickle.loads(pickle.dumps(generator)),
        generator.clone_state(),
    )
    expected = rg.randn(4, generator=generator)
    for other in others:
        assert rg.equal(rg.randn(4, generator=other), expected)


def test_an_algorithm_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match=r"one of mt19937, pcg64, but got 'xorshift'"):
        rg.Generator(algorithm="xorshift")


def test_a_broken_state_is_refused_and_changes_nothing():
    generator = rg.Generator().manual_seed(1)
    state = generator.get_state()
    broken = state.clone()
    broken[8:24] = 255
    for each in (broken, rg.zeros_like(state), state.flip(0)):
        with pytest.raises(RuntimeError, match="state of a generator is broken"):
            generator.set_state(each)
        assert rg.equal(generator.get_state(), state)


def test_draws_by_arrays_give_the_numbers_that_loops_give(monkeypatch):
    def drawn():
        rg.manual_seed(2)
        shape, double = (300, 400), {"dtype": rg.float64}
        uniform, masks = rg.rand(shape), rg.zeros(shape).bernoulli_(0.3)
        normal = [rg.randn(n, **double) for n in (3, 4, 0, 1, 15, 2)]
        normal += [rg.empty(2, 5001, **double)[:, :5000].normal_(), rg.randn(5, 7)]
        return uniform, rg.rand(shape, **double), masks, *normal, rg.get_rng_state()

    by_loops = drawn()
    monkeypatch.setattr(twister, "loops", None)
    monkeypatch.setattr(streams, "loops", None)
    for one, other in zip(by_loops, drawn(), strict=True):
        assert rg.equal(one, other)


def test_seeding_and_restoring_makes_none_of_numpys_generators():
    program = (
        "import sys, retrograd as rg; from retrograd.utils.checkpoint import checkpoint; "
        "x = rg.randn(4, requires_grad=True, generator=rg.Generator().manual_seed(3)); "
        "y = checkpoint(lambda x: rg.nn.functional.dropout(x), x, use_reentrant=False); "
        "y.sum().backward(); rg.set_rng_state(rg.get_rng_state()); rg.poisson(x.detach().abs()); "
        "assert 'numpy.random' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (
            rg.float32,
            "0x1.d7b366p-3 -0x1.940ff6p-3 -0x1.62f17ep-4 0x1.adafc6p-3",
        ),
        (
            rg.float64,
            "-0x1.91d61f2f3dd14p-2 -0x1.f85103798c5d0p-3 -0x1.e68f6d46f8a66p-3 "
            "-0x1.2799f89a7ba12p-2",
        ),
    ],
)
def test_numbers_of_a_range_are_pytorch_s_to_the_last_bit(dtype, expected):
    rg.manual_seed(1)
    found = rg.empty(4, dtype=dtype).uniform_(-0.447, 0.447)
    assert found.tolist() == [float.fromhex(each) for each in expected.split()]


def test_the_weights_of_a_layer_are_pytorch_s_to_the_last_bit():
    rg.manual_seed(1)
    expected = ["0x1.751724p-2", "-0x1.3f978cp-2", "-0x1.18bdcep-3", "0x1.53dc02p-2"]
    assert rg.nn.Linear(2, 2).weight.flatten().tolist() == [*map(float.fromhex, expected)]


@pytest.mark.parametrize(("low", "high"), [(-1e308, 0.5e308), (1e-310, 3e-310), (2.0, 2.0)])
def test_numbers_of_extreme_ranges_lie_in_them(low, high):
    found = rg.empty(100, dtype=rg.float64).uniform_(low, high)
    assert bool(((found >= low) & (found <= high)).all())
    assert low == high or len(set(found.tolist())) == 100


@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (rg.rand, [[0.4963, 0.1320], [0.7682, 0.3074], [0.0885, 0.6341]]),
        (rg.randn, [[1.5410, 0.5684], [-0.2934, -1.0845], [-2.1788, -1.3986]]),
        (lambda shape, out: rg.randint(100, shape, out=out), [[44, 60], [39, 63], [33, 79]]),
        (
            lambda shape, out: rg.normal(rg.ones(shape), 2.0, out=out),
            [[4.0820, 2.1369], [0.4131, -1.1690], [-3.3576, -1.7972]],
        ),
        (
            lambda shape, out: rg.bernoulli(rg.full(shape, 0.3), out=out),
            [[0, 1], [0, 0], [1, 0]],
        ),
    ],
    ids=["rand", "randn", "randint", "normal", "bernoulli"],
)
def test_numbers_for_an_out_are_drawn_in_the_order_of_its_memory(draw, expected):
    """By PyTorch 2.13, from seed 0."""
    rg.manual_seed(0)
    out = rg.empty(2, 3).t()
    assert draw((3, 2), out=out) is out
    assert out.stride() == (1, 3)
    np.testing.assert_allclose(out, expected, atol=5e-5)


@pytest.mark.parametrize(
    ("draw", "fill"),
    [
        (rg.rand, rg.Tensor.uniform_),
        (rg.randn, rg.Tensor.normal_),
        (lambda shape, out: rg.normal(0.0, 1.0, shape, out=out), rg.Tensor.normal_),
        (lambda shape, out: rg.randint(7, shape, out=out), lambda t: t.random_(0, 7)),
        (lambda shape, out: rg.bernoulli(rg.full(shape, 0.3), out=out), None),
    ],
    ids=["rand", "randn", "normal", "randint", "bernoulli"],
)
@pytest.mark.parametrize(
    "order",
    [
        lambda: rg.empty(4, 20).t(),
        lambda: rg.empty(2, 3, 20).permute(2, 0, 1),
        lambda: rg.empty(4, 20)[:, ::2].t(),
        lambda: rg.empty(40, 4)[::2],
    ],
    ids=["transposed", "permuted", "strided", "gaps"],
)
def test_an_out_is_drawn_as_it_is_filled_in_place(draw, fill, order):
    rg.manual_seed(3)
    out = draw(order().shape, out=order())
    rg.manual_seed(3)
    filled = order().bernoulli_(rg.full(out.shape, 0.3)) if fill is None else fill(order())
    assert rg.equal(out, filled)

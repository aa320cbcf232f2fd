"""`quasirandom.SobolEngine`: PyTorch's points, continued, skipped and begun again."""

from __future__ import annotations

import pytest

import retrograd as rg

pytest.importorskip("scipy.stats")

SobolEngine = rg.quasirandom.SobolEngine
# What PyTorch 2.13 draws in three dimensions.
POINTS = [
    [0.0, 0.0, 0.0],
    [0.5, 0.5, 0.5],
    [0.75, 0.25, 0.25],
    [0.25, 0.75, 0.75],
    [0.375, 0.375, 0.625],
    [0.875, 0.875, 0.125],
]


def test_points_are_those_of_the_unscrambled_sequence():
    engine = SobolEngine(3)
    assert engine.draw(4).tolist() == POINTS[:4]
    assert engine.draw(2, dtype=rg.float64).tolist() == POINTS[4:]
    assert engine.num_generated == 6


def test_points_are_left_out_and_begun_again():
    engine = SobolEngine(3)
    assert engine.fast_forward(3).draw(2).tolist() == POINTS[3:5]
    assert engine.reset().draw(1).tolist() == POINTS[:1]


@pytest.mark.parametrize("n", [1, 3])
def test_points_are_written_into_out(n):
    out = rg.empty(0)
    assert SobolEngine(3).draw(n, out=out) is out
    assert out.tolist() == POINTS[:n]


def test_the_dtype_is_the_default_unless_it_is_said():
    assert SobolEngine(1).draw().dtype == rg.float32
    assert SobolEngine(1).draw(dtype=rg.float64).dtype == rg.float64


def test_a_seed_determines_the_scrambling():
    one, same, other = (SobolEngine(2, scramble=True, seed=seed).draw(8) for seed in (3, 3, 4))
    assert one.equal(same)
    assert not one.equal(other)
    assert ((one >= 0) & (one < 1)).all()


def test_scrambled_points_begin_again_too():
    engine = SobolEngine(2, scramble=True, seed=3)
    first = engine.draw(5)
    assert engine.reset().draw(5).equal(first)


def test_powers_of_two_keep_the_balance_and_others_are_refused():
    engine = SobolEngine(3)
    assert engine.draw_base2(1).tolist() == POINTS[:2]
    assert engine.draw_base2(1).tolist() == POINTS[2:4]
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(1)


@pytest.mark.parametrize("dimension", [0, 21202])
def test_other_dimensions_are_refused(dimension):
    with pytest.raises(ValueError, match="Supported range of dimensionality"):
        SobolEngine(dimension)


def test_an_engine_shows_how_it_was_made():
    assert repr(SobolEngine(3)) == "SobolEngine(dimension=3)"
    assert repr(SobolEngine(2, True, 5)) == "SobolEngine(dimension=2, scramble=True, seed=5)"


def test_scrambled_points_are_pytorch_s():
    assert SobolEngine(3, scramble=True, seed=7).draw(2).tolist() == [
        [0.19947312772274017, 0.17093220353126526, 0.7493569254875183],
        [0.6922082901000977, 0.7114949226379395, 0.48982980847358704],
    ]
    rg.manual_seed(3)
    found = SobolEngine(2, scramble=True).draw(1)
    assert found[0].tolist() == pytest.approx([0.0685, 0.2245], abs=1e-4)

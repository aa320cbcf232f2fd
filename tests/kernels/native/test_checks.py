"""Loops in C that look through arrays, and what they refuse."""

import numpy as np
import pytest

from retrograd.kernels.native import loops

pytestmark = pytest.mark.skipif(loops is None, reason="the loops in C were not built")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 200_001])
def test_all_numbers_are_finite_but_infinities_and_nan(count, dtype):
    x = np.full(count, np.finfo(dtype).max, dtype)
    assert loops.is_finite(x)
    for number in (np.inf, -np.inf, np.nan):
        for place in {0, count // 2, count - 1} if count else ():
            y = x.copy()
            y[place] = number
            assert not loops.is_finite(y)


@pytest.mark.parametrize("x", [np.ones(3, np.int64), np.ones(6)[::2], [1.0]], ids=str)
def test_other_arrays_are_refused(x):
    with pytest.raises(ValueError, match="do not fit together"):
        loops.is_finite(x)


def test_kernels_of_rows_without_code_or_with_other_operands_are_refused():
    table = np.zeros(4, np.int64)
    for address, numbers, arrays in ((0, table, []), (1, table.astype(float), []), (1, table, [3])):
        with pytest.raises(ValueError, match="do not fit together"):
            loops.run_rows(address, numbers, arrays, 1, 1)


def test_attention_refuses_arrays_of_other_shapes():
    packed, out, stats = np.ones((2, 9, 4)), np.ones((2, 3, 4)), np.ones((2, 3, 2))
    states, bias = np.ones((2, 1, 625), np.uint32), np.ones((1, 3, 3))

    def run(rows=3, keep=0.5, bias=bias, states=states, out=out):
        return loops.attention(rows, 1.0, False, keep, packed, bias, states, out, stats, None, None)

    assert run()
    for wrong in (out[:1], np.ones((2, 3, 5)), out.astype(np.float32), out[..., ::-1]):
        with pytest.raises(ValueError, match="do not fit together"):
            run(out=wrong)
    for wrong in (states[:1], states[..., ::-1], states.astype(np.int64), 3):
        with pytest.raises(ValueError, match="do not fit together"):
            run(states=wrong)
    for rows, keep in ((4, 0.5), (3, 1.5), (3, np.nan)):
        with pytest.raises(ValueError, match="do not fit together"):
            run(rows=rows, keep=keep)
    for wrong in (bias[0], bias.T, bias[..., :1], bias[:, :2], bias.astype(np.float32)):
        assert not run(bias=wrong)


def test_states_of_the_twister_are_625_numbers_each():
    states, words = np.ones((3, 625), np.uint32), np.ones(4, np.uint32)
    loops.draw_words(states[0], words, 0)
    loops.pass_words(states, np.array([3, 4]))
    for wrong in (states, states[0, :624], states[0].astype(np.int64), states[::2, :625][0, ::-1]):
        with pytest.raises(ValueError, match="do not fit together"):
            loops.draw_words(wrong, words, 0)
    for counts in (np.array([3, 4, 5]), np.array([3.0, 4.0])):
        with pytest.raises(ValueError, match="do not fit together"):
            loops.pass_words(states, counts)

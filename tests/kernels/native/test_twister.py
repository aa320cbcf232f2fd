"""The twister over arrays, and by the loops in C, gives NumPy's words."""

from __future__ import annotations

import numpy as np
import pytest

from retrograd.kernels.native import loops, twister

BEFORE = [0, 1, 227, 623, 624, 625, 2000]


def drawn(before):
    """A generator that has drawn so many words, and its state."""
    bits = np.random.MT19937(3)
    numbers = np.random.Generator(bits)
    numbers.integers(0, 1 << 32, before, np.uint32)
    state = bits.state["state"]
    return numbers, np.append(state["key"], np.uint32(state["pos"]))


def pairs(numbers, count):
    return numbers.integers(0, 1 << 32, (count, 2), np.uint32)


@pytest.mark.parametrize("share", [0.0, 0.3, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("before", BEFORE)
def test_masks_are_pairs_of_words_below_a_share_of_2_to_the_53(before, share):
    numbers, state = drawn(before)
    both = [twister.kept(np.stack([state] * 3)[:, None], 700, share)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twister, "loops", None)
        both.append(twister.kept(np.stack([state] * 3)[:, None], 700, share))
    words = pairs(numbers, 700).astype(np.uint64)
    expected = ((words[:, 0] & 0x1FFFFF) << 32 | words[:, 1]) < share * 2.0**53
    for found in both:
        np.testing.assert_array_equal(found, np.broadcast_to(expected, (3, 1, 700)))


@pytest.mark.skipif(loops is None, reason="the loops in C are not built")
@pytest.mark.parametrize("before", BEFORE)
def test_states_go_on_by_the_words_that_are_drawn_or_passed(before):
    numbers, state = drawn(before)
    start, later = twister.passed(state, np.array([1000, 3]))
    np.testing.assert_array_equal(start[:624], drawn(before)[1][:624])
    expected = numbers.integers(0, 1 << 32, 1000 + 3 + 1300, np.uint32)
    np.testing.assert_array_equal(twister.words(later, 3 + 1300), expected[1000:])
    np.testing.assert_array_equal(twister.words(state, 1300), expected[1003:])
    np.testing.assert_array_equal(state, later)


@pytest.mark.skipif(loops is None, reason="the loops in C are not built")
@pytest.mark.parametrize("before", [0, 1, 623])
def test_few_numbers_are_those_of_the_words(before):
    expected = pairs(drawn(before)[0], 400).astype(np.uint64)
    longs = (expected[:, 0] & 0x1FFFFF) << 32 | expected[:, 1]

    def found(kind, count, share=0.0):
        return twister.few(drawn(before)[0].bit_generator, kind, count, share)

    np.testing.assert_array_equal(found(np.uint32, 800), expected.ravel())
    singles = (expected.ravel() & 0xFFFFFF) * 2.0**-24
    np.testing.assert_array_equal(found(np.float32, 800), singles.astype(np.float32))
    np.testing.assert_array_equal(found(np.float64, 400), longs * 2.0**-53)
    np.testing.assert_array_equal(found(np.bool_, (20, 20), 0.3).ravel(), longs * 2.0**-53 < 0.3)

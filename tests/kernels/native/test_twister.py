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
    both = [twister.keep_masks(np.stack([state] * 3)[:, None], 700, share)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twister, "loops", None)
        both.append(twister.keep_masks(np.stack([state] * 3)[:, None], 700, share))
    words = pairs(numbers, 700).astype(np.uint64)
    expected = ((words[:, 0] & 0x1FFFFF) << 32 | words[:, 1]) < share * 2.0**53
    for found in both:
        np.testing.assert_array_equal(found, np.broadcast_to(expected, (3, 1, 700)))


@pytest.mark.skipif(loops is None, reason="the loops in C are not built")
@pytest.mark.parametrize("before", BEFORE)
def test_states_go_on_by_the_words_that_are_drawn_or_passed(before):
    numbers, state = drawn(before)
    start, later = twister.states_ahead(state, np.array([1000, 3]))
    np.testing.assert_array_equal(start[:624], drawn(before)[1][:624])
    expected = numbers.integers(0, 1 << 32, 1000 + 3 + 1300, np.uint32)
    np.testing.assert_array_equal(twister.drawn(later, np.uint32, 3 + 1300), expected[1000:])
    np.testing.assert_array_equal(twister.drawn(state, np.uint32, 1300), expected[1003:])
    np.testing.assert_array_equal(state, later)


@pytest.fixture(params=["arrays", "loops"])
def way(request, monkeypatch):
    """Both ways to draw, if both are there."""
    if request.param == "arrays":
        monkeypatch.setattr(twister, "loops", None)


@pytest.mark.parametrize("before", BEFORE)
def test_all_kinds_of_numbers_are_made_of_the_words_in_order(way, before):
    expected = pairs(drawn(before)[0], 1000).astype(np.uint64)
    longs = (expected[:, 0] & 0x1FFFFF) << 32 | expected[:, 1]
    singles = ((expected.ravel() & 0xFFFFFF) * 2.0**-24).astype(np.float32)
    state = drawn(before)[1]

    def check(kind, shape, numbers, share=0.0):
        own = state.copy()
        found = twister.drawn(own, kind, shape, share)
        assert found.shape == shape
        assert found.dtype == kind
        np.testing.assert_array_equal(found.ravel(), numbers)
        words = found.size * (1 if kind in (np.uint32, np.float32) else 2)
        np.testing.assert_array_equal(own, drawn(before + words)[1])

    check(np.uint32, (2000,), expected.ravel())
    check(np.float32, (40, 50), singles)
    check(np.float64, (1000,), longs * 2.0**-53)
    check(np.bool_, (20, 50), longs * 2.0**-53 < 0.3, 0.3)
    check(np.float32, (0, 3), singles[:0])


@pytest.mark.parametrize("count", [0, 1, 2, 512, 513, 1300])
def test_an_order_takes_at_each_place_one_of_the_integers_left_by_the_next_word(way, count):
    numbers, state = drawn(0)
    words = numbers.integers(0, 1 << 32, max(count - 1, 0), np.uint32).tolist()
    expected = list(range(count))
    for place, word in enumerate(words):
        other = place + word % (count - place)
        expected[place], expected[other] = expected[other], expected[place]
    found = twister.permuted(state, count)
    assert found.dtype == np.int64
    assert found.tolist() == expected
    np.testing.assert_array_equal(
        twister.drawn(state, np.uint32, 3), numbers.integers(0, 1 << 32, 3, np.uint32)
    )


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1, 2**32 + 5, 2**64 - 1])
def test_seeds_begin_numpys_legacy_stream_of_their_lower_32_bits(way, seed):
    key, position = np.random.RandomState(seed % 2**32).get_state()[1:3]
    np.testing.assert_array_equal(twister.seeded(seed), [*key, position])

"""The Mersenne Twister over arrays: words, and masks drawn from them, from given states on.

A state is 625 numbers in uint32: the twister's 624 words, and which of them is next. The loops in
C, NOTE [Twister] in `twister.c`, are several times as quick as NumPy's.
Source: M. Matsumoto, T. Nishimura (1998).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..allocation import table
from . import loops

WORDS, AHEAD = 624, 397
BACK = WORDS - AHEAD


def seeded(seed: int) -> Any:
    """The state before the first word, of the lower 32 bits of a seed."""
    if loops is not None:
        return loops.seed_words(seed)
    state = np.empty(WORDS + 1, np.uint32)
    word = seed & 0xFFFFFFFF
    for i in range(WORDS):
        state[i] = word
        word = (1812433253 * (word ^ word >> 30) + i + 1) & 0xFFFFFFFF
    state[WORDS] = WORDS
    return state


def drawn(state: Any, kind: Any, shape: Any, share: float = 0.0) -> Any:
    """What the next words give; the state goes on.

    Words as uint32, numbers from 0 to 1 as float32 or, of two words each, as float64, or a mask,
    true with probability `share`.
    """
    out = np.empty(shape, kind)
    if loops is not None:
        loops.draw_words(state, out, below_share(share))
        return out
    if kind in (np.uint32, np.float32):
        words = next_words(state, out.size).reshape(out.shape)
        return words if kind is np.uint32 else (words & 0xFFFFFF).astype(kind) * kind(2**-24)
    pairs = next_words(state, 2 * out.size).reshape(*out.shape, 2)
    if kind is np.bool_:
        return pairs_below(pairs, share)
    return ((pairs[..., 0] & 0x1FFFFF) * 2.0**32 + pairs[..., 1]) * 2.0**-53


def permuted(state: Any, count: int) -> Any:
    """The integers below `count`: each place takes one of those left; the state goes on."""
    if loops is not None:
        order = np.arange(count, dtype=np.int64)
        loops.draw_order(state, order)
        return order
    numbers = list(range(count))
    left = np.arange(count, 1, -1, dtype=np.uint32)
    for place, ahead in enumerate((next_words(state, len(left)) % left).tolist()):
        other = place + ahead
        numbers[place], numbers[other] = numbers[other], numbers[place]
    return np.array(numbers, np.int64)


def next_words(state: Any, count: int) -> Any:
    """The next words, by arrays."""
    blocks, position = [state[:WORDS].copy()], int(state[WORDS])
    while position + count > WORDS * len(blocks):
        blocks.append(next_state(blocks[-1]))
    found = outputs_of(np.concatenate(blocks)[position : position + count])
    state[:WORDS], state[WORDS] = blocks[-1], position + count - WORDS * (len(blocks) - 1)
    return found


def below_share(share: float) -> int:
    """Which numbers of 53 bits are below a share of all of them."""
    return math.ceil(share * 2**53)


def states_ahead(state: Any, counts: Any) -> Any:
    """The states before each of the stretches of so many words; the state goes past all of them."""
    states = np.empty((len(counts) + 1, WORDS + 1), np.uint32)
    states[0] = state
    loops.pass_words(states, counts)
    state[...] = states[-1]
    return states[:-1]


def pairs_below(pairs: Any, share: float) -> Any:
    """Where pairs of words, along the last axis, are below a share of all of them."""
    upper, most = pairs[..., 0] & np.uint32(0x1FFFFF), below_share(share)
    first, second = np.uint32(most >> 32), most & 0xFFFFFFFF
    return (upper < first) | ((upper == first) & (pairs[..., 1] < second))


def keep_masks(states: Any, count: int, share: float) -> Any:
    """The dropout masks of `count` elements that follow each state: (..., 625) to (..., count)."""
    if loops is not None and states.__class__ is np.ndarray:
        own = states.reshape(-1, WORDS + 1).astype(np.uint32, "C")
        made = [drawn(state, np.bool_, count, share) for state in own]
        return np.reshape(made, (*states.shape[:-1], count)).astype(np.bool_, copy=False)
    blocks = [states[..., :WORDS]]
    for _ in range(-(-2 * count // WORDS)):
        blocks.append(next_state(blocks[-1]))
    places = np.minimum(states[..., WORDS:], WORDS) + table(states, np.arange(2 * count))
    found = np.take_along_axis(np.concatenate(blocks, -1), places.astype(np.int64), -1)
    return pairs_below(outputs_of(found).reshape(*states.shape[:-1], count, 2), share)


def next_state(block: Any) -> Any:
    """The 624 words after those along the last axis."""
    y = block & 0x80000000
    y[..., :-1] |= block[..., 1:] & 0x7FFFFFFF
    first = block[..., AHEAD:] ^ times_matrix(y[..., :BACK])
    second = first ^ times_matrix(y[..., BACK : 2 * BACK])
    y[..., -1:] |= first[..., :1] & 0x7FFFFFFF
    third = second[..., : WORDS - 2 * BACK] ^ times_matrix(y[..., 2 * BACK :])
    return np.concatenate((first, second, third), -1)


def times_matrix(y: Any) -> Any:
    """The product of words with the twister's matrix."""
    return (y >> 1) ^ (y & 1) * 0x9908B0DF


def outputs_of(y: Any) -> Any:
    """Words as they are drawn: the state's words, their bits mixed."""
    y = y ^ (y >> 11)
    y = y ^ ((y << 7) & 0x9D2C5680)
    y = y ^ ((y << 15) & 0xEFC60000)
    return y ^ (y >> 18)

"""Random numbers by rejection, one after the other: gamma, Poisson, binomial.

A number takes as many uniform and normal numbers as it needs, so the order of the draws is part of
what is drawn: it is that of PyTorch. NOTE [Rejection] in `rejection.c` has the same functions in C.
Sources: G. Marsaglia, W. W. Tsang (2000) for gamma numbers; W. Hörmann (1993) for Poisson and
binomial ones of many trials, products of uniform and sums of geometric numbers for those of few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import loops

Draw = Callable[[], float]
LEAST = math.ulp(0.0)
THIRD = float(np.float32(1 / 3))  # as PyTorch has it


def drawn(name: str, uniform: Draw, normal: Draw, *parameters: Any) -> Any:
    """Numbers of the distribution `name` for each of the parameters, arrays of one shape."""
    draw = NUMBERS[name]
    rows = zip(*[array.ravel().tolist() for array in parameters], strict=True)
    found = np.array([draw(uniform, normal, *row) for row in rows], np.float64)
    return found.reshape(parameters[0].shape)


def drawn_by_loops(state: Any, kept: Any, name: str, *parameters: Any) -> Any:
    """`drawn` by the loops in C, from a twister's state and the normal number kept; both go on."""
    arrays = [np.array(array, np.float64, order="C") for array in parameters]
    out = np.empty(arrays[0].shape)
    loops.draw_rejected(state, kept, name, arrays[0], arrays[-1], out)
    return out


def log_gamma(uniform: Draw, normal: Draw, a: float) -> float:
    """The logarithm of a gamma number of rate 1, which is far below zero for small `a`."""
    if not a > 0:
        return -math.inf if a == 0 else math.nan
    boost = 0.0
    if a < 1:
        boost = math.log1p(-uniform()) / a
        a += 1
    d = a - THIRD
    c = 1 / math.sqrt(9 * d)
    while True:
        x = normal()
        while 1 + c * x <= 0:
            x = normal()
        v, u = (1 + c * x) ** 3, 1 - uniform()
        if u < 1 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return boost + math.log(d * v)


def poisson(uniform: Draw, normal: Draw, rate: float) -> float:
    """A count of the Poisson distribution; no rate or an infinite one is its own count."""
    if not (rate > 0 and math.isfinite(rate)):
        return rate
    if rate < 10:
        least, product, count = math.exp(-rate), uniform(), 0
        while product > least:
            count += 1
            product *= uniform()
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a, inverse = -0.059 + 0.02483 * b, 1.1239 + 1.1328 / (b - 3.4)
    for u, v, within in tries(uniform):
        k = math.floor((2 * a / within + b) * u + rate + 0.43)
        if within >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (within < 0.013 and v > within):
            continue
        found = math.log(v) + math.log(inverse) - math.log(a / (within * within) + b)
        if found <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k
    raise AssertionError("the tries have no end")


def binomial(uniform: Draw, normal: Draw, count: float, p: float) -> float:
    """How many of `count` trials succeed; NaN of NaN."""
    if math.isnan(count) or math.isnan(p):
        return math.nan
    if count <= 0 or p <= 0:
        return 0
    if p >= 1:
        return count
    if p > 0.5:
        return count - binomial(uniform, normal, count, 1 - p)
    if count * p < 10:
        step, found = math.log1p(-p), 0
        passed = ceiling(uniform(), step)
        while passed <= count:
            found += 1
            passed += ceiling(uniform(), step)
        return found
    return many_trials(uniform, count, p)


def many_trials(uniform: Draw, count: float, p: float) -> float:
    """The number of successes where 10 and more are expected, and `p` is at most 1/2."""
    spread = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a, alpha = -0.0873 + 0.0248 * b + 0.01 * p, (2.83 + 5.1 / b) * spread
    odds, mode = p / (1 - p), math.floor((count + 1) * p)
    for u, v, within in tries(uniform):
        k = math.floor((2 * a / within + b) * u + count * p + 0.5)
        if k < 0 or k > count:
            continue
        if within >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        most = (
            (mode + 0.5) * math.log((mode + 1) / (odds * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + (stirling_rest(mode) + stirling_rest(count - mode))
            - (stirling_rest(k) + stirling_rest(count - k))
        )
        if math.log(v * alpha / (a / (within * within) + b)) <= most:
            return k
    raise AssertionError("the tries have no end")


def tries(uniform: Draw) -> Iterator[tuple[float, float, float]]:
    """Points to take or to reject: a place from -1/2 to 1/2, a height, the way to the border."""
    while True:
        u, v = uniform() - 0.5, uniform()
        if within := 0.5 - abs(u):
            yield u, v or LEAST, within


def ceiling(u: float, step: float) -> float:
    """How many trials the next success takes, whose logarithm of failing is `step`."""
    return math.ceil(math.log(u) / step) if u > 0 else math.inf


def stirling_rest(k: float) -> float:
    """What Stirling's formula leaves of log(k!)."""
    if k < 10:
        return (
            math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + k + 1 - 0.5 * math.log(2 * math.pi)
        )
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


NUMBERS: dict[str, Any] = {"log_gamma": log_gamma, "poisson": poisson, "binomial": binomial}

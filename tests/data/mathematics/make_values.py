"""Writes values.json: what functions are, to twice float64's precision. It needs mpmath.

python tests/data/mathematics/make_values.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import mpmath as mp

mp.mp.prec = 1400
POINTS = 50


def cbrt(x):
    return mp.cbrt(x) if x >= 0 else -mp.cbrt(-x)


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def erfcx(x):
    return mp.erfc(x) * mp.exp(x * x)


def erfinv(y):
    """By Newton's method from where float64 has it: mpmath's own is slow."""
    with mp.workprec(300):
        x = mp.erfinv(mp.mpf(float(y)))
        return x - (mp.erf(x) - y) * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)


# the function, and the intervals that points are drawn from; "log" draws their logarithms
WANTED = {
    "exp": (mp.exp, [(-745, 709.7), (-1, 1)]),
    "exp2": (lambda x: mp.mpf(2) ** x, [(-1074, 1023.9), (-1, 1)]),
    "expm1": (mp.expm1, [(-40, 709.7), (-1, 1), (-1e-8, 1e-8)]),
    "tanh": (mp.tanh, [(-20, 20), (-1, 1), (-1e-8, 1e-8)]),
    "sinh": (mp.sinh, [(-710.4, 710.4), (-3, 3), (-1e-8, 1e-8)]),
    "cosh": (mp.cosh, [(-710.4, 710.4), (-3, 3)]),
    "log": (mp.log, [("log", 5e-324, 1.7e308), (0.5, 2), (0.999, 1.001)]),
    "log2": (lambda x: mp.log(x, 2), [("log", 5e-324, 1.7e308), (0.5, 2), (0.999, 1.001)]),
    "log10": (lambda x: mp.log(x, 10), [("log", 5e-324, 1.7e308), (0.5, 2), (0.999, 1.001)]),
    "log1p": (mp.log1p, [("log", 1e-300, 1.7e308), (-0.9999999, 3), (-1e-8, 1e-8)]),
    "sin": (mp.sin, [(-10, 10), (-1e6, 1e6), ("log", 1e-8, 1.7e308), "right angles"]),
    "cos": (mp.cos, [(-10, 10), (-1e6, 1e6), ("log", 1e-8, 1.7e308), "right angles"]),
    "tan": (mp.tan, [(-10, 10), (-1e6, 1e6), ("log", 1e-8, 1.7e308), "right angles"]),
    "arcsin": (mp.asin, [(-1, 1), (0.999, 1), (-1e-8, 1e-8)]),
    "arccos": (mp.acos, [(-1, 1), (0.999, 1), (-1, -0.999), (-1e-8, 1e-8)]),
    "arctan": (mp.atan, [(-10, 10), ("log", 1e-300, 1e300)]),
    "arcsinh": (mp.asinh, [(-10, 10), (-0.1, 0.1), ("log", 1e-300, 1.7e308)]),
    "arccosh": (mp.acosh, [(1, 10), (1, 1.001), ("log", 1, 1.7e308)]),
    "arctanh": (mp.atanh, [(-1, 1), (-0.1, 0.1), (0.999, 1), ("log", 1e-300, 0.9)]),
    "cbrt": (cbrt, [(-10, 10), ("log", 5e-324, 1.7e308)]),
    "erf": (mp.erf, [(-6, 6), (-1, 1), ("log", 1e-300, 1)]),
    "erfc": (mp.erfc, [(-6, 26.5), (-1, 1)]),
    "erfcx": (erfcx, [(-26, 100), (-1, 1), ("log", 1, 1e60)]),
    "erfinv": (erfinv, [(-1, 1), (0.999, 1), ("log", 1e-300, 1)]),
    "gammaln": (mp.loggamma, [(0, 10), (0.99, 1.01), (1.99, 2.01), ("log", 1e-300, 1e300)]),
    "psi": (mp.digamma, [(0, 10), (1.4, 1.5), ("log", 1e-300, 1e300)]),
    "ndtr": (ndtr, [(-37.5, 9), (-1, 1)]),
}
PAIRS = {
    "power": (mp.power, [(("log", 1e-5, 1e5), (-60, 60)), ((0.9, 1.1), (-6000, 6000))]),
    "hypot": (mp.hypot, [((-10, 10), (-10, 10)), (("log", 1e-300, 1e300), (-1, 1))]),
    "arctan2": (mp.atan2, [((-10, 10), (-10, 10)), (("log", 1e-200, 1e200), (-1, 1))]),
}


def drawn(interval, rng):
    if interval == "right angles":
        return float(mp.pi / 2 * rng.randint(-600000, 600000))
    if interval[0] == "log":
        low, high = (mp.log(x) for x in interval[1:])
        return float(mp.exp(low + (high - low) * rng.random()))
    return rng.uniform(*interval)


def exact(value):
    """A number as the sum of two floats."""
    high = float(value)
    return [high.hex(), float(value - high).hex()]


def main():
    rng = random.Random(0)
    found = {}
    for name, (function, intervals) in WANTED.items():
        rows = []
        for interval in intervals:
            for _ in range(POINTS):
                x = drawn(interval, rng)
                rows.append([[x.hex()], exact(function(mp.mpf(x)))])
        found[name] = rows
    for name, (function, intervals) in PAIRS.items():
        rows = []
        for first, second in intervals:
            for _ in range(POINTS):
                x, y = drawn(first, rng), drawn(second, rng)
                rows.append([[x.hex(), y.hex()], exact(function(mp.mpf(x), mp.mpf(y)))])
        found[name] = rows
    lines = [f'"{name}": {json.dumps(rows)}' for name, rows in found.items()]
    Path(__file__).with_name("values.json").write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()

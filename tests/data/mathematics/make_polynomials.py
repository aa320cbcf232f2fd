"""Writes `src/retrograd/compiler/mathematics/polynomials.py`. It needs mpmath.

python tests/data/mathematics/make_polynomials.py

Each polynomial is the best in the sense of Chebyshev (Remez' exchange on a fine grid) for the error
of the function it is part of, relative to `size`. Its coefficients are rounded one by one from the
lowest, and those that are left fitted anew, so that rounding costs next to nothing. Of a quotient,
the denominator is rounded first, and the numerator fitted to what it is then.
"""

from __future__ import annotations

import struct
import textwrap
from pathlib import Path

import mpmath as mp

mp.mp.prec = 420
TARGET = Path(__file__).parents[3] / "src/retrograd/compiler/mathematics/polynomials.py"
GRID = 360


def rounded(number, single):
    """The nearest float of a precision."""
    return struct.unpack("f", struct.pack("f", float(number)))[0] if single else float(number)


def highest(errors, count):
    """Where errors of alternating sign are largest, as many as are needed; and the largest."""
    peaks = []
    for i, e in enumerate(errors):
        if peaks and (e > 0) == (errors[peaks[-1]] > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
    return peaks, max(map(abs, errors))


def evenly(count, last):
    """The indices to start an exchange with: the extrema of a Chebyshev polynomial."""
    return [round((1 - mp.cos(mp.pi * i / (count - 1))) / 2 * last) for i in range(count)]


def grid(low, high):
    """Points of an interval, more of them towards its ends."""
    low, high = mp.mpf(low), mp.mpf(high)
    return [low + (high - low) * (1 - mp.cos(mp.pi * i / GRID)) / 2 for i in range(GRID + 1)]


def remez(values, sizes, points, powers):
    """Coefficients of these powers with the least largest error, and that error."""
    count = len(powers) + 1
    rows = [[x**p / s for p in powers] for x, s in zip(points, sizes, strict=True)]
    right = [v / s for v, s in zip(values, sizes, strict=True)]
    chosen = evenly(count, len(points) - 1)
    for _ in range(30):
        system = mp.matrix([[*rows[j], (-1) ** i] for i, j in enumerate(chosen)])
        solved = mp.lu_solve(system, mp.matrix([right[j] for j in chosen]))
        errors = [
            r - mp.fsum(c * v for c, v in zip(solved, row, strict=False))
            for r, row in zip(right, rows, strict=True)
        ]
        peaks, worst = highest(errors, count)
        if len(peaks) < count or worst < abs(solved[count - 1]) * (1 + mp.mpf(2) ** -8):
            break
        chosen = peaks
    return list(solved)[: count - 1], worst


def fitted(function, low, high, count, single, size):
    """`count` coefficients, lowest first, of the precision; and the largest error in bits."""
    points = [x if x else (high - low) * mp.mpf(2) ** -60 for x in grid(low, high)]
    values = [function(x) for x in points]
    sizes = [abs(size(x)) for x in points]
    if low < 0 < high:  # powers from one on vanish inside: there is nothing to fit anew
        exact, _ = remez(values, sizes, points, range(count))
        found = [rounded(c, single) for c in exact]
    else:
        found = []
        for k in range(count):
            rest = [
                v - mp.fsum(c * x**i for i, c in enumerate(found))
                for x, v in zip(points, values, strict=True)
            ]
            left, _ = remez(rest, sizes, points, range(k, count))
            found.append(rounded(left[0], single))
    worst = max(
        abs(mp.fsum(c * x**i for i, c in enumerate(found)) - v) / s
        for x, v, s in zip(points, values, sizes, strict=True)
    )
    return found, float(mp.log(worst, 2))


def denominator(function, low, high, top, below):
    """The denominator, 1 first, of the quotient of two polynomials nearest to a function.

    Degrees are `top` and `below`, errors relative. The error, which alternates, is multiplied by
    the denominator in the equations: a few turns with the last one's make them linear.
    """
    points, count, error = grid(low, high), top + below + 2, mp.mpf(0)
    values = [function(x) for x in points]
    chosen, lower = evenly(count, len(points) - 1), [mp.mpf(1)] * len(points)
    for _ in range(30):
        for _ in range(8):
            rows, right = [], []
            for i, j in enumerate(chosen):
                x, bent = points[j], values[j] * (1 + (-1) ** i * error)
                upper = [x**k for k in range(top + 1)]
                more = -values[j] * lower[j] * (-1) ** i
                rows.append([*upper, *[-bent * x**k for k in range(1, below + 1)], more])
                right.append(bent)
            solved = list(mp.lu_solve(mp.matrix(rows), mp.matrix(right)))
            found = [mp.mpf(1), *solved[top + 1 : -1]]
            lower = [mp.polyval(found[::-1], x) for x in points]
            error += solved[-1]
        errors = [
            mp.polyval(solved[top::-1], x) / d / v - 1
            for x, d, v in zip(points, lower, values, strict=True)
        ]
        peaks, worst = highest(errors, count)
        if len(peaks) < count or worst < abs(error) * (1 + mp.mpf(2) ** -8):
            break
        chosen = peaks
    return found


HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.01")
ROOT = mp.sqrt(2)


def log_rest(f):
    return (mp.log1p(f) - f + f * f / 2) / f**3


def log_series(z):
    """log((1 + s) / (1 - s)) = 2 s + s z R(z), z = s^2."""
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) - 2 * s) / (s * z)


def erf_rest(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def sin_rest(z):
    r = mp.sqrt(z)
    return (mp.sin(r) - r) / (r * z)


def cos_rest(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def asin_rest(z):
    x = mp.sqrt(z)
    return (mp.asin(x) - x) / (x * z)


def atan_rest(z):
    x = mp.sqrt(z)
    return (mp.atan(x) - x) / (x * z)


def sinh_rest(z):
    x = mp.sqrt(z)
    return (mp.sinh(x) - x) / (x * z)


def erfcx(x):
    with mp.workprec(900):
        return mp.exp(x * x) * mp.erfc(x)


def erfcx_series(t):
    """erfcx(x) (x + 2) of t = 1 / (x + 2)."""
    return erfcx(1 / t - 2) / t


def erfcx_fraction(t):
    """erfcx(x) (1 + 2 x) of t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t) if t < 1 else mp.mpf(2) ** 100
    return erfcx(x) * (1 + 2 * x)


def log_pair(z):
    """log((1 + s) / (1 - s)) = 2 s + s z (2 / 3 + z Q(z)), z = s^2."""
    s = mp.sqrt(z)
    return ((2 * mp.atanh(s) - 2 * s) / (s * z) - mp.mpf(2) / 3) / z


def erfinv_ratio(w):
    """erfinv(x) / x of w = -log(1 - x^2)."""
    if w < mp.mpf(2) ** -100:
        return mp.sqrt(mp.pi) / 2
    with mp.workprec(500):
        x = mp.sqrt(-mp.expm1(-w))
        if w < 8:
            return mp.erfinv(x) / x
        lost = mp.exp(-w) / (1 + x)  # 1 - x: mpmath's erfinv cannot know it near 1
        found = mp.sqrt(w - mp.log(mp.sqrt(mp.pi * w)))
        for _ in range(9):  # Newton's method for log(erfc)
            value = mp.erfc(found)
            slope = -2 / mp.sqrt(mp.pi) * mp.exp(-found * found) / value
            found -= (mp.log(value) - mp.log(lost)) / slope
        return found / x


def lgamma_ratio(t):
    """log(gamma(2 + t)) / t."""
    with mp.workprec(900):
        return mp.loggamma(2 + t) / t


PSI_ROOT = mp.findroot(mp.digamma, mp.mpf("1.4616321449683623"))


def digamma_ratio(t):
    """digamma(r + t) / t of its positive root r."""
    with mp.workprec(900):
        return mp.digamma(mp.findroot(mp.digamma, PSI_ROOT) + t) / t


Z4 = (mp.pi / 4 * mp.mpf("1.02")) ** 2
T8 = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.005")
ONE = lambda x: mp.mpf(1)

# name: function, interval, coefficients of float32 and float64, size
WANTED = {
    "EXPM1": (lambda r: (mp.expm1(r) - r - r**2 / 2) / r**3, (-HALF_LN2, HALF_LN2), (4, 10),
              lambda r: mp.expm1(r) / r**3),
    "LOG": (log_rest, (1 / ROOT - 1 - mp.mpf("1e-6"), ROOT - 1 + mp.mpf("1e-6")), (9, 0),
            lambda f: mp.log1p(f) / f**3),
    "LOG_SERIES": (log_series, (0, (3 - 2 * ROOT) ** 2 * mp.mpf("1.0001")), (0, 7),
                   lambda z: 2 / z),
    "ERF": (erf_rest, (0, 1), (7, 13), lambda z: erf_rest(z) + 1),
    "LOG_ERFC": (lambda x: mp.log(mp.erfc(x)), (1, 4), (7, 0),
                 lambda x: mp.erf(x) / mp.erfc(x)),
    # of erf's tail from 1 to 6; weighed as erfc is in erf
    "ERF_TAIL": (erfcx_series, (mp.mpf(1) / 8, mp.mpf(1) / 3), (0, 12),
                 lambda t: erfcx_series(t) * mp.erf(1 / t - 2) / mp.erfc(1 / t - 2)),
    "ERFCX": (erfcx_fraction, (mp.mpf("-0.7778"), 1), (0, 25), erfcx_fraction),
    # in w - 2.5, and in sqrt(w) less 3, and less 5
    "ERFINV": (lambda v: erfinv_ratio(v + mp.mpf("2.5")), (mp.mpf("-2.5"), mp.mpf("2.5")), (0, 23),
               lambda v: erfinv_ratio(v + mp.mpf("2.5"))),
    "ERFINV_TAIL": (lambda v: erfinv_ratio((v + 3) ** 2), (mp.sqrt(5) - 3, mp.mpf(1)), (0, 24),
                    lambda v: erfinv_ratio((v + 3) ** 2)),
    "ERFINV_END": (lambda v: erfinv_ratio((v + 5) ** 2), (mp.mpf(-1), mp.mpf("1.1")), (0, 20),
                   lambda v: erfinv_ratio((v + 5) ** 2)),
    # of float32, less what the argument is multiplied by first
    "ERFINV_NEAR": (lambda w: erfinv_ratio(w) - 1, (0, 5), (10, 0), erfinv_ratio),
    "ERFINV_FAR": (lambda v: erfinv_ratio((v + 3) ** 2) - 2, (mp.sqrt(5) - 3, mp.mpf("1.001")),
                   (10, 0), lambda v: erfinv_ratio((v + 3) ** 2)),
    "LGAMMA": (lgamma_ratio, (mp.mpf("-0.5001"), mp.mpf("0.5001")), (0, 19), lgamma_ratio),
    "DIGAMMA": (digamma_ratio, (mp.mpf("-0.41"), mp.mpf("0.41")), (0, 21), digamma_ratio),
    "LOG_PAIR": (log_pair, (0, (3 - 2 * ROOT) ** 2 * mp.mpf("1.0001")), (0, 7),
                 lambda z: 2 / z**2),
    "CBRT": (mp.cbrt, (mp.mpf("0.35"), mp.mpf("2.83")), (5, 7), mp.cbrt),
    "SIN": (sin_rest, (0, Z4), (3, 6), lambda z: 1 / z),
    "COS": (cos_rest, (0, Z4), (3, 6), lambda z: 1 / z**2),
    "ASIN": (asin_rest, (0, mp.mpf("0.2501")), (5, 13), lambda z: 1 / z),
    "ATAN": (atan_rest, (0, T8), (5, 11), lambda z: 1 / z),
    "SINH": (sinh_rest, (0, 1), (4, 7), lambda z: 1 / z),
}  # fmt: skip
# name: function, interval, degrees of the numerator and the denominator; of float32
RATIOS = {"ERFCX": (erfcx, (0, mp.mpf("10.2")), (4, 5))}


def polynomials():
    """(name, coefficients, largest error in bits) of all."""
    for name, (function, (low, high), counts, size) in WANTED.items():
        for count, single in zip(counts, (True, False), strict=True):
            if count:
                found = fitted(function, low, high, count, single, size)
                yield (f"{name}_{32 if single else 64}", *found)
    for name, (function, (low, high), (top, below)) in RATIOS.items():
        lower = [rounded(c, True) for c in denominator(function, low, high, top, below)]

        def upper(x, function=function, lower=lower):
            return function(x) * mp.polyval(lower[::-1], x)

        found, bits = fitted(upper, low, high, top + 1, True, upper)
        yield f"{name}_ABOVE_32", found, bits
        yield f"{name}_BELOW_32", lower, bits


def paragraph(items):
    """The lines between two brackets."""
    lines = textwrap.wrap(", ".join(items) + ",", 92, break_on_hyphens=False)
    return [f"    {line}" for line in lines]


def text(made):
    """The file, for names, coefficients and errors."""
    lines = ['"""Coefficients, lowest power first; the file is made, see its maker below.\n']
    lines.append("`tests/data/mathematics/make_polynomials.py` says of what and how; `bits` is the")
    lines.append('largest relative error of what they are used in, as a power of 2.\n"""\n')
    lines.append("from __future__ import annotations\n")
    names = paragraph(f'"{name}"' for name in sorted(name for name, _, _ in made))
    lines += ["__all__ = [", *names, "]  # fmt: skip\n"]
    for name, found, bits in made:
        lines += [f"\n{name} = (  # {bits:.1f} bits", *paragraph(map(repr, found))]
        lines.append(")  # fmt: skip")
    return "\n".join(lines) + "\n"


def main():
    TARGET.write_text(text(list(polynomials())))


if __name__ == "__main__":
    main()

"""Complex functions and their derivatives by mpmath, at hard points: writes `complex.json`.

    python make_complex.py        # needs mpmath 1.3

For every function rows of six numbers: the parts of the point, of the value and of the derivative,
rounded from 60 digits beyond what cancels (the points reach from 1e-300 to 1e300). A part that is
-0.0 stands for a point just below the cut, or just left of it.
"""

import json
import math
from pathlib import Path

from mpmath import mp, mpc, mpf

mp.dps = 760  # 1 + 1e-300 squared, and 60 digits more
HERE = Path(__file__).parent
NEAREST = mpf("1e-5000")  # what a signed zero stands for
J = mpc(0, 1)


def sinc(z):
    return mp.sin(mp.pi * z) / (mp.pi * z)


def slope_of_sinc(z):
    u = mp.pi * z
    return mp.pi * (u * mp.cos(u) - mp.sin(u)) / (u * u)


def lower(function):
    """A function that costs too much at so many digits, with 100."""

    def call(z):
        with mp.workdps(100):
            return function(z)

    return call


def sigmoid(z):
    return 1 / (1 + mp.exp(-z))


ROOT, ROOT_2 = mp.sqrt(mp.pi), mp.sqrt(2)
FUNCTIONS = {  # value, derivative
    "exp": (mp.exp, mp.exp),
    "exp2": (lambda z: mp.exp(z * mp.ln2), lambda z: mp.ln2 * mp.exp(z * mp.ln2)),
    "expm1": (lambda z: mp.exp(z) - 1, mp.exp),
    "log": (mp.log, lambda z: 1 / z),
    "log2": (lambda z: mp.log(z) / mp.ln2, lambda z: 1 / z / mp.ln2),
    "log10": (lambda z: mp.log(z) / mp.ln10, lambda z: 1 / z / mp.ln10),
    "log1p": (lambda z: mp.log(1 + z), lambda z: 1 / (1 + z)),
    "sqrt": (mp.sqrt, lambda z: 1 / (2 * mp.sqrt(z))),
    "rsqrt": (lambda z: 1 / mp.sqrt(z), lambda z: -1 / (2 * z * mp.sqrt(z))),
    "reciprocal": (lambda z: 1 / z, lambda z: -1 / z / z),
    "square": (lambda z: z * z, lambda z: 2 * z),
    "sin": (mp.sin, mp.cos),
    "cos": (mp.cos, lambda z: -mp.sin(z)),
    "tan": (mp.tan, lambda z: 1 / mp.cos(z) ** 2),
    "sinh": (mp.sinh, mp.cosh),
    "cosh": (mp.cosh, mp.sinh),
    "tanh": (mp.tanh, lambda z: 1 / mp.cosh(z) ** 2),
    "asin": (mp.asin, lambda z: 1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z))),
    "acos": (mp.acos, lambda z: -1 / (mp.sqrt(1 - z) * mp.sqrt(1 + z))),
    "atan": (
        lambda z: (mp.log(1 + J * z) - mp.log(1 - J * z)) / (2 * J),
        lambda z: 1 / ((1 + J * z) * (1 - J * z)),
    ),
    "asinh": (
        lambda z: mp.asin(J * z) / J,
        lambda z: 1 / (mp.sqrt(1 + J * z) * mp.sqrt(1 - J * z)),
    ),
    "acosh": (
        lambda z: mp.log(z + mp.sqrt(z - 1) * mp.sqrt(z + 1)),
        lambda z: 1 / (mp.sqrt(z - 1) * mp.sqrt(z + 1)),
    ),
    "atanh": (lambda z: (mp.log(1 + z) - mp.log(1 - z)) / 2, lambda z: 1 / ((1 + z) * (1 - z))),
    "sinc": (sinc, slope_of_sinc),
    "sigmoid": (sigmoid, lambda z: sigmoid(z) * sigmoid(-z)),
    "logit": (lambda z: mp.log(z / (1 - z)), lambda z: 1 / (z * (1 - z))),
    "softplus": (lambda z: mp.log(1 + mp.exp(z)), sigmoid),
    "logsigmoid": (lambda z: -mp.log(1 + mp.exp(-z)), lambda z: sigmoid(-z)),
    "silu": (lambda z: z * sigmoid(z), lambda z: sigmoid(z) * (1 + z * sigmoid(-z))),
    "gelu": (
        lower(lambda z: z * mp.erfc(-z / ROOT_2) / 2),
        lower(lambda z: mp.erfc(-z / ROOT_2) / 2 + z * mp.exp(-z * z / 2) / (ROOT * ROOT_2)),
    ),
    "erf": (lower(mp.erf), lambda z: 2 / ROOT * mp.exp(-z * z)),
    "erfc": (lower(mp.erfc), lambda z: -2 / ROOT * mp.exp(-z * z)),
    "lgamma": (lower(mp.loggamma), lower(mp.digamma)),
    "digamma": (lower(mp.digamma), lower(lambda z: mp.polygamma(1, z))),
}

# -- points ---------------------------------------------------------------------------------------

DIRECTIONS = [1.0 + 0.0j, 0.6 + 0.8j, -0.8 + 0.6j, 0.0 + 1.0j, -0.28 - 0.96j, 0.6 - 0.8j]
SIZES = [1e-300, 1e-160, 1e-30, 1e-9, 1e-3, 0.4, 1.7, 12.0, 300.0, 1e9, 1e30, 1e160, 1e300]
DISTANCES = [1e-2, 1e-4, 1e-8, 1e-12]
SPECIAL = {  # branch points, poles and zeros
    "log": [1, 1j, -1],
    "log2": [1, 1j, -1],
    "log10": [1, 1j, -1],
    "log1p": [-1, -2],
    "exp": [math.pi * 1j],
    "expm1": [2 * math.pi * 1j],
    "sin": [math.pi, 22.0],
    "cos": [math.pi / 2, 11.0],
    "tan": [math.pi / 2, math.pi, 11.0],
    "sinh": [math.pi * 1j, 22.0j],
    "cosh": [math.pi / 2 * 1j],
    "tanh": [math.pi / 2 * 1j, math.pi * 1j],
    **{name: [1, -1] for name in ("asin", "acos", "acosh", "atanh")},
    **{name: [1j, -1j] for name in ("atan", "asinh")},
    "sinc": [1, 2, -3, 1.5, 12345],
    **{name: [math.pi * 1j] for name in ("sigmoid", "softplus", "logsigmoid", "silu")},
    "logit": [0, 0.5, 1],
    "lgamma": [1, 2, -1, -2],
    "digamma": [1.4616321449683623, -1, -2],
}
CUTS = {  # points of branch cuts, with either zero
    **{name: [-2.5, -1e-300, -1e30] for name in ("log", "log2", "log10", "sqrt", "rsqrt")},
    "lgamma": [-2.5, -1e-300, -40.25],
    "logit": [2.5, -2.5, 1e30, -0.25, 1.25],
    "log1p": [-2.5, -1e300, -1.0000000001],
    "asin": [2.0, -2.0, 1.0000000001, -1e300],
    "acos": [2.0, -2.0, 1.0000000001, -1e300],
    "acosh": [0.5, -2.0, -1e300, 1e-300],
    "atanh": [2.0, -2.0, 1.0000000001, -1e300],
    "atan": [2.0j, -2.0j, 1.0000000001j],
    "asinh": [2.0j, -2.0j, 1.0000000001j],
}
MOST = {  # moduli beyond which nothing is asked: of values that overflow or turn too often
    **dict.fromkeys(["sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1"], 310.0),
    **dict.fromkeys(["sigmoid", "softplus", "logsigmoid", "silu", "sinc"], 310.0),
    **dict.fromkeys(["erf", "erfc", "gelu"], 5.0),
    **dict.fromkeys(["lgamma", "digamma"], 310.0),
}
GRID = [
    complex(x, y) for x in (-9.3, -3.3, -0.7, 0.3, 1.3, 2.7, 4.1) for y in (0.05, 0.7, 1.6, -2.1)
]
GAMMAS = ("lgamma", "digamma")  # whose kernels have a piece for each part of the plane


def points(name):
    """The points at which a function is asked."""
    for size in SIZES:
        if size <= MOST.get(name, math.inf):
            for direction in DIRECTIONS:
                yield complex(size * direction.real, size * direction.imag)
    for place in SPECIAL.get(name, []):
        for distance in DISTANCES:
            for direction in (1, 0.6 + 0.8j, -1, -0.6j):
                yield complex(place) + distance * direction
    if name in GAMMAS:
        yield from GRID
    for place in map(complex, CUTS.get(name, [])):
        for sign in (0.0, -0.0):
            yield complex(place.real, sign) if place.imag == 0 else complex(sign, place.imag)


def exactly(z):
    """A point with signed zeros that mean something."""
    parts = [
        mpf(part) if part else mpf(math.copysign(1.0, part)) * NEAREST for part in (z.real, z.imag)
    ]
    return mpc(*parts)


def parts(w):
    return float(mp.re(w)), float(mp.im(w))


def row(name, z):
    """The six numbers of a point; None where there is a pole."""
    try:
        at = exactly(z)
        return [z.real, z.imag, *(p for f in FUNCTIONS[name] for p in parts(f(at)))]
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


if __name__ == "__main__":
    found = {name: [r for r in (row(name, z) for z in points(name)) if r] for name in FUNCTIONS}
    lines = [
        f'"{name}": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n]"
        for name, rows in found.items()
    ]
    (HERE / "complex.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")

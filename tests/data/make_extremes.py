"""Functions of the numbers at the ends of their dtypes: signed zeros, infinity, NaN, the largest.

As a script, with PyTorch installed, this writes `extremes.json.gz`: for a call of `ops.json` and a
filling of its inputs (all of one dtype, or one of them) the results and the gradients in PyTorch,
as texts of their elements: {"name place letter filling": [[result, ...], [gradient, ...]]}. Where
PyTorch refuses there is no entry.
"""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path

import numpy as np

if __package__:
    from . import make_dtypes, ops_format
else:
    import make_dtypes
    import ops_format

FILE = Path(__file__).with_name("extremes.json.gz")
LEAST = {"f": 1e-40, "d": 5e-320}
MOST = {"f": 3.4028234663852886e38, "d": 1.7976931348623157e308, "i": 2**31 - 1, "l": 2**63 - 1}
# Functions of matrices and neighbours, whose sums are in no fixed order; of the numbers of places;
# and what divides by integers, which ends PyTorch.
LEFT_OUT = re.compile(
    r"addbmm|baddbmm|bmm|cholesky|chain_matmul|cov|corrcoef|lu|ormqr|orgqr|qr|svd|eig|det|logdet|"
    r"slogdet|inverse|pinverse|matrix|lstsq|geqrf|triangular|mm$|mv$|matmul|addm|addr|dot|vdot|inner|"
    r"outer|ger|kron|einsum|tensordot|linalg|fft|stft|istft|masked\.|cdist|pdist|cross|conv|"
    r"nn\.functional\.(conv|grid|affine|bilinear|linear|scaled|interpolate|upsample|embedding|"
    r"unfold|fold|max_unpool|one_hot)|bincount|arange|repeat|tril|triu|combinations|histog|"
    r"range|linspace|logspace|eye|full|ones|zeros|resize|reshape|expand|new_|unique|bucketize|"
    r"searchsorted|as_strided|index_put|trap|cumulative|__rmatmul__|special\.polygamma|to$|meta|"
    r"special\..*(polynomial|bessel|airy)"
)
DIVIDE = re.compile(r"__|div|floor|fmod|remainder|gcd|lcm|pow|bitwise|polygamma|zeta|float_power")

# Functions of all pairs of extremes: of two real numbers, of the parts of a complex one, and of
# two complex ones.
REAL = """
    add sub mul div floor_divide fmod remainder pow float_power atan2 hypot copysign nextafter
    logaddexp logaddexp2 xlogy special.xlog1py ldexp heaviside maximum minimum fmax fmin clamp
    clamp_min clamp_max igamma igammac special.zeta polar complex isclose eq ne lt le gt ge
    rsub true_divide logical_and logical_or logical_xor
    div(x0,x1,rounding_mode="trunc") div(x0,x1,rounding_mode="floor") lerp(x0,x1,0.4)
    lerp(x0,x1,-2.5) lerp(x0,-x1,x1) clamp(x0,-x1,x1) clamp(x1,x0,x0) where(x0>x1,x0,x1)
    addcmul(x0,x0,x1) addcdiv(x0,x1,x0)
"""
SINGLE = """
    abs angle sgn conj real imag reciprocal square sqrt rsqrt exp exp2 expm1 log log2 log10 log1p
    sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid sinc isnan isinf isfinite
    pow(x0,2) pow(x0,3) pow(x0,-1) pow(x0,0.5) pow(x0,2.5) pow(x0,0) pow(2,x0) pow(x0,1+2j)
    div(x0,2j) mul(x0,2j) div(2j,x0)
"""
COMPLEX = "add sub mul div pow logaddexp lerp(x0,x1,0.4) addcdiv(x0,x0,x1) eq isclose"


def products():
    """(function, letter, inputs) of the functions of all pairs."""
    for letter in "fd":
        most, least = MOST[letter], LEAST[letter]
        real = [0.0, -0.0, least, -least, 0.5, 1.0, -1.0, 2.0, -3.0, most, -most]
        parts = [0.0, -0.0, least, 0.5, -0.5, 2.0, -2.0, most, -most]
        few = [0.0, -0.0, 1.0, -2.0, most]
        real, parts, few = ([*some, math.inf, -math.inf, math.nan] for some in (real, parts, few))
        grid = np.stack(np.meshgrid(real, real), -1).reshape(-1, 2).T
        for call in REAL.split():
            yield call, letter, grid
        plane = np.stack(np.meshgrid(parts, parts), -1).reshape(-1, 2).view(complex)
        for call in SINGLE.split():
            yield call, letter.upper(), plane.T
        corners = np.stack(np.meshgrid(few, few), -1).reshape(-1, 2).view(complex)[::5, 0]
        pairs = np.stack(np.meshgrid(corners, corners), -1).reshape(-1, 2)
        for call in COMPLEX.split():
            yield call, letter.upper(), pairs.T


def fillings(letter):
    """{name: numbers} that inputs of a dtype are filled with."""
    most = MOST[letter]
    if letter in "il":
        return {"whole": [0, most, -most - 1, 1, -1, most - 1, 2]}
    least = LEAST[letter]
    return {
        "finite": [0.0, -0.0, least, -least, most, -most, 1.0],
        "infinite": [math.inf, -math.inf, 0.0, 1.0, -0.0, most, -1.0],
        "nan": [math.nan, 0.0, 1.0, -1.0, 0.5],
    }


def filled(numbers, shape, start, pace):
    """An array of a shape that goes through the numbers, from `start`, at a pace."""
    places = start + pace * np.arange(math.prod(shape)).reshape(shape)
    return np.array(numbers)[places % len(numbers)]


def cases():
    """(key, call, letter, {place of an input: its array}) of all calls and fillings."""
    for name, place, call in make_dtypes.calls():
        sizes = [a.size for _, a, _ in call[1]]
        if LEFT_OUT.match(name) or name.startswith(make_dtypes.RANDOM) or max(sizes) > 40:
            continue
        chosen = [k for k, (_, a, _) in enumerate(call[1]) if a.dtype.kind == "f"]
        paired = name in REAL.split() and call[0] == f"lib.{name}(x0, x1)"
        letters = ("" if paired else "fd") + ("" if DIVIDE.match(name) else "il")
        for letter in letters if chosen else "":
            for filling, numbers in fillings(letter).items():
                for start in range(0, len(numbers), max(*sizes, 3)):
                    whole = {
                        k: filled(numbers, call[1][k][1].shape, start + n, n + 1)
                        for n, k in enumerate(chosen)
                    }
                    key = f"{name} {place} {letter} {filling} {start}"
                    yield key, call, letter, whole
                    for k in chosen if len(chosen) == 2 else ():
                        one = {k: filled(numbers, call[1][k][1].shape, start, 1)}
                        yield f"{key} {k}", call, letter, one
    for function, letter, inputs in products():
        name, _, given = function.partition("(")
        call = f"lib.{name}({given or ','.join(f'x{k}' for k in range(len(inputs))) + ')'}"
        arrays = dict(enumerate(inputs))
        places = [(ops_format.LETTERS[letter], a, True) for a in inputs]
        yield f"{name} {function} {letter}", (call, places), letter, arrays


def carried_out(lib, call, letter, arrays):
    """Results and gradients of a call of which some inputs are replaced."""
    dtype, inputs, real = getattr(lib, ops_format.LETTERS[letter]), [], letter not in "il"
    for k, (name, array, _) in enumerate(call[1]):
        floating = array.dtype.kind in "fc"
        if k in arrays:
            t = lib.tensor(arrays[k], dtype=dtype)
        else:
            t = make_dtypes.cast(lib, name, array, letter if floating else None)
        inputs.append(t.requires_grad_() if floating and real else t)
    value, gradients = ops_format.run(lib, call[0], inputs, real)
    return ops_format.tensors(value), [g for g in gradients or () if g is not None]


def text(t):
    """The elements of a tensor, real and imaginary parts apart, to 6 digits."""
    values = t.detach().reshape(-1).tolist()
    parts = [p for v in values for p in ((v.real, v.imag) if isinstance(v, complex) else (v,))]
    return " ".join(f"{p:.6g}" if isinstance(p, float) else str(int(p)) for p in parts)


def main():
    """Write the file."""
    import torch  # noqa: PLC0415

    torch.set_num_threads(1)
    found = {}
    for key, call, letter, arrays in cases():
        try:
            texts = [[*map(text, part)] for part in carried_out(torch, call, letter, arrays)]
        except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AssertionError):
            continue
        if texts[0]:
            found[key] = texts
    lines = (f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items())
    with gzip.GzipFile(FILE, "wb", mtime=0) as file:
        file.write(("{\n" + ",\n".join(lines) + "\n}\n").encode())


if __name__ == "__main__":
    main()

"""Functions of signed zeros, infinity, NaN and the largest numbers give what PyTorch gives.

`tests/data/make_extremes.py` has asked PyTorch for the results and the gradients. Infinities and
zeros count with their signs, but zeros not in gradients of complex numbers, whose products have
them in any order. What differs is named by what is there instead, in which dtype. Tangents are held
to gradients, without stored data.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import math
from typing import Any

import numpy as np
import pytest

import retrograd as rg
import retrograd.nn
from retrograd.engine.registry import OPS
from retrograd.func import jvp

from .samples import Sample, at_least, draw, ops_format, stored

PATH = ops_format.HERE / "make_extremes.py"
SPEC: Any = importlib.util.spec_from_file_location("tests.data.make_extremes", PATH)
make_extremes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_extremes)

TABLE: dict[str, Any] = json.loads(gzip.decompress(make_extremes.FILE.read_bytes()))
STORED = stored()
CASES: dict[str, list[Any]] = {}
for _key, _call, _letter, _arrays in make_extremes.cases():
    _name = _key.partition(" ")[0]
    if _key in TABLE and _name in STORED:
        _name += " of complex" if _letter in "FD" else ""
        CASES.setdefault(_name, []).append((_key, _call, _letter, _arrays))
DIGITS = {"f": 3e-5, "d": 6e-6, "F": 3e-5, "D": 6e-6, "i": 3e-5, "l": 6e-6}
SMALLEST = {"f": 1.4e-45, "d": 5e-324, "F": 1.4e-45, "D": 5e-324, "i": 0, "l": 0}
# What differs, as "PyTorch's:ours" kinds of results and of gradients, of one dtype after a slash:
# docs/differences.md says why. "x" is a finite number that is not 0.
APART = {
    # zeros of both signs are equal: which of them is the extremum, or a sum of -0.0, is open
    "amax": ("-0:0 0:-0", "nan:0 nan:x"),
    "amin": ("-0:0 0:-0", "nan:0 nan:x"),
    "aminmax": ("-0:0 0:-0", "-0:0 0:-0 nan:0 nan:x"),
    "clamp": ("-0:0 0:-0", ""),
    "clamp_max": ("-0:0 0:-0", ""),
    "clamp_min": ("-0:0 0:-0", ""),
    "fmax": ("-0:0 0:-0", ""),
    "fmin": ("-0:0 0:-0", ""),
    "kthvalue": ("-0:0 0:-0 x:x", "0:x x:0"),
    "maximum": ("-0:0 0:-0", ""),
    "minimum": ("-0:0 0:-0", ""),
    "nn.functional.avg_pool2d": ("0:-0", ""),
    "nn.functional.softshrink": ("0:-0/d", "0:x/d"),
    # masks choose in PyTorch and multiply here, or the other way: only the sign of 0 differs
    "__rpow__": ("", "0:-0"),
    "float_power": ("", "0:-0"),
    "ldexp": ("", "-0:0 -inf:x inf:x"),
    "nan_to_num": ("", "-0:0"),
    "pow": ("", "0:-0"),
    # NaN stays NaN: PyTorch has 0, a branch, or a number by the place in the tensor
    "abs": ("", "-0:nan 0:nan"),
    "logit": ("", "-inf:inf/d inf:-inf/d nan:0"),
    "mode": ("nan:0 nan:x x:x", "0:x x:0"),
    "nn.functional.celu": ("", "x:nan"),
    "nn.functional.elu": ("", "x:nan"),
    "nn.functional.hardshrink": ("", "0:x/d"),
    "nn.functional.hardtanh": ("", "x:0/f"),
    "nn.functional.l1_loss": ("", "-0:nan 0:nan"),
    "nn.functional.multi_margin_loss": ("0:nan x:nan", "0:x x:x"),
    "nn.functional.multilabel_margin_loss": ("0:nan x:nan", "-0:0 -0:x 0:x x:x"),
    "nn.functional.pdist": ("", "x:nan"),
    "nn.functional.relu6": ("", "x:0"),
    "nn.functional.selu": ("", "x:nan"),
    "sign": ("0:nan", ""),
    "special.i1": ("", "nan:-inf/f x:nan"),
    "special.i1e": ("", "x:-0/f x:nan"),
    # limits, one rule at kinks, poles and outside of a domain, where PyTorch has NaN or a branch
    "acosh": ("", "-0:nan -0:x -inf:nan 0:nan 0:x"),
    "copysign": ("", "nan:x"),
    "cumprod": ("", "-inf:nan -inf:x 0:-0 0:nan 0:x inf:nan nan:x x:nan x:x/d"),
    "digamma": ("", "nan:inf x:-inf"),
    "hypot": ("", "nan:0 x:x/d"),
    "logaddexp": ("", "nan:x"),
    "mvlgamma": ("", "-inf:inf inf:-inf"),
    "nn.functional.binary_cross_entropy_with_logits": ("nan:inf", ""),
    "nn.functional.kl_div": ("0:-0", "nan:0 nan:inf nan:x"),
    "nn.functional.poisson_nll_loss": ("", "nan:-inf nan:0 nan:inf nan:x"),
    "norm": ("", "number"),
    "polar": ("", "-0:x 0:x nan:x x:x"),
    "polygamma": (
        "-inf:inf -inf:nan nan:-0 nan:inf x:inf",
        "-inf:inf -inf:nan inf:-inf inf:nan nan:-0 nan:0",
    ),
    "prod": ("", "0:-0 0:nan"),
    "special.log_ndtr": ("", "nan:-inf nan:inf"),
    # PyTorch overflows or rounds on the way: large quotients, sin(pi x), squares, logarithms
    "addcdiv": ("", "nan:0 nan:inf"),
    "atan2": ("", "-0:-inf -0:0 -0:x 0:-0 0:inf 0:x"),
    "dist": ("", "nan:-0 nan:0"),
    "fmod": ("nan:-0 nan:0 nan:x", ""),
    "frexp": ("", "-0:x 0:x"),
    "logcumsumexp": ("", "0:-0 0:x x:x"),
    "remainder": ("nan:-0 nan:0 nan:x", ""),
    "sinc": ("nan:-0 nan:0 x:-0 x:0", "0:-0 0:x nan:-0 nan:0"),
    "special.erfcx": ("", "-inf:x inf:x"),
    "special.i0e": ("", "x:-0/f"),
    "special.zeta": ("nan:0/l", ""),
    "xlogy": ("", "x:x/d"),
    # sums that overflow or cancel, in another order, and products that PyTorch fuses with sums
    "addcmul": ("-inf:nan", ""),
    "lerp": ("-0:0 x:0", ""),
    "logaddexp2": ("x:0", "nan:x"),
    "nn.functional.group_norm": ("-0:0/d nan:-0 nan:-inf nan:0 nan:x", "nan:-0 nan:0 nan:inf x:x"),
    "nn.functional.layer_norm": ("nan:-0 nan:0 nan:x", "0:-0 nan:-0 nan:0"),
    "nn.functional.rms_norm": ("", "nan:0"),
    "renorm": ("", "-0:0/d -0:nan/f x:-0/f x:0/f x:nan/f"),
    "std": ("nan:inf/d", "-0:0 -0:x/f 0:-0 0:x/f nan:-0/d nan:0/d"),
    "std_mean": ("inf:0/d nan:-inf nan:0/d nan:inf nan:x/d x:0/f x:x/f", "nan:x/d x:x/f"),
    "var": ("nan:inf/d", "-0:x/f 0:x/f x:-0/f x:0/f x:x/f"),
    "var_mean": ("inf:0/d nan:-inf nan:0/d nan:inf nan:x/d x:0/f x:x/f", "x:x/f"),
    # integers, beside a fraction
    "nn.functional.hinge_embedding_loss": ("x:0/i x:0/l x:x/i x:x/l", ""),
    # complex: PyTorch adds 1 * y, whose product has NaN; other signs of zeros
    "add of complex": ("x:x", ""),
    "sub of complex": ("x:x", ""),
    # complex: |z|^2, exp(-z) or a power overflows in PyTorch; here its limit, or the small number
    "abs of complex": ("", "0:x nan:x"),
    "addcdiv of complex": ("", "nan:0 nan:x"),
    "angle of complex": ("", "0:x nan:0"),
    "atan of complex": ("", "nan:0"),
    "atanh of complex": ("", "nan:0"),
    "exp2 of complex": ("0:0 nan:0 x:x/F", "nan:0 x:x/F"),
    "expm1 of complex": ("", "nan:0 x:0/F"),
    "log1p of complex": ("nan:x", ""),
    "logaddexp of complex": ("", "nan:0 nan:x"),
    "pow of complex": ("0:0 inf:x/F nan:0 nan:x x:x", "nan:0 nan:x"),
    "sgn of complex": ("0:x nan:x", "0:x inf:x/F nan:0"),
    "sigmoid of complex": ("0:0 nan:0 x:x", "nan:0"),
    "sinc of complex": ("nan:0 nan:x x:0 x:x", "0:x nan:0"),
    "tan of complex": ("", "nan:0"),
    "tanh of complex": ("", "nan:0"),
    # complex: derivatives on a cut are those of the side that the sign of zero says
    "acos of complex": ("x:x/D", "0:x nan:0 nan:x x:x"),
    "acosh of complex": ("", "nan:0 x:x"),
    "asin of complex": ("", "0:x nan:0 nan:x x:x"),
    "asinh of complex": ("", "0:x nan:0 nan:x x:x"),
}
# Where machines differ, not only libraries: in loops of NumPy over extrema, sums and products.
OPEN = {
    *(
        "addcmul",
        "amax",
        "amin",
        "aminmax",
        "clamp",
        "clamp_max",
        "clamp_min",
        "fmax",
        "fmin",
        "lerp",
        "logaddexp2",
        "maximum",
        "minimum",
        "nn.functional.avg_pool2d",
        "nn.functional.group_norm",
        "nn.functional.layer_norm",
        "nn.functional.rms_norm",
        "renorm",
        "std",
        "std_mean",
        "var",
        "var_mean",
    ),
    *(name for name in APART if name.endswith(" of complex")),
}


def kind(number):
    """What counts of a number, a tuple of its parts; of a complex one only whether it is finite."""
    if any(map(math.isnan, number)):
        return "nan"
    name = "inf" if any(map(math.isinf, number)) else "x" if any(number) else "0"
    return f"-{name}" if name != "x" and len(number) == 1 and negative(number[0]) else name


def negative(x):
    return math.copysign(1, x) < 0


def same(ours, theirs, digits, least, signed):
    """Whether two numbers, tuples of their parts, are close; infinities and zeros have signs."""
    size = max((abs(y) for y in theirs if math.isfinite(y)), default=0.0)
    for x, y in zip(ours, theirs, strict=True):
        if x == y:
            alike = x != 0 or not signed or negative(x) == negative(y)
        else:
            alike = (x != x and y != y) or abs(x - y) <= digits * size + least
        if not alike:  # a product with NaN or infinity in a part may have either in both
            wild = [not all(map(math.isfinite, each)) for each in (ours, theirs)]
            return len(ours) == 2 and all(wild) and "nan" in (kind(ours), kind(theirs))
    return True


def others(found, expected, letter, signed):
    """The kinds "PyTorch's:ours" of the elements of a tensor that are other than a text says."""
    a = found.detach().numpy().reshape(-1)
    if a.dtype.kind in "biu":
        return {"x:x"} if a.tolist() != [*map(int, expected.split())] else set()
    parts = 1 + (a.dtype.kind == "c")
    a, b = a.view(a.real.dtype), np.fromstring(expected, sep=" ")
    if a.size != b.size:
        return {"shape"}
    digits, least = DIGITS[letter], 4 * SMALLEST[letter]
    near = (np.abs(a - b) <= digits * np.abs(b)) & np.isfinite(b)
    clear = ((near | (a == b)) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    if clear.all():
        return set()
    rest = ~clear.reshape(-1, parts).all(1)
    ours, theirs = (each.reshape(-1, parts)[rest].tolist() for each in (a, b))
    return {
        f"{kind(y)}:{kind(x)}"
        for x, y in zip(ours, theirs, strict=True)
        if not same(x, y, digits, least, signed)
    }


def differing(cases):
    """The kinds "PyTorch's:ours/dtype" of the results, and of the gradients, that are others."""
    found = set(), set()
    for key, call, letter, arrays in cases:
        given = make_extremes.carried_out(rg, call, letter, arrays)
        for part, ours, theirs in zip((0, 1), given, TABLE[key], strict=True):
            kinds = {"number"} if len(ours) != len(theirs) else set()
            signed = letter in "fdil" or not part
            for a, b in zip(ours, theirs, strict=False):
                kinds |= others(a, b, letter, signed)
            found[part].update(f"{pair}/{letter}" for pair in kinds)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", at_least(350, list(CASES), 280))
def test_extreme_numbers_give_what_pytorch_gives(name):
    for found, known in zip(differing(CASES[name]), APART.get(name, ("", "")), strict=True):
        allowed = set(known.split())
        general = {each: each.partition("/")[0] for each in found}
        assert not {each for each in found if not {each, general[each]} & allowed}
        assert name in OPEN or allowed <= found | {*general.values()}


ENDS = [0.0, -0.0, 5e-320, -1.0, 0.5, 1.0, 2.0, 1e308, -1e308, math.inf, -math.inf, math.nan]
SOME = {1: ENDS, 2: ENDS, 3: [*ENDS[:2], *ENDS[5:]], 4: [0.0, 1.0, math.inf, math.nan]}
RECORDS = [op for op in OPS.values() if op.elementwise and op.examples and op.vjps]


def at_extremes(op, example, complex):
    """A call of all combinations of extremes, of the parts of complex inputs too."""
    kinds = [spec if spec == "none" else spec.partition(":")[2] for spec in example.specs]
    counts = [
        0 if kind.startswith(("none", "int", "bool"))
        else 1 + ((complex and kind != "real") or kind == "complex")
        for kind in kinds
    ]  # fmt: skip
    numbers = SOME.get(sum(counts), [0.0, 1.0, math.inf])
    grid = np.stack(np.meshgrid(*[numbers] * sum(counts)), -1).reshape(-1, sum(counts))
    rng, arrays = np.random.default_rng(0), []
    for kind, count, end in zip(kinds, counts, np.cumsum(counts), strict=True):
        part = np.ascontiguousarray(grid[:, end - count : end])
        spec = kind if kind == "none" else f"{len(grid)}:{kind}"
        made = part.view("D" if count == 2 else "d")[:, 0] if count else None
        arrays.append(draw(spec, op.domain, False, rng) if made is None else made)
    return Sample(op, example, complex, arrays, example.params)


def derivatives(case, place):
    """(tangent, gradient) of each output in an input, from each part of it to each of theirs."""
    tensors = case.tensors(grad=False)
    x = tensors[place]

    def call(given):
        return tuple(case.call([*tensors[:place], given, *tensors[place + 1 :]]))

    directions = [1, 1j] if x.dtype.is_complex else [1]
    leaf = x.clone().requires_grad_()
    outs = call(leaf)
    for v in directions:
        _, tangents = jvp(call, (x,), (rg.full_like(x, v),))
        for out, t in zip(outs, tangents, strict=True):
            for c in [1, 1j] if out.dtype.is_complex else [1]:
                if out.requires_grad:
                    (g,) = rg.autograd.grad(out, leaf, rg.full_like(out, c), retain_graph=True)
                    yield v, c, t.numpy(), g.numpy()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", at_least(90, RECORDS), ids=lambda op: op.name)
def test_tangents_at_extreme_numbers_are_what_gradients_are(op):
    for example in {repr(each.params): each for each in op.examples}.values():
        for complex in (False, True) if op.complex else (False,):
            case = at_extremes(op, example, complex)
            for place in case.differentiable:
                for v, c, t, g in derivatives(case, place):
                    a, b = t.imag if c == 1j else t.real, g.imag if v == 1j else g.real
                    finite = np.isfinite(t)
                    np.testing.assert_array_equal(finite, np.isfinite(g))
                    if t.dtype.kind == g.dtype.kind == "f":
                        np.testing.assert_array_equal(a[~finite], b[~finite])
                    np.testing.assert_allclose(a[finite], b[finite], rtol=1e-12, atol=1e-320)

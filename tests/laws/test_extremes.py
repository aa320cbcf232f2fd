"""Functions of signed zeros, infinity, NaN and the largest numbers give what PyTorch gives.

`tests/data/make_extremes.py` has asked PyTorch for the results and the gradients. Zeros count with
their sign in results, not in gradients, where masks choose and do not multiply.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
from typing import Any

import numpy as np
import pytest

import retrograd as rg

from .samples import at_least, ops_format, stored

PATH = ops_format.HERE / "make_extremes.py"
SPEC: Any = importlib.util.spec_from_file_location("tests.data.make_extremes", PATH)
make_extremes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_extremes)

TABLE: dict[str, Any] = json.loads(gzip.decompress(make_extremes.FILE.read_bytes()))
STORED = stored()
CASES: dict[str, list[Any]] = {}
for _key, *_rest in make_extremes.cases():
    if _key in TABLE and _key.partition(" ")[0] in STORED:
        CASES.setdefault(_key.partition(" ")[0], []).append((_key, *_rest))
DIGITS = {"f": 3e-5, "d": 2e-6, "i": 3e-5, "l": 3e-5}
# Fillings for which results, and gradients, differ: docs/differences.md says why.
APART = {
    # zeros of both signs are equal: which of them is the extremum, or a sum of -0.0, is open
    "amax": ("finite", "nan"),
    "amin": ("finite", "nan"),
    "aminmax": ("finite", "nan"),
    "clamp": ("finite infinite", ""),
    "clamp_max": ("finite", ""),
    "clamp_min": ("finite", ""),
    "fmax": ("finite", ""),
    "fmin": ("finite", ""),
    "kthvalue": ("finite infinite", "finite infinite"),
    "maximum": ("finite", ""),
    "minimum": ("finite", ""),
    "nn.functional.avg_pool2d": ("finite", ""),
    "nn.functional.softshrink": ("finite infinite", "nan"),
    # NaN, or the derivative beside it
    "abs": ("", "nan"),
    "logit": ("", "nan"),
    "mode": ("nan", "nan"),
    "nn.functional.celu": ("", "nan"),
    "nn.functional.elu": ("", "nan"),
    "nn.functional.hardshrink": ("", "nan"),
    "nn.functional.hardtanh": ("", "nan"),
    "nn.functional.l1_loss": ("", "nan"),
    "nn.functional.multi_margin_loss": ("nan", "nan"),
    "nn.functional.multilabel_margin_loss": ("nan", "nan"),
    "nn.functional.relu6": ("", "nan"),
    "nn.functional.selu": ("", "nan"),
    "sign": ("nan", ""),
    # limits, and derivatives at kinks and outside of a domain
    "acosh": ("", "finite infinite nan"),
    "copysign": ("", "infinite"),
    "cumprod": ("", "finite infinite nan"),
    "digamma": ("", "finite"),
    "dist": ("", "finite infinite"),
    "hypot": ("", "finite"),
    "nn.functional.binary_cross_entropy_with_logits": ("infinite", ""),
    "nn.functional.kl_div": ("finite infinite", "finite infinite nan"),
    "nn.functional.poisson_nll_loss": ("", "finite infinite nan"),
    "norm": ("", "finite infinite nan"),
    "nn.functional.pdist": ("", "infinite"),
    "polar": ("", "finite infinite nan"),
    "polygamma": ("finite infinite nan", "finite infinite nan"),
    "prod": ("", "finite infinite nan"),
    "sinc": ("finite infinite nan whole", "finite infinite"),
    "special.i1": ("", "finite infinite nan"),
    "special.log_ndtr": ("", "finite infinite"),
    "special.zeta": ("whole", ""),
    # what overflows on the way, or is rounded on it
    "addcdiv": ("", "infinite"),
    "addcmul": ("infinite", ""),
    "atan2": ("", "finite"),
    "frexp": ("", "finite infinite"),
    "logaddexp2": ("infinite", ""),
    "logcumsumexp": ("", "finite infinite"),
    "nn.functional.group_norm": ("finite infinite", "finite infinite"),
    "nn.functional.layer_norm": ("finite", "finite"),
    "nn.functional.rms_norm": ("", "finite"),
    "renorm": ("", "finite"),
    "special.i0e": ("", "finite infinite"),
    "special.i1e": ("", "finite infinite nan"),
    "std": ("finite", "finite infinite"),
    "std_mean": ("finite infinite", "finite infinite"),
    "var": ("finite", "finite"),
    "var_mean": ("finite infinite", "finite"),
    # integers, beside a fraction
    "nn.functional.hinge_embedding_loss": ("whole", ""),
}


def numbers(text):
    return np.array(text.split(), np.float64)


def same(found, expected, letter, signed):
    """Whether a tensor has the numbers of a text, or close ones."""
    a, b = numbers(make_extremes.text(found)), numbers(expected)
    if a.shape != b.shape:
        return False
    least = make_extremes.LEAST.get(letter, 0.0)
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    alike |= np.abs(a - b) <= DIGITS[letter] * np.maximum(np.abs(a), np.abs(b)) + 2 * least
    if signed:
        alike &= (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b))
    return alike.all()


def differing(cases):
    """The fillings for which results, and for which gradients, are others."""
    found = set(), set()
    for key, call, letter, arrays in cases:
        given = make_extremes.carried_out(rg, call, letter, arrays)
        for part, ours, theirs in zip((0, 1), given, TABLE[key], strict=True):
            alike = len(ours) == len(theirs) and all(
                same(a, b, letter, signed=not part) for a, b in zip(ours, theirs, strict=True)
            )
            if not alike:
                found[part].add(key.split()[3])
    return tuple(" ".join(sorted(fillings)) for fillings in found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", at_least(310, list(CASES), 250))
def test_extreme_numbers_give_what_pytorch_gives(name):
    assert differing(CASES[name]) == APART.get(name, ("", ""))

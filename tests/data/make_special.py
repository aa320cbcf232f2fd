"""Special functions at a few points, and what PyTorch makes of them.

`CASES` lists the calls, `run` carries one out with either library. As a script, with PyTorch
installed, this writes values, and first and second derivatives where PyTorch has them, to
`special.json`:

    python make_special.py
"""

import json
import math
from functools import reduce
from pathlib import Path

PATH = Path(__file__).with_name("special.json")

REAL = [-2.5, -0.75, -0.0625, 0.0, 0.3, 1.0, 2.25, 9.5]
POSITIVE = [0.0625, 0.5, 1.0, 2.25, 7.5]
SHARES = [0.0, 1e-9, 0.0625, 0.3, 0.5, 0.75, 1.0]
FIRST = [0.0, 0.0, 0.5, 2.0, 3.0]
SECOND = [0.5, 2.0, 0.75, 1.0, 4.0]

# Name, arguments (lists become float64 tensors that require grad), keywords.
CASES = [
    *[(f"special.{name}", [REAL], {}) for name in (
        "erf", "erfc", "erfcx", "ndtr", "log_ndtr", "i0", "i0e", "i1", "i1e", "sinc", "expit",
        "exp2", "expm1", "spherical_bessel_j0", "modified_bessel_i0", "modified_bessel_i1",
        "airy_ai", "psi")],
    *[(f"special.{name}", [[-2.5, 0.0, 0.5, 1.0, 2.25, 4.5]], {}) for name in (
        "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1")],
    *[(f"special.{name}", [POSITIVE], {}) for name in (
        "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0",
        "scaled_modified_bessel_k1", "gammaln", "digamma", "log1p")],
    *[(f"special.{name}", [SHARES], {}) for name in ("ndtri", "logit", "entr", "erfinv")],
    ("special.entr", [[-1.0, 0.0, 0.5, 3.0]], {}),
    ("special.logit", [SHARES], {"eps": 0.125}),
    ("special.multigammaln", [[2.5, 3.0, 7.25], 3], {}),
    *[("special.polygamma", [n, [0.5, 1.0, 3.25]], {}) for n in (0, 1, 3)],
    ("special.xlogy", [FIRST, SECOND], {}),
    ("special.xlog1py", [FIRST, SECOND], {}),
    ("special.zeta", [(1.5, 2.0, 3.5), [0.5, 1.0, 2.25]], {}),
    ("special.gammainc", [(0.5, 1.0, 3.5), [0.5, 1.0, 2.25]], {}),
    ("special.gammaincc", [(0.5, 1.0, 3.5), [0.5, 1.0, 2.25]], {}),
    *[(f"special.{name}", [(-1.5, -0.25, 0.5, 1.0), degree], {})
      for degree in (0, 1, 2, 5)
      for name in (
        *[f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"],
        "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
        "legendre_polynomial_p")],
    ("ldexp", [[1.0, -3.0, 0.5], [2.0, -1.0, 0.5]], {}),
    ("nextafter", [[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]], {}),
]  # fmt: skip


def names():
    """A name for each case, unlike any other."""
    return [f"{place}-{name}" for place, (name, _, _) in enumerate(CASES)]


def rounded(t):
    """The elements of a tensor or of an absent one, to 15 digits; strings for what JSON lacks."""
    if t is None:
        return None
    values = t.detach().reshape(-1).tolist()
    return [float(f"{v:.15g}") if math.isfinite(v) else str(v) for v in values]


def run(lib, case, derivatives=True):
    """Values, gradients of their sum, and gradients of the sum of those."""
    name, args, keywords = case
    made = [
        lib.tensor(list(a), dtype=lib.float64, requires_grad=isinstance(a, list))
        if isinstance(a, (list, tuple))
        else a
        for a in args
    ]
    leaves = [t for t, a in zip(made, args, strict=True) if isinstance(a, list)]
    out = reduce(getattr, name.split("."), lib)(*made, **keywords)
    found = {"value": rounded(out)}
    if derivatives and leaves and out.requires_grad:
        grad = lib.autograd.grad
        first = grad(out.sum(), leaves, create_graph=True, allow_unused=True)
        found["first"] = [rounded(t) for t in first]
        live = [t.sum() for t in first if t is not None and t.requires_grad]
        if live:
            found["second"] = [rounded(t) for t in grad(sum(live), leaves, allow_unused=True)]
    return found


if __name__ == "__main__":
    import torch

    lines = [
        f"{json.dumps(name)}: {json.dumps(run(torch, case))}"
        for name, case in zip(names(), CASES, strict=True)
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")

"""Programs of linear algebra, and what PyTorch makes of them.

`programs` lists them, `run` carries one out with either library. As a script, with PyTorch
installed, this writes what PyTorch says, values and derivatives of first and second order, to
`linalg.json`:

    python make_linalg.py

A program is (function of the library and tensors, shapes of its tensors). Each runs on real and on
complex numbers. What is not unique, such as the phases of vectors, is multiplied away.
"""

import json
import math
from pathlib import Path

PATH = Path(__file__).with_name("linalg.json")
KINDS = ("float64", "complex128")


def spread(count, seed):
    """Numbers from -1 to 1 that look irregular, the same everywhere."""
    return [math.sin(1.0 + 1.7 * seed + 2.3 * k + 0.01 * k * k) for k in range(count)]


def tensor(lib, shape, seed, kind):
    """A leaf of the given shape and dtype."""
    part = spread(math.prod(shape), seed)
    if kind == "complex128":
        part = [complex(a, b) for a, b in zip(part, spread(len(part), seed + 100), strict=True)]
    made = lib.tensor(part, dtype=getattr(lib, kind)).reshape(shape)
    return made.detach().requires_grad_(True)


def definite(lib, x):
    """A positive definite matrix."""
    return x @ x.mH + lib.eye(x.shape[-2], dtype=x.dtype)


def hermitian(x):
    """A Hermitian matrix."""
    return x + x.mH


def moduli(*vectors):
    """Of vectors, what does not depend on phases."""
    return [v.abs() ** 2 for v in vectors]


def triangle(lib, x):
    """A lower triangle, far from singular."""
    return x.tril() + 3 * lib.eye(x.shape[-1], dtype=x.dtype)


def packed(lib, x):
    """Householder vectors, and factors that make them reflectors."""
    low = x.tril(-1)
    return low, 2 / (1 + (low.abs() ** 2).sum(-2)).to(x.dtype)


def values(found):
    """The first and second of a named tuple."""
    return [found[0], found[1]]


SQUARE, STACK, TALL, WIDE, PAIR = ((3, 3),), ((2, 3, 3),), ((4, 2),), ((2, 4),), ((3, 3), (3, 2))


def programs():
    """All of them, by name."""
    return {
        "inv": (lambda lib, x: lib.linalg.inv(x), STACK),
        "solve": (lambda lib, x, y: lib.linalg.solve(x, y), PAIR),
        "solve right": (lambda lib, x, y: lib.linalg.solve(x, y, left=False), ((3, 3), (2, 3))),
        "solve vector": (lambda lib, x, y: lib.linalg.solve(x, y), ((3, 3), (3,))),
        "solve stack": (lambda lib, x, y: lib.linalg.solve(x, y), ((3, 3), (2, 3, 1))),
        "triangular": (
            lambda lib, x, y: lib.linalg.solve_triangular(triangle(lib, x), y, upper=False),
            PAIR,
        ),
        "triangular right": (
            lambda lib, x, y: lib.linalg.solve_triangular(
                triangle(lib, x).mT, y, upper=True, left=False, unitriangular=True
            ),
            ((3, 3), (2, 3)),
        ),
        "det": (lambda lib, x: lib.linalg.det(x), STACK),
        "det product": (lambda lib, x: lib.linalg.det(x.mH @ x), TALL),
        "slogdet": (lambda lib, x: list(lib.linalg.slogdet(x)), STACK),
        "logdet": (lambda lib, x: lib.logdet(definite(lib, x)), SQUARE),
        "cholesky": (lambda lib, x: lib.linalg.cholesky(definite(lib, x)), STACK),
        "cholesky upper": (lambda lib, x: lib.linalg.cholesky(definite(lib, x), upper=True), WIDE),
        "cholesky_solve": (
            lambda lib, x, y: lib.cholesky_solve(y, lib.linalg.cholesky(definite(lib, x))),
            PAIR,
        ),
        "cholesky_inverse": (
            lambda lib, x: lib.cholesky_inverse(lib.linalg.cholesky(definite(lib, x))),
            SQUARE,
        ),
        "lu_factor": (lambda lib, x: lib.linalg.lu_factor(x)[0], STACK),
        "lu tall": (lambda lib, x: list(lib.linalg.lu(x)), TALL),
        "lu wide": (lambda lib, x: list(lib.linalg.lu(x)), WIDE),
        "lu_solve": (
            lambda lib, x, y: lib.linalg.lu_solve(*lib.linalg.lu_factor(x), y, adjoint=True),
            PAIR,
        ),
        "qr": (lambda lib, x: values(lib.linalg.qr(x)), STACK),
        "qr tall": (lambda lib, x: values(lib.linalg.qr(x)), TALL),
        "qr wide": (lambda lib, x: values(lib.linalg.qr(x)), WIDE),
        "householder_product": (
            lambda lib, x: lib.linalg.householder_product(*packed(lib, x)),
            TALL,
        ),
        "ormqr": (
            lambda lib, x, y: lib.ormqr(*packed(lib, x), y, transpose=True),
            ((4, 2), (4, 3)),
        ),
        "eigh": (lambda lib, x: moduli(lib.linalg.eigh(hermitian(x)).eigenvectors), SQUARE),
        "eigh rebuilt": (
            lambda lib, x: rebuilt(lib, *lib.linalg.eigh(hermitian(x))),
            SQUARE,
        ),
        "eigvalsh": (lambda lib, x: lib.linalg.eigvalsh(hermitian(x)), STACK),
        "eigvals": (lambda lib, x: (lib.linalg.eigvals(x) ** 3).sum(-1), STACK),
        "eig": (
            lambda lib, x: rebuilt(lib, *lib.linalg.eig(x)),
            SQUARE,
        ),
        "svd tall": (lambda lib, x: moduli(*thin(lib, x)[::2]), TALL),
        "svd wide": (
            lambda lib, x: squared(*thin(lib, x)),
            WIDE,
        ),
        "svdvals": (lambda lib, x: lib.linalg.svdvals(x), TALL),
        "pinv": (lambda lib, x: lib.linalg.pinv(x), TALL),
        "pinv of rank 2": (lambda lib, x: lib.linalg.pinv(x @ x.mH, rtol=1e-9), TALL),
        "lstsq": (lambda lib, x, y: lib.linalg.lstsq(x, y).solution, ((4, 2), (4, 1))),
        "lstsq wide": (lambda lib, x, y: lib.linalg.lstsq(x, y).solution, ((2, 4), (2, 1))),
        "matrix_exp": (lambda lib, x: lib.matrix_exp(x), STACK),
        "matrix_power": (lambda lib, x: lib.linalg.matrix_power(x, -2), SQUARE),
        "norm nuc": (lambda lib, x: lib.linalg.norm(x, "nuc"), TALL),
        "norm 2": (lambda lib, x: lib.linalg.matrix_norm(x, 2), WIDE),
        "norm 1": (lambda lib, x: lib.linalg.matrix_norm(x, 1), WIDE),
        "norm -inf": (lambda lib, x: lib.linalg.matrix_norm(x, -math.inf, (0, 2)), STACK),
        "cond": (lambda lib, x: lib.linalg.cond(x), TALL),
        "tensorsolve": (lambda lib, x, y: lib.linalg.tensorsolve(x, y), ((2, 2, 4), (2, 2))),
        "tensorinv": (lambda lib, x: lib.linalg.tensorinv(x, 1), ((4, 2, 2),)),
        "vander": (lambda lib, x: lib.linalg.vander(x, N=4), ((3,),)),
        "vecdot": (lambda lib, x, y: lib.linalg.vecdot(x, y), ((2, 3), (3,))),
        "addbmm": (
            lambda lib, x, y, z: lib.addbmm(x, y, z, beta=0.5, alpha=2),
            ((2, 3), (4, 2, 2), (4, 2, 3)),
        ),
        "multi_dot": (
            lambda lib, x, y, z: lib.linalg.multi_dot([x, y, z]),
            ((2,), (2, 3), (3, 2)),
        ),
    }


def rebuilt(lib, values, vectors):
    """The exponential, from eigenvalues and eigenvectors."""
    return (vectors * values.exp().unsqueeze(-2)) @ lib.linalg.inv(vectors)


def squared(u, s, vh):
    """A matrix with its singular values squared."""
    return (u * s.square().unsqueeze(-2)) @ vh


def thin(lib, x):
    """U, S and Vh without superfluous vectors."""
    return lib.linalg.svd(x, full_matrices=False)


def flat(lib, t):
    """A tensor as a list of its numbers, real and imaginary parts in turn."""
    t = t.detach()
    t = parts(lib, t) if t.dtype.is_complex else t
    t = t + lib.zeros(1, dtype=lib.float64)  # PyTorch's tensors of zeros have no values to list
    return [float(f"{value:.10g}") for value in t.reshape(-1).tolist()]


def parts(lib, t):
    """A complex tensor as a real one with one more dimension."""
    zero = lib.zeros(1, dtype=lib.float64)
    return lib.stack([t.real + zero, t.imag + zero], -1)


def run(lib, name, kind):
    """Outputs, gradients, and derivatives of a weighted sum of the gradients, as flat lists."""
    function, shapes = programs()[name]
    leaves = [tensor(lib, shape, seed, kind) for seed, shape in enumerate(shapes)]
    outputs = function(lib, *leaves)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    live = [t for t in outputs if t.requires_grad]
    loss = sum(weighed(lib, t, seed) for seed, t in enumerate(live))
    first = lib.autograd.grad(loss, leaves, create_graph=True)
    loss = sum(weighed(lib, g, seed + 10) for seed, g in enumerate(first) if g.requires_grad)
    second = lib.autograd.grad(loss, leaves, allow_unused=True) if loss != 0 else []
    return {
        "out": [flat(lib, t) for t in outputs],
        "first": [flat(lib, g) for g in first],
        "second": [None if g is None else flat(lib, g) for g in second],
    }


def weighed(lib, t, seed):
    """A real number that depends on every entry."""
    weights = lib.tensor(spread(math.prod(t.shape), seed + 20), dtype=lib.float64).reshape(t.shape)
    if not t.dtype.is_complex:
        return (t * weights).sum()
    other = lib.tensor(spread(math.prod(t.shape), seed + 30), dtype=lib.float64).reshape(t.shape)
    return (t.real * weights).sum() + (t.imag * other).sum()


if __name__ == "__main__":
    import torch

    found = {name: {kind: run(torch, name, kind) for kind in KINDS} for name in programs()}
    PATH.write_text(json.dumps(found, separators=(",", ":")) + "\n")

"""Writes docs/complex-ops.md, the matrix of complex numbers: `python docs/make_complex.py`.

Every op and every layer, with complex64 and complex128, forward, backward, twice backward and in
forward mode. A cell is what a run says: first and second derivatives along directions in the 2n
real variables against central differences, tangents against gradients, complex64 against
complex128. An op that refuses says why. `tests/test_complex_page.py` runs it again.

The calls of ops are those of tests/data/ops.json, those of layers are in complex_layers.txt beside
it. Where PyTorch, which made the first, takes real numbers only, those that require a gradient get
imaginary parts here.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import reference

import retrograd as rg
from retrograd import nn
from retrograd.autograd import forward_ad
from retrograd.ops.core.arguments import CHOOSING, ORDERED

HERE = Path(__file__).parent
DATA = HERE.parent / "tests" / "data"
LAYERS = DATA / "complex_layers.txt"
PAGE = HERE / "complex-ops.md"
spec = importlib.util.spec_from_file_location("ops_format", DATA / "ops_format.py")
ops_format: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ops_format)

MODES = ("forward", "backward", "twice", "forward mode")
DTYPES = ("complex64", "complex128")
STEP, TOLERANCE, SINGLE = 1e-6, 2e-5, 2e-3

# -- what layers are called with ------------------------------------------------------------------


def spread(shape: Any, seed: float) -> Any:
    """Complex numbers that look irregular, the same everywhere."""
    k = np.arange(math.prod(shape)) + seed
    return (np.sin(1.0 + 2.3 * k + 0.01 * k * k) + 1j * np.cos(0.4 + 1.9 * k)).reshape(shape)


def layer_call(line: str) -> tuple[str, Any, list[Any]]:
    """The name of a layer, a call of it on its parameters and input, and the values of these.

    A line says the layer with its arguments, the shape of its input, and its further arguments.
    """
    text, _, given = line.rpartition(": ")
    shape, *others = given.split(", ")
    sizes = [tuple(int(n) for n in s.split("x")) for s in (shape, *others) if s[0].isdigit()]
    rg.manual_seed(0)
    module = eval(text, {"nn": nn, "rg": rg})
    names = [name for name, _ in module.named_parameters()]
    values = [spread(p.shape, 7.0 * i) * 0.5 for i, p in enumerate(module.parameters())]

    def call(*leaves: Any) -> Any:
        more = leaves[: len(sizes)]
        x = more[0]
        made = {
            "same": x,
            "other": rg.tensor(spread(x.shape, 31.0), dtype=x.dtype) * 0.7,
            "third": rg.tensor(spread(x.shape, 57.0), dtype=x.dtype),
            "classes": rg.arange(len(x)) % 3,
            "signs": rg.tensor([1.0, -1.0, 1.0]),
        }
        rest = iter(more[1:])
        args = [next(rest) if o[0].isdigit() else made[o] for o in others]
        rg.manual_seed(1)
        buffers = {name: fitted(name, b, x) for name, b in module.named_buffers()}
        params = dict(zip(names, leaves[len(sizes) :], strict=True))
        return rg.func.functional_call(module, {**params, **buffers}, (x, *args))

    inputs = [spread(size, 3.0 * i) for i, size in enumerate(sizes)]
    return text.partition("(")[0], call, [(v, True) for v in (*inputs, *values)]


def fitted(name: str, buffer: Any, x: Any) -> Any:
    """A buffer of a layer in the precision of its input; only variances stay real."""
    if buffer.is_complex() or name == "running_mean":
        return buffer.to(x.dtype)
    return buffer.to(x.real.dtype) if buffer.is_floating_point() else buffer


# -- one call in all modes ------------------------------------------------------------------------


class Elsewhere(Exception):  # noqa: N818 (nothing is wrong)
    """A call stands at a jump or a kink, where there is nothing to compare."""


class Constant(Exception):  # noqa: N818 (nothing is wrong)
    """A call has no results with derivatives."""


def inner(a: Any, b: Any) -> float:
    """The real inner product of two lists of tensors: the sum of Re(conj(a) b)."""
    return float(sum((x.conj() * y).real.double().sum().item() for x, y in zip(a, b, strict=True)))


def leaves_of(values: Any, dtype: str) -> list[Any]:
    """Pairs of values and whether they are leaves, as tensors of a precision."""
    kinds = {"c": dtype, "f": "float64" if dtype == "complex128" else "float32"}
    return [
        rg.tensor(v, dtype=getattr(rg, kinds.get(v.dtype.kind, str(v.dtype))), requires_grad=wanted)
        for v, wanted in values
    ]


def outputs(call: Any, leaves: Any) -> list[Any]:
    """The floating results of a call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = ops_format.tensors(call(*leaves))
    return [t for t in found if t.is_floating_point() or t.is_complex()]


def weights(outs: Any, seed: float) -> list[Any]:
    """A cotangent or a direction for every tensor."""
    made = [spread(t.shape, seed + 11.0 * i) for i, t in enumerate(outs)]
    return [
        rg.tensor(w if t.is_complex() else w.real, dtype=t.dtype)
        for w, t in zip(made, outs, strict=True)
    ]


def first(call: Any, leaves: Any, create_graph: bool = False) -> tuple[list[Any], list[Any]]:
    """The results of a call, and the gradients of its leaves."""
    outs = [t for t in outputs(call, leaves) if t.requires_grad]
    wanted = [t for t in leaves if t.requires_grad]
    grads = rg.autograd.grad(
        outs, wanted, weights(outs, 5.0), create_graph=create_graph, materialize_grads=True
    )
    return outs, list(grads)


def twice(call: Any, leaves: Any) -> list[Any]:
    """The gradients of an inner product of the gradients."""
    wanted = [t for t in leaves if t.requires_grad]
    _, grads = first(call, leaves, create_graph=True)
    live = [(g, v) for g, v in zip(grads, weights(grads, 17.0), strict=True) if g.requires_grad]
    if not live:
        return [rg.zeros_like(t) for t in wanted]
    return list(
        rg.autograd.grad([g for g, _ in live], wanted, [v for _, v in live], materialize_grads=True)
    )


def moved(leaves: Any, moves: Any, size: float) -> list[Any]:
    """The leaves a step away."""
    step = iter(moves)
    return [
        (t.detach() + size * next(step)).requires_grad_() if t.requires_grad else t for t in leaves
    ]


def change(function: Any, leaves: Any, moves: Any) -> float:
    """The derivative of a function of leaves along a direction; `Elsewhere` where it has none."""
    found = []
    for h in (STEP, STEP / 4):
        above, below = (function(moved(leaves, moves, s * h)) for s in (1, -1))
        found.append((above - below) / (2 * h))
    if not math.isfinite(found[0]) or abs(found[0] - found[1]) > 1e-4 * max(1.0, abs(found[1])):
        raise Elsewhere
    return found[0]


def agree(found: float, expected: float, what: str) -> None:
    """Raise unless two derivatives agree."""
    if not abs(found - expected) <= TOLERANCE * max(1.0, abs(expected)):
        raise AssertionError(f"{what}: {found}, by differences {expected}")


def close(singles: Any, doubles: Any, what: str) -> None:
    """Raise unless results in single precision are those in double precision."""
    for a, b in zip(singles, doubles, strict=True):
        if b.numel() and b.isfinite().all():
            size = max(1.0, b.abs().max().item())
            worst = (a.to(b.dtype) - b).abs().max().item()
            if not worst <= SINGLE * size:
                raise AssertionError(f"{what}: complex64 is off by {worst} of {size}")


def cells(call: Any, values: Any, drawn: bool) -> dict[tuple[str, str], str]:
    """Why a call fails, by dtype and mode; "" where it is right.

    What is `drawn` is another number in another precision, so these are not compared.
    """
    doubles, singles = leaves_of(values, "complex128"), leaves_of(values, "complex64")
    moves = weights([t for t in doubles if t.requires_grad], 29.0)
    along: dict[str, float] = {}

    def value(at: Any) -> float:
        found = [t for t in outputs(call, at) if t.requires_grad]
        return inner(weights(found, 5.0), found)

    def slope(at: Any) -> float:
        found = first(call, at)[1]
        return inner(weights(found, 17.0), found)

    def forward(leaves: Any, dtype: str) -> None:
        found = outputs(call, leaves)
        if not any(t.requires_grad for t in found):
            raise Constant
        if dtype == "complex64" and not drawn:
            close(found, outputs(call, doubles), "forward")

    def backward(leaves: Any, dtype: str) -> None:
        found = first(call, leaves)[1]
        along[dtype] = inner(found, moves)
        if dtype == "complex128":
            agree(along[dtype], change(value, leaves, moves), "backward")
        elif not drawn:
            close(found, first(call, doubles)[1], "backward")

    def again(leaves: Any, dtype: str) -> None:
        found = twice(call, leaves)
        if dtype == "complex128":
            agree(inner(found, moves), change(slope, leaves, moves), "twice")
        elif not drawn:
            close(found, twice(call, doubles), "twice")

    def pushed(leaves: Any, dtype: str) -> None:
        step = iter(moves)
        with forward_ad.dual_level():
            duals = [
                forward_ad.make_dual(t.detach(), next(step).to(t.dtype)) if t.requires_grad else t
                for t in leaves
            ]
            pairs = [forward_ad.unpack_dual(t) for t in outputs(call, duals)]
            pairs = [p for p in pairs if p.tangent is not None]
            found = inner(weights([p.primal for p in pairs], 5.0), [p.tangent for p in pairs])
        limit = TOLERANCE if dtype == "complex128" else SINGLE
        if not abs(found - along[dtype]) <= limit * max(1.0, abs(along[dtype])):
            raise AssertionError(f"forward mode: {found}, by the gradient {along[dtype]}")

    made = {}
    for dtype, leaves in zip(DTYPES, (singles, doubles), strict=True):
        for mode, run in zip(MODES, (forward, backward, again, pushed), strict=True):
            made[dtype, mode] = reason(run, leaves, dtype)
            if made[dtype, mode]:
                made.update(
                    dict.fromkeys(
                        [(dtype, m) for m in MODES if (dtype, m) not in made], made[dtype, mode]
                    )
                )
                break
    return made


def reason(run: Any, *args: Any) -> str:
    """Why something fails, or "" where it does not."""
    try:
        run(*args)
    except Constant:
        return "no derivative: tells places, counts or compares"
    except Elsewhere:
        return "elsewhere"
    except AssertionError as error:
        return f"WRONG: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


# -- rows -----------------------------------------------------------------------------------------

BY = ORDERED - CHOOSING  # take complex numbers where `by=` says which order is meant
# Why ops refuse complex numbers.
ORDER = "complex numbers have no order"
REAL = "of real numbers by its definition"
PARTS = "its inputs are the parts of complex numbers"
WHY = {
    ORDER: "__rmod__ fmod remainder mode quantile nanquantile nextafter copysign",
    PARTS: "complex polar view_as_complex",
    REAL: "deg2rad rad2deg erfinv fft.ihfft fft.ihfft2 fft.ihfftn fft.rfft fft.rfft2 fft.rfftn "
    "frexp hypot logaddexp2 nn.functional.multi_margin_loss nn.functional.multilabel_margin_loss "
    "nn.KLDivLoss nn.MultiMarginLoss nn.MultiLabelMarginLoss special.i0e special.i1e special.ndtri",
}
# Functions of Hermitian matrices: along other directions differences mean nothing.
HERMITIAN = ("cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.eigh", "linalg.eigvalsh")
# Casts to single or half precision, whose differences are rounding; what only draws.
OMITTED = ("bfloat16", "cfloat", "float", "half", "normal", "bernoulli")
DRAWN = ("rrelu", "RReLU", "fractional_max_pool2d", "fractional_max_pool3d", "FractionalMaxPool2d",
         "FractionalMaxPool3d", "multi_head_attention_forward")  # fmt: skip


def op_call(name: str, expression: str) -> Any:
    """A stored call as a function of its inputs."""
    if name in BY:
        expression = expression[:-1] + ", by='modulus')"

    def call(*inputs: Any) -> Any:
        rg.manual_seed(1)
        given = list(inputs)
        if name in HERMITIAN:
            x = given[0]
            given[0] = x + x.mH if "eig" in name else x @ x.mH + 4 * rg.eye(x.shape[-1])
        return ops_format.run(rg, expression, given, False)[0]

    return call


def complexified(name: str, inputs: Any, most: int) -> list[tuple[Any, bool]]:
    """The values of a stored call, of those that require a gradient the first few complex."""
    made, left = [], most
    labels = len(inputs) - 1 if name.endswith("embedding_loss") else None
    for i, (_, array, needed) in enumerate(inputs):
        values, wanted = array.copy(), needed and i != labels
        if wanted and left and array.dtype.kind == "f":
            values = values + 1j * spread(array.shape, 3.0 + 40.5 * i).imag * 0.3
            left -= 1
        made.append((values, wanted))
    return made


def ops() -> dict[str, list[tuple[Any, list[Any]]]]:
    """The calls of every op, with complex inputs."""
    found: dict[str, list[tuple[Any, list[Any]]]] = {}
    for name, calls in ops_format.read().items():
        kinds = [{dtype for dtype, _, wanted in inputs if wanted} for _, inputs, *_ in calls]
        best = next((k for k in ("complex128", "float64") if {k} in kinds), None)
        if best is None or name in OMITTED:
            continue
        chosen = [c for c, kind in zip(calls, kinds, strict=True) if kind == {best}]
        found[name] = [
            (op_call(name, expression), complexified(name, inputs, most))
            for expression, inputs, *_ in chosen[:4]
            for most in ([9, 1] if best == "float64" else [9])
        ]
    return found


def layers() -> dict[str, list[tuple[Any, list[Any]]]]:
    """A call of every layer; several of one name are one row."""
    found: dict[str, list[tuple[Any, list[Any]]]] = {}
    for line in LAYERS.read_text().splitlines():
        name, call, values = layer_call(line)
        found.setdefault(name, []).append((call, values))
    return found


def row(name: str, calls: Any) -> tuple[dict[tuple[str, str], str], str]:
    """The cells of an op or a layer, of all calls that it takes; and a remark."""
    found = [cells(call, values, name.rpartition(".")[2] in DRAWN) for call, values in calls]
    ran = [f for f in found if "elsewhere" not in f.values()]
    taken = [f for f in ran if not f["complex128", "forward"].startswith(REFUSALS)]
    if not taken:
        return (ran or found)[0], next(
            (why for why, names in WHY.items() if name in names.split()), ""
        )
    wrong = {key: next((f[key] for f in taken if f[key]), "") for key in taken[0]}
    return wrong, "with `by=`" if name in BY else next(filter(None, wrong.values()), "")


REFUSALS = (
    "RuntimeError",
    "UnorderedError",
    "NotImplementedError",
    "TypeError",
    "IndexError",
    "ValueError",
)


def rows() -> dict[str, tuple[list[str], str]]:
    """For every op and layer the marks of its cells, by dtype and mode, and a remark."""
    made = {}
    for name, calls in {**ops(), **layers()}.items():
        found, remark = row(name, calls)
        made[name] = ["✗" if found[d, m] else "✓" for d in DTYPES for m in MODES], remark
    return made


# The topics, first what users meet first; of what is in no module of its own, the families of ops.
TOPICS = {
    "Arithmetic and functions of each element": ["elementwise", "core", "activation", "tensor"],
    "Sums, extrema, order": ["reduction", "sorting"],
    "Products and linear algebra": ["linalg"],
    "Shapes, indices, casts": ["shape", "indexing", "dtypes"],
    "Fourier transforms": ["fft"],
    "Layers": ["nn"],
    "Layers of complex networks": ["nn.complex"],
    "Functions of networks": ["nn.functional"],
    "Special functions": ["special"],
    "Masked reductions": ["masked"],
    "PyTorch's older and copying names": ["PyTorch's world"],
}


def topic(name: str) -> str:
    """Where a reader looks for an op or a layer."""
    place = name.rpartition(".")[0]
    if not place:
        value = getattr(rg, name, None) or getattr(rg.Tensor, name)
        place = "shape" if isinstance(value, property) else reference.family(value)
    return next(title for title, places in TOPICS.items() if place in places)


def works(marks: list[str]) -> str:
    """The cell of a name: a mark where all eight are the same, else what works."""
    if len(set(marks)) == 1:
        return marks[0]
    runs = [f"{dtype} {mode}" for dtype in DTYPES for mode in MODES]
    return ", ".join(run for run, mark in zip(runs, marks, strict=True) if mark == "✓")


def page() -> str:
    """The page: a table for each topic, a row for each name."""
    found = rows()
    tables: dict[str, list[str]] = {title: [] for title in TOPICS}
    for name, (marks, remark) in found.items():
        tables[topic(name)].append(f"| `{name}` | {works(marks)} | {remark} |")
    parts = [HEAD.format(count=len(found))]
    for title, lines in tables.items():
        parts.append(f"\n## {title}\n\n| name | | |\n|---|---|---|\n" + "\n".join(lines) + "\n")
    return "".join(parts)


HEAD = """# Complex numbers, op by op

This table has every op that has a derivative and every layer, {count} in all. Each was run with
complex64 and with complex128, in four ways: the result, its gradient, the gradient of the gradient,
and forward mode. ✓ means that all eight runs are right. ✗ means that the call raises an error; the
last column says why. In complex128 the derivatives are compared with finite differences in the 2n
real variables, and tangents with gradients. Results in complex64 are compared with those in
complex128. `docs/make_complex.py` writes this page, and a test runs it again.

<!-- searchable -->
"""

if __name__ == "__main__":
    PAGE.write_text(page())

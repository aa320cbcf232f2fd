"""Programs of masked tensors, and what PyTorch gives for each.

As a script, with PyTorch installed, this writes `masked.json`. A case is an expression in `L` (the
library) and the tensors of `inputs`. Its reference is the result, and the gradients of the leaves
`x` and `W` for the sum of the result; or the error's type.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import warnings
from pathlib import Path

UNARY = """
abs absolute acos arccos angle asin arcsin atan arctan atanh ceil cos cosh deg2rad digamma erf
erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit i0 isnan nan_to_num
neg negative positive rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt
square tan tanh trunc asinh acosh conj_physical
"""
BINARY = """
add atan2 div divide floor_divide fmod logaddexp logaddexp2 mul multiply remainder sub subtract
true_divide eq ne le ge greater greater_equal gt less_equal lt less maximum minimum fmax fmin
not_equal nextafter
"""
REDUCTIONS = "sum mean amin amax argmin argmax prod all var std"
ALONG = "softmax log_softmax softmin cumsum cumprod normalize median"
MASKED = "sum mean amin amax argmin argmax prod var std logsumexp"
DTYPES = "bool uint8 int16 int64 float16 bfloat16 float32 float64 complex64 complex128"
MASKS = ["None", "some", "rows", "nothing", "last"]
DIMS = ("1", "-1", "None", "(0, 2)", "0, keepdim=True", "(0, 1, 2), keepdim=True", "()")
PROGRAMS = """
x
x.get_data()
x.get_mask()
x.to_tensor(7.0)
x.dtype
x.layout
x.is_sparse
x.is_sparse_coo()
x.shape
x.ndim
x.numel()
len(x)
x.requires_grad
x.is_leaf
n
b
y[0]
y[1, 2]
y[:, 1]
y[..., 0]
x[None]
y[:, 1:]
x[::1]
x[x.get_mask()]
x[L.tensor([0, 0, 1])]
x[[0, 1]]
x.view(3, 2)
x.reshape(-1)
x.flatten()
x.t()
x.transpose(0, 1)
x.unsqueeze(1)
x.expand(2, 2, 3)
x.split(2, 1)
x.chunk(2, 1)
y.select(1, 0)
y.narrow(1, 0, 2)
x.unfold(1, 2, 1)
y.contiguous()
x.clone()
x.detach()
x.double()
x.to(L.float64)
x.half()
L.cat([x, y], 1)
L.stack([x, y])
L.ones_like(x)
x + 1
x - 2.0
x * 3
x / 4
x ** 2
-x
1 + x
2 * x
1 / x
x + y
x * y
x + w
w + x
x * v
v * x
x < y
x < 1
x == y
x > w
x.item()
x[0, 0].item()
x[0, 1].item()
float(x[0, 2])
x.sum().item()
x.mean(dim=1, keepdim=True)
x.sum(0, True)
x.amax(1, keepdim=True)
x.softmax(0)
x.softmax(-1)
L.softmax(x, 1)
L.nn.functional.softmax(x, 1)
L.where(m, x, other)
L.where(m, x, w)
L.where(w > 1, y, y + 1)
x.clamp(0.5, 2.0)
x.clip(0.5, 2.0)
L.pow(x, 3)
L.round(x)
n + 1
n & 3
n | 1
n ^ 5
~b
b & b
n.sum()
n.prod(1)
n.amax(0)
b.all()
b.all(1)
x * W
W * x
x / W
x + W
x - W
(x * W).sum(0)
x.exp().sum(1)
(x * x).mean(0)
x.get_data() * 2
x.to_tensor(5.0) * w
x.to_dense() if x.is_sparse else x
L.masked.as_masked_tensor(W * 2, m)
L.masked.as_masked_tensor(W / zeros, zeros != 0)
L.masked.as_masked_tensor(W, m) * x
L.masked.as_masked_tensor(L.log(W - 1), m)
L.masked.masked_tensor(d, L.zeros(2, 3, dtype=L.bool)).sum()
L.masked.masked_tensor(d, L.zeros(2, 3, dtype=L.bool)).amax()
L.masked.masked_tensor(d, L.zeros(2, 3, dtype=L.bool)).mean(1)
L.masked.masked_tensor(d, m).sin_()
L.masked.masked_tensor(d, m).add_(1)
L.masked.masked_tensor(d, m).mul_(w)
L.masked.masked_tensor(d, m).copy_(y)
L.masked.is_masked_tensor(x)
L.masked.is_masked_tensor(w)
isinstance(x, L.Tensor)
L.masked.masked_tensor(d, w)
L.masked.masked_tensor(d, m[0])
L.masked.masked_tensor(d, m[:, :2])
L.masked.masked_tensor([1.0], m)
L.masked.masked_tensor(d, [True])
L.masked.masked_tensor(x, m)
L.masked.masked_tensor(d, x)
L.masked.masked_tensor(d.to_sparse(), m)
L.masked.masked_tensor(n.get_data(), m, requires_grad=True)
x + other
x * other
x == other
x.sort()
s
s.layout
s.is_sparse
s.is_sparse_coo()
s.is_sparse_csr()
s.get_data().to_dense()
s.get_mask().to_dense()
s.to_dense()
s.sin()
s + s
s * 2
s + 1
s.square()
s.sum()
s.amax()
s.amin()
s.prod()
s.to_dense().sum(1)
r
r.layout
r.is_sparse_csr()
r.to_dense()
r.sin()
r + r
r * 2
r.sum()
r.amax()
s + r
s + x
y.to_sparse()
y.to_sparse_coo()
y.to_sparse_csr()
y.to_sparse().to_dense()
y.to_sparse().sin().to_dense()
L.masked.masked_tensor(d.to_sparse_csc(), m.to_sparse_csc())
L.masked.masked_tensor(s.get_data(), other_places)
"""


def programs():
    """The expressions of all cases."""
    yield from (f"u.{name}()" for name in UNARY.split())
    for name in BINARY.split():
        yield from (f"L.{name}(y, w)", f"L.{name}(y, y)")
    for name in REDUCTIONS.split():
        yield from (f"x.{name}{rest}" for rest in ("()", "(0)", "(1)"))
    for name in MASKED.split():
        dims = ("0", "1") if "arg" in name else ("0", "1", "(0, 1)")
        yield from (f"L.masked.{name}(x, {dim}, mask=m)" for dim in dims)
    yield from (
        f"L.masked.{name}(x, 1) * w" for name in ("softmax", "softmin", "cumsum", "cumprod")
    )
    yield from ("L.masked.norm(x, 2.0, 1)", "L.masked.normalize(x, 2.0, 1) * w")
    yield from ("L.masked.median(x, 1)", "L.masked.log_softmax(x, 1)[m]")
    yield from PROGRAMS.strip().splitlines()


def reductions():
    """Functions of `masked` of plain tensors: all dtypes and masks, along some dimensions."""
    dims = itertools.cycle(DIMS)
    for name, dtype, mask in itertools.product((*MASKED.split(), "norm"), DTYPES.split(), MASKS):
        dim = next(dims)
        if name.startswith("arg") and "(" in dim:
            dim = "2"
        first = "2.0, " if name == "norm" else ""
        yield f"L.masked.{name}(of(L.{dtype}), {first}{dim}, mask={mask})"
        if mask == "some" and name[:3] not in ("arg", "log"):
            yield f"L.masked.{name}(of(L.{dtype}), {first}1, dtype=L.complex128, mask=some)"
    for name, dtype, mask in itertools.product(ALONG.split(), DTYPES.split(), MASKS):
        if name == "median" and "complex" in dtype:  # PyTorch drops imaginary parts
            continue
        first = "2.0, " if name == "normalize" else ""
        yield f"L.masked.{name}(of(L.{dtype}), {first}1, mask={mask})"


def inputs(L):
    """The tensors that programs name; `x`, `u` and `W` are leaves that want gradients."""
    masked_tensor = L.masked.masked_tensor
    d = L.tensor([[1.0, 2.0, 0.5], [3.0, -1.0, 0.25]], dtype=L.float64)
    m = L.tensor([[True, False, True], [True, True, False]])
    w = L.tensor([[2.0, 0.5, 1.0], [1.5, -3.0, 4.0]], dtype=L.float64)
    u = L.tensor([[0.5, 2.0, 0.25], [0.75, 0.125, -4.0]], dtype=L.float64)
    places = L.tensor([[0, 0, 1], [2, 0, 1]])
    values, kept = L.tensor([3.0, 4.0, 5.0]), L.tensor([True, False, True])
    s = masked_tensor(
        L.sparse_coo_tensor(places, values, (2, 3)), L.sparse_coo_tensor(places, kept, (2, 3))
    )
    data = L.sparse_coo_tensor(places, values, (2, 3)).to_sparse_csr()
    mask = L.sparse_csr_tensor(data.crow_indices(), data.col_indices(), kept, (2, 3))
    some = [
        [[True, False], [True, True], [False, True]],
        [[False, True], [False, True], [True, True]],
    ]
    return {
        "L": L,
        "of": lambda dtype: numbers_of(L, dtype),
        "some": L.tensor(some),
        "rows": L.tensor([[[True], [False], [True]], [[True], [False], [False]]]),
        "nothing": L.zeros(2, 3, 2, dtype=L.bool),
        "last": L.tensor([True, False]),
        "d": d,
        "m": m,
        "w": w,
        "v": w[0],
        "zeros": L.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0]], dtype=L.float64),
        "x": masked_tensor(d, m, requires_grad=True),
        "u": masked_tensor(u, m, requires_grad=True),
        "y": masked_tensor(w - 1, m),
        "W": w.clone().requires_grad_(),
        "n": masked_tensor(L.tensor([[3, 4, 5], [6, 7, 8]]), m),
        "b": masked_tensor(m.t().reshape(2, 3), m),
        "other": masked_tensor(d + 10, ~m),
        "s": s,
        "r": masked_tensor(data, mask),
        "other_places": L.sparse_coo_tensor(places.flip(0) % 2, kept, (2, 3)),
    }


def numbers_of(L, dtype):
    """A tensor (2, 3, 2) of a dtype."""
    found = L.tensor([[[3, 1], [4, 0], [5, 2]], [[0, 6], [2, 3], [1, 1]]]).to(dtype)
    if dtype.is_complex:
        return found + 0.5j * found.flip(2)
    return found / 2 - 1 if dtype.is_floating_point else found


def numbers(tensor):
    """The elements as a flat list that JSON can hold; a complex number as a pair."""
    found = tensor.reshape(-1).tolist()
    if tensor.is_complex():
        return [[number(x.real), number(x.imag)] for x in found]
    return list(map(number, found))


def number(x):
    """A number as JSON can hold it."""
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x


def describe(L, value):
    """A result as JSON can hold it; what is masked out is None."""
    if isinstance(value, (tuple, list)) and not isinstance(value, L.Size):
        return [describe(L, each) for each in value]
    if isinstance(value, L.Size):
        return list(value)
    if L.masked.is_masked_tensor(value):
        layout = str(value.layout).rpartition(".")[2]
        dense = value.detach().to_dense()
        pairs = zip(numbers(dense.get_data()), numbers(dense.get_mask()), strict=True)
        elements = [number if kept else None for number, kept in pairs]
        return ["masked", str(value.dtype).rpartition(".")[2], layout, list(value.shape), elements]
    if isinstance(value, L.Tensor):
        return ["plain", str(value.dtype).rpartition(".")[2], list(value.shape), numbers(value)]
    return value if isinstance(value, (bool, int, float)) else str(value).rpartition(".")[2]


def run(L, program, differentiate):
    """What a program gives, and the gradients of its leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = inputs(L)
        try:
            found = eval(program, given)
        except Exception as error:
            return {"raises": type(error).__name__}
        result = {"gives": describe(L, found)}
        if differentiate and getattr(found, "grad_fn", None) is not None:
            found.sum().backward()
            for name in ("x", "u", "W"):
                if given[name].grad is not None:
                    result[name] = describe(L, given[name].grad)
    return result


def reference(torch, program):
    """A case; without gradients where PyTorch's formulas call what masked tensors have not."""
    try:
        return [program, True, run(torch, program, True)]
    except (TypeError, RuntimeError):
        return [program, False, run(torch, program, False)]


def main():
    """Write the file; of reductions what PyTorch refuses is left out."""
    torch = importlib.import_module("torch")
    cases = [reference(torch, program) for program in programs()]
    cases += [case for case in (reference(torch, r) for r in reductions()) if "gives" in case[2]]
    text = ",\n".join(map(json.dumps, cases))
    Path(__file__).with_name("masked.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()

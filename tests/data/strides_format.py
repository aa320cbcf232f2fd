"""Calls with inputs in many memory layouts, and the strides that PyTorch gives for them.

`strides.json` has calls: `[op, expression, inputs, {answer: layouts}]`. Expressions and inputs are
as in `ops_format.py`; the inputs' numbers are those that `ops.npz` has for a call of that op there,
or follow from their descriptions, for what has no op. A layout is a letter, see `laid`; that of a
capital is the first input's, and all others are contiguous; `MIXED` has those for several inputs.

An answer has the strides of the results and, where there are gradients, those of their copies for
three cotangents: contiguous, in the layout of the result, and one element expanded. A gradient owns
its memory here, where PyTorch's may be a part of the cotangent: so copies, which lie as it does.
"""

import json
import math
import warnings

import numpy as np
from numpy.lib.stride_tricks import as_strided

if __package__:
    from . import ops_format
else:
    import ops_format

FILE = ops_format.HERE / "strides.json"
LAYOUTS = "ctmfpnseTMFPNSEklz"
MIXED = {"k": "tmc", "l": "ctt", "z": "mtf"}  # those of the first operands, and of all others


def numbers(spec, place):
    """An array for a description such as "d3x4": numbers between 0 and 1, or whole ones below 2."""
    sizes = spec[1:].rstrip("*")
    shape = tuple(int(n) for n in sizes.split("x")) if sizes else ()
    steps = np.arange(math.prod(shape)).reshape(shape) + 3 * place
    dtype = np.dtype(ops_format.LETTERS[spec[0]])
    if dtype.kind in "bi":
        return (steps % 3 % 2).astype(dtype)
    values = 0.5 + 0.4 * np.cos(1.0 + 1.7 * steps)
    return (values * (1 + 0.5j) if dtype.kind == "c" else values).astype(dtype)


# -- layouts -------------------------------------------------------------------------------------


def order(ndim, letter):
    """The dimensions from the outermost in memory to the innermost, or None: no such layout."""
    dims = list(range(ndim))
    orders = {
        "c": (0, dims),
        "t": (2, [*dims[1::-1], *dims[2:]]),
        "m": (3, [*dims[:-2], *dims[:-3:-1]]),
        "f": (3, dims[::-1]),
        "p": (3, [*dims[1:], 0]),
        "n": (4, [0, *dims[2:], 1]),
    }
    least, found = orders[letter]
    return found if ndim >= least else None


def laid(array, letter):
    """A copy of `array` in a layout, or None if its shape has none.

    c contiguous, t the first two dimensions exchanged, m the last two, f reversed, p the first
    innermost, n channels innermost, s every second element, e the first dimension expanded.
    """
    if letter == "s" and array.ndim:
        return np.repeat(array, 2, -1)[..., ::2]
    if letter == "e" and array.ndim and array.shape[0] > 1:
        return as_strided(array[:1].copy(), array.shape, (0, *array[:1].strides[1:]))
    dims = None if letter in "se" else order(array.ndim, letter)
    return dims and array.transpose(dims).copy().transpose(np.argsort(dims))


def arranged(arrays, letter):
    """The arrays in a layout, or None where that is no other."""
    several = sum(array.ndim > 1 for array in arrays) > 1
    if (letter.isupper() or letter in MIXED) and not several:
        return None
    each = MIXED.get(letter, f"{letter.lower()}--" if letter.isupper() else letter * 3)
    found = [
        None if (own := each[min(at, 2)]) == "-" else laid(a, own) for at, a in enumerate(arrays)
    ]
    if all(a is None for a in found):
        return None
    return [a.copy() if b is None else b for a, b in zip(arrays, found, strict=True)]


# -- what a library gives ------------------------------------------------------------------------


def strides(t):
    """The strides of a tensor, in elements: "C" for contiguous, "-" for no tensor, "." for size 1.

    All orders of an empty tensor are one, as are all strides of a dimension of size 1.
    """
    if t is None:
        return "-"
    if t.numel() == 0 or t.is_contiguous():
        return "C"
    pairs = zip(t.stride(), t.shape, strict=True)
    return "x".join("." if n == 1 else str(step) for step, n in pairs)


def cotangents(lib, outs):
    """Those of the module's text, for all results at once."""
    flat = [lib.ones(tuple(t.shape), dtype=t.dtype) for t in outs]
    yield flat
    yield [lib.empty_like(t).copy_(g) for t, g in zip(outs, flat, strict=True)]
    yield [lib.ones((), dtype=t.dtype).expand(tuple(t.shape)) for t in outs]


def answer(lib, expression, arrays, wanted, create_graph=False):
    """The strides that a call gives in a library: of the results, then of gradients."""
    x = [lib.from_numpy(a).requires_grad_(w) for a, w in zip(arrays, wanted, strict=True)]
    lib.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        named = {f"x{at}": t for at, t in enumerate(x)}
        value = eval(ops_format.compiled(expression), {"lib": lib, **ops_format.NAMES, **named})
        found = ops_format.tensors(value)
        parts = [found]
        outs, leaves = [t for t in found if t.requires_grad], [t for t in x if t.requires_grad]
        for given in cotangents(lib, outs) if outs and leaves else ():
            grads = lib.autograd.grad(outs, leaves, given, True, create_graph, allow_unused=True)
            parts.append([g if g is None else g.clone() for g in grads])
    return [[strides(t) for t in part] for part in parts]


def read():
    """(op, expression, arrays, which require gradients, {layout: answer}) of each call."""
    known = {
        (name, call[0], tuple(array.shape for _, array, _ in call[1])): call[1]
        for name, calls in reversed(ops_format.read().items())
        for call in reversed(calls)
    }
    for name, expression, specs, answers in json.loads(FILE.read_text()):
        arrays = [numbers(spec, place) for place, spec in enumerate(specs)]
        given = known.get((name, expression, tuple(a.shape for a in arrays)))
        if given is not None:
            arrays = [array for _, array, _ in given]
        wanted = [spec.endswith("*") for spec in specs]
        each = {letter: text for text, letters in answers.items() for letter in letters}
        yield name, expression, arrays, wanted, {k: parsed(text) for k, text in each.items()}


def text_of(parts):
    """An answer as text; gradients that are alike for all cotangents once."""
    if len(parts) > 1 and parts[1] == parts[2] == parts[3]:
        parts = parts[:2]
    return "|".join(" ".join(part) for part in parts)


def parsed(text):
    """The answer that the text says."""
    parts = [part.split(" ") if part else [] for part in text.split("|")]
    return parts if len(parts) != 2 else parts + parts[1:] * 2

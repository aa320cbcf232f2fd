"""Calls of ops and what PyTorch made of them: the form in which `make_ops.py` stores them.

`ops.json` has the calls of each op, `ops.npz` the numbers. A call is

    [expression, inputs, results, gradients]

In the expression `lib` is either library, and `x0`, `x1` ... are the inputs. The rest are arrays,
as a letter for the dtype and a shape ("d3x2": float64, 3 by 2). Their numbers follow each other in
the pool of their dtype, in the order of the file.
- Inputs that end in "*" require a gradient.
- Results are the tensors in what the expression gives, in order; a result without tensors is
  "= repr"; "~" before a result says that only shape and dtype count (random numbers).
- Gradients, for the cotangents that `cotangent` makes, are those of the inputs with "*"; "0" where
  there is none. The field is missing if there are none to compare.

`read` gives the calls with their numbers, `run` carries one out; neither needs PyTorch.
"""

import functools
import json
import math
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

# A letter per dtype; bfloat16, which NumPy lacks, is kept as float32.
LETTERS = {"d": "float64", "f": "float32", "D": "complex128", "F": "complex64", "l": "int64",
           "i": "int32", "h": "int16", "b": "int8", "B": "uint8", "?": "bool", "e": "float16",
           "E": "bfloat16"}  # fmt: skip
LETTER = {name: letter for letter, name in LETTERS.items()}

# -- both libraries ------------------------------------------------------------------------------


def tensors(value):
    """The tensors in a result, in order."""
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in tensors(part)]
    return [value] if hasattr(value, "requires_grad") else []


def cotangent(lib, t, place):
    """A fixed cotangent for a result: cosines, with sines as imaginary parts."""
    steps = range(math.prod(t.shape))
    values = [math.cos(1.0 + 0.7 * k + place) for k in steps]
    if t.dtype.is_complex:
        values = [complex(v, math.sin(0.3 * k + place)) for k, v in enumerate(values)]
    return lib.tensor(values, dtype=t.dtype).reshape(tuple(t.shape))


def magnitudes(parts):
    """Factors whose columns are only determined up to a phase: their absolute values."""
    return [part if part.ndim < 2 else part.abs() for part in parts]


NAMES = {"inf": math.inf, "nan": math.nan, "magnitudes": magnitudes}


@functools.cache
def compiled(expression):
    """The code of an expression."""
    return compile(expression, "<stored call>", "eval")


def run(lib, expression, inputs, derivatives):
    """What the expression gives on the inputs, and the gradients of those that require one."""
    x = {f"x{place}": t for place, t in enumerate(inputs)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = eval(compiled(expression), {"lib": lib, **NAMES, **x})
    outs = [t for t in tensors(value) if t.requires_grad]
    leaves = [t for t in inputs if t.requires_grad]
    if not (derivatives and outs and leaves):
        return value, None
    given = [cotangent(lib, t, place) for place, t in enumerate(outs)]
    return value, lib.autograd.grad(outs, leaves, given, allow_unused=True)


# -- reading -------------------------------------------------------------------------------------


def read():
    """{op: [(expression, inputs, results, gradients), ...]} with arrays in place of descriptions.

    An input is (dtype name, array, requires gradient), a result or gradient (dtype name, array).
    """
    stored = np.load(HERE / "ops.npz")
    pools = {LETTER[name]: unshuffled(stored[name], LETTER[name]) for name in stored.files}
    at = dict.fromkeys(LETTERS, 0)

    def array(spec):
        letter, sizes = spec[0], spec[1:].rstrip("*")
        shape = tuple(int(n) for n in sizes.split("x")) if sizes else ()
        start = at[letter]
        at[letter] += math.prod(shape)
        return LETTERS[letter], pools[letter][start : at[letter]].reshape(shape)

    def result(spec):
        if spec[0] == "=":
            return spec[2:]
        if spec[0] == "~":
            sizes = spec[2:]
            shape = tuple(int(n) for n in sizes.split("x")) if sizes else ()
            return LETTERS[spec[1]], shape
        return array(spec)

    def call(expression, inputs, results, gradients=None):
        return (
            expression,
            [(*array(spec), spec.endswith("*")) for spec in inputs],
            [result(spec) for spec in results],
            gradients and [None if spec == "0" else array(spec) for spec in gradients],
        )

    index = json.loads((HERE / "ops.json").read_text())
    return {name: [call(*each) for each in calls] for name, calls in index.items()}


def unshuffled(planes, letter):
    """The numbers of a pool, which is stored byte by byte: all first bytes, all second bytes ..."""
    dtype = np.dtype("float32" if letter == "E" else LETTERS[letter])
    return np.ascontiguousarray(planes.reshape(dtype.itemsize, -1).T).view(dtype).reshape(-1)

"""Laws of growth: eight times the elements take eight times the memory, and no more Python.

Each record runs its examples, and each public function the calls in `tests/data/ops.json`, with one
of their sizes made larger wherever it occurs, in two sizes whose inputs hold SMALL and eight times
as many elements; forward and backward. Memory is the peak that `tracemalloc` saw, for each byte of
inputs and outputs. Work is the bytecodes that Python executed, for each further element: what loops
over rows or elements executes some for each, what NumPy loops over none. Neither reads a clock;
`benchmarks/growth.py` does.
"""

from __future__ import annotations

import contextvars
import gc
import math
import re
import sys
import tracemalloc

import numpy as np
import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import new_tensor
from retrograd.kernels import native, sums
from retrograd.ops.linalg import distance

from .samples import Sample, at_least, draw, ops_format, stored

SMALL = 600  # elements of all inputs; what is done otherwise for few elements is left out
LARGEST = 50_000  # elements of inputs and outputs at SMALL: what grows beyond is not tried larger
MEMORY = 1.3  # by how much the bytes of the peak for each byte of inputs and outputs may grow
WORK = 0.5  # bytecodes for each further element

# Records whose examples have sizes that hang together otherwise than by being equal, or that give
# a square of what they get; or that have none which may be another.
UNMEASURED = {"refold", "unstrided", "lstm_gates", "gru_gates", "ldl_factor_ex", "col2im",
              "undiagonal", "over_storage", "attention_kept", "picked", "densify",
              "sparse_mm", "sampled_mm"}  # fmt: skip

# Public functions that make a cube of what they get, too large to try.
CUBES = {"expand", "expand_copy", "broadcast_to"}

# Those whose stored calls are of no tensor, or of sizes that hang together.
UNTRIED = {
    "arange", "broadcast_shapes", "combinations", "diagflat", "empty", "empty_permuted",
    "empty_strided", "eye", "fft.fft2", "fft.ifft2", "fft.ihfft2", "fft.rfft2", "fliplr",
    "flipud", "full", "histc", "histogramdd", "index_fill", "index_reduce", "istft", "item",
    "linalg.cross", "linalg.det", "linalg.ldl_solve", "linalg.lu_solve", "linalg.slogdet",
    "linalg.tensorinv", "linalg.tensorsolve", "linalg.vecdot", "linspace", "logdet", "logspace",
    "lu_solve", "lu_unpack", "masked.amax", "masked.amin", "masked.logsumexp", "masked.mean",
    "masked.norm", "masked.prod", "masked.sum", "nn.functional.adaptive_avg_pool1d",
    "nn.functional.adaptive_avg_pool3d", "nn.functional.avg_pool3d", "nn.functional.bilinear",
    "nn.functional.margin_ranking_loss", "nn.functional.max_unpool2d",
    "nn.functional.max_unpool3d", "nn.functional.normalize", "nn.functional.pixel_shuffle",
    "nn.functional.pixel_unshuffle", "nn.functional.unfold", "ones", "randint", "randn",
    "scalar_tensor", "signal.windows.bartlett", "signal.windows.blackman",
    "signal.windows.cosine", "signal.windows.exponential", "signal.windows.gaussian",
    "signal.windows.general_cosine", "signal.windows.general_hamming", "signal.windows.hamming",
    "signal.windows.hann", "signal.windows.kaiser", "signal.windows.nuttall",
    "split_with_sizes", "split_with_sizes_copy", "tril_indices", "triu_indices",
    "unsqueeze_copy", "zeros",
}  # fmt: skip


# What the stored calls leave out: the expression, and a spec for each input.
CALLS = {
    "multinomial with replacement": ("lib.multinomial(x0, 7, True)", "7"),
    "multinomial of rows": ("lib.multinomial(x0, 6, True)", "5x6"),
    "cdist": ("lib.cdist(x0, x1, 3.0)", "5x3", "4x3"),
    "cdist by products": ("lib.cdist(x0, x1, 2.0, 'use_mm_for_euclid_dist')", "5x3", "4x3"),
    "cdist of long vectors": ("lib.cdist(x0, x1, 3.0)", "6x6", "6x6"),
    "cdist of a stack": ("lib.cdist(x0, x1, 1.0)", "2x5x3", "4x3"),
    "pdist": ("lib.nn.functional.pdist(x0, 1.5)", "5x3"),
    "embedding_bag max": (
        "lib.nn.functional.embedding_bag(x1, x0, lib.arange(7), mode='max')",
        "6x4",
        "7:int<6",
    ),
    "searchsorted of rows": ("lib.searchsorted(x0.sort(-1).values, x1)", "5x4", "5x3"),
    "kthvalue": ("lib.kthvalue(x0, 2, 0)", "5x3"),
    "median": ("lib.median(x0, 1)", "5x3"),
    "adaptive_max_pool2d": ("lib.nn.functional.adaptive_max_pool2d(x0, (7, 5))", "1x2x5x7"),
    "adaptive_avg_pool2d": ("lib.nn.functional.adaptive_avg_pool2d(x0, (7, 5))", "1x2x5x7"),
    "lstsq": ("lib.linalg.lstsq(x0, x1).solution", "5x3", "5x2"),
    "local_response_norm": ("lib.nn.functional.local_response_norm(x0, 2)", "3x5x4"),
}

# Why some take more.
COLUMNS = "column after column, of which there are fewer than elements: NumPy has no such routine"
LGAMMA = "the C library's function, element by element: NumPy has none"
BLOCKS = "block after block, each of a fixed number of differences"
VIEWS = "a tensor for each part"
PATCHES = "the taps of a kernel as large as the image"
STACKS = "a gradient for each of a stack, which are then added up where the input is shared"
CONV_TRANSPOSE = [f"nn.functional.conv_transpose{dims}d" for dims in (1, 2, 3)]

MORE_MEMORY = {
    **dict.fromkeys(["conv", *CONV_TRANSPOSE], PATCHES),
    **dict.fromkeys(["euclidean_distance", "solve_triangular"], STACKS),
    "adaptive_max_pool2d": "the last dimension comes first, even if it is the one to grow",
    "nn.functional.embedding_bag": "a row for each index, as `embedding` gives",
    "nn.functional.multilabel_margin_loss": "a gap for each pair of a right class and another",
    "nn.functional.pdist": "differences, up to a block of a fixed size",
    "unique": "NumPy makes a row one number of a dtype that has a field for each column",
}
MORE_WORK = {
    **dict.fromkeys(["unbind", "unbind_copy", "tensor_split", "unsafe_split"], VIEWS),
    **dict.fromkeys(["solve_triangular", "cholesky_ex", "lu_factor_ex", "qr"], COLUMNS),
    **dict.fromkeys(["cholesky", "cholesky_inverse", "cholesky_solve"], COLUMNS),
    **dict.fromkeys(["linalg.cholesky", "linalg.cholesky_ex", "triangular_solve"], COLUMNS),
    **dict.fromkeys(["linalg.householder_product", "linalg.solve_triangular"], COLUMNS),
    **dict.fromkeys(["linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex", "lu"], COLUMNS),
    **dict.fromkeys(["linalg.ldl_factor", "linalg.ldl_factor_ex"], "its pivots differ by matrix"),
    **dict.fromkeys(["lgamma", "igamma", "igammac", "mvlgamma"], LGAMMA),
    **dict.fromkeys(CONV_TRANSPOSE, PATCHES),
    "lstm_layer": "its steps follow on each other",
    **dict.fromkeys([name for name in CALLS if "dist" in name], BLOCKS),
}


# -- a call in another size ------------------------------------------------------------------------


def sizes_of(specs):
    """The sizes above 1 in the shapes of specs as in `samples.draw`; none where there is a 0."""
    shapes = [spec.partition(":")[0].split("x") for spec in specs if spec != "none"]
    sizes = {int(n) for shape in shapes for n in shape if n}
    return [] if 0 in sizes else sorted(sizes - {1})


def respecified(spec, old, new):
    """A spec with the size `old` become `new`, in its shape and as the bound of its integers."""
    sizes, colon, kind = spec.partition(":")
    sizes = re.sub(rf"\b{old}\b", str(new), sizes.replace("x", " ")).replace(" ", "x")
    return sizes + colon + re.sub(rf"<{old}$", f"<{new}", kind)


def elements(specs):
    """How many there are in the shapes of all specs."""
    shapes = [spec.partition(":")[0].split("x") for spec in specs if spec != "none"]
    return sum(math.prod([int(n) for n in shape if n]) for shape in shapes)


def enlarged(specs, old, wanted):
    """What the size `old` must become for `wanted` elements."""
    new = old
    while elements([respecified(spec, old, new) for spec in specs]) < wanted:
        new += max(1, new // 16)
    return new


def exchanged(value, old, new):
    """A parameter with the size exchanged."""
    if isinstance(value, tuple):
        return tuple([exchanged(part, old, new) for part in value])
    return new if type(value) is int and value == old else value


# -- measuring -------------------------------------------------------------------------------------


class TooManyError(BaseException):
    """Ends a call that has executed more bytecodes than it may."""


def bytecodes(run, most=math.inf):
    """How many bytecodes Python executes in `run()`, which ends after `most`."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        if count > most:
            raise TooManyError
        return trace

    gc.disable()  # its callbacks are Python, too
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        contextvars.copy_context().run(run)  # what it ends in the middle of may not be undone
    except TooManyError:
        pass
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.fixture(autouse=True)
def _the_way_of_large_arrays(monkeypatch):
    """What changes the way is no growth."""
    monkeypatch.setattr(sums, "LARGE", 1)
    monkeypatch.setattr(sums, "MANY", 1)
    if native.loops is not None:
        native.loops.leave_small_out(True)
    yield
    if native.loops is not None:
        native.loops.leave_small_out(False)


def peak(run):
    """How many bytes are in use at most while `run()` runs, beyond those before."""
    gc.disable()  # what it would free, and when, depends on what ran before
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()


def backward(inputs, outputs):
    """Run the backward pass of outputs; return the outputs."""
    found = [t for t in outputs if t.requires_grad]
    leaves = [t for t in inputs if t is not None and t.requires_grad]
    if found and leaves:
        autograd.grad(found, leaves, [rg.ones_like(t) for t in found], allow_unused=True)
    return outputs


def measured(call, arrays, smaller=None):
    """(bytes, elements) of inputs and outputs, peak and bytecodes.

    None for a first call of more than LARGEST elements; after a `smaller` one, bytecodes are
    counted until there are too many.
    """
    arrays = [a for a in arrays if a is not None] + [t._array for t in call()]
    size, total = sum(a.size for a in arrays), sum(a.nbytes for a in arrays)
    del arrays
    if not smaller:
        return None if size > LARGEST or not total else (total, size, peak(call), bytecodes(call))
    most = smaller[3] + WORK * max(1, size - smaller[1])
    return total, size, peak(call), bytecodes(call, most)


def excess(make):
    """What `make(elements)`, a call and its arrays, takes too much: (memory, work) as texts.

    None where it cannot be made in other sizes, or gives too much to be tried in a larger one.
    """
    try:
        small = measured(*make(SMALL))
        large = small and measured(*make(8 * SMALL), small)
    except Exception:  # the sizes do not fit each other
        return None
    if not small:
        return None
    memory = large[2] / large[0] / (small[2] / small[0])
    if memory > MEMORY:  # it may hold what is made at the first use of something, so once more
        again = measured(*make(8 * SMALL), small)
        memory = again[2] / again[0] / (small[2] / small[0])
    work = (large[3] - small[3]) / max(1, large[1] - small[1])
    return (
        f"{memory:.1f} times the memory" if memory > MEMORY else "",
        f"more than {WORK} bytecodes an element" if work > WORK else "",
    )


def judge(name, ways):
    """Assert that no way to run `name` outgrows its order unless the tables say why it does."""
    memory = [f"{label}: {result[0]}" for label, result in ways if result[0]]
    work = [f"{label}: {result[1]}" for label, result in ways if result[1]]
    assert not memory or name in MORE_MEMORY, memory
    assert not work or name in MORE_WORK, work


def first_that_fits(label, makes):
    """[(label, excess)] of the first of several ways to make a call that can be made."""
    found = next(filter(None, map(excess, makes)), None)
    return [(label, found)] if found else []


# -- records ---------------------------------------------------------------------------------------


def record_calls(op, example, old):
    """Ways to make the example with another size: with its parameters as they are, or changed."""

    def maker(change):
        def make(wanted):
            new = enlarged(example.specs, old, wanted)
            rng = np.random.default_rng(0)
            specs = [respecified(spec, old, new) for spec in example.specs]
            arrays = [draw(spec, op.domain, False, rng) for spec in specs]
            params = {name: change(value, old, new) for name, value in example.params.items()}

            def call():
                tensors = Sample(op, example, False, arrays, params).tensors()
                outputs = op.call(*tensors, **params)
                outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
                backward(tensors, outputs[: op.grad_outputs])
                return outputs

            return call, arrays

        return make

    return maker(lambda value, old, new: value), maker(exchanged)


@pytest.mark.parametrize("name", OPS)
def test_a_record_grows_with_its_inputs_and_outputs(name):
    op, ways, sizes = OPS[name], [], 0
    for example in op.examples:
        for old in sizes_of(example.specs):
            sizes += 1
            ways += first_that_fits(f"{example!r}, {old}", record_calls(op, example, old))
    assert ways or not sizes or name in UNMEASURED
    judge(name, ways)


# -- public functions ------------------------------------------------------------------------------


def drawn(stored, shape, kind):
    """An array like the stored one in another shape, and of three kinds that functions ask for."""
    if stored.dtype.kind not in "fc" or kind == "repeated":
        return np.resize(stored, shape).astype(stored.dtype)
    values = np.random.default_rng(0).uniform(stored.min().real, stored.max().real, shape)
    if kind == "definite" and len(shape) > 1 and shape[-1] == shape[-2]:
        values = 2 * np.eye(shape[-1]) + 0.01 * (values + values.swapaxes(-1, -2)) / shape[-1]
    return values.astype(stored.dtype)


def public_calls(expression, inputs, old):
    """Ways to make a call of ops.json with another size."""
    shapes = [stored.shape for _, stored, _ in inputs]

    def maker(kind, changed):
        def make(wanted):
            specs = ["x".join(map(str, shape)) for shape in shapes]
            new = enlarged(specs, old, wanted)
            text = re.sub(rf"(?<![\w.]){old}(?![\w.])", str(new), expression)
            arrays = [
                drawn(stored, [new if n == old else n for n in stored.shape], kind)
                for _, stored, _ in inputs
            ]

            def call():
                tensors = [new_tensor(np.array(a)) for a in arrays]
                for t, (_, _, grad) in zip(tensors, inputs, strict=True):
                    t.requires_grad = grad
                value, _ = ops_format.run(rg, text if changed else expression, tensors, False)
                return backward(tensors, ops_format.tensors(value))

            return call, arrays

        return make

    return [maker(k, c) for c in (False, True) for k in ("uniform", "repeated", "definite")]


STORED = {
    name: [call for call in calls if {spec[0] for spec in call[1]} <= {"float64", "int64", "bool"}]
    for name, calls in stored().items()
    if name not in OPS and name not in CUBES
}


@pytest.mark.parametrize("name", at_least(415, STORED, inner=375))
def test_a_function_grows_with_its_inputs_and_outputs(name):
    ways, seen = [], set()
    for expression, inputs, _, _ in STORED[name]:
        for old in sizes_of(["x".join(map(str, array.shape)) for _, array, _ in inputs]):
            pattern = [tuple([n == old for n in array.shape]) for _, array, _ in inputs]
            form = (re.sub(r"[\d.]+", "#", expression), *pattern)
            if form not in seen:
                seen.add(form)
                label = f"{expression} of {[array.shape for _, array, _ in inputs]}, {old}"
                ways += first_that_fits(label, public_calls(expression, inputs, old))
    assert bool(ways) == (name not in UNTRIED)
    judge(name, ways)


def inputs_of(specs):
    """Inputs in the form of `ops_format.read`, positive and requiring grad."""
    rng = np.random.default_rng(0)
    arrays = [draw(spec, (0.5, 2.0), False, rng) for spec in specs]
    return [("", a, a.dtype.kind == "f") for a in arrays]


@pytest.mark.parametrize(("name", "call"), CALLS.items(), ids=CALLS)
def test_a_call_grows_with_its_inputs_and_outputs(name, call, monkeypatch):
    monkeypatch.setattr(distance, "BLOCK", 4096)  # less than there are differences
    expression, *specs = call
    ways, inputs = [], inputs_of(specs)
    for old in sizes_of(specs):
        ways += first_that_fits(
            f"{expression}, {old}", public_calls(expression, inputs, old)[3::-3]
        )
    assert ways
    judge(name, ways)

"""Gradients and tangents have the dtype and shape of what they belong to, in mixed arithmetic, too.

Every op with several inputs runs in single precision with one input changed: to another precision,
to an integer, to a 0-d tensor, to a complex one. Where the forward accepts that, each way to a
gradient is checked, also what hooks see on the way. Calls of public functions run with inputs of
every dtype: `tests/data/make_dtypes.py` has asked PyTorch.
"""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.registry import OPS
from retrograd.engine.tensor import Tensor, new_tensor
from retrograd.engine.transforms.forward import jvp

from .samples import at_least, ops_format, sample, stored

PATH = ops_format.HERE / "make_dtypes.py"
SPEC: Any = importlib.util.spec_from_file_location("tests.data.make_dtypes", PATH)
make_dtypes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make_dtypes)

# Records that no user reaches with mixed dtypes: their public functions refuse them, or make the
# other inputs themselves.
INNER = (
    "drawn_",
    "adjugate_derivative",
    "binary_cross_entropy",
    "clamp_tensors",
    "conv",
    "cross",
    "linear_weight",
    "outer",
)
# Ops that want one dtype, no complex numbers, no integers; and those without half floats. A
# refusal of any other op is a fault.
ONE_DTYPE = {"attention_bias_derivative", "attention_derivative", "dot", "euclidean_distance",
             "linear", "lstm_layer", "matmul", "mm", "mv"}  # fmt: skip
REFUSED = {
    "complex": ONE_DTYPE | {"copysign", "floor_div", "fmod", "heaviside", "hypot", "logaddexp2",
                            "nextafter", "prelu", "remainder", "solve_triangular", "trunc_div"},
    "double": ONE_DTYPE,
    "half": ONE_DTYPE | {"solve_ex"},
    "integer": ONE_DTYPE | {"exp_derivative", "lerp", "lerp_number", "native_batch_norm",
                            "native_layer_norm", "solve_triangular"},
    "float16": {"adjugate", "cholesky_ex", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv_ex",
                "pinv", "qr", "slogdet", "solve_ex", "svd", "svdvals", "view_as_complex"},
    "bfloat16": {"adjugate", "attention_bias_derivative", "view_as_complex"},
}  # fmt: skip
# Ops whose result has another dtype than half-float inputs; of bfloat16, which NumPy lacks, more.
CONVERTED = {"cast", "complex", "fft_c2c", "fft_r2c", "imag", "join_parts", "polar", "view_as_real"}
WIDENED = (REFUSED["float16"] - REFUSED["bfloat16"]) | {
    "attention", "dot_to", "fft_c2r", "huber", "larger_share", "nll", "real_dot_to",
    "times_power_of_two",
}  # fmt: skip
ERRORS = (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError)
PRECISIONS = ("double", "half", "integer", "complex")
SINGLE = {"f": np.float32, "c": np.complex64}


def to(dtype):
    return lambda a: a.real.astype(dtype)


CHANGES = {
    "double": lambda a: a.astype(np.complex128 if a.dtype.kind == "c" else np.float64),
    "half": to(np.float16),
    "integer": lambda a: np.rint(a.real).astype(np.int64),
    "0-d": lambda a: a.reshape(-1)[:1].reshape(()) if a.size else a,
    "0-d double": lambda a: to(np.float64)(a.reshape(-1)[:1]).reshape(()) if a.size else a,
    "complex": lambda a: a + np.complex64(0.5j),
}


def cases():
    for op in OPS.values():
        for example in op.examples[:2]:
            made = sample(op, example, False)
            places = [i for i, a in enumerate(made.arrays) if a is not None and a.dtype.kind == "f"]
            if made.differentiable and len(places) > 1 and not op.name.startswith(INNER):
                for change in CHANGES if op.elementwise else PRECISIONS:
                    yield pytest.param(op, example, places, change, id=f"{made!r}-{change}")


def inputs_of(op, example, place, change):
    """The example's inputs in single precision, one of them changed."""
    arrays = [
        a.astype(SINGLE[a.dtype.kind]) if a is not None and a.dtype.kind in "fc" else a
        for a in sample(op, example, False).arrays
    ]
    arrays[place] = CHANGES[change](arrays[place])
    return arrays


def leaves(op, arrays):
    """Tensors of the arrays, leaves where a derivative is there, and the places of those."""
    tensors = [None if a is None else new_tensor(np.array(a)) for a in arrays]
    places = [
        i
        for i, t in enumerate(tensors)
        if t is not None
        and (t.is_floating_point() or t.is_complex())
        and (op.variadic or op.inputs[i] in op.vjps)
    ]
    for i in places:
        tensors[i].requires_grad_()
    return tensors, places


def outputs_of(op, tensors, params):
    found = op.call(*tensors, **params)
    found = found if isinstance(found, tuple) else (found,)
    return [out for out in found[: op.grad_outputs] if out.requires_grad]


def check(found, tensor):
    if found is not None:
        assert isinstance(found, Tensor)
        assert (found.dtype, found.shape) == (tensor.dtype, tensor.shape)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("op", "example", "places", "change"), at_least(700, list(cases())))
def test_gradients_have_the_dtype_and_shape_of_their_inputs(op, example, places, change):
    for place in places:
        arrays = inputs_of(op, example, place, change)
        tensors, wanted = leaves(op, arrays)
        try:
            outputs = outputs_of(op, tensors, example.params)
        except ERRORS:
            assert op.name in REFUSED.get(change, ())
            continue
        if not outputs:
            assert change == "integer"  # of the one input that has a derivative
            continue
        ones = [rg.ones_like(out) for out in outputs]
        given = [tensors[i] for i in wanted]
        plain = rg.autograd.grad(outputs, given, ones, retain_graph=True, allow_unused=True)
        graph = rg.autograd.grad(outputs, given, ones, create_graph=True, allow_unused=True)
        rg.autograd.backward(outputs, ones)
        for leaf, first, second in zip(given, plain, graph, strict=True):
            check(first, leaf)
            check(second, leaf)
            check(leaf.grad, leaf)
            if first is not None:
                scale = 1e-2 if rg.float16 in {t.dtype for t in (*given, *outputs)} else 1e-5
                np.testing.assert_allclose(first._array, second._array, scale, scale)
                np.testing.assert_array_equal(first._array, leaf.grad._array)
        check_hooks(op, tensors, wanted, example.params)
        if outputs[0].grad_fn.op is op:  # not other ops, as for complex maxima
            check_tangents(op, tensors, wanted, example.params)


HALVES = [pytest.param(d.numpy, id=d.name) for d in (rg.float16, rg.bfloat16)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(
    ("op", "example"),
    [
        pytest.param(op, example, id=repr(sample(op, example, False)))
        for op in OPS.values()
        for example in op.examples[:2]
        if sample(op, example, False).differentiable and not op.name.startswith(INNER)
    ],
)
def test_cotangents_of_half_floats_are_half_floats(op, example, dtype):
    arrays = [
        a.astype(dtype) if a is not None and a.dtype.kind == "f" else a
        for a in sample(op, example, False).arrays
    ]
    tensors, places = leaves(op, arrays)
    try:
        outputs = outputs_of(op, tensors, example.params)
    except ERRORS:
        assert op.name in REFUSED[dtype.name]
        return
    if outputs[0].dtype != tensors[places[0]].dtype:
        assert op.name in (CONVERTED if dtype == np.float16 else CONVERTED | WIDENED)
        return
    check_hooks(op, tensors, places, example.params)
    if outputs[0].grad_fn.op is op:
        check_tangents(op, tensors, places, example.params)


def check_hooks(op, tensors, places, params):
    """What a hook sees on the way to an input has the input's dtype and shape.

    Whether the output has a hook, too, or none: a pass without hooks takes a shorter way.
    """
    for hooked, create_graph in ((False, False), (True, False), (False, True)):
        seen = []
        passed = list(tensors)
        for i in places:
            passed[i] = tensors[i] * 1.0
            passed[i].register_hook(lambda g, t=passed[i]: seen.append((g, t)))
        for out in outputs_of(op, passed, params):
            if hooked:
                out.register_hook(lambda g, t=out: seen.append((g, t)))
            (out * 2.0).backward(rg.ones_like(out), True, create_graph)
        assert seen
        for g, tensor in seen:
            check(g, tensor)


def check_tangents(op, tensors, places, params):
    values = [None if t is None else t.detach() for t in tensors]
    tangents = [rg.ones_like(t) if i in places else None for i, t in enumerate(values)]
    found = jvp(op, values, tangents, params)
    outputs = op.call(*values, **params)
    if op.outputs == 1:
        found, outputs = (found,), (outputs,)
    for t, out in zip(found[: op.grad_outputs], outputs[: op.grad_outputs], strict=True):
        check(t, out)


# -- calls of public functions, by dtype -----------------------------------------------------------

TABLE: dict[str, list[Any]] = {}
for _name, *_rest in json.loads(make_dtypes.FILE.read_text()):
    TABLE.setdefault(_name, []).append(_rest)
CALLS = stored()
APART = {  # docs/differences.md has their rows
    ("complex", "e"): "F",  # there are no complex half floats
    ("view_as_complex", "e"): None,
    **dict.fromkeys([("nn.functional.hinge_embedding_loss", k) for k in "bBl"], "f"),
}
# Integers that wrap around, or are cut off, on the way to a result that is none: as in PyTorch.
OF_INTEGERS = {
    "nn.functional.gaussian_nll_loss", "nn.functional.local_response_norm",
    "nn.functional.margin_ranking_loss", "nn.functional.pairwise_distance",
    "nn.functional.poisson_nll_loss", "nn.functional.triplet_margin_loss",
}  # fmt: skip
UNITS = {"nn.functional.scaled_dot_product_attention": 40}  # of rounding; of other functions 12


def attempt(call, letter, then=None):
    """The results of a stored call of inputs that were cast, or None where it is refused."""
    try:
        return make_dtypes.value(rg, call, make_dtypes.inputs(rg, call, letter, then))
    except (*ERRORS, KeyError, AssertionError):
        return None


def pairs_of(answers):
    """(letter, answer) of each dtype that a call was asked in."""
    return [(letter, answer) for answer, letters in answers.items() for letter in letters]


def check_digits(found, exact, units):
    """A result is within units of rounding of what the call gives in double precision."""
    limits, wide = rg.finfo(found.dtype), rg.complex128 if exact.is_complex() else rg.float64
    a, b = found.to(wide).numpy(), exact.to(wide).numpy()
    assert a.shape == b.shape
    size = np.abs(b)
    largest = size[np.isfinite(b)].max(initial=0)
    allowed = units * (limits.eps * np.maximum(size, largest / 20) + limits.smallest_normal)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (size > limits.max)
    assert (same | (np.abs(a - b) <= allowed)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", at_least(530, [name for name in TABLE if name in CALLS], 400))
def test_results_have_the_dtypes_of_pytorch_and_the_digits_of_double_precision(name):
    """Also where PyTorch refuses a dtype, and this library does not."""
    for place, answers in TABLE[name]:
        call = CALLS[name][place]
        for letter, asked in pairs_of(answers):
            found, answer = attempt(call, letter), APART.get((name, letter), asked)
            if found is None:
                assert answer in ("-", None), letter
                continue
            assert answer in ("-", make_dtypes.answer(name, found, letter)), letter
            whole = letter in "?bBl" and name in OF_INTEGERS
            if whole or letter in "dD" or name.startswith(make_dtypes.RANDOM):
                continue
            exact = attempt(call, letter, rg.complex128 if letter in "FD" else rg.float64) or ()
            for ours, theirs in zip(found, exact, strict=False):  # none, of those of integers alone
                if ours.is_floating_point() or ours.is_complex():
                    check_digits(ours, theirs, UNITS.get(name, 12))

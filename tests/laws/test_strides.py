"""A law of memory: results and gradients have the strides that PyTorch gives them.

Inputs lie in many layouts; `tests/data/strides_format.py` says which, and what is compared. It
holds with the engine in C and in Python, with kernels and without (the Makefile runs it so).

The rules: reductions, products of matrices, gathers and scatters, norms of batches are contiguous;
what is elementwise lies as its first operand that has an order, and so does its gradient, where the
cotangent is mostly the first; a convolution and its gradients with the channels innermost where
those of its weight or, of images, of its input are; what LAPACK gives lies by columns, a product's
gradient as its factor. What differs is listed with the number of strides that do, which may only
fall.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import re
from collections import Counter

import numpy as np
import pytest

import retrograd as rg
from retrograd import modes
from retrograd.autograd import grad
from retrograd.capture.recording import Recording
from retrograd.capture.traced import held
from retrograd.compiler import door
from retrograd.engine.transforms.watch import Watcher

from .samples import at_least, ops_format, present

assert rg.nn.__doc__  # all records are there

spec = importlib.util.spec_from_file_location(
    "tests.data.strides_format", ops_format.HERE / "strides_format.py"
)
strides_format = importlib.util.module_from_spec(spec)
spec.loader.exec_module(strides_format)

CALLS = [
    (name, expression, *rest)
    for name, expression, *rest in strides_format.read()
    if all(map(present, [name] if name else re.findall(r"\blib\.([\w.]+)", expression)))
]
at_least(1629, CALLS, inner=1490)
PARTS = 64  # tests, so that several workers share them, and each is quick enough for mutants

# fmt: off
DIFFER = {
    "PyTorch leaves what LAPACK or BLAS gave, often by columns; here often by rows": {
        "cdist": 9, "lib.linalg.vecdot(x0,x1,dim=1)": 3,
        "lib.nn.functional.interpolate(x0,scale_factor=2,mode='bilinear')": 2,
        "lib.nn.functional.scaled_dot_product_attention(x0,x1,x2)": 2,
        "lib.nn.functional.scaled_dot_product_attention(x0,x1,x2,is_causal=True)": 2,
        "linalg.householder_product": 6, "nn.functional.upsample_bilinear": 2, "ormqr": 60,
        "tensordot": 21, "triangular_solve": 10,
    },
    "transforms run along a dimension that PyTorch leaves innermost": {
        "lib.fft.ifft(x0,dim=0)": 7,
    },
    "whose channels are innermost is told by the input, here by the cotangent as well": {
        "lib.nn.functional.group_norm(x0,2)": 3, "lib.nn.functional.instance_norm(x0)": 1,
        "lib.nn.functional.interpolate(x0,scale_factor=2)": 2,
        "nn.functional.adaptive_max_pool3d": 3, "nn.functional.channel_shuffle": 1,
        "nn.functional.conv_transpose1d": 8, "nn.functional.interpolate": 7,
        "nn.functional.max_unpool3d": 2, "x0.norm(dim=1)": 2,
    },
    "operands of a formula lie in different orders: NumPy's result is in row-major order": {
        "angle": 3, "atan2": 1, "atanh": 1, "erfinv": 3, "histogramdd": 12,
        "igamma": 1, "igammac": 1, "lib.cosine_similarity(x0,x1)": 3,
        "lib.nn.functional.binary_cross_entropy_with_logits(x0,x1,reduction='none')": 7,
        "lib.polar(x0,x1)": 17, "lib.renorm(x0,2,1,0.5)": 4,
        "logit": 4, "nn.functional.cosine_similarity": 12, "nn.functional.layer_norm": 5,
        "nn.functional.rms_norm": 5,
        "rot90": 4, "sgn": 1, "special.chebyshev_polynomial_t": 3,
        "special.chebyshev_polynomial_u": 3, "special.chebyshev_polynomial_v": 3,
        "special.chebyshev_polynomial_w": 3, "special.hermite_polynomial_h": 3,
        "special.hermite_polynomial_he": 3, "special.laguerre_polynomial_l": 3,
        "special.legendre_polynomial_p": 3, "special.shifted_chebyshev_polynomial_t": 3,
        "special.shifted_chebyshev_polynomial_u": 3, "special.shifted_chebyshev_polynomial_v": 3,
        "special.shifted_chebyshev_polynomial_w": 3, "special.zeta": 1,
        "x0.abs()": 4, "x0.angle()": 3, "x0.rot90(1,(0,1))": 2,
    },
}
# fmt: on
ALLOWED = {name: count for names in DIFFER.values() for name, count in names.items()}


def compared(part):
    """How many strides there are in a part of the calls, and of each name those that differ."""
    total, differ = 0, Counter()
    names = sorted({name or expression for name, expression, *_ in CALLS})[part::PARTS]
    for name, expression, arrays, wanted, answers in CALLS:
        if (name or expression) not in names:
            continue
        for letter, expected in answers.items():
            given = strides_format.arranged(arrays, letter)
            found = strides_format.answer(rg, expression, given, wanted)
            for pair in zip(expected, found, strict=True):
                both = [each for each in zip(*pair, strict=True) if "-" not in each]
                total += len(both)
                differ[name or expression] += sum(ours != theirs for theirs, ours in both)
    return total, differ


@pytest.mark.parametrize("part", range(PARTS))
def test_strides_are_those_of_pytorch(part):
    total, differ = compared(part)
    more = {name: n for name, n in differ.items() if n > ALLOWED.get(name, 0)}
    assert not more
    assert total > 100


OF_THEIR_OWN = {  # formulas that follow another value than their leader
    *("angle", "erfinv", "linalg.pinv", "x0.abs()", "x0.angle()", "x0.norm(dim=1)"),
}


def test_recorded_gradients_have_the_same_strides():
    """An eleventh of the table: what `create_graph` gives lies as the gradient without it."""
    compared, differ = 0, set()
    for name, expression, arrays, wanted, answers in CALLS[::11]:
        for letter in answers if any(wanted) and "autograd.grad(" not in expression else ():
            plain, recorded = [
                strides_format.answer(
                    rg, expression, strides_format.arranged(arrays, letter), wanted, create_graph
                )
                for create_graph in (False, True)
            ]
            if plain != recorded:
                differ.add(name or expression)
            compared += 1
    assert differ <= OF_THEIR_OWN
    assert compared > 900


def test_of_a_thousand_strides_of_the_table_less_than_six_differ():
    assert sum(ALLOWED.values()) < 0.006 * 59000


TURNED = {  # what PyTorch gives for cotangents that lie in reversed order, of inputs in row-major
    "x0.amax(0)": [(6, 1, 3)], "x0.var(2)": [(2, 8, 1)], "x0.nansum(0)": [(6, 1, 3)],
    "x0.norm(dim=2, keepdim=True)": [(2, 8, 1)], "lib.std_mean(x0, 0)": [(6, 1, 3)],
    "lib.log_softmax(x0, 1)": [(6, 2, 1)], "lib.nn.functional.logsigmoid(x0)": [(1, 4, 12)],
    "lib.nn.functional.pad(x0, (1, 1), mode='reflect')": [(6, 2, 1)],
    "lib.nn.functional.pad(x0, (1, 1), mode='circular')": [(6, 2, 1)],
    "lib.pixel_shuffle(x0.repeat(4, 1, 1), 2)": [(6, 2, 1)],
    "lib.pixel_unshuffle(x0, 1)": [(6, 2, 1)], "x0.clone().copy_(x1)": [(6, 2, 1), (1, 4, 12)],
    "lib.nn.functional.batch_norm(x0, None, None, training=True)": [(6, 2, 1)],
    "x0**x1": [(6, 2, 1), (1, 4, 12)], "x1[0].mT @ x0": [(6, 1, 3), (6, 2, 1)],
    "lib.tensordot(x0.mT, x1.mT, 3)": [(6, 2, 1), (6, 2, 1)],
}  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("expression", TURNED)
def test_cotangents_in_another_order_lead_where_they_do_in_pytorch(expression, create_graph):
    x = [rg.from_numpy(np.arange(24.0).reshape(4, 3, 2) / 24 + n).requires_grad_() for n in (1, 2)]
    found = ops_format.tensors(eval(expression, {"lib": rg, "x0": x[0], "x1": x[1]}))
    given = [rg.ones(tuple(t.shape[::-1]), dtype=t.dtype) for t in found]
    given = [g.permute([*range(g.ndim)][::-1]) for g in given]
    x = x[: 1 + ("x1" in expression)]
    assert [g.stride() for g in grad(found, x, given, create_graph=create_graph)] == TURNED[
        expression
    ]


REDUCED = ["sum", "mean", "std", "logsumexp", "norm", "amax", "softmax", "nansum"]


@pytest.mark.skipif(not door.AVAILABLE, reason="kernels need llvmlite")
@pytest.mark.parametrize("name", REDUCED)
def test_kernels_give_the_same_strides(name):
    x = np.arange(24.0).reshape(2, 3, 4) / 24
    for letter in "ctmfp":
        made = []
        for least in (0, 10**9):
            before = door.change(least=least)
            try:
                given = strides_format.arranged([x], letter)
                made.append(strides_format.answer(rg, f"lib.{name}(x0, dim=1)", given, [True]))
            finally:
                door.change(**before)
        assert made[0] == made[1]


MODES = {
    "watched": Watcher,
    "saved": lambda: rg.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
    "unrecorded": rg.no_grad,
    "inference": rg.inference_mode,
}


@functools.cache
def plainly(number, letter, asked):
    """The strides that a call of the table gives in no mode."""
    _, expression, arrays, *_ = CALLS[number]
    return strides_format.answer(rg, expression, strides_format.arranged(arrays, letter), asked)


@pytest.mark.parametrize("mode", MODES)
def test_modes_give_the_same_strides(mode):
    """A sixth of the table: results, and gradients where the mode records."""
    for number, (_, expression, arrays, wanted, answers) in [*enumerate(CALLS)][::6]:
        if "autograd.grad(" in expression:  # needs a graph
            continue
        asked = tuple(wanted) if mode in ("watched", "saved") else (False,) * len(wanted)
        for letter in answers:
            plain = plainly(number, letter, asked)
            given = strides_format.arranged(arrays, letter)
            with MODES[mode]():
                assert strides_format.answer(rg, expression, given, asked) == plain, expression


def recorded(expression, arrays, wanted):
    """The strides that a call gives in a recording of `compile`, or [] for what ends it."""
    recording = Recording()
    x = [rg.from_numpy(a).requires_grad_(w) for a, w in zip(arrays, wanted, strict=True)]

    def run(function, given):
        for number, t in enumerate(given):
            recording.root(t, ("argument", str(number)))
        before = modes.change(watchers=(recording,), before_write=recording.before_write)
        try:
            return function()
        finally:
            modes.restore(before)

    try:
        rg.manual_seed(0)
        found = run(lambda: called(expression, x, [False] * len(x)), x)
        parts = [found]
        outs, leaves = [t for t in found if t.requires_grad], [t for t in x if t.requires_grad]
        plain = [rg.from_numpy(held(t._array)) for t in outs]
        for g in [*strides_format.cotangents(rg, plain)] if outs and leaves else ():
            call = functools.partial(grad, outs, leaves, g, retain_graph=True, allow_unused=True)
            parts.append([each if each is None else each.clone() for each in run(call, g)])
        given = [[strides_format.strides(t) for t in part] for part in parts]
        return given if recording.stopped is None else []
    finally:
        recording.settle()


def test_a_recording_gives_the_same_strides():
    """A twenty-fourth of the table."""
    compared = 0
    for _, expression, arrays, wanted, answers in CALLS[::24]:
        for letter in answers:
            plain = strides_format.answer(
                rg, expression, strides_format.arranged(arrays, letter), wanted
            )
            found = recorded(expression, strides_format.arranged(arrays, letter), wanted)
            assert found in ([], plain), expression
            compared += found != []
    assert compared > 480


def test_a_tangent_lies_as_its_value():
    """A twentieth of the table, of inputs whose first, or last, two dimensions are exchanged."""
    compared = 0
    for _, expression, arrays, wanted, answers in CALLS[::20]:
        for letter in set("tm") & set(answers) if any(wanted) else ():
            given = [rg.from_numpy(a) for a in strides_format.arranged(arrays, letter)]
            moved = tuple(itertools.compress(given, wanted))
            call = functools.partial(called, expression, given, wanted)
            values, tangents = rg.func.jvp(call, moved, tuple(map(rg.ones_like, moved)))
            for value, tangent in zip(values, tangents, strict=True):
                assert strides_format.strides(value) == strides_format.strides(tangent), expression
            compared += len(values)
    assert compared > 90


def called(expression, given, wanted, *moved):
    """What a call of the table gives, with `moved` as the inputs that are wanted."""
    moving = iter(moved)
    x = [next(moving) if w else t for t, w in zip(given, wanted, strict=True)]
    named = {f"x{at}": t for at, t in enumerate(x)}
    return tuple(ops_format.tensors(eval(expression, {"lib": rg, **ops_format.NAMES, **named})))


# -- programs --------------------------------------------------------------------------------------


def test_a_gradient_through_a_transpose_can_be_viewed_and_written():
    w = rg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    (g,) = grad((w.t() ** 2).sum(), w)
    assert g.is_contiguous()
    assert g.view(-1).tolist() == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    g.flatten().clamp_(max=3.0)
    assert g.tolist() == [[2.0, 3.0, 3.0], [3.0, 3.0, 3.0]]
    (g,) = rg.func.grad(lambda w: (w.t() ** 2).sum())(w.detach()).unsqueeze(0)
    g.flatten()[0] = 9.0
    assert g[0, 0] == 9.0


NAMES = [
    *("sum", "mean", "prod", "amax", "amin", "std", "var", "logsumexp", "norm", "any", "all"),
    *("linalg.vector_norm", "nansum", "nanmean", "count_nonzero", "trapezoid"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(2, 3, 4), (20, 30, 40)])
def test_a_reduction_of_a_transposed_tensor_is_contiguous(name, shape):
    x = rg.ones(shape).transpose(0, 1)
    function = rg
    for part in name.split("."):
        function = getattr(function, part)
    found = function(x, dim=2)
    assert found.stride() == (shape[0], 1)
    flat = found.view(-1)
    found.flatten()[0] = 0
    assert flat[0] == 0


def test_std_mean_batch_norm_one_hot_and_renorm_are_contiguous():
    x = rg.rand(2, 3, 4).transpose(1, 2)
    assert all(t.is_contiguous() for t in rg.std_mean(x, dim=0))
    for training in (True, False):
        running = (rg.zeros(4), rg.ones(4))
        out = rg.nn.functional.batch_norm(x, *running, training=training)
        assert out.is_contiguous()
    assert rg.nn.functional.instance_norm(x).is_contiguous()
    assert rg.renorm(x, 2, 0, 1.0).is_contiguous()
    indices = rg.tensor([[0, 1, 2], [2, 1, 0]]).t()
    assert rg.nn.functional.one_hot(indices).stride() == (6, 3, 1)
    assert rg.nn.functional.cosine_similarity(x, x, dim=0).is_contiguous()
    assert rg.nn.functional.pairwise_distance(x, x).is_contiguous()


def test_one_matrix_times_a_batch_of_vectors_lies_as_one_product():
    w, x = rg.ones(2, 3), rg.ones(5, 3)
    found = rg.func.vmap(lambda v: w @ v)(x)
    assert found.stride() == (1, 5)
    assert found.tolist() == [[3.0, 3.0]] * 5
    assert rg.func.vmap(lambda w: w @ x[0])(w.expand(4, 2, 3)).stride() == (2, 1)


def test_negative_strides_count_by_their_size():
    x = rg.from_numpy(np.arange(6.0).reshape(2, 3)[::-1, ::-1])
    assert (x * 2).is_contiguous()
    assert x.sum(0).is_contiguous()
    assert (x.t() + 1).stride() == (1, 3)


def test_a_tangent_lies_as_its_value_after_a_part_was_written():
    def written(x):
        y = (x * 2).t().clone()
        y[0] = x[:, 0]
        return y

    x = rg.arange(12.0).reshape(3, 4)
    value, tangent = rg.func.jvp(written, (x,), (rg.ones(3, 4),))
    assert value.stride() == tangent.stride() == (1, 4)
    assert tangent.tolist() == [[1.0] * 3, *[[2.0] * 3] * 3]


def test_what_is_saved_before_a_write_lies_as_the_tensor_did():
    w = rg.tensor([[0.5, 0.7, 0.9], [0.2, 0.8, 0.4]], requires_grad=True)
    x = w.t()
    (g,) = grad(x.clone().clamp_(0.6).sum(), x)
    assert g.stride() == (1, 3)
    assert g.tolist() == [[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("size", [5, 300])
def test_attention_writes_its_gradients_by_positions(size):
    rg.manual_seed(0)
    q, k, v = [rg.rand(2, 3, size, 4, dtype=rg.float64, requires_grad=True) for _ in range(3)]
    g = rg.rand(2, size, 3, 4, dtype=rg.float64).transpose(1, 2)
    attention = rg.nn.functional.scaled_dot_product_attention
    found = grad(attention(q, k, v), (q, k, v), g)
    assert {each.stride() for each in found} == {(size * 12, 4, 12, 1)}
    weights = (q @ k.mT / 2).softmax(-1)
    for ours, wanted in zip(found, grad(weights @ v, (q, k, v), g), strict=True):
        rg.testing.assert_close(ours, wanted, rtol=1e-12, atol=1e-12)
    flat = [t.detach().reshape(6, size, 4).requires_grad_() for t in (q, k, v)]
    found = grad(attention(*flat), flat, g.reshape(6, size, 4))
    assert [each.stride() for each in found] == [
        (size * 4, 4, 1),
        (size * 4, 1, size),
        (size * 4, 4, 1),
    ]


def test_the_mean_of_a_beta_distribution_is_contiguous():
    one = rg.ones(2, 3, dtype=rg.float64).t()
    beta = rg.distributions.Beta(one, 3 * one)
    assert beta.mean.stride() == beta.variance.stride() == (2, 1)
    assert beta.mean.tolist() == [[0.25, 0.25]] * 3
    assert beta.variance.tolist() == [[0.0375, 0.0375]] * 3


def test_densities_of_samples_have_these_innermost():
    normal = rg.distributions.MultivariateNormal(rg.zeros(2, 3), rg.eye(3).expand(2, 3, 3) * 4)
    found = normal.log_prob(rg.ones(5, 1, 3))
    assert found.stride() == (1, 5)
    assert rg.equal(found, normal.log_prob(rg.ones(3)).expand(5, 2))


MIXED = {
    "a.double() + b": (1, 3),
    "b.double() + a": (2, 1),
    "a + b.double()": (1, 3),
    "a.short() < b": (1, 3),
    "rg.maximum(a.double(), b)": (1, 3),
    "a.long() * b": (1, 3),
    "a.half() + b": (1, 3),
    "a.double() / b.long()": (1, 3),
    "a + b.double().expand(5, 3, 2)": (6, 1, 3),
}


@pytest.mark.parametrize("text", MIXED)
def test_operands_of_two_dtypes_give_the_order_of_the_first(text):
    a, b = rg.ones(2, 3).t(), rg.ones(3, 2)
    found = eval(text, {"rg": rg, "a": a, "b": b})
    assert found.stride() == MIXED[text]
    assert found.tolist() == eval(text, {"rg": rg, "a": a.contiguous(), "b": b}).tolist()


SEVERAL = {
    "rg.lerp(a, b, 0.5)": (1, 3),
    "rg.lerp(a, b, a)": (1, 3),
    "rg.lerp(b, a, a)": (2, 1),
    "rg.lerp(rg.ones(2), a, b)": (1, 3),
    "rg.addcmul(a, b, b)": (1, 3),
    "rg.addcmul(b, a, a)": (2, 1),
    "rg.addcdiv(a, b, b)": (1, 3),
    "rg.clamp(a, b, b)": (1, 3),
    "rg.clamp(a, max=b)": (1, 3),
    "rg.clamp(b, a, a)": (2, 1),
    "rg.complex(a, a)": (1, 3),
    "rg.complex(b, a)": (2, 1),
    "rg.polar(a, a)": (1, 3),
    "a.isclose(b)": (1, 3),
    "b.isclose(a)": (2, 1),
    "a.long().isclose(b.long(), 0, 0)": (1, 3),
    "rg.addr(a, rg.ones(3), rg.ones(2))": (1, 3),
    "rg.addmm(a, rg.ones(3, 4), rg.ones(4, 2))": (2, 1),
    "rg.addmm(a, rg.ones(4, 3).t(), rg.ones(2, 4).t(), beta=2)": (2, 1),
    "rg.addbmm(a, rg.ones(5, 3, 4), rg.ones(5, 4, 2))": (2, 1),
    "rg.baddbmm(a[None], rg.ones(1, 3, 4), rg.ones(1, 4, 2))": (6, 2, 1),
    "rg.baddbmm(a.expand(5, 3, 2), rg.ones(5, 3, 4), rg.ones(5, 4, 2))": (6, 2, 1),
    "rg.nn.functional.rrelu(a)": (2, 1),
    "rg.nn.functional.rrelu(a, training=True)": (2, 1),
    "rg.nn.functional.rrelu(a.clone(), inplace=True)": (1, 3),
}


@pytest.mark.parametrize("text", SEVERAL)
def test_what_takes_several_operands_lies_as_in_pytorch(text):
    a, b = rg.arange(6.0).reshape(2, 3).t(), rg.ones(3, 2)
    found = eval(text, {"rg": rg, "a": a, "b": b})
    assert found.stride() == SEVERAL[text]
    in_rows = eval(text, {"rg": rg, "a": a.contiguous(), "b": b})
    assert rg.equal(found, in_rows)


@pytest.mark.parametrize("text", ["rg.lerp(a, b, 0.5)", "rg.addcmul(a, b, b)", "a.double() + b"])
def test_large_operands_give_the_order_of_the_first_as_small_ones_do(text):
    a, b = rg.rand(80, 90).t(), rg.rand(90, 80)
    found = eval(text, {"rg": rg, "a": a, "b": b})
    assert found.stride() == (1, 90)
    assert rg.equal(found, eval(text, {"rg": rg, "a": a.contiguous(), "b": b}))


JOINED = {
    "a, a": [(12, 1, 6, 3), (24, 1, 12, 6), (24, 1, 6, 3), (24, 1, 12, 3)],
    "a, a.double()": [(12, 1, 6, 3), (24, 1, 12, 6), (24, 1, 6, 3), (24, 1, 12, 3)],
    "a": [(12, 1, 6, 3)] * 4,
    "a, b": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
    "b, a": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
    "a, b.double()": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
    "a, rg.zeros(0), a": [(12, 4, 2, 1), (24, 4, 2, 1), (24, 8, 2, 1), (24, 8, 4, 1)],
}


@pytest.mark.parametrize("text", JOINED)
def test_what_is_joined_has_its_channels_innermost_where_all_parts_have(text):
    b = rg.arange(24.0).reshape(2, 3, 2, 2)
    a = b.contiguous(memory_format=rg.channels_last)
    parts = eval(f"[{text}]", {"rg": rg, "a": a, "b": b})
    for dim, strides in enumerate(JOINED[text]):
        found = rg.cat(parts, dim)
        assert found.stride() == strides
        assert rg.equal(found, rg.cat([part.contiguous() for part in parts], dim))


STACKED = {
    4: [
        (24, 12, 1, 6, 3),
        (24, 3, 1, 12, 6),
        (24, 1, 12, 6, 3),
        (24, 1, 12, 6, 3),
        (24, 8, 4, 2, 1),
    ],
    5: [
        *((48, 24, 1, 12, 6, 3), (48, 3, 1, 24, 12, 6), (48, 1, 24, 12, 6, 3)),
        *((48, 1, 24, 12, 6, 3), (48, 1, 24, 12, 6, 3), (48, 16, 8, 4, 2, 1)),
    ],
}


@pytest.mark.parametrize("ndim", STACKED)
def test_stacked_tensors_with_channels_innermost_lie_as_if_joined(ndim):
    b = rg.arange(3.0 * 2 ** (ndim - 1)).reshape(2, 3, *[2] * (ndim - 2))
    a = b.contiguous(memory_format=rg.channels_last if ndim == 4 else rg.channels_last_3d)
    for dim, strides in enumerate(STACKED[ndim]):
        found = rg.stack([a, a], dim)
        assert found.stride() == strides
        assert rg.equal(found, rg.stack([b, b], dim))
        assert rg.stack([a, b], dim).is_contiguous()


# What is computed of x, by columns, and y, by rows; the order of x's gradient for a cotangent in
# the order of the result, as PyTorch has it.
LED = {
    "x * y": "F",
    "y * x": "C",
    "x / y": "F",
    "rg.maximum(y, x)": "C",
    "rg.maximum(x, y)": "F",
    "rg.where(x > 0.5, x, y)": "F",
    "rg.atan2(x, y)": "F",
    "x.relu()": "F",
    "x.erf()": "F",
    "x.exp() * y + x": "F",
    "x.logsumexp(1)": "F",
    "x.mean(0)": "C",
    "x[None]": "F",
    "rg.einsum('ij,kj->ki', x, y)": "F",
    "x @ y.t()": "F",
}


@pytest.mark.parametrize("size", [3, 80])
@pytest.mark.parametrize("text", LED)
def test_a_gradient_lies_as_the_operand_that_leads_for_few_and_many_elements(text, size):
    rg.manual_seed(0)
    found = {}
    base, y = rg.rand(size + 1, size), rg.rand(size, size + 1)
    for order, copy in (("F", base.t()), ("C", base.t().contiguous())):
        x = copy.detach().requires_grad_()
        out = eval(text, {"rg": rg, "x": x, "y": y})
        (found[order],) = grad(out, x, rg.ones_like(out))
    assert found["F"].is_contiguous() == (LED[text] == "C")
    assert found["F"].t().is_contiguous() == (LED[text] == "F")
    rg.testing.assert_close(found["F"], found["C"])

"""Kernels of rows give what NumPy gives, and their sums lose a unit or two in the last place."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import retrograd as rg
import retrograd.nn.functional
from retrograd.compiler.door import change
from retrograd.compiler.rows import Rows, recorded
from retrograd.engine.namespaces import arrays as xp
from retrograd.engine.registry import OPS
from retrograd.kernels.native import loops

SHAPES = [
    ((5, 37), (1,)),
    ((3, 4, 33), (2,)),
    ((3, 4, 8), (1, 2)),
    ((1, 100), (1,)),
    ((7, 3), (1,)),
    ((3, 150), (1,)),
]
NORMS = [((4, 5, 3, 7), (0, 2, 3)), ((6, 2, 33), (0, 2)), ((2, 3, 40), (2,))]


@pytest.fixture(autouse=True)
def _always():
    before = change(least=0)
    yield
    change(**before)


def plain(name):
    return getattr(OPS[name].forward, "__wrapped__", OPS[name].forward)


def compared(function, *operands, names=()):
    """Assert that there is a kernel, and that it gives what the function does; the result."""
    found = Rows(function)(operands)
    assert found is not None
    with np.errstate(all="ignore"):
        expected = function(*operands)
    many, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    for a, b in zip(many, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype == bool:
            np.testing.assert_array_equal(a, b)
            continue
        eps = np.finfo(b.dtype).eps
        scale = np.abs(b[np.isfinite(b)]).max(initial=0)
        np.testing.assert_allclose(a, b, rtol=8 * eps, atol=8 * eps * scale)
    return found


def drawn(shape, char, *, special=False):
    x = np.random.default_rng(0).standard_normal(shape).astype(char) * 3
    if special:
        x[0, ..., 0], x[1, ..., 1], x[2, ..., 0] = np.inf, np.nan, -np.inf
    return x


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_a_softmax_and_its_derivative(name, shape, dim, char):
    x, g = drawn(shape, char), drawn(shape, char)[::-1].copy()
    out = compared(lambda x, dim: plain(name)(x, dim=dim), x, dim)
    compared(OPS[name].vjps["input"], xp, g, out, dim)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "var"])
def test_infinities_and_nan_come_through(name):
    x = drawn((4, 37), "f", special=True)
    more = {"correction": 1, "keepdim": False} if name == "var" else {}
    compared(lambda x: plain(name)(x, dim=(1,), **more), x)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_a_logsumexp_and_its_derivative(shape, dim, keepdim):
    x = drawn(shape, "f")
    out = compared(lambda x: plain("logsumexp")(x, dim=dim, keepdim=keepdim), x)
    compared(OPS["logsumexp"].vjps["input"], xp, out.copy(), x, out, dim, keepdim)


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize(("shape", "dim"), [s for s in SHAPES if s[1] != (1, 2)] + NORMS)
def test_a_variance_and_its_derivative(name, shape, dim, char):
    x = drawn(shape, char)
    out = compared(lambda x: plain(name)(x, dim=dim, correction=1, keepdim=False), x)
    named = {"g": out, "input": x, "out": out, "dim": dim, "correction": 1, "keepdim": False,
             "input_shape": shape}  # fmt: skip
    compared(OPS[name].vjps["input"], xp, out, *[named[n] for n in OPS[name].needs["input"]])


@pytest.mark.parametrize("ord", [2.0, 1.0, 3.0, 0.0])
@pytest.mark.parametrize(("shape", "dim"), [((5, 37), (1,)), ((4, 5, 3, 7), (0, 2, 3))])
def test_a_norm_and_its_derivative(shape, dim, ord):
    x, op = drawn(shape, "f"), OPS["vector_norm"]
    x.flat[3] = 0.0
    out = compared(lambda x: plain(op.name)(x, ord=ord, dim=dim, keepdim=False), x)
    if ord:
        compared(op.vjps["input"], xp, out.copy(), x, out, ord, dim, False)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize(("shape", "dim"), NORMS)
def test_a_batch_norm_and_its_derivatives(shape, dim, char, weighted):
    x, g = drawn(shape, char), drawn(shape, char)[::-1].copy()
    weight = drawn([1 if d in dim else n for d, n in enumerate(shape)], char) if weighted else None
    op = OPS["native_batch_norm"]
    _, mean, var = compared(lambda *a: plain(op.name)(*a, dim=dim, eps=0.1), x, weight, weight)
    compared(op.vjps["input"], xp, g, x, weight, mean, var, dim, 0.1)
    if weighted:
        compared(op.vjps["weight"], xp, g, x, mean, var, dim, 0.1)


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize(
    ("shape", "dim", "own"),
    [((5, 37), (1,), (37,)), ((3, 2, 4, 33), (2, 3), (1, 2, 4, 1)), ((4, 4), (1,), (4,))],
)
def test_a_layer_norm_and_its_derivative(shape, dim, own, char):
    x, g, weight = drawn(shape, char), drawn(shape, char)[::-1].copy(), drawn(own, char)
    op = OPS["native_layer_norm"]
    _, mean, var = compared(lambda *a: plain(op.name)(*a, dim=dim, eps=0.1), x, weight, weight)
    compared(op.vjps["input"], xp, g, x, weight, mean, var, dim, 0.1)


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize(
    "shape", [(300, 37), (5, 7, 40), (3, 16), (2000, 16), (4, 3, 5, 100), (19, 150)]
)
def test_a_sum_across_rows(shape, char):
    x, leading = drawn(shape, char), tuple(range(len(shape) - 1))
    compared(lambda x: plain("sum_dim")(x, dim=leading, keepdim=False), x)
    compared(lambda x: plain("mean_dim")(x, dim=(0,), keepdim=True), x)
    compared(lambda x: plain("vector_norm")(x, ord=2.0, dim=leading, keepdim=False), x)
    compared(lambda x: plain("sum_to")(x, shape=shape[1:]), x)


@pytest.mark.parametrize("char", "fd")
def test_the_share_of_a_weight_within_rows(char):
    x, g = drawn((70, 3, 33), char), drawn((70, 3, 33), char)[::-1].copy()
    op = OPS["native_layer_norm"]
    _, mean, var = plain(op.name)(x, None, None, dim=(2,), eps=0.1)
    compared(op.vjps["weight"], xp, g, x, mean, var, (2,), 0.1, (33,))
    compared(lambda x, y: plain("dot_to")(x, y, shape=(3, 33)), x, g)


@pytest.mark.parametrize("wanted", [0b111, 0b110, 0b101, 0b011])
@pytest.mark.parametrize("name", ["native_layer_norm", "native_batch_norm"])
def test_derivatives_of_one_node_have_one_kernel_and_the_same_bits(name, wanted):
    x, g = drawn((6, 4, 64), "f"), drawn((6, 4, 64), "f")[::-1].copy()
    dim, own = ((2,), (64,)) if "layer" in name else ((0, 2), (1, 4, 1))
    weight, bias = drawn(own, "f"), drawn(own, "f")
    op = OPS[name]
    _, mean, var = op.forward(x, weight, bias, dim=dim, eps=0.1)
    known = {"input": x, "weight": weight, "mean": mean, "var": var, "dim": dim, "eps": 0.1,
             "weight_shape": own, "bias_shape": own}  # fmt: skip
    values = [known[key] for key in (*op.saves, *op.facts)]
    assert Rows(op.joint.__wrapped__)((xp, wanted, g, *values)) is not None
    alone = [
        formula(xp, g, *[known[key] for key in op.needs[key_of]])
        for i, (key_of, formula) in enumerate(zip(op.vjps, op.formulas, strict=True))
        if wanted >> i & 1
    ]
    for found, expected in zip(op.joint(xp, wanted, g, *values), alone, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_gradient_by_a_kernel_is_taken_over():
    x = rg.randn(64, 64, requires_grad=True)
    formula = OPS["softmax"].vjps["input"]
    found = Rows(formula)((xp, x.detach().numpy(), x.detach().numpy(), (1,)))
    assert found.base is None
    x.softmax(1).backward(rg.randn(64, 64))
    assert x.grad._array.base is None


@pytest.mark.parametrize("char", "fd")
def test_a_softmax_leaves_out_what_is_masked(char):
    x = drawn((8, 64), char)
    x[:, 40:] = -np.inf
    x[0, 30:] = -1e9
    out = compared(lambda x: plain("softmax")(x, dim=(1,)), x)
    assert not out[:, 40:].any()
    assert not out[0, 30:].any()
    np.testing.assert_allclose(out.sum(1), 1, rtol=1e-6)


def test_a_sum_across_rows_beside_one_along_them():
    def both(x):
        share = np.exp(x - np.maximum.reduce(x, axis=1, keepdims=True))
        share = share / np.add.reduce(share, axis=1, keepdims=True)
        return share, np.add.reduce(share, axis=0), np.add.reduce(x, axis=1)

    compared(both, drawn((300, 150), "f"))


@pytest.mark.parametrize("char", "fd")
def test_rows_are_divided_by_numbers_of_any_size(char):
    limits = np.finfo(char)
    sizes = [limits.smallest_subnormal, limits.tiny, limits.max, np.inf, 0.0, -0.0, np.nan, 3.0]
    x = drawn((8, 37), char)
    x[:, :8] = np.array([1.0, 0.0, -np.inf, np.nan, limits.tiny, limits.max, -1e-3, 1e3], char)
    found = Rows(lambda x, y: x / y)((x, np.array(sizes, char)[:, None]))
    with np.errstate(all="ignore"):
        expected = x / np.array(sizes, char)[:, None]
    normal = np.abs(expected) >= limits.tiny
    np.testing.assert_allclose(found[normal], expected[normal], rtol=2 * limits.eps)
    np.testing.assert_allclose(
        found[~normal], expected[~normal], rtol=0, atol=2 * limits.smallest_subnormal
    )


def test_what_is_written_early_is_read_again_in_slices_and_rests_of_rows():
    def twice(x):
        share = np.exp(x)
        return share / np.add.reduce(share, axis=(1, 2), keepdims=True), share * 2

    compared(twice, drawn((5, 7, 43), "f")[:, ::2, :37])


def test_a_sum_across_rows_of_a_slice():
    compared(
        lambda x: plain("sum_dim")(x, dim=(0,), keepdim=False), drawn((90, 6, 50), "f")[:, :5, :40]
    )


def test_infinities_and_nan_come_through_a_sum_across_rows():
    x = drawn((90, 37), "f", special=True)
    x[50, 0] = -np.inf
    compared(lambda x: plain("sum_dim")(x, dim=(0,), keepdim=False), x)


def test_a_sum_across_rows_in_double_precision_has_no_rounding_but_the_last():
    x = np.tile([[1e16], [1.0], [-1e16], [1.0]], (9, 16))
    found = Rows(lambda x: plain("sum_dim")(x, dim=(0,), keepdim=False))((x,))
    np.testing.assert_array_equal(found, np.full(16, 18.0))


def test_a_mean_across_many_rows_is_within_two_units_of_the_exact_one():
    x = np.random.default_rng(0).random((2_000_000, 16)).astype("f")
    found = Rows(lambda x: plain("mean_dim")(x, dim=(0,), keepdim=False))((x,))
    exact = x.mean(0, dtype=np.float64)
    assert np.max(np.abs(found - exact)) <= np.spacing(np.float32(exact.max()))


def test_what_is_computed_of_sums_across_rows_beside_the_rows_is_left_to_numpy():
    x = drawn((90, 37), "f")
    assert Rows(lambda x: x - np.add.reduce(x, axis=0))((x,)) is None
    assert Rows(lambda x: np.maximum.reduce(x, axis=0))((x,)) is None
    assert Rows(lambda x: np.add.reduce(x, axis=0) + np.add.reduce(x, axis=1))((x[:37],)) is None


def test_a_choice_between_rows_and_an_array_for_all_of_them():
    x, y = drawn((4, 6), "f"), drawn((2, 6), "f")[1]
    compared(lambda x, y: np.where(x > 0, x, y), x, y)
    assert Rows(lambda x: np.where(x > 0, x, np.add.reduce(x, axis=1)))((x[:, :4],)) is None


def test_rows_in_another_shape_are_left_to_numpy():
    x = drawn((4, 4), "f")
    assert Rows(lambda x: x * np.add.reduce(x, axis=1).reshape(1, 4))((x,)) is None
    assert Rows(lambda x, y: (x * 2, y * 2))((x, np.array(2.0))) is None


def test_an_array_of_all_dimensions_may_hold_a_number_per_row_or_one():
    x, y = drawn((5, 37), "f"), drawn((5,), "f")
    compared(lambda x, y: np.broadcast_to(np.expand_dims(y, (1,)) * 2, x.shape), x, y)
    compared(lambda x: (np.zeros_like(x), np.add.reduce(x, axis=1)), x)


def test_truth_values_are_written_and_sums_of_them_are_left_to_numpy():
    x = drawn((5, 37), "f")
    compared(lambda x: x > np.add.reduce(x, axis=1, keepdims=True), x)
    assert Rows(lambda x: np.add.reduce(x > 0, axis=1))((x,)) is None
    assert Rows(lambda x: np.add.reduce(x.astype(np.int64), axis=1))((x,)) is None


@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_has_the_dtype_that_is_asked_for(axis):
    x = drawn((90, 37), "f")
    compared(lambda x: np.add.reduce(x, axis=axis, dtype=np.float64), x)
    compared(lambda x: np.add.reduce(x > 0, axis=axis, dtype=np.float32), x)


def test_transposed_rows_are_left_to_numpy():
    x = drawn((37, 5), "f").T
    assert Rows(lambda x: plain("softmax")(x, dim=(1,)))((x,)) is None


def test_a_broadcast_input_is_read_where_it_lies():
    x = np.broadcast_to(drawn((1, 37), "f"), (5, 37))
    compared(lambda x: plain("softmax")(x, dim=(1,)), x)


def test_the_same_number_of_passes_whatever_the_formula_repeats():
    program = recorded(lambda x: plain("softmax")(x, dim=(1,)), (drawn((5, 37), "f"),)).program
    assert [call.function for call in program.calls].count("exp") == 1


@pytest.mark.parametrize("char", "fd")
def test_a_mean_of_many_numbers_is_within_two_units_of_the_exact_one(char):
    x = np.random.default_rng(0).random((2, 5_000_000)).astype(char)
    found = Rows(lambda x: plain("mean_dim")(x, dim=(1,), keepdim=False))((x,))
    exact = x.astype(np.longdouble).mean(1)
    assert np.max(np.abs(found - exact)) <= 2 * np.spacing(exact.astype(char)).max()


def test_a_sum_in_double_precision_has_no_rounding_but_the_last():
    x = np.array([[1e16, 1.0, -1e16, 1.0] * 9])
    assert Rows(lambda x: plain("sum_dim")(x, dim=(1,), keepdim=False))((x,)) == 18.0


@pytest.mark.skipif(loops is None, reason="the pool is in C")
def test_bits_do_not_depend_on_the_number_of_threads():
    x = drawn((300, 1000), "f")
    for name, dim in (("softmax", {"dim": (1,)}), ("sum_dim", {"dim": (0,), "keepdim": False})):
        kernel = Rows(lambda x, name=name, dim=dim: plain(name)(x, **dim))
        many = kernel((x,))
        try:
            loops.set_threads(1)
            one = kernel((x,))
        finally:
            loops.set_threads(2)
        np.testing.assert_array_equal(one, many)


def test_arrays_of_other_sizes_have_the_same_code():
    kernels = Rows(lambda x: plain("softmax")(x, dim=(1,)))
    for shape in ((5, 37), (6, 40), (2, 1000)):
        kernels((drawn(shape, "f"),))
    assert len({k.address for k in kernels.kernels.values()}) == 1


@pytest.mark.parametrize("name", ["var", "std"])
def test_code_does_not_depend_on_counts_of_elements(name):
    kernels = Rows(lambda x: plain(name)(x, dim=(1,), correction=1, keepdim=False))
    for shape in ((5, 37), (6, 40)):
        x = drawn(shape, "d")
        expected = getattr(np, name)(x, axis=1, ddof=1)
        np.testing.assert_allclose(kernels((x,)), expected, rtol=1e-14)
    assert len({k.address for k in kernels.kernels.values()}) == 1


def test_many_shapes_in_turn_are_recorded_once_each(monkeypatch):
    made = []
    kernels = Rows(lambda x: plain("softmax")(x, dim=(1,)))
    monkeypatch.setattr(kernels, "new_kernel", lambda operands, arrays: made.append(operands))
    for _ in range(3):
        for columns in range(400, 600):
            kernels((np.ones((50, columns), np.float32),))
    assert len(made) == 200


def test_a_large_tensor_goes_through_a_kernel():
    x = rg.ones(40, 60, requires_grad=True)
    x.softmax(1).sum().backward()
    assert OPS["softmax"].forward.kernels
    np.testing.assert_allclose(x.grad.numpy(), np.zeros((40, 60)), atol=1e-9)


def test_a_kernel_leaves_arrays_of_another_byte_order_or_alignment_to_numpy():
    def total(x):
        return np.add.reduce(x, axis=1)

    kernels, x = Rows(total), drawn((5, 37), "f")
    assert kernels((x,)) is not None
    apart = np.frombuffer(b"\0" + x.tobytes(), "f", offset=1).reshape(x.shape)
    assert kernels((x.astype(x.dtype.newbyteorder()),)) is None
    assert kernels((apart,)) is None


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("classes", [40, 700])
def test_a_cross_entropy_goes_through_kernels(classes, order):
    x = np.asarray(drawn((90, classes), "f"), order=order)
    target = np.arange(90) % classes
    wide = np.exp(x.astype(np.float64))
    share = wide / wide.sum(1, keepdims=True)
    logits = rg.tensor(x, requires_grad=True)
    loss = rg.nn.functional.cross_entropy(logits, rg.tensor(target))
    loss.backward()
    picked = np.arange(90), target
    np.testing.assert_allclose(loss.item(), -np.log(share[picked]).mean(), rtol=1e-6)
    share[picked] -= 1
    np.testing.assert_allclose(logits.grad.numpy(), share / 90, atol=1e-8)


def test_explain_shows_a_kernel_of_rows_and_why_there_is_none():
    x = rg.ones(40, 60)
    text = str(rg.compiler.explain(lambda: (x.softmax(1), x.softmax(0))))
    assert "kernel: 5 calls of NumPy" in text
    assert "NumPy: " in text


def test_a_sum_over_one_element_lies_in_rows():
    x = rg.arange(6.0).reshape(2, 3).t()[None]
    assert x.sum(0).stride() == (2, 1)
    assert x.sum(0).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("shape", [(40_000,), (40_013,), (211, 211), (40_000, 1), (3, 50, 300)])
def test_a_sum_of_everything(shape, char):
    x = drawn(shape, char) ** 2
    found = compared(lambda x: np.add.reduce(x * 2, None) / x.size, x)
    exact = (x.astype(np.longdouble) * 2).sum() / x.size
    assert abs(found - exact) <= np.spacing(found)
    x.flat[7] = np.inf
    assert compared(lambda x: np.add.reduce(x, None), x) == np.inf
    assert Rows(lambda x: x - np.add.reduce(x, None))((x,)) is None


@pytest.mark.parametrize("axis", [1, (0, 1)])
@pytest.mark.parametrize("shape", [(150, 160), (37, 41)])
def test_a_number_that_is_given_for_all_rows(shape, axis):
    def beside(x):
        total = np.add.reduce(x, axis=axis, keepdims=True)
        return x * 2, np.zeros_like(total), np.full_like(total, 3)

    compared(beside, drawn(shape, "f"))
    compared(
        lambda x: (np.zeros_like(np.add.reduce(x, axis=1)), np.add.reduce(x, axis=0)),
        drawn(shape, "f"),
    )
    assert (
        Rows(lambda x: (x * 2, np.zeros_like(np.add.reduce(x, axis=1)) + 1))((drawn(shape, "f"),))
        is None
    )

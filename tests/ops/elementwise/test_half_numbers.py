"""Numbers beside half floats: as factors and divisors in float32, elsewhere rounded first."""

import pytest

import retrograd as rg

HALVES = [rg.bfloat16, rg.float16]
VALUES = [1.1, -2.3, 0.7, 3.14, -0.013]


def halves(dtype, **options):
    return rg.tensor(VALUES, dtype=dtype, **options)


FACTORS = {
    "x * n": (lambda x, n: x * n, lambda x, n: x * n),
    "n * x": (lambda x, n: n * x, lambda x, n: x * n),
    "x / n": (lambda x, n: x / n, lambda x, n: x / n),
    "mul_": (lambda x, n: x.clone().mul_(n), lambda x, n: x * n),
    "out=": (lambda x, n: rg.mul(x, n, out=rg.empty_like(x)), lambda x, n: x * n),
    "x * 0-d": (lambda x, n: x * rg.tensor(n), lambda x, n: x * n),
    "x / 0-d float64": (lambda x, n: x / rg.tensor(n, dtype=rg.float64), lambda x, n: x / n),
    "vmap": (lambda x, n: rg.func.vmap(lambda e: e * n)(x), lambda x, n: x * n),
    "vmap of rows": (lambda x, n: rg.func.vmap(lambda e: e * n)(x[None])[0], lambda x, n: x * n),
    "0-d x": (lambda x, n: rg.stack([e * n for e in x]), lambda x, n: x * n),
    "floor": (lambda x, n: (x * 64) // n, lambda x, n: (x * 64) // n),
    "trunc": (
        lambda x, n: rg.div(x, n / 64, rounding_mode="trunc"),
        lambda x, n: rg.div(x, n / 64, rounding_mode="trunc"),
    ),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("number", [0.1, 0.3, 1e5, 1e-9])
@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_or_divisor_of_half_floats_is_rounded_with_the_result_alone(name, number, dtype):
    function, exact = FACTORS[name]
    x = halves(dtype)
    found = function(x, number)
    assert found.dtype is dtype
    assert found.equal(exact(x.float(), rg.tensor(number).item()).to(dtype))


ROUNDED = {
    "x + n": lambda x, n: x + n,
    "n - x": lambda x, n: n - x,
    "x % n": lambda x, n: x % n,
    "x < n": lambda x, n: x < n,
    "x == n": lambda x, n: x == n,
    "0-d n * x": lambda x, n: rg.tensor(n) * x,
    "maximum": lambda x, n: rg.maximum(x, rg.tensor(n)),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ROUNDED)
def test_any_other_number_beside_half_floats_is_rounded_first(name, dtype):
    x = halves(dtype)
    n = rg.tensor(0.7, dtype=dtype).item()
    assert ROUNDED[name](x, 0.7).equal(ROUNDED[name](x, n))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("function", [lambda x: x * 0.1, lambda x: x * rg.tensor(0.1)])
def test_gradients_by_half_floats_have_the_factor_in_float32(function, create_graph, dtype):
    x, g = halves(dtype, requires_grad=True), halves(dtype).flip(0)
    (found,) = rg.autograd.grad(function(x), x, g, create_graph=create_graph)
    assert found.dtype is dtype
    assert found.equal((g.float() * rg.tensor(0.1).item()).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
def test_a_number_over_half_floats_is_their_reciprocal_times_it(dtype):
    x = halves(dtype)
    assert (0.1 / x).equal(x.reciprocal() * 0.1)
    assert (0.1 / x).dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_the_node_of_a_scaled_half_float_is_that_of_the_product(dtype):
    assert (halves(dtype, requires_grad=True) * 0.1).grad_fn.name() == "MulBackward0"


@pytest.mark.parametrize("dtype", HALVES)
def test_a_sum_with_alpha_rounds_alpha_then_the_sum_once(dtype):
    x, y = halves(dtype, requires_grad=True), halves(dtype, requires_grad=True)
    alpha = rg.tensor(0.1, dtype=dtype).item()
    found = rg.add(x, y.flip(0), alpha=0.1)
    assert found.equal((x.float() + alpha * y.flip(0).float()).to(dtype))
    assert rg.sub(x, y, alpha=0.1).equal((x.float() - alpha * y.float()).to(dtype))
    assert found.grad_fn.name() == "AddBackward0"
    g = halves(dtype)
    (by_y,) = rg.autograd.grad(found, y, g)
    assert by_y.flip(0).equal(g * 0.1)


@pytest.mark.parametrize("dtype", HALVES)
def test_a_batch_of_0d_factors_gives_half_floats(dtype):
    x, w = halves(dtype).expand(3, 5), rg.tensor([0.1, 0.2, 0.3])
    found = rg.func.vmap(lambda a, b: a * b)(x, w)
    assert found.dtype is dtype
    assert found.equal(x * w.to(dtype)[:, None])  # rounded first, as in PyTorch

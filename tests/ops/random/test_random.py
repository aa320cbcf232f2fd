"""Random numbers: seeds and states, distributions, and filling in place.

The distributions are tested by their moments on 20,000 numbers of a fixed seed; tolerances are
about five standard errors.
"""

from __future__ import annotations

import copy
import math
import pickle
import threading

import numpy as np
import pytest

import retrograd as rg

N = 20_000


def test_the_same_seed_gives_the_same_numbers():
    rg.manual_seed(7)
    first = [rg.rand(3).tolist(), rg.randn(3).tolist(), rg.randperm(5).tolist()]
    rg.manual_seed(7)
    assert [rg.rand(3).tolist(), rg.randn(3).tolist(), rg.randperm(5).tolist()] == first
    assert rg.initial_seed() == 7
    assert rg.rand(3).tolist() != first[0]


def test_numpys_stream_never_changes():
    generator = rg.Generator(algorithm="pcg64").manual_seed(0)
    made = rg.rand(3, generator=generator, dtype=rg.float64)
    np.testing.assert_allclose(
        made.numpy(), [0.6369616873214543, 0.2697867137638703, 0.04097352393619469], rtol=1e-15
    )


def test_a_state_leads_back_to_its_place_in_the_stream():
    generator = rg.Generator().manual_seed(3)
    rg.randint(0, 10, (3,), generator=generator)
    state = generator.get_state()
    assert state.dtype is rg.uint8
    first = rg.randn(5, generator=generator)
    for other in (copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))):
        assert (rg.rand(1, generator=other) == rg.rand(1, generator=generator.clone_state())).all()
    generator.set_state(state)
    assert (rg.randn(5, generator=generator) == first).all()
    assert generator.initial_seed() == 3
    state = rg.get_rng_state()
    first = rg.rand(2)
    rg.set_rng_state(state)
    assert (rg.rand(2) == first).all()


def test_a_forked_stream_ends_where_it_began():
    rg.manual_seed(1)
    expected = rg.rand(2).tolist()
    rg.manual_seed(1)
    with pytest.raises(ZeroDivisionError), rg.random.fork_rng():
        1 / (rg.manual_seed(99).initial_seed() - 99)
    assert rg.rand(2).tolist() == expected


def test_seeds_are_checked():
    generator = rg.Generator()
    assert generator.manual_seed(-1).initial_seed() == 2**64 - 1
    assert rg.Generator().initial_seed() == 67280421310721
    assert generator.seed() == generator.initial_seed()
    assert isinstance(rg.seed(), int)
    assert generator.device == rg.device("cpu")
    with pytest.raises(RuntimeError, match="manual_seed expected a long, but got float"):
        generator.manual_seed(1.5)
    with pytest.raises(ValueError, match="Overflow"):
        rg.manual_seed(2**64)
    with pytest.raises(RuntimeError, match="CUDA generator"):
        rg.Generator("cuda")
    with pytest.raises(TypeError, match=r"RNG state must be a retrograd.ByteTensor"):
        generator.set_state(rg.ones(2))
    with pytest.raises(RuntimeError, match="size to be 3"):
        generator.set_state(rg.zeros(3, dtype=rg.uint8))
    with pytest.raises(TypeError, match=r"must be retrograd.Generator, not int"):
        rg.rand(2, generator=3)


def test_threads_share_one_stream_without_losing_numbers():
    generator, drawn = rg.Generator().manual_seed(5), []

    def draw():
        for _ in range(200):
            drawn.append(rg.rand(1, dtype=rg.float64, generator=generator).item())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = rg.rand(800, dtype=rg.float64, generator=generator.manual_seed(5)).tolist()
    assert sorted(drawn) == sorted(expected)


@pytest.mark.parametrize("dtype", [rg.float16, rg.float32, rg.float64, rg.complex64])
def test_rand_is_even_between_zero_and_one(dtype):
    x = rg.rand(N, dtype=dtype)
    assert x.dtype is dtype
    parts = [x._array.real, x._array.imag] if dtype.is_complex else [x._array]
    for part in (part.astype(np.float64) for part in parts):
        assert (part >= 0).all()
        assert (part < 1).all()
        assert abs(part.mean() - 0.5) < 0.011
        assert abs(part.var() - 1 / 12) < 0.003


@pytest.mark.parametrize("dtype", [rg.float16, rg.float32, rg.float64])
def test_randn_has_mean_zero_and_variance_one(dtype):
    x = rg.randn(N, dtype=dtype)._array.astype(np.float64)
    assert abs(x.mean()) < 0.036
    assert abs(x.var() - 1) < 0.05


def test_complex_randn_splits_the_variance_over_both_parts():
    x = rg.randn(N, dtype=rg.complex128).numpy()
    assert abs(x.real.var() - 0.5) < 0.025
    assert abs(x.imag.var() - 0.5) < 0.025
    assert abs((x.real * x.imag).mean()) < 0.02


def test_factories_take_dtype_out_and_requires_grad():
    assert rg.randn((5, 5), requires_grad=True).requires_grad
    out = rg.zeros(3)
    assert rg.rand(3, out=out) is out
    assert (out > 0).all()
    x = rg.ones(2, 3, dtype=rg.float64, requires_grad=True)
    for like in (rg.rand_like(x), rg.randn_like(x), rg.randint_like(x, 5)):
        assert (like.shape, like.dtype, like.requires_grad) == (x.shape, x.dtype, False)
    for factory, kernel in ((rg.rand, "check_uniform_bounds"), (rg.randn, "normal_kernel_cpu")):
        with pytest.raises(NotImplementedError, match=rf"{kernel}. not implemented for 'Long'"):
            factory(2, dtype=rg.int64)


def test_randint_covers_its_range():
    assert set(rg.randint(2, 5, (200,)).tolist()) == {2, 3, 4}
    assert rg.randint(5, (2,)).dtype is rg.int64
    assert rg.randint(low=0, high=5, size=(2, 3)).shape == (2, 3)
    assert rg.randint(high=5, size=(2,)).shape == (2,)
    assert rg.randint(0, 2, (2,), dtype=rg.float32, requires_grad=True).requires_grad
    assert set(rg.randint_like(rg.ones(200), 2, 4).tolist()) == {2.0, 3.0}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.randint(5, 3, (2,)), RuntimeError, "got from=5 >= to=3"),
        (lambda: rg.randint(0, (2,)), RuntimeError, "got from=0 >= to=0"),
        (lambda: rg.randint(0, 300, (2,), dtype=rg.uint8), RuntimeError, "out of bounds"),
        (lambda: rg.randint(5, 2), TypeError, "must be tuple of ints, not int"),
        (lambda: rg.randint(1.5, (2,)), TypeError, "'high' must be int, not float"),
        (lambda: rg.randint(5), TypeError, "randint"),
        (lambda: rg.randperm(-1), RuntimeError, "negative dimension -1"),
        (lambda: rg.randperm(2.5), TypeError, "'n' must be int, not float"),
        (lambda: rg.randperm(300, dtype=rg.uint8), RuntimeError, "without overflow"),
        (lambda: rg.randperm(2050, dtype=rg.half), RuntimeError, "n cannot be greater than 2049"),
        (lambda: rg.randperm(2, dtype=rg.bool), NotImplementedError, "'Bool'"),
        (lambda: rg.normal(0.0, -1.0, (2,)), RuntimeError, "normal expects std >= 0.0"),
        (lambda: rg.normal(rg.ones(1), -rg.ones(1)), RuntimeError, "all elements of std >= 0.0"),
        (lambda: rg.normal(0.0, 1.0), TypeError, "invalid combination of arguments"),
        (lambda: rg.normal(rg.ones(1), dtype=rg.float64), TypeError, "have the dtype of the tens"),
        (lambda: rg.bernoulli(rg.tensor([2.0])), RuntimeError, "p_in >= 0 && p_in <= 1"),
        (lambda: rg.bernoulli(rg.arange(2)), NotImplementedError, "'Long'"),
        (lambda: rg.poisson(-rg.ones(1)), RuntimeError, "invalid Poisson rate"),
        (lambda: rg.multinomial(rg.ones(2), 3), RuntimeError, "without replacement"),
        (lambda: rg.multinomial(rg.ones(2), 0), RuntimeError, "n_sample <= 0"),
        (lambda: rg.multinomial(-rg.ones(2), 1), RuntimeError, "element < 0"),
        (lambda: rg.multinomial(rg.zeros(2), 1), RuntimeError, "sum of probabilities <= 0"),
        (lambda: rg.multinomial(rg.ones(1, 1, 1), 1), RuntimeError, "must be 1 or 2 dim"),
        (lambda: rg.multinomial(rg.arange(2), 1), RuntimeError, "floating-point dtypes"),
    ],
)
def test_bad_parameters_raise(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_randperm_is_a_permutation():
    assert sorted(rg.randperm(50).tolist()) == list(range(50))
    assert rg.randperm(0).shape == (0,)
    assert rg.randperm(3, dtype=rg.float32).dtype is rg.float32


def test_samples_follow_the_parameters_they_are_given():
    p = rg.tensor([0.1, 0.9]).expand(N, 2)
    np.testing.assert_allclose(rg.bernoulli(p).numpy().mean(0), [0.1, 0.9], atol=0.011)
    rates = rg.tensor([0.5, 4.0]).expand(N, 2)
    np.testing.assert_allclose(rg.poisson(rates).numpy().mean(0), [0.5, 4.0], atol=0.08)
    drawn = rg.normal(rg.tensor([-1.0, 2.0]).expand(N, 2), rg.tensor([0.5, 3.0])).numpy()
    np.testing.assert_allclose(drawn.mean(0), [-1.0, 2.0], atol=0.11)
    np.testing.assert_allclose(drawn.std(0), [0.5, 3.0], rtol=0.03)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_multinomial_sample_is_a_uniform_number_looked_up_in_the_sums_of_weights(shape):
    weights = rg.tensor([1.0, 0.0, 3.0, 0.5, 0.0]).expand(*shape, 5)
    drawn = rg.multinomial(weights, 40, True, generator=rg.Generator().manual_seed(1))
    uniform = rg.rand(*shape, 40, dtype=rg.float64, generator=rg.Generator().manual_seed(1))
    expected = np.searchsorted([1.0, 1.0, 4.0, 4.5, 4.5], uniform.numpy() * 4.5, "right")
    np.testing.assert_array_equal(drawn.numpy(), expected)


def test_multinomial_follows_the_weights():
    weights = rg.tensor([1.0, 0.0, 3.0])
    counts = np.bincount(rg.multinomial(weights, N, replacement=True).numpy(), minlength=3)
    np.testing.assert_allclose(counts / N, [0.25, 0.0, 0.75], atol=0.016)
    rows = rg.multinomial(weights.expand(N, 3), 2).numpy()
    assert (np.sort(rows, 1) == [0, 2]).all()
    np.testing.assert_allclose((rows[:, 0] == 2).mean(), 0.75, atol=0.016)


@pytest.mark.parametrize(
    ("call", "node"),
    [
        (lambda x: rg.bernoulli(x), "BernoulliBackward0"),
        (lambda x: rg.poisson(x), "PoissonBackward0"),
        (lambda x: rg.normal(x, 1.0), "NormalBackward1"),
        (lambda x: rg.normal(0.0, x), "NormalBackward2"),
        (lambda x: (x * 2).uniform_(), "UniformBackward0"),
        (lambda x: (x * 2).normal_(), "NormalBackward0"),
        (lambda x: (x * 2).exponential_(), "ExponentialBackward0"),
    ],
)
def test_samples_pass_zero_gradients(call, node):
    x = rg.tensor([0.5, 0.25], requires_grad=True)
    y = call(x)
    assert type(y.grad_fn).__name__ == node
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("fill", "mean", "variance"),
    [
        (lambda x: x.uniform_(2, 4), 3.0, 1 / 3),
        (lambda x: x.normal_(2, 3), 2.0, 9.0),
        (lambda x: x.bernoulli_(0.2), 0.2, 0.16),
        (lambda x: x.exponential_(2.0), 0.5, 0.25),
        (lambda x: x.geometric_(0.5), 2.0, 2.0),
        (lambda x: x.log_normal_(0.0, 0.5), np.exp(0.125), (np.exp(0.25) - 1) * np.exp(0.25)),
        (lambda x: x.random_(0, 3), 1.0, 2 / 3),
    ],
)
def test_filling_in_place_follows_the_distribution(fill, mean, variance):
    x = rg.empty(N)
    assert fill(x) is x
    values = x.numpy().astype(np.float64)
    assert abs(values.mean() - mean) < 5 * (variance / N) ** 0.5
    assert abs(values.var() / variance - 1) < 0.15


def test_cauchy_has_its_quartiles():
    x = rg.empty(N).cauchy_(1.0, 2.0).numpy()
    np.testing.assert_allclose(np.quantile(x, [0.25, 0.5, 0.75]), [-1.0, 1.0, 3.0], atol=0.2)


def test_filling_in_place_takes_every_dtype_that_pytorch_takes():
    assert set(rg.ones(200, dtype=rg.bool).random_().tolist()) == {True, False}
    assert set(rg.arange(200).bernoulli_().tolist()) == {0, 1}
    assert rg.arange(9).geometric_(0.5).min() >= 1
    assert rg.zeros(9, dtype=rg.int64).random_().min() >= 0
    assert rg.ones(9).random_().max() <= 2**24
    assert rg.ones(2, 3).bernoulli_(rg.tensor([0.0, 1.0, 0.0])).tolist() == [[0, 1, 0]] * 2
    assert rg.zeros(N, dtype=rg.complex64).normal_().numpy().real.var() < 0.6
    assert rg.ones(3).uniform_(**{"from": 2.0, "to": 2.0}).tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: rg.ones(1).uniform_(2, 1), RuntimeError, "found from=2 > to=1"),
        (lambda: rg.arange(1).uniform_(), NotImplementedError, "'Long'"),
        (lambda: rg.ones(1).normal_(0, -1), RuntimeError, "normal expects std >= 0.0"),
        (lambda: rg.arange(1).normal_(), NotImplementedError, "'Long'"),
        (lambda: rg.ones(1).bernoulli_(2), RuntimeError, "expects p to be in .0, 1."),
        (lambda: rg.ones(1).exponential_(-1), RuntimeError, "expects lambda > 0.0"),
        (lambda: rg.arange(1).exponential_(), RuntimeError, "must be a floating point"),
        (lambda: rg.ones(1).cauchy_(0, -1), RuntimeError, "expects sigma > 0.0"),
        (lambda: rg.ones(1).geometric_(2), RuntimeError, "expects p to be in .0, 1."),
        (lambda: rg.ones(1).log_normal_(0, -1), RuntimeError, "expects std > 0.0"),
        (lambda: rg.ones(1).random_(5, 3), RuntimeError, "got from=5 >= to=3"),
        (lambda: rg.ones(1, dtype=rg.uint8).random_(0, 300), RuntimeError, "out of bounds"),
        (lambda: rg.ones(1, dtype=rg.complex64).random_(), NotImplementedError, "ComplexFloat"),
        (lambda: rg.ones(2, 3).bernoulli_(rg.ones(2)), RuntimeError, "does not expand to"),
        (lambda: rg.ones(1).uniform_(start=1), TypeError, "unexpected keyword argument 'start'"),
    ],
)
def test_filling_in_place_refuses_bad_parameters(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_filling_in_place_keeps_the_rules_for_leaves_and_draws_nothing_when_they_are_broken():
    x = rg.ones(2, requires_grad=True)
    state = rg.get_rng_state().tolist()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.normal_()
    assert rg.get_rng_state().tolist() == state
    with rg.no_grad():
        x.normal_()
    assert x.is_leaf
    assert x.tolist() != [1.0, 1.0]


def test_filling_in_place_counts_a_write():
    x = rg.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.uniform_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_filling_a_view_cuts_only_its_region_off():
    x = rg.ones(3, requires_grad=True)
    y = x * 2
    y[1:].zero_()
    y[:1].normal_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    y = x * 2
    y[:1].normal_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [(rg.float32, -3e38, 3e38), (rg.float16, 0, 1e6), (rg.float64, 0, math.inf)],
)
def test_uniform_refuses_a_range_wider_than_the_largest_number(dtype, low, high):
    with pytest.raises(RuntimeError, match="uniform_ expects to-from <="):
        rg.empty(3, dtype=dtype).uniform_(low, high)


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_uniform_numbers_of_16_bits_stay_below_their_bound(dtype):
    x = rg.empty(20000, dtype=dtype).uniform_(1.0, 2.0)
    assert x.min() >= 1.0
    assert x.max() < 2.0


@pytest.mark.parametrize(
    ("dtype", "bounds", "total", "least"),  # PyTorch's: what rounds to the bound is the lower one
    [
        (rg.float16, (0.0, 1.0), 9989.02809393406, 7),
        (rg.float16, (0.1, 0.7), 7996.412292480469, 2),
        (rg.bfloat16, (0.0, 1.0), 9950.40660238266, 46),
        (rg.bfloat16, (-0.3464, 0.3464), -40.1051667034626, 109),
    ],
)
def test_uniform_numbers_of_16_bits_are_those_of_pytorch(dtype, bounds, total, least):
    if dtype is rg.bfloat16:
        pytest.importorskip("ml_dtypes")
    rg.manual_seed(1)
    x = rg.empty(N, dtype=dtype).uniform_(*bounds)
    assert x.double().sum().item() == pytest.approx(total, rel=1e-12)
    assert (x == rg.tensor(bounds[0], dtype=dtype)).sum() == least
    if bounds == (0.0, 1.0):
        rg.manual_seed(1)
        assert rg.equal(rg.rand(N, dtype=dtype), x)


@pytest.mark.parametrize("algorithm", ["mt19937", "pcg64"])
def test_trials_without_a_known_probability_have_no_count(algorithm):
    generator = rg.Generator(algorithm=algorithm).manual_seed(0)
    count, chance = rg.tensor([4.0, 4.0, 4.0]), rg.tensor([float("nan"), -1.0, 2.0])
    found = rg.binomial(count, chance, generator=generator)
    assert rg.equal(found.nan_to_num(-1.0), rg.tensor([-1.0, 0.0, 4.0]))


def test_gamma_numbers_of_no_concentration_are_the_least_and_nan_stays():
    found = rg._standard_gamma(rg.tensor([0.0, float("nan"), -1.0]))
    assert found[0] == rg.finfo(rg.float32).tiny
    assert found[1:].isnan().all()


def test_set_state_returns_the_generator():
    g = rg.Generator().manual_seed(3)
    assert g.set_state(g.get_state()) is g


def test_a_size_beside_tensors_of_one_number_is_the_shape():
    rg.manual_seed(3)
    drawn = rg.normal(rg.tensor(1.0, dtype=rg.float64), rg.tensor(2), (3,))
    rg.manual_seed(3)
    assert rg.equal(drawn, rg.normal(1.0, 2.0, (3,)))
    with pytest.raises(TypeError, match="argument 'mean' must be Number, not Tensor"):
        rg.normal(rg.zeros(3), 1.0, (3,))


def test_there_are_no_random_complex_integers():
    with pytest.raises(NotImplementedError, match="check_random_bounds"):
        rg.randint(6, (2,), dtype=rg.complex64)
    with pytest.raises(NotImplementedError, match="check_random_bounds"):
        rg.randint_like(rg.zeros(2, dtype=rg.complex64), 6)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (rg.float32, [8289568.0, 12849560.0, 1437118.0]),
        (rg.bfloat16, [-203.0, 185.0, -47.0]),
        (rg.int64, [900450186894288943, 3969543146641148608, 1895649597198586107]),
    ],
)
def test_random_without_an_end_fills_up_to_what_the_dtype_holds(dtype, expected):
    if dtype is rg.bfloat16:
        pytest.importorskip("ml_dtypes")
    rg.manual_seed(0)
    assert rg.empty(3, dtype=dtype).random_(-256, None).tolist() == expected  # PyTorch's
    rg.manual_seed(0)
    assert rg.empty(3, dtype=dtype).random_(**{"from": -256, "to": None}).tolist() == expected


@pytest.mark.parametrize(
    ("low", "high", "name"), [(-70000, 3, "from"), (0, 70000, "to - 1"), (0, 65506, "to - 1")]
)
def test_integers_beyond_a_floating_dtype_are_refused(low, high, name):
    match = f"{name} is out of bounds for c10::Half"
    with pytest.raises(RuntimeError, match=match):
        rg.empty(3, dtype=rg.float16).random_(low, high)
    with pytest.raises(RuntimeError, match=match):
        rg.randint(low, high, (3,), dtype=rg.float16)


@pytest.mark.parametrize(
    ("dtype", "digits"), [(rg.float16, 11), (rg.float32, 24), (rg.float64, 53)]
)
def test_integers_that_a_floating_dtype_holds_in_part_are_drawn_with_a_warning(dtype, digits):
    most = 2**digits
    x = rg.empty(3, dtype=dtype).random_(-most, most + 1)  # all are there
    for low, high, name in ((-most - 1, 0, "from"), (0, most + 2, "to - 1")):
        with pytest.warns(
            UserWarning, match=rf"{name} is out of bounds \[-\(2\^{digits}\), 2"
        ) as seen:
            assert bool((x.random_(low, high).abs() <= most + 2).all())
        assert seen[0].filename == __file__


def test_random_takes_two_bounds_at_most():
    with pytest.raises(TypeError, match="up to 2 bounds"):
        rg.empty(3).random_(1, 2, 3)


@pytest.mark.parametrize("dtype", [rg.float16, rg.float32, rg.float64])
def test_exponential_numbers_of_an_infinite_rate_are_zero(dtype):
    assert rg.empty(3, dtype=dtype).exponential_(float("inf")).tolist() == [0, 0, 0]
    assert (rg.empty(3, dtype=dtype).exponential_(1e4) > 0).all()

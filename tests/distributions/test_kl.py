"""Divergences: against the mean of log(p / q) over samples, for equal distributions, by class."""

from __future__ import annotations

import pytest

import retrograd as rg

from .support import N, assert_mean, t

D = rg.distributions
WITHOUT = {  # a divergence from their like, in PyTorch neither
    "f", "generalized pareto", "lkj", "mixture", "mixture of vectors", "multinomial",
    "negative binomial", "relaxed bernoulli", "relaxed one hot", "student t", "von mises",
}  # fmt: skip


def test_a_divergence_is_the_mean_of_the_log_ratio(divergence, tables):
    p, q = (tables.made(text, rg) for text in tables.PAIRS[divergence])
    q._validate_args = False
    for inner in (getattr(q, "base_dist", q), getattr(getattr(q, "base_dist", q), "base_dist", q)):
        inner._validate_args = False
    value = D.kl_divergence(p, q)
    x = p.sample((N,))
    ratio = p.log_prob(x) - q.log_prob(x)
    finite = value.isfinite() & ratio.isfinite().all(0)
    assert_mean(ratio.masked_fill(~finite, 0), value.masked_fill(~finite, 0))
    assert (value >= 0).all()


def test_equal_distributions_have_no_divergence(distribution, tables):
    text = tables.DISTRIBUTIONS[distribution][0]
    p, q = tables.made(text, rg), tables.made(text, rg)
    if distribution in WITHOUT:
        with pytest.raises(NotImplementedError, match="No KL"):
            D.kl_divergence(p, q)
        return
    value = D.kl_divergence(p, q)
    assert value.shape == p.batch_shape
    assert rg.allclose(value, t(0.0), atol=1e-13)


def test_divergences_have_derivatives():
    a, b = t([0.5, 2.0]).requires_grad_(), t([1.0, 3.0]).requires_grad_()

    def divergence(a, b):
        return D.kl_divergence(D.Gamma(a, b), D.Gamma(b, a))

    assert rg.autograd.gradcheck(divergence, (a, b))


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (D.Bernoulli, [t([0.2, 0.7])]),
        (D.Beta, [t([0.5, 2.0]), t([1.0, 3.0])]),
        (D.ContinuousBernoulli, [t([0.2, 0.7])]),
        (D.Dirichlet, [t([[0.5, 2.0], [1.0, 3.0]])]),
        (D.Exponential, [t([0.5, 2.0])]),
        (D.Gamma, [t([0.5, 2.0]), t([1.0, 3.0])]),
        (D.Normal, [t([0.5, 2.0]), t([1.0, 3.0])]),
        (D.Poisson, [t([0.5, 2.0])]),
        (D.Wishart, [t([3.0, 4.0]), t([[[1.0, 0.5], [0.5, 2.0]], [[3.0, 0.0], [0.0, 1.0]]])]),
    ],
)
def test_exponential_families_agree_with_their_normalizers(kind, given):
    p, q = kind(*given), kind(*(v.flip(0) for v in given))
    general = D.kl._KL_REGISTRY[D.ExponentialFamily, D.ExponentialFamily]
    assert rg.allclose(general(p, q), D.kl_divergence(p, q), rtol=1e-9)
    if kind not in (D.Poisson, D.Wishart):  # whose mean of k has no closed form here
        assert rg.allclose(D.ExponentialFamily.entropy(p), p.entropy(), rtol=1e-9)


def test_an_entropy_by_the_normalizer_can_be_differentiated():
    rate = t([0.5, 2.0]).requires_grad_()
    D.ExponentialFamily.entropy(D.Exponential(rate)).sum().backward()
    assert rg.allclose(rate.grad, -1 / rate)
    assert not D.ExponentialFamily.entropy(D.Exponential(t(2.0))).requires_grad


def test_the_most_specific_classes_win():
    class Mine(D.Normal):
        pass

    @D.register_kl(Mine, D.Normal)
    def mine(p, q):
        return t(7.0)

    try:
        one, other = Mine(t(0.0), 1.0), D.Normal(t(1.0), 1.0)
        assert D.kl_divergence(one, other) == 7
        assert D.kl_divergence(one, one) == 7
        assert D.kl_divergence(other, one) == 0.5

        @D.register_kl(D.Normal, Mine)
        def theirs(p, q):
            return t(8.0)

        with pytest.warns(RuntimeWarning, match="Ambiguous kl_divergence"):
            assert D.kl_divergence(one, one) == 7
    finally:
        for pair in [(Mine, D.Normal), (D.Normal, Mine)]:
            D.kl._KL_REGISTRY.pop(pair, None)
        D.kl._KL_MEMOIZE.clear()


@pytest.mark.parametrize(
    ("pair", "error", "text"),
    [
        (lambda: (D.Normal(0.0, 1.0), D.VonMises(0.0, 1.0)), NotImplementedError,
         r"No KL\(p \|\| q\) is implemented for p type Normal and q type VonMises"),
        (lambda: (D.Dirichlet(rg.ones(2)), D.Poisson(1.0)), NotImplementedError,
         "different exponential families"),
        (lambda: (D.Binomial(2, t(0.5)), D.Binomial(3, t(0.5))), NotImplementedError,
         "q.total_count > p.total_count"),
        (lambda: (D.MultivariateNormal(rg.zeros(2), rg.eye(2)),
                  D.MultivariateNormal(rg.zeros(3), rg.eye(3))), ValueError,
         "different event shapes"),
        (lambda: (D.Independent(D.Normal(rg.zeros(2, 3), 1.0), 1),
                  D.Independent(D.Normal(rg.zeros(2, 3), 1.0), 2)), NotImplementedError,
         "different reinterpreted_batch_ndims"),
        (lambda: (D.LogNormal(0.0, 1.0), D.HalfCauchy(1.0)),
         NotImplementedError, "different transforms"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_raises(pair, error, text):
    with pytest.raises(error, match=text):
        D.kl_divergence(*pair())


def test_only_classes_can_be_registered():
    with pytest.raises(TypeError, match="Expected type_q to be a Distribution subclass but got"):
        D.register_kl(D.Normal, 3)


@pytest.mark.parametrize(
    "batches", [((), ()), ((), (3,)), ((3,), ()), ((2, 1), (3,)), ((3,), (2, 3))]
)
def test_multivariate_normals_of_any_batches_are_compared_pair_by_pair(batches):
    loc, factor = rg.tensor([1.0, -2.0]), rg.tensor([[1.5], [0.5]])
    diagonal = rg.tensor([0.5, 2.0])
    low = D.LowRankMultivariateNormal(loc, factor, diagonal)
    full = D.MultivariateNormal(-loc, rg.tensor([[2.0, 0.3], [0.3, 1.0]]))
    scales = rg.linspace(1.0, 2.0, 3)
    for p, q in ((low, full), (full, low), (full, full), (low, low)):
        one = D.kl_divergence(p, q)
        many = D.kl_divergence(*[d.expand(b) for d, b in zip((p, q), batches, strict=True)])
        shape = rg.broadcast_shapes(*batches)
        assert many.shape == shape
        assert many.flatten().tolist() == pytest.approx(
            [one.item()] * shape.numel(), rel=1e-5, abs=1e-6
        )
    wide = D.MultivariateNormal(rg.zeros(2), scales[:, None, None] * rg.eye(2))
    found = D.kl_divergence(D.MultivariateNormal(rg.zeros(2), rg.eye(2)), wide)
    assert found.tolist() == pytest.approx((scales.log() + 1 / scales - 1).tolist(), abs=1e-6)


def test_what_an_expanded_low_rank_normal_derives_is_expanded():
    one = D.LowRankMultivariateNormal(rg.zeros(3), rg.ones(3, 1), rg.ones(3))
    many = one.expand((4,))
    for name in ("variance", "covariance_matrix", "scale_tril", "precision_matrix"):
        found = getattr(many, name)
        assert found.stride()[0] == 0
        assert found[1].flatten().tolist() == pytest.approx(getattr(one, name).flatten().tolist())

"""Distributions, divergences, transforms and constraints, and what PyTorch's give for them.

The tables hold texts: `D` are the distributions, `t` makes a tensor of double precision. The
functions evaluate them with either library. As a script, with PyTorch installed, this writes the
results to `distributions.json`:

    python make_distributions.py
"""

import inspect
import json
import warnings
from pathlib import Path

PATH = Path(__file__).with_name("distributions.json")

# By name: the distribution, and values to score, within its support.
DISTRIBUTIONS = {
    "bernoulli": ("D.Bernoulli(t([0.1, 0.4, 0.9]))", "t([1.0, 0.0, 1.0])"),
    "bernoulli logits": ("D.Bernoulli(logits=t([-40.0, -0.4, 3.0]))", "t([0.0, 0.0, 1.0])"),
    "beta": (
        "D.Beta(t([0.5, 1.0, 2.0, 30.0]), t([0.5, 3.0, 2.5, 0.2]))",
        "t([0.2, 0.01, 0.5, 0.99])",
    ),
    "binomial": ("D.Binomial(5, t([0.1, 0.5, 0.8]))", "t([0.0, 2.0, 5.0])"),
    "binomial counts": (
        "D.Binomial(t([3.0, 7.0]), logits=t([[0.3], [-2.0]]))",
        "t([[1.0, 7.0], [0.0, 3.0]])",
    ),
    "categorical": ("D.Categorical(t([[0.1, 0.6, 0.3], [2.0, 1.0, 1.0]]))", "t([2.0, 0.0])"),
    "categorical logits": ("D.Categorical(logits=t([0.5, -1.0, 2.0, 0.0]))", "t([[2.0], [0.0]])"),
    "cauchy": ("D.Cauchy(t([0.0, -1.0]), t([1.0, 3.0]))", "t([[0.5], [-100.0]])"),
    "chi2": ("D.Chi2(t([0.5, 1.0, 7.0]))", "t([0.1, 2.0, 5.0])"),
    "continuous bernoulli": (
        "D.ContinuousBernoulli(t([0.1, 0.4, 0.5, 0.5005, 0.95]))",
        "t([0.3, 0.0, 0.9, 0.4, 0.99])",
    ),
    "continuous bernoulli logits": (
        "D.ContinuousBernoulli(logits=t([-3.0, 0.7]))",
        "t([0.3, 0.8])",
    ),
    "dirichlet": (
        "D.Dirichlet(t([[0.5, 1.0, 2.0], [3.0, 2.0, 4.0]]))",
        "t([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])",
    ),
    "exponential": ("D.Exponential(t([0.2, 1.0, 4.0]))", "t([3.0, 0.0, 0.5])"),
    "f": ("D.FisherSnedecor(t([1.0, 3.0, 8.0]), t([1.5, 5.0, 9.0]))", "t([0.3, 1.0, 4.0])"),
    "gamma": ("D.Gamma(t([0.3, 1.0, 6.0]), t([1.0, 0.5, 3.0]))", "t([0.01, 2.0, 3.0])"),
    "generalized pareto": (
        "D.GeneralizedPareto(t([0.0, 1.0, 0.0, 0.0]), t([1.0, 2.0, 1.0, 1.0]), "
        "t([0.3, -0.4, 1.5, 0.0]))",
        "t([0.5, 3.0, 9.0, 1.0])",
    ),
    "geometric": ("D.Geometric(t([0.1, 0.5, 0.9]))", "t([3.0, 0.0, 1.0])"),
    "geometric logits": ("D.Geometric(logits=t([0.3, -2.0]))", "t([3.0, 0.0])"),
    "gumbel": ("D.Gumbel(t([0.0, -1.0]), t([1.0, 3.0]))", "t([[0.5], [4.0]])"),
    "half cauchy": ("D.HalfCauchy(t([0.5, 2.0]))", "t([[0.1], [7.0]])"),
    "half normal": ("D.HalfNormal(t([0.5, 2.0]))", "t([[0.1], [2.0]])"),
    "independent": (
        "D.Independent(D.Normal(t([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]), t([1.0, 2.0, 3.0])), 1)",
        "t([0.5, 0.0, -1.0])",
    ),
    "inverse gamma": (
        "D.InverseGamma(t([0.3, 1.5, 6.0]), t([1.0, 0.5, 3.0]))",
        "t([0.1, 2.0, 3.0])",
    ),
    "kumaraswamy": ("D.Kumaraswamy(t([0.5, 1.0, 2.0]), t([0.7, 3.0, 2.5]))", "t([0.2, 0.01, 0.5])"),
    "laplace": ("D.Laplace(t([0.0, -1.0]), t([1.0, 3.0]))", "t([[0.5], [-4.0]])"),
    "lkj": (
        "D.LKJCholesky(3, t([0.5, 1.0, 3.0]))",
        "t([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.48, 0.6, 0.64]])",
    ),
    "log normal": ("D.LogNormal(t([0.0, -1.0]), t([1.0, 0.3]))", "t([[0.5], [4.0]])"),
    "logistic normal": (
        "D.LogisticNormal(t([[0.0, -1.0], [1.0, 0.5]]), t([1.0, 0.3]))",
        "t([0.2, 0.3, 0.5])",
    ),
    "low rank normal": (
        "D.LowRankMultivariateNormal(t([0.0, 1.0, 2.0]), t([[1.0], [0.5], [-2.0]]), "
        "t([[1.0, 2.0, 0.5], [3.0, 1.0, 1.0]]))",
        "t([0.5, 0.0, -1.0])",
    ),
    "mixture": (
        "D.MixtureSameFamily(D.Categorical(t([0.3, 0.7])), "
        "D.Normal(t([[0.0, 3.0], [1.0, -2.0]]), t([1.0, 0.5])))",
        "t([0.5, -1.0])",
    ),
    "mixture of vectors": (
        "D.MixtureSameFamily(D.Categorical(logits=t([0.3, 0.7])), "
        "D.Independent(D.Normal(t([[0.0, 3.0], [1.0, -2.0]]), t([1.0, 0.5])), 1))",
        "t([[0.5, -1.0], [0.0, 0.0]])",
    ),
    "multinomial": (
        "D.Multinomial(4, t([[0.1, 0.6, 0.3], [2.0, 1.0, 1.0]]))",
        "t([[0.0, 3.0, 1.0], [2.0, 2.0, 0.0]])",
    ),
    "multivariate normal": (
        "D.MultivariateNormal(t([0.0, 1.0]), t([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0], [0, 3.0]]]))",
        "t([0.5, -0.5])",
    ),
    "multivariate normal precision": (
        "D.MultivariateNormal(t([[0.0, 1.0], [3.0, 1.0]]), "
        "precision_matrix=t([[2.0, 0.5], [0.5, 1.0]]))",
        "t([0.5, -0.5])",
    ),
    "multivariate normal factor": (
        "D.MultivariateNormal(t([0.0, 1.0]), scale_tril=t([[2.0, 0.0], [0.5, 1.0]]))",
        "t([[0.5, -0.5], [0.0, 1.0]])",
    ),
    "negative binomial": (
        "D.NegativeBinomial(t([1.0, 3.5, 6.0]), t([0.1, 0.5, 0.8]))",
        "t([0.0, 2.0, 5.0])",
    ),
    "normal": ("D.Normal(t([0.0, -1.0]), t([1.0, 3.0]))", "t([[0.5], [-4.0]])"),
    "one hot": (
        "D.OneHotCategorical(t([[0.1, 0.6, 0.3], [2.0, 1.0, 1.0]]))",
        "t([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])",
    ),
    "one hot straight through": (
        "D.OneHotCategoricalStraightThrough(logits=t([0.1, 0.6, 0.3]))",
        "t([0.0, 0.0, 1.0])",
    ),
    "pareto": ("D.Pareto(t([1.0, 2.0, 0.5]), t([0.5, 1.5, 4.0]))", "t([2.0, 2.5, 0.6])"),
    "poisson": ("D.Poisson(t([0.3, 2.5, 40.0]))", "t([0.0, 4.0, 33.0])"),
    "relaxed bernoulli": (
        "D.RelaxedBernoulli(t(0.7), t([0.1, 0.4, 0.9]))",
        "t([0.2, 0.5, 0.99])",
    ),
    "relaxed one hot": (
        "D.RelaxedOneHotCategorical(t(0.7), t([[0.1, 0.6, 0.3], [2.0, 1.0, 1.0]]))",
        "t([0.2, 0.3, 0.5])",
    ),
    "student t": (
        "D.StudentT(t([0.5, 1.5, 4.0]), t([0.0, 1.0, 2.0]), t([1.0, 2.0, 0.3]))",
        "t([0.5, -4.0, 2.5])",
    ),
    "transformed": (
        "D.TransformedDistribution(D.Uniform(t([0.0, 0.0]), t([1.0, 1.0])), "
        "[D.SigmoidTransform().inv, D.AffineTransform(t([1.0, 2.0]), t([2.0, -3.0]))])",
        "t([[0.5], [-4.0]])",
    ),
    "uniform": ("D.Uniform(t([0.0, -1.0]), t([1.0, 3.0]))", "t([[0.5], [0.9]])"),
    "von mises": ("D.VonMises(t([0.0, 1.0, 2.0]), t([0.2, 3.0, 40.0]))", "t([3.0, 0.5, 2.1])"),
    "weibull": ("D.Weibull(t([1.0, 2.0, 0.5]), t([0.5, 1.0, 4.0]))", "t([2.0, 2.5, 0.6])"),
    "wishart": (
        "D.Wishart(t([3.5, 5.0]), t([[2.0, 0.5], [0.5, 1.0]]))",
        "t([[1.5, 0.2], [0.2, 0.7]])",
    ),
    "wishart precision": (
        "D.Wishart(t(6.5), "
        "precision_matrix=t([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 1.0]]))",
        "t([[1.5, 0.2, 0.1], [0.2, 0.7, -0.1], [0.1, -0.1, 2.0]])",
    ),
}

# Other parameters for the divergences of two of one family.
OTHERS = {
    "bernoulli": "D.Bernoulli(t([0.3, 0.0, 0.5]))",
    "beta": "D.Beta(t([2.0, 1.5, 2.0, 3.0]), t([0.7, 1.0, 2.5, 0.9]))",
    "binomial": "D.Binomial(5, t([0.3, 0.4, 0.5]))",
    "categorical": "D.Categorical(t([[1.0, 0.0, 1.0], [0.1, 0.6, 0.3]]))",
    "cauchy": "D.Cauchy(t([1.0, 0.0]), t([2.0, 0.3]))",
    "chi2": "D.Chi2(t([1.5, 1.0, 3.0]))",
    "continuous bernoulli": "D.ContinuousBernoulli(t([0.3, 0.4, 0.1, 0.6, 0.5]))",
    "dirichlet": "D.Dirichlet(t([[1.5, 1.0, 0.2], [3.0, 2.0, 4.0]]))",
    "exponential": "D.Exponential(t([1.0, 1.0, 0.5]))",
    "gamma": "D.Gamma(t([1.0, 2.0, 6.0]), t([2.0, 0.5, 0.3]))",
    "geometric": "D.Geometric(t([0.3, 0.5, 0.2]))",
    "gumbel": "D.Gumbel(t([1.0, -1.0]), t([2.0, 3.0]))",
    "half normal": "D.HalfNormal(t([1.5, 2.0]))",
    "independent": "D.Independent(D.Normal(t([1.0, 0.0, 2.0]), t([[2.0], [0.5]])), 1)",
    "laplace": "D.Laplace(t([1.0, -1.0]), t([2.0, 3.0]))",
    "log normal": "D.LogNormal(t([1.0, -1.0]), t([2.0, 0.1]))",
    "low rank normal": (
        "D.LowRankMultivariateNormal(t([1.0, 1.0, 0.0]), t([[1.0, 0.2], [0.0, 0.5], [1.0, 3.0]]), "
        "t([1.0, 0.2, 0.5]))"
    ),
    "multivariate normal": ("D.MultivariateNormal(t([1.0, 1.0]), t([[1.0, -0.5], [-0.5, 3.0]]))"),
    "normal": "D.Normal(t([1.0, -1.0]), t([2.0, 3.0]))",
    "one hot": "D.OneHotCategorical(t([[1.0, 0.0, 1.0], [0.1, 0.6, 0.3]]))",
    "pareto": "D.Pareto(t([0.5, 3.0, 0.5]), t([1.5, 1.0, 4.0]))",
    "poisson": "D.Poisson(t([0.6, 2.5, 1.0]))",
    "uniform": "D.Uniform(t([-0.5, 0.0]), t([1.5, 5.0]))",
    "wishart": "D.Wishart(t([4.0, 2.5]), t([[1.0, -0.5], [-0.5, 3.0]]))",
}
PAIRS = {f"{name}, {name}": (DISTRIBUTIONS[name][0], OTHERS[name]) for name in OTHERS}

# Of two families: one p and one q of each, whose batches are of two.
CROSS = {
    "Bernoulli": "D.Bernoulli(t([0.3, 0.0]))",
    "Beta": "D.Beta(t([0.5, 3.0]), t([2.0, 1.5]))",
    "Binomial": "D.Binomial(3, t([0.3, 0.6]))",
    "ContinuousBernoulli": "D.ContinuousBernoulli(t([0.3, 0.8]))",
    "Exponential": "D.Exponential(t([0.5, 3.0]))",
    "Gamma": "D.Gamma(t([0.5, 3.0]), t([2.0, 1.5]))",
    "Gumbel": "D.Gumbel(t([0.5, 3.0]), t([2.0, 1.5]))",
    "Laplace": "D.Laplace(t([0.5, 3.0]), t([2.0, 1.5]))",
    "LowRankMultivariateNormal": (
        "D.LowRankMultivariateNormal(t([1.0, 0.0]), t([[1.0], [0.5]]), t([[1.0, 0.2], [3.0, 2.0]]))"
    ),
    "MultivariateNormal": (
        "D.MultivariateNormal(t([0.0, 1.0]), "
        "t([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 3.0]]]))"
    ),
    "Normal": "D.Normal(t([0.5, 3.0]), t([2.0, 1.5]))",
    "Pareto": "D.Pareto(t([0.25, 1.0]), t([2.5, 3.5]))",
    "Poisson": "D.Poisson(t([0.5, 3.0]))",
    "Uniform": "D.Uniform(t([0.25, -0.5]), t([0.75, 1.5]))",
}
WIDE = "D.Uniform(t([-1.0, 0.0]), t([1.0, 2.0]))"  # holds the unit interval, or not
CROSS_PAIRS = """
    Bernoulli Poisson; Beta ContinuousBernoulli; Beta Exponential; Beta Gamma; Beta Normal;
    Beta Pareto; Beta Uniform; ContinuousBernoulli Exponential; ContinuousBernoulli Normal;
    ContinuousBernoulli Pareto; ContinuousBernoulli Uniform; Exponential Beta;
    Exponential ContinuousBernoulli; Exponential Gamma; Exponential Gumbel; Exponential Normal;
    Exponential Pareto; Exponential Uniform; Gamma Beta; Gamma ContinuousBernoulli;
    Gamma Exponential; Gamma Gumbel; Gamma Normal; Gamma Pareto; Gamma Uniform; Gumbel Beta;
    Gumbel ContinuousBernoulli; Gumbel Exponential; Gumbel Gamma; Gumbel Normal; Gumbel Pareto;
    Gumbel Uniform; Laplace Beta; Laplace ContinuousBernoulli; Laplace Exponential; Laplace Gamma;
    Laplace Normal; Laplace Pareto; Laplace Uniform; LowRankMultivariateNormal MultivariateNormal;
    MultivariateNormal LowRankMultivariateNormal; Normal Beta; Normal ContinuousBernoulli;
    Normal Exponential; Normal Gamma; Normal Gumbel; Normal Laplace; Normal Pareto; Normal Uniform;
    Pareto Beta; Pareto ContinuousBernoulli; Pareto Exponential; Pareto Gamma; Pareto Normal;
    Pareto Uniform; Poisson Bernoulli; Poisson Binomial; Uniform Beta; Uniform ContinuousBernoulli;
    Uniform Exponential; Uniform Gamma; Uniform Gumbel; Uniform Normal; Uniform Pareto
"""
for _pair in CROSS_PAIRS.split(";"):
    _p, _q = _pair.split()
    PAIRS[f"{_p}, {_q}"] = (CROSS[_p], CROSS[_q])
PAIRS["Beta, wide Uniform"] = (CROSS["Beta"], WIDE)
PAIRS["ContinuousBernoulli, wide Uniform"] = (CROSS["ContinuousBernoulli"], WIDE)

# Transforms, and arguments of theirs.
VECTOR = "t([[0.3, -1.0, 0.8], [0.0, 2.0, -0.4]])"
TRANSFORMS = {
    "abs": ("D.AbsTransform()", "t([0.3, -1.0, 0.8])"),
    "affine": ("D.AffineTransform(t([1.0, 2.0, 3.0]), t([2.0, -1.0, 0.5]))", VECTOR),
    "affine of vectors": ("D.AffineTransform(1.0, -2.0, event_dim=1)", VECTOR),
    "cat": (
        "D.CatTransform([D.ExpTransform(), D.AffineTransform(0.0, 2.0)], dim=-1, lengths=[1, 2])",
        VECTOR,
    ),
    "cat of vectors": (
        "D.CatTransform([D.AffineTransform(0.0, 2.0, 1), D.ExpTransform()], -1, [1, 2])",
        VECTOR,
    ),
    "compose": ("D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, -2.0, 1)])", VECTOR),
    "compose with sticks": (
        "D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.StickBreakingTransform()])",
        VECTOR,
    ),
    "corr cholesky": ("D.CorrCholeskyTransform()", VECTOR),
    "cumulative": ("D.CumulativeDistributionTransform(D.Normal(t(0.5), t(2.0)))", VECTOR),
    "exp": ("D.ExpTransform()", VECTOR),
    "identity": ("D.identity_transform", VECTOR),
    "independent": ("D.IndependentTransform(D.ExpTransform(), 1)", VECTOR),
    "inverse of exp": ("D.ExpTransform().inv", f"{VECTOR}.exp()"),
    "lower cholesky": ("D.LowerCholeskyTransform()", "t([[0.3, -1.0], [0.8, -0.5]])"),
    "positive definite": ("D.PositiveDefiniteTransform()", "t([[0.3, -1.0], [0.8, -0.5]])"),
    "power": ("D.PowerTransform(t([2.0, 0.5, -1.5]))", f"{VECTOR}.exp()"),
    "reshape": ("D.ReshapeTransform((3,), (3, 1))", VECTOR),
    "sigmoid": ("D.SigmoidTransform()", VECTOR),
    "softmax": ("D.SoftmaxTransform()", VECTOR),
    "softplus": ("D.SoftplusTransform()", VECTOR),
    "stack": ("D.StackTransform([D.ExpTransform(), D.TanhTransform()])", VECTOR),
    "stick breaking": ("D.StickBreakingTransform()", VECTOR),
    "tanh": ("D.TanhTransform()", VECTOR),
}

# Constraints, and values of which some satisfy them.
ROWS = "t([[0.5, 0.5], [1.0, 0.0], [-1.0, 2.0], [0.2, 0.2]])"
MATRICES = (
    "t([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]], "
    "[[2.0, 0.0], [1.0, -1.0]], [[1.0, 1.0], [1.0, 1.0]]])"
)
CONSTRAINTS = {
    "boolean": ROWS,
    "corr_cholesky": MATRICES,
    "greater_than(0.2)": ROWS,
    "greater_than_eq(0.2)": ROWS,
    "half_open_interval(0.0, 1.0)": ROWS,
    "independent(constraints.positive, 1)": ROWS,
    "integer_interval(0, 1)": ROWS,
    "interval(0.2, 1.0)": ROWS,
    "less_than(0.2)": ROWS,
    "lower_cholesky": MATRICES,
    "lower_triangular": MATRICES,
    "multinomial(1)": ROWS,
    "nonnegative": ROWS,
    "nonnegative_integer": ROWS,
    "one_hot": ROWS,
    "positive": ROWS,
    "positive_definite": MATRICES,
    "positive_integer": ROWS,
    "positive_semidefinite": MATRICES,
    "real": ROWS,
    "real_vector": ROWS,
    "simplex": ROWS,
    "square": MATRICES,
    "symmetric": MATRICES,
    "unit_interval": ROWS,
    "cat([constraints.positive, constraints.boolean], -1, [1, 1])": ROWS,
    "stack([constraints.positive, constraints.boolean], -1)": ROWS,
    "MixtureSameFamilyConstraint(constraints.interval(t([0.0, 0.5]), 1.0))": "t([0.2, 0.7])",
}


def made(text, library, dtype="float64"):
    """The value of a text; `library` has the modules `distributions` and `tensor`."""
    D = library.distributions
    names = {"D": D, "constraints": D.constraints}
    names["t"] = lambda values: library.tensor(values, dtype=getattr(library, dtype))
    return eval(text, names)


def value(function):
    """What a function gives, as nested lists; None where it is not defined."""
    try:
        return function().tolist()
    except (NotImplementedError, AttributeError):
        return None


def of_distribution(case, library):
    """What there is to know of a distribution and its values."""
    d, x = (made(text, library) for text in case)
    shares = library.tensor([0.01, 0.3, 0.9], dtype=library.float64)
    shares = shares.reshape(3, *[1] * len(d.batch_shape))
    functions = {
        "log_prob": lambda: d.log_prob(x),
        "cdf": lambda: d.cdf(x),
        "icdf": lambda: d.icdf(shares),
        "entropy": d.entropy,
        "enumerate_support": d.enumerate_support,
        "mean": lambda: d.mean,
        "mode": lambda: d.mode,
        "variance": lambda: d.variance,
        "stddev": lambda: d.stddev,
    }
    return {
        "batch_shape": list(d.batch_shape),
        "event_shape": list(d.event_shape),
        "has_rsample": d.has_rsample,
        "has_enumerate_support": d.has_enumerate_support,
        **{name: value(function) for name, function in functions.items()},
    }


def of_divergence(pair, library):
    """KL(p || q)."""
    return library.distributions.kl_divergence(*(made(text, library) for text in pair)).tolist()


def of_transform(case, library):
    """What there is to know of a transform at an argument."""
    f, x = (made(text, library) for text in case)
    y = f(x)
    return {
        "value": y.tolist(),
        "inverse": f.inv(y).tolist(),
        "jacobian": value(lambda: f.log_abs_det_jacobian(x, y)),
        "shapes": [list(f.forward_shape(x.shape)), list(f.inverse_shape(y.shape))],
        "regions": [repr(f.domain), repr(f.codomain)],
        "bijective": f.bijective,
        "text": repr(f),
    }


def of_constraint(case, library):
    """What a constraint says of an argument."""
    text, argument = case
    constraint = made(f"constraints.{text}", library)
    return {
        "check": constraint.check(made(argument, library)).tolist(),
        "is_discrete": constraint.is_discrete,
        "event_dim": constraint.event_dim,
    }


def signatures(library):
    """The names of the parameters of all public classes and functions."""
    D = library.distributions
    names = [name for name in D.__all__ if name not in ("biject_to", "transform_to")]
    names.remove("identity_transform")
    return {name: list(inspect.signature(getattr(D, name)).parameters) for name in names}


def main():
    """Write what PyTorch gives."""
    import torch  # noqa: PLC0415

    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float64)
    D = torch.distributions
    data = {
        "distributions": {n: of_distribution(case, torch) for n, case in DISTRIBUTIONS.items()},
        "divergences": {n: of_divergence(pair, torch) for n, pair in PAIRS.items()},
        "transforms": {n: of_transform(case, torch) for n, case in TRANSFORMS.items()},
        "constraints": {text: of_constraint((text, x), torch) for text, x in CONSTRAINTS.items()},
        "signatures": signatures(torch),
        "modules": sorted(path.stem for path in Path(D.__file__).parent.glob("[a-z]*.py")),
        "registered": sorted(f"{p.__name__}, {q.__name__}" for p, q in D.kl._KL_REGISTRY),
    }
    PATH.write_text(json.dumps(data) + "\n")


if __name__ == "__main__":
    main()

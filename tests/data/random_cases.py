"""Programs that draw random numbers, for any package with PyTorch's names; each starts from a seed.

`make_random.py` stores what PyTorch gives, `tests/ops/random/test_pytorchs_numbers.py` compares.
"""


def _loader(t, **settings):
    data = t.utils.data.TensorDataset(t.arange(24.0))
    loader = t.utils.data.DataLoader(data, batch_size=5, **settings)
    return t.cat([batch[0] for _ in range(2) for batch in loader])


def _trained(t):
    """A network with dropout, trained on drawn data: its weights after 20 steps."""
    nn = t.nn
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
    optimizer = t.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = t.utils.data.TensorDataset(t.randn(40, 6), t.randint(0, 3, (40,)))
    train, _ = t.utils.data.random_split(data, [32, 8])
    for _ in range(5):
        for x, y in t.utils.data.DataLoader(train, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    return t.cat([p.detach().ravel() for p in net.parameters()])


def _flat(t, module):
    return t.cat([p.detach().ravel() for p in module.parameters()])


def _after(t, *draws):
    """Several draws one after the other, as one tensor of float64."""
    return t.cat([draw.detach().double().ravel() for draw in draws])


def _state(t):
    t.randn(5)
    t.rand(700)
    return t.get_rng_state()


def _continued(t):
    state = t.get_rng_state()
    first = t.randn(3)
    t.set_rng_state(state)
    return _after(t, first, t.randn(3), t.randn(4))


CASES = {
    "rand": lambda t: t.rand(7, 3),
    "rand, 64 bits": lambda t: t.rand(1000, dtype=t.float64),
    "rand, 16 bits": lambda t: t.rand(9, dtype=t.float16).float(),
    "rand, bfloat16": lambda t: t.rand(9, dtype=t.bfloat16).float(),
    "rand, complex": lambda t: t.rand(4, dtype=t.complex64),
    "randn, few": lambda t: t.randn(5),
    "randn, 16": lambda t: t.randn(16),
    "randn, 37": lambda t: t.randn(37),
    "randn, 3 x 50, 64 bits": lambda t: t.randn(3, 50, dtype=t.float64),
    "randn, 16 bits": lambda t: t.randn(20, dtype=t.float16).float(),
    "randn, bfloat16": lambda t: t.randn(20, dtype=t.bfloat16).float(),
    "randn, complex, few": lambda t: t.randn(3, dtype=t.complex64),
    "randn, complex, 64 bits": lambda t: t.randn(11, dtype=t.complex128),
    "randn, the number kept": lambda t: _after(
        t, t.randn(5), t.randn(3, dtype=t.float64), t.randn(20), t.randn(2), t.rand(3)
    ),
    "normal_ of a transposed tensor": lambda t: t.zeros(4, 5).t().normal_(1.0, 2.0),
    "normal_ of every other column": lambda t: t.zeros(4, 12)[:, ::2].normal_(),
    "uniform_ of permuted dimensions": lambda t: t.zeros(2, 3, 4).permute(2, 0, 1).uniform_(-1, 3),
    "rand_like, channels inside": lambda t: t.rand_like(
        t.zeros(2, 3, 2, 2).to(memory_format=t.channels_last)
    ),
    "randn_like of a transposed tensor": lambda t: t.randn_like(t.zeros(4, 5).t()),
    "randint_like": lambda t: t.randint_like(t.zeros(3, 4).t(), 2, 90),
    "normal of tensors": lambda t: t.normal(t.arange(20.0), t.arange(1.0, 21.0)),
    "normal of numbers": lambda t: t.normal(1.0, 2.0, (4, 5)),
    "normal of few": lambda t: t.normal(t.zeros(3), 2.0),
    "randint": lambda t: t.randint(-4, 10, (50,)),
    "randint, 2**28 - 1 values": lambda t: t.randint(0, 2**28 - 1, (9,)),
    "randint, 2**28 values": lambda t: t.randint(0, 2**28, (9,)),
    "randint, 2**40 values": lambda t: t.randint(-7, 2**40, (9,)),
    "random_, of every dtype": lambda t: _after(
        t,
        *[
            t.zeros(4, dtype=kind).random_()
            for kind in (t.uint8, t.int8, t.int16, t.int32, t.int64, t.bool)
        ],
        *[t.zeros(4, dtype=kind).random_() for kind in (t.float32, t.float64, t.float16)],
        t.zeros(4, dtype=t.bfloat16).random_(),
    ),
    "random_ within bounds": lambda t: _after(
        t, t.zeros(5).random_(7), t.zeros(5, dtype=t.int64).random_(-(2**50), 2**50)
    ),
    "randperm": lambda t: _after(t, t.randperm(1000), t.rand(1)),
    "randperm of few": lambda t: _after(t, t.randperm(0), t.randperm(1), t.randperm(2), t.rand(1)),
    "bernoulli_ of a number": lambda t: t.zeros(300).bernoulli_(0.3),
    "bernoulli_ of a transposed tensor": lambda t: t.zeros(4, 9).t().bernoulli_(0.5),
    "bernoulli of probabilities": lambda t: t.bernoulli(t.linspace(0, 1, 60)),
    "bernoulli of probabilities, 64 bits": lambda t: t.bernoulli(
        t.linspace(0, 1, 60, dtype=t.float64)
    ),
    "bernoulli_ of probabilities": lambda t: t.zeros(60).bernoulli_(
        t.linspace(0, 1, 60, dtype=t.float64)
    ),
    "bernoulli of a number": lambda t: t.bernoulli(t.zeros(30), 0.25),
    "bernoulli of expanded probabilities": lambda t: t.bernoulli(t.tensor([0.2, 0.7]).expand(9, 2)),
    "bernoulli of transposed probabilities": lambda t: t.bernoulli(
        t.linspace(0, 1, 60).view(6, 10).t()
    ),
    "uniform_, 16 bits": lambda t: t.zeros(50, dtype=t.float16).uniform_(-0.3, 0.7).float(),
    "uniform_, bfloat16": lambda t: t.zeros(50, dtype=t.bfloat16).uniform_(-0.3, 0.7).float(),
    "normal_, 16 bits": lambda t: t.zeros(50, dtype=t.float16).normal_(0.1, 0.3).float(),
    "normal_ of few, 16 bits": lambda t: t.zeros(7, dtype=t.float16).normal_(0.1, 0.3).float(),
    "exponential_, 16 bits": lambda t: t.zeros(50, dtype=t.float16).exponential_(1.7).float(),
    "exponential_": lambda t: t.zeros(30).exponential_(2.0),
    "exponential_, 64 bits": lambda t: t.zeros(30, dtype=t.float64).exponential_(),
    "cauchy_, 64 bits": lambda t: t.zeros(30, dtype=t.float64).cauchy_(1.0, 2.0),
    "geometric_": lambda t: t.zeros(60).geometric_(0.3),
    "log_normal_, 64 bits": lambda t: t.zeros(30, dtype=t.float64).log_normal_(0.5, 0.25),
    "multinomial": lambda t: t.multinomial(t.arange(1.0, 9.0), 5),
    "multinomial of rows": lambda t: t.multinomial(t.arange(1.0, 13.0).reshape(3, 4), 2),
    "multinomial, one": lambda t: t.multinomial(t.arange(1.0, 9.0), 1, True),
    "multinomial with replacement": lambda t: t.multinomial(
        t.arange(1.0, 9.0).repeat(2, 1), 40, True
    ),
    "multinomial of transposed weights": lambda t: t.multinomial(
        t.arange(1.0, 13.0).reshape(4, 3).t(), 2
    ),
    "gamma": lambda t: _after(
        t, t._standard_gamma(t.linspace(0.01, 5, 40)), t.randn(3), t._standard_gamma(t.ones(2))
    ),
    "gamma, 64 bits": lambda t: t._standard_gamma(t.linspace(0.3, 50, 60, dtype=t.float64)),
    "gamma of transposed concentrations": lambda t: t._standard_gamma(
        t.linspace(0.5, 5, 40).view(8, 5).t()
    ),
    "Dirichlet": lambda t: t.distributions.Dirichlet(t.tensor([0.5, 2.0, 7.0])).sample((9,)),
    "Beta": lambda t: t.distributions.Beta(t.tensor([0.5, 2.0]), t.tensor(1.5)).sample((9,)),
    "StudentT": lambda t: t.distributions.StudentT(t.tensor([1.5, 4.0])).sample((9,)),
    "poisson": lambda t: _after(t, t.poisson(t.linspace(0, 40, 300)), t.rand(2)),
    "binomial": lambda t: _after(
        t, t.binomial(t.arange(300.0), t.linspace(-0.1, 1.1, 300)), t.rand(2)
    ),
    "binomial of a few of many": lambda t: t.binomial(t.full((50,), 1e5), t.full((50,), 1e-5)),
    "NegativeBinomial": lambda t: t.distributions.NegativeBinomial(
        5.0, t.tensor([0.2, 0.7])
    ).sample((9,)),
    "von Mises": lambda t: t.distributions.VonMises(
        t.tensor(0.5), t.tensor([1e-6, 0.3, 9.0])
    ).sample((20,)),
    "dropout": lambda t: t.nn.functional.dropout(t.ones(100), 0.3),
    "dropout of a transposed tensor": lambda t: t.nn.functional.dropout(t.ones(8, 5).t(), 0.7),
    "dropout2d": lambda t: t.nn.functional.dropout2d(t.ones(2, 9, 2, 2), 0.4),
    "alpha_dropout": lambda t: t.nn.functional.alpha_dropout(t.ones(40), 0.4, True),
    "feature_alpha_dropout": lambda t: t.nn.functional.feature_alpha_dropout(
        t.ones(2, 9, 2, 2), 0.4, True
    ),
    "gumbel_softmax of transposed numbers": lambda t: t.nn.functional.gumbel_softmax(
        t.zeros(5, 3).t()
    ),
    "rrelu": lambda t: t.nn.functional.rrelu(t.linspace(-3, 3, 20), training=True),
    "gumbel_softmax": lambda t: t.nn.functional.gumbel_softmax(t.zeros(3, 5)),
    "fractional_max_pool2d": lambda t: t.nn.functional.fractional_max_pool2d(
        t.arange(98.0).view(1, 2, 7, 7), 2, output_size=3
    ),
    "Linear": lambda t: _flat(t, t.nn.Linear(7, 5)),
    "Bilinear": lambda t: _flat(t, t.nn.Bilinear(3, 4, 5)),
    "Conv2d": lambda t: _flat(t, t.nn.Conv2d(3, 4, 3)),
    "ConvTranspose1d": lambda t: _flat(t, t.nn.ConvTranspose1d(3, 4, 3)),
    "Embedding": lambda t: _flat(t, t.nn.Embedding(5, 4, padding_idx=1)),
    "LSTM": lambda t: _flat(t, t.nn.LSTM(3, 4, num_layers=2)),
    "GRUCell": lambda t: _flat(t, t.nn.GRUCell(3, 4)),
    "MultiheadAttention": lambda t: _flat(t, t.nn.MultiheadAttention(8, 2, kdim=4)),
    "TransformerEncoderLayer": lambda t: _flat(t, t.nn.TransformerEncoderLayer(8, 2, 16)),
    "kaiming_normal_": lambda t: t.nn.init.kaiming_normal_(t.zeros(6, 5)),
    "xavier_uniform_": lambda t: t.nn.init.xavier_uniform_(t.zeros(6, 5)),
    "trunc_normal_": lambda t: t.nn.init.trunc_normal_(t.zeros(6, 5), 0.1, 0.5, -0.4, 0.9),
    "trunc_normal_ far off": lambda t: t.nn.init.trunc_normal_(t.zeros(6, 5), 0.0, 1.0, 1.0, 4.0),
    "orthogonal_": lambda t: t.nn.init.orthogonal_(t.zeros(4, 7)),
    "sparse_": lambda t: t.nn.init.sparse_(t.zeros(6, 5), 0.4),
    "random_split": lambda t: t.tensor(
        [i for part in t.utils.data.random_split(range(10), [0.5, 0.3, 0.2]) for i in part.indices]
    ),
    "DataLoader": lambda t: _loader(t, shuffle=True),
    "DataLoader with a generator": lambda t: _loader(
        t, shuffle=True, generator=t.Generator().manual_seed(3)
    ),
    "RandomSampler with replacement": lambda t: _loader(
        t, sampler=t.utils.data.RandomSampler(range(24), True, 40)
    ),
    "WeightedRandomSampler": lambda t: _loader(
        t, sampler=t.utils.data.WeightedRandomSampler(list(range(1, 25)), 30)
    ),
    "SubsetRandomSampler": lambda t: _loader(
        t, sampler=t.utils.data.SubsetRandomSampler(list(range(5, 20)))
    ),
    "a generator's first numbers": lambda t: t.rand(3, generator=t.Generator()),
    "the state": _state,
    "after the state was set": _continued,
    "a training run": _trained,
}

"""Modules whose outputs and gradients are compared with PyTorch's, and the script that asked it.

    python tests/data/make_modules.py        # needs PyTorch; writes modules.json beside this file

Each case says how to make a module, what to call it with, and the dtype. Its parameters and buffers
get values by formula, in the order of `state_dict`, whose names and shapes are compared too. Python
code runs a case with either library as `lib`. A result is summed up by one number per tensor, in
which every element has its own weight.
"""

import importlib
import json
import math
import warnings
from pathlib import Path

PATH = Path(__file__).with_name("modules.json")


def spread(count, seed, scale=1.0):
    """Numbers that look irregular, the same everywhere."""
    return [scale * math.sin(1.0 + 1.7 * seed + 2.3 * k + 0.01 * k * k) for k in range(count)]


def made(lib, shape, seed, dtype="float64", scale=1.0):
    """A tensor of such numbers; the real part of a complex one has twice the imaginary's size."""
    count = math.prod(shape)
    values = spread(count, seed, scale)
    if dtype.startswith("complex"):
        parts = zip(values, spread(count, seed + 50, scale / 2), strict=True)
        values = [complex(*pair) for pair in parts]
    return lib.tensor(values, dtype=getattr(lib, dtype)).reshape(shape)


class Input:
    """An input by formula, which requires grad."""

    def __init__(self, *shape, seed=1, scale=1.0):
        self.shape, self.seed, self.scale = shape, seed, scale

    def tensor(self, lib, dtype):
        tensor = made(lib, self.shape, self.seed, dtype, self.scale)
        return tensor.detach().requires_grad_(True)


class Given:
    """An input by its values, which requires no grad."""

    def __init__(self, values, dtype="int64"):
        self.values, self.dtype = values, dtype

    def tensor(self, lib, dtype):
        return lib.tensor(self.values, dtype=getattr(lib, self.dtype))


class Packed:
    """Sequences packed together, from a padded input."""

    def __init__(self, padded, lengths, **keywords):
        self.padded, self.lengths, self.keywords = padded, lengths, keywords


class Case:
    """A module `nn.<name>(*args, **keywords)`, called with `inputs` and `options`."""

    def __init__(self, name, args, keywords, inputs, options=None, complex=True, wrap=None):
        self.name, self.args, self.keywords = name, args, keywords
        self.inputs, self.options, self.complex = inputs, options or {}, complex
        self.wrap = wrap  # (function of nn.utils that changes the module, its keywords)


# -- cases ----------------------------------------------------------------------------------------


def recurrent():
    x, one = Input(4, 3, 2), Input(4, 2)
    packed = [Packed(Input(4, 3, 2), [4, 2, 1])]
    shuffled = [Packed(Input(3, 4, 2), [2, 4, 3], batch_first=True, enforce_sorted=False)]
    for name in ["RNN", "GRU", "LSTM"]:

        def state(layers, batch, sizes=(3, 3), name=name):
            made = [
                Input(*shape, seed=5 + n, scale=0.5)
                for n, shape in enumerate([(layers, *batch, size) for size in sizes])
            ]
            return tuple(made) if name == "LSTM" else made[0]

        yield Case(name, [2, 3], {}, [x])
        yield Case(name, [2, 3], {"bias": False}, [x, state(1, (3,))])
        yield Case(name, [2, 3, 2], {"bidirectional": True}, [x, state(4, (3,))])
        yield Case(name, [2, 3, 2], {"batch_first": True, "dropout": 0.0}, [Input(3, 4, 2)])
        yield Case(name, [2, 3, 2], {}, [one])
        yield Case(name, [2, 3], {"bidirectional": True}, [one, state(2, ())])
        yield Case(
            name, [2, 3, 2], {"bidirectional": True}, [*packed, state(4, (3,))], complex=False
        )
        yield Case(
            name, [2, 3, 2], {"bidirectional": True}, [*shuffled, state(4, (3,))], complex=False
        )
        yield Case(name, [2, 3], {}, packed, complex=False)
        for cell_input, batch in [(Input(3, 2), (3,)), (Input(2), ())]:
            sizes = (3,) * len(batch)
            cell_state = tuple(Input(*sizes, 3, seed=n) for n in (7, 8))
            given = cell_state if name == "LSTM" else cell_state[0]
            yield Case(f"{name}Cell", [2, 3], {}, [cell_input])
            yield Case(f"{name}Cell", [2, 3], {"bias": False}, [cell_input, given])
    sizes = {"proj_size": 2, "bidirectional": True, "num_layers": 2}
    yield Case("LSTM", [2, 3], sizes, [x])
    start = (Input(4, 3, 2, seed=5), Input(4, 3, 3, seed=6))
    yield Case("LSTM", [2, 3], sizes, [*packed, start], complex=False)
    yield Case("RNN", [2, 3], {"nonlinearity": "relu"}, [x], complex=False)
    yield Case("RNNCell", [2, 3], {"nonlinearity": "relu"}, [Input(3, 2)], complex=False)


def attention():
    q, k, v = Input(3, 2, 4, seed=1), Input(5, 2, 4, seed=2), Input(5, 2, 4, seed=3)
    unseen = Given([[False, True, False, False, True], [False] * 5], "bool")
    above = Given([[column > row + 1 for column in range(5)] for row in range(3)], "bool")
    added = Given(
        [[0.1 * row - 0.2 * column for column in range(5)] for row in range(3)], "float64"
    )
    heads = Given([[[column == head for column in range(5)]] * 3 for head in range(4)], "bool")
    name = "MultiheadAttention"
    yield Case(name, [4, 2], {}, [q, k, v], complex=False)
    yield Case(name, [4, 2], {"bias": False}, [q, k, v], {"need_weights": False}, complex=False)
    for mask in [above, added, heads]:
        options = {"attn_mask": mask}
        yield Case(name, [4, 2], {}, [q, k, v], options, complex=False)
    both = {"key_padding_mask": unseen, "attn_mask": above}
    yield Case(name, [4, 2], {}, [q, k, v], {**both, "average_attn_weights": False}, complex=False)
    more = {"add_bias_kv": True, "add_zero_attn": True}
    yield Case(name, [4, 2], more, [q, k, v], both, complex=False)
    wide = [q, Input(5, 2, 3, seed=2), Input(5, 2, 6, seed=3)]
    yield Case(name, [4, 2], {"kdim": 3, "vdim": 6}, wide, complex=False)
    first = [Input(2, 3, 4), Input(2, 5, 4), Input(2, 5, 4)]
    yield Case(name, [4, 4], {"batch_first": True}, first, complex=False)
    single = [Input(3, 4), Input(5, 4), Input(5, 4)]
    yield Case(name, [4, 2], {}, single, {"attn_mask": above}, complex=False)


def transformers():
    src, tgt = Input(5, 2, 4, seed=1), Input(3, 2, 4, seed=2)
    unseen = Given([[False, True, False, False, True], [False] * 5], "bool")
    causal = Given([[column > row for column in range(3)] for row in range(3)], "bool")
    for norm_first in [False, True]:
        for activation in ["relu", "gelu"]:
            keywords = {"dropout": 0.0, "activation": activation, "norm_first": norm_first}
            yield Case("TransformerEncoderLayer", [4, 2, 6], keywords, [src], complex=False)
            keywords = {**keywords, "bias": False}
            options = {"tgt_mask": causal, "memory_key_padding_mask": unseen}
            name = "TransformerDecoderLayer"
            yield Case(name, [4, 2, 6], keywords, [tgt, src], options, complex=False)
    options = {"src_key_padding_mask": unseen, "tgt_mask": causal, "tgt_is_causal": True}
    sizes = {"dropout": 0.0, "nhead": 2, "dim_feedforward": 6}
    layers = {"num_encoder_layers": 2, "num_decoder_layers": 2}
    yield Case("Transformer", [4], {**sizes, **layers}, [src, tgt], options, complex=False)
    first = [Input(2, 5, 4), Input(2, 3, 4)]
    keywords = {**sizes, "num_encoder_layers": 1, "num_decoder_layers": 1, "batch_first": True}
    yield Case("Transformer", [4], keywords, first, complex=False)


def others():
    bags = [Given([1, 2, 1, 0, 3, 1]), Given([0, 2, 2, 5])]
    for mode in ["sum", "mean", "max"]:
        yield Case("EmbeddingBag", [4, 3], {"mode": mode, "padding_idx": 1}, bags, complex=False)
    x, classes = Input(5, 8), Given([0, 3, 9, 5, 11])
    yield Case("AdaptiveLogSoftmaxWithLoss", [8, 12, [3, 6]], {}, [x, classes], complex=False)
    keywords = {"div_value": 2.0, "head_bias": True}
    name = "AdaptiveLogSoftmaxWithLoss"
    yield Case(name, [8, 12, [3, 6, 7]], keywords, [x, classes], complex=False)
    yield Case(name, [8, 12, [5]], {}, [Input(8), Given(2)], complex=False)
    name = "LinearCrossEntropyLoss"
    yield Case(name, [3, 4], {"bias": True}, [Input(2, 3), Given([0, 3])], complex=False)
    target = Given([[0, 3, 1], [2, 2, 0]])
    yield Case(name, [3, 4], {"out_features": (3,)}, [Input(2, 3), target], complex=False)
    for size in [5]:
        yield Case("CrossMapLRN2d", [size], {"alpha": 0.3}, [Input(2, 2, 2, 3)], complex=False)
    yield Case("UpsamplingBilinear2d", [], {"scale_factor": 2}, [Input(1, 2, 3, 2)], complex=False)
    yield Case("UpsamplingNearest2d", [], {"size": (4, 5)}, [Input(1, 2, 3, 2)], complex=False)
    scores = Input(1, 3, 2)
    yield Case("NLLLoss2d", [], {}, [Input(1, 3, 2, 1), Given([[[1], [2]]])], complex=False)
    yield Case("SyncBatchNorm", [3], {}, [Input(2, 3, 2, 2)], complex=False)
    yield Case("CosineSimilarity", [], {"dim": -1}, [scores, Input(1, 3, 2, seed=3)], complex=False)
    yield Case("PairwiseDistance", [], {"p": 3.0}, [scores, Input(1, 3, 2, seed=3)], complex=False)
    yield Case("Fold", [(4, 5), 2], {"padding": 1}, [Input(1, 8, 30)])
    yield Case("Unfold", [2], {"stride": 2, "dilation": 2}, [Input(1, 2, 4, 5)])


def lazy():
    yield Case("LazyLinear", [3], {}, [Input(2, 4)])
    for n in [1, 2, 3]:
        x = Input(2, 4, 3, 4, 3)
        x.shape = x.shape[: n + 2]
        yield Case(f"LazyConv{n}d", [2, 2], {"groups": 2, "bias": n == 1}, [x])
        yield Case(f"LazyConvTranspose{n}d", [4, 2], {"groups": 2}, [x])
        yield Case(f"LazyBatchNorm{n}d", [], {}, [x], complex=False)
        yield Case(f"LazyInstanceNorm{n}d", [], {}, [x], complex=False)


def normalized():
    x, image = Input(3, 4), Input(2, 4, 5, 5)
    for name in ["parametrizations.weight_norm", "weight_norm"]:
        for keywords in [{}, {"dim": 1}, {"dim": None}]:
            yield Case("Linear", [4, 5], {}, [x], complex=False, wrap=(name, keywords))
        yield Case("Conv2d", [4, 6, 3], {}, [image], complex=False, wrap=(name, {}))
    for name in ["parametrizations.spectral_norm", "spectral_norm"]:
        for keywords in [{}, {"n_power_iterations": 3}]:
            yield Case("Linear", [4, 5], {}, [x], complex=False, wrap=(name, keywords))
        yield Case("ConvTranspose2d", [4, 6, 3], {}, [image], complex=False, wrap=(name, {}))
    wrap = ("parametrizations.spectral_norm", {"n_power_iterations": 2})
    yield Case("Linear", [4, 5], {}, [x], wrap=wrap)


def cases():
    """(name, case, dtype) for every case; names are unique."""
    for family in [recurrent, attention, transformers, others, lazy, normalized]:
        for number, case in enumerate(family()):
            for dtype in ["float64", *(["complex128"] if case.complex else [])]:
                yield f"{family.__name__}-{number}-{case.name}-{dtype}", case, dtype


# -- carrying them out ----------------------------------------------------------------------------


def of(lib, value, dtype, leaves):
    """An argument as the library takes it; inputs that require grad are entered into `leaves`."""
    if isinstance(value, tuple):
        return tuple(of(lib, part, dtype, leaves) for part in value)
    if isinstance(value, Packed):
        rnn = importlib.import_module(f"{lib.__name__}.nn.utils.rnn")
        padded = of(lib, value.padded, dtype, leaves)
        return rnn.pack_padded_sequence(padded, value.lengths, **value.keywords)
    if not isinstance(value, (Input, Given)):
        return value
    tensor = value.tensor(lib, dtype)
    if tensor.requires_grad:
        leaves.append(tensor)
    return tensor


def tensors(value, lib):
    """All tensors in the output of a module."""
    if isinstance(value, lib.Tensor):
        return [value]
    if isinstance(value, (tuple, list)):
        return [t for part in value for t in tensors(part, lib)]
    return []


def summary(t):
    """Dtype, shape, and the elements as one number in which each has its own weight."""
    if t is None:
        return None
    total = 0.0
    for n, v in enumerate((t.detach() + 0).reshape(-1).tolist()):
        total += v.real * math.cos(0.7 * n) + v.imag * math.cos(0.7 * n + 1.0)
    return [str(t.dtype).partition(".")[2], list(t.shape), float(f"{total:.12g}")]


def fill(lib, module):
    """Give the state of `module` values by formula; variances stay positive."""
    with lib.no_grad():
        for seed, (name, value) in enumerate(module.state_dict(keep_vars=True).items()):
            if "running" in name or "num_batches" in name:
                continue
            dtype = str(value.dtype).partition(".")[2]
            value.copy_(made(lib, tuple(value.shape), seed + 10, dtype, 0.6))


def run(lib, case, dtype):
    """What a case gives: the state's layout, outputs, and gradients by inputs and parameters."""
    leaves = []
    inputs = [of(lib, value, dtype, leaves) for value in case.inputs]
    options = {key: of(lib, value, dtype, leaves) for key, value in case.options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = getattr(lib.nn, case.name)(*case.args, **case.keywords)
        module = module.to(getattr(lib, dtype))
        if case.wrap:
            name, keywords = case.wrap
            utils = importlib.import_module(f"{lib.__name__}.nn.utils")
            for part in name.split("."):
                utils = getattr(utils, part)
            module = utils(module, **keywords)
        if case.name.startswith("Lazy"):
            module(*inputs, **options)
            module = module.to(getattr(lib, dtype))
        fill(lib, module)
        out = module(*inputs, **options)
    found = {
        "class": type(module).__name__,
        "state": {key: list(value.shape) for key, value in module.state_dict().items()},
        "out": [summary(t) for t in tensors(out, lib)],
    }
    roots = [t for t in tensors(out, lib) if t.requires_grad]
    seeds = [
        made(lib, tuple(t.shape), 20 + n, str(t.dtype).partition(".")[2])
        for n, t in enumerate(roots)
    ]
    wanted = [*leaves, *module.parameters()]
    grads = lib.autograd.grad(roots, wanted, seeds, allow_unused=True)
    found["grads"] = [summary(t) for t in grads]
    return found


if __name__ == "__main__":
    torch = importlib.import_module("torch")
    results = {}
    for name, case, dtype in cases():
        results[name] = run(torch, case, dtype)
    rows = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in results.items()]
    PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n")

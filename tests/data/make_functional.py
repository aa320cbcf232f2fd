"""Calls of nn.functional and fft, and what PyTorch makes of them.

`calls` lists them, `run` carries one out with either library. As a script, with PyTorch installed,
this writes what PyTorch says, values and derivatives of first and second order, to
`functional.json`:

    python make_functional.py

A call is (function, arguments, keywords). Of the arguments, `Leaf` stands for a float64 or
complex128 tensor that requires grad, `Data` for one that does not; everything else goes as it is.
"""

import importlib
import itertools
import json
import math
import warnings
from pathlib import Path

PATH = Path(__file__).with_name("functional.json")


class Data:
    """A tensor of given values: nested lists, or a shape filled with numbers from low to high."""

    requires_grad = False

    def __init__(self, shape, seed=1, low=-2.0, high=2.0, values=None, dtype=None):
        self.shape, self.seed, self.low, self.high = shape, seed, low, high
        self.values, self.dtype = values, dtype

    def tensor(self, lib):
        if self.values is not None:
            return lib.tensor(self.values, dtype=getattr(lib, self.dtype) if self.dtype else None)
        part = spread(math.prod(self.shape), self.seed, self.low, self.high)
        if self.dtype == "complex128":
            other = spread(len(part), self.seed + 100, self.low, self.high)
            part = [complex(a, b) for a, b in zip(part, other, strict=True)]
        made = lib.tensor(part, dtype=getattr(lib, self.dtype or "float64"))
        return made.reshape(self.shape).detach().requires_grad_(self.requires_grad)


class Leaf(Data):
    """The same, and it requires grad."""

    requires_grad = True


def spread(count, seed, low, high):
    """Numbers that look irregular, the same everywhere."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [
        middle + half * math.sin(1.0 + 1.7 * seed + 2.3 * k + 0.01 * k * k) for k in range(count)
    ]


def ints(values, dtype="int64"):
    return Data(None, values=values, dtype=dtype)


def transforms():
    one = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
    for name, n, norm in itertools.product(one, [None, 3, 6, 7], [None, "ortho", "forward"]):
        for dtype in ["float64", "complex128"]:
            if dtype == "float64" or name not in ("rfft", "ihfft"):
                yield f"fft.{name}", [Leaf((2, 5), dtype=dtype)], {"n": n, "norm": norm}
    yield "fft.fft", [Leaf((4, 3))], {"dim": 0}
    yield "fft.irfft", [Leaf((4, 3), dtype="complex128")], {"dim": 0}
    several = ["fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"]
    for name, s, norm in itertools.product(several, [None, (3, 6), (5, 3)], ["backward", "ortho"]):
        for dtype in ["float64", "complex128"]:
            if dtype == "float64" or name not in ("rfft2", "ihfft2"):
                yield f"fft.{name}", [Leaf((2, 4, 3), dtype=dtype)], {"s": s, "norm": norm}
    for name, s in itertools.product(["fftn", "ifftn", "irfftn", "hfftn"], [None, (3,), (4, -1)]):
        yield f"fft.{name}", [Leaf((2, 3, 4), dtype="complex128")], {"s": s}
    yield "fft.rfftn", [Leaf((2, 3, 4))], {"dim": (2, 0)}
    for name, dim in itertools.product(["fftshift", "ifftshift"], [None, 0, (1, -1)]):
        yield f"fft.{name}", [Leaf((2, 3, 5), dtype="complex128")], {"dim": dim}


def distances():
    x, y = Leaf((3, 4), 1), Leaf((3, 4), 2)
    p, q = Leaf((3, 4), 3, 0.05, 0.95), Leaf((3, 4), 4, 0.05, 0.95)
    signs = Data(None, values=[1.0, -1.0, -1.0, 1.0], dtype="float64")
    weight = Leaf((3, 4), 5, 0.2, 1.0)
    for reduction in ["none", "mean", "sum"]:
        for name in ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"]:
            for other in [y, Leaf((4,), 6)]:
                yield name, [x, other], {"reduction": reduction}
        for name in ["mse_loss", "l1_loss", "huber_loss"]:
            yield name, [x, y], {"reduction": reduction, "weight": weight}
        yield "smooth_l1_loss", [x, y], {"reduction": reduction, "beta": 0.5}
        yield "huber_loss", [x, y], {"reduction": reduction, "delta": 0.7}
        yield "binary_cross_entropy", [p, q], {"reduction": reduction}
        yield "binary_cross_entropy", [p, q], {"reduction": reduction, "weight": Data((4,), 7)}
        logits = Leaf((3, 4), 8, -20.0, 20.0)
        name = "binary_cross_entropy_with_logits"
        yield name, [logits, q], {"reduction": reduction}
        weights = {"weight": Data((4,), 7), "pos_weight": Data((4,), 9)}
        yield name, [logits, q], {"reduction": reduction, **weights}
        yield "kl_div", [x, q], {"reduction": reduction}
        yield "kl_div", [x, y], {"reduction": reduction, "log_target": True}
        yield "poisson_nll_loss", [x, q], {"reduction": reduction}
        large = Leaf((3, 4), 4, 0.1, 4.0)
        options = {"log_input": False, "full": True}
        yield "poisson_nll_loss", [p, large], {"reduction": reduction, **options}
        for var in [q, Leaf((3, 1), 4, 0.3, 0.9), Leaf((3,), 4, 0.3, 0.9), 0.4]:
            yield "gaussian_nll_loss", [x, y, var], {"reduction": reduction, "full": True}
        yield "soft_margin_loss", [x, signs], {"reduction": reduction}
        yield "hinge_embedding_loss", [x, signs], {"reduction": reduction, "margin": 0.4}
        three = ints([1, -1, 1])
        yield "cosine_embedding_loss", [x, y, three], {"reduction": reduction, "margin": 0.1}
        signs2 = Data(None, values=[[1.0, -1.0, -1.0, 1.0]], dtype="float64")
        yield "margin_ranking_loss", [x, y, signs2], {"reduction": reduction, "margin": 0.1}
        yield "triplet_margin_loss", [x, y, p], {"reduction": reduction}
        yield "triplet_margin_loss", [x, y, p], {"reduction": reduction, "swap": True, "p": 1}
        yield "multilabel_soft_margin_loss", [x, q], {"reduction": reduction}
    yield "kl_div", [x, q], {"reduction": "batchmean"}
    yield "pairwise_distance", [x, y], {}
    yield "pairwise_distance", [x, Leaf((4,), 6)], {"p": 1, "keepdim": True}
    yield "cosine_similarity", [x, y], {}
    yield "cosine_similarity", [Leaf((2, 1, 4)), y], {"dim": -1}


def classes():
    weight = Data((4,), 8, 0.3, 1.5)
    shapes = [
        ((5, 4), [0, 3, 2, 1, 2]),
        ((4,), 1),
        ((2, 4, 3), [[0, 1, 2], [3, 2, 2]]),
        ((1, 4, 2, 2), [[[0, 1], [2, 3]]]),
    ]
    options = [{}, {"weight": weight}, {"ignore_index": 2}, {"weight": weight, "ignore_index": 2}]
    smooth = [{"label_smoothing": 0.2}, {"label_smoothing": 0.1, **options[3]}]
    for reduction in ["none", "mean", "sum"]:
        for (shape, target), keywords in itertools.product(shapes, options):
            for name in ["cross_entropy", "nll_loss"]:
                yield name, [Leaf(shape), ints(target)], {"reduction": reduction, **keywords}
        for (shape, target), keywords in itertools.product(shapes, smooth):
            yield "cross_entropy", [Leaf(shape), ints(target)], {"reduction": reduction, **keywords}
        for shape, _ in shapes[:3]:
            soft = Leaf(shape, 2, 0.0, 1.0)
            for keywords in [{}, {"weight": weight, "label_smoothing": 0.3}]:
                yield "cross_entropy", [Leaf(shape), soft], {"reduction": reduction, **keywords}
        x, target = Leaf((3, 4)), ints([0, 3, 1])
        yield "multi_margin_loss", [x, target], {"reduction": reduction}
        keywords = {"p": 2, "margin": 0.7, "weight": weight}
        yield "multi_margin_loss", [x, target], {"reduction": reduction, **keywords}
        listed = ints([[0, 2, -1, 1], [3, -1, -1, -1], [-1, 0, 1, 2]])
        yield "multilabel_margin_loss", [x, listed], {"reduction": reduction}


def normalizations():
    three = {"weight": Leaf((3,), 5), "bias": Leaf((3,), 6)}
    for shape in [(4, 3), (2, 3, 4), (2, 3, 2, 2)]:
        for training in [True, False]:
            running = [Data((3,), 7), Data((3,), 8, 0.5, 1.5)]
            for keywords in [three, {"weight": three["weight"], "eps": 0.1}, {}]:
                yield "batch_norm", [Leaf(shape), *running], {"training": training, **keywords}
            if len(shape) > 2:
                use = {"use_input_stats": training}
                yield "instance_norm", [Leaf(shape), *running], {**three, **use}
    for shape, inner in [((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((4,), (4,))]:
        both = {"weight": Leaf(inner, 2), "bias": Leaf(inner, 3)}
        for keywords in [both, {"weight": both["weight"], "eps": 0.1}, {}]:
            yield "layer_norm", [Leaf(shape), inner], keywords
        yield "rms_norm", [Leaf(shape), inner], {"weight": both["weight"]}
        yield "rms_norm", [Leaf(shape), inner], {"eps": 0.1}
    for shape, groups in [((2, 6), 3), ((2, 4, 3), 2), ((1, 6, 2, 2), 6)]:
        both = {"weight": Leaf(shape[1:2], 2), "bias": Leaf(shape[1:2], 3)}
        yield "group_norm", [Leaf(shape), groups], both
        yield "group_norm", [Leaf(shape), groups], {}
    for size in [1, 2, 3, 5]:
        yield "local_response_norm", [Leaf((2, 4, 3)), size], {"alpha": 0.3, "beta": 0.6}
    for dtype, keywords in itertools.product(["float64", "complex128"], [{}, {"p": 1, "dim": 0}]):
        yield "normalize", [Leaf((3, 4), dtype=dtype)], keywords


def lookups():
    table = Leaf((4, 3))
    for keywords in [{}, {"padding_idx": 1}, {"padding_idx": -1}]:
        yield "embedding", [ints([[1, 2, 1], [0, 3, 1]]), table], keywords
    yield "embedding", [ints(2), table], {}
    flat, offsets = [1, 2, 1, 0, 3, 1], ints([0, 2, 2, 5])
    for mode, padding in itertools.product(["sum", "mean", "max"], [None, 1]):
        keywords = {"mode": mode, "padding_idx": padding}
        yield "embedding_bag", [ints([flat[:3], flat[3:]]), table], keywords
        yield "embedding_bag", [ints(flat), table, offsets], keywords
    yield "one_hot", [ints([[0, 2], [1, 0]])], {}
    yield "one_hot", [ints(2), 5], {}
    q, k, v = Leaf((2, 3, 4), 1), Leaf((2, 5, 4), 2), Leaf((2, 5, 2), 3)
    seen = ints([[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 1, 1, 1, 1]], "bool")
    for keywords in [{}, {"is_causal": True}, {"attn_mask": seen, "scale": 0.3}]:
        yield "scaled_dot_product_attention", [q, k, v], keywords
    for name in ["softmax", "softmin", "log_softmax"]:
        for dim in [0, -1]:
            yield name, [Leaf((2, 3))], {"dim": dim}


def images():
    yield "pixel_shuffle", [Leaf((2, 8, 2, 3)), 2], {}
    yield "pixel_unshuffle", [Leaf((3, 4, 2)), 2], {}
    yield "channel_shuffle", [Leaf((2, 6, 2, 1)), 3], {}
    modes = [("nearest", 1), ("nearest", 2), ("nearest-exact", 2), ("area", 2), ("linear", 1)]
    for mode, dims in [*modes, ("bilinear", 2), ("bicubic", 2), ("trilinear", 3)]:
        corners = [None, True] if "linear" in mode or mode == "bicubic" else [None]
        sizes = [{"scale_factor": 2.0}, {"scale_factor": 1.7}, {"scale_factor": 0.6}]
        sizes += [{"size": (5, 2, 3)[:dims]}, {"size": 1}]
        for keywords, align in itertools.product(sizes, corners):
            x = Leaf((2, 1, 4, 3, 2)[: 2 + dims])
            yield "interpolate", [x], {"mode": mode, "align_corners": align, **keywords}


def sampling():
    options = [("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3), ("nearest", 3)]
    for (mode, dims), padding, align in itertools.product(
        options, ["zeros", "border", "reflection"], [False, True]
    ):
        x = Leaf((2, 2, 3, 4, 2)[: 2 + dims])
        grid = Leaf((2, *(2, 3, 2)[:dims], dims), 3, -2.2, 2.2)
        keywords = {"mode": mode, "padding_mode": padding, "align_corners": align}
        yield "grid_sample", [x, grid], keywords
    for (size, shape), align in itertools.product(
        [((2, 3, 2, 4), (2, 2, 3)), ((1, 1, 2, 1, 3), (1, 3, 4))], [False, True]
    ):
        yield "affine_grid", [Leaf(shape), size], {"align_corners": align}
    modes = ["bilinear", "bicubic", "lanczos"]
    for mode, how in itertools.product(modes, [{"size": (2, 7)}, {"scale_factor": 0.6}]):
        yield "interpolate", [Leaf((1, 2, 5, 4))], {"mode": mode, "antialias": True, **how}
    yield "upsample_bilinear", [Leaf((1, 2, 3, 2))], {"scale_factor": 2}
    yield "upsample_nearest", [Leaf((1, 2, 3, 2))], {"size": (5, 2)}
    for name, shape, dims in [("2d", (2, 2, 5, 6), 2), ("3d", (2, 4, 5, 6), 3)]:
        samples = Data((2 if dims == 2 else 1, 2, dims), 4, 0.0, 1.0)
        size = {"output_size": (2, 2, 4)[-dims:], "_random_samples": samples}
        yield f"fractional_max_pool{name}", [Leaf(shape), 2], size
        ratio = {"output_ratio": (0.5, 0.7, 0.5)[-dims:], "_random_samples": samples}
        yield f"fractional_max_pool{name}", [Leaf(shape), (2, 1, 2)[-dims:]], ratio


def pairs():
    apart = [Leaf((2, 1, 3, 4)), Leaf((2, 2, 4), 2)]
    for p in [0, 1, 1.5, 2, 3, float("inf")]:
        yield "torch.cdist", apart, {"p": p}
        yield "pdist", [Leaf((4, 3))], {"p": p}
    for dtype, p in itertools.product(["complex128"], [1, 2, 3]):
        yield (
            "pairwise_distance",
            [Leaf((3, 4), 1, dtype=dtype), Leaf((3, 4), 2, dtype=dtype)],
            {"p": p},
        )


def calls():
    """(name, call) for every call; names are unique."""
    families = [transforms, distances, classes, normalizations, lookups, images, sampling, pairs]
    for family in families:
        for number, call in enumerate(family()):
            yield f"{family.__name__}-{number}-{call[0]}", call


# -- carrying them out ----------------------------------------------------------------------------


def weights(lib, t, seed):
    """A cotangent for `t`."""
    dtype = str(t.dtype).partition(".")[2]
    return Data(tuple(t.shape), seed, dtype=dtype).tensor(lib)


def summary(t):
    """Dtype, shape, and the elements as one number in which each has its own weight."""
    if t is None:
        return None
    total = 0.0
    for n, v in enumerate((t.detach() + 0).reshape(-1).tolist()):
        total += v.real * math.cos(0.7 * n) + v.imag * math.cos(0.7 * n + 1.0)
    return [str(t.dtype).partition(".")[2], list(t.shape), float(f"{total:.12g}")]


def derivatives(lib, outputs, inputs, seed, create_graph):
    """Cotangents for those of `outputs` that have a history, and the gradients they give."""
    outputs = [t for t in outputs if t is not None and t.requires_grad]
    if not outputs:
        return [], [None] * len(inputs)
    cotangents = [weights(lib, t, seed + n).requires_grad_() for n, t in enumerate(outputs)]
    grads = lib.autograd.grad(outputs, inputs, cotangents, create_graph=create_graph,
                              allow_unused=True)  # fmt: skip
    return cotangents, grads


def run(lib, call):
    """What `call` gives: the value, first derivatives, second derivatives."""
    name, args, keywords = call
    functions = lib if name.startswith(("fft.", "torch.")) else lib.nn.functional
    function = functions
    for part in name.removeprefix("torch.").split("."):
        function = getattr(function, part)
    made = {}
    for value in [*args, *keywords.values()]:
        if isinstance(value, Data):
            made[value] = value.tensor(lib)
    leaves = [t for t in made.values() if t.requires_grad]

    def of(value):
        return made.get(value, value) if isinstance(value, Data) else value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = function(*map(of, args), **{key: of(value) for key, value in keywords.items()})
    changed = [t for t in made.values() if not t.requires_grad]  # running statistics, for one
    found = {"value": [summary(t) for t in (out, *changed)]}
    try:
        cotangents, first = derivatives(lib, [out], leaves, 20, True)
        found["first"] = [summary(t) for t in first]
        _, second = derivatives(lib, first, [*leaves, *cotangents], 30, False)
        found["second"] = [summary(t) for t in second]
    except RuntimeError as error:
        if "not implemented" not in str(error):
            raise
    return found


if __name__ == "__main__":
    torch = importlib.import_module("torch")
    results = {name: run(torch, call) for name, call in calls()}
    rows = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in results.items()]
    PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n")

"""Random tensors: factories, and samples whose distribution other tensors say.

Every function takes `generator=`, and the default generator without it. Where an input requires
grad, so does the sample, with derivative 0, as in PyTorch: the numbers do not follow the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, modes
from ...engine.dispatch import check_broadcast
from ...engine.namespaces import arrays
from ...engine.registry import declare, renamed
from ...engine.tensor import Tensor, as_array, concrete, constant_like, new_tensor
from ...errors import wrong_type
from ...kernels.allocation import (
    copied,
    empty_beside,
    has_values,
    is_batched,
    is_seen,
    known_true,
    table,
)
from ...kernels.search import searched
from ...quiet import calm
from ..core.arguments import number_in, public, write_value
from ..core.pointwise import unsupported
from ..creation.factories import allocate, factory, leaf_or_out, shape_of, target_of
from ..creation.from_data import check_device, check_dtype, empty_on, where_of
from ..creation.like import empty_like
from ..creation.memory_format import arranged, in_format
from ..tensor.inspection import check_tensor
from .generator import (
    Generator,
    default_generator,
    drawing,
    drawn_integers,
    examples,
    fork_rng,
    get_rng_state,
    in_order,
    in_rows,
    initial_seed,
    is_block,
    limits,
    manual_seed,
    normals,
    or_default,
    order_of,
    refuse,
    seed,
    set_rng_state,
)

__all__ = [
    "Generator", "bernoulli", "binomial", "default_generator", "fork_rng", "get_rng_state",
    "initial_seed", "manual_seed", "multinomial", "normal", "poisson", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm", "seed", "set_rng_state",
]  # fmt: skip


def declare_drawn(name: str, node_name: str) -> Callable[..., Tensor]:
    """The op that puts `values`, which were drawn, in the place of `input`, with derivative 0."""
    return declare(
        f"{name}(input, values)",
        lambda input, values: copied(values),
        input=lambda xp, g: xp.zeros_like(g),
        batch="leading",
        examples=["3x2, 3x2", ", "],
        node_name=node_name,
        doc="""Drawn numbers in the place of `input`; the derivative is 0.""",
    )


_bernoulli = declare_drawn("drawn_bernoulli", "BernoulliBackward0")
_binomial = declare_drawn("drawn_binomial", "BinomialBackward0")
_poisson = declare_drawn("drawn_poisson", "PoissonBackward0")
_normal = declare(
    "drawn_normals(mean, std, values)",
    lambda mean, std, values: copied(values),
    mean=lambda xp, g: xp.zeros_like(g),
    std=lambda xp, g: xp.zeros_like(g),
    batch="elementwise",
    examples=["3x2, 2, 3x2"],
    node_name="NormalBackward3",
    doc="""Numbers drawn from normal distributions; the derivatives are 0.""",
)
_of_mean = renamed(_normal, "NormalBackward1", lambda node: (0,))
_of_std = renamed(_normal, "NormalBackward2", lambda node: (1,))


@factory(dtypes.default_numpy, sized=True)
def rand(
    shape: tuple[int, ...],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    target: Any,
) -> Any:
    """Numbers evenly from 0 to 1, exclusive; sizes and the other arguments as for `zeros`.

    For a complex dtype both parts are drawn so. Raises NotImplementedError for other dtypes.

    >>> rg.rand(2, 3).shape
    retrograd.Size([2, 3])
    """
    refuse("check_uniform_bounds", target, "fc")
    source = or_default(generator, "rand")
    if out is None and not modes.special:
        return allocate(source.uniform, shape, target)
    return allocate(drawing(source.uniform, order_of(out, shape)), shape, target)


@factory(dtypes.default_numpy, sized=True)
def randn(
    shape: tuple[int, ...],
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    target: Any,
) -> Any:
    """Numbers from the normal distribution of mean 0 and variance 1; arguments as for `rand`.

    For a complex dtype each part has variance 1/2.

    >>> rg.randn((5, 5), requires_grad=True).requires_grad
    True
    """
    refuse("normal_kernel_cpu", target, "fc")
    source = or_default(generator, "randn")
    if out is None and not modes.special:
        return allocate(source.normal, shape, target)
    order = order_of(out, shape)
    return allocate(drawing(normals(source, order), order), shape, target)


def check_integer(value: Any, function: str, name: str) -> int:
    """`value` as an integer; TypeError if it is none."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise wrong_type(function, name, "int", value)
    return int(value.__index__())


@factory(lambda: np.dtype(np.int64))
def randint(
    *given: Any,
    low: Any = 0,
    high: Any = None,
    size: Any = None,
    generator: Generator | None = None,
    out: Tensor | None = None,
    target: Any,
) -> Any:
    """Integers from `low` (0) to `high`, exclusive: `randint([low,] high, size)`, int64 by default.

    Raises RuntimeError for an empty range or one that the dtype cannot hold, TypeError for no or
    more than two bounds and a `size` that is no sequence.

    >>> rg.randint(3, 4, (2,))
    tensor([3, 3])
    """
    bounds = list(given)
    if size is None:
        if len(bounds) + (high is not None) < 2:
            raise TypeError("randint() expects randint(high, size) or randint(low, high, size)")
        size = bounds.pop()
    first, last = bounds_of(bounds, low, high, "randint")
    if not isinstance(size, (tuple, list)):
        raise wrong_type("randint", "size", "tuple of ints", size)
    source, shape = or_default(generator, "randint"), shape_of(size, "randint")

    def draw(shape: tuple[int, ...], target: Any) -> Any:
        return drawn_integers(source, first, last, shape, target)

    return allocate(drawing(draw, order_of(out, shape)), shape, target)


def bounds_of(given: Sequence[Any], low: Any, high: Any, name: str) -> tuple[int, int]:
    """The bounds among the arguments of a function that is called `f([low,] high)`."""
    if len(given) == 1 and high is None:
        (high,) = given
    elif len(given) == 1:
        (low,) = given
    elif len(given) == 2:
        low, high = given
    if high is None or len(given) > 2:
        size = ", size" if name == "randint" else ""
        raise TypeError(f"{name}() expects {name}(high{size}) or {name}(low, high{size})")
    return check_integer(low, name, "low"), check_integer(high, name, "high")


@factory(lambda: np.dtype(np.int64))
def randperm(n: int, *, generator: Generator | None = None, target: Any) -> Any:
    """The integers below `n` in random order, int64 by default.

    Raises RuntimeError for a negative `n`, or one whose integers the dtype cannot tell apart;
    NotImplementedError for booleans and complex numbers.

    >>> sorted(rg.randperm(4).tolist())
    [0, 1, 2, 3]
    """
    count = check_integer(n, "randperm", "n")
    shape_of((count,), "randperm")
    kind = dtypes.of_numpy(target)
    if target.kind in "bc":
        raise unsupported("randperm", target)
    if target.kind in "iu" and count - 1 > limits(target)[1]:
        raise RuntimeError(
            f"value cannot be converted to type {kind.name} without overflow: {count - 1}"
        )
    if kind.is_floating_point and count > (most := int(2 / dtypes.finfo(kind).eps) + 1):
        raise RuntimeError(
            f"n cannot be greater than {most} for {dtypes.legacy_name(kind)} type, but is {count}. "
            "Take integers: dtype=retrograd.int64"
        )
    return or_default(generator, "randperm").draw("permutation", count).astype(target)


def _like(draw: Callable[..., Any], input: Tensor, settings: tuple[Any, ...], name: str) -> Tensor:
    """`draw(shape, dtype, in_runs)` for the shape of `input`, in the order of its memory."""
    dtype, device, requires_grad, memory_format = settings
    array = check_tensor(input, name)._array
    where = where_of(input.device if device is None else device)
    target = array.dtype if dtype is None else check_dtype(dtype, name)
    array = empty_on(array, where)
    if not has_values(array):
        return empty_like(
            input, dtype=dtypes.of_numpy(target), device=where, requires_grad=requires_grad,
            memory_format=memory_format,
        )  # fmt: skip
    order = array
    if is_seen(array):
        order = empty_beside(array)
        if memory_format is not None:
            order = arranged(order, memory_format)
    in_runs = is_block(order)
    values = in_order(lambda shape: examples(lambda s: draw(s, target, in_runs), shape), order)
    made = new_tensor(values) if input.is_meta else constant_like(values, input)
    if memory_format is not None:
        made = in_format(made, memory_format, name)
    return made.requires_grad_() if requires_grad else made


def rand_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`rand` with the shape and, unless one is given, the dtype of `input`.

    >>> x = rg.rand_like(rg.zeros(2, 3))
    >>> x.shape, bool(((x >= 0) & (x < 1)).all())
    (retrograd.Size([2, 3]), True)
    """
    source = or_default(generator, "rand_like")

    def draw(shape: tuple[int, ...], target: np.dtype[Any], in_runs: bool) -> Any:
        refuse("check_uniform_bounds", target, "fc")
        return source.uniform(shape, target)

    return _like(draw, input, (dtype, device, requires_grad, memory_format), "rand_like")


def randn_like(
    input: Tensor,
    *,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`randn` with the shape and, unless one is given, the dtype of `input`.

    >>> x = rg.randn_like(rg.zeros(2, 3, dtype=rg.float64))
    >>> x.shape, x.dtype
    (retrograd.Size([2, 3]), retrograd.float64)
    """
    source = or_default(generator, "randn_like")

    def draw(shape: tuple[int, ...], target: np.dtype[Any], in_runs: bool) -> Any:
        refuse("normal_kernel_cpu", target, "fc")
        return source.normal(shape, target, in_runs)

    return _like(draw, input, (dtype, device, requires_grad, memory_format), "randn_like")


def randint_like(
    input: Tensor,
    *bounds: Any,
    low: Any = 0,
    high: Any = None,
    generator: Generator | None = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`randint([low,] high)` with the shape and, unless one is given, the dtype of `input`.

    >>> x = rg.randint_like(rg.zeros(2, 3), 5, 8)
    >>> x.shape, bool(((x >= 5) & (x < 8)).all())
    (retrograd.Size([2, 3]), True)
    """
    source = or_default(generator, "randint_like")
    first, last = bounds_of(bounds, low, high, "randint_like")

    def draw(shape: tuple[int, ...], target: np.dtype[Any], in_runs: bool) -> Any:
        return drawn_integers(source, first, last, shape, target)

    return _like(draw, input, (dtype, device, requires_grad, memory_format), "randint_like")


def of_all_examples(array: Any) -> Any:
    """An array, of a batch that of all examples: what has to hold for each is asked of it."""
    return concrete(array) if is_batched(array) else array


def check_std(std: Any) -> None:
    """Raise RuntimeError for a standard deviation that is negative or, as a number, NaN."""
    if isinstance(std, Tensor):
        if std._array.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if known_true((of_all_examples(std._array) < 0).any()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from normal distributions: elementwise for tensors, of shape `size` for numbers.

    `mean` and `std` are tensors, which broadcast, or numbers, as in tensors beside `size`.
    `layout` is `strided`, the only one. Raises RuntimeError for negative `std`, TypeError where
    neither is a tensor and `size` is missing. The derivatives are 0.

    >>> rg.normal(rg.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    """
    check_device(device)
    if size is not None:
        mean, std = number_in(mean, "normal", "mean"), number_in(std, "normal", "std")
    check_std(std)
    parameters = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not parameters:
        if size is None:
            raise TypeError(
                "normal() received an invalid combination of arguments: with two numbers, give the "
                "size: normal(mean, std, (2, 3))"
            )
        target = target_of(dtype, out, dtypes.default_numpy(), "normal")
        shape = shape_of(size, "normal")
    else:
        if dtype is not None:
            raise TypeError(
                "normal() received an invalid combination of arguments: the numbers have the dtype "
                "of the tensors. Convert these: mean.to(dtype)"
            )
        target = parameters[0]._array.dtype
        shapes = [t._array.shape for t in parameters]
        check_broadcast(shapes[0], shapes[-1], "normal")
        shape = np.broadcast_shapes(*shapes)
    refuse("normal_kernel_cpu", target, "fc")
    order = order_of(out, shape)
    drawn = drawing(normals(or_default(generator, "normal"), order), order)(shape, target)
    if not parameters:
        values = as_array(target.type(mean) + target.type(std) * drawn).astype(target, copy=False)
        return leaf_or_out(values, requires_grad, out, normal)
    drawn = new_tensor(table(concrete(parameters[0]._array), drawn))
    with modes.Changed(grad=False):
        values = (drawn * std + mean).to(dtypes.of_numpy(target))._array
    if out is not None:
        return write_value(new_tensor(values), out, "normal")
    zero = constant_like(np.zeros((), target), parameters[0])
    a, b = (t if isinstance(t, Tensor) else zero for t in (mean, std))
    draw = _normal if len(parameters) == 2 else _of_mean if a is mean else _of_std
    return draw(a, b, new_tensor(values))


def drawn_bernoulli(
    generator: Generator, p: Any, like: Any, order: Any, dtype: Any, target: Any = None
) -> Any:
    """Ones with the probabilities in an array, else zeros, for each element of another one.

    `order` is `in_order` or `in_rows`; `target` is as in `examples`.
    """
    precision = np.dtype(np.float32 if p.itemsize <= 4 else np.float64)

    def uniform(shape: Any) -> Any:
        return examples(lambda s: generator.uniform(s, precision), shape, target)

    drawn = order(uniform, like)
    if is_batched(drawn) or is_batched(p):
        return (new_tensor(drawn) < new_tensor(p)).to(dtypes.of_numpy(dtype))._array
    return (table(p, drawn) < p).astype(dtype)


@public(methods="bernoulli")
def bernoulli(
    input: Tensor, p: Any = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones with the probabilities that `input` holds, else zeros; with `p`, all with that one.

    They are written to `out` where it is given, which may have any dtype.

    Raises RuntimeError for a probability that is not between 0 and 1, NotImplementedError for
    integer and complex tensors. The derivative is 0.

    >>> rg.bernoulli(rg.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    array = check_tensor(input, "bernoulli")._array
    source, there = or_default(generator, "bernoulli"), order_of(out, array.shape)
    place = (array, in_rows) if there is None else (there, in_order)
    if p is None:
        refuse("bernoulli_tensor_cpu_p_", array.dtype, "f")
        every = of_all_examples(array)
        if known_true(~((every >= 0) & (every <= 1)).all()):
            raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false: "
                               "probabilities lie between 0 and 1")  # fmt: skip
        values = drawn_bernoulli(source, array, *place, array.dtype)
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    else:
        like, order = place
        values = order(
            lambda shape: examples(
                lambda s: source.bernoulli(float(p), s).astype(array.dtype), shape
            ),
            like,
        )
    drawn = _bernoulli(input, new_tensor(values))
    return drawn if out is None else write_value(drawn.to(out.dtype), out, "bernoulli")


@public(out=True, methods="multinomial")
def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Indices drawn with probabilities proportional to `input`: (n,) to (k,), or (m, n) to (m, k).

    Without `replacement` no index appears twice in a row. Raises RuntimeError for weights that are
    negative, not finite, or all zero, and for more samples than there are weights.

    The generator gives a uniform number for each sample, which is looked up in the sums of the
    weights; for one sample, or without `replacement`, an exponential one for each weight.

    >>> rg.multinomial(rg.tensor([0.0, 3.0, 0.0]), 1)
    tensor([1])
    """
    weights = check_tensor(input, "multinomial")._array
    if weights.dtype.kind not in "fV":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{dtypes.legacy_name(weights.dtype)}"
        )
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if known_true(~(np.isfinite(weights) & (weights >= 0)).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    given, weights = weights, weights.astype(np.float64)
    if known_true((weights.sum(-1) <= 0).any()):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    source = or_default(generator, "multinomial")
    if replacement and num_samples > 1:
        edges = np.cumsum(weights, -1)
        drawn = source.uniform((*weights.shape[:-1], num_samples), weights.dtype)
        indices = searched(edges, table(edges, drawn) * edges[..., -1:], "right")
    else:  # the largest of w/E, for exponential E, is an index drawn with probability w
        drawn = in_order(lambda shape: source.exponential(shape, given.dtype), given)
        races = weights / table(weights, drawn.astype(weights.dtype))
        k, dim = num_samples, weights.ndim - 1
        _, indices = arrays.topk(races, k=k, dim=dim, largest=True, sorted=True)
    return new_tensor(indices.astype(np.int64, "C"))


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts from the Poisson distributions whose rates `input` holds; the derivative is 0.

    Raises RuntimeError for a negative rate, NotImplementedError for integer and complex tensors.

    >>> rg.poisson(rg.tensor([0.0]))
    tensor([0.])
    """
    rates = check_tensor(input, "poisson")._array
    refuse("poisson_cpu", rates.dtype, "f")
    if known_true(~(rates >= 0).all()):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    drawn = or_default(generator, "poisson").draw("rejected", "poisson", rates.astype(np.float64))
    return _poisson(input, constant_like(drawn.astype(rates.dtype), input))


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with the probability `prob`; the derivative is 0.

    The two broadcast. Of a probability below 0 or above 1, none or all do; NaN gives NaN. Raises
    ValueError for integer and complex tensors.

    >>> rg.binomial(rg.tensor([3.0, 4.0]), rg.tensor([1.0, 0.0]))
    tensor([3., 0.])
    """
    for name, t in (("count", count), ("prob", prob)):
        array: Any = check_tensor(t, "binomial")._array
        if array.dtype.kind not in "fV":
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: "
                f"{dtypes.legacy_name(array.dtype)}"
            )
    check_broadcast(count._array.shape, prob._array.shape, "binomial")
    given = np.broadcast_arrays(*[calm(t._array.astype, np.float64) for t in (count, prob)])
    values = or_default(generator, "binomial").draw("rejected", "binomial", *given)
    array = calm(values.astype, count._array.dtype)
    return _binomial(count.expand(array.shape), new_tensor(array))

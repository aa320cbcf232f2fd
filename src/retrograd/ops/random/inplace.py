"""Filling a tensor in place with random numbers: `uniform_`, `normal_` and their relatives.

Each is an ordinary in-place write, so the rules for leaves, views and versions hold; what was
overwritten gets gradient 0. The numbers are drawn after those rules were checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.backward.fitting import expands
from ...engine.inplace import write
from ...engine.naming import integer_in
from ...engine.tensor import Tensor, concrete, constant_like
from ...errors import wrong_type
from ...kernels.allocation import is_batched, known_true
from ..core.arguments import public
from .factories import check_std, declare_drawn, drawn_bernoulli
from .generator import (
    Generator,
    drawn_integers,
    examples,
    in_order,
    is_block,
    or_default,
    refuse,
)

_ops = {
    name: declare_drawn(f"drawn_{name}_", f"{node}Backward0")
    for name, node in {
        "uniform": "Uniform",
        "normal": "Normal",
        "bernoulli": "Bernoulli",
        "exponential": "Exponential",
        "cauchy": "Cauchy",
        "geometric": "Geometric",
        "log_normal": "LogNormal",
        "random": "Random",
    }.items()
}


def fill(
    self: Tensor, name: str, generator: Any, make: Callable[[Generator, Any, Any], Any]
) -> Tensor:
    """Overwrite `self` with `make(generator, shape, dtype)`, under the op for `name`."""
    source, op = or_default(generator, f"{name}_"), _ops[name]

    def drawn(old: Tensor) -> Any:
        array = old._array

        def draw(shape: Any) -> Any:
            return examples(lambda s: make(source, s, array.dtype), shape, array)

        values = in_order(draw, array)
        return op(old, constant_like(values, old))

    return write(self, f"{name}_", drawn, (), {})


BLOCK = 1 << 14  # numbers that become others at once: what they take lies in the cache


def parted(x: Any) -> tuple[Any, Any]:
    """The upper and the lower digits of float64 numbers, which add up to them."""
    wide = x * 134217729.0  # 2**27 + 1
    upper = wide - (wide - x)
    return upper, x - upper


def fused(x: Any, factor: float, term: float) -> Any:
    """`x * factor + term` of float64 `x` in [0, 1), rounded once: the numbers of PyTorch's builds.

    The errors of the product and of the sum are exact. Source: T. J. Dekker, "A floating-point
    technique for extending the available precision" (1971).
    """
    factor, exponent = math.frexp(factor)  # lest a product of halves overflows
    term = math.ldexp(term, -exponent)
    product, (above, below), (upper, lower) = x * factor, parted(x), parted(factor)
    error = ((above * upper - product) + above * lower + below * upper) + below * lower
    total = product + term
    part = total - product
    rest = (product - (total - part)) + (term - part)
    return np.ldexp(total + (rest + error), exponent)


@public(methods="uniform_")
def uniform_(
    self: Tensor,
    from_: float = 0.0,
    to: float = 1.0,
    *,
    generator: Generator | None = None,
    **renamed: float,
) -> Tensor:
    """Fill with numbers evenly from `from` to `to`, exclusive; both parts of complex ones.

    Raises RuntimeError for an empty range, and for one that is wider than the dtype's largest
    number; NotImplementedError for integer tensors.

    >>> x = rg.empty(100).uniform_(2, 3); bool((x >= 2).all() and (x < 3).all())
    True
    """
    low, high = renamed.pop("from", from_), to
    _no_more(renamed, "uniform_")
    refuse("check_uniform_bounds", self._array.dtype, "fc")
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    most = dtypes.finfo(self.dtype).max
    if not (-most <= low <= high <= most and high - low <= most):
        raise RuntimeError(
            f"uniform_ expects to-from <= {most}, the largest number of {self.dtype.name}, and so "
            f"for both bounds, but found to={high} and from={low}"
        )

    def make(source: Generator, shape: Any, dtype: Any) -> Any:
        if dtype.itemsize == 2:
            return _halves(source, shape, dtype, low, high)
        if dtype.kind == "c":
            return make(source, (*shape, 2), dtypes.real_of(dtype)).view(dtype)[..., 0]
        start, span = float(dtype.type(low)), float(dtype.type(high) - dtype.type(low))
        drawn = source.uniform(shape, dtype)
        flat = drawn.reshape(-1)
        for at in range(0, flat.size, BLOCK):
            x = flat[at : at + BLOCK].astype(np.float64)
            flat[at : at + BLOCK] = (
                fused(x, span, start) if dtype.itemsize == 8 else x * span + start
            )
        return drawn

    return fill(self, "uniform", generator, make)


def _halves(source: Generator, shape: Any, dtype: Any, low: float, high: float) -> Any:
    """Uniform numbers of 16 bits, rounded from float32; `high` becomes `low`, as in PyTorch."""
    single = np.dtype(np.float32)
    start, span = single.type(low), single.type(high) - single.type(low)
    drawn = source.uniform(shape, single).astype(np.float64) * float(span) + float(start)
    rounded = drawn.astype(single).astype(dtype)  # a product and a sum that are rounded once
    return np.where(rounded < dtype.type(high), rounded, dtype.type(low))


def mean_of(given: Any, target: Tensor, name: str, argument: str = "mean") -> Any:
    """The number in a mean, which may be a 0-d tensor; TypeError for what is none for `target`."""
    found = given.item() if isinstance(given, Tensor) and not given._array.ndim else given
    taken = (int, float, complex) if target._array.dtype.kind == "c" else (int, float)
    if not isinstance(found.item() if isinstance(found, np.number) else found, taken):
        raise wrong_type(name, argument, "float", given, 1)
    return found


@public(methods="normal_")
def normal_(
    self: Tensor, mean: Any = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers from a normal distribution, complex ones with half the variance per part.

    Raises RuntimeError for negative `std`, NotImplementedError for integer tensors.

    >>> rg.empty(2).normal_(1.0, 0.0)
    tensor([1., 1.])
    """
    refuse("normal_kernel_cpu", self._array.dtype, "fc")
    check_std(std)
    center = mean_of(mean, self, "normal_")

    def make(source: Generator, shape: Any, dtype: Any) -> Any:
        if dtype.kind != "c":
            return source.draw("normal", shape, dtype, in_runs, center, std)
        scale = dtypes.real_of(dtype).type(std)
        return source.normal(shape, dtype, in_runs) * scale + dtype.type(center)

    in_runs = is_block(self._array)
    return fill(self, "normal", generator, make)


@public(methods="bernoulli_")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones, with probability `p` (a number, or a tensor that broadcasts), else zeros.

    Raises RuntimeError for a probability that is not between 0 and 1.

    >>> rg.empty(2).bernoulli_(1.0)
    tensor([1., 1.])
    """
    given = p._array if isinstance(p, Tensor) else p
    every = concrete(given) if is_batched(given) else given
    if known_true(~np.all((every >= 0) & (every <= 1))):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    refuse("bernoulli_scalar_cpu_", self._array.dtype, "fiub")
    if not expands(np.shape(given), self._array.shape):
        raise RuntimeError(
            f"bernoulli_: the shape {list(np.shape(given))} of p does not expand to "
            f"{list(self.shape)}"
        )

    if not isinstance(p, Tensor):
        return fill(self, "bernoulli", generator, lambda source, shape, dtype:
                    source.bernoulli(given, shape).astype(dtype))  # fmt: skip
    source, op = or_default(generator, "bernoulli_"), _ops["bernoulli"]

    def drawn(old: Tensor) -> Any:
        array = old._array
        made = drawn_bernoulli(source, given, array, in_order, array.dtype, array)
        return op(old, constant_like(made, old))

    return write(self, "bernoulli_", drawn, (), {})


@public(methods="exponential_")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with positive numbers of density lambd * exp(-lambd * x); zeros where lambd is infinite.

    Raises RuntimeError unless `lambd` is positive and the dtype real floating.

    >>> bool((rg.empty(9).exponential_() > 0).all())
    True
    """
    continuous(self, "Exponential")
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return fill(
        self,
        "exponential",
        generator,
        lambda source, shape, dtype: source.exponential(shape, dtype, lambd),
    )


@public(methods="cauchy_")
def cauchy_(
    self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers of density sigma / (pi ((x - median)^2 + sigma^2)).

    Raises RuntimeError unless `sigma` is positive and the dtype real floating.
    """
    continuous(self, "Cauchy")
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    center = mean_of(median, self, "cauchy_", "median")

    def make(source: Generator, shape: Any, dtype: Any) -> Any:
        angle = np.pi * (source.uniform(shape, np.dtype(np.float64)) - 0.5)
        return (center + sigma * np.tan(angle)).astype(dtype)

    return fill(self, "cauchy", generator, make)


@public(methods="geometric_")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the number of trials, of success probability `p`, up to the first success.

    Raises RuntimeError unless 0 < p < 1.
    """
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    refuse("geometric_cpu", self._array.dtype, "fiu")
    return fill(
        self,
        "geometric",
        generator,
        lambda source, shape, dtype: np.ceil(
            np.log(source.uniform(shape, np.dtype(np.float64))) / np.log1p(-p)
        ).astype(dtype),
    )


@public(methods="log_normal_")
def log_normal_(
    self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None
) -> Tensor:
    """Fill with exp(x) for x from the normal distribution of `mean` and `std`.

    Raises RuntimeError unless `std` is positive, NotImplementedError unless the dtype is real
    floating.
    """
    refuse("log_normal_cpu", self._array.dtype, "f")
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    center = mean_of(mean, self, "log_normal_")
    return fill(
        self,
        "log_normal",
        generator,
        lambda source, shape, dtype: np.exp(
            source.normal(shape, np.dtype(np.float64), False) * std + center
        ).astype(dtype),
    )


@public(methods="random_")
def random_(self: Tensor, *bounds: Any, generator: Generator | None = None, **named: Any) -> Tensor:
    """Fill with integers: `random_(to)` from 0, `random_(from, to)`, `to` exclusive.

    Where `to` is None, all that an integer dtype holds from there on, or for a floating dtype all
    up to the first that has no successor in it; without bounds, all of those from 0. Raises
    RuntimeError for an empty range, NotImplementedError for complex tensors, TypeError for more
    bounds.

    >>> rg.empty(2).random_(3, 4)
    tensor([3., 3.])
    """
    if "from" in named:
        bounds += named.pop("from"), named.pop("to", None)
    elif "to" in named:
        bounds += (named.pop("to"),)
    _no_more(named, "random_")
    if len(bounds) > 2:
        raise TypeError(f"random_() takes up to 2 bounds, `from` and `to`, but got {len(bounds)}")
    dtype = self._array.dtype
    refuse("random_kernel_cpu", dtype, "fiub")
    if not bounds:  # PyTorch takes the words otherwise than with bounds
        values, long = _all_of(dtype), dtype.itemsize == 8

        def make(source: Generator, shape: Any, dtype: Any) -> Any:
            return source.draw("below", values, shape, long).astype(dtype)

    else:
        first = _bound("from", bounds[0]) if len(bounds) == 2 else 0
        last = _all_of(dtype) if bounds[-1] is None else _bound("to", bounds[-1])

        def make(source: Generator, shape: Any, dtype: Any) -> Any:
            return drawn_integers(source, first, last, shape, dtype)

    return fill(self, "random", generator, make)


def _bound(name: str, value: Any) -> int:
    """A bound of `random_` as an integer; TypeError for what is none."""
    found = integer_in(value)
    if found is None:
        raise wrong_type("random_", name, "int", value)
    return found  # type: ignore[no-any-return]


def _all_of(dtype: Any) -> int:
    """How many integers from 0 on are in a dtype, each with the next one."""
    if dtype.kind in "fV":
        return int(2 / dtypes.finfo(dtypes.of_numpy(dtype)).eps) + 1
    return 2 if dtype.kind == "b" else int(np.iinfo(dtype).max) + 1


def continuous(t: Tensor, name: str) -> None:
    """Raise unless a tensor can hold samples of a distribution with a density."""
    if t._array.dtype.kind not in "fV":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a "
            f"floating point but you specified {t.dtype.name}"
        )


def _no_more(renamed: dict[str, Any], name: str) -> None:
    if renamed:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(renamed))}'")

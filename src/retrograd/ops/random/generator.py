"""The source of random numbers: `Generator`, the default one, and its seeds and states.

A generator draws from a stream: NOTE [PyTorch's numbers] in `streams`. Each draw holds the
generator's lock: threads that share a generator share one stream. A forked child goes on at the
parent's place, so both draw the same numbers until one of them is seeded. NumPy's random module is
loaded at the first draw: importing it is slow.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ... import dtypes, modes, version
from ...engine.overriding import IGNORED, named_in
from ...engine.placement import CPU
from ...engine.placement import device as placed
from ...engine.tensor import Tensor, device, is_array, new_tensor
from ...engine.trace import users_level
from ...engine.transforms.batch import Batch
from ...errors import wrong_type
from ...kernels.allocation import has_values, is_batched, is_numpy, is_seen, table
from ...locks import new_lock
from ...quiet import calm
from ..core.pointwise import unsupported
from .streams import STREAMS

FIRST_SEED = 67280421310721  # what PyTorch's generators start with
LOCKS = itertools.cycle([new_lock() for _ in range(16)])  # the next generator's: so few share one


class Generator:
    """A stream of random numbers, determined by its seed: the numbers that PyTorch draws.

    `algorithm="pcg64"` gives NumPy's stream instead: other numbers, and quicker. Raises
    RuntimeError for another device than the cpu, ValueError for another algorithm.

    >>> g = rg.Generator().manual_seed(0)
    >>> rg.rand(3, generator=g)
    tensor([0.4963, 0.7682, 0.0885])
    >>> quick = rg.Generator(algorithm="pcg64").manual_seed(0)
    >>> rg.rand(3, generator=quick)
    tensor([0.8506, 0.6370, 0.5111])
    """

    __module__ = version.called

    def __init__(self, device: Any = "cpu", *, algorithm: str = "mt19937") -> None:
        if algorithm not in STREAMS:
            raise ValueError(
                f"a Generator's algorithm is one of {', '.join(STREAMS)}, but got {algorithm!r}"
            )
        self._device = CPU if device in (None, "cpu") else placed(device)
        if self._device.type != "cpu":
            kind = self._device.type.upper()
            raise RuntimeError(
                f"Cannot get a {kind} generator: numbers are drawn on the cpu. Write Generator()"
            )
        self._lock = next(LOCKS)
        self._seed = FIRST_SEED
        self._kind = STREAMS[algorithm]
        self._stream: Any = None

    @property
    def device(self) -> device:
        """Where the numbers are made."""
        return self._device

    @property
    def stream(self) -> Any:
        """The stream, seeded when first asked for."""
        if self._stream is None:
            self._stream = self._kind(self._seed)
        return self._stream

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of numbers of `seed`, from -2**63 to 2**64 - 1; return the generator.

        Raises RuntimeError for what is no integer, ValueError out of range.
        """
        if seed.__class__ is not int and not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: {seed} has more than 64 bits")
        with self._lock:
            self._seed, self._stream = int(seed) % 2**64, None
        return self

    def seed(self) -> int:
        """Start a stream with a random seed; return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream was started with."""
        return self._seed

    def get_state(self) -> Tensor:
        """The place in the stream, as a 1-D uint8 tensor; PyTorch's generators take it, too."""
        with self._lock:
            return new_tensor(self.stream.state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Go to the place in the stream that `get_state` gave, here or in PyTorch; returns itself.

        Raises TypeError for what is no uint8 tensor, RuntimeError for one of another size.
        """
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            raise TypeError("RNG state must be a retrograd.ByteTensor (dtype uint8)")
        content = new_state._array.tobytes()
        if len(content) != self._kind.size:
            raise RuntimeError(
                f"Expected a generator state of size {self._kind.size} but found the input RNG "
                f"state size to be {len(content)}"
            )
        stream = self._kind.at(content)
        with self._lock:
            self._seed, self._stream = stream.seed, stream
        return self

    def clone_state(self) -> Generator:
        """Another generator at the same place in the same stream."""
        made = Generator(self._device)
        made._kind = self._kind
        made.set_state(self.get_state())
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.get_state()._array,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()

    # -- what the ops draw -----------------------------------------------------------------------

    def uniform(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """Numbers from 0 to 1, exclusive; of a complex dtype, for each of both parts."""
        if target.kind == "c":
            return _paired(self.uniform((*shape, 2), dtypes.real_of(target)), target)
        return self._taken("uniform", shape, target)

    def normal(self, shape: tuple[int, ...], target: np.dtype[Any], in_runs: bool = True) -> Any:
        """Numbers of mean 0 and variance 1; of a complex dtype, 1/2 for each of both parts.

        `in_runs` says that what they fill is one block of memory: NOTE [PyTorch's numbers], 2.
        """
        if target.kind == "c":
            parts = self.normal((*shape, 2), dtypes.real_of(target), in_runs)
            return _paired(parts * parts.dtype.type(0.5**0.5), target)
        return self._taken("normal", shape, target, in_runs)

    def exponential(self, shape: tuple[int, ...], target: np.dtype[Any], rate: float = 1.0) -> Any:
        """Positive numbers of density rate * exp(-rate * x); zeros for an infinite rate."""
        precision = np.dtype(np.float64) if target.itemsize == 8 else np.dtype(np.float32)
        drawn = self.draw("exponential", shape, precision) / precision.type(rate)
        least = np.finfo(np.float16 if target == np.float16 else precision).smallest_subnormal
        return np.maximum(drawn, least * (rate < math.inf)).astype(target)

    def bernoulli(self, p: Any, shape: tuple[int, ...]) -> Any:
        """Booleans that are true with probability `p`, a number or an array that broadcasts."""
        if not is_array(p):
            return self.draw("bernoulli", float(p), shape)
        drawn = self.uniform(shape, np.dtype(np.float32 if p.itemsize <= 4 else np.float64))
        return table(p, drawn) < p

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> Any:
        """Integers from `low` to `high`, exclusive, as int64 (uint64 above its range)."""
        kind = np.int64 if high <= 2**63 else np.uint64
        return self.draw("integers", low, high, shape, kind)

    def draw(self, name: str, *args: Any) -> Any:
        """The result of the method `name` of the stream."""
        drawn = calm(self._taken, name, *args)
        return np.asarray(drawn) if is_numpy(drawn) else drawn

    def _taken(self, name: str, *args: Any) -> Any:
        """What the method `name` of the stream gives, under the eyes of the thread's watchers."""
        if modes.special:
            check_batches(self)
            if modes.state.watchers:
                take = partial(self._take, name, *args)
                for watcher in modes.state.watchers:
                    take = partial(watcher.draw, take)
                return take()
        with self._lock:  # as in `_take`, a call less
            return getattr(self._stream or self.stream, name)(*args)

    def _take(self, name: str, *args: Any) -> Any:
        with self._lock:
            return getattr(self.stream, name)(*args)


def check_batches(source: Generator) -> None:
    """Ask the batched calls in progress whether a number may be drawn."""
    for level in modes.state.batches:
        level.draw(source)


def examples(
    draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...], target: Any = None
) -> Any:
    """What `draw(shape)` gives: a batch, where each example of a batched call draws its own.

    An array `target`, to which the numbers will be written, has to have room for them.
    """
    if not modes.special:
        return draw(shape)
    levels = [
        level
        for level in modes.state.batches
        if level.randomness == "different" and not level.singly
    ]
    if not levels or not (target is None or set(levels) <= set(_levels_of(target))):
        return draw(shape)
    try:
        for level in levels:
            level.at_once = True
        made = new_tensor(np.asarray(draw((*[level.size for level in levels], *shape))))
    finally:
        for level in levels:
            level.at_once = False
    for level in levels:
        made = new_tensor(Batch(made, level))
    return made._array


def _levels_of(array: Any) -> Iterator[Any]:
    """The batched calls of which an array has all examples."""
    while is_batched(array):
        yield array.level
        array = array.value._array


def in_rows(draw: Callable[[tuple[int, ...]], Any], array: Any) -> Any:
    """What `draw(shape)` gives for the shape of an array."""
    return draw(array.shape) if has_values(array) else np.empty_like(array)


def in_order(draw: Callable[[tuple[int, ...]], Any], array: Any) -> Any:
    """`in_rows`, but in the order of the array's memory, if it has a place for each element."""
    if is_seen(array) and array.flags.c_contiguous:
        return draw(array.shape)
    if not (has_values(array) and is_seen(array)) or array.flags.c_contiguous or _repeats(array):
        return in_rows(draw, array)
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    drawn = draw(tuple([array.shape[axis] for axis in axes]))
    return np.transpose(drawn, np.argsort(axes).tolist())


def is_block(array: Any) -> bool:
    """Whether an array is one block of memory in row-major order; those of other kinds are."""
    return not is_seen(array) or array.flags.c_contiguous


def _repeats(array: Any) -> bool:
    """Whether elements of an array share memory along a dimension, as those that `expand` made."""
    return any(
        stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)
    )


def order_of(out: Any, shape: tuple[int, ...]) -> Any:
    """The array in whose order numbers are drawn: that of an `out` of that shape.

    None for row-major order.
    """
    return None if out is None or out._array.shape != shape else out._array


def drawing(draw: Callable[..., Any], order: Any = None) -> Callable[..., Any]:
    """`draw(shape, target)`, in a batched call for each example, in the order of an array."""
    return draw if order is None and not modes.special else partial(_drawn, draw, order)


def _drawn(draw: Callable[..., Any], order: Any, shape: tuple[int, ...], target: Any) -> Any:
    def each(shape: tuple[int, ...]) -> Any:
        return examples(lambda s: draw(s, target), shape)

    return each(shape) if order is None else in_order(each, order)


def normals(source: Generator, order: Any) -> Callable[..., Any]:
    """`draw(shape, target)` of normal numbers, for the memory of an array."""
    plain = order is None or is_block(order)
    return source.normal if plain else partial(source.normal, in_runs=False)


def _paired(parts: Any, target: np.dtype[Any]) -> Any:
    return parts.view(target)[..., 0]


def _restored(state: Any) -> Generator:
    algorithm = next(name for name, kind in STREAMS.items() if kind.size == state.size)
    made = Generator(algorithm=algorithm)
    made.set_state(new_tensor(np.array(state)))
    return made


default_generator = Generator()
default_generator.seed()


def refuse(kernel: str, target: np.dtype[Any], kinds: str) -> None:
    """Raise NotImplementedError unless the dtype is of one of `kinds`; bfloat16 is of kind "f"."""
    if target.kind not in kinds and not (target.kind == "V" and "f" in kinds):
        raise unsupported(kernel, target)


def drawn_integers(
    generator: Generator, low: int, high: int, shape: tuple[int, ...], target: np.dtype[Any]
) -> Any:
    """Integers from `low` to `high`, exclusive, as dtype `target`, which must hold them."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}. Of "
            "randint(low, high, size) the lower bound comes first, and the upper one is left out"
        )
    refuse("check_random_bounds", target, "fiub")
    check_range(low, high - 1, target)
    return generator.integers(low, high, shape).astype(target)


def check_range(low: int, last: int, target: np.dtype[Any]) -> None:
    """RuntimeError for bounds beyond a dtype, a warning beyond where it has all integers."""
    floating = target.kind in "fV"
    least, most = limits(target)
    for name, value in (("from", low), ("to - 1", last)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtypes.cpp_name(target)}")
        if floating and abs(value) > 1 << (digits := _digits(target)):
            text = ROUGH.format(name=name, digits=digits, dtype=dtypes.of_numpy(target).name)
            warnings.warn(text, UserWarning, stacklevel=users_level())


ROUGH = (
    "{name} is out of bounds [-(2^{digits}), 2^{digits}], between which {dtype} has every integer. "
    "Beyond, some are never drawn. Draw integers, then convert: randint(low, high, size).to(dtype)"
)


def _digits(target: np.dtype[Any]) -> int:
    """How many binary digits a floating dtype has."""
    return 1 - round(math.log2(dtypes.finfo(dtypes.of_numpy(target)).eps))


def limits(target: np.dtype[Any]) -> tuple[float, float]:
    """The least and the largest number of a dtype."""
    if target.kind == "b":
        return 0, 1
    d = dtypes.of_numpy(target)
    limits = dtypes.finfo(d) if d.is_floating_point else dtypes.iinfo(d)
    return limits.min, limits.max


def or_default(generator: Any, name: str) -> Generator:
    """The generator given to the function called `name`, or the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise wrong_type(name, "generator", "retrograd.Generator", generator)
    return generator


def drawn_seed(generator: Generator | None = None) -> int:
    """A seed below 2**63 from a generator: what PyTorch's samplers and loaders draw."""
    return int(or_default(generator, "drawn_seed").draw("below", 2**63, (), True))


@named_in(IGNORED)
def manual_seed(seed: Any) -> Generator:
    """Start the default stream of `seed`, and return the default generator.

    >>> _ = rg.manual_seed(0)
    >>> rg.initial_seed()
    0
    """
    return default_generator.manual_seed(int(seed))


@named_in(IGNORED)
def seed() -> int:
    """Start the default stream with a random seed; return the seed.

    >>> rg.seed() == rg.initial_seed()
    True
    """
    return default_generator.seed()


@named_in(IGNORED)
def initial_seed() -> int:
    """The seed of the default stream.

    >>> _ = rg.manual_seed(7)
    >>> rg.initial_seed()
    7
    """
    return default_generator.initial_seed()


@named_in(IGNORED)
def get_rng_state() -> Tensor:
    """The place in the default stream, as a 1-D uint8 tensor.

    >>> state = rg.get_rng_state()
    >>> state.dtype, state.dim()
    (retrograd.uint8, 1)
    """
    return default_generator.get_state()


@named_in(IGNORED)
def set_rng_state(new_state: Tensor) -> None:
    """Go to a place in the default stream that `get_rng_state` gave; errors as `set_state`.

    >>> state = rg.get_rng_state(); x = rg.rand(2)
    >>> rg.set_rng_state(state); bool((rg.rand(2) == x).all())
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: Any = None,
) -> Iterator[None]:
    """A context after which the default stream has its old state again, unless `enabled=False`.

    The others are accepted for PyTorch's programs and change nothing.

    >>> with rg.random.fork_rng():
    ...     _ = rg.manual_seed(1)
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)

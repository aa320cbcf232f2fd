"""The source of random numbers: `Generator`, the default one, and its seeds and states.

Numbers come from NumPy's PCG64, so the same seed gives the same numbers on every platform, and
other numbers than in PyTorch. Each draw holds the generator's lock: threads that share a generator
share one stream. A forked child goes on at the parent's place, so both draw the same numbers until
one of them is seeded. NumPy's random module is loaded at the first draw: importing it is slow.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes, modes
from ...engine.placement import present
from ...engine.tensor import Tensor, device, new_tensor
from ...engine.transforms.batch import Batch
from ...locks import new_lock
from ...quiet import quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

FIRST_SEED = 67280421310721  # what PyTorch's generators start with
STATE_PARTS = {"seed": 8, "state": 16, "inc": 16, "has_uint32": 4, "uinteger": 4}  # bytes each
STATE_SIZE = sum(STATE_PARTS.values())


class Generator:
    """A stream of random numbers, determined by its seed.

    Raises AssertionError for a device that is absent. Source: PyTorch's `Generator`.

    >>> g = rg.Generator().manual_seed(0)
    >>> first = rg.rand(3, generator=g)
    >>> bool((rg.rand(3, generator=g.manual_seed(0)) == first).all())
    True
    """

    def __init__(self, device: Any = "cpu") -> None:
        self._device = present("cpu" if device is None else device)
        self._lock = new_lock()
        self._seed = FIRST_SEED
        self._stream: Any = None

    @property
    def device(self) -> device:
        """Where the numbers are made."""
        return self._device

    @property
    def stream(self) -> Any:
        """NumPy's generator, seeded when first asked for."""
        if self._stream is None:
            self._stream = np.random.Generator(np.random.PCG64(self._seed))
        return self._stream

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`, from -2**63 to 2**64 - 1; return the generator.

        Raises RuntimeError for what is no integer, ValueError out of range.
        """
        if not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"Overflow when unpacking long long: {seed} has more than 64 bits")
        with self._lock:
            self._seed, self._stream = int(seed) % 2**64, None
        return self

    def seed(self) -> int:
        """Start a stream that nobody can foresee; return its seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the stream was started with."""
        return self._seed

    def get_state(self) -> Tensor:
        """The place in the stream, as a 1-D uint8 tensor."""
        with self._lock:
            state = self.stream.bit_generator.state
            values = {**state, **state["state"], "seed": self._seed}
        parts = [values[name].to_bytes(size, "little") for name, size in STATE_PARTS.items()]
        return new_tensor(np.frombuffer(b"".join(parts), np.uint8).copy())

    def set_state(self, new_state: Tensor) -> None:
        """Go to the place in the stream that `get_state` gave.

        Raises TypeError for what is no uint8 tensor, RuntimeError for one of another size.
        """
        if not isinstance(new_state, Tensor) or new_state._array.dtype != np.uint8:
            raise TypeError("RNG state must be a retrograd.ByteTensor (dtype uint8)")
        content = new_state._array.tobytes()
        if len(content) != STATE_SIZE:
            raise RuntimeError(
                f"Expected a generator state of size {STATE_SIZE} but found the input RNG state "
                f"size to be {len(content)}"
            )
        values, start = {}, 0
        for name, size in STATE_PARTS.items():
            values[name] = int.from_bytes(content[start : start + size], "little")
            start += size
        with self._lock:
            self._seed = values.pop("seed")
            inner = {name: values.pop(name) for name in ("state", "inc")}
            self.stream.bit_generator.state = {
                "bit_generator": "PCG64",
                "state": inner,
                **values,
            }

    def clone_state(self) -> Generator:
        """Another generator at the same place in the same stream."""
        made = Generator(self._device)
        made.set_state(self.get_state())
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.get_state()._array,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Generator:
        return self.clone_state()

    # -- what the ops draw -----------------------------------------------------------------------

    @quietly
    def uniform(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """Numbers from 0 to 1, exclusive; of a complex dtype, for each of both parts."""
        check_batches(self)
        if target.kind == "c":
            return _paired(self.uniform((*shape, 2), dtypes.real_of(target)), target)
        with self._lock:
            if target.itemsize == 2:  # float32 would round to 1
                steps = 2**11 if target.kind == "f" else 2**8  # bfloat16 has fewer digits
                return (self.stream.integers(0, steps, shape) / steps).astype(target)
            return np.asarray(self.stream.random(shape, target))

    @quietly
    def normal(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """Numbers of mean 0 and variance 1; of a complex dtype, 1/2 for each of both parts."""
        check_batches(self)
        if target.kind == "c":
            parts = self.normal((*shape, 2), dtypes.real_of(target))
            return _paired(parts * parts.dtype.type(0.5**0.5), target)
        with self._lock:
            if target.itemsize == 2:
                return np.asarray(self.stream.standard_normal(shape, np.float32)).astype(target)
            return np.asarray(self.stream.standard_normal(shape, target))

    @quietly
    def exponential(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """Positive numbers of density exp(-x)."""
        check_batches(self)
        precision = np.dtype(np.float64) if target.itemsize == 8 else np.dtype(np.float32)
        with self._lock:
            drawn = np.asarray(self.stream.standard_exponential(shape, precision))
        least = np.finfo(np.float16 if target == np.float16 else precision).smallest_subnormal
        return np.maximum(drawn, least).astype(target)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> Any:
        """Integers from `low` to `high`, exclusive, as int64 (uint64 above its range)."""
        check_batches(self)
        kind = np.int64 if high <= 2**63 else np.uint64
        with self._lock:
            return np.asarray(self.stream.integers(low, high, shape, kind))

    def call(self, name: str, *args: Any) -> Any:
        """What the method `name` of NumPy's generator gives."""
        check_batches(self)
        with self._lock:
            return np.asarray(getattr(self.stream, name)(*args))


def check_batches(source: Generator) -> None:
    """Ask the batched calls in progress whether a number may be drawn."""
    if modes.special:
        for level in modes.state.batches:
            level.draw(source)


def examples(draw: Callable[[tuple[int, ...]], Any], shape: tuple[int, ...]) -> Any:
    """What `draw(shape)` gives: a batch, where each example of a batched call draws its own."""
    levels = [
        level
        for level in (modes.state.batches if modes.special else ())
        if level.randomness == "different" and not level.singly
    ]
    if not levels:
        return draw(shape)
    others = tuple([level for level in modes.state.batches if level not in levels])
    with modes.Changed(batches=others):
        made = new_tensor(np.asarray(draw((*[level.size for level in levels], *shape))))
    for level in levels:
        made = new_tensor(Batch(made, level))
    return made._array


def _paired(parts: Any, target: np.dtype[Any]) -> Any:
    return parts.view(target)[..., 0]


def _restored(state: Any) -> Generator:
    made = Generator()
    made.set_state(new_tensor(np.array(state)))
    return made


default_generator = Generator()
default_generator.seed()


def chosen(generator: Any, name: str) -> Generator:
    """The generator given to the function called `name`, or the default one."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(
            f"{name}(): argument 'generator' must be retrograd.Generator, not "
            f"{type(generator).__name__}"
        )
    return generator


def manual_seed(seed: Any) -> Generator:
    """Start the default stream of `seed`, and return the default generator.

    >>> _ = rg.manual_seed(0)
    >>> rg.initial_seed()
    0
    """
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Start a default stream that nobody can foresee; return its seed.

    >>> rg.seed() == rg.initial_seed()
    True
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default stream.

    >>> _ = rg.manual_seed(7)
    >>> rg.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The place in the default stream, as a 1-D uint8 tensor.

    >>> state = rg.get_rng_state()
    >>> state.dtype, state.dim()
    (retrograd.uint8, 1)
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Go to a place in the default stream that `get_rng_state` gave; errors as `set_state`.

    >>> state = rg.get_rng_state(); x = rg.rand(2)
    >>> rg.set_rng_state(state); bool((rg.rand(2) == x).all())
    True
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """Give the default stream back its place when the block ends, unless `enabled` is False.

    `devices` is accepted for PyTorch's programs and changes nothing.

    >>> with rg.random.fork_rng():
    ...     _ = rg.manual_seed(1)
    """
    state = get_rng_state() if enabled else None
    try:
        yield
    finally:
        if state is not None:
            set_rng_state(state)

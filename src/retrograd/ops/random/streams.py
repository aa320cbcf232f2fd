"""The streams from which generators draw: PyTorch's numbers, and NumPy's PCG64.

NOTE [PyTorch's numbers]
The same seed gives what PyTorch's CPU generator gives, in the same order: equal for integers and
masks, to rounding for what goes through `log` and `cos`. Words are the 32-bit numbers of the
Mersenne Twister; a long takes two of them, the upper half first.
1. Uniform: the lower 24 bits of a word for float32 (half floats are rounded from it, 1 to 0), the
   lower 53 of a long for float64.
2. Normal, 16 numbers and more in one block: uniforms for all of them, then the Box-Muller
   transform of each run of 16, cosines before sines; if they are no multiple of 16, a run that is
   drawn anew replaces the last 16. (For half floats nothing is drawn for those left over.)
   Otherwise: pairs by the transform in float64, of which an odd last one is kept for the next call.
3. Masks of one probability, exponentials, Cauchy and geometric numbers: a float64 each.
4. Integers: a word, or from 2**28 values on a long, modulo the number of values.
5. A tensor is filled in the order of its memory.
6. Gamma, Poisson and binomial numbers: uniform and normal ones in float64, as many as each needs.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels.native import loops, rejection, twister
from ...kernels.native.small import quick
from ...quiet import quietly

FEW = 1 << 14  # numbers whose memory is not used again
RUN = 16  # how many numbers a run of the Box-Muller transform has
LONG = 1 << 28  # from how many values on integers come from longs
# PyTorch's state: seed, words left, whether seeded, next word; the words; the normal number kept
STATE = np.dtype(
    [
        ("seed", "<u8"),
        ("left", "<i4"),
        ("seeded", "<i4"),
        ("next", "<u8"),
        ("words", "<u8", twister.WORDS),
        ("unused_x", "<f8"),
        ("kept", "<f8"),
        ("unused_rho", "<f8"),
        ("keeps", "<i8"),
        ("kept_float", "<f4"),
        ("keeps_float", "<i4"),
    ]
)

PARTS = {"seed": 8, "state": 16, "inc": 16, "has_uint32": 4, "uinteger": 4}  # PCG64's, in bytes


class Twister:
    """PyTorch's stream: NOTE [PyTorch's numbers]."""

    size = STATE.itemsize

    def __init__(self, seed: int, place: Any = None) -> None:
        self.seed = seed
        self.place = twister.seeded(seed) if place is None else place
        self.kept = np.zeros(2)  # the other number of a pair of normal ones, and whether it is kept

    # -- words -----------------------------------------------------------------------------------

    def words(self, count: int) -> Any:
        """The next 32-bit words."""
        return twister.drawn(self.place, np.uint32, count)

    def passed(self, counts: Any) -> Any:
        """The states before each of the stretches of so many words, all of which are passed."""
        return twister.states_ahead(self.place, counts)

    def longs(self, count: int) -> Any:
        """The next 64-bit numbers."""
        return self.words(2 * count).reshape(count, 2)[:, ::-1].copy().view(np.uint64)[:, 0]

    def singles(self, count: int) -> Any:
        """Uniform numbers in float32."""
        return twister.drawn(self.place, np.float32, count)

    def doubles(self, count: int) -> Any:
        """Uniform numbers in float64."""
        return twister.drawn(self.place, np.float64, count)

    # -- numbers ---------------------------------------------------------------------------------

    def uniform(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """From 0 to 1, exclusive; a few at once, for to be quiet takes longer than to draw them."""
        if target.itemsize > 2 and math.prod(shape) < FEW:
            return twister.drawn(self.place, target.type, shape)
        return self.many_uniform(shape, target)

    @quietly
    def many_uniform(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """Uniform numbers of any dtype and shape; see `uniform`."""
        if target.itemsize > 2:
            return twister.drawn(self.place, target.type, shape)
        rounded = twister.drawn(self.place, np.float32, shape).astype(target)
        return np.where(rounded < 1, rounded, target.type(0))  # as PyTorch

    def normal(
        self,
        shape: tuple[int, ...],
        target: np.dtype[Any],
        in_runs: bool = True,
        mean: float = 0.0,
        std: float = 1.0,
    ) -> Any:
        """Normal numbers; `in_runs` says that what they fill is one block of memory."""
        paired = math.prod(shape) < RUN or not in_runs
        if paired and mean == 0 and std == 1 and target.itemsize > 2:
            return self.gaussians(shape, target)
        return self.many_normal(shape, target, paired, mean, std)

    @quietly
    def many_normal(
        self, shape: tuple[int, ...], target: np.dtype[Any], paired: bool, mean: float, std: float
    ) -> Any:
        """Normal numbers of any dtype and shape, in pairs or in runs; see `normal`."""
        count = math.prod(shape)
        if paired:
            return shifted_and_scaled(self.gaussians(shape), mean, std).astype(target, copy=False)
        draw = self.doubles if target.itemsize == 8 else self.singles
        over = count % RUN
        drawn = draw(count) if target.itemsize > 2 else np.pad(draw(count - over), (0, over))
        by_run(drawn[: count - over])
        if over:
            drawn[-RUN:] = by_run(draw(RUN))
        return shifted_and_scaled(drawn, mean, std).astype(target, copy=False).reshape(shape)

    def gaussians(self, shape: tuple[int, ...], target: Any = np.float64) -> Any:
        """Normal numbers drawn in pairs; one may be left from before, and for later."""
        if loops is not None:
            out = np.empty(shape, target)
            loops.draw_normal(self.place, self.kept, out)
            return out
        count = math.prod(shape)
        last, is_kept = self.kept.tolist()
        start = int(count > 0 and is_kept)
        drawn = np.append([last] * start, box_muller(self.doubles((count - start + 1) // 2 * 2)))
        if count:
            self.kept[:] = drawn[-1], len(drawn) > count
        return drawn[:count].reshape(shape).astype(target, copy=False)

    def exponential(self, shape: tuple[int, ...], precision: np.dtype[Any]) -> Any:
        """Exponential numbers: not negative, of density exp(-x)."""
        drawn = self.doubles(math.prod(shape)).reshape(shape)
        return (-np.log1p(-drawn)).astype(precision, copy=False)

    def bernoulli(self, p: float, shape: tuple[int, ...]) -> Any:
        """Booleans, true with probability `p`."""
        return twister.drawn(self.place, np.bool_, shape, p)

    def integers(self, low: int, high: int, shape: tuple[int, ...], kind: Any) -> Any:
        """Integers from `low` to `high`, exclusive."""
        count, values = math.prod(shape), high - low
        if values < LONG:
            drawn = (self.words(count) % np.uint32(values)).astype(np.uint64)
        elif values < 2**64:
            drawn = self.longs(count) % np.uint64(values)
        else:
            drawn = self.longs(count)
        drawn += np.uint64(low % 2**64)  # modulo 2**64
        return drawn.view(kind).reshape(shape)

    def rejected(self, name: str, *parameters: Any) -> Any:
        """Numbers of the distribution `name` for each element of parameters of one shape."""
        if loops is None:
            return rejection.drawn(name, self.next_double, self.next_normal, *parameters)
        return rejection.drawn_by_loops(self.place, self.kept, name, *parameters)

    def next_double(self) -> float:
        """One number of `doubles`."""
        return float(self.doubles(1)[0])

    def next_normal(self) -> float:
        """One number of `gaussians`."""
        return float(self.gaussians(()))

    def below(self, high: int, shape: tuple[int, ...], long: bool) -> Any:
        """Integers from 0 to `high`, exclusive."""
        count = math.prod(shape)
        drawn = self.longs(count) if long else self.words(count).astype(np.uint64)
        return (drawn % np.uint64(high)).reshape(shape)

    def permutation(self, count: int) -> Any:
        """The integers below `count`, in random order."""
        return twister.permuted(self.place, count)

    # -- the place in the stream -----------------------------------------------------------------

    def state(self) -> Any:
        """The place, as PyTorch's generators give it."""
        made, position = np.zeros((), STATE), self.place[-1]
        made["seed"], made["words"], made["seeded"] = self.seed, self.place[:-1], 1
        fresh = position == twister.WORDS
        made["left"], made["next"] = (1, 0) if fresh else (twister.WORDS + 1 - position, position)
        if self.kept[1]:
            made["kept"], made["keeps"] = self.kept
        return np.frombuffer(made.tobytes(), np.uint8).copy()

    @classmethod
    def at(cls, content: bytes) -> Twister:
        """The stream that has this state, as `state` gave it."""
        (given,) = np.frombuffer(content, STATE)
        left, position = int(given["left"]), int(given["next"])
        position = twister.WORDS if left == 1 else position
        if given["seeded"] != 1 or not 0 < left <= twister.WORDS or position > twister.WORDS:
            raise RuntimeError(f"the state of a generator is broken: it is at word {position}")
        place = np.append(given["words"], np.uint64(position)).astype(np.uint32)
        made = cls(int(given["seed"]), place)
        made.kept[:] = given["kept"], given["keeps"] & 1
        return made


def box_muller(uniform: Any) -> Any:
    """Normal numbers in pairs, cosines before sines, of pairs of uniform ones in float64."""
    first, second = uniform.reshape(-1, 2).T
    radius, angle = np.sqrt(-2 * np.log1p(-second)), 2 * np.pi * first
    return np.stack((radius * np.cos(angle), radius * np.sin(angle)), 1).reshape(-1)


@quick("by_run")
def by_run(uniform: Any) -> Any:
    """The Box-Muller transform of runs of uniform numbers, in place."""
    runs, half = uniform.reshape(-1, RUN), RUN // 2
    one = runs.dtype.type(1)
    radius = np.sqrt(-2 * np.log(one - runs[:, :half]))
    angle = runs.dtype.type(2 * np.pi) * runs[:, half:]
    np.multiply(radius, np.cos(angle), out=runs[:, :half])
    np.multiply(radius, np.sin(angle), out=runs[:, half:])
    return uniform


def shifted_and_scaled(standard: Any, mean: float, std: float) -> Any:
    """Standard normal numbers with another mean and spread, in place."""
    if std != 1:
        standard *= std
    if mean != 0:
        standard += mean
    return standard


class Pcg64:
    """NumPy's stream, which is quicker: the same numbers on every platform, not PyTorch's."""

    size = sum(PARTS.values())

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.bits = np.random.PCG64(seed)
        self.numpys = np.random.Generator(self.bits)

    @quietly
    def uniform(self, shape: tuple[int, ...], target: np.dtype[Any]) -> Any:
        """Uniform numbers from 0 to 1, exclusive."""
        if target.itemsize == 2:  # float32 would round to 1
            steps = 2**11 if target.kind == "f" else 2**8  # bfloat16 has fewer digits
            return np.asarray(self.numpys.integers(0, steps, shape) / steps).astype(target)
        return np.asarray(self.numpys.random(shape, target))

    @quietly
    def normal(
        self,
        shape: tuple[int, ...],
        target: np.dtype[Any],
        in_runs: bool = True,
        mean: float = 0.0,
        std: float = 1.0,
    ) -> Any:
        """Normal numbers."""
        precision = np.dtype(np.float32) if target.itemsize == 2 else target
        drawn = np.asarray(self.numpys.standard_normal(shape, precision))
        return shifted_and_scaled(drawn, mean, std).astype(target, copy=False)

    def exponential(self, shape: tuple[int, ...], precision: np.dtype[Any]) -> Any:
        """Exponential numbers: not negative, of density exp(-x)."""
        return self.numpys.standard_exponential(shape, precision)

    def bernoulli(self, p: float, shape: tuple[int, ...]) -> Any:
        """Booleans, true with probability `p`."""
        return self.numpys.random(shape) < p

    def integers(self, low: int, high: int, shape: tuple[int, ...], kind: Any) -> Any:
        """Integers from `low` to `high`, exclusive."""
        return self.numpys.integers(low, high, shape, kind)

    def rejected(self, name: str, *parameters: Any) -> Any:
        """Numbers of the distribution `name` for each element of parameters of one shape."""
        first, numpys = parameters[0], self.numpys
        if name == "poisson":
            return numpys.poisson(first)
        if name == "log_gamma":  # by the one of a + 1: small concentrations would underflow
            boost = np.log1p(-numpys.random(first.shape)) / first
            return boost + np.log(numpys.standard_gamma(first + 1))
        known = ~np.isnan(first + parameters[1])
        whole = np.where(known, np.clip(first, 0, 2.0**62), 0).astype(np.int64)
        chance = np.where(known, np.clip(parameters[1], 0, 1), 0)
        return np.where(known, numpys.binomial(whole, chance), np.nan)

    def below(self, high: int, shape: tuple[int, ...], long: bool) -> Any:
        """Integers from 0 to `high`, exclusive."""
        return self.numpys.integers(0, high, shape, np.uint64)

    def permutation(self, count: int) -> Any:
        """The integers below `count`, in random order."""
        return self.numpys.permutation(count)

    def state(self) -> Any:
        """The state of the stream, as bytes."""
        state: Any = self.bits.state
        values = {**state, **state["state"], "seed": self.seed}
        parts = [values[name].to_bytes(size, "little") for name, size in PARTS.items()]
        return np.frombuffer(b"".join(parts), np.uint8).copy()

    @classmethod
    def at(cls, content: bytes) -> Pcg64:
        """The stream that has this state, as `state` gave it."""
        values, start = {}, 0
        for name, size in PARTS.items():
            values[name] = int.from_bytes(content[start : start + size], "little")
            start += size
        made = cls(values.pop("seed"))
        inner = {name: values.pop(name) for name in ("state", "inc")}
        state: Any = {"bit_generator": "PCG64", "state": inner, **values}
        made.bits.state = state
        return made


STREAMS: dict[str, Any] = {"mt19937": Twister, "pcg64": Pcg64}

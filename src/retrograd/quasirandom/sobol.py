"""Low-discrepancy sequences, under the name of PyTorch's module. SciPy draws them."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from .. import dtypes
from ..engine.tensor import Tensor, new_tensor
from ..ops.random.generator import Generator, or_default

__all__ = ["SobolEngine"]

MISSING = (
    "SobolEngine needs SciPy, which is not installed here: it is `scipy.stats.qmc.Sobol`. Install "
    "it with: pip install retrograd[fast]"
)


class Words(np.random.RandomState):
    """The numbers of a generator of this package, as SciPy asks for them."""

    def __init__(self, source: Generator) -> None:
        super().__init__(0)  # which is asked for nothing
        self.source = source

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        """Integers below `low`: SciPy's scrambling draws bits, in PyTorch's order."""
        return self.source.integers(0, low, size).astype(dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Words:
        return self


def _sequence(dimension: int, scramble: bool, seed: int | None) -> Any:
    try:
        qmc = importlib.import_module("scipy.stats.qmc")
    except ImportError as error:
        raise ImportError(MISSING) from error
    source = or_default(None, "SobolEngine") if seed is None else Generator().manual_seed(seed)
    return qmc.Sobol(dimension, scramble=scramble, bits=SobolEngine.MAXBIT, seed=Words(source))


class SobolEngine:
    """Points of a Sobol sequence in the unit cube, which fill it more evenly than random ones.

    dimension: of the cube, 1 to 21201. With `scramble`, they are scrambled at random by a generator
    with `seed`, or by the default one. The points are PyTorch's. Raises ValueError
    for another dimension, ImportError without SciPy. Source: S. Joe and F. Y. Kuo, "Constructing
    Sobol sequences with better two-dimensional projections", 2008.

    >>> rg.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}], got "
                f"{dimension}"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        self._points = _sequence(dimension, scramble, seed)

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next `n` points, of shape (n, dimension), in the default dtype or `dtype`.

        With `out` they are written there, which is given their shape.

        >>> SobolEngine(1).draw(4).flatten().tolist()
        [0.0, 0.5, 0.75, 0.25]
        """
        target = dtypes.default_numpy() if dtype is None else dtype.numpy
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that n is no power of 2
            drawn: np.ndarray[Any, Any] = self._points.random(n)
        self.num_generated += n
        points = new_tensor(drawn.astype(target))
        return points if out is None else out.resize_as_(points).copy_(points)

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: dtypes.dtype | None = None
    ) -> Tensor:
        """The next 2**m points, which keep the balance of the sequence.

        Raises ValueError where as many points as there would then be are no power of 2.

        >>> SobolEngine(1).draw_base2(1).flatten().tolist()
        [0.0, 0.5]
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been drawn, so there would be {total}. To draw "
                f"them all the same: draw({n})"
            )
        return self.draw(n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begin the sequence again.

        >>> SobolEngine(1).fast_forward(3).reset().draw().item()
        0.0
        """
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next `n` points.

        >>> SobolEngine(1).fast_forward(2).draw().item()
        0.75
        """
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        shown = [f"dimension={self.dimension}"]
        if self.scramble:
            shown += ["scramble=True"]
        if self.seed is not None:
            shown += [f"seed={self.seed}"]
        return f"SobolEngine({', '.join(shown)})"

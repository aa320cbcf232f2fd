"""Random integers of any dtype that has them, and the ranges that dtypes hold.

It knows arrays and generators, no tensors.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...engine.trace import users_level
from ..core.pointwise import unsupported
from .generator import Generator


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

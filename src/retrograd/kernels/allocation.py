"""New arrays, made where the arrays that they are computed from live.

NOTE [The seam]
1. Forwards, formulas and kernels know arrays by NumPy's protocols alone: `__array_ufunc__`,
   `__array_function__` and ndarray's methods. So they run on whatever speaks these: an array on
   another device, one that records what is done with it, a subclass of NumPy's.
2. They never make a NumPy array or a Python number of data: no `np.asarray`, `np.array`, `tolist`,
   `item`, `float`. Memory comes from the functions here, or from NumPy's that have `like` in their
   name. Numbers may be NumPy's, and indices within `x[...]`; other constants come by `table`.
3. Arrays are written by a ufunc's `out=` or `at`, by `x[...] = v` and by `np.copyto`, nothing else.
4. Functions that NumPy lacks are SciPy's ufuncs, or loops of our own without SciPy. An array that
   has them itself says so by a method `special(name)`, with SciPy's name; it has good sums, too.
5. Public functions of tensors keep to it, too: what they make themselves, indices and masks and
   drawn numbers, they put beside an argument by `engine.tensor.placed`; and they leave out checks
   of values that cannot be seen (`known_true`). `tests/laws/test_foreign_arrays.py` runs them all.
6. `tests/laws/test_seam.py` runs every record on an array that has nothing but the protocols, and
   of these what CuPy has (`tests/data/cupy.json`): flags that tell the order alone, functions
   without `subok` and `initial`, ufuncs without `where`, `reduce` and `accumulate` of sums and
   products alone (`sums.reduced`). It lists the few records that need more.

NOTE [Stand-ins]
1. What this package has in place of NumPy's arrays derives from `StandIn`: arrays without data,
   over processes, of programs that are recorded, batches, layouts, arrays of classes that
   dispatch. `docs/design.md` lists them.
2. Code asks what an array can do, never which kind it is: `has_values(x)`, `has_memory(x)`,
   `is_batched(x)`, `has_class(x)`. A kind answers by the attribute of that name. NumPy's arrays,
   and those of other libraries, have the answers that stand in `StandIn`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import modes
from . import native

ndarray, new = np.ndarray, np.empty
LARGE = 1 << 18  # bytes of an array that several threads copy


def is_numpy(x: Any) -> bool:
    """Whether `x` is NumPy's own, whose memory and values Python may ask for."""
    return isinstance(x, (ndarray, np.generic))


def is_seen(x: Any) -> bool:
    """Whether code may ask for values of `x`: NumPy's own, or traced, which notes what is asked."""
    return is_numpy(x) or is_traced(x)


def is_traced(x: Any) -> bool:
    """Whether what is done with an array is noted: `capture.traced`."""
    return isinstance(x, StandIn) and bool(x.is_traced)


def has_special(x: Any) -> bool:
    """Whether an array has functions itself that NumPy lacks: rule 4 of NOTE [The seam]."""
    return x.__class__ is not ndarray and hasattr(x, "special")


MIXED_DEVICES = "Tensor on device cpu is not on the expected device meta! Move it: x.to('meta')"


def check_together(*arrays: Any) -> None:
    """Raise RuntimeError unless all arrays have values, or none has; single numbers fit to both."""
    if len({has_values(x) for x in arrays if x.ndim}) > 1:
        raise RuntimeError(MIXED_DEVICES)


class StandIn:
    """What stands for an array of NumPy's, and its answers: NOTE [Stand-ins]."""

    __slots__ = ()

    has_values: Any = True
    has_memory: Any = True
    is_batched: Any = False
    has_class: Any = False
    is_traced: Any = False


def has_values(x: Any) -> bool:
    """Whether an array has values, and not a shape alone, as on the meta device."""
    return x.__class__ is ndarray or not isinstance(x, StandIn) or x.has_values


def has_memory(x: Any) -> bool:
    """Whether NumPy's functions compute on an array, and write into it.

    Else it carries out ops itself, and is replaced where it is written: `engine.transforms`.
    """
    return x.__class__ is ndarray or not isinstance(x, StandIn) or x.has_memory


def is_batched(x: Any) -> bool:
    """Whether an array stands for those of many examples: NOTE [Batches] in `transforms.batch`."""
    return x.__class__ is not ndarray and isinstance(x, StandIn) and x.is_batched


def has_class(x: Any) -> bool:
    """Whether only tensors of a class of their own show an array, and formulas run on these."""
    return x.__class__ is not ndarray and isinstance(x, StandIn) and x.has_class


def known_true(condition: Any) -> bool:
    """Whether a single truth value is known to be true; one that is not NumPy's is not known.

    For shortcuts and checks that are right to be left out. An array that is traced notes it.
    """
    return is_seen(condition) and bool(condition)


def empty(like: Any, shape: Any, dtype: Any = None) -> Any:
    """An uninitialised row-major array; its dtype is that of `like` where none is given."""
    if like.__class__ is ndarray:  # the quickest way
        return new(shape, like.dtype if dtype is None else dtype)
    return beside(np.empty_like, like, shape, dtype)


def zeros(like: Any, shape: Any, dtype: Any = None) -> Any:
    """Zeros, for a NumPy array memory that the system gives as zeros: no pass over it."""
    if like.__class__ is ndarray:
        return np.zeros(shape, like.dtype if dtype is None else dtype)
    return beside(np.zeros_like, like, shape, dtype)


def fill_uninitialized(array: Any) -> Any:
    """`array`, to which nothing was written and which users see, filled if they want determinism.

    NaN, True or the largest integer then stand where values would be by chance.
    """
    if modes.determinism.enabled and modes.determinism.fill_uninitialized_memory:
        kind = array.dtype.kind
        array[...] = np.iinfo(array.dtype).max if kind in "iu" else kind == "b" or np.nan
    return array


def inward(shape: Any, *strides: Any) -> list[int]:
    """The axes from the innermost in memory to the outermost; one of stride 0 stays where it is.

    That is how PyTorch lays out a copy of what was expanded. Of several arrays of that shape the
    first decides, and the next only on axes of stride 0 in it, as in PyTorch's elementwise results.
    """
    axes = list(range(len(shape)))[::-1]
    for last in range(1, len(axes)):
        place = last
        for other in range(last)[::-1]:
            i, j = axes[other], axes[place]
            pairs = [(abs(each[i]), abs(each[j])) for each in strides if each[i] and each[j]]
            a, b = next((pair for pair in pairs if pair[0] != pair[1]), (shape[i], shape[j]))
            if pairs and a > b:
                axes[other], axes[place] = j, i
                place = other
            elif pairs and a < b:
                break
    return axes


def empty_beside(x: Any, dtype: Any = None) -> Any:
    """An uninitialised array in the layout of `x`, without the gaps and repetitions it may have."""
    if x.__class__ is not ndarray and is_traced(x) and 0 in x.strides:
        return x.recording.call(empty_beside, (x, dtype), {})
    if not is_numpy(x) or 0 not in x.strides:
        return np.empty_like(x, dtype)
    made = np.dtype(x.dtype if dtype is None else dtype)
    strides, step = [0] * x.ndim, made.itemsize
    for axis in inward(x.shape, x.strides):
        strides[axis] = step
        step *= max(x.shape[axis], 1)
    extent = made.itemsize
    for axis in reversed(range(x.ndim)):
        if x.shape[axis] == 1 and not x.strides[axis]:  # a new dimension, as PyTorch's views have
            strides[axis] = extent
        extent = strides[axis] * max(x.shape[axis], 1)
    return ndarray(x.shape, made, strides=strides)


def copied(x: Any) -> Any:
    """A copy in the same layout. Of a NumPy scalar it is an array."""
    out = empty_beside(x)
    if native.loops is not None and x.__class__ is ndarray and x.nbytes >= LARGE and x.flags.forc:
        native.loops.copy(out, x)
    else:
        out[...] = x
    return out


def table(like: Any, values: Any) -> Any:
    """A table of NumPy's, such as `np.arange` gives, beside `like`; not to be written."""
    return values if like.__class__ is ndarray else np.asarray(values, like=like)


def full(like: Any, shape: Any, value: Any, dtype: Any = None) -> Any:
    """An array of one value."""
    return beside(np.full_like, like, shape, dtype, value)


def beside(make: Any, like: Any, shape: Any, dtype: Any, *value: Any) -> Any:
    """What a function such as `np.empty_like` makes; CuPy's take a shape without sizes for none."""
    made = make(like, *value, dtype=dtype, order="C", shape=(1,) if shape == () else shape)
    return made.reshape(()) if shape == () else made

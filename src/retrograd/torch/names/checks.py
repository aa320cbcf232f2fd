"""Conditions that programs check before they go on: PyTorch's `torch._check` and its relatives.

They raise at once: Python runs the program, and nothing traces it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import version
from ...engine.tensor import Tensor


def _check_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise `error_type` with what `message()` gives where `cond` is False.

    Raises TypeError for a condition that is no bool, and a message that cannot be called.
    """
    if not isinstance(cond, bool):
        kind = type(cond)
        told = "a Tensor. For all of its elements: _check_tensor_all(cond)"
        raise TypeError(f"cond must be a bool, but got {told if kind is Tensor else kind}")
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False.")
    if not callable(message):
        raise TypeError("message must be a callable: lambda: text")
    raise error_type(str(message()))


def _checker(name: str, error_type: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Any = None) -> None:
        _check_with(error_type, cond, message)

    check.__name__ = check.__qualname__ = name
    check.__doc__ = f"""Raise {error_type.__name__} with what `message()` gives unless `cond` holds.

    >>> rg.{name}(True)
    """
    return check


_check = _checker("_check", RuntimeError)
_check_index = _checker("_check_index", IndexError)
_check_value = _checker("_check_value", ValueError)
_check_type = _checker("_check_type", TypeError)
_check_not_implemented = _checker("_check_not_implemented", NotImplementedError)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Any = None) -> None:
    """Raise `error_type` where an element of a tensor of booleans is False."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond._array.dtype != np.bool_:
        text = f"cond tensor must have dtype retrograd.bool, but got {cond.dtype}"
        raise TypeError(version.named(text))
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond: Any, message: Any = None) -> None:
    """`_check` for all elements of a tensor of booleans.

    >>> rg._check_tensor_all(rg.tensor([True, True]))
    """
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_is_size(i: Any, message: Any = None, *, max: Any = None) -> None:
    """Raise RuntimeError where a size is negative; deprecated in PyTorch, it warns."""
    warnings.warn("_check_is_size is deprecated. Use _check(i >= 0)", FutureWarning, stacklevel=2)
    _check(i >= 0 and (max is None or i <= max), message)


def _assert_async(input: Tensor, assert_msg: str = "") -> None:
    """Raise RuntimeError where a tensor with one element is zero; at once, for all runs at once.

    >>> rg._assert_async(rg.tensor(1))
    """
    if not input.is_nonzero():
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` may be written: both are of one layout and kind of device.

    >>> x = rg.ones(2)
    >>> rg._has_compatible_shallow_copy_type(x, x.double())
    True
    >>> rg._has_compatible_shallow_copy_type(x, x.to_sparse())
    False
    """
    return bool(input.layout == from_.layout and input.device.type == from_.device.type)

"""Python's containers and questions about classes, as HIPS autograd's programs ask for them.

Containers hold boxes as they hold anything; only questions differ: a box counts as an array.
"""

import builtins
from typing import Any

import numpy as np

from .boxes import ArrayBox

__all__ = ["dict", "isinstance", "list", "tuple", "type"]

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple


def isinstance(value: Any, kinds: Any) -> bool:
    """Whether a value is of a class, or of one among a tuple of them; a box is an array.

    >>> from retrograd.interop.autograd.builtins import isinstance
    >>> isinstance(np.ones(2), np.ndarray)
    True
    """
    if builtins.isinstance(value, ArrayBox):
        value = value._value
    return builtins.isinstance(value, kinds)


def type(value: Any) -> Any:
    """The class of a value; that of a box is NumPy's array.

    >>> from retrograd.interop.autograd.builtins import type
    >>> type([1.0]).__name__
    'list'
    """
    return np.ndarray if builtins.isinstance(value, ArrayBox) else builtins.type(value)

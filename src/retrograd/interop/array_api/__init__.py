"""The Python array API standard, version 2024.12: what `Tensor.__array_namespace__()` returns.

Names only. Where the standard and PyTorch agree, the functions are the package's own; the
differences are in the modules beside this one, whose functions say here where they are from, and
their examples what `xp` is. Everything is recorded.
"""

from math import e, inf, nan, pi

from . import creation, datatypes, elementwise, fft, linalg, manipulation, searching, statistics
from .creation import *
from .datatypes import *
from .elementwise import *
from .info import __array_namespace_info__
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import *
from .searching import *
from .statistics import *

__array_api_version__ = "2024.12"

newaxis = None

__all__ = [
    *creation.__all__, *datatypes.__all__, *elementwise.__all__, *manipulation.__all__,
    *searching.__all__, *statistics.__all__, "__array_api_version__", "__array_namespace_info__",
    "e", "fft", "inf", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "tensordot",
    "vecdot",
]  # fmt: skip

for module in (creation, datatypes, elementwise, fft, linalg, manipulation, searching, statistics):
    path = "fft." if module is fft else ""
    for name in module.__all__:
        found = vars(module)[name]
        if found.__doc__ and getattr(found, "__module__", "").startswith(__name__):
            text, _, example = found.__doc__.partition(">>> ")
            found.__doc__ = (
                f"{text}Source: the array API standard's `{path}{name}`.\n\n"
                f"    >>> from retrograd.interop import array_api as xp\n    >>> {example}"
            )

"""Activations as layers: each holds the settings of one function of `functional`.

What a function does with complex input, and its derivative at kinks, is said there. With `inplace`
a layer writes its result into its input, and returns that.
"""

from typing import TYPE_CHECKING

from . import piecewise, smooth, softmax
from .piecewise import *
from .smooth import *
from .softmax import *

if not TYPE_CHECKING:  # to type checkers, what a package imports by * is public
    __all__ = [*piecewise.__all__, *smooth.__all__, *softmax.__all__]

"""Pooling layers: maxima, means and norms over windows, sliding, adaptive or drawn.

One base class per kind; the classes of each dimension say only their function.
"""

from typing import TYPE_CHECKING

from . import adaptive, maxima, means
from .adaptive import *
from .adaptive import _AdaptiveAvgPoolNd, _AdaptiveMaxPoolNd
from .maxima import *
from .maxima import _MaxPoolNd, _MaxUnpoolNd
from .means import *
from .means import _AvgPoolNd, _LPPoolNd

if not TYPE_CHECKING:  # to type checkers, what a package imports by * is public
    __all__ = [*adaptive.__all__, *maxima.__all__, *means.__all__]

"""Declarations of operations and the public functions over them, a folder per family.

The families of `later` load when one of their names is asked for, or one of their methods
(`stubs`).
"""

import importlib.util
from types import ModuleType
from typing import Any

from ..engine import overriding
from . import stubs
from .compat import argument_orders, saved_names
from .core import structure
from .random import inplace
from .tensor import autograd_methods, operators, pickling
from .elementwise.arithmetic import *
from .elementwise.complex import *
from .elementwise.exp_log import *
from .elementwise.power import *
from .elementwise.trigonometry import *
from .elementwise.rounding import *
from .elementwise.comparison import *
from .elementwise.clamp_where import *
from .elementwise.logic import *
from .special.erf_gamma import *
from .shape.reshape import *
from .shape.permute import *
from .shape.expand import *
from .shape.basic_views import *
from .shape.split import *
from .reduction.sum_prod import *
from .reduction.scan import *
from .activation.softmax import *
from .reduction.extrema import *
from .reduction.arg_extrema import *
from .reduction.variance import *
from .reduction.vector_norm import *
from .indexing.index import *
from .shape.join import *
from .shape.rearrange import *
from .indexing.assign import *
from .indexing.scatter import *
from .indexing.masked_fill import *
from .shape.pad import *
from .sorting.sort import *
from .linalg.matmul import *
from .creation.from_data import *
from .creation.factories import *
from .creation.memory_format import *
from .creation.like import *
from .tensor.inspection import *
from .tensor.storage import *
from .tensor.conversion import *
from .random.factories import *
from .tensor.printing import *
from .activation.piecewise import celu, hardshrink, prelu, relu, rrelu, selu, sigmoid, threshold

operators.show_operators()
overriding.publish(globals(), "retrograd")

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value in (Any, ModuleType) or isinstance(value, ModuleType))
]


def __getattr__(name: str) -> Any:
    """A name of the families that load later.

    A module's name is none: `from . import name` asks here first, and then loads that module.
    """
    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is None:
        later = importlib.import_module(f"{__name__}.later")
        if name in later.__all__:
            return getattr(later, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Declarations of operations and the public functions over them, one family per file.

The families of `later` load when one of their names is asked for, or one of their methods
(`stubs`).
"""

import importlib.util
from types import ModuleType
from typing import Any

from ..engine import overriding
from . import (
    activation,
    along,
    copying,
    draw,
    history,
    operators,
    orders,
    saved_names,
    structure,
    stubs,
)
from .arithmetic import *
from .complex import *
from .elementwise import *
from .power import *
from .trigonometry import *
from .rounding import *
from .comparison import *
from .choice import *
from .logic import *
from .special import *
from .shape import *
from .permute import *
from .expand import *
from .region import *
from .split import *
from .reduce import *
from .cumulative import *
from .exponential import *
from .extrema import *
from .positions import *
from .statistics import *
from .index import *
from .join import *
from .arrange import *
from .assign import *
from .scatter import *
from .masks import *
from .pad import *
from .ordering import *
from .linalg import *
from .create import *
from .fill import *
from .formats import *
from .like import *
from .methods import *
from .storage import *
from .convert import *
from .random import *
from .printing import *
from .activation import celu, hardshrink, prelu, relu, rrelu, selu, sigmoid, threshold

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

"""Declarations of operations and the public functions over them, one family per file."""

from types import ModuleType

from . import (
    activation,
    along,
    classify,
    conv,
    copying,
    draw,
    dropout,
    embedding,
    fft,
    history,
    loss,
    normalization,
    pool,
    structure,
    unpool,
    windows,
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
from .statistics import *
from .index import *
from .join import *
from .arrange import *
from .assign import *
from .scatter import *
from .pad import *
from .ordering import *
from .linalg import *
from .contract import *
from .matrices import *
from .conv import *
from .pool import *
from .adaptive import *
from .create import *
from .fill import *
from .methods import *
from .convert import *
from .random import *
from .printing import *
from .activation import celu, hardshrink, prelu, relu, rrelu, selu, sigmoid, threshold

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value is ModuleType or isinstance(value, ModuleType))
]

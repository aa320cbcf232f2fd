"""Declarations of operations and the public functions over them, one family per file."""

from types import ModuleType

from . import (
    activation,
    along,
    classify,
    conv,
    copying,
    draw,
    eigen,
    fft,
    history,
    loss,
    normalization,
    norms,
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
from .incomplete import *
from .logarithmic import *
from .bessel import *
from .polynomials import *
from .digits import *
from .tapers import *
from .spectrogram import *
from .shape import *
from .permute import *
from .expand import *
from .region import *
from .split import *
from .copies import *
from .replace import *
from .reduce import *
from .cumulative import *
from .exponential import *
from .extrema import *
from .positions import *
from .statistics import *
from .covariance import *
from .index import *
from .join import *
from .arrange import *
from .assign import *
from .scatter import *
from .masks import *
from .segments import *
from .pad import *
from .ordering import *
from .lookup import *
from .bins import *
from .quantiles import *
from .gradient import *
from .linalg import *
from .contract import *
from .matrices import *
from .solve import *
from .determinant import *
from .cholesky import *
from .lu import *
from .orthogonal import *
from .conv import *
from .pool import *
from .adaptive import *
from .distance import *
from .indexed import *
from .native import *
from .recurrent import *
from .create import *
from .fill import *
from .layouts import *
from .methods import *
from .convert import *
from .dlpack import *
from .random import *
from .singular import *
from .pseudoinverse import *
from .matrix_functions import *
from .older_linalg import *
from .printing import *
from .activation import celu, hardshrink, prelu, relu, rrelu, selu, sigmoid, threshold

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value is ModuleType or isinstance(value, ModuleType))
]

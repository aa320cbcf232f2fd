"""The families that load when one of their names is first asked for: layers, decompositions, ...

They are more than half of the package, and a program needs few of them: so the import is quick.
"""

from types import ModuleType

from ..engine import overriding
from .adaptive import *
from .bessel import *
from .binomial import *
from .bins import *
from .cholesky import *
from .contract import *
from .conv import *
from .conv_transpose import *
from .copies import *
from .covariance import *
from .determinant import *
from .digits import *
from .distance import *
from .dlpack import *
from .elements import *
from .gradient import *
from .incomplete import *
from .indexed import *
from .inplace_names import *
from .layouts import *
from .lobpcg import *
from .logarithmic import *
from .lookup import *
from .lu import *
from .matrices import *
from .matrix_functions import *
from .native import *
from .native_kernels import *
from .old_methods import *
from .older import *
from .older_linalg import *
from .orthogonal import *
from .polynomials import *
from .pool import *
from .pseudoinverse import *
from .quantiles import *
from .recurrent import *
from .recurrent_layers import *
from .replace import *
from .segments import *
from .settings import *
from .singular import *
from .solve import *
from .spectrogram import *
from .tapers import *
from .tensor_types import *

overriding.publish(globals(), "retrograd")

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value is ModuleType or isinstance(value, ModuleType))
]

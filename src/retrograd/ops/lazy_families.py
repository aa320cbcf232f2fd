"""The families that load when one of their names is first asked for: layers, decompositions, ...

They are more than half of the package, and a program needs few of them: so the import is quick.
`torch.lazy_families` has those of PyTorch's world.
"""

from types import ModuleType

from ..engine import overriding
from . import lazy_loading, lazy_names
from .activation.piecewise import celu, hardshrink, prelu, relu, rrelu, selu, sigmoid, threshold
from .activation.softmax import *
from .creation import new
from .creation.like import *
from .creation.memory import *
from .creation.strided import *
from .elementwise.clamp_where import *
from .elementwise.comparison import *
from .elementwise.complex import *
from .elementwise.exp_log import *
from .elementwise.float_parts import *
from .elementwise.logic import *
from .elementwise.power import *
from .elementwise.rounding import *
from .elementwise.trigonometry import *
from .fft.stft import *
from .fft.window_functions import *
from .indexing import take_along
from .indexing.assign import *
from .indexing.elements import *
from .indexing.masked_fill import *
from .indexing.scatter import *
from .indexing.segment_reduce import *
from .linalg.cholesky import *
from .linalg.determinant import *
from .linalg.distance import *
from .linalg.einsum import *
from .linalg.lstsq import *
from .linalg.lu import *
from .linalg.matrix_functions import *
from .linalg.matrix_products import *
from .linalg.qr import *
from .linalg.solve import *
from .linalg.svd import *
from .nn.adaptive_pool import *
from .nn.conv import *
from .nn.pool import *
from .nn.pool_with_indices import *
from .nn.rnn_cells import *
from .nn.rnn_layers import *
from .random import inplace
from .random.factories import *
from .reduction.covariance import *
from .reduction.extrema import *
from .reduction.finite_difference import *
from .reduction.histogram import *
from .reduction.quantiles import *
from .reduction.scan import *
from .reduction.variance import *
from .reduction.vector_norm import *
from .shape.functional_scatter import *
from .shape.join import *
from .shape.pad import *
from .shape.rearrange import *
from .shape.split import *
from .shape.strided import *
from .sorting import complex_order
from .sorting.search import *
from .sorting.sort import *
from .special import beta_gamma
from .special.bessel import *
from .special.entropy import *
from .special.erf_gamma import *
from .special.incomplete_gamma import *
from .special.orthogonal_polynomials import *
from .tensor import pickling
from .tensor.conversion import *
from .tensor.dlpack import *
from .tensor.printing import *
from .tensor.sharing import *
from .tensor.storage import *
from .tensor.swap import *

for _family in lazy_names.METHODS:
    lazy_loading.attach(f"{__package__}.{_family}")
overriding.publish(globals(), "retrograd")

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value is ModuleType or isinstance(value, ModuleType))
]

"""The families of PyTorch's world that load when one of their names is first asked for.

`ops.lazy_families` has those of the engine.
"""

from types import ModuleType

from ..engine import overriding
from ..ops import lazy_loading
from ..ops.lazy_families import *
from . import lazy_names
from .layouts.nested import functions
from .layouts.sparse import methods
from .layouts.sparse.compressed import *
from .layouts.sparse.factories import *
from .layouts.sparse.functions import *
from .names.aten import *
from .names.aten_kernels import *
from .names.deprecated import *
from .names.deprecated_linalg import *
from .names.deprecated_methods import *
from .names.fake_quantize import *
from .names.flags import *
from .names.inplace_functions import *
from .names.lobpcg import *
from .names.tensor_types import *
from .names.view_copies import *

for _family in lazy_names.METHODS:
    lazy_loading.attach(f"{__package__}.{_family}")
overriding.publish(globals(), "retrograd", "torch")

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value is ModuleType or isinstance(value, ModuleType))
]

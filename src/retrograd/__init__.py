"""Retrograd: PyTorch's autograd, rebuilt in Python on NumPy.

>>> import retrograd as rg
>>> x = rg.tensor([1.0, 2.0], requires_grad=True)
>>> loss = (x * x).sum()
>>> loss.backward()                # d loss / dx is 2x
>>> x.grad
tensor([2., 4.])

`rg.viz.graph(loss)` draws the graph. Layers are in `rg.nn`, optimizers in `rg.optim`, derivatives
of functions in `rg.func`. `help(rg.nn.Linear)` says what one name does, and has an example. The
pages are in the folder `docs` of the sources: begin with `quickstart.md`. In a terminal,
`retrograd doctor` says what is active here.
"""

import numpy as _numpy  # first and from here: far down, CPython makes its stack anew in every call

from math import e, inf, nan, pi

from . import providers as _providers
from .locks import forget_orphans as _forget_orphans, load as _load

_forget_orphans()  # of an import that has failed

from . import autograd
from .ops import *
from .autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from . import dtypes as _dtypes
from .autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .dtypes import (
    complex64,
    complex128,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .dtypes import boolean as bool
from .dtypes import complex64 as cfloat
from .dtypes import complex128 as cdouble
from .dtypes import float16 as half
from .dtypes import float32 as float
from .dtypes import float64 as double
from .dtypes import int16 as short
from .dtypes import int32 as int
from .dtypes import int64 as long
from .engine.tensor import Size, Tensor, device
from . import interop
from .errors import OutOfMemoryError
from .version import __version__
from .modes import is_warn_always_enabled, set_warn_always

newaxis = None


# What loads when it is first asked for: the core imports quickly.
LATER = (
    *("capture", "compiler", "distributions", "fft", "func", "linalg", "nn", "optim"),
    *("quasirandom", "random", "return_types", "runtime", "serialization", "signal", "special"),
    *("tape", "testing", "utils", "viz", "wirtinger"),
)
FROM = {
    **dict.fromkeys(
        ("chalf", "complex32", "qint8", "qint32", "quint2x4", "quint4x2", "quint8"),
        "dtypes.placeholders",
    ),
    **dict.fromkeys(
        ("ForwardAccumulator", "GradientTape", "UnconnectedGradients", "custom_gradient"), "tape"
    ),
    **dict.fromkeys(("aot", "compile"), "capture"),
    **dict.fromkeys(("_sample_dirichlet", "_standard_gamma"), "distributions.samplers"),
    **dict.fromkeys(("load", "save"), "serialization"),
    "recompute_grad": "utils.checkpoint",
    "summary": "nn.summary",
    "vmap": "func",
}


_UNNAMED = {  # by `from retrograd import *`
    *("FROM", "LATER", *LATER),
    *(name for name, value in globals().items() if isinstance(value, type(_dtypes))),
}


def __getattr__(name):
    """Load what is asked for; say what a missing dtype needs."""
    if name in LATER:
        return _load(f"{__name__}.{name}")
    if name in FROM:
        return getattr(_load(f"{__name__}.{FROM[name]}"), name)
    if name in _dtypes.MISSING:
        return _dtypes.by_name(name)
    if name == "__all__":
        return [name for name in __dir__() if not name.startswith("_") and name not in _UNNAMED]
    lazy = _load(f"{__name__}.ops.lazy_loading")
    if not name.startswith("__") and lazy.family_of(name) is not None:
        globals()[name] = found = lazy.load(name)
        return found
    return _providers.attribute(__name__, name)


def __dir__():
    lazy = _load(f"{__name__}.ops.lazy_loading")
    return sorted({*globals(), *LATER, *lazy.names(), *FROM, *_providers.names(__name__)})

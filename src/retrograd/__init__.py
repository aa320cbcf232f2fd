"""Retrograd: PyTorch's autograd, rebuilt in Python on NumPy."""

from typing import TYPE_CHECKING

import numpy as _numpy  # first and from here: far down, CPython makes its stack anew in every call

from math import e, inf, nan, pi

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

if TYPE_CHECKING:
    from . import (
        __config__,
        accelerator,
        amp,
        backends,
        compiler,
        cpu,
        cuda,
        distributed,
        distributions,
        fft,
        func,
        futures,
        fx,
        jit,
    )
    from . import (
        library,
        linalg,
        masked,
        mps,
        multiprocessing,
        nested,
        nn,
        optim,
        overrides,
        profiler,
        quasirandom,
        serialization,
        signal,
        sparse,
        special,
    )
    from . import utils, vision, viz, wirtinger, xpu
    from ._higher_order_ops import cond, while_loop
    from .accelerator.modules import get_device_module
    from .alias.compiler import compile
    from .ops.later import *
    from .func import vmap
    from .library.tags import Tag
    from .nn.summary import summary
    from .serialization import load, save
    from .tape import ForwardAccumulator, GradientTape, UnconnectedGradients, custom_gradient
    from .utils.checkpoint import recompute_grad

newaxis = None


# What loads when it is first asked for: the core imports quickly.
LATER = (
    *("_C", "__config__", "_functorch", "_higher_order_ops", "accelerator", "amp", "backends"),
    *("compiler", "cpu", "cuda", "distributed", "distributions", "export", "fft", "func"),
    *("futures", "fx", "hub", "jit", "library", "linalg", "masked", "mps", "multiprocessing"),
    *("nested", "nn", "onnx", "optim", "overrides", "profiler", "quasirandom", "random"),
    *("return_types", "serialization", "signal", "sparse", "special", "tape", "testing", "types"),
    *("utils", "vision", "viz", "wirtinger", "xpu"),
)
_ELSEWHERE = {  # modules that PyTorch has under other names
    "_VF": "ops.compat.variable_functions",
    "_tensor_str": "alias.tensor_str",
    "_utils": "alias.utils",
    "_vmap_internals": "_functorch.vmap",
    "functional": "alias.functional",
    "storage": "ops.tensor.storage",
}
FROM = {
    **dict.fromkeys(("DisableTorchFunction", "DisableTorchFunctionSubclass"), "_C"),
    "StorageBase": "_C",
    **dict.fromkeys(("SymBool", "SymFloat"), "types"),
    "SymInt": "engine.placement",
    **dict.fromkeys(
        ("chalf", "complex32", "qint8", "qint32", "quint2x4", "quint4x2", "quint8"),
        "dtypes.unheld",
    ),
    **dict.fromkeys(("DeviceObjType", "TensorType", "Type"), "jit"),
    "Future": "futures",
    "ForwardAccumulator": "tape",
    "GradScaler": "amp",
    "GradientTape": "tape",
    "Tag": "library.tags",
    "PyTorchFileReader": "serialization.reader",
    "ScriptFunction": "jit",
    "ScriptModule": "jit",
    "UnconnectedGradients": "tape",
    "autocast": "amp",
    **dict.fromkeys(
        (
            "autocast_decrement_nesting",
            "autocast_increment_nesting",
            "clear_autocast_cache",
            "get_autocast_cpu_dtype",
            "get_autocast_dtype",
            "get_autocast_gpu_dtype",
            "is_autocast_cache_enabled",
            "is_autocast_cpu_enabled",
            "is_autocast_enabled",
            "set_autocast_cache_enabled",
            "set_autocast_cpu_dtype",
            "set_autocast_cpu_enabled",
            "set_autocast_dtype",
            "set_autocast_enabled",
        ),
        "amp.autocast_mode",
    ),
    "Stream": "cpu.streams",
    **dict.fromkeys(("compile", "_disable_dynamo"), "alias.compiler"),
    **dict.fromkeys(("cond", "while_loop"), "_higher_order_ops"),
    "custom_gradient": "tape",
    "get_device_module": "accelerator.modules",
    **dict.fromkeys(("_check", "_check_index", "_check_is_size"), "ops.compat.checks"),
    **dict.fromkeys(("_check_type", "_check_value", "_check_with"), "ops.compat.checks"),
    "_assert": "fx._symbolic_trace",
    "_amp_foreach_non_finite_check_and_unscale_": "amp.grad_scaler",
    "_amp_update_scale_": "amp.grad_scaler",
    "_assert_async": "ops.compat.checks",
    "_has_compatible_shallow_copy_type": "ops.compat.checks",
    "_check_not_implemented": "ops.compat.checks",
    "_check_tensor_all": "ops.compat.checks",
    "_check_tensor_all_with": "ops.compat.checks",
    "_sample_dirichlet": "distributions.samplers",
    "_standard_gamma": "distributions.samplers",
    **dict.fromkeys(
        (
            "_convert_indices_from_coo_to_csr",
            "_convert_indices_from_csr_to_coo",
            "_segment_reduce",
            "_shape_as_tensor",
            "_unique",
            "_unique2",
        ),
        "ops.compat.variable_functions",
    ),
    "_validate_sparse_compressed_tensor_args": "ops.sparse.compressed",
    "_validate_sparse_coo_tensor_args": "ops.sparse.factories",
    "load": "serialization",
    "recompute_grad": "utils.checkpoint",
    "save": "serialization",
    "summary": "nn.summary",
    "to_dlpack": "utils.dlpack",
    "vmap": "func",
}


_UNNAMED = {  # by `from retrograd import *`
    *("FROM", "LATER", "TYPE_CHECKING", *LATER),
    *(name for name, value in globals().items() if isinstance(value, type(_dtypes))),
}


def __getattr__(name):
    """Load what is asked for; say what a missing dtype needs."""
    if name in _ELSEWHERE:
        return _load(f"{__name__}.{_ELSEWHERE[name]}")
    if name in LATER:
        return _load(f"{__name__}.{name}")
    if name in FROM:
        return getattr(_load(f"{__name__}.{FROM[name]}"), name)
    if name.startswith("_foreach_"):
        return getattr(_load(f"{__name__}.ops.compat.foreach"), name)
    if name in _dtypes.MISSING:
        return _dtypes.by_name(name)
    if name == "__all__":
        return [name for name in __dir__() if not name.startswith("_") and name not in _UNNAMED]
    if not name.startswith("__"):
        stubs = _load(f"{__name__}.ops.stubs")
        if stubs.family_of(name) is not None:
            globals()[name] = found = stubs.load(name)
            return found
        why = _load(f"{__name__}.ops.compat.missing").reason(name)
        called = _load(f"{__name__}.version").called
        raise AttributeError(f"module {called!r} has no attribute {name!r}{why}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    stubs = _load(f"{__name__}.ops.stubs")
    return sorted({*globals(), *LATER, *stubs.names(), *FROM})

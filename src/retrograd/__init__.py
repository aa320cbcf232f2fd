"""Retrograd: PyTorch's autograd, rebuilt in Python on NumPy."""

import warnings

# NumPy warns where PyTorch is silent (overflow, division by zero). This silences those warnings
# where Retrograd's own code computes, and nowhere else; NumPy's settings stay as they are.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"retrograd\b")

from . import autograd
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
from .engine.tensor import Size, Tensor, device
from .ops import *  # noqa: F403
from .ops import fft

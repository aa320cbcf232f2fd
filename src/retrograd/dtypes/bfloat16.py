"""bfloat16, by the package ml_dtypes; `dtypes` loads this module when the dtype is first met."""

import ml_dtypes

from . import dtype

bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16)

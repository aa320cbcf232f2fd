"""Floating dtypes that NumPy lacks, by the package ml_dtypes; loaded when one is first met."""

import ml_dtypes

from . import NARROW, dtype

for _name in NARROW:
    dtype(_name, getattr(ml_dtypes, _name))

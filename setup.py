"""Builds the hot path in C where there is a compiler; all else is in `pyproject.toml`.

`RETROGRAD_NATIVE=0` leaves it out, as does an interpreter without its lock. The package then
computes the same, slower: NOTE [Native] in `src/native/module.c`.
"""

import os
import sysconfig
from glob import glob

import numpy
from setuptools import Extension, setup

native = Extension(
    "retrograd.engine._native",
    ["src/native/module.c"],
    depends=glob("src/native/*"),
    include_dirs=[numpy.get_include()],
    optional=True,  # without a compiler, the installation goes on
)
left_out = os.environ.get("RETROGRAD_NATIVE") == "0" or sysconfig.get_config_var("Py_GIL_DISABLED")

setup(ext_modules=[] if left_out else [native])

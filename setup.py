"""Builds what is in C where there is a compiler; all else is in `pyproject.toml`.

`RETROGRAD_NATIVE=0` leaves it out, as does an interpreter without its lock. The package then
computes the same, slower: NOTE [Native] in `src/native/module.c`.
"""

import os
import re
import sys
import sysconfig
import zlib
from glob import glob
from pathlib import Path

import numpy
from setuptools import Extension, setup

# What the extensions are built from, as `built_from` in `kernels/native/` expects it.
version = re.search('^__version__ = "(.*)"', Path("src/retrograd/version.py").read_text(), re.M)
sources = sorted(Path("src/native").glob("*.[ch]"))
sum_of_all = zlib.crc32(b"".join(path.read_bytes() for path in sources))


def extension(name, source, *flags):
    """A part in C; without a compiler, the installation goes on."""
    return Extension(
        f"retrograd.{name}",
        [f"src/native/{source}"],
        depends=glob("src/native/*"),
        define_macros=[("BUILT_FROM", f'"{version[1]} {sum_of_all:08x}"')],
        include_dirs=[numpy.get_include()],
        extra_compile_args=[] if sys.platform == "win32" else list(flags),
        optional=True,
    )


parts = [
    extension("engine._native", "module.c"),
    extension("kernels._loops", "loops.c", "-O3", "-pthread"),
]
left_out = os.environ.get("RETROGRAD_NATIVE") == "0" or sysconfig.get_config_var("Py_GIL_DISABLED")

setup(ext_modules=[] if left_out else parts)

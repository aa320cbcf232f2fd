"""Builds what is in C where there is a compiler; all else is in `pyproject.toml`.

`RETROGRAD_NATIVE=0` leaves it out, as does an interpreter without its lock. The package then
computes the same, slower: NOTE [Native] in `src/native/engine/module.c`.

NOTE [Builds that fail]
1. A part that cannot be built is left out, and the installation goes on. pip hides what a build
   says, so the reason is also kept beside the place of the part, where `retrograd doctor` reads it.
2. A wheel in which nothing is compiled fits every machine, and its name says so. To be made to
   fail where a part cannot be built, as releases are: `RETROGRAD_NATIVE=1`.
"""

import os
import re
import sys
import sysconfig
from importlib.util import source_hash
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# What the extensions are built from, as `built_from` in `kernels/native/` expects it.
version = re.search('^__version__ = "(.*)"', Path("src/retrograd/version.py").read_text(), re.M)
sources = sorted(Path("src/native").rglob("*.[ch]"), key=lambda path: (path.parent, path.name))
hash_of_all = source_hash(b"".join(path.read_bytes() for path in sources)).hex()


# What is left out is not wanted, or not to be had: NOTE [Builds that fail].
wanted = os.environ.get("RETROGRAD_NATIVE")
left_out = wanted == "0" or sysconfig.get_config_var("Py_GIL_DISABLED")
# What debuggers read is three quarters of the parts: for those who set flags of their own.
usual_flags = [] if "CFLAGS" in os.environ else ["-g0"]
FAILED = """
*** Retrograd: {name} could not be built, and is left out: {error}
*** Everything works, and is slower. It needs a C compiler and Python's headers.
"""


class Build(build_ext):
    """Builds what can be built; says what cannot, aloud and in a note."""

    def build_extension(self, ext):
        """Build one part, or say why not."""
        place, name = Path(self.get_ext_fullpath(ext.name)), ext.name.rpartition(".")[2]
        note = place.parent / f"{name}.failed"
        note.unlink(missing_ok=True)
        try:
            super().build_extension(ext)
        except Exception as error:
            if wanted == "1":
                raise
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{type(error).__name__}: {error}\n")
            print(FAILED.format(name=ext.name, error=error), file=sys.stderr)  # noqa: T201


class Wheel(bdist_wheel):
    """A wheel for every machine where nothing in it is compiled."""

    def run(self):
        """Build first, for the name depends on what came of it."""
        self.run_command("build")
        made = self.get_finalized_command("build_ext").get_outputs() if parts else ()
        if not any(map(os.path.exists, made)):
            self.root_is_pure = True
            self.distribution.ext_modules = None
        super().run()


def extension(name, source, *flags):
    """A part in C; a failure to build one that is `optional` is no error to setuptools."""
    return Extension(
        f"retrograd.{name}",
        [f"src/native/{source}"],
        depends=list(map(str, sources)),
        define_macros=[("BUILT_FROM", f'"{version[1]} {hash_of_all}"')],
        include_dirs=[numpy.get_include()],
        extra_compile_args=[] if sys.platform == "win32" else [*usual_flags, *flags],
        optional=wanted != "1",
    )


parts = [
    extension("engine._native", "engine/module.c"),
    extension("kernels._loops", "loops/loops.c", "-O3", "-pthread", "-fno-math-errno"),
]
setup(
    ext_modules=[] if left_out else parts,
    cmdclass={"build_ext": Build, "bdist_wheel": Wheel},
)

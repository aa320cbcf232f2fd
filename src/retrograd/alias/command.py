"""The command `retrograd`: runs a program of PyTorch's with this package, or says what it lacks.

retrograd run script.py [args]
retrograd run -m package [args]
retrograd check script.py folder ...
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from .check import check
from .finder import install

__all__ = ["main"]

USAGE = """usage: retrograd run script.py [args]    run a program; its torch is Retrograd
       retrograd run -m package [args]  the same for a module or package
       retrograd check path [path ...]  list what programs use of torch that is missing here
"""


def main(arguments: list[str] | None = None) -> int:
    """Run a command line, by default the program's own; the status for the shell.

    >>> from retrograd.alias.command import main
    >>> main(["check"])
    2
    """
    match sys.argv[1:] if arguments is None else arguments:
        case ["run", "-m", module, *rest]:
            start(module, [module, *rest], os.getcwd())
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["run", script, *rest] if not script.startswith("-"):
            start(script, [script, *rest], str(Path(script).resolve().parent))
            runpy.run_path(script, run_name="__main__")
        case ["check", first, *rest]:
            missing = list(check(map(Path, [first, *rest])))
            sys.stdout.writelines(f"{line}\n" for line in missing)
            return int(bool(missing))
        case _:
            sys.stderr.write(USAGE)
            return 2
    return 0


def start(program: str, arguments: list[str], folder: str) -> None:
    """Make the interpreter look as if it had been started with the program."""
    install()
    sys.argv[:] = arguments
    sys.path[0] = folder

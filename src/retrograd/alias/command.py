"""The command `retrograd`: runs a program of PyTorch's with this package, or says what it lacks.

`doctor` says what the installation computes with, and fails where a part of it is broken.

retrograd run script.py [args]
retrograd run -m package [args]
retrograd check script.py folder ...
retrograd doctor
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from ..__config__ import parts, show
from .check import check
from .finder import install

__all__ = ["main"]

USAGE = """usage: retrograd run script.py [args]    run a program; its torch is Retrograd
       retrograd run -m package [args]  the same for a module or package
       retrograd check path [path ...]  list what programs use of torch that is missing here
       retrograd doctor                 say what computes here, and what is missing or broken
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
        case ["doctor"]:
            return doctor()
        case _:
            sys.stderr.write(USAGE)
            return 2
    return 0


def doctor() -> int:
    """Print the parts of the installation and what to do about some; 1 where one is broken."""
    found = parts()
    sys.stdout.write(show() + "\n")
    for part in found:
        if part.advice:
            sys.stdout.write(f"\n{part.name}: {part.state}\n    {part.advice}\n")
    return int(any(part.broken for part in found))


def start(program: str, arguments: list[str], folder: str) -> None:
    """Make the interpreter look as if it had been started with the program."""
    install()
    sys.argv[:] = arguments
    sys.path[0] = folder

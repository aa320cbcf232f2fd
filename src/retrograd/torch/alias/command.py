"""The command `retrograd`: runs a program of PyTorch's with this package, or says what it lacks.

`doctor` says what the installation computes with, and fails where a part of it is broken. `graph`
runs a program and draws the graph of its last backward pass.

retrograd run script.py [args]
retrograd run -m package [args]
retrograd check script.py folder ...
retrograd doctor
retrograd graph script.py [picture.html]

What only one of the commands needs is loaded by it: `run` starts almost as fast as `import`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ...locks import load
from .finder import install

__all__ = ["main"]

USAGE = """usage: retrograd run script.py [args]    run a program; its torch is Retrograd
       retrograd run -m package [args]  the same for a module or package
       retrograd check path [path ...]  list what programs use of torch that is missing here
       retrograd doctor                 say what computes here, and what is missing or broken
       retrograd graph script.py [picture.html or .svg or .txt]
                                        draw the graph of a program's last backward pass
"""
NO_PASS = "{script} ran no backward pass, so there is no graph to draw\n"


def main(arguments: list[str] | None = None) -> int:
    """Run a command line, by default the program's own; the status for the shell.

    >>> from retrograd.torch.alias.command import main
    >>> main(["check"])
    2
    """
    match sys.argv[1:] if arguments is None else arguments:
        case ["run", "-m", module, *rest]:
            runpy = load("runpy")
            start([module, *rest], os.getcwd())
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["run", script, *rest] if not script.startswith("-"):
            run(script, rest)
        case ["check", first, *rest]:
            missing = list(load(".check", __package__).check([first, *rest]))
            sys.stdout.writelines(f"{line}\n" for line in missing)
            return int(bool(missing))
        case ["graph", script, *rest] if not script.startswith("-") and len(rest) < 2:
            stem = os.path.splitext(os.path.basename(script))[0]
            return draw(script, rest[0] if rest else f"{stem}.html")
        case ["doctor"]:
            return doctor()
        case _:
            sys.stderr.write(USAGE)
            return 2
    return 0


def doctor() -> int:
    """Print the parts of the installation and what to do about some; 1 where one is broken."""
    config = load("retrograd.torch.__config__")
    found = config.parts()
    sys.stdout.write(config.show() + "\n")
    for part in found:
        if part.advice:
            sys.stdout.write(f"\n{part.name}: {part.state}\n    {part.advice}\n")
    return int(any(part.broken for part in found))


def draw(script: str, picture: str) -> int:
    """Run a program, and save the picture of its last backward pass; 1 if there was none."""
    viz = load("retrograd.viz")
    with viz.recording() as seen:
        run(script, [])
    if seen.root is None:
        sys.stderr.write(NO_PASS.format(script=script))
        return 1
    sys.stdout.write(f"{viz.graph(seen.root).save(picture)}\n")
    return 0


def run(script: str, arguments: list[str]) -> None:
    """Run a file, or a folder or archive with a `__main__.py`, as the program."""
    runpy = load("runpy")  # before the program's folder is searched
    start([script, *arguments], os.path.dirname(os.path.realpath(script)))
    runpy.run_path(script, run_name="__main__")


class Folder(str):
    """The program's folder, first in `sys.path`: a process started afresh gets the alias with it.

    `multiprocessing` hands the path over before it imports the program there.
    """

    __slots__ = ()

    def __reduce__(self) -> Any:
        return aliased, (str(self),)


def aliased(folder: str) -> str:
    """The folder of a program, for which `torch` now means this package."""
    install()
    return folder


def start(arguments: list[str], folder: str) -> None:
    """Make the interpreter look as if it had been started with the program."""
    install()
    sys.argv[:] = arguments
    sys.path[0] = Folder(folder)

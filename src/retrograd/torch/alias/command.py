"""The command `retrograd`: runs a program of PyTorch's with this package, or says what it lacks.

`launch` runs it in several processes. `doctor` says what the installation computes with, and fails
where a part of it is broken. `graph` runs a program and draws the graph of its last backward pass.

retrograd run script.py [args]
retrograd run -m package [args]
retrograd launch -n 4 script.py [args]
retrograd check script.py folder ...
retrograd doctor
retrograd graph script.py [picture.html]

What only one of the commands needs is loaded by it: `run` starts almost as fast as `import`.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from ...errors import nearest
from ...locks import load
from .finder import install

__all__ = ["main"]

USAGE = """usage: retrograd run script.py [args]    run a program; its torch is Retrograd
       retrograd run -m package [args]  the same for a module or package
       retrograd launch -n 4 [options] script.py [args]
                                        run it in 4 processes, as ranks of one group
       retrograd check path [path ...]  list what programs use of torch that is missing here
       retrograd doctor                 say what computes here, and what is missing or broken
       retrograd graph script.py [picture.html or .svg or .txt]
                                        draw the graph of a program's last backward pass
"""
COMMANDS = ("run", "launch", "check", "doctor", "graph")
NO_PASS = "{script} ran no backward pass, so there is no graph to draw"


def main(arguments: list[str] | None = None) -> int:
    """Run a command line, by default the program's own; the status for the shell.

    >>> from retrograd.torch.alias.command import main
    >>> main(["check"])
    2
    """
    given = sys.argv[1:] if arguments is None else arguments
    match given:
        case ["run", "-m", module, *rest]:
            runpy = load("runpy")
            start([module, *rest], os.getcwd())
            if not is_there(module):
                return refuse(f"no module named {module}")
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["run", script, *rest] if not script.startswith("-"):
            return run(script, rest)
        case ["launch", *rest] if rest:
            install()
            load("torch.distributed.run").main(["--tee=3", *rest])
        case ["check", *paths] if paths:
            return check(paths)
        case ["graph", script, *rest] if not script.startswith("-") and len(rest) < 2:
            stem = os.path.splitext(os.path.basename(script))[0]
            return draw(script, rest[0] if rest else f"{stem}.html")
        case ["doctor"]:
            return doctor()
        case ["-h" | "--help" | "help", *_]:
            say(USAGE)
        case _:
            wrong = given[0] if given and given[0] not in COMMANDS else ""
            near = nearest(wrong, COMMANDS) if wrong else None
            hint = f". Did you mean: retrograd {near}?" if near else ""
            sys.stderr.write(USAGE)
            return refuse(f"no command {wrong!r}{hint}") if wrong else 2
    return 0


def say(text: str) -> None:
    """Write a result; to nobody, if the reader has gone, as `head` does."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def refuse(text: str) -> int:
    """Say in a line why a command does nothing; its status."""
    sys.stderr.write(f"retrograd: {text}\n")
    return 2


def is_there(module: str) -> bool:
    """Whether a module is found by its name."""
    try:
        return load("importlib.util").find_spec(module) is not None
    except ModuleNotFoundError as error:
        if f"{module}.".startswith(f"{error.name}."):
            return False
        raise


def check(paths: list[str]) -> int:
    """Print what is missing of PyTorch, and as errors what was read; 1 if something is missing."""
    if absent := [path for path in paths if not os.path.exists(path)]:
        return refuse(f"no such file: {absent[0]}")
    try:
        found = load(".check", __package__).survey(paths)
    except SyntaxError as error:
        return refuse(f"{error.filename}:{error.lineno}: this is no Python: {error.msg}")
    say("".join(f"{line}\n" for line in found.missing))
    sys.stderr.writelines(f"{line}\n" for line in found.summary())
    return int(bool(found.missing))


def doctor() -> int:
    """Print the parts of the installation and what to do about some; 1 where one is broken."""
    config = load("retrograd.torch.__config__")
    found = config.parts()
    lines = [f"{config.show()}\n"]
    for part in found:
        if part.advice:
            lines.append(f"\n{part.name}: {part.state}\n    {part.advice}\n")
    say("".join(lines))
    return int(any(part.broken for part in found))


def draw(script: str, picture: str) -> int:
    """Run a program, and save the picture of its last backward pass; 1 if there was none."""
    try:
        load("retrograd.viz.picture").savable(picture)  # before the program runs for hours
    except ValueError as error:
        return refuse(str(error))
    viz = load("retrograd.viz")
    with viz.recording() as seen:
        status = run(script, [])
    if status == 0 and seen.root is None:
        sys.stderr.write(f"{NO_PASS.format(script=script)}\n")
        return 1
    if status == 0:
        say(f"{viz.graph(seen.root).save(picture)}\n")
    return status


def run(script: str, arguments: list[str]) -> int:
    """Run a file, or a folder or archive with a `__main__.py`, as the program."""
    if not os.path.exists(script):
        return refuse(f"no such file: {script}")
    runpy = load("runpy")  # before the program's folder is searched
    start([script, *arguments], os.path.dirname(os.path.realpath(script)))
    runpy.run_path(script, run_name="__main__")
    return 0


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

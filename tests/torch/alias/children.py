"""Programs in processes that have imported one module and nothing more: children of one that has.

An import takes a second; a child has it at once. Where no process has children, each imports.
"""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# It reads from each line a program and the file for what that prints, and answers how it ended.
PARENT = """
import os, sys
import {module}
for line in sys.stdin:
    code, place = eval(line)
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    for number, where in ((0, os.devnull), (1, place), (2, place + "2")):
        os.dup2(os.open(where, os.O_RDWR | os.O_CREAT), number)
    break
else:
    sys.exit()
exec(code)
"""


@functools.cache
def parent(module: str) -> subprocess.Popen[str]:
    """The process whose children have imported a module; it ends with this one."""
    made = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(module=module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(made.communicate)
    return made


def printed(code: str, module: str = "retrograd.as_torch") -> str:
    """What a program prints that begins with the import of a module; it must not fail."""
    if not hasattr(os, "fork"):
        whole = [sys.executable, "-c", f"import {module}\n{code}"]
        return subprocess.run(whole, capture_output=True, text=True, check=True).stdout
    asked = parent(module)
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/1"
        print((code, place), file=asked.stdin, flush=True)
        status = asked.stdout.readline()
        assert status == "0\n", Path(f"{place}2").read_text()
        return Path(place).read_text()

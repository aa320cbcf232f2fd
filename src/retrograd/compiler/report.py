"""What runs as a kernel, and what does not: `explain`."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import door

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Explanation", "explain"]

MISSING = (
    "No kernels: llvmlite is not installed, RETROGRAD_COMPILE=0, or the processor has no fused "
    "multiply-add. NumPy computes everything. To have llvmlite: pip install retrograd[fast]"
)


class Call(NamedTuple):
    """One way in which a forward or a formula was called: by a kernel, or why not."""

    name: str
    shapes: str
    kernel: bool
    how: str
    program: str


class Explanation:
    """The calls that `explain` saw, each with how often; as text, a table and the programs."""

    def __init__(self, calls: Counter[Call]) -> None:
        self.calls = calls

    def __str__(self) -> str:
        if not door.AVAILABLE:
            return MISSING
        rows = [(f"{n}x", c.name, c.shapes, c.how) for c, n in self.calls.items()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
        lines = [
            "  ".join([*(part.ljust(n) for part, n in zip(row, widths, strict=False)), row[-1]])
            for row in rows
        ]
        programs = {c.program: c.name for c in self.calls if c.kernel and c.program}
        return "\n".join(lines + [f"\n{name}:\n{text}" for text, name in programs.items()])

    __repr__ = __str__


def explain(function: Callable[..., Any], *args: Any, **params: Any) -> Explanation:
    """Call `function(*args, **params)`, and say which forwards and formulas in it ran as kernels.

    Of each elementwise op and reduction, and of each of its formulas in a backward pass that the
    function runs: the shapes, and either how many calls of NumPy became one loop, and how much
    memory that reads and writes, or why NumPy computed. The programs of the kernels follow. Every
    other op is left out. Raises what the function raises.

    >>> x = rg.ones(100_000, requires_grad=True)
    >>> rg.compiler.explain(lambda: rg.nn.functional.silu(x).sum().backward()).calls.total()
    4
    """
    seen: Counter[Call] = Counter()

    def watch(opened: Any, operands: Any, names: Any, by_kernel: bool) -> None:
        if any(isinstance(x, np.ndarray) for x in operands):
            seen[described(opened, operands, names or (), by_kernel)] += 1

    before = door.change(watcher=watch)
    try:
        function(*args, **params)
    finally:
        door.change(**before)
    return Explanation(seen)


def described(opened: Any, operands: Any, names: Any, by_kernel: bool) -> Call:
    """The `Call` that says how a call was carried out: by a kernel, or why not."""
    arrays = [x for x in operands if isinstance(x, np.ndarray)]
    shapes = ", ".join(f"{x.dtype}{list(x.shape)}" for x in arrays)
    size = max((x.size for x in arrays), default=0)
    if size < door.setting.least:
        how = f"NumPy: {size} elements are less than {door.setting.least}"
        return Call(opened.__name__, shapes, False, how, "")
    kernels = importlib.import_module(".kernels", __package__)
    why, program, written = kernels.examined(opened.__wrapped__, names, operands)
    if not by_kernel:
        how = f"NumPy: {why or 'the elements are too few, or lie in no rows'}"
        return Call(opened.__name__, shapes, False, how, "")
    moved = sum(x.nbytes for x in arrays) + written
    calls = program.length
    how = f"kernel: {calls} call{'s' if calls > 1 else ''} of NumPy, {moved / 1e6:.1f} MB"
    return Call(opened.__name__, shapes, True, how, str(program))

"""Counts the floating-point operations of a program's products: `FlopCounterMode`.

NOTE [Operations]
1. Products of matrices, convolutions and attention are counted, an addition and a multiplication as
   two; all else is counted as nothing. Source: PyTorch's `torch.utils.flop_counter`.
2. A gradient of one operand takes as many as the product itself.
3. Counts stand under the names of this package's records, where PyTorch has those of its own; its
   fused attention counts as nothing on a CPU, and here as the two products that it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from ...engine.graph import target
from ...engine.transforms.watch import Watcher
from ...nn.module_stack import ModuleStack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...engine.graph import Node
    from ...engine.op import Op

__all__ = ["FlopCounterMode"]

BOTH = ("attention", "lstm_layer")  # records whose formula makes two products for each
SEEN = "_flops"  # where a node's dictionary has what its product took, and in which modules
WHOLE = "Global"
UNITS = ("", "K", "M", "G", "T", "P")


class FlopCounterMode(Watcher):
    """Within this context, operations are counted by the modules that run: NOTE [Operations].

    depth: down to which modules the table goes that is printed at the end, unless `display=False`.
    `mods` is not needed.

    >>> net = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.ReLU())
    >>> with FlopCounterMode(display=False) as counter:
    ...     net(rg.ones(2, 3)).sum().backward()
    >>> counter.get_total_flops(), counter.get_flop_counts()["Sequential.0"]
    (96, {'linear': 96})
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True) -> None:
        self.depth, self.display = depth, display
        self.modules = ModuleStack()
        self.flop_counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.latest = 0
        self.inside = False  # whether a formula runs, whose products are counted as its node's

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.modules.__enter__()
        super().__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self.modules.__exit__(*exc)
        if self.display:
            print(self.get_table())  # noqa: T201 (what the context is for)

    def compute(self, op: Op, arrays: Any, params: dict[str, Any], proceed: Any) -> Any:
        """Run a forward and count its operations."""
        results = proceed(arrays, params)
        self.latest = op.flops(results, *arrays, **params)
        if not self.inside:
            self.add(op.name, self.latest, self.modules.paths)
        return results

    def made(self, op: Op, inputs: Any, params: dict[str, Any], outputs: Sequence[Any]) -> None:
        """Leave what it took with the node, for its backward."""
        found = next((each._node for each in outputs if each._node is not None), None)
        if found is not None and self.latest:
            target(found)[0].__dict__[SEEN] = self.latest, self.modules.paths

    def differentiate(self, node: Node, g: Any, proceed: Callable[[], Any]) -> Any:
        """Run a node's formulas and count their operations."""
        self.inside, before = True, self.inside
        try:
            contributions = proceed()
        finally:
            self.inside = before
        flops, paths = node.__dict__.get(SEEN, (0, ()))
        if flops:
            made = sum(each is not None for each in contributions[:2])
            self.add(node.op.name, flops * (2 if node.op.name in BOTH else made), paths)
        return contributions

    def add(self, name: str, flops: int, paths: Sequence[str]) -> None:
        """Count for a record, in all modules that run."""
        if flops:
            for path in {WHOLE, *paths}:
                self.flop_counts[path][name] += flops

    def get_total_flops(self) -> int:
        """The count of all operations."""
        return self.flop_counts[WHOLE].total() if WHOLE in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """Counts by module and op; those of a module include the modules inside it."""
        return {path: dict(found) for path, found in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text, of modules down to `depth`."""
        deepest = self.depth if depth is None else depth
        total = self.get_total_flops()
        lines = [f"{'module':40}{'FLOP':>12}{'% total':>10}"]
        for path, found in sorted(self.flop_counts.items(), key=lambda each: each[0] != WHOLE):
            if path.count(".") <= deepest:
                lines.append(f"{path:40}{tidy(found.total()):>12}{found.total() / total:>10.2%}")
        return "\n".join(lines)


def tidy(count: int) -> str:
    """A number with a unit: "1.280K"."""
    place = min(max(len(str(count)) - 1, 0) // 3, len(UNITS) - 1)
    return f"{count / 1000**place:.3f}{UNITS[place]}"

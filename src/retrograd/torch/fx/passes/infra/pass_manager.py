"""Passes in an order that keeps to constraints, until none changes anything."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from .pass_base import PassResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...graph_module import GraphModule

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]


def pass_result_wrapper(fn: Callable[..., Any] | None) -> Callable[..., Any] | None:
    """A pass of a function that changes a module and may give none: it counts as changed then.

    >>> from retrograd.fx.passes.infra.pass_manager import pass_result_wrapper
    >>> run = pass_result_wrapper(lambda module: None)
    >>> run(rg.fx.symbolic_trace(lambda x: x)).modified
    True
    """
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(gm: GraphModule) -> PassResult:
        found = fn(gm)
        if isinstance(found, PassResult):
            return found
        return PassResult(gm if found is None else found, True)

    return wrapped


def this_before_that_pass_constraint(
    this: Callable[..., Any], that: Callable[..., Any]
) -> Callable[..., bool]:
    """The constraint that pass `this` comes before pass `that`."""

    def depends_on(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return a != that or b != this

    return depends_on


class PassManager:
    """Runs `passes` over a module, up to `steps` times, as long as one of them changes it.

    A constraint is a function of two passes, whether the first may come before the second. Checks,
    functions of the module, run at the start, and after each pass if `run_checks_after_each_pass`;
    `suppress_check_failures` is kept, and not read. Source: PyTorch's class.

    >>> from retrograd.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper
    >>> def tidy(module):
    ...     module.graph.eliminate_dead_code()
    >>> manager = PassManager([pass_result_wrapper(tidy)])
    >>> print(manager(rg.fx.symbolic_trace(lambda x: x + 1)).graph_module.code.strip())
    def forward(self, x):
        add = x + 1;  x = None
        return add
    """

    def __init__(
        self,
        passes: list[Callable[..., Any]] | None = None,
        constraints: list[Callable[..., bool]] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes, self.constraints = passes or [], constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., bool]) -> None:
        """Add a constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """Raise RuntimeError unless the order keeps to all constraints."""
        if self._validated:
            return
        for constraint in self.constraints:
            for place, first in enumerate(self.passes):
                for second in self.passes[place + 1 :]:
                    if not constraint(first, second):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {second} before {first} "
                            "but found it behind. Call solve_constraints()"
                        )
        self._validated = True

    def solve_constraints(self) -> None:
        """Bring the passes into an order that keeps to all constraints; RuntimeError for none."""
        left, found = [*self.passes], []
        while left:
            free = [
                each
                for each in left
                if all(rule(each, o) for rule in self.constraints for o in left if o is not each)
            ]
            if not free:
                raise RuntimeError(f"the constraints leave no order for the passes {left}")
            found.append(free[0])
            left.remove(free[0])
        self.passes, self._validated = found, True

    def add_checks(self, check: Callable[..., Any]) -> None:
        """Let `check`, a function of one module, run after each pass; TypeError for another."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self.check = check  # type: ignore[method-assign]

    def check(self, module: Any) -> None:
        """What runs as a check, unless `add_checks` gave another: nothing."""

    def __call__(self, module: Any) -> PassResult:
        """The module after all passes, and whether one changed it."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for place, run in enumerate(self.passes):
                result = self._ran(run, place, module)
                module, changed = result.graph_module, changed or result.modified
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)

    def _ran(self, run: Callable[..., Any], place: int, module: Any) -> PassResult:
        name, before = name_of(run), [name_of(each) for each in self.passes[:place]]
        try:
            result = run(module)
            if not isinstance(result, PassResult):
                raise TypeError(
                    f"The result of the pass {name} should be type PassResult, got "
                    f"{type(result).__name__}. Please wrap it with pass_result_wrapper()"
                )
            module = result.graph_module
        except Exception as error:
            raise Exception(  # PyTorch's type
                f"An error occurred when running the '{name}' pass after the following passes: "
                f"{before}"
            ) from error
        return result


def name_of(run: Callable[..., Any]) -> str:
    """What errors call a pass."""
    return run.__name__ if inspect.isfunction(run) else type(run).__name__

"""Runs passes over a module, in an order that constraints allow, and checks it between them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[..., Any]
Constraint = Callable[[Pass, Pass], bool]


def name_of(function: Pass) -> str:
    """What a pass is called in messages."""
    return getattr(function, "__name__", type(function).__name__)


def pass_result_wrapper(fn: Pass) -> Pass:
    """A pass that returns nothing as one that gives a PassResult, which says that it changed.

    >>> wrapped = rg.fx.passes.infra.pass_manager.pass_result_wrapper(lambda module: None)
    >>> wrapped(rg.fx.symbolic_trace(lambda x: x)).modified
    True
    """

    def call(module: Any) -> PassResult:
        found = fn(module)
        if isinstance(found, PassResult):
            return found
        return PassResult(module if found is None else found, True)

    if inspect.isfunction(fn):
        return functools.wraps(fn)(call)
    call.__name__ = name_of(fn)
    return call


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """The constraint that one pass runs before another."""
    return lambda first, second: not (first == that and second == this)


def _validate_pass_schedule_constraint(constraint: Constraint, passes: list[Pass]) -> None:
    for i, first in enumerate(passes):
        for j in range(i + 1, len(passes)):
            if not constraint(first, passes[j]):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {passes[j]} before {first} but "
                    f"found {first} at index {i} and {passes[j]} at index {j} in pass list. Call "
                    "solve_constraints()"
                )


def _topological_sort_passes(passes: list[Pass], constraints: list[Constraint]) -> list[Pass]:
    """The passes in an order that constraints allow, those that are free first in their own."""
    later: list[list[int]] = [[] for _ in passes]  # by pass: those that have to come after it
    waits = [0] * len(passes)
    for i, first in enumerate(passes):
        for j, second in enumerate(passes):
            if i != j and not all(allows(first, second) for allows in constraints):
                later[j].append(i)
                waits[i] += 1
    free = [i for i, count in enumerate(waits) if not count]
    order: list[int] = []
    while free:
        order.append(free.pop(0))
        for i in later[order[-1]]:
            waits[i] -= 1
            if not waits[i]:
                free.append(i)
    left = [each for each, count in zip(passes, waits, strict=True) if count]
    if left:
        raise RuntimeError(f"Circular dependency detected within the following passes: {left}")
    return [passes[i] for i in order]


class PassManager:
    """Runs passes in turn over a module, `steps` times or until none changes it.

    passes: functions of a GraphModule that give a PassResult; constraints: functions of two passes,
    whether the first may come before the second; run_checks_after_each_pass: whether what
    `add_checks` was given runs after each, not only at the end; suppress_check_failures: taken,
    without effect, as in PyTorch. A pass that fails raises an Exception that names it and those
    before it.

    >>> infra = rg.fx.passes.infra
    >>> manager = infra.pass_manager.PassManager()
    >>> manager.add_pass(infra.pass_manager.pass_result_wrapper(lambda module: None))
    >>> manager(rg.fx.symbolic_trace(lambda x: x + 1)).graph_module(2)
    3
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes: list[Pass] = passes or []
        self.constraints: list[Constraint] = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self._checks: list[Callable[[Any], Any]] = []
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Let a pass run, too, after the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Let the order follow a constraint, too."""
        self.constraints.append(constraint)
        self._validated = False

    def add_checks(self, check: Callable[[Any], Any]) -> None:
        """Let a function of the module raise where it is not right; TypeError for other ones."""
        parameters = list(inspect.signature(check).parameters.values())
        if len(parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        self._checks.append(check)

    def validate_constraints(self) -> None:
        """Raise RuntimeError unless the order of the passes follows the constraints."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes into an order that follows the constraints; RuntimeError for none."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def check(self, module: Any) -> None:
        """Run the checks."""
        for each in self._checks:
            each(module)

    def __call__(self, module: Any) -> PassResult:
        """Run the passes over a module."""
        if not self._validated:
            self.solve_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for i in range(len(self.passes)):
                found = self._run(i, module)
                module, changed = found.graph_module, changed or found.modified
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            self.check(module)
            if not changed:
                break
        return PassResult(module, modified)

    def _run(self, number: int, module: Any) -> PassResult:
        """What a pass gives for a module."""
        try:
            found = self.passes[number](module)
            if not isinstance(found, PassResult):
                raise TypeError(
                    f"The result of the pass {name_of(self.passes[number])} should be of type "
                    f"PassResult, but is {type(found).__name__}. Wrap it: pass_result_wrapper(pass)"
                )
            found.graph_module.recompile()
        except Exception as error:
            before = [name_of(each) for each in self.passes[:number]]
            raise Exception(
                f"An error occurred when running the '{name_of(self.passes[number])}' pass after "
                f"the following passes: {before}"
            ) from error
        return found

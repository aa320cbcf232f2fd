"""Passes in turn: orders, checks, steps, failures."""

from __future__ import annotations

import operator

import pytest

import retrograd as rg
from retrograd import fx
from retrograd.fx.passes.infra.pass_base import PassBase, PassResult
from retrograd.fx.passes.infra.pass_manager import (
    PassManager,
    pass_result_wrapper,
    this_before_that_pass_constraint,
)


def swapped(old, new):
    """A pass that has one operator in place of another."""

    def run(module):
        found = module.graph.find_nodes(op="call_function", target=old)
        for node in found:
            node.target = new
        return PassResult(module, bool(found))

    return run


class Negated(PassBase):
    """A pass with checks around it."""

    def __init__(self):
        self.seen = []

    def requires(self, graph_module):
        self.seen.append("requires")

    def ensures(self, graph_module):
        self.seen.append("ensures")

    def call(self, graph_module):
        self.seen.append("call")
        return swapped(operator.add, operator.sub)(graph_module)


def module():
    return fx.symbolic_trace(lambda x, y: x + y)


def test_passes_run_in_turn_until_none_changes_anything():
    times = []
    count = pass_result_wrapper(lambda each: times.append(each))
    one = Negated()
    found = PassManager([one, swapped(operator.sub, operator.mul)], steps=5)(module())
    assert found.modified
    assert found.graph_module(3, 4) == 12
    assert one.seen == ["requires", "call", "ensures"] * 2
    PassManager([count], steps=3)(module())
    assert len(times) == 3


def test_an_order_is_found_that_constraints_allow():
    first, second = swapped(operator.add, operator.sub), swapped(operator.sub, operator.mul)
    manager = PassManager([second, first])
    manager.add_constraint(this_before_that_pass_constraint(first, second))
    with pytest.raises(RuntimeError, match="pass schedule constraint violated"):
        manager.validate_constraints()
    assert manager(module()).graph_module(3, 4) == 12
    assert manager.passes == [first, second]
    manager.add_constraint(this_before_that_pass_constraint(second, first))
    with pytest.raises(RuntimeError, match="Circular dependency detected"):
        manager.solve_constraints()


def test_checks_run_at_the_end_or_after_each_pass():
    def no_products(each):
        if each.graph.find_nodes(op="call_function", target=operator.mul):
            raise ValueError("a product")

    passes = [swapped(operator.add, operator.mul), swapped(operator.mul, operator.sub)]
    manager = PassManager(passes)
    manager.add_checks(no_products)
    assert manager(module()).graph_module(3, 4) == -1
    manager = PassManager(passes, run_checks_after_each_pass=True)
    manager.add_checks(no_products)
    with pytest.raises(ValueError, match="a product"):
        manager(module())
    with pytest.raises(TypeError, match="only take in one variable"):
        manager.add_checks(lambda a, b: None)


@pytest.mark.parametrize("fault", [lambda each: 1 / 0, lambda each: None])
def test_a_pass_that_fails_is_named_with_those_before_it(fault):
    manager = PassManager(
        [Negated(), pass_result_wrapper(fx.GraphModule.delete_all_unused_submodules), fault]
    )
    with pytest.raises(Exception, match=r"'<lambda>' pass after .*'Negated', 'delete_all") as found:
        manager(module())
    assert isinstance(found.value.__cause__, (ZeroDivisionError, TypeError))


def test_a_wrapped_pass_may_give_another_module():
    other = fx.symbolic_trace(lambda x, y: x)
    found = PassManager([pass_result_wrapper(lambda each: other)])(module())
    assert found.graph_module is other
    assert rg.equal(found.graph_module(rg.ones(1), 2), rg.ones(1))

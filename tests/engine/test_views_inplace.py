"""Views and in-place writes: random programs against PyTorch's results, and each rule by name."""

from __future__ import annotations

import gc
import importlib.util
import json
import math
import weakref
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.engine.graph import tick
from retrograd.errors import VersionError

DATA = Path(__file__).parent.parent / "data"
spec = importlib.util.spec_from_file_location("programs", DATA / "make_views_inplace.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
PROGRAMS = json.loads((DATA / "views_inplace.json").read_text())


def leaf(*values):
    return rg.tensor(values, dtype=rg.float64, requires_grad=True)


def values(t):
    return t.detach().tolist()


def agree(found, expected):
    """Whether two results are the same; errors need not be of the same kind.

    References carry 8 digits; the programs are a dozen elementwise steps in float64.
    """
    if isinstance(found, str) or isinstance(expected, str):
        return found in programs.ERRORS and isinstance(expected, str)
    *first, second = zip(found, expected, strict=True)
    if "none" in second:  # a gradient without history is a gradient of zero to PyTorch, or reverse
        return set(second) <= {"none", 0.0} and agree_to(first)
    if any(isinstance(value, str) for value in second):
        return agree(*second) and agree_to(first)
    return agree_to([*first, second])


def agree_to(pairs):
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for a, b in pairs)


@pytest.mark.parametrize("start", range(0, len(PROGRAMS), 100))
def test_random_programs_give_pytorchs_values_and_gradients(start):
    wrong = {}
    for seed, program, expected in PROGRAMS[start : start + 100]:
        found = programs.run(rg, program)
        if not agree(found, expected):
            wrong[seed] = (found, expected)
    assert wrong == {}


def test_the_programs_are_many_and_of_every_kind():
    kinds = [result if isinstance(result, str) else "fine" for _, _, result in PROGRAMS]
    assert len(kinds) >= 2000
    assert kinds.count("fine") >= 1800
    assert {"view of a leaf", "leaf", "written", "multi", "no_grad"} <= set(kinds)


# -- what is freed -----------------------------------------------------------------------------


def test_dropping_everything_frees_all_arrays_after_writes_to_views():
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0, 2.0], [3.0, 4.0])
        base = x * 2
        first, column = base[0], base.t()[1]
        first.mul_(column)
        base[1] = x[0].sin()
        column.exp_()
        loss = (base * base.reshape(4)[:2]).sum()
        loss.backward(retain_graph=True)
        refs = [weakref.ref(t) for t in (x, base, first, column, loss)]
        refs += [weakref.ref(t.grad_fn) for t in (base, first, column, loss)]
        refs += [weakref.ref(t._array) for t in (x, base, first, column, loss)]
        del x, base, first, column, loss
        assert [ref() for ref in refs] == [None] * len(refs)
    finally:
        gc.enable()


def test_dropping_a_base_leaves_its_views_usable():
    x = leaf(1.0, 2.0, 3.0)
    view = (x * 2)[1:]
    view.mul_(3)
    view.sum().backward()
    assert values(x.grad) == [0.0, 6.0, 6.0]


def test_dead_views_are_swept_from_their_base():
    base = rg.zeros(4)
    for _ in range(1000):
        base[1:]
    assert len(base._views) <= 32


# -- what a write does to the others -----------------------------------------------------------


def test_writing_a_view_changes_the_history_of_base_and_siblings():
    x = leaf(1.0, 2.0, 3.0)
    base = x * 1
    head, tail = base[:2], base[1:]
    head.mul_(10)
    assert values(base) == [10.0, 20.0, 3.0]
    (tail * rg.tensor([1.0, 100.0], dtype=rg.float64)).sum().backward()
    assert values(x.grad) == [0.0, 10.0, 100.0]


def test_writing_a_constant_base_with_a_tracked_value_makes_it_tracked():
    x, base = leaf(1.0, 2.0), rg.zeros(2, 2, dtype=rg.float64)
    view = base[0]
    base.t()[:, 1] = x
    assert base.requires_grad
    assert view.requires_grad
    (base * 3).sum().backward()
    assert values(x.grad) == [3.0, 3.0]


def test_a_written_value_that_was_saved_raises_through_any_view():
    x = leaf(1.0, 2.0)
    base = x * 1
    out = (base * base).sum()
    base[0].zero_()
    with pytest.raises(VersionError, match=r"modified by an inplace operation.*zero_"):
        out.backward()


def test_an_output_saved_by_an_in_place_op_is_watched_after_views_are_replayed():
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    base.exp_()
    base.mul_(2)
    with pytest.raises(VersionError, match="modified by an inplace operation"):
        base.sum().backward()
    assert view.requires_grad


def test_a_write_after_the_value_was_read_for_the_last_time_is_fine():
    x = leaf(1.0, 2.0)
    base = x * 1
    base.exp_()
    base.add_(1)
    with pytest.raises(
        VersionError, match="output 0 of Exp, is at version 2; expected version 1 instead"
    ):
        base.sum().backward()
    base = x * 1
    base.add_(1)
    base.exp_()
    base.sum().backward()
    np.testing.assert_allclose(x.grad._array, np.exp([2.0, 3.0]), rtol=1e-15)


def test_an_operand_in_the_same_memory_is_read_before_the_write():
    x = leaf(2.0, 3.0)
    base = x * 1
    base[0].mul_(base[1])
    base.mul_(base)
    base.sum().backward()  # (x0 x1)^2 + x1^2
    assert values(x.grad) == [2 * 6 * 3.0, 2 * 6 * 2.0 + 6.0]


def test_a_view_that_only_column_major_memory_allows_is_written():
    x = leaf([1.0, 2.0], [3.0, 4.0])
    base = x.t() * 1  # NumPy keeps the order of its operand
    assert not base.is_contiguous()
    line = base.t().view(4)
    line[1:3] = line[1:3] * 10
    (base * rg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=rg.float64)).sum().backward()
    assert values(base) == [[1.0, 30.0], [20.0, 4.0]]
    assert values(x.grad) == [[1.0, 30.0], [20.0, 4.0]]


def test_second_derivatives_pass_through_writes_to_views():
    x = leaf(2.0, 3.0)
    base = x * x
    base[0].mul_(x[1])  # x0^2 x1
    (g,) = rg.autograd.grad(base[0], x, create_graph=True)
    (h,) = rg.autograd.grad(g[0], x)  # 2 x0 x1
    assert values(g) == [12.0, 4.0]
    assert values(h) == [6.0, 4.0]


def test_complex_views_are_written_in_place():
    z = rg.tensor([1 + 2j, 3 - 1j], dtype=rg.complex128, requires_grad=True)
    base = z * 1
    base[1:].mul_(2j)
    (base * base.conj()).real.sum().backward()
    np.testing.assert_allclose(z.grad._array, [2 + 4j, 24 - 8j], rtol=1e-15)


def test_in_place_functions_composed_of_views_keep_what_they_saved():
    x = leaf([1.0, 2.0], [3.0, 4.0])
    base = x * 1
    base.put_(rg.tensor([3]), rg.tensor([9.0], dtype=rg.float64))
    base.sum().backward()
    assert values(x.grad) == [[1.0, 1.0], [1.0, 0.0]]


def test_a_tensor_that_was_turned_still_shares_its_history_with_its_views():
    x = leaf([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    base = x * 1
    row = base[0]
    base.t_()
    row.mul_(10)
    assert values(base) == [[10.0, 4.0], [20.0, 5.0], [30.0, 6.0]]
    base[2].mul_(2)
    base.unsqueeze_(0).squeeze_().transpose_(0, 1)
    (row * rg.tensor([1.0, 2.0, 3.0], dtype=rg.float64)).sum().backward(retain_graph=True)
    assert values(x.grad) == [[10.0, 20.0, 60.0], [0.0, 0.0, 0.0]]
    x.grad = None
    base.sum().backward()
    assert values(x.grad) == [[10.0, 10.0, 20.0], [1.0, 1.0, 2.0]]


def test_a_view_that_was_turned_can_still_be_written():
    x = leaf([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    base = x * 1
    view = base[:, 1:]
    view.t_()[0] = 7.0
    assert values(base) == [[1.0, 7.0, 3.0], [4.0, 7.0, 6.0]]
    base.sum().backward()
    assert values(x.grad) == [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]]


def test_a_view_that_was_turned_follows_later_writes_to_its_base():
    x = leaf([1.0, 2.0], [3.0, 4.0])
    base = x * 1
    view = base[:1]
    view.t_()
    base.mul_(3)
    assert values(view) == [[3.0], [6.0]]
    view.sum().backward()
    assert values(x.grad) == [[3.0, 3.0], [0.0, 0.0]]


def test_a_long_chain_of_views_of_memory_with_gaps_follows_its_base():
    base = rg.from_numpy(np.arange(24.0).reshape(4, 6)[:, ::2])
    view, w = base, rg.tensor(3.0, dtype=rg.float64, requires_grad=True)
    for _ in range(9):
        view = view.t()[:]
    base.mul_(w)
    assert values(view[0]) == [0.0, 18.0, 36.0, 54.0]
    assert rg.autograd.grad(view[0].sum(), w)[0].item() == 36.0


def test_a_leaf_may_be_turned_only_under_no_grad():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.t_()
    with rg.no_grad():
        x.t_()
    (x * 2).sum().backward()
    assert x.grad.shape == (2, 1)


# -- the rules ---------------------------------------------------------------------------------


def test_a_leaf_that_requires_grad_must_not_be_written():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
        x.mul_(2)
    assert values(x) == [1.0, 2.0]
    assert x._version == 0


@pytest.mark.parametrize("write", [lambda x: x[0].mul_(2), lambda x: x.__setitem__(0, 1.0)])
def test_a_view_of_a_leaf_must_not_be_written(write):
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        write(x)
    assert values(x) == [1.0, 2.0]


def test_a_leaf_may_be_written_under_no_grad():
    x = leaf(1.0, 2.0)
    with rg.no_grad():
        x[0] = 5.0
        x.mul_(2)
    assert values(x) == [10.0, 4.0]
    assert x.is_leaf
    assert x.requires_grad


@pytest.mark.parametrize("cut", [lambda b: b.unbind()[0], lambda b: b.split(1)[0],
                                 lambda b: b.chunk(2)[0]])  # fmt: skip
def test_one_of_several_views_must_not_be_written(cut):
    view = cut(leaf([1.0, 2.0], [3.0, 4.0]) * 2)
    with pytest.raises(
        RuntimeError, match="is the output of a function that returns multiple views"
    ):
        view.add_(1)


def test_one_of_several_views_may_be_written_where_no_gradient_is_wanted():
    base = rg.zeros(2, 2)
    for row in base.unbind():
        row.add_(1)
    assert values(base) == [[1.0, 1.0], [1.0, 1.0]]


def test_one_of_several_views_must_not_be_used_once_its_base_was_written():
    base = leaf([1.0, 2.0], [3.0, 4.0]) * 2
    row = base.unbind()[0]
    base.mul_(2)
    with pytest.raises(
        RuntimeError, match="its base or another view of its base has been modified"
    ):
        row.grad_fn
    with pytest.raises(RuntimeError, match="multiple views"):
        row.reshape(2, 1)
    with pytest.raises(RuntimeError, match="multiple views"):
        (row * 2).sum().backward()
    assert values(row) == [4.0, 8.0]
    assert row.detach().requires_grad is False


def test_a_view_made_under_no_grad_must_not_be_written_with_grad():
    base = leaf(1.0, 2.0) * 2
    with rg.no_grad():
        view = base[0]
    with pytest.raises(
        RuntimeError, match=r"created in no_grad mode and is being modified inplace"
    ):
        view.mul_(2)


def test_view_and_write_may_both_be_under_no_grad():
    x = leaf(1.0, 2.0)
    with rg.no_grad():
        x[0].mul_(7)
    (x * x).sum().backward()
    assert values(x.grad) == [14.0, 4.0]


def test_expanded_memory_must_not_be_written():
    base = rg.zeros(2)
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        base.expand(3, 2).add_(1)
    base.expand(3, 2)[0].add_(1)
    assert values(base) == [1.0, 1.0]


def test_a_result_of_another_shape_or_kind_is_refused_and_nothing_changes():
    x = leaf(1.0, 2.0)
    base = x * 1
    history = base.grad_fn
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        base.add_(rg.zeros(3, 2))
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        base.mul_(1j)
    assert base.grad_fn is history
    assert base._version == 0


def test_detached_aliases_share_memory_and_version():
    x = leaf(1.0, 2.0)
    base = x * 1
    out = (base * base).sum()
    alias = base.detach()
    alias.zero_()
    assert base._version == alias._version == 1
    assert not alias._is_view()
    with pytest.raises(
        VersionError, match="output 0 of Mul, is at version 1; expected version 0 instead"
    ):
        out.backward()


def test_views_cannot_be_detached_in_place():
    base = leaf(1.0, 2.0) * 2
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        base[0].detach_()
    assert base.detach_().is_leaf


def test_saved_values_are_compared_with_the_write_that_followed():
    x, y = leaf(1.0), leaf(5.0)
    a = x * 1
    b = a * y  # saves a
    a.add_(1)
    c = a * y  # saves the new a, which is intact
    c.sum().backward(retain_graph=True)
    assert values(y.grad) == [2.0]
    with pytest.raises(VersionError, match="is at version 1; expected version 0"):
        b.sum().backward()


# -- a base that comes to require grad -----------------------------------------------------------

EARLIER = {
    "view": lambda b: b[0],
    "view of a view": lambda b: b.view(-1)[1:3],
    "one of several": lambda b: b.unbind()[0],
    "no_grad": lambda b: unrecorded(lambda: b[0]),
    "view of a no_grad view": lambda b: unrecorded(lambda: b.view(-1))[1:3],
}


def unrecorded(make):
    with rg.no_grad():
        return make()


@pytest.mark.parametrize("make", EARLIER.values(), ids=EARLIER)
def test_a_view_from_before_its_base_required_grad_is_a_leaf_that_does(make):
    base = rg.ones(2, 3)
    view = make(base)
    base.requires_grad_()
    assert (view.requires_grad, view.is_leaf, view.grad_fn) == (True, True, None)
    (view * 2).sum().backward()
    assert base.grad is None
    assert view.grad.unique().tolist() == [2.0]
    with pytest.raises(RuntimeError, match=r"a view of a leaf|being modified inplace"):
        view.mul_(2)


def test_a_detached_alias_from_before_does_not_require_grad():
    base = rg.ones(2)
    alias = base.detach()
    base.requires_grad_()
    assert not alias.requires_grad


def test_views_that_required_grad_with_their_base_no_longer_do_when_it_does_not():
    base = rg.ones(2, 3)
    early, own = base[0], base[1]
    own.requires_grad_()
    base.requires_grad_()
    late = unrecorded(lambda: base[0])
    recorded = base[0]
    base.requires_grad_(False)
    assert [t.requires_grad for t in (early, own, late, recorded)] == [False, True, False, True]
    base.requires_grad_()
    base.detach_()
    assert [t.requires_grad for t in (early, own, late, recorded)] == [False, True, False, True]


def test_a_view_from_before_follows_its_base_after_a_write_under_no_grad():
    base = rg.ones(2, 3)
    view = base[0]
    base.requires_grad_()
    with rg.no_grad():
        base.mul_(3)
    (view * view).sum().backward()
    assert base.grad.tolist() == [[6.0, 6.0, 6.0], [0.0, 0.0, 0.0]]


# -- many views and writes -----------------------------------------------------------------------


def count_nodes(tensor):
    seen, todo = set(), [tensor.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and id(node) not in seen:
            seen.add(id(node))
            todo += node.edges
    return len(seen)


STEPS = {
    "the same shape": lambda y, i: y.view(y.shape),
    "turned": lambda y, i: y.t(),
    "another shape": lambda y, i: y[None] if i % 2 else y.squeeze(0),
    "a part": lambda y, i: y[1:] if i == 3 else y[None].select(0, 0),
    "a part with gaps": lambda y, i: y.t()[:, ::2] if i == 3 else y.t(),
}


def chain(y, step, n):
    """n views in a row, each of the one before, and a write to each."""
    for i in range(n):
        y = step(y, i)
        y.mul_(1.01)
    return y


@pytest.mark.parametrize("order", [lambda t: t, lambda t: t.t()], ids=["rows", "columns"])
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_chain_of_views_and_writes_is_linear_and_right(step, order):
    sizes = []
    for n in (30, 60, 120):
        x = rg.ones(4, 3, requires_grad=True)
        base = order(x) * 1
        y = chain(base, step, n)
        sizes.append(count_nodes(base) + count_nodes(y))
    assert sizes[2] - sizes[1] <= 2.2 * (sizes[1] - sizes[0])
    (base.sum() + y.sum()).backward()
    factors = order(rg.ones(4, 3)) * 1  # without a graph: how often each element was written
    reached = chain(factors, step, n)
    reached *= 2
    np.testing.assert_allclose(order(x.grad).numpy(), factors.numpy(), rtol=1e-5)


def test_a_write_costs_the_same_however_many_views_live():
    counts = []
    for n in (4, 400):
        base = rg.ones(n, requires_grad=True) * 1
        views = [base[i] for i in range(n)]
        base.mul_(2)
        before = tick()
        for _ in range(20):
            base.mul_(2)
        counts.append(tick() - before)
        assert views[1].grad_fn.name() == "SelectBackward0"
    assert counts[0] == counts[1]


def test_a_view_between_two_elements_of_its_dtype_keeps_its_path():
    x = rg.arange(8.0, dtype=rg.float64).requires_grad_()
    z = rg.view_as_complex((x * 1).view(4, 2))
    base = z * 1
    y = base
    for _ in range(4):
        y = rg.view_as_complex(rg.view_as_real(y).view(-1)[1:-1].view(-1, 2))
        if len(y) == 1:
            break
    y.mul_(2)
    rg.view_as_real(base).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0]


def test_a_view_keeps_the_history_that_its_base_drops():
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    view.neg_()
    base.detach_()
    view.sum().backward()
    assert x.grad.tolist() == [-1.0, 0.0]


def test_a_base_that_turns_gives_its_views_their_history():
    x = leaf([1.0, 2.0], [3.0, 4.0])
    base, seen = x * 1, []
    row, first = base[0], base.unbind()[0]
    base.t_()
    base.register_hook(lambda g: seen.append(values(g)))
    row.sum().backward()
    assert seen == [[[1.0, 0.0], [1.0, 0.0]]]
    assert values(x.grad) == [[1.0, 1.0], [0.0, 0.0]]
    with pytest.raises(RuntimeError, match="returns multiple views"):
        first * 2


def test_a_view_follows_a_leaf_that_is_turned_without_history():
    leaf = rg.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    view = leaf.squeeze()
    with rg.no_grad():
        leaf.transpose_(0, 1)
    (view * view).sum().backward()
    assert leaf.tolist() == [[1, 3], [2, 4]]
    assert leaf.grad.tolist() == [[2, 6], [4, 8]]


OVERLAPPING = {
    "windows": lambda x: x.unfold(0, 2, 1),
    "a region": lambda x: x.as_strided((2, 3), (1, 1)),
    "an expanded view": lambda x: x[:1].expand(3),
    "an alias of windows": lambda x: x.detach().unfold(0, 2, 1),
}
OVERLAPPING_WRITES = {
    "clamp_": lambda v, w: v.clamp_(max=w),
    "mul_": lambda v, w: v.mul_(w),
    "copy_": lambda v, w: v.copy_(w.expand(v.shape)),
    "fill_": lambda v, w: v.fill_(w),
    "setitem": lambda v, w: v.__setitem__(slice(None), w),
}


@pytest.mark.parametrize("view", OVERLAPPING.values(), ids=OVERLAPPING)
@pytest.mark.parametrize("write", OVERLAPPING_WRITES.values(), ids=OVERLAPPING_WRITES)
def test_a_recorded_write_to_elements_that_are_one_is_refused(view, write):
    base, w = rg.arange(4.0), rg.tensor(1.5, requires_grad=True)
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        write(view(base), w)
    assert base.tolist() == [0, 1, 2, 3]


def test_a_constant_may_be_written_to_elements_that_are_one():
    x = rg.ones(4, requires_grad=True)
    y = x * 2
    y.unfold(0, 2, 1)[:2].zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 0, 2]


def test_windows_that_do_not_overlap_can_be_written():
    x = rg.ones(6, requires_grad=True)
    y = x * 1
    y.unfold(0, 2, 3).mul_(5)
    y.as_strided((2, 2), (3, 2)).mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [10, 5, 2, 10, 5, 2]


def test_a_view_that_kept_its_history_is_not_written_when_its_base_is_a_leaf_again():
    x = rg.ones(2, requires_grad=True)
    y = x * 2
    v, w = y[:1], x[:1]
    y.detach_()
    x.requires_grad_(False)
    for view in (v, w):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            view.mul_(2)


@pytest.mark.parametrize("turn", [lambda y: y.unsqueeze_(0), lambda y: y.unsqueeze_(1).t_()])
def test_a_retained_gradient_has_the_shape_that_the_tensor_was_given(turn):
    x = rg.ones(3, requires_grad=True)
    y = x * 2
    y.retain_grad()
    (turn(y) * rg.arange(3.0)).sum().backward()
    assert y.grad.tolist() == [[0, 1, 2]]
    assert x.grad.tolist() == [0, 2, 4]


@pytest.mark.parametrize("elements", [3, 20])
def test_a_piece_that_may_not_be_used_says_so_after_its_base_got_other_memory(elements):
    y = rg.ones(8, requires_grad=True) * 2
    piece = y.unbind()[0]
    y.mul_(2)
    y.data = rg.ones(elements)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        piece.mul_(2)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        piece.grad_fn


@pytest.mark.parametrize(
    ("write", "gradient"),
    [(lambda v: v.mul_(3), [2, 6, 6, 2]), (lambda v: v[:1].mul_(3), [2, 6, 2, 2])],
)
def test_hooks_of_a_view_are_lost_with_a_write_to_a_view_of_it(write, gradient):
    x = rg.arange(4.0).requires_grad_()
    base = x * 2
    view = base[:3]
    view.register_hook(lambda g: g * 100)
    write(view[1:])
    base.sum().backward()
    assert x.grad.tolist() == gradient


def test_hooks_of_a_base_see_a_write_to_a_view_of_a_view():
    x = rg.arange(4.0).requires_grad_()
    base = x * 2
    base.register_hook(lambda g: g * 100)
    base[:3][1:].mul_(3)
    base.sum().backward()
    assert x.grad.tolist() == [200, 600, 600, 200]


@pytest.mark.parametrize("view", [False, True])
def test_hooks_on_a_view_that_is_written_with_itself_see_the_operand(view):
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    y = y[:] if view else y
    y.register_hook(lambda g: g * 10)
    y.add_(y)
    y.sum().backward()
    assert x.grad.tolist() == ([11, 11] if view else [20, 20])


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (
            rg.no_grad,
            "created in no_grad mode and is being modified inplace with grad mode enabled",
        ),
        (
            rg.inference_mode,
            "created in inference mode and is being modified inplace in normal mode",
        ),
    ],
)
def test_the_error_names_the_mode_in_which_a_view_was_made(mode, says):
    x = rg.ones(2, requires_grad=True) * 1
    with mode():
        view = x[:1]
    with pytest.raises(RuntimeError, match=says) as caught:
        view.mul_(2)
    assert mode.__name__ in str(caught.value)


def test_a_view_whose_base_was_written_keeps_its_history_when_the_base_gets_other_data():
    leaf = rg.tensor([1.0, 2.0], requires_grad=True)
    base = leaf * 1
    view = base[:1]
    base.mul_(3)
    base.data = rg.zeros(5)
    assert view.tolist() == [3.0]
    assert rg.autograd.grad(view.sum(), leaf)[0].tolist() == [3.0, 0.0]


@pytest.mark.parametrize("mode", [rg.enable_grad, rg.autograd.detect_anomaly])
@pytest.mark.filterwarnings("ignore:Anomaly")
def test_a_result_written_in_place_is_saved_in_the_memory_of_its_target(mode):
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with mode():
        y = (x * 1).exp_()
    assert y.grad_fn._saved_result.data_ptr() == y.data_ptr()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("turned", "name"),
    [
        (lambda x: x.t_(), "TBackward1"),
        (lambda x: x.unsqueeze_(0), "UnsqueezeBackward1"),
        (lambda x: x.squeeze_(), "SqueezeBackward3"),
        (lambda x: x.transpose_(0, 1), "TransposeBackward1"),
    ],
)
def test_a_tensor_that_was_turned_names_pytorchs_node(turned, name):
    assert turned(rg.ones(1, 3, requires_grad=True) * 1).grad_fn.name() == name


def test_views_from_before_a_write_are_joined_with_their_new_history():
    base = rg.ones(3, requires_grad=True) * 2
    view = base[1:]
    base.mul_(3)
    joined = rg.cat([view, view])
    assert joined.tolist() == [6.0] * 4
    assert joined.requires_grad


PARTS = {
    "index_fill_": lambda v: v.index_fill_(0, rg.tensor([0]), 9.0),
    "index_add_": lambda v: v.index_add_(0, rg.tensor([0]), rg.full((1, 2), 8.0)),
    "scatter_": lambda v: v.scatter_(0, rg.zeros(1, 2, dtype=rg.int64), 9.0),
    "masked_fill_": lambda v: v.masked_fill_(rg.tensor([[True, True], [False, False]]), 9.0),
    "put_": lambda v: v.put_(rg.tensor([0, 1]), rg.full((2,), 9.0)),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("last", [1.0, float("nan")])
def test_what_is_written_to_a_window_is_in_the_windows_that_overlap(name, last):
    x = rg.tensor([1.0, 1.0, last])
    windows = x.unfold(0, 2, 1)
    PARTS[name](windows)
    np.testing.assert_array_equal(x.numpy(), [9.0, 9.0, last])
    assert windows[1, 0].item() == 9.0

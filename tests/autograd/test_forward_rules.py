"""Dual tensors, views and in-place writes, rule by rule.

Every test here also passes with `torch` in place of `retrograd`, but where it says otherwise.
"""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.autograd import forward_ad as fw


def d(*values):
    return rg.tensor(list(values), dtype=rg.float64)


def tangent(x):
    t = fw.unpack_dual(x).tangent
    return None if t is None else t.tolist()


def test_a_tensor_and_its_dual_share_memory_but_no_tangent():
    x = d(1, 2, 3)
    with fw.dual_level():
        dual = fw.make_dual(x, d(1, 1, 1))
        dual[1:].mul_(3)
        assert tangent(dual) == [1, 3, 3]
        assert tangent(x) is None
        assert x.tolist() == [1, 6, 9]
        assert dual._version == x._version
        assert dual.storage().data_ptr() == x.storage().data_ptr()


def test_writes_to_elements_of_a_dual_keep_the_other_tangents():
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(3, 4))
        dual[0] = 5
        assert tangent(dual) == [0, 4]
        dual[0] = dual[1] * 2
        assert tangent(dual) == [8, 4]


def test_a_dual_of_a_view_has_nothing_to_do_with_the_base():
    with fw.dual_level():
        base = d(1, 2, 3, 4)
        view = base[:2]
        dual = fw.make_dual(view, d(5, 6))
        assert dual._is_view()
        assert dual._base is base
        dual.mul_(2)
        assert tangent(base) is None
        assert base.tolist() == [2, 4, 3, 4]
        view.mul_(2)
        assert tangent(dual) == [10, 12]
        assert dual.tolist() == [4, 8]


def test_views_of_a_dual_follow_it_and_it_follows_them():
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2, 3), d(4, 5, 6))
        first = dual.narrow(0, 0, 2)
        second = first.view(1, 2)
        second.mul_(2)
        assert tangent(dual) == [8, 10, 6]
        assert tangent(first) == [8, 10]
        dual.add_(dual)
        assert tangent(second) == [[16, 20]]


def test_a_view_of_all_of_its_base_has_the_same_tangent():
    base, given = d(0, 0), d(3, 4)
    with fw.dual_level():
        view = base.view_as(base)
        view.copy_(fw.make_dual(d(1, 2), given))
        assert fw.unpack_dual(view).tangent is fw.unpack_dual(base).tangent
        assert fw.unpack_dual(view).tangent is not given
        view[0].mul_(2)
        assert tangent(base) == tangent(view) == [6, 4]
        assert given.tolist() == [3, 4]


def test_many_tangents_at_once_are_those_of_views_and_bases_as_one_is():
    tangents = d(1, 2, 3, 4, 5, 6, 7, 8).reshape(2, 2, 2)
    view = rg.zeros(2, 2, dtype=rg.float64).t()

    def push(t):
        with fw.dual_level():
            dual = fw.make_dual(rg.zeros(2, 2, dtype=rg.float64), t)
            view.copy_(dual)
            return tuple(fw.unpack_dual(each).tangent for each in (dual, view, view._base))

    given, of_view, of_base = rg.vmap(push)(tangents)
    assert given is tangents
    assert of_view._base is of_base
    assert of_view.tolist() == tangents.tolist()
    assert of_base.tolist() == tangents.mT.tolist()


def test_the_value_of_a_dual_is_written_without_its_tangent():
    with fw.dual_level():
        made = fw.make_dual(d(1, 2, 3), d(4, 5, 6))
        for dual in (made, made * 2):
            before = tangent(dual)
            value = fw.unpack_dual(dual).primal
            value.mul_(10)
            value[0].mul_(10)
            assert tangent(dual) == before
            assert tangent(value) is None


def test_the_given_tangent_is_the_one_that_is_written():
    given = d(3, 4)
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), given)
        assert fw.unpack_dual(dual).tangent is given
        dual.mul_(2)
        assert given.tolist() == [6, 8]
        assert fw.unpack_dual(dual).tangent is given
        given.add_(1)
        assert tangent(dual) == [7, 9]


def test_a_tangent_that_has_a_history_is_not_written():
    x, given = d(1, 2).requires_grad_(), d(3, 4).requires_grad_()
    with fw.dual_level():
        dual = fw.make_dual(x, given).clone()
        dual.mul_(dual)
        dual[0].mul_(2)
        moved = fw.unpack_dual(dual).tangent  # 2·2xt and 2xt; PyTorch, which writes it, raises
    assert moved.tolist() == [12, 16]
    gradients = rg.autograd.grad(moved.sum(), (x, given))
    assert [g.tolist() for g in gradients] == [[12, 8], [4, 4]]
    assert given.tolist() == [3, 4]


def test_a_tangent_of_another_layout_is_copied():
    value = rg.arange(6.0).reshape(3, 2).t()
    rows, columns = rg.ones(2, 3), rg.ones(3, 2).t()
    part = rg.arange(5.0)[:4]
    with fw.dual_level():
        taken = fw.unpack_dual(fw.make_dual(value, rows)).tangent
        assert taken is not rows
        assert taken.stride() == value.stride()
        assert fw.unpack_dual(fw.make_dual(value, columns)).tangent is columns
        given = rg.ones(4)
        taken = fw.unpack_dual(fw.make_dual(part, given)).tangent
        taken.mul_(2)
        assert given.tolist() == [1, 1, 1, 1]
        spread = fw.make_dual(rg.ones(2, 3), rg.ones(1, 3).expand(2, 3))
        assert fw.unpack_dual(spread).tangent.stride() == (3, 1)
        empty = fw.make_dual(rg.ones(0, 1), rg.ones(0, 1))
        assert rg.diagonal(empty).shape == (0,)


def test_integers_have_no_tangent():
    whole = rg.zeros(2, dtype=rg.int64)
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(3, 4))
        whole.copy_(dual)
        assert tangent(whole) is None
        assert tangent(dual.long()) is None
        for given, name in (((whole, d(1, 2)), "primal"), ((d(1, 2), whole), "tangent")):
            with pytest.raises(ValueError, match=f"Expected {name} to be floating point"):
                fw.make_dual(*given)


def test_detaching_in_place_drops_the_tangent():
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(3, 4)).clone()
        assert tangent(dual.detach()) is None
        dual.detach_()
        assert tangent(dual) is None
        assert tangent(dual * 2) is None


def test_a_tangent_has_no_tangent_of_its_own():
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(3, 4))
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            fw.make_dual(d(1, 2), dual)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            fw.make_dual(dual, d(1, 2))


def test_levels_are_left_once():
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()


def test_out_forms_refuse_duals():
    out = d(0, 0)
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(3, 4))
        for given in ({"input": dual, "out": out}, {"input": out, "out": dual}):
            with pytest.raises(NotImplementedError, match="out= function"):
                rg.sin(**given)
        rg.sin(d(1, 2), out=out)


def test_forward_derivatives_are_turned_off_and_on():
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(3, 4))
        with fw._set_fwd_grad_enabled(False):
            assert not fw._is_fwd_grad_enabled()
            assert tangent(dual) is None
            assert tangent(dual * 2) is None
            assert tangent(fw.make_dual(d(1, 2), d(3, 4)) * 2) is None
            with fw._set_fwd_grad_enabled(True):
                assert tangent(dual * 2) == [6, 8]
            assert tangent(dual) is None
        assert fw._is_fwd_grad_enabled()
        assert tangent(dual) == [3, 4]
    with rg.inference_mode():
        assert not fw._is_fwd_grad_enabled()


def test_nested_derivatives_keep_the_roots_of_each_level():
    def first(x):
        def write(y):
            z = y * y
            z[0].mul_(3)
            return z

        return rg.func.jvp(write, (x,), (rg.ones_like(x),))[1]

    value, moved = rg.func.jvp(first, (d(1, 2),), (d(1, 1),))
    assert value.tolist() == [6, 4]
    assert moved.tolist() == [6, 2]


@pytest.mark.parametrize("function", [lambda x: x**3, lambda x: x.exp(), lambda x: x * x * x])
def test_saved_values_keep_their_tangents_beside_what_hooks_make_of_them(function):
    x, t = rg.tensor([1.0, 2.0], requires_grad=True), rg.tensor([1.0, 0.0])
    found = []
    for hooked in (False, True):
        with fw.dual_level():
            pair = (lambda v: v.numpy(), rg.tensor)
            hooks = rg.autograd.graph.saved_tensors_hooks(*pair) if hooked else rg.enable_grad()
            with hooks:
                y = function(fw.make_dual(x, t)).sum()
            (derivative,) = rg.autograd.grad(y, x, create_graph=True)
            found.append(fw.unpack_dual(derivative).tangent.tolist())
    assert found[0] == found[1]
    assert found[0][0] > 0.0 == found[0][1]


@pytest.mark.parametrize("write", [lambda x: x.resize_(3), lambda x: x.set_(rg.ones(2))])
def test_writes_that_would_leave_a_tangent_behind_are_refused(write):
    with fw.dual_level():
        dual = fw.make_dual(rg.ones(2), rg.ones(2)).clone()
        with pytest.raises(RuntimeError, match="forward"):
            write(dual)


def test_only_tensors_have_a_dual_and_a_derivative():
    with fw.dual_level(), pytest.raises(TypeError, match="must be a Tensor, not int"):
        fw.unpack_dual(3)
    with pytest.raises(RuntimeError, match="at least one Tensor"):
        rg.func.jvp(lambda x: x, ({},), ({},))


def test_an_op_without_forward_derivative_says_so():
    with fw.dual_level():
        dual = fw.make_dual(d(1, 2), d(1, 1))
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with igamma that"):
            rg.igamma(dual, d(1, 1))

"""Loops that become one loop, and large elementwise steps that become one kernel."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

if not NATIVE:
    pytest.skip("needs llvmlite and the parts in C", allow_module_level=True)

from retrograd.capture.loops.grouping import LARGEST, grouped
from retrograd.capture.loops.primitives import Group, Loop
from retrograd.capture.loops.rolling import Table
from retrograd.capture.loops.storages import Part, Storage

F = rg.nn.functional
FLOAT = np.dtype(np.float32)


def storage():
    return Storage("inner", -1, np.empty(8, FLOAT))


def part(of, offset=0, shape=(4,), strides=(4,)):
    return Part(of, offset, shape, strides, FLOAT)


def double(source, target):
    return Loop("map", "add", target, (source, source), (FLOAT,) * 3)


def sizes(loops, inner=()):
    return [
        len(item.loops) if isinstance(item, Group) else 1 for item in grouped(loops, set(inner))
    ]


def test_maps_of_one_shape_become_groups_of_a_size():
    row = [part(storage()) for _ in range(LARGEST + 4)]
    loops = [double(a, b) for a, b in itertools.pairwise(row)]
    assert sizes(loops) == [LARGEST, 3]


def test_what_nobody_else_reads_is_not_stored():
    a, b, c = (part(storage()) for _ in range(3))
    (group,) = grouped([double(a, b), double(b, c)], {b.storage})
    assert group.stored == (False, True)
    sink = part(storage(), shape=(1,), strides=(4,))
    last = Loop("reduce", "add", sink, (b,), (), (0,))
    group, _ = grouped([double(a, b), double(b, c), last], {b.storage})
    assert group.stored == (True, True)


def test_a_map_that_writes_what_a_group_keeps_in_registers_is_left_out():
    a, b, c, d = (storage() for _ in range(4))
    whole = [
        Loop("map", "copy", part(s, shape=(6,)), (part(d, shape=(6,)),), (FLOAT,)) for s in (a, b)
    ]
    within = [double(part(d), part(s)) for s in (a, b)]
    last = [double(part(s), part(c)) for s in (a, b)]
    (group,) = grouped([*whole, *within, *last], {a, b})
    assert group.loops == (*within, *last)
    assert group.stored == (False, False, False, True)


@pytest.mark.parametrize("sizes", [[(2, 3)], [(1, 1)], [(1, 0), (1, 1), (3, 2)]])
def test_what_is_padded_and_cut_again(sizes):
    def step(x):
        inner = F.pad(x, (1, 1))[:, 1:-1] + x
        return [inner, *rg.autograd.grad(inner.sum(), x)]

    compiled = rg.compile(step, fullgraph=True)
    for size in [each for each in sizes for _ in range(3)]:
        x = rg.randn(*size, requires_grad=True)
        twice, slope = compiled(x)
        assert (twice == 2 * x).all()
        assert (slope == 2).all()


def test_other_elements_of_what_is_written_are_not_taken_from_registers():
    a, b = storage(), storage()
    early, late = part(a), part(a, 4)
    assert sizes([double(part(b), early), double(late, part(storage()))]) == [1, 1]
    assert sizes([double(early, part(b)), double(part(storage()), late)]) == [1, 1]
    assert sizes([double(part(b), early), double(part(storage()), late)]) == [1, 1]
    assert sizes([double(early, part(b)), double(part(storage()), early)]) == [2]


def test_a_map_joins_a_group_before_loops_that_it_does_not_meet():
    a, b, c, d = (part(storage()) for _ in range(4))
    total = part(storage(), shape=(1,), strides=(4,))
    apart = Loop("reduce", "add", total, (a,), (), (0,))
    assert sizes([double(a, b), apart, double(c, d)]) == [2, 1]
    read = Loop("reduce", "add", total, (c,), (), (0,))
    assert sizes([double(a, b), read, double(d, c)]) == [1, 1, 1]
    made = Loop("reduce", "add", total, (b,), (), (0,))
    spread = part(total.storage, shape=(4,), strides=(0,))
    assert sizes([double(a, b), made, double(spread, c)]) == [1, 1, 1]


def test_writes_between_reads_stay_in_order():
    def step(x):
        a = x * 1
        before = a[0] * 2
        a[0].add_(x[1])
        after = a[0] * before
        a[1].copy_(after)
        a.t()[0].mul_(3)
        before.sub_(a[1])
        return a * 1 + (a[0] + before)

    compiled = rg.compile(step)
    for _ in range(3):
        x = rg.randn(4, 4)
        rg.testing.assert_close(compiled(x), step(x))
    assert compiled.compiled.variants


def lines(step):
    (variant,) = step.compiled.variants
    text = variant.listing.text.splitlines()
    return text[text.index(next(t for t in text if t.startswith("def part"))) + 1 :]


def test_a_large_forward_that_is_only_differentiated_is_one_kernel():
    x, ones = rg.randn(100, 100).requires_grad_(), rg.ones(100, 100)

    @rg.compile
    def step():
        x.grad = None
        ((x * 2).exp().tanh() * x).backward(ones)

    for _ in range(2):
        step()
    assert lines(step)[1].strip().startswith("return")
    y = (x.detach().double()).requires_grad_()
    ((y * 2).exp().tanh() * y).sum().backward()
    rg.testing.assert_close(x.grad.double(), y.grad, rtol=1e-5, atol=1e-5)


def test_a_large_result_that_nobody_reads_is_not_computed():
    x, bias = (rg.randn(*n).requires_grad_() for n in ((100, 100), (100,)))
    ones = rg.ones(100, 100)

    @rg.compile
    def step():
        x.grad = bias.grad = None
        (x + bias).backward(ones)

    for _ in range(2):
        step()
    assert not any("v2 =" in line for line in lines(step))
    assert bool((bias.grad == 100).all())
    assert bool((x.grad == 1).all())


def test_a_part_between_two_changes_of_which_nobody_needs_anything():
    buffer, x = rg.ones(130), rg.randn(130, 130)

    @rg.compile(fullgraph=True)
    def step():
        rg.hypot(x, x)
        buffer.mul_(0.5)
        x.exp().clamp(max=5.0)
        return (x * 2).sum()

    for n in range(3):
        rg.testing.assert_close(step(), (x * 2).sum(), rtol=1e-5, atol=1e-3)
        assert bool((buffer == 0.5 ** (n + 1)).all())


def test_a_large_layer_norm_and_what_is_beside_it_are_one_kernel():
    x, y, scale = (rg.randn(*n).requires_grad_() for n in ((200, 300), (200, 300), (300,)))

    def step():
        x.grad = scale.grad = None
        normed = rg.nn.functional.layer_norm(x + y.detach(), (300,), scale)
        loss = normed.square().mean()
        loss.backward()
        return loss.detach(), x.grad.clone(), scale.grad.clone()

    compiled, expected = rg.compile(step), step()
    for _ in range(3):
        rg.testing.assert_close(compiled(), expected, rtol=1e-5, atol=1e-7)
    (variant,) = compiled.compiled.variants
    names = variant.replay.__globals__
    calls = [line.partition(" = ")[2].partition("(")[0] for line in lines(compiled)]
    kernels = [name for name in calls if type(names.get(name)).__name__ == "FusedRows"]
    assert len(kernels) == 2


def test_one_function_of_large_rows_is_repeated():
    compiled = rg.compile(lambda x: x.softmax(1), fullgraph=True)
    for _ in range(3):
        x = rg.randn(100, 200)
        rg.testing.assert_close(compiled(x), x.softmax(1))
    assert compiled.compiled.variants


def test_steps_that_repeat_are_arranged_once(monkeypatch):
    arranged = []
    piece = Table.piece
    monkeypatch.setattr(Table, "piece", lambda *given: arranged.append(1) or piece(*given))

    def unrolled(count):
        def step(x, w):
            h = x[0]
            for _ in range(count):
                h = h @ w
            return h * 1

        return step

    counts = []
    for count in (201, 265):
        compiled, start = rg.compile(unrolled(count)), len(arranged)
        for _ in range(2):
            x, w = rg.randn(2, 4), rg.eye(4).roll(1, 0)
            rg.testing.assert_close(compiled(x, w), unrolled(count)(x, w))
        counts.append(len(arranged) - start)
        assert compiled.compiled.variants
    assert counts[0] == counts[1]

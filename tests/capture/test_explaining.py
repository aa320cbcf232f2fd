"""What `capture.explain` says and draws."""

from __future__ import annotations

import xml.dom.minidom
from collections import Counter
from typing import Any

import numpy as np
import pytest

import retrograd as rg
from retrograd import capture
from retrograd.capture.program import NATIVE

needs_native = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


def squares(x: rg.Tensor, y: rg.Tensor) -> rg.Tensor:
    return ((x @ y).tanh() ** 2).sum()


@needs_native
def test_recorded_calls_stand_beside_what_runs() -> None:
    x, y = rg.ones(4, 3), rg.ones(3, 2)
    text = capture.explain(squares, x, y).text
    before, after = text.split("runs:")
    assert before.startswith("squares: 1 recording\n")
    assert "recorded: 4 calls, 268 B" in before
    assert "1x  call  mm    float32[4, 2]  104 B" in before  # 12 + 6 + 8 numbers
    assert "1x  loop  matmul        float32[4, 2]  104 B" in after
    assert "1x  loop  tanh, square  float32[4, 2]  64 B" in after
    assert after.startswith(" 3 loops, 204 B, ")  # and a sum: 9 numbers; then the time
    assert "def replay(args, kwargs):" in after


@needs_native
def test_rows_are_those_of_the_program() -> None:
    x, y = rg.ones(4, 3), rg.ones(3, 2)
    step = rg.compile(squares)
    step(x, y)
    (variant,) = step.compiled.variants
    assert variant.listing.before.total() == 4
    assert Counter(row.how for row in variant.listing.after) == {"loop": 3}
    assert sum(n * row.nbytes for row, n in variant.listing.after.items()) == 204


@needs_native
def test_memory_between_normalisations_is_given_back_within_one_part() -> None:
    nn = rg.nn
    layers = [nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)) for _ in range(6)]
    model = nn.Sequential(*layers).requires_grad_(False)  # what is counted is the running state
    text = capture.explain(model, rg.ones(8, 8, 32, 32)).text
    assert text.count("def part") == 2  # up to the first count, and the rest
    assert text.count("del v") > 10


@needs_native
def test_functions_stand_in_the_order_in_which_they_run() -> None:
    weight = rg.ones(3, requires_grad=True)
    optimizer = rg.optim.SGD([weight], lr=0.5)

    def step(x: rg.Tensor) -> rg.Tensor:
        optimizer.zero_grad()
        loss = (weight * x).sum()
        loss.backward()
        optimizer.step()
        return loss

    step = rg.compile(step)
    for _ in range(3):
        step(rg.ones(3))
    assert weight.tolist() == [-0.5] * 3
    (variant,) = step.compiled.variants
    rows = [row.what for row in variant.listing.after]
    assert rows.index("zero_grad") < rows.index("step")


def dropping() -> tuple[Any, ...]:
    """A step that draws, and changes buffers, an optimizer and a list; and what it changes."""
    rg.manual_seed(3)
    model = rg.nn.Sequential(rg.nn.Linear(4, 3), rg.nn.BatchNorm1d(3), rg.nn.Dropout())
    optimizer = rg.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []

    def step(x: rg.Tensor, y: rg.Tensor) -> rg.Tensor:
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        return loss

    def state() -> list[Any]:
        moments = [v for s in optimizer.state.values() for v in s.values()]
        tensors = [*model.parameters(), *model.buffers(), *moments]
        tensors += [p.grad for p in model.parameters() if p.grad is not None]
        return [*[(t.tolist(), t._version) for t in tensors], (losses, rg.get_rng_state().tolist())]

    return step, state


@needs_native
@pytest.mark.parametrize("before", [0, 3])
def test_measuring_leaves_the_state_of_one_call(before: int) -> None:
    x, y = rg.randn(6, 4), rg.randint(0, 3, (6,))
    step, state = dropping()
    for _ in range(before + 1):
        step(x, y)
    expected = state()
    step, state = dropping()
    compiled = rg.compile(step, fullgraph=True)
    for _ in range(before):
        compiled(x, y)
    given = x.tolist()
    capture.explain(compiled, x, y)
    assert (x._version, x.tolist()) == (0, given)
    assert len(compiled.compiled.variants) == 1
    for (values, counted), (wanted, count) in zip(state(), expected, strict=True):
        assert counted == count  # versions; in the end the numbers that are drawn next
        np.testing.assert_allclose(values, wanted, rtol=1e-4, atol=1e-6)


@needs_native
def test_every_call_loop_and_effect_has_a_time_but_those_that_only_ask_or_count() -> None:
    step = rg.compile(dropping()[0])
    x, y = rg.randn(6, 4), rg.randint(0, 3, (6,))
    step(x, y)
    (variant,) = step.compiled.variants
    assert not any(variant.listing.after.times.values())  # nobody has asked
    capture.explain(step, x, y)
    (variant,) = step.compiled.variants
    for rows in (variant.listing.before, variant.listing.after):
        without = {r.what for r in rows if not rows.times[r] > 0}
        assert without <= {"branch on a value", "count_write", "item"}


@needs_native
def test_what_is_larger_takes_longer() -> None:
    def products(x: rg.Tensor, y: rg.Tensor) -> tuple[rg.Tensor, rg.Tensor]:
        return (x @ x).sin(), (y @ y).sin()

    step = rg.compile(products)
    capture.explain(step, rg.rand(2, 2), rg.rand(400, 400))
    (variant,) = step.compiled.variants
    for rows in (variant.listing.before, variant.listing.after):
        small, large = (sum(rows.times[r] for r in rows if s in r.shape) for s in ("[2,", "[400,"))
        assert 0 < 5 * small < large


@needs_native
def test_views_are_measured_in_a_copy_of_the_memory_that_they_show() -> None:
    def halves(x: rg.Tensor) -> rg.Tensor:
        y = x * 2
        left, right = y[:3], y[3:]
        return (left * right).sum() + x[1:5].exp().sum()

    step, whole = rg.compile(halves), rg.arange(9.0)
    x = whole[2:8]
    capture.explain(step, x)
    assert whole.tolist() == [*range(9)]
    (variant,) = step.compiled.variants
    assert all(variant.listing.after.times.values())


@needs_native
@pytest.mark.parametrize("size", [3, 100_000])  # a loop, a call
def test_what_fails_on_later_values_has_no_time(size: int) -> None:
    x, index = rg.ones(size), rg.tensor([1])

    @rg.compile
    def step(index: rg.Tensor) -> rg.Tensor:
        found = x[index] * 2
        index.add_(size)  # out of range
        return found

    capture.explain(step, index)
    assert index.tolist() == [1 + size]
    (variant,) = step.compiled.variants
    times = {row.what: time for row, time in variant.listing.before.times.items()}
    assert times["_index"] == 0 < times["mul"]


@needs_native
def test_a_picture_has_a_bar_for_each_row() -> None:
    picture = capture.explain(squares, rg.ones(4, 3), rg.ones(3, 2))
    page = xml.dom.minidom.parseString(picture.svg)
    assert len(page.getElementsByTagName("rect")) == 1 + 4 + 3  # paper, recorded, runs
    texts = [node.firstChild.data for node in page.getElementsByTagName("text")]
    assert "tanh, square" in texts
    assert any(text.startswith("recorded: 4 calls, 268 B, ") for text in texts)
    assert sum(text.endswith((" ns", " us", " ms")) for text in texts) == 2 + 4 + 3


def test_what_is_not_compiled_says_why() -> None:
    def asked(x: rg.Tensor) -> int:
        return x.data_ptr()

    text = capture.explain(asked, rg.ones(2)).text
    assert text.startswith("test_what_is_not_compiled_says_why.<locals>.asked: 0 recordings")
    if NATIVE:
        assert "data_ptr" in text
        assert f"{__file__}:" in text


def test_a_compiled_function_is_called_only_if_arguments_are_given() -> None:
    calls = []

    def counted(x: float) -> float:
        calls.append(x)
        return x

    step = rg.compile(counted)
    capture.explain(step)
    assert calls == []
    capture.explain(step, 1.0)
    assert calls == [1.0]
    capture.explain(counted, x=2.0)
    assert calls == [1.0, 2.0]


def test_errors_of_the_function_are_raised() -> None:
    def wrong(x: rg.Tensor) -> rg.Tensor:
        return x @ rg.ones(5)

    with pytest.raises(RuntimeError, match=r"size mismatch|shapes"):
        capture.explain(wrong, rg.ones(2, 3))

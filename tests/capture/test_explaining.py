"""What `capture.explain` says and draws."""

from __future__ import annotations

import xml.dom.minidom
from collections import Counter

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
    assert after.splitlines()[0] == " 3 loops, 204 B"  # and a sum: 9 numbers
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


@needs_native
def test_a_picture_has_a_bar_for_each_row() -> None:
    picture = capture.explain(squares, rg.ones(4, 3), rg.ones(3, 2))
    page = xml.dom.minidom.parseString(picture.svg)
    assert len(page.getElementsByTagName("rect")) == 1 + 4 + 3  # paper, recorded, runs
    texts = [node.firstChild.data for node in page.getElementsByTagName("text")]
    assert "tanh, square" in texts
    assert "recorded: 4 calls, 268 B" in texts


def test_what_is_not_compiled_says_why() -> None:
    def asked(x: rg.Tensor) -> list[float]:
        return x.tolist()

    text = capture.explain(asked, rg.ones(2)).text
    assert text.startswith("test_what_is_not_compiled_says_why.<locals>.asked: 0 recordings")
    if NATIVE:
        assert "tolist" in text
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

"""`torch.compiler`: stances, what is not to be compiled, and forgetting."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

compiler = pytest.importorskip("retrograd.torch.compiler")
pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


def sizes(step):
    for n in (2, 2, 3, 2):
        assert step(rg.ones(n)).tolist() == [2.0] * n
    return len(step.compiled.variants)


def test_force_eager_records_nothing():
    with compiler.set_stance("force_eager"):
        assert sizes(rg.compile(lambda x: 2 * x)) == 0


def test_eager_on_recompile_records_one_kind():
    with compiler.set_stance("eager_on_recompile"):
        assert sizes(rg.compile(lambda x: 2 * x)) == 1


def test_fail_on_recompile_names_what_changed():
    step = rg.compile(lambda x: 2 * x)
    with compiler.set_stance("fail_on_recompile"):
        for _ in range(2):
            step(rg.ones(2))
        with pytest.raises(RuntimeError, match=r"recorded anew.* shape, dtype.* of args"):
            step(rg.ones(3))


def test_eager_then_compile_records_the_second_call():
    step = rg.compile(lambda x: 2 * x)

    @compiler.set_stance("eager_then_compile")
    def run():
        step(rg.ones(2))
        return len(step.compiled.variants)

    assert [run(), run()] == [0, 1]


@pytest.mark.filterwarnings("ignore:.*was recorded 1 times")
def test_the_number_of_recordings_may_be_limited():
    assert sizes(rg.compile(lambda x: 2 * x, recompile_limit=1)) == 1


def test_what_is_not_to_be_compiled_keeps_the_step_as_it_is():
    seen = []

    @compiler.disable
    def noted(x):
        seen.append(compiler.is_compiling())
        return x + 1

    step = rg.compile(lambda x: noted(x) * 2)
    assert [step(rg.ones(1)).item() for _ in range(3)] == [4.0] * 3
    assert len(seen) == 3
    assert "noted is not to be compiled" in step.compiled.reasons[0]


def test_a_function_can_ask_whether_it_is_recorded():
    step = rg.compile(lambda x: x * 2 if compiler.is_compiling() else x * 3)
    assert [step(rg.ones(1)).item() for _ in range(2)] == [2.0, 2.0]
    assert not compiler.is_compiling()


def test_reset_forgets_what_was_recorded():
    step = rg.compile(lambda x: 2 * x)
    step(rg.ones(2))
    compiler.reset()
    assert not step.compiled.variants
    assert sizes(step) == 2

"""`_foreach_` functions: methods of every tensor in a list."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE
from retrograd.torch.names.foreach import ROWS


def pair():
    return [rg.tensor([1.0, 2.0]), rg.tensor([4.0])]


def values(found):
    return [t.tolist() for t in found]


@pytest.mark.parametrize(
    ("name", "given", "result"),
    [
        ("add", (1,), [[2, 3], [5]]),
        ("add", ([1.0, 2.0],), [[2, 3], [6]]),
        ("mul", (rg.tensor(3.0),), [[3, 6], [12]]),
        ("maximum", ([rg.tensor([0.0, 5.0]), rg.tensor([9.0])],), [[1, 5], [9]]),
        ("minimum", (1.5,), [[1, 1.5], [1.5]]),
        ("pow", ([2, 0.5],), [[1, 4], [2]]),
        ("addcmul", (pair(), pair(), [1.0, 2.0]), [[2, 6], [36]]),
        ("addcdiv", (pair(), pair(), rg.tensor([1.0, 2.0])), [[2, 3], [6]]),
        ("lerp", ([rg.zeros(2), rg.zeros(1)], 0.5), [[0.5, 1], [2]]),
        ("sqrt", (), [[1, 2**0.5], [2]]),
    ],
)
def test_each_tensor_meets_what_stands_in_its_place(name, given, result):
    found = getattr(rg, f"_foreach_{name}")(pair(), *given)
    assert isinstance(found, tuple)
    assert [pytest.approx(row) for row in result] == values(found)
    tensors = pair()
    assert getattr(rg, f"_foreach_{name}_")(tensors, *given) is tensors
    assert values(tensors) == values(found)
    assert [t._version for t in tensors] == [1, 1]


def test_a_number_to_the_power_of_each():
    assert values(rg._foreach_pow(2.0, pair())) == [[2, 4], [16]]


def test_alpha_scales_the_other_list():
    assert values(rg._foreach_sub(pair(), pair(), alpha=2)) == [[-1, -2], [-4]]


def test_norms_and_largest_elements():
    assert values(rg._foreach_norm(pair(), 1)) == [3, 4]
    assert values(rg._foreach_max(pair())) == [2, 4]


def test_copies_are_apart():
    tensors = pair()
    copies = rg._foreach_clone(tensors)
    rg._foreach_zero_(tensors)
    assert values(copies) == [[1, 2], [4]]
    rg._foreach_copy_(tensors, copies)
    assert values(tensors) == values(copies)


def test_they_are_recorded_as_the_methods_are():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    rg._foreach_mul_([y], 3.0)
    rg._foreach_add([y], 1)[0].sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_value_that_is_saved_and_written_raises_in_the_backward_pass():
    x = rg.ones(2, requires_grad=True)
    w = rg.ones(2)
    y = x * w
    rg._foreach_add_([w], 1)
    with pytest.raises(RuntimeError, match="add_"):
        y.sum().backward()


def test_leaves_that_require_grad_are_not_written():
    x = rg.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        rg._foreach_add_([x], 1)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (([], 1), RuntimeError, "at least one tensor"),
        (([rg.ones(1)], [1.0, 2.0]), RuntimeError, "same number of tensors, got 1 and 2"),
        ((rg.ones(2), 1), TypeError, "must be tuple of Tensors, not Tensor"),
    ],
    ids=["empty", "lengths", "tensor"],
)
def test_what_is_no_list_of_tensors_raises(given, error, text):
    with pytest.raises(error, match=text):
        rg._foreach_add(*given)


def test_every_function_is_a_name_of_the_package():
    assert all(callable(getattr(rg, f"_foreach_{kind}")) for kind, *_ in ROWS)
    with pytest.raises(AttributeError, match="has no attribute '_foreach_nothing'"):
        rg._foreach_nothing


def test_a_factor_of_the_second_operand_is_any_number():
    x, y = rg.ones(2), rg.tensor([2.0, 4.0])
    rg._foreach_add_([x], [y], alpha=0.5)
    assert x.tolist() == [2.0, 3.0]
    assert rg._foreach_sub([x], [y], alpha=0.5)[0].tolist() == [1.0, 1.0]
    assert rg._foreach_norm([y], 2.5)[0].item() == y.norm(2.5).item()
    with pytest.raises(RuntimeError, match="alpha must not be a floating point number"):
        rg._foreach_add_([rg.ones(2, dtype=rg.int64)], [rg.ones(2, dtype=rg.int64)], alpha=0.5)


def test_nothing_is_written_if_one_tensor_must_not_be():
    x, w = rg.ones(2), rg.ones(2, requires_grad=True)
    first, second = rg.zeros(2, 2, requires_grad=True).clone().unbind()
    for refused, text in (
        (w, "a leaf Variable that requires grad"),
        (first, "Output 0 of Unbind is a view"),
        (w.detach().expand(3, 2), "refers to a single memory location"),
    ):
        with pytest.raises(RuntimeError, match=text):
            rg._foreach_add_([x, refused], [1.0, 2.0])
        with pytest.raises(RuntimeError, match=text):
            rg._foreach_zero_([x, refused])
    assert x.tolist() == [1, 1]
    assert x._version == second._version == 0


def test_the_operand_has_a_name_for_each_of_its_kinds():
    x = [rg.ones(2), rg.full((2,), 2.0)]
    assert [y.tolist() for y in rg._foreach_mul(x, scalar=3)] == [[3.0, 3.0], [6.0, 6.0]]
    assert [y.tolist() for y in rg._foreach_div(x, scalars=[2, 4])] == [[0.5, 0.5], [0.5, 0.5]]
    assert [y.tolist() for y in rg._foreach_add(x, other=x, alpha=2)] == [[3.0, 3.0], [6.0, 6.0]]
    assert [y.tolist() for y in rg._foreach_sub(x, scalar=1)] == [[0.0, 0.0], [1.0, 1.0]]
    assert [y.tolist() for y in rg._foreach_lerp(x, x, weights=x)] == [[1.0, 1.0], [2.0, 2.0]]
    rg._foreach_maximum_(x, scalars=[0.0, 5.0])
    assert [y.tolist() for y in x] == [[1.0, 1.0], [5.0, 5.0]]
    with pytest.raises(TypeError, match=r"_foreach_mul\(\) takes one operand .*, got 2"):
        rg._foreach_mul(x, 2, scalar=3)
    with pytest.raises(TypeError, match=r"_foreach_add_\(\) takes one operand .*, got 0"):
        rg._foreach_add_(x)


@pytest.mark.parametrize("dtype", [rg.bfloat16, rg.float16])
@pytest.mark.parametrize("number", [0.1, 0.3, 1e5, 1e-9])
def test_a_factor_of_half_floats_is_rounded_with_the_result_alone(number, dtype):
    x = rg.tensor([1.1, -2.3, 0.7, 3.14, -0.013], dtype=dtype)
    (found,) = rg._foreach_mul([x], number)
    assert found.dtype is dtype
    assert found.equal((x.float() * rg.tensor(number).item()).to(dtype))


@pytest.mark.parametrize("dtype", [rg.float32, rg.int64, rg.float16])
def test_a_mask_is_not_subtracted_from_numbers(dtype):
    x = rg.tensor([1, 2], dtype=dtype)
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor is"):
        rg._foreach_sub([x], True)
    assert x.tolist() == [1, 2]


@pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")
def test_writes_within_a_compiled_step_are_counted_once():
    eager, kept = ([rg.ones(3).requires_grad_() for _ in range(2)] for _ in range(2))

    def step(w, x):
        gradients = rg.autograd.grad(sum((x * each).sin().sum() for each in w), w)
        with rg.no_grad():
            rg._foreach_add_(w, gradients, alpha=-0.1)

    compiled = rg.compile(step)
    for _ in range(3):
        x = rg.randn(3)
        step(eager, x)
        compiled(kept, x)
        for a, b in zip(eager, kept, strict=True):
            assert a._version == b._version
            rg.testing.assert_close(a, b)
    assert compiled.compiled.variants

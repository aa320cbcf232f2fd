"""Arguments by NumPy's names, in older orders, numbers first, and what is no tensor."""

from __future__ import annotations

import inspect

import pytest
from tests.laws.samples import at_least

import retrograd as rg

X = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
Y = rg.tensor([[10.0, 20.0], [30.0, 40.0]])
V = rg.tensor([1.0, 2.0])

TAKE_DIM = [
    name
    for name in dir(rg)
    if not name.startswith("_")
    and inspect.isroutine(getattr(rg, name))
    and "dim" in inspect.signature(getattr(rg, name)).parameters
]


@pytest.mark.parametrize("name", at_least(85, TAKE_DIM, inner=75))
def test_every_function_of_a_dim_takes_it_as_axis(name):
    function = getattr(rg, name)
    given = {
        each: 0 if p.annotation == "int" else X
        for each, p in inspect.signature(function).parameters.items()
        if p.default is p.empty and each != "dim" and p.kind is p.POSITIONAL_OR_KEYWORD
    }
    errors = []
    for keyword in ("dim", "axis"):
        with pytest.raises(Exception) as caught:  # noqa: PT011 (which, says the function)
            function(**given, **{keyword: "nothing"})
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("keyword", ["input", "x", "a", "x1"])
def test_the_first_tensor_goes_by_four_names(keyword):
    for name in ("sum", "sin", "relu", "zeros_like", "cumprod"):
        more = {"dim": 0} if name == "cumprod" else {}
        assert (getattr(rg, name)(**{keyword: X}, **more) == getattr(rg, name)(X, **more)).all()
    for name in ("mul", "add", "maximum", "atan2", "matmul", "eq"):
        expected = getattr(rg, name)(X, Y)
        assert (getattr(rg, name)(**{keyword: X}, x2=Y) == expected).all()
        assert (getattr(rg, name)(X, x2=Y) == expected).all()
    assert X.add(x2=Y).equal(X + Y)
    assert X.clone().mul_(x2=Y).equal(X * Y)


def test_a_tensor_of_one_element_is_no_number_where_its_name_is_that_of_an_input():
    one = rg.tensor(0.0, requires_grad=True)
    for keyword in ("self", "x", "a"):
        found = rg.exp(**{keyword: one})
        assert found.item() == 1
        assert found.grad_fn.name() == "ExpBackward0"


@pytest.mark.parametrize("name", ["norm", "matrix_norm", "cond", "matrix_rank", "pinv", "eigh"])
def test_a_matrix_is_an_input_too(name):
    found, expected = getattr(rg.linalg, name)(input=X), getattr(rg.linalg, name)(X)
    pairs = zip(found, expected, strict=True) if name == "eigh" else [(found, expected)]
    assert all(one.equal(other) for one, other in pairs)


def test_names_in_a_recorded_call_record_the_same_node():
    x = X.clone().requires_grad_()
    rg.mul(x1=x, x2=Y).sum(axis=0, keepdims=True).sum().backward()
    assert x.grad.equal(Y)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rg.sum(X, a=X),
        lambda: rg.sum(x=X, a=X),
        lambda: rg.sum(X, dim=0, axis=0),
        lambda: rg.mul(X, Y, x2=Y),
        lambda: rg.mul(x=X, a=X),
        lambda: rg.mul(X, Y, other=Y),
        lambda: rg.mul(X, Y, foo=1),
        lambda: rg.mul(),
        lambda: rg.mul(X),
        lambda: rg.sin(),
        lambda: rg.sin(X, foo=1),
        lambda: rg.sin(X, x=X),
        lambda: X.sum(a=0),
        lambda: X.sum(foo=0),
    ],
)
def test_names_that_do_not_fit_raise(call):
    with pytest.raises(TypeError, match=r"unexpected keyword|multiple values|missing"):
        call()


# -- numbers first -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", [[8, 9], [10, 11]]),
        ("sub", [[6, 5], [4, 3]]),
        ("subtract", [[6, 5], [4, 3]]),
        ("mul", [[7, 14], [21, 28]]),
        ("multiply", [[7, 14], [21, 28]]),
        ("div", [[7, 3.5], [7 / 3, 1.75]]),
        ("divide", [[7, 3.5], [7 / 3, 1.75]]),
        ("true_divide", [[7, 3.5], [7 / 3, 1.75]]),
        ("floor_divide", [[7, 3], [2, 1]]),
        ("remainder", [[0, 1], [1, 3]]),
    ],
)
def test_arithmetic_takes_a_number_first(name, expected):
    found = getattr(rg, name)(7, X.double())
    assert found.tolist() == expected
    assert found.dtype is rg.float64


def test_a_number_first_promotes_as_one_after_it_does():
    i = rg.tensor([1, 2], dtype=rg.uint8)
    assert rg.add(1, i).dtype is rg.uint8
    assert rg.add(300, i).tolist() == [45, 46]
    assert rg.add(1.5, i).dtype is rg.float32
    assert rg.mul(1j, V).dtype is rg.complex64
    assert rg.div(300, i).tolist() == [300.0, 150.0]
    assert rg.div(7, X, rounding_mode="floor").tolist() == [[7, 3], [2, 1]]
    assert rg.add(1, X, alpha=2).tolist() == [[3, 5], [7, 9]]
    assert rg.bitwise_and(1, i).tolist() == [1, 0]
    assert rg.bitwise_left_shift(1, i).tolist() == [2, 4]
    for two, expected in ((rg.add(1, 2), 3), (rg.sub(2, 3), -1), (rg.mul(2, 1.5), 3.0)):
        assert two.item() == expected
    assert rg.add(1, 2).dtype is rg.int64
    assert rg.div(1, 2).dtype is rg.float32


def test_the_gradient_passes_a_number_that_comes_first():
    x = V.clone().requires_grad_()
    rg.div(6, rg.mul(2, x)).sum().backward()
    assert x.grad.tolist() == [-3.0, -0.75]


@pytest.mark.parametrize("name", ["eq", "lt", "maximum", "atan2", "fmod", "copysign", "rsub"])
def test_other_functions_refuse_a_number_first(name):
    with pytest.raises(TypeError, match=r"argument 'input' \(position 1\) must be Tensor, not int"):
        getattr(rg, name)(1, X)


# -- older orders --------------------------------------------------------------------------------

B, C = X[None], Y[None]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: rg.add(X, 2, Y), [[21, 42], [63, 84]]),
        (lambda: rg.add(X, 2, other=Y), [[21, 42], [63, 84]]),
        (lambda: rg.sub(X, 2, Y), [[-19, -38], [-57, -76]]),
        (lambda: X.add(2, Y), [[21, 42], [63, 84]]),
        (lambda: X.clone().add_(2, Y), [[21, 42], [63, 84]]),
        (lambda: X.clone().sub_(2, Y), [[-19, -38], [-57, -76]]),
        (lambda: X.add(2, 3), [[7, 8], [9, 10]]),
        (lambda: X.sub(2, 3), [[-5, -4], [-3, -2]]),
        (lambda: rg.add(X, 2, 3), [[7, 8], [9, 10]]),
        (lambda: rg.sub(X, 2, other=3), [[-5, -4], [-3, -2]]),
        (lambda: X.clone().add_(2, 3), [[7, 8], [9, 10]]),
        (lambda: rg.addcmul(X, 3, X, Y), [[31, 122], [273, 484]]),
        (lambda: X.clone().addcmul_(3, X, Y), [[31, 122], [273, 484]]),
        (lambda: X.addcdiv(10, Y, X), [[101, 102], [103, 104]]),
        (lambda: X.clone().addcdiv_(10, Y, X), [[101, 102], [103, 104]]),
        (lambda: rg.addmm(2, X, 3, X, Y), [[212, 304], [456, 668]]),
        (lambda: rg.addmm(2, X, X, Y), [[72, 104], [156, 228]]),
        (lambda: X.addmm(2, 3, X, Y), [[212, 304], [456, 668]]),
        (lambda: X.clone().addmm_(2, X, Y), [[72, 104], [156, 228]]),
        (lambda: rg.addmv(2, V, 3, X, V), [17, 37]),
        (lambda: V.addmv(2, X, V), [7, 15]),
        (lambda: rg.addr(2, X, 3, V, V), [[5, 10], [12, 20]]),
        (lambda: X.clone().addr_(2, 3, V, V), [[5, 10], [12, 20]]),
        (lambda: rg.addbmm(2, X, 3, B, C), [[212, 304], [456, 668]]),
        (lambda: X.addbmm(2, B, C), [[72, 104], [156, 228]]),
        (lambda: rg.baddbmm(2, B, 3, B, C), [[[212, 304], [456, 668]]]),
        (lambda: B.clone().baddbmm_(2, 3, B, C), [[[212, 304], [456, 668]]]),
    ],
)
def test_older_orders_of_arguments_warn_and_work(call, expected):
    with pytest.warns(UserWarning, match="This overload of add|This overload of sub|baddbmm") as w:
        assert call().tolist() == expected
    assert w[0].filename == __file__


def test_an_older_order_is_recorded_as_the_newer_one_is():
    x = X.clone().requires_grad_()
    with pytest.warns(UserWarning, match="Write the numbers by name: add"):
        (x * 1).add_(2, x).sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rg.mul(X, 2, Y),
        lambda: rg.div(X, 2, Y),
        lambda: rg.add(X, Y, 2),
        lambda: rg.addmm(X, Y, 2, X),
        lambda: rg.add(X, 2, Y, 3),
    ],
)
def test_orders_that_never_were_raise(call):
    with pytest.raises(TypeError, match="positional argument"):
        call()


# -- what is no tensor ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: rg.sum(1.0),
        lambda: rg.softmax([1.0], 0),
        lambda: rg.cumsum(1.0, 0),
        lambda: rg.reshape(1.0, (1,)),
        lambda: rg.addmm(1.0, X, Y),
        lambda: rg.nn.functional.cosine_similarity(X, 1.0),
        lambda: rg.nn.functional.margin_ranking_loss(X, X, 1.0),
        lambda: rg.matmul(X, 2.0),
        lambda: rg.linalg.det(2.0),
        lambda: rg.fft.fft(2.0),
    ],
)
def test_what_is_no_tensor_is_named(call):
    with pytest.raises(TypeError, match=r"must be Tensor, not (float|list)"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: rg.zeros(2, 3, size=(6,)),
        lambda: rg.ones(2, size=(2,)),
        lambda: rg.empty((2,), size=(2,)),
        lambda: rg.rand(2, 3, size=(1,)),
        lambda: rg.randn(2, size=(2,)),
        lambda: V.new_zeros(2, size=(3,)),
        lambda: V.new_empty(2, size=(3,)),
        lambda: V.view(2, size=(2, 1)),
        lambda: V.reshape(2, shape=(2, 1)),
        lambda: V.expand(2, size=(3, 2)),
        lambda: V.repeat(2, repeats=(3,)),
        lambda: V.tile(2, dims=(2,)),
        lambda: V.flip(0, dims=(0,)),
        lambda: V.clone().resize_(2, size=(2,)),
        lambda: X.permute(0, 1, dims=(1, 0)),
    ],
)
def test_sizes_that_are_given_in_both_ways_raise(call):
    with pytest.raises(TypeError, match="got multiple values for argument"):
        call()


def test_sizes_are_given_in_either_way():
    assert rg.zeros(size=(2,)).tolist() == rg.zeros(2).tolist() == [0.0, 0.0]
    assert X.permute(dims=(1, 0)).tolist() == X.permute(1, 0).tolist() == X.T.tolist()
    assert V.repeat(repeats=(2,)).tolist() == V.repeat(2).tolist() == [*V.tolist() * 2]

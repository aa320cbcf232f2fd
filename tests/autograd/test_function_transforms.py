"""Custom Functions in forward mode and on batches."""

from __future__ import annotations

import warnings

import pytest

import retrograd as rg
from retrograd.autograd import Function, forward_ad


class Product(Function):
    """x * y * z, with its own derivatives of both modes."""

    @staticmethod
    def forward(ctx, x, y, z):
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)
        ctx.z = z
        return x * y * z

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * y * ctx.z, g * x * ctx.z, None

    @staticmethod
    def jvp(ctx, x_t, y_t, z_t):
        assert z_t is None
        x, y = ctx.saved_tensors
        return ctx.z * (y * x_t + x * y_t)


def scalar(value):
    return rg.tensor(value, dtype=rg.float64)


def tangent(function, *pairs):
    """The tangent of a function of duals, each given as (value, tangent) or a plain value."""
    with forward_ad.dual_level():
        args = [forward_ad.make_dual(scalar(a[0]), scalar(a[1])) if isinstance(a, tuple)
                else scalar(a) for a in pairs]  # fmt: skip
        return forward_ad.unpack_dual(function(*args)).tangent


def test_the_jvp_of_a_function_gives_the_tangent():
    assert tangent(lambda x, y: Product.apply(x, y, 5), (2.0, 1.0), 3.0).item() == 15
    assert tangent(lambda x, y: Product.apply(x, y, 5), (2.0, 1.0), (3.0, 10.0)).item() == 115


def test_operations_inside_forward_carry_no_tangents_of_their_own():
    class Wrong(Product):
        @staticmethod
        def jvp(ctx, x_t, y_t, z_t):
            return x_t * 0 + 7

    assert tangent(lambda x, y: Wrong.apply(x, y, 5), (2.0, 1.0), 3.0).item() == 7


def test_without_a_jvp_it_raises():
    class Silent(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        tangent(Silent.apply, (2.0, 1.0))
    with forward_ad.dual_level():
        assert Silent.apply(scalar(2.0)).item() == 4  # no dual, no question


def test_absent_tangents_are_zeros_or_none_as_asked():
    seen = []

    class Asking(Function):
        wants = True

        @staticmethod
        def forward(ctx, x, y):
            ctx.set_materialize_grads(Asking.wants)
            return x + y

        @staticmethod
        def jvp(ctx, x_t, y_t):
            seen.append(None if y_t is None else y_t.item())
            return x_t

    for Asking.wants in (True, False):
        tangent(Asking.apply, (2.0, 1.0), 3.0)
    assert seen == [0.0, None]


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (lambda t: t, "invalid number of forward gradients"),
        (lambda t: (t, 5), "expected Variable or None"),
        (lambda t: (t, t.unsqueeze(0)), "different size"),
    ],
)
def test_a_jvp_that_returns_something_else_raises(returned, text):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def jvp(ctx, x_t):
            return returned(x_t)

    with forward_ad.dual_level():
        x = forward_ad.make_dual(scalar(2.0), scalar(1.0))
        with pytest.raises(RuntimeError, match=text):
            Two.apply(x)


class Double(Function):
    @staticmethod
    def forward(ctx, x, in_place):
        ctx.mark_dirty(x)
        ctx.in_place = in_place
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, x_t, _):
        return x_t.mul_(2) if ctx.in_place else x_t * 2


def test_a_function_that_writes_its_input_writes_the_tangent_too():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(scalar(2.0), scalar(1.0)).clone()
        assert Double.apply(x, True) is x
        value, moved = forward_ad.unpack_dual(x)
        assert (value.item(), moved.item()) == (4, 2)
        with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
            Double.apply(x, False)


class Head(Function):
    @staticmethod
    def forward(ctx, x, how):
        ctx.how = how
        return x[:2]

    @staticmethod
    def jvp(ctx, x_t, _):
        return {"view": x_t[:2], "copy": x_t[:2].clone(), "other": rg.ones_like(x_t)[:2]}[ctx.how]


def test_a_function_that_returns_a_view_returns_that_view_of_the_tangent():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(rg.ones(3), rg.tensor([1.0, 2.0, 3.0])).clone()
        assert forward_ad.unpack_dual(Head.apply(x, "view")).tangent.tolist() == [1, 2]
        with pytest.raises(RuntimeError, match="jvp is not returning a view"):
            Head.apply(x, "copy")
        with pytest.raises(RuntimeError, match="not returning a view of the given grad input"):
            Head.apply(x, "other")
        with pytest.raises(RuntimeError, match="not returning a view of the same base"):
            Head.apply(x[:], "other")


def test_levels_nest_through_a_jvp():
    def cube(x):
        return Product.apply(x, x, x)  # z is x: a constant to Product

    def first(x):
        return rg.func.jvp(lambda y: Product.apply(y, y * y, 1), (x,), (scalar(1.0),))[1]

    assert first(scalar(2.0)).item() == 12
    assert rg.func.jvp(first, (scalar(2.0),), (scalar(1.0),))[1].item() == 12
    assert cube(scalar(2.0)).item() == 8


def test_reverse_over_forward_differentiates_the_jvp():
    x = scalar(2.0).requires_grad_()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, scalar(1.0))
        moved = forward_ad.unpack_dual(Product.apply(dual, dual * dual, 1)).tangent
        moved.backward()
    assert x.grad.item() == 12  # the second derivative of x ** 3


def test_a_vmap_of_its_own_is_called_with_what_it_needs():
    told = []

    class Twice(Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2 + y

        @staticmethod
        def backward(ctx, g):
            return g * 2, g

        @staticmethod
        def vmap(info, in_dims, x, y):
            told.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
            return Twice.apply(x, y), 0

    x = rg.arange(6.0, dtype=rg.float64).reshape(3, 2).requires_grad_()
    out = rg.func.vmap(lambda row: Twice.apply(row, scalar(1.0)))(x)
    assert out.tolist() == (x * 2 + 1).tolist()
    assert told == [(3, "error", (0, None), (3, 2))]
    out.sum().backward()
    assert x.grad.tolist() == [[2, 2]] * 3


def ruled(rule):
    """A Function of a tensor and a list of tensors, with `rule` as its `vmap`."""

    class Ruled(Function):
        forward = staticmethod(lambda ctx, x, others: (x.clone(), x.clone()))
        backward = staticmethod(lambda ctx, g, h: (g + h, None))
        vmap = staticmethod(rule)

    return Ruled.apply


def test_a_vmap_of_its_own_gets_containers_of_batches_and_returns_containers():
    told = []

    def rule(info, in_dims, x, others):
        told.append(in_dims)
        return [x + others[0], others[1]], [0, None]

    x, constant = rg.arange(3.0), rg.tensor(5.0)
    total, same = rg.func.vmap(lambda v: ruled(rule)(v, [v, constant]))(x)
    assert told == [(0, [0, None])]
    assert total.tolist() == [0.0, 2.0, 4.0]
    assert same.tolist() == [5.0] * 3


@pytest.mark.parametrize("returned", [lambda x: x, lambda x: (x, x, 0)])
def test_a_vmap_of_its_own_must_return_outputs_and_their_dimensions(returned):
    apply = ruled(lambda info, in_dims, x, others: returned(x))
    with pytest.raises(RuntimeError, match="to have two returns, an output and its out_dims"):
        rg.func.vmap(lambda v: apply(v, []))(rg.arange(3.0))


@pytest.mark.parametrize("dims", [(0,), (0, 0, 0), [0, [0, 0]]])
def test_a_vmap_of_its_own_must_say_a_dimension_for_each_output(dims):
    apply = ruled(lambda info, in_dims, x, others: ((x, x), dims))
    with pytest.raises(RuntimeError, match="returned an incompatible"):
        rg.func.vmap(lambda v: apply(v, []))(rg.arange(3.0))


def test_without_one_it_runs_once_per_example_and_says_so():
    x = rg.arange(3.0, dtype=rg.float64)
    with pytest.warns(UserWarning, match="Product"):
        out = rg.func.vmap(lambda v: Product.apply(v, v, 2))(x)
    assert out.tolist() == [0, 2, 8]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grads = rg.func.vmap(rg.func.grad(lambda v: Product.apply(v, v, 2)))(x)
    assert grads.tolist() == [0, 4, 8]


def test_a_dual_shows_its_tangent():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(rg.tensor([2.0]), rg.tensor([1.0]))
        assert repr(x) == "tensor([2.], tangent=tensor([1.]))"


def test_a_transform_needs_no_view_where_the_input_is_returned():
    class Tripled(rg.autograd.Function):
        @staticmethod
        def forward(x):
            return x

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def jvp(ctx, t):
            return t * 3

    x = rg.ones(2)
    assert rg.func.jvp(Tripled.apply, (x,), (x,))[1].tolist() == [3.0, 3.0]


class InPlace(Function):
    """Twice x, in the memory of x."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def jvp(ctx, t):
        return t


def test_a_jvp_that_leaves_the_tangent_of_a_written_input_raises():
    with (
        forward_ad.dual_level(),
        pytest.raises(RuntimeError, match="jvp function must modify the corresponding gradient"),
    ):
        InPlace.apply(forward_ad.make_dual(rg.ones(2), rg.ones(2)))


class Elsewhere(Function):
    """The first two rows as a view, with a tangent that is a view of something else."""

    @staticmethod
    def forward(ctx, x):
        return x[:2]

    @staticmethod
    def jvp(ctx, t):
        return t[:2].clone()[:]


@pytest.mark.parametrize(
    ("argument", "said"),
    [(lambda x: x, "of the given grad input"), (lambda x: x[:], "of the same base as the given")],
    ids=["itself", "view"],
)
def test_a_tangent_that_is_a_view_of_something_else_raises(argument, said):
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(rg.ones(4), rg.ones(4))
        with pytest.raises(RuntimeError, match=said):
            Elsewhere.apply(argument(dual))


def test_jvp_gets_no_tangent_for_integers():
    class Both(Function):
        @staticmethod
        def forward(ctx, x, n):
            return x * n, n.clone()

        @staticmethod
        def jvp(ctx, t, n_t):
            assert n_t is None
            return 3 * t, None

    with forward_ad.dual_level():
        made = Both.apply(forward_ad.make_dual(scalar(2.0), scalar(1.0)), rg.tensor(3))
        assert forward_ad.unpack_dual(made[0]).tangent.item() == 3
        assert forward_ad.unpack_dual(made[1]).tangent is None


def test_forward_runs_with_forward_derivatives_off():
    class Asking(Function):
        @staticmethod
        def forward(ctx, x):
            assert not forward_ad._is_fwd_grad_enabled()
            return x * 2

    Asking.apply(rg.ones(2))
    assert forward_ad._is_fwd_grad_enabled()


class Told(Function):
    """Twice x, plus a number; on batches it says what it was given."""

    @staticmethod
    def forward(x, *, more=0.0):
        return 2 * x + more

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def vmap(info, in_dims, x, *, more=0.0):
        seen.append((in_dims, tuple(x.shape)))
        return 2 * x + more, in_dims[0]


seen = []


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (rg.vmap(Told.apply, in_dims=1), ((1,), (2, 3))),
        (rg.vmap(Told.apply, in_dims=-1), ((1,), (2, 3))),
        (rg.vmap(lambda x: Told.apply(x * 1), in_dims=1), ((0,), (3, 2))),
    ],
    ids=["given", "negative", "computed"],
)
def test_vmap_is_told_where_the_batch_was_given(function, told):
    seen.clear()
    x = rg.arange(6.0).reshape(2, 3)
    assert function(x).tolist() == (2 * x).T.tolist()
    assert seen == [told]


def test_vmap_within_vmap_is_told_where_each_batch_was_given():
    seen.clear()
    x = rg.arange(24.0).reshape(2, 3, 4)
    made = rg.vmap(rg.vmap(Told.apply, in_dims=1), in_dims=1)(x)
    assert made.tolist() == (2 * x).permute(1, 2, 0).tolist()
    assert seen == [((1,), (2, 4))]


def test_vmap_gets_what_forward_takes_by_keyword():
    made = rg.vmap(lambda x: Told.apply(x, more=5.0))(rg.ones(2, 3))
    assert made.tolist() == [[7, 7, 7]] * 2


def test_tensors_by_keyword_have_no_batch_dimension_to_tell():
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        rg.vmap(lambda x: Told.apply(x, more=x))(rg.ones(2, 3))


def test_a_function_with_two_rules_for_batches_is_refused():
    class Two(Told):
        generate_vmap_rule = True

    with pytest.raises(RuntimeError, match="generate_vmap_rule=True and a vmap staticmethod"):
        rg.vmap(Two.apply)(rg.ones(2))


def test_out_dims_in_another_container_than_the_outputs_are_refused():
    class Listed(Told):
        @staticmethod
        def vmap(info, in_dims, x, **options):
            return [x], (0,)

    with pytest.raises(RuntimeError, match="returned an incompatible"):
        rg.vmap(Listed.apply)(rg.ones(2))


@pytest.mark.parametrize("given", [3, 3.0], ids=["integer", "marked"])
def test_a_tangent_for_an_output_without_derivative_raises(given):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            made = y.clone()
            if y.is_floating_point():
                ctx.mark_non_differentiable(made)
            return x.clone(), made

        @staticmethod
        def jvp(ctx, t, _):
            return t, t

    with (
        forward_ad.dual_level(),
        pytest.raises(RuntimeError, match="should return None at that position"),
    ):
        Wrong.apply(forward_ad.make_dual(scalar(2.0), scalar(1.0)), rg.tensor(given))


class Cube(Function):
    """x³, and its derivative, which is saved as an output."""

    @staticmethod
    def forward(x):
        return x**3, 3 * x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output[1])
        ctx.save_for_forward(*inputs, output[1])

    @staticmethod
    def backward(ctx, g, h):
        x, slope = ctx.saved_tensors
        return g * slope + h * 6 * x

    @staticmethod
    def jvp(ctx, t):
        x, slope = ctx.saved_tensors
        return t * slope, t * 6 * x


def cube(x):
    return Cube.apply(x)[0]


def forward_derivative(f):
    return lambda x: rg.func.jvp(f, (x,), (rg.ones_like(x),))[1]


@pytest.mark.parametrize("outer", [forward_derivative, rg.func.grad])
@pytest.mark.parametrize("inner", [forward_derivative, rg.func.grad])
def test_a_saved_output_is_differentiated_in_both_modes(outer, inner):
    assert outer(inner(cube))(scalar(2.0)).item() == 12.0


def test_a_saved_output_has_its_tangent_in_the_backward_pass_of_a_dual():
    with forward_ad.dual_level():
        x = forward_ad.make_dual(scalar([1.0, 2.0]).requires_grad_(), scalar([1.0, 10.0]))
        (g,) = rg.autograd.grad(cube(x).sum(), x, create_graph=True)
        assert forward_ad.unpack_dual(g).tangent.tolist() == [6.0, 120.0]

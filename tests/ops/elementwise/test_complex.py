"""Complex numbers: conjugates, parts as views, absolute value, angle, polar form."""

import math

import numpy as np
import pytest

import retrograd as rg

INF = math.inf


def leaf(*values, dtype=rg.complex128):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def two_derivatives(function, z):
    (first,) = rg.autograd.grad(function(z).sum(), z, create_graph=True)
    (second,) = rg.autograd.grad(first.real.sum(), z)
    return first.tolist(), second.tolist()


def test_abs_has_slope_sgn_and_zero_at_zero():
    first, second = two_derivatives(rg.abs, leaf(0j, 3 + 4j))
    np.testing.assert_allclose(first, [0, 0.6 + 0.8j], rtol=1e-15)
    np.testing.assert_allclose(second, [0, 0.128 - 0.096j], rtol=1e-14)


def test_abs_and_its_slope_are_safe_at_every_scale():
    scales = [1e-300, 1e-160, 1.0, 1e160, 1e300]
    z = leaf(*[scale * (3 + 4j) for scale in scales])
    y = z.abs()
    np.testing.assert_allclose(y.tolist(), [5 * scale for scale in scales], rtol=1e-15)
    (grad,) = rg.autograd.grad(y.sum(), z)
    np.testing.assert_allclose(grad.tolist(), [0.6 + 0.8j] * 5, rtol=1e-15)


def test_sgn_has_both_parts_where_the_modulus_overflows():
    most = np.finfo(np.float64).max
    z = leaf(complex(most, most), complex(-most, most / 2), complex(most, 5e-324))
    expected = [0.5**0.5 * (1 + 1j), 0.2**0.5 * (-2 + 1j), 1]
    np.testing.assert_allclose(z.sgn().tolist(), expected, rtol=1e-15)
    (grad,) = rg.autograd.grad(z.abs().sum(), z)
    np.testing.assert_allclose(grad.tolist(), expected, rtol=1e-15)


def test_an_infinite_gradient_of_the_imaginary_part_has_the_real_part_zero():
    z = leaf(1 + 0j, 2 + 1j)
    z.imag.log().sum().backward()
    assert z.grad.tolist() == [complex(0, INF), 1j]


def test_angle_at_zero_and_on_the_cut():
    first, second = two_derivatives(rg.angle, leaf(0j, 1 + 1j, -1 + 0j))
    np.testing.assert_allclose(first, [0, -0.5 + 0.5j, -1j], rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(second, [0, 0.5, -1j], rtol=1e-15, atol=1e-15)
    values = rg.angle(rg.tensor([1.0, -1.0, -0.0, math.nan])).tolist()
    np.testing.assert_allclose(values, [0, math.pi, 0, math.nan], rtol=1e-7)


def test_angle_slope_is_safe_at_every_scale():
    z = leaf(1e-200j, 1e200j)
    (grad,) = rg.autograd.grad(rg.angle(z).sum(), z)
    np.testing.assert_allclose(grad.tolist(), [-1e200, -1e-200], rtol=1e-15)


def test_sgn_of_zero_and_infinity():
    assert rg.sgn(rg.tensor([0j, -3 + 0j, complex(INF, 0)])).tolist() == [0, -1, 1]
    z = leaf(0j, 3 + 4j)
    (first,) = rg.autograd.grad(rg.sgn(z), z, rg.ones_like(z), create_graph=True)
    np.testing.assert_allclose(first.tolist(), [0, 0.128 - 0.096j], rtol=1e-14)
    (second,) = rg.autograd.grad(first, z, rg.ones_like(z))
    np.testing.assert_allclose(second.tolist(), [0, -0.04608 + 0.00256j], rtol=1e-13)


def test_abs_of_integers_and_bools():
    assert rg.abs(rg.tensor([-5])).tolist() == [5]
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        rg.abs(rg.tensor([True]))


def test_sum_of_conjugates_has_gradient_one():
    z = leaf(1 + 2j, 3 - 1j)
    out = rg.conj(z).sum()
    assert out.item() == 4 - 1j
    assert rg.autograd.grad(out, z, rg.ones_like(out))[0].tolist() == [1, 1]
    assert z.conj().grad_fn.name() == "ConjBackward0"


def test_real_tensors_are_their_own_conjugate_and_real_part():
    x = rg.ones(2, requires_grad=True)
    for same in (x.conj(), x.conj_physical(), x.resolve_conj(), x.resolve_neg(), x.real,
                 rg.real(x), rg.conj(x)):  # fmt: skip
        assert same is x
    assert not x.is_conj()
    assert not x.is_neg()


def test_a_conjugate_has_its_own_memory():
    z = rg.tensor([1 + 2j])
    w = z.conj()
    z.mul_(2)
    assert w.tolist() == [1 - 2j]
    assert z.conj_physical_() is z
    assert z.tolist() == [2 - 4j]


def test_parts_are_views_that_write_through():
    z = rg.tensor([1 + 2j, 3 + 4j])
    assert z.real._base is z
    z.real.mul_(10)
    z.imag.zero_()
    assert z.tolist() == [10, 30]
    z.real = rg.tensor([5.0, 6.0])
    z.imag = 1.0
    assert z.tolist() == [5 + 1j, 6 + 1j]


def test_writing_a_part_in_place_is_differentiated():
    z = leaf(1 + 2j, 3 + 4j)
    w = z * 1
    w.imag.mul_(3)
    (grad,) = rg.autograd.grad(w.imag.sum() + w.real.sum(), z)
    assert grad.tolist() == [1 + 3j, 1 + 3j]


def test_gradients_of_the_parts():
    z = leaf(1 + 2j)
    assert rg.autograd.grad(z.real.sum(), z)[0].tolist() == [1]
    assert rg.autograd.grad(z.imag.sum(), z)[0].tolist() == [1j]
    assert rg.autograd.grad((z.real * z.imag).sum(), z)[0].tolist() == [2 + 1j]


def test_a_real_tensor_has_no_imaginary_part():
    with pytest.raises(RuntimeError, match="imag is not implemented for tensors with non-complex"):
        rg.ones(1).imag
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        rg.ones(1).imag = rg.ones(1)


def test_complex_and_polar_give_gradients_to_their_parts():
    x, y = leaf(3.0, dtype=rg.float64), leaf(4.0, dtype=rg.float64)
    out = rg.complex(x, y)
    assert out.tolist() == [3 + 4j]
    grads = rg.autograd.grad(out, [x, y], rg.tensor([1 + 2j], dtype=rg.complex128))
    assert [g.item() for g in grads] == [1, 2]
    radius, turn = leaf(2.0, 0.0, dtype=rg.float64), leaf(math.pi / 2, 0.0, dtype=rg.float64)
    out = rg.polar(radius, turn)
    np.testing.assert_allclose(out.tolist(), [2j, 0], atol=1e-15)
    grads = rg.autograd.grad(out, [radius, turn], rg.tensor([3 + 1j, 1 + 5j], dtype=rg.complex128))
    np.testing.assert_allclose(grads[0].tolist(), [1, 1], rtol=1e-15)
    np.testing.assert_allclose(grads[1].tolist(), [-6, 0], rtol=1e-15)


@pytest.mark.parametrize("function", [rg.complex, rg.polar])
def test_parts_must_be_floating_tensors_of_one_dtype(function):
    with pytest.raises(RuntimeError, match="but got Long and Long"):
        function(rg.tensor([1]), rg.tensor([1]))
    with pytest.raises(RuntimeError, match="scalar type Float but got scalar type Double"):
        function(rg.ones(1), rg.ones(1, dtype=rg.float64))
    with pytest.raises(TypeError, match=r"\(position 2\) must be Tensor, not float"):
        function(rg.ones(1), 2.0)


def test_infinite_parts_stay_apart():
    z = rg.complex(rg.tensor([1.0]), rg.tensor([INF]))
    assert z.tolist() == [complex(1, INF)]


def test_views_as_pairs_share_memory_and_gradients():
    z = leaf(1 + 2j, 3 + 4j)
    pairs = rg.view_as_real(z * 1)
    assert pairs.tolist() == [[1, 2], [3, 4]]
    (grad,) = rg.autograd.grad((pairs * rg.tensor([1.0, 10.0], dtype=rg.float64)).sum(), z)
    assert grad.tolist() == [1 + 10j, 1 + 10j]
    x = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
    w = rg.view_as_complex(x)
    w.mul_(1j)
    assert x.tolist() == [[-2, 1], [-4, 3]]
    assert rg.view_as_real(rg.tensor(1 + 2j)).tolist() == [1, 2]
    assert rg.view_as_real(rg.tensor([[1j, 2j], [3j, 4j]]).t())[..., 1].tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rg.view_as_real(rg.ones(1)), "only supported for complex tensors"),
        (lambda: rg.view_as_complex(rg.ones(3)), "must have a last dimension of size 2"),
        (lambda: rg.view_as_complex(rg.ones(2, 4)[:, ::2]), "last dimension with stride 1"),
        (lambda: rg.view_as_complex(rg.ones(2, 3)[:, :2]), "stride divisible by 2"),
        (lambda: rg.view_as_complex(rg.tensor(1.0)), "one or more dimensions"),
        (lambda: rg.view_as_complex(rg.tensor([1, 2])), "got a tensor of scalar type: Long"),
    ],
)
def test_view_errors(make, message):
    with pytest.raises(RuntimeError, match=message):
        make()


def test_is_complex_wants_a_tensor():
    assert rg.is_complex(rg.tensor(1j))
    assert not rg.ones(1).is_complex()
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        rg.is_complex(1)


def test_real_gradients_of_real_inputs_in_complex_expressions():
    x = leaf(2.0, dtype=rg.float64)
    z = leaf(1 + 1j)
    (grad,) = rg.autograd.grad((x * z).abs().sum(), x)
    assert grad.dtype is rg.float64
    np.testing.assert_allclose(grad.tolist(), [math.sqrt(2)], rtol=1e-15)


@pytest.mark.parametrize(("dtype", "far"), [(rg.complex64, 100.0), (rg.complex128, 800.0)])
def test_tangents_are_flat_where_their_cosines_overflow(dtype, far):
    x = leaf(far + 1j, -far + 1j, dtype=dtype)
    y = leaf(1 + far * 1j, 1 - far * 1j, dtype=dtype)
    (x.tanh() + y.tan()).real.sum().backward()
    assert x.grad.tolist() == y.grad.tolist() == [0, 0]


def test_a_part_is_assigned_real_numbers_only():
    z = rg.tensor([1 + 2j])
    z.real, z.imag = 3 + 0j, 4
    with pytest.raises(RuntimeError, match="without overflow"):
        z.real = 1j
    assert z.tolist() == [3 + 4j]


def test_a_complex_number_without_imaginary_part_fills_a_real_tensor():
    x = rg.ones(3)
    x[0] = 2 + 0j
    x[1:].fill_(4 + 0j)
    assert x.tolist() == [2.0, 4.0, 4.0]
    assert rg.full((1,), 5 + 0j, dtype=rg.float64).tolist() == [5.0]
    with pytest.raises(RuntimeError, match="without overflow"):
        x[0] = 1j

"""Sampling at points, distances between all pairs, fractional pooling, attention, forms by index.

Values and derivatives are compared with PyTorch's in `tests/nn/test_functional.py`; here is what
that leaves: complex data, special values, empty tensors, errors.
"""

from __future__ import annotations

import itertools

import pytest

import retrograd as rg
from retrograd.autograd import gradcheck, gradgradcheck

F = rg.nn.functional


def drawn(*shape, dtype=rg.float64):
    rg.manual_seed(3)
    return rg.randn(*shape, dtype=dtype).requires_grad_()


# -- grids -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_sampling_a_complex_image_samples_its_parts(mode):
    image, grid = drawn(1, 2, 3, 4, dtype=rg.complex128), drawn(1, 2, 3, 2)
    out = F.grid_sample(image, grid, mode, align_corners=False)
    parts = [F.grid_sample(p, grid, mode, align_corners=False) for p in (image.real, image.imag)]
    assert rg.allclose(out, rg.complex(*parts))


def test_derivatives_of_sampling_a_complex_image_are_right():
    image = drawn(1, 1, 3, 3, dtype=rg.complex128)
    grid = rg.tensor([[[[0.3, -0.45], [0.71, 0.1]]]], dtype=rg.float64, requires_grad=True)

    def sampled(image, grid):
        return F.grid_sample(image, grid, "bicubic", "reflection", align_corners=True)

    assert gradcheck(sampled, (image, grid))
    assert gradgradcheck(sampled, (image, grid))


def test_a_point_that_is_no_number_reads_zero():
    image = rg.ones(1, 1, 2, 2)
    grid = rg.tensor([[[[float("nan"), 0.0], [float("inf"), 0.0], [1e30, 0.0]]]])
    assert F.grid_sample(image, grid, align_corners=True).tolist() == [[[[0.0, 0.0, 0.0]]]]
    border = F.grid_sample(image, grid[:, :, 1:], padding_mode="border", align_corners=True)
    assert border.tolist() == [[[[1.0, 1.0]]]]


def test_the_nearest_entry_has_derivative_zero_by_the_grid():
    image, grid = rg.ones(1, 1, 2, 2), drawn(1, 2, 2, 2)
    F.grid_sample(image.double(), grid, "nearest", align_corners=False).sum().backward()
    assert rg.equal(grid.grad, rg.zeros_like(grid))


def test_sampling_nothing_gives_nothing():
    out = F.grid_sample(rg.ones(0, 2, 3, 3), rg.ones(0, 4, 5, 2), align_corners=False)
    assert out.shape == (0, 2, 4, 5)
    assert F.grid_sample(rg.ones(1, 2, 3, 3), rg.ones(1, 0, 5, 2), align_corners=True).numel() == 0


def test_the_identity_grid_gives_the_image_back():
    image = drawn(2, 1, 3, 5)
    theta = rg.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], dtype=rg.float64).expand(2, 2, 3)
    for align in (False, True):
        grid = F.affine_grid(theta, image.shape, align_corners=align)
        assert rg.allclose(F.grid_sample(image, grid, align_corners=align), image)


def test_the_gradient_of_an_affine_grid_lies_by_columns():  # as in PyTorch, a transposed product
    for dims, strides in ((2, (6, 1, 2)), (3, (12, 1, 3))):
        theta = drawn(2, dims, dims + 1)
        points = F.affine_grid(theta, (2, 1, *range(2, 2 + dims)), align_corners=True)
        (found,) = rg.autograd.grad(points.square().sum(), theta)
        assert found.stride() == strides


def test_every_place_is_reflected_into_an_image_of_one_element():
    image, grid = rg.tensor([[[[5.0]]]]), rg.tensor([[[[0.3, -0.7], [3.0, 8.0]]]])
    for align in (True, False):
        found = F.grid_sample(image, grid, padding_mode="reflection", align_corners=align)
        assert found.tolist() == [[[[5.0, 5.0]]]]


def test_sampling_warns_where_the_corners_are_not_said():
    changed = "Default grid_sample and affine_grid behavior has changed to align_corners=False"
    with pytest.warns(UserWarning, match=changed):
        F.grid_sample(rg.ones(1, 1, 2, 2), rg.zeros(1, 1, 1, 2))
    with pytest.warns(UserWarning, match=changed):
        F.affine_grid(rg.ones(1, 2, 3), (1, 1, 2, 2))


@pytest.mark.parametrize(
    ("image", "grid", "mode", "padding", "kind", "text"),
    [
        ((1, 1, 2, 2), (1, 1, 1, 2), "cubic", "zeros", ValueError, "expected mode to be"),
        ((1, 1, 2, 2), (1, 1, 1, 2), "nearest", "ones", ValueError, "expected padding_mode"),
        ((1, 1, 2), (1, 1, 1, 2), "nearest", "zeros", RuntimeError, "expected 4D or 5D input"),
        ((1, 1, 2, 2), (2, 1, 1, 2), "nearest", "zeros", RuntimeError, "same batch size"),
        ((1, 1, 2, 2), (1, 1, 1, 3), "nearest", "zeros", RuntimeError, "size 2 in last dimension"),
        ((1, 1, 0, 2), (1, 1, 1, 2), "nearest", "zeros", RuntimeError, "non-empty spatial"),
        ((1, 1, 2, 2, 2), (1, 1, 1, 1, 3), "bicubic", "zeros", RuntimeError, "only supports 4D"),
    ],
)
def test_arguments_of_sampling_that_do_not_fit_raise(image, grid, mode, padding, kind, text):
    with pytest.raises(kind, match=text):
        F.grid_sample(rg.ones(image), rg.zeros(grid), mode, padding, False)


def test_a_grid_of_another_precision_raises():
    with pytest.raises(RuntimeError, match="same dtype"):
        F.grid_sample(rg.ones(1, 1, 2, 2), rg.zeros(1, 1, 1, 2).double(), align_corners=False)


@pytest.mark.parametrize(
    ("theta", "size", "kind", "text"),
    [
        ((1, 2, 3), (1, 1, 2), NotImplementedError, "only supports 4D and 5D sizes"),
        ((1, 3, 4), (1, 1, 2, 2), ValueError, "2D affine matrices of shape Nx2x3"),
        ((1, 2, 3), (1, 1, 0, 2), ValueError, "Expected non-zero, positive output size"),
        ((1, 2, 3), (2, 1, 2, 2), RuntimeError, "one affine matrix for each of 2 images"),
    ],
)
def test_arguments_of_an_affine_grid_that_do_not_fit_raise(theta, size, kind, text):
    with pytest.raises(kind, match=text):
        F.affine_grid(rg.ones(theta), size, False)


# -- distances -------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0, 1, 1.5, 2, 3, float("inf")])
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_distances_are_norms_of_differences(p, dtype):
    x, y = drawn(3, 4, dtype=dtype), drawn(2, 4, dtype=dtype).detach() * 2
    found = rg.cdist(x, y, p)
    assert found.dtype is rg.float64
    for i, j in itertools.product(range(3), range(2)):
        assert found[i, j].item() == pytest.approx((x[i] - y[j]).norm(p).item())
    pairs = [(x[i] - x[j]).norm(p).item() for i in range(3) for j in range(i + 1, 3)]
    assert rg.pdist(x, p).tolist() == pytest.approx(pairs)


@pytest.mark.parametrize("p", [1.5, 2, 3])
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_derivatives_of_distances_are_right(p, dtype):
    x, y = drawn(3, 2, dtype=dtype), (drawn(2, 2, dtype=dtype).detach() + 1).requires_grad_()
    assert gradcheck(rg.cdist, (x, y, p))
    assert gradgradcheck(rg.cdist, (x, y, p))
    assert gradcheck(rg.pdist, (x, p))


@pytest.mark.parametrize("p", [0, 0.5, 1, 1.5, 2, 3, float("inf")])
def test_the_derivative_is_zero_where_points_coincide(p):
    x = rg.tensor([[1.0, 2.0], [1.0, 2.0]], requires_grad=True)
    for function in (lambda x: rg.cdist(x, x.detach(), p), lambda x: rg.pdist(x, p)):
        (grad,) = rg.autograd.grad(function(x).sum(), x)
        assert rg.equal(grad, rg.zeros_like(x))


def test_equally_far_entries_all_get_the_whole_gradient():
    x = rg.tensor([[2.0, -2.0, 1.0]], requires_grad=True)
    rg.cdist(x, rg.zeros(1, 3), float("inf")).sum().backward()
    assert x.grad.tolist() == [[1.0, -1.0, 0.0]]


def test_small_distances_far_from_the_origin_keep_their_digits():
    x = rg.tensor([[1e6, 1e6]], dtype=rg.float64)
    assert rg.cdist(x, x + rg.tensor([3e-4, 4e-4], dtype=rg.float64)).item() == pytest.approx(
        5e-4, rel=1e-5
    )


NEAR = "donot_use_mm_for_euclid_dist"
PRODUCT = "use_mm_for_euclid_dist"


@pytest.mark.parametrize("mode", [NEAR, PRODUCT])
@pytest.mark.parametrize("shapes", [((3, 2), (4, 2)), ((2, 3, 2), (4, 2)), ((3, 2), (2, 4, 2))])
def test_euclidean_distances_are_the_same_by_differences_and_by_products(shapes, mode):
    x, y = drawn(*shapes[0]), (drawn(*shapes[1]).detach() * 2 + 1).requires_grad_()
    expected = (x.unsqueeze(-2) - y.unsqueeze(-3)).norm(2, -1)
    assert rg.allclose(rg.cdist(x, y, compute_mode=mode), expected, rtol=1e-13)
    assert gradcheck(lambda x, y: rg.cdist(x, y, compute_mode=mode), (x, y), check_forward_ad=True)
    assert gradgradcheck(lambda x, y: rg.cdist(x, y, compute_mode=mode), (x, y))


@pytest.mark.parametrize(
    ("count", "mode", "exact"),
    [
        (25, None, True),
        (26, None, False),
        (26, "use_mm_for_euclid_dist_if_necessary", False),
        (26, NEAR, True),
        (1, PRODUCT, False),
    ],
)
def test_products_cost_digits_and_are_taken_where_asked_or_for_many_points(count, mode, exact):
    x, y = rg.full((1, 1), 1e4), rg.full((count, 1), 1e4 + 0.0625)
    found = rg.cdist(x, y, compute_mode=mode)
    assert rg.equal(found, rg.full((1, count), 0.0625)) == exact


def test_the_derivative_of_a_distance_by_products_is_zero_where_points_coincide():
    x = rg.tensor([[1.0, 2.0], [3.0, 5.0]], requires_grad=True)
    (derivative,) = rg.autograd.grad(
        rg.cdist(x, x.detach(), compute_mode=PRODUCT).diagonal().sum(), x
    )
    assert rg.equal(derivative, rg.zeros(2, 2))


def test_missing_numbers_make_the_count_of_differences_nan():
    found = rg.cdist(rg.tensor([[float("nan"), 1.0], [0.5, 1.0]]), rg.tensor([[0.0, 1.0]]), 0)
    assert found[0].isnan().all()
    assert found[1].item() == 1.0


def test_distances_of_nothing_are_empty_or_zero():
    assert rg.cdist(rg.ones(0, 2), rg.ones(3, 2)).shape == (0, 3)
    assert rg.equal(rg.cdist(rg.ones(2, 0), rg.ones(3, 0)), rg.zeros(2, 3))
    assert rg.pdist(rg.ones(1, 2)).shape == (0,)
    assert rg.cdist(rg.ones(4, 1, 2, 3), rg.ones(5, 6, 3)).shape == (4, 5, 2, 6)


def test_arguments_of_distances_that_do_not_fit_raise():
    x = rg.ones(2, 3)
    with pytest.raises(RuntimeError, match="only supports at least 2D tensors"):
        rg.cdist(rg.ones(3), x)
    with pytest.raises(RuntimeError, match="same number of columns"):
        rg.cdist(x, rg.ones(2, 2))
    with pytest.raises(RuntimeError, match="non-negative p values"):
        rg.cdist(x, x, -1.0)
    with pytest.raises(RuntimeError, match="floating-point dtypes"):
        rg.cdist(x.long(), x.long())
    with pytest.raises(ValueError, match="not a valid value for compute_mode"):
        rg.cdist(x, x, compute_mode="fast")
    with pytest.raises(RuntimeError, match="only supports 2D tensors"):
        rg.pdist(rg.ones(3))


# -- pooling ---------------------------------------------------------------------------------------


def test_fractional_windows_cover_the_end_and_lie_in_order():
    x = rg.arange(49.0).reshape(1, 1, 7, 7)
    out, indices = F.fractional_max_pool2d(x, 2, output_size=(4, 5), return_indices=True)
    assert out[..., -1, -1].item() == 48.0
    assert bool((out.diff(dim=-1) > 0).all())
    assert rg.equal(out, indices.to(x.dtype))


def test_fractional_windows_start_where_the_dtype_of_the_samples_rounds_to():
    x, samples = rg.arange(144.0).reshape(1, 1, 12, 12), rg.full((1, 1, 2), 0.4)
    out = F.fractional_max_pool2d(x, 2, output_size=4, _random_samples=samples)
    assert out[0, 0, 0].tolist() == [13.0, 16.0, 20.0, 23.0]  # 2.4 * 10 / 3 is 8 in float32


def test_fractional_pooling_counts_a_missing_number_as_largest():
    x = rg.zeros(1, 3, 3)
    x[0, 1, 1] = float("nan")
    assert F.fractional_max_pool2d(x, 2, output_size=2).isnan().all()


def test_arguments_of_fractional_pooling_that_do_not_fit_raise():
    x = rg.ones(1, 1, 4, 4)
    with pytest.raises(ValueError, match="either an output_size or an output_ratio"):
        F.fractional_max_pool2d(x, 2)
    with pytest.raises(RuntimeError, match="too large relative to input"):
        F.fractional_max_pool2d(x, 3, output_size=3)
    with pytest.raises(RuntimeError, match="Expect _random_samples of shape"):
        F.fractional_max_pool2d(x, 2, output_size=2, _random_samples=rg.rand(1, 2, 2))


# -- the rest --------------------------------------------------------------------------------------


def test_forms_with_indices_return_them_whatever_is_asked():
    x = rg.tensor([[[1.0, 4, 3, 2], [5, 6, 8, 7]]])
    for values, indices in (
        F.max_pool1d_with_indices(x, 2, return_indices=False),
        F.adaptive_max_pool1d_with_indices(x, 2),
    ):
        assert values.tolist() == [[[4, 3], [6, 8]]]
        assert indices.tolist() == [[[1, 2], [1, 2]]]


@pytest.mark.parametrize(
    ("shape", "weight", "bias", "text"),
    [
        ((2, 3, 4), (5, 4), None, "dimensionality 1 or 2, got 3"),
        ((2, 3), (3,), None, "at least 2, got 1"),
        ((2, 3), (5, 4), None, "equal input and linear_weight last dimensions"),
        ((2, 3), (5, 3), (4,), "expected linear_bias shape"),
        ((3,), (5, 2, 3), None, "batched input"),
    ],
)
def test_shapes_of_a_linear_cross_entropy_that_do_not_fit_raise(shape, weight, bias, text):
    with pytest.raises(RuntimeError, match=text):
        F.linear_cross_entropy(
            rg.ones(shape),
            rg.ones(weight),
            rg.tensor([0, 1]),
            linear_bias=None if bias is None else rg.ones(bias),
        )


IN_PLACE = [
    (F.relu, {}),
    (F.relu6, {}),
    (F.celu, {}),
    (F.elu, {}),
    (F.selu, {}),
    (F.silu, {}),
    (F.mish, {}),
    (F.hardtanh, {}),
    (F.hardswish, {}),
    (F.hardsigmoid, {}),
    (F.leaky_relu, {}),
    (F.rrelu, {}),
    (F.threshold, {"threshold": 0.1, "value": 2.0}),
    (F.dropout, {"p": 1.0}),
    (F.dropout1d, {"p": 1.0}),
    (F.dropout2d, {"p": 1.0}),
    (F.dropout3d, {"p": 1.0}),
    (F.alpha_dropout, {"p": 1.0, "training": True}),
    (F.feature_alpha_dropout, {"p": 1.0, "training": True}),
]


@pytest.mark.filterwarnings("ignore:dropout.d. Received a 3")
@pytest.mark.parametrize(("function", "keywords"), IN_PLACE)
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_the_argument_inplace_writes_the_input_with_its_history(function, keywords, dtype):
    leaf = drawn(2, 3, 2, dtype=dtype)
    expected = function(leaf, **keywords)
    (wanted,) = rg.autograd.grad(expected.abs().sum(), leaf)
    x = leaf * 1
    version = x._version
    assert function(x, inplace=True, **keywords) is x
    assert x._version == version + 1
    assert rg.equal(x, expected)
    (found,) = rg.autograd.grad(x.abs().sum(), leaf)
    assert rg.allclose(found, wanted)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        function(leaf, inplace=True, **keywords)


SIDES = {  # PyTorch 2.13's
    True: [[-20202.0, -8232.0, -13419.0], [-168.0, -38346.0, -2331.0]],
    False: [[-32662.0, -392.0, -1053.5], [-392.0, -36022.0, -2229.5]],
}


@pytest.mark.parametrize("align", [True, False])
def test_points_of_the_identity_read_each_entry_from_pytorchs_side(align):
    theta = rg.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], requires_grad=True)
    image = rg.arange(49.0).reshape(1, 1, 7, 7) ** 2
    points = rg.nn.functional.affine_grid(theta, (1, 1, 7, 7), align_corners=align)
    rg.nn.functional.grid_sample(image, points, align_corners=align).sum().backward()
    assert theta.grad[0].tolist() == [pytest.approx(row, rel=1e-5) for row in SIDES[align]]


def test_points_of_a_shape_without_data_have_a_shape():
    theta = rg.ones(2, 2, 3, device="meta")
    points = F.affine_grid(theta, (2, 1, 4, 3), align_corners=False)
    assert (points.device.type, points.shape) == ("meta", (2, 4, 3, 2))


def test_points_are_where_theta_is_whatever_the_default_device():
    theta = rg.eye(2, 3)[None]
    with rg.device("meta"):
        points = F.affine_grid(theta, (1, 1, 1, 2), align_corners=False)
    assert points.tolist() == [[[[-0.5, 0.0], [0.5, 0.0]]]]

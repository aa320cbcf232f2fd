"""How results of transposed and expanded tensors lie in memory: as PyTorch 2.13 lays them out.

It decides whether `view`, `flatten` and `reshape` of a result share its memory.
"""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn import functional as F

OF_ONE = {
    "kept": [
        lambda x: -x,
        lambda x: x + 1,
        lambda x: x**0,
        lambda x: x**1,
        lambda x: x.isreal(),
        lambda x: x.i0(),
        lambda x: x * x,
        lambda x: (x > 1).add(rg.ones(1, 1)),
        lambda x: x.clone(),
        lambda x: x.flip(0),
        lambda x: F.pad(x, (0, 0)),
        lambda x: x.to(rg.int64),
        lambda x: rg.where(x > 1, x, x),
    ],
    "in rows": [
        lambda x: x.roll(1, 0),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(-1),
        lambda x: x.log_softmax(0),
        lambda x: x.masked_fill(x == 1, 2.0),
        lambda x: rg.cat([x, x]),
        lambda x: rg.stack([x, x]),
        lambda x: x.contiguous(),
        lambda x: x.tile(1),
        lambda x: x.rot90(0),
        lambda x: x.repeat(1, 1),
        lambda x: rg.einsum("bij->ji", x[None]),
        lambda x: F.layer_norm(x, x.shape[-1:]),
        lambda x: F.rms_norm(x, x.shape[-1:]),
    ],
}


@pytest.mark.parametrize("function", OF_ONE["kept"])
def test_elementwise_results_lie_as_their_transposed_input(function):
    assert function(rg.arange(6.0).reshape(2, 3).t()).stride() == (1, 3)


def test_what_padding_only_cuts_lies_as_its_input():
    assert F.pad(rg.ones(4, 5).t(), (-1, 0, 0, -1)).stride() == (1, 4)
    assert F.pad(rg.ones(4, 5).t(), (-1, 1)).is_contiguous()


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("widths", [(0, 0), (-1, 0), (1, -1), (-1, -1, 0, 1)])
def test_what_another_mode_pads_or_cuts_lies_in_rows_or_has_its_channels_innermost(mode, widths):
    x = rg.ones(2, 3, 6, 5)
    images, few = x.contiguous(memory_format=rg.channels_last), len(widths) == 2
    assert F.pad((x[0] if few else x).mT, widths, mode=mode).is_contiguous()
    if not few:
        assert F.pad(images, widths, mode=mode).is_contiguous(memory_format=rg.channels_last)


@pytest.mark.parametrize("function", OF_ONE["in rows"])
def test_other_results_lie_in_rows(function):
    assert function(rg.arange(6.0).reshape(2, 3).t()).is_contiguous()


@pytest.mark.parametrize("function", [*OF_ONE["kept"], *OF_ONE["in rows"], F.relu, rg.sigmoid])
def test_results_of_expanded_tensors_lie_in_rows(function):
    assert function(rg.arange(3.0).expand(2, 3)).is_contiguous()


@pytest.mark.parametrize("function", [rg.unique, rg.unique_consecutive])
def test_distinct_slices_lie_one_after_the_other(function):
    x = rg.tensor([[3, 1, 1], [3, 1, 1], [0, 2, 2]])
    assert function(x, dim=1).stride() == (1, 3)
    assert function(x, dim=0).stride() == (3, 1)


@pytest.mark.parametrize("dim", [0, -1])
def test_a_number_flips_to_itself(dim):
    x = rg.tensor(1.5, requires_grad=True)
    y = x.flip(dim)
    y.backward()
    assert (y.item(), x.grad.item()) == (1.5, 1.0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.flip(1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.tril(),
        lambda x: x.triu(1),
        lambda x: x.cumprod(0),
        lambda x: x.logcumsumexp(1),
        lambda x: x.cummax(0).values,
        lambda x: x.mode(0).values,
        lambda x: x.mode(1).indices,
    ],
)
def test_triangles_scans_and_modes_lie_in_rows(function):
    assert function(rg.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)).is_contiguous()


SQUARE, TALL = rg.eye(3) + rg.ones(3, 3), rg.eye(4, 3) + rg.arange(12.0).reshape(4, 3)
SIDE, WIDE = rg.arange(6.0).reshape(3, 2), rg.arange(6.0).reshape(2, 3)
LU, LD = rg.linalg.lu_factor(SQUARE), rg.linalg.ldl_factor(SQUARE)
PACKED = rg.geqrf(TALL)
COLUMNS = rg.arange(12.0).reshape(3, 4).T
IMAGES = rg.arange(48.0).reshape(2, 2, 3, 4).to(memory_format=rg.channels_last)


@pytest.mark.parametrize(
    "convert",
    [
        lambda x, order: x.to(rg.float64, memory_format=order),
        lambda x, order: x.double(memory_format=order),
        lambda x, order: x.type(rg.float64, memory_format=order),
        lambda x, order: x.bfloat16(memory_format=order),
    ],
)
def test_a_conversion_takes_an_order_in_memory(convert):
    x = rg.ones(1, 2, 3, 4)
    assert convert(x, rg.channels_last).stride() == (24, 1, 8, 2)
    assert convert(x.permute(0, 2, 3, 1), rg.contiguous_format).is_contiguous()
    assert x.contiguous(memory_format=rg.preserve_format) is x


@pytest.mark.parametrize("out", [rg.empty(0), rg.empty(100)[:0], rg.empty(100)])
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_an_out_that_is_resized_gets_the_layout_of_the_result(out):
    for function, inputs in (
        (rg.add, (COLUMNS, COLUMNS)),
        (rg.exp, (IMAGES,)),
        (rg.cumsum, (IMAGES, 1)),
    ):
        made, given = function(*inputs), out.clone()
        written = function(*inputs, out=given)
        assert written is given
        assert written.stride() == made.stride()
        assert written.equal(made)


def test_an_out_of_the_right_shape_keeps_its_layout():
    assert rg.add(COLUMNS, COLUMNS, out=rg.empty(4, 3)).stride() == (3, 1)


BY_COLUMNS = {
    "svd": lambda: rg.linalg.svd(TALL)[::2],
    "thin svd": lambda: rg.linalg.svd(TALL, full_matrices=False)[::2],
    "qr": lambda: rg.linalg.qr(TALL),
    "complete qr": lambda: rg.linalg.qr(TALL, "complete"),
    "eigh": lambda: rg.linalg.eigh(SQUARE).eigenvectors,
    "eig": lambda: rg.linalg.eig(SQUARE).eigenvectors,
    "cholesky": lambda: rg.linalg.cholesky(SQUARE),
    "upper cholesky": lambda: rg.linalg.cholesky(SQUARE, upper=True),
    "failed cholesky": lambda: rg.linalg.cholesky_ex(-SQUARE).L,
    "cholesky_solve": lambda: rg.cholesky_solve(SIDE, SQUARE),
    "cholesky_inverse": lambda: rg.cholesky_inverse(SQUARE),
    "inv": lambda: rg.linalg.inv(SQUARE),
    "singular inv": lambda: rg.linalg.inv_ex(rg.ones(3, 3)).inverse,
    "solve": lambda: rg.linalg.solve(SQUARE, SIDE),
    "solve_triangular": lambda: rg.linalg.solve_triangular(SQUARE, SIDE, upper=True),
    "right": lambda: rg.linalg.solve_triangular(SQUARE, WIDE, upper=True, left=False),
    "lu_factor": lambda: LU.LU,
    "lu_solve": lambda: rg.linalg.lu_solve(*LU, SIDE),
    "ldl_factor": lambda: LD.LD,
    "ldl_solve": lambda: rg.linalg.ldl_solve(*LD, SIDE),
    "lstsq": lambda: rg.linalg.lstsq(SQUARE, SIDE).solution,
    "geqrf": lambda: PACKED.a,
    "householder_product": lambda: rg.linalg.householder_product(*PACKED),
    "ormqr": lambda: rg.ormqr(*PACKED, rg.ones(4, 2)),
    "right ormqr": lambda: rg.ormqr(*PACKED, rg.ones(2, 4), left=False),
}


@pytest.mark.parametrize("function", BY_COLUMNS.values(), ids=BY_COLUMNS)
def test_factors_and_solutions_have_their_columns_contiguous(function):
    found = function()
    for t in found if isinstance(found, tuple) else (found,):
        assert t.stride() == (1, t.shape[0])


def test_columns_are_contiguous_in_each_matrix_of_a_stack():
    assert rg.linalg.solve(SQUARE, SIDE.expand(2, 3, 2)).stride() == (6, 1, 3)


def test_solutions_from_the_right_that_are_transposed_lie_in_rows():
    assert rg.linalg.solve(SQUARE, WIDE, left=False).is_contiguous()
    assert rg.linalg.lu_solve(*LU, WIDE, left=False).is_contiguous()
    assert all(t.is_contiguous() for t in rg.linalg.lu(SQUARE))


def test_means_over_uneven_bins_lie_in_rows():
    x = rg.ones(1, 1, 3, 4, requires_grad=True)
    y = F.interpolate(x, (5, 6), mode="area")
    assert y.is_contiguous()
    assert rg.autograd.grad(y.sum(), x)[0].is_contiguous()


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "soft_margin_loss"])
def test_a_loss_of_each_element_lies_as_its_first_tensor(name):
    rows = rg.ones(2, 4, 3)
    turned = rg.ones(2, 3, 4).transpose(1, 2)
    loss = getattr(F, name)
    assert loss(turned, rows, reduction="none").stride() == turned.stride()
    assert loss(rows, turned, reduction="none").stride() == rows.stride()


@pytest.mark.parametrize(
    ("equation", "strides"),
    [
        ("i,j,k->kji", (9, 3, 1)),
        ("i,j->ji", (3, 1)),
        ("ijk->ki", (2, 1)),
        ("ijk,l->kil", (6, 3, 1)),
        ("ij,k->ikj", (9, 3, 1)),
        ("ij,ik->kji", (3, 1, 9)),
        ("...i,j->j...i", (6, 3, 1)),
    ],
)
def test_einsum_without_a_contraction_lies_in_the_order_of_the_output(equation, strides):
    shapes = {1: (3,), 2: (3, 3), 3: (2, 3, 4), 4: (2, 3)}  # "...i" has two dimensions
    terms = equation.split("->")[0].split(",")
    operands = [rg.ones(shapes[len(term)]) for term in terms]
    assert rg.einsum(equation, *operands).stride() == strides


@pytest.mark.parametrize(
    ("batch", "strides"), [(1, (4, 2, 1)), (2, (1, 4, 2))], ids=["one", "many"]
)
def test_einsum_takes_a_batch_of_one_for_no_dimension_of_an_operand(batch, strides):
    y = rg.einsum("bchw,cd->bdhw", rg.ones(batch, 3, 2, 2), rg.ones(3, 2))
    assert (y.stride()[1:], y.shape) == (strides, (batch, 2, 2, 2))
    assert (y == 3).all()


def test_einsum_puts_the_operand_of_the_first_dimensions_first_in_products_alone():
    m, x = rg.ones(2, 2), rg.ones(2)
    assert rg.einsum("bc,ac,b->ab", m, m, x).stride() == (2, 1)
    y = rg.einsum("cdb,bda->dbac", rg.ones(4, 4, 3), rg.ones(3, 4, 3))
    assert y.stride() == (36, 12, 4, 1)


def test_convolutions_of_time_batch_channels_lie_in_rows():
    y = rg.conv_tbc(rg.ones(3, 2, 2), rg.ones(2, 2, 4), rg.zeros(4, requires_grad=True))
    assert y.is_contiguous()
    assert y.grad_fn.name() == "ConvTbcBackward0"


@pytest.mark.parametrize("dtype", [rg.float64, rg.float16, rg.complex64])
@pytest.mark.parametrize(
    "f", [lambda x, y: rg.add(x, y, alpha=2), lambda x, y: rg.sub(x, y, alpha=2)]
)
def test_a_scaled_sum_lies_as_its_first_operand(f, dtype):
    x, y = rg.ones(3, 2, dtype=dtype).t(), rg.ones(2, 3, dtype=dtype)
    assert f(x, y).stride() == rg.rsub(y, x, alpha=2).stride() == (1, 2)
    assert f(y, x).stride() == rg.rsub(x, y, alpha=2).stride() == (3, 1)
    assert f(x, y).tolist() == f(y, x).tolist()


def test_images_of_one_batch_that_only_look_like_channels_last_are_pooled_into_rows():
    image = rg.rand(8, 8, 2).permute(2, 0, 1)
    assert image[None].stride() == (2, 1, 16, 2)  # a batch of 2 elements: not channels_last
    for pool in (F.avg_pool2d, F.max_pool2d):
        assert pool(image[None], 4).stride() == (8, 4, 2, 1)


def test_reflected_borders_of_one_image_in_channels_last_keep_its_layout():
    image = rg.rand(1, 8, 8, 2).permute(0, 3, 1, 2)
    for mode in ("reflect", "replicate", "circular"):
        assert F.pad(image, (1, 1, 1, 1), mode=mode).stride() == (200, 1, 20, 2)

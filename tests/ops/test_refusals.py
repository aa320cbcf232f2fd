"""What is refused, with PyTorch's type of error and key phrase, and what is not."""

from __future__ import annotations

import math

import pytest

import retrograd as rg

F = rg.nn.functional
X = rg.tensor([[1.0, 2.0], [3.0, 4.0]])
V = rg.tensor([1.0, 2.0])
B = rg.tensor([True, False])
I = rg.tensor([1, 2])  # noqa: E741
S = rg.tensor(2.0)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: rg.clamp(X, 1j), RuntimeError, "value cannot be converted to type double"),
        (lambda: V.repeat(-1), RuntimeError, "Trying to create tensor with negative dimension"),
        (lambda: rg.gradient(I.byte()), RuntimeError, "does not support uint8 input"),
        (lambda: F.threshold(I.byte(), 1, -2.0), RuntimeError, "without overflow"),
        (lambda: F.threshold(I.byte(), 1, 300), RuntimeError, "without overflow"),
        (lambda: F.hardtanh(I.byte(), 1, 300), RuntimeError, "without overflow"),
        (lambda: F.hardtanh(I.byte()), RuntimeError, "unsigned type with negative limits"),
        (lambda: F.soft_margin_loss(I, I), RuntimeError, "not implemented for 'Long'"),
        (lambda: rg.slice_scatter(V, V, step=0), RuntimeError, "slice step must be positive"),
        (lambda: rg.narrow(S, 0, 0, 1), RuntimeError, "cannot be applied to a 0-dim tensor"),
        (lambda: S.select(0, 0), IndexError, "cannot be applied to a 0-dim tensor"),
        (lambda: F.gumbel_softmax(I), RuntimeError, "Exponential distribution is a continuous"),
        (lambda: F.gumbel_softmax(B), RuntimeError, "Exponential distribution is a continuous"),
        (
            lambda: rg.empty(2, memory_format=rg.preserve_format),
            RuntimeError,
            "unsupported memory format Preserve",
        ),
        (
            lambda: X.t().contiguous(memory_format=rg.preserve_format),
            RuntimeError,
            "preserve memory format is unsupported by the contiguous operator",
        ),
        (lambda: rg.int32.to_complex(), RuntimeError, "Unknown Complex ScalarType for Int"),
        (
            lambda: rg.zeros(2, 3).masked_fill(B, 3),
            RuntimeError,
            r"size of tensor a \(3\) must match the size of tensor b \(2\) at non-singleton",
        ),
        (
            lambda: X.scatter(0, rg.zeros(2, 4, dtype=rg.int64), X),
            RuntimeError,
            "apart from dimension 0 and to be no larger size than src",
        ),
        (lambda: rg.tril(V), RuntimeError, "input tensor must have at least 2 dimensions"),
        (lambda: rg.hsplit(S, 1), RuntimeError, "requires a tensor with at least 1 dimension"),
        (lambda: V.as_strided((1, 1), (1,)), RuntimeError, "mismatch in length of strides and sh"),
        (lambda: rg.cov(B), RuntimeError, "bool dtype is not supported for input"),
        (lambda: F.batch_norm(X, V, None), RuntimeError, "running_var must be defined in eval"),
        (lambda: rg.gru(*[X[None]] * 2, [], *[True] * 7), TypeError, "takes at most 9 arguments"),
        (
            lambda: F.linear_cross_entropy(X, X, X, ignore_index=1),
            RuntimeError,
            "ignore_index cannot be specified when target contains probabilities",
        ),
        (lambda: X.clone().clamp_(max=1j), RuntimeError, "converted to type double without"),
        (lambda: rg.clamp_min(X, 1j), RuntimeError, "converted to type double without overflow"),
        (lambda: rg.relu(B), RuntimeError, "Boolean inputs not supported for relu"),
        (lambda: F.hardtanh(B), RuntimeError, "Bool inputs not supported for hardtanh"),
        (lambda: F.relu6(B), RuntimeError, "Bool inputs not supported for hardtanh"),
        (lambda: F.glu(I), NotImplementedError, "\"glu\" not implemented for 'Long'"),
        (lambda: F.mse_loss(X, 2.0), TypeError, r"'target' \(position 2\) must be Tensor, not fl"),
        (lambda: F.poisson_nll_loss(X, 1.0), TypeError, r"'target' \(position 2\) must be Tensor"),
        (lambda: F.soft_margin_loss(X, 1.0), TypeError, r"'target' \(position 2\) must be Tensor"),
        (lambda: F.hinge_embedding_loss(X, 1.0), TypeError, r"'target' \(position 2\) must be Ten"),
        (lambda: F.kl_div(X, 1.0), TypeError, r"'target' \(position 2\) must be Tensor, not float"),
        (lambda: rg.dist(X, 1.0), TypeError, r"'other' \(position 2\) must be Tensor, not float"),
        (lambda: rg.arange(0, 2**62), RuntimeError, "Storage size calculation overflowed with siz"),
        (lambda: rg.arange(0.0, 1e30), RuntimeError, "Storage size calculation overflowed"),
        (lambda: rg.zeros(2**31, 2**33), RuntimeError, "Storage size calculation overflowed"),
        (lambda: rg.eye(2**40), RuntimeError, "Storage size calculation overflowed with sizes"),
        (lambda: rg.linspace(0, 1, 2**60), RuntimeError, "Storage size calculation overflowed"),
        (lambda: rg.full((2,), 2**64), OverflowError, "int too big to convert"),
        (lambda: I.clone().fill_(2**64), OverflowError, "int too big to convert"),
        (lambda: rg.full((2,), 2**63), RuntimeError, "value cannot be converted to type int64"),
        (lambda: rg.full_like(I, -(2**64)), OverflowError, "int too big to convert"),
        (lambda: F.batch_norm(X, V.double(), V.double()), RuntimeError, "expect parameter to have"),
        (
            lambda: F.batch_norm(X, V, V.double()),
            RuntimeError,
            "type of Float, but got Double. Convert",
        ),
        (
            lambda: F.batch_norm(X, V.double(), V.double(), training=True),
            RuntimeError,
            "expect parameter to have scalar type of Float, but got Double",
        ),
        (lambda: F.batch_norm(X.double(), V, V), RuntimeError, r"mixed dtype \(CPU\)"),
        (lambda: rg.fft.fftfreq(4, d=V), TypeError, "argument 'd' must be float, not Tensor"),
        (lambda: rg.fft.rfftfreq(4, d=1j), TypeError, "argument 'd' must be float, not complex"),
        (
            lambda: rg.fft.fftfreq(4, d=rg.tensor(1.0, requires_grad=True)),
            TypeError,
            "fftfreq.*argument 'd' must be float, not Tensor",
        ),
        (lambda: rg.fft.fftfreq(4.5), TypeError, r"'n' \(position 1\) must be int, not float"),
        (lambda: rg.tensordot(V, V.double(), 0), RuntimeError, "both inputs should have same dtyp"),
        (
            lambda: rg.einsum("ij,jk->ik", rg.ones(2, 2), rg.ones(2, 2).double()),
            RuntimeError,
            "expected m1 and m2 to have the same dtype",
        ),
        (lambda: F.dropout(I), RuntimeError, "result type Float can't be cast to the desired out"),
        (lambda: F.alpha_dropout(B, training=True), RuntimeError, "desired output type Bool"),
        (lambda: F.rrelu(V, 0.5, 0.3), RuntimeError, "Lower bound should be less than or equal"),
        (lambda: rg.nn.RReLU(0.5, 0.3).eval()(V), RuntimeError, "Lower bound should be less than"),
        (lambda: F.multilabel_margin_loss(V, V), RuntimeError, "scalar type Long but found Float"),
        (lambda: F.multi_margin_loss(X, V), RuntimeError, "scalar type Long but found Float"),
        (lambda: F.multi_margin_loss(X, I - 1, weight=V[:1]), RuntimeError, "expected 2 but got"),
        (lambda: F.multi_margin_loss(V, S.long() - 2, weight=X), ValueError, "must be one-dim"),
        (lambda: F.multi_margin_loss(X, I.int()), RuntimeError, "expected scalar type Long but f"),
        (lambda: F.multilabel_margin_loss(I, I), NotImplementedError, "not implemented for 'Long'"),
        (lambda: F.prelu(V.double(), V[:1]), RuntimeError, "prelu: Type promoting not supported"),
        (lambda: rg.nn.PReLU()(I), RuntimeError, "not supported. Got Long and Float"),
        (lambda: rg.addr(I, I, I, alpha=0.5), RuntimeError, "alpha must not be a floating point n"),
        (lambda: rg.addr(I, I, I, beta=0.5), RuntimeError, "beta must not be a floating point num"),
        (
            lambda: V.clone().cumsum_(0, dtype=rg.float64),
            RuntimeError,
            "tensor dtype float and out",
        ),
        (
            lambda: I.clone().cumprod_(0, dtype=rg.int32),
            RuntimeError,
            "Bad in-place call: input te",
        ),
        (lambda: S.index_add(0, I[:1] * 0, V[:1]), RuntimeError, "source tensor shape must match"),
        (lambda: S.index_reduce(0, I[:1] * 0, V[:1], "prod"), RuntimeError, "Got self.shape = ..."),
        (lambda: rg.unique_consecutive(S, dim=0), IndexError, "specified as 0 but tensor has no d"),
        (lambda: rg.unique(S, dim=-1), IndexError, "Dimension specified as -1 but tensor has no d"),
        (lambda: rg.unique(rg.zeros(0, 2), dim=1), RuntimeError, "so unique cannot be applied"),
        (lambda: rg.unique_consecutive(rg.zeros(2, 0), dim=0), RuntimeError, "0 sized dimensions"),
        (lambda: V.unflatten(0, 2), TypeError, "'sizes' must be tuple of ints, not int"),
        (lambda: rg.matrix_power(X, 0.5), TypeError, "'n' .*must be int, not float"),
        (lambda: X.sum(True), TypeError, "'dim' must be int, not bool"),
        (lambda: X.tril(0.5), TypeError, "'diagonal' .*must be int, not float"),
        (lambda: X.triu(True), TypeError, "'diagonal' .*must be int, not bool"),
        (lambda: rg.tril_indices(2.0, 2), TypeError, "'row' .*must be int, not float"),
        (lambda: rg.triu_indices(2, 2, 0.5), TypeError, "'offset' .*must be int, not float"),
        (lambda: F.one_hot(I, 3.0), TypeError, "'num_classes' .*must be int, not float"),
        (lambda: V.topk(1.0), TypeError, "'k' .*must be int, not float"),
        (lambda: X.diagonal(0.0), TypeError, "'offset' .*must be int, not float"),
        (lambda: V.unfold(0, 1.0, 1), TypeError, "'size' .*must be int, not float"),
        (lambda: rg.tensordot(X, X, 2.0), RuntimeError, "expects dims to be int or tuple"),
        (lambda: V.index_fill(0, V, 1.0), IndexError, "Expected dtype int64 for index, got"),
        (lambda: V.var(unbiased=False, correction=1), TypeError, "both unbiased and correction"),
        (lambda: F.scaled_dot_product_attention(V, X, X), RuntimeError, "at least 2 dimensional"),
        (
            lambda: F.scaled_dot_product_attention(X, X, X, dropout_p=2.0),
            RuntimeError,
            "dropout probability has to be between 0 and 1, but got 2",
        ),
        (lambda: F.batch_norm(X, V, V, eps=-1.0), ValueError, "eps must be non-negative, but got"),
        (
            lambda: rg.func.vmap(lambda d: d["a"], in_dims=({"b": 0},))({"a": X}),
            ValueError,
            "in_dims is not compatible with the structure of `inputs`",
        ),
        (lambda: rg.Tensor("a"), TypeError, r"new\(\): invalid data type 'str'"),
        (lambda: rg.tensor([1, "a"]), TypeError, r"new\(\): invalid data type 'str'"),
        (lambda: rg.nn.Linear(-1, 2), RuntimeError, "tensor with negative dimension -1"),
    ],
)
def test_what_pytorch_refuses_is_refused(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_huge_size_that_64_bits_hold_is_out_of_memory():
    with pytest.raises(rg.OutOfMemoryError, match="can't allocate memory: you tried to allocate"):
        rg.zeros(2**58)


def test_scans_in_place_take_their_own_dtype():
    assert V.clone().cumsum_(0, dtype=rg.float32).tolist() == [1.0, 3.0]
    assert I.int().cumprod_(0, dtype=rg.int32).tolist() == [1, 2]


def test_a_0d_tensor_has_one_entry():
    assert S.index_add(0, rg.tensor([0]), S).item() == 4.0
    assert rg.unique_consecutive(S).tolist() == [2.0]


@pytest.mark.parametrize("kinds", [("float32", "float64"), ("int64", "float32"), ("bool", "int64")])
def test_addr_promotes(kinds):
    a, b = (getattr(rg, kind) for kind in kinds)
    v, w = rg.ones(2, dtype=a), rg.ones(2, dtype=b)
    for args in ((rg.ones(2, 2, dtype=a), v, w), (rg.ones(2, 2, dtype=b), v, v)):
        found = rg.addr(*args)
        assert found.dtype is b
        assert found.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("kind", ["float16", "float64", "int64"])
def test_rms_norm_has_the_dtype_of_its_input(kind):
    weight = rg.tensor([1.0, 2.0]).to(getattr(rg, kind))
    found = F.rms_norm(X, (2,), weight)
    assert found.dtype is rg.float32
    rg.testing.assert_close(found, F.rms_norm(X, (2,), weight.float()))


def test_numbers_and_statistics_that_are_taken():
    assert F.gaussian_nll_loss(X, 1.0, X).item() == pytest.approx(0.9076734)
    half = F.batch_norm(X.half(), V, V)
    assert half.dtype is rg.float16
    assert rg.fft.fftfreq(4, d=rg.tensor(2.0)).tolist() == [0.0, 0.125, -0.25, -0.125]
    assert rg.fft.fftfreq(rg.tensor(4), d=2.0).tolist() == [0.0, 0.125, -0.25, -0.125]
    assert rg.fft.rfftfreq(4, d=0)[1:].tolist() == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", ((2, 1), (1, 3))),
        ("i,i->", ((1,), (1,))),
        ("bij,bjk->bik", ((2, 3, 1), (2, 1, 2))),
    ],
)
def test_einsum_promotes_where_nothing_is_summed(equation, shapes):
    a, b = (rg.rand(*shape) for shape in shapes)
    found = rg.einsum(equation, a, b.double())
    assert found.dtype is rg.float64
    assert found.equal(rg.einsum(equation, a.double(), b.double()))


# -- degrees of freedom ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize(("correction", "expected"), [(5, math.inf), (2, math.inf)])
def test_no_degrees_of_freedom_give_infinity_with_a_warning(name, correction, expected):
    with pytest.warns(UserWarning, match=rf"{name}\(\): degrees of freedom is <= 0"):
        found = getattr(rg, name)(V, correction=correction)
    assert (found[0] if name.endswith("mean") else found).item() == expected


def test_one_element_has_no_variance_and_says_so():
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert rg.var(rg.ones(1)).isnan()
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert rg.ones(2, 0).std(1).isnan().all()
    assert rg.var(rg.ones(1), correction=0).item() == 0.0
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert rg.var(rg.ones(0, 2), 1).shape == (0,)


# -- out= ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max", "min", "median", "nanmedian", "mode", "cummax", "cummin"])
@pytest.mark.parametrize("dtype", [rg.float32, rg.int32])
def test_indices_go_into_int64_alone_and_nothing_is_written_else(name, dtype):
    values, indices = rg.zeros(2), rg.zeros(2, dtype=dtype)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got"):
        getattr(rg, name)(X, 0, out=(values, indices))
    assert (values == 0).all()
    assert values._version == 0


def test_integers_go_into_no_tensor_that_requires_grad():
    leaf = rg.ones(2, requires_grad=True)
    for out in (leaf, leaf * 1):
        with pytest.raises(RuntimeError, match="support automatic differentiation"):
            rg.mul(I, I, out=out)
        assert out.tolist() == [1.0, 1.0]
    assert rg.eq(I, I, out=rg.zeros(2, requires_grad=True)).tolist() == [1.0, 1.0]
    with rg.no_grad():
        assert rg.mul(I, I, out=leaf).tolist() == [1.0, 4.0]


@pytest.mark.parametrize("name", ["sort", "topk", "kthvalue"])
def test_indices_of_orders_go_into_int64_alone(name):
    more = () if name == "sort" else (1,)
    values = rg.zeros(2)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype long int, but got"):
        getattr(rg, name)(X, *more, out=(values, rg.zeros(2)))
    assert (values == 0).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda out: rg.argmax(X, 1, out=out),
        lambda out: rg.argmin(X, out=out),
        lambda out: rg.nonzero(X, out=out),
        lambda out: rg.searchsorted(V, X, out=out),
        lambda out: rg.bucketize(X, V, out=out),
        lambda out: rg.multinomial(V, 1, out=out),
    ],
)
def test_places_go_into_int64_alone(call):
    with pytest.raises(
        RuntimeError, match=r"Expected out tensor to have (dtype long|scalar type Lo)"
    ):
        call(rg.zeros(2))
    assert call(rg.zeros(0, dtype=rg.int64)).dtype is rg.int64


def test_sums_and_products_are_made_in_the_dtype_of_out():
    out = rg.zeros(2, dtype=rg.int64)
    assert rg.sum(X, 0, out=out).tolist() == [4, 6]
    assert rg.prod(X, 0, out=out).tolist() == [3, 8]
    assert rg.cumsum(V, 0, out=out).tolist() == [1, 3]
    assert rg.cumprod(V, 0, out=out).tolist() == [1, 2]
    exact = rg.sum(rg.tensor([1.0, 2.0**-30]), 0, out=rg.zeros((), dtype=rg.float64))
    assert exact.item() == 1.0 + 2.0**-30
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Float"):
        rg.sum(X + 1j, out=rg.zeros(()))


# -- arguments -------------------------------------------------------------------------------------


def test_pieces_go_by_the_names_of_each_of_their_kinds():
    for parts in (
        X.split(split_size=1),
        X.split(split_size=[1, 1]),
        rg.tensor_split(X, sections=2),
        X.tensor_split(indices=(1,)),
        rg.vsplit(X, sections=2),
        rg.vsplit(X, indices=(1,)),
    ):
        assert [part.tolist() for part in parts] == [[[1.0, 2.0]], [[3.0, 4.0]]]
    assert X.hsplit(sections=2)[0].tolist() == [[1.0], [3.0]]


def test_grad_takes_only_inputs_and_warns_that_it_ignores_it():
    x = V.clone().requires_grad_()
    (g,) = rg.autograd.grad((x * 2).sum(), x, None, None, False, True, None)
    assert g.tolist() == [2.0, 2.0]
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        (g,) = rg.autograd.grad((x * 2).sum(), x, only_inputs=False)
    assert g.tolist() == [2.0, 2.0]


def test_to_takes_a_tensor_by_name_and_copies():
    assert X.to(tensor=I).dtype is rg.int64
    copy = X.to(copy=True)
    assert copy is not X
    assert copy.data_ptr() != X.data_ptr()


def test_drawn_numbers_like_a_tensor_take_a_memory_format():
    x = rg.zeros(2, 3, 4, 5)
    for made in (
        rg.rand_like(x, memory_format=rg.channels_last),
        rg.randn_like(x, memory_format=rg.channels_last, requires_grad=True),
        rg.randint_like(x, 3, memory_format=rg.channels_last),
    ):
        assert made.is_contiguous(memory_format=rg.channels_last)
        assert made.is_leaf
    assert rg.rand_like(x, requires_grad=True).requires_grad


def test_a_generator_without_a_device_is_on_the_cpu():
    assert rg.Generator(None).device == rg.Generator(device=None).device == rg.device("cpu")


@pytest.mark.parametrize("mask", [True, rg.tensor(True)])
def test_a_mask_without_dimensions_assigns_all_or_nothing(mask):
    x = X.clone()
    x[mask] = 5.0
    assert (x == 5).all()
    x[~mask if isinstance(mask, rg.Tensor) else False] = 7.0
    assert (x == 5).all()


def test_a_number_is_copied_into_every_element():
    assert X.clone().copy_(2).tolist() == [[2.0, 2.0], [2.0, 2.0]]


@pytest.mark.parametrize("kind", ["float64", "int64", "bool"])
def test_the_old_constructor_keeps_the_memory_and_the_dtype_of_a_tensor(kind):
    given = rg.ones(2, dtype=getattr(rg, kind))
    made = rg.Tensor(given)
    assert made.dtype is given.dtype
    assert made.data_ptr() == given.data_ptr()


@pytest.mark.parametrize("name", ["kthvalue", "mode", "unique"])
def test_what_has_no_order_is_not_implemented(name):
    given = (1,) if name == "kthvalue" else ()
    with pytest.raises(NotImplementedError, match="complex numbers have no order"):
        getattr(V + 0j, name)(*given)


LOOKED_AT_FIRST = ["inv", "slogdet", "pinv", "matrix_rank"]
WITHOUT_KERNEL = ["svdvals", "det", "cholesky", "qr", "eigh", "eigvals", "lu_factor", "cond"]


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
@pytest.mark.parametrize("name", LOOKED_AT_FIRST + WITHOUT_KERNEL)
def test_factorizations_of_half_floats_are_not_implemented(name, dtype):
    with pytest.raises(RuntimeError, match="Low precision dtypes not supported") as caught:
        getattr(rg.linalg, name)(rg.eye(2, dtype=dtype))
    assert caught.type is (NotImplementedError if name in WITHOUT_KERNEL else RuntimeError)


def test_a_start_or_shift_that_is_no_integer_of_64_bits_is_refused():
    x = rg.arange(4)
    with pytest.raises(TypeError, match="'start' must be int, not bool"):
        x.narrow(0, True, 1)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        x.roll(2**70, 0)


def test_a_tolerance_is_a_number_or_a_tensor():
    with pytest.raises(TypeError, match="must be Tensor or float, not list"):
        rg.linalg.pinv(rg.eye(2), [])


@pytest.mark.parametrize(
    ("name", "shape", "index", "dtype", "count", "kind", "text"),
    [
        ("index_add", (4,), [0, 9], rg.int64, 2, IndexError, "index 9 is out of bounds"),
        ("index_add", (3, 4), [0, 9], rg.int64, 2, RuntimeError, "index 9 is out of bounds"),
        ("index_add", (4,), [0, 9], rg.int64, 3, RuntimeError, r"Number of indices \(2\)"),
        ("index_reduce", (4,), [0, -1], rg.int64, 2, IndexError, "index -1 is out of bounds"),
        ("index_reduce", (4,), [0, 9], rg.int64, 3, RuntimeError, r"Number of indices \(2\)"),
        ("index_copy", (3, 4), [0, 9], rg.int64, 2, IndexError, "index 9 is out of bounds"),
        ("index_copy", (3, 4), [0, 1], rg.int64, 3, IndexError, r"Number of indices \(2\)"),
        ("index_copy", (4,), [0, 1], rg.int32, 2, RuntimeError, "Expected dtype int64 for index"),
        ("index_fill", (4,), [0, 9], rg.int64, 2, IndexError, "index 9 is out of bounds"),
        ("index_fill", (4,), [0, 1], rg.int32, 2, IndexError, "Expected dtype int64 for index"),
    ],
)
def test_an_index_that_does_not_fit_raises_pytorchs_type_and_changes_nothing(
    name, shape, index, dtype, count, kind, text
):
    x = rg.ones(shape)
    source = 5.0 if name == "index_fill" else rg.full((count, *shape[1:]), 5.0)
    more = ("prod",) if name == "index_reduce" else ()
    index = rg.tensor(index, dtype=dtype)
    with pytest.raises(kind, match=rf"{name}\(\): {text}"):
        getattr(x, name + "_")(0, index, source, *more)
    assert (x == 1).all()
    assert x._version == 0


def test_an_evenly_spaced_truth_value_is_refused():
    for function in (rg.linspace, rg.logspace):
        with pytest.raises(NotImplementedError, match="Bool"):
            function(0, 1, 3, dtype=rg.bool)


@pytest.mark.parametrize(
    ("args", "kind", "text"),
    [
        ((), TypeError, "missing 1 required positional argument: 'type'"),
        (("cpu", -1), RuntimeError, "Device index must not be negative, got -1"),
        (("cpu", True), TypeError, "must be an int, not bool"),
        (("cpu", 1.0), TypeError, "must be an int, not float"),
    ],
)
def test_what_is_no_device_is_refused(args, kind, text):
    with pytest.raises(kind, match=text):
        rg.device(*args)


def test_where_of_one_choice_is_a_type_error():
    x = rg.tensor([1.0, 2.0])
    for condition in (x, x > 1):
        with pytest.raises(TypeError, match="invalid combination of arguments"):
            rg.where(condition, x)


@pytest.mark.parametrize("key", [2**70, -(2**70), [2**70]])
def test_an_index_beyond_64_bits_is_a_value_error(key):
    x = rg.tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        x[key]
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        x[key] = 1.0


def test_equality_of_tensors_without_values_is_not_implemented():
    x = rg.tensor([1.0, 2.0])
    for pair in ((x.to("meta"), x.to("meta")), (x, x.to("meta")), (x.to("meta"), x)):
        with pytest.raises(NotImplementedError, match="no values"):
            rg.equal(*pair)


def test_a_norm_by_which_to_normalize_may_be_a_string():
    x = rg.tensor([[3.0, 4.0]])
    assert rg.nn.functional.normalize(x, p="fro").tolist() == rg.tensor([[0.6, 0.8]]).tolist()
    with pytest.raises(RuntimeError, match="Order a not supported"):
        rg.nn.functional.normalize(x, p="a")

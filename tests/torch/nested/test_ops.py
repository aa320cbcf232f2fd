"""What ops give for nested tensors: what they give for each component, values and gradients."""

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn import functional as F

LAYOUTS = {"jagged": rg.jagged, "strided": rg.strided}
W = rg.linspace(-1.0, 1.0, 6, dtype=rg.float64).reshape(3, 2)

# Functions of a component, and of a nested tensor of them: dimensions are counted from the end.
BY_COMPONENT = {
    "elementwise": lambda x: (x * 2 + 1).sin() / (x.abs() + 1),
    "gelu": lambda x: F.gelu(x.real if x.is_complex() else x),
    "between themselves": lambda x: x * x - x,
    "a vector": lambda x: x * W[:, 0],
    "where": lambda x: rg.where(x.abs() > 1, x, rg.zeros_like(x)),
    "clamp": lambda x: x.abs().clamp(0.2, 0.9),
    "another dtype": lambda x: x.to(rg.complex128),
    "matmul": lambda x: x @ W.to(x.dtype),
    "linear": lambda x: F.linear(x, W.T.to(x.dtype), W[:2, 0].to(x.dtype)),
    "softmax": lambda x: rg.softmax(x.abs(), -1),
    "softmax of rows": lambda x: rg.softmax(x.abs(), -2),
    "log_softmax": lambda x: F.log_softmax(x.abs(), -2),
    "cumsum": lambda x: x.cumsum(-2),
    "sort": lambda x: x.abs().sort(-2).values,
    "layer_norm": lambda x: F.layer_norm(x.abs(), (3,), W[:, 0], W[:, 1]),
    "rms_norm": lambda x: F.rms_norm(x.abs(), (3,)),
    "attention": lambda x: F.scaled_dot_product_attention(x.abs(), x.abs(), x.abs()),
    "causal attention": lambda x: F.scaled_dot_product_attention(
        x.abs(), x.abs(), x.abs(), is_causal=True
    ),
    "transpose": lambda x: x.transpose(-1, -2),
    "mT": lambda x: x.mT.exp(),
    "unsqueeze": lambda x: x.unsqueeze(-2),
    "squeeze": lambda x: x.unsqueeze(-1).squeeze(-1),
    "unflatten": lambda x: x.unflatten(-1, (3, 1)),
    "flatten": lambda x: x.unflatten(-1, (1, 3)).flatten(-2),
    "chunk": lambda x: x.chunk(2, -1)[1],
    "split": lambda x: x.split([1, 2], -1)[1],
    "narrow": lambda x: x.narrow(-1, 1, 2),
    "select": lambda x: x.select(-1, 1),
    "index": lambda x: x[..., 1:],
    "index_select": lambda x: x.index_select(-1, rg.tensor([2, 0])),
    "cat": lambda x: rg.cat([x, x * 2], -1),
    "stack": lambda x: rg.stack([x, x * 2], -1),
    "stack before": lambda x: rg.stack([x, x * 2], -3),
    "sum of columns": lambda x: x.sum(-1),
    "mean of columns": lambda x: x.mean(-1, keepdim=True),
    "std of columns": lambda x: x.std(-1),
    "norm of columns": lambda x: rg.linalg.vector_norm(x, dim=-1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "clone": lambda x: x.clone().contiguous(),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
}
REDUCTIONS = {
    "sum": lambda x: x.sum(-2),
    "mean": lambda x: x.mean(-2),
    "prod": lambda x: x.prod(-2),
    "amax": lambda x: x.abs().amax(-2),
    "max": lambda x: x.abs().max(-2).values,
    "argmin": lambda x: x.abs().argmin(-2),
    "var": lambda x: x.var(-2, correction=0),
    "any": lambda x: (x.abs() > 1).any(-2),
    "median": lambda x: x.abs().median(-2).values,
    "logsumexp": lambda x: x.logsumexp(-2),
    "all but the batch": lambda x: x.sum((-1, -2)),
    "kept": lambda x: x.sum(-2, keepdim=True),
}


def components(dtype):
    rg.manual_seed(0)
    return [rg.randn(n, 3, dtype=dtype, requires_grad=True) for n in (2, 1, 4)]


def check_gradients(outs, expected, parts):
    """Compare gradients by the components of the sum of squares of results."""

    def gradients(results):
        total = sum((x * x.conj()).real.sum() for x in results)
        return rg.autograd.grad(total, parts)

    if outs[0].requires_grad:
        for actual, wanted in zip(gradients(outs), gradients(expected), strict=True):
            rg.testing.assert_close(actual, wanted, rtol=1e-9, atol=1e-12)


def check_close(actual, expected):
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected, strict=True):
        assert x.dtype is y.dtype
        rg.testing.assert_close(x, y, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BY_COMPONENT)
def test_an_op_is_that_of_each_component(name, layout, dtype):
    function, parts = BY_COMPONENT[name], components(dtype)
    nt = rg.nested.as_nested_tensor(parts, layout=LAYOUTS[layout])
    if layout == "strided" and name == "normalize":
        with pytest.raises(RuntimeError, match="cannot call binary pointwise function div"):
            function(nt)
        return
    out = function(nt)
    assert out.is_nested
    assert out.layout is LAYOUTS[layout]
    expected = [function(part) for part in parts]
    assert out.ndim == expected[0].ndim + 1
    check_close(out.unbind(), expected)
    check_gradients(out.unbind(), expected, parts)


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_of_the_ragged_dimension_is_dense(name, dtype):
    function, parts = REDUCTIONS[name], components(dtype)
    out = function(rg.nested.as_nested_tensor(parts, layout=rg.jagged))
    expected = rg.stack([function(part) for part in parts])
    assert not out.is_nested
    check_close([out], [expected])
    check_gradients([out], [expected], parts)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "std", "amin", "norm"])
def test_a_reduction_of_everything_is_that_of_all_elements(name, layout):
    parts = components(rg.float64)
    nt = rg.nested.as_nested_tensor(parts, layout=LAYOUTS[layout])
    if layout == "strided" and name in ("std", "amin", "norm"):
        return
    found, expected = getattr(nt, name)(), getattr(rg.cat(parts).flatten(), name)()
    check_close([found], [expected])
    check_gradients([found], [expected], parts)


def test_a_reduction_of_batch_and_ragged_dimension_is_that_of_values():
    parts = components(rg.float64)
    nt = rg.nested.as_nested_tensor(parts, layout=rg.jagged)
    check_close([nt.sum((0, 1)), nt.mean((0, 1), keepdim=True)[0]],
                [rg.cat(parts).sum(0), rg.cat(parts).mean(0, keepdim=True)])  # fmt: skip
    with pytest.raises(RuntimeError, match="reducing along the batch dimension but not"):
        nt.sum(0)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (1, 1, 3), (1, 1, 1), (3, 1, 3), (3, 1, 1), ()])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_plain_operands_broadcast(shape, layout):
    parts = components(rg.float64)
    nt = rg.nested.as_nested_tensor(parts, layout=LAYOUTS[layout])
    other = rg.arange(1.0, 1 + rg.Size(shape).numel(), dtype=rg.float64).reshape(shape)
    other.requires_grad_()
    rows = other if len(shape) == 3 else [other] * 3
    rows = [rows[i % len(rows)] for i in range(3)]
    for found, expected in (
        (nt * other, [x * y for x, y in zip(parts, rows, strict=True)]),
        (other - nt, [y - x for x, y in zip(parts, rows, strict=True)]),
    ):
        check_close(found.unbind(), expected)
        check_gradients(found.unbind(), expected, [*parts, other])


@pytest.mark.parametrize("turned", [False, True])
def test_padded_operands_are_taken_at_the_places_of_components(turned):
    parts = components(rg.float64)
    nt = rg.nested.as_nested_tensor(parts, layout=rg.jagged)
    padded = rg.randn(3, 4, 3, dtype=rg.float64, requires_grad=True)
    rows = [row[: len(part)] for row, part in zip(padded, parts, strict=True)]
    if turned:
        nt, padded_there, rows = nt.mT, padded.mT, [row.T for row in rows]
        operands = [part.T for part in parts]
    else:
        padded_there, operands = padded, parts
    for found, expected in (
        (nt * padded_there, [x * y for x, y in zip(operands, rows, strict=True)]),
        (padded_there - nt, [y - x for x, y in zip(operands, rows, strict=True)]),
    ):
        check_close(found.unbind(), expected)
        check_gradients(found.unbind(), expected, [*parts, padded])


def test_padded_operands_of_components_with_gaps_between_them():
    offsets, lengths = rg.tensor([0, 3, 6]), rg.tensor([2, 1])
    nt = rg.nested.nested_tensor_from_jagged(rg.arange(6.0), offsets, lengths)
    found = nt + rg.tensor([[10.0, 20.0], [30.0, 40.0]])
    assert [part.tolist() for part in found.unbind()] == [[10.0, 21.0], [33.0]]


@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 3), (2, 1, 3), (1, 3, 1, 3)])
def test_plain_operands_that_do_not_broadcast_are_refused(shape):
    nt = rg.nested.as_nested_tensor(components(rg.float64), layout=rg.jagged)
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function add"):
        nt + rg.ones(shape)


def test_operands_of_other_offsets_are_refused():
    a, b = (rg.nested.nested_tensor([rg.ones(2), rg.ones(3)], layout=rg.jagged) for _ in range(2))
    with pytest.raises(RuntimeError, match=r"with inputs of shapes \(2, j\d+\) and \(2, j\d+\)"):
        a + b
    same = rg.nested.nested_tensor_from_jagged(b.values(), a.offsets())
    assert (a + same).values().tolist() == [2.0] * 5
    one, two = (rg.nested.nested_tensor([rg.ones(n), rg.ones(3)]) for n in (1, 2))
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        one + two


def test_products_with_a_matrix_for_each_component():
    parts = components(rg.float64)
    nt, m = rg.nested.as_nested_tensor(parts, layout=rg.jagged), rg.randn(3, 3, 2).double()
    m.requires_grad_()
    expected = [x @ m[i] for i, x in enumerate(parts)]
    for function in (rg.matmul, rg.bmm):
        found = function(nt, m)
        check_close(found.unbind(), expected)
        check_gradients(found.unbind(), [x @ m[i] for i, x in enumerate(parts)], [*parts, m])
    check_close((m.mT @ nt.mT).unbind(), [e.T for e in expected])
    with pytest.raises(RuntimeError, match="not supported between inputs of shapes"):
        nt @ nt.mT


def test_a_product_along_the_ragged_dimension_is_dense():
    parts = components(rg.complex128)
    nt = rg.nested.as_nested_tensor(parts, layout=rg.jagged)
    found, expected = nt.mT @ nt, rg.stack([x.T @ x for x in parts])
    check_close([found], [expected])
    check_gradients([found], [expected], parts)


def test_queries_and_keys_may_differ_in_number():
    q = [rg.randn(2, n, 4, dtype=rg.float64) for n in (3, 1)]
    k = [rg.randn(2, n, 4, dtype=rg.float64) for n in (2, 5)]
    nq, nk = (rg.nested.nested_tensor(x, layout=rg.jagged) for x in (q, k))
    found = F.scaled_dot_product_attention(nq, nk, nk * 2)
    expected = [F.scaled_dot_product_attention(a, b, b * 2) for a, b in zip(q, k, strict=True)]
    check_close(found.unbind(), expected)
    assert found.shape == nq.shape
    assert found.transpose(1, 2).is_contiguous()
    with pytest.raises(RuntimeError, match="attn_mask must be None"):
        F.scaled_dot_product_attention(nq, nq, nq, rg.ones(3, 3))


def test_layers_take_them():
    rg.manual_seed(0)
    table, net = nn.Embedding(9, 4), nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.0))
    net.extend([nn.LayerNorm(8), nn.RMSNorm(8), nn.Linear(8, 2), nn.Softmax(-1)])
    words = [rg.tensor([1, 5, 2]), rg.tensor([8])]
    nt = rg.nested.nested_tensor(words, layout=rg.jagged)
    found, expected = net(table(nt)), [net(table(x)) for x in words]
    for x, y in zip(found.unbind(), expected, strict=True):
        rg.testing.assert_close(x, y)
    found.sum(1).pow(2).sum().backward()
    actual = [p.grad.clone() for p in (*table.parameters(), *net.parameters())]
    table.zero_grad()
    net.zero_grad()
    sum(x.sum(0).pow(2).sum() for x in expected).backward()
    for x, p in zip(actual, (*table.parameters(), *net.parameters()), strict=True):
        rg.testing.assert_close(x, p.grad)


def test_dropout_keeps_the_pattern():
    nt = rg.nested.nested_tensor([rg.ones(40), rg.ones(60)], layout=rg.jagged)
    found = F.dropout(nt, 0.5)
    assert found.shape == nt.shape
    assert sorted(set(found.values().tolist())) == [0.0, 2.0]
    x = rg.ones_like(nt).requires_grad_()
    y = x * 1
    F.dropout(y, 0.5, inplace=True)
    y.sum().backward()
    assert x.grad.values().tolist() == y.detach().values().tolist()


def test_tensors_like_it_have_its_pattern():
    nt = rg.nested.nested_tensor([rg.ones(2), rg.ones(3)], layout=rg.jagged)
    for found in (rg.zeros_like(nt), rg.full_like(nt, 0), rg.ones_like(nt) - 1):
        assert found.shape == nt.shape
        assert found.values().tolist() == [0.0] * 5
    assert rg.rand_like(nt).shape == rg.randn_like(nt).shape == rg.empty_like(nt).shape == nt.shape
    assert rg.ones_like(nt, dtype=rg.int32).dtype is rg.int32


def test_strided_components_differ_in_any_dimension():
    parts = [rg.arange(6.0).reshape(2, 3), rg.arange(4.0).reshape(1, 4)]
    nt = rg.nested.nested_tensor(parts)
    check_close((nt * 2 + nt).unbind(), [x * 3 for x in parts])
    check_close(nt.transpose(1, 2).unbind(), [x.T for x in parts])
    check_close(rg.bmm(nt, nt.mT).unbind(), [x @ x.T for x in parts])
    check_close(rg.cat([nt, nt]).unbind(), [*parts, *parts])
    assert nt.to_padded_tensor(0.0).shape == (2, 2, 4)
    nt = rg.nested.nested_tensor([rg.arange(4.0).reshape(1, 4), rg.arange(8.0).reshape(2, 4)])
    assert [x.shape for x in nt.reshape(2, -1, 2, 2)] == [(1, 2, 2), (2, 2, 2)]


def test_view_keeps_the_symbol():
    nt = rg.nested.nested_tensor([rg.ones(2, 4), rg.ones(3, 4)], layout=rg.jagged)
    ragged = nt.shape[1]
    assert nt.view(2, -1, 2, 2).shape == nt.reshape(2, ragged, 2, -1).shape == (2, ragged, 2, 2)
    assert nt.expand(2, -1, 4).shape == nt.expand_as(nt).shape == nt.shape
    assert nt.permute(0, 2, 1).shape == (2, 4, ragged)
    for sizes in ((-1,), (2, 5, 4), (2, 2 * ragged, 2), (3, -1, 4)):
        with pytest.raises(RuntimeError, match="cannot view shape"):
            nt.view(sizes)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda x: x.transpose(0, 1), ValueError, "Transpose is not supported on the batch dim"),
        (lambda x: x.unsqueeze(0), RuntimeError, "Unsqueeze is not supported on the batch dim"),
        (lambda x: x.softmax(0), RuntimeError, r"softmax\(\): not supported .* on dim=0"),
        (lambda x: x.chunk(2, 1), RuntimeError, r"chunk\(\): not supported .* on ragged dim"),
        (lambda x: x[:, 0], RuntimeError, r"slice\(\): not supported .* on ragged dim"),
        (lambda x: rg.cat([x, x], 1), RuntimeError, r"cat\(\): not supported .* on ragged dim"),
        (lambda x: rg.stack([x, x]), RuntimeError, r"stack\(\): not supported .* on dim=0"),
        (lambda x: x.unbind(1), RuntimeError, r"unbind\(\): only supported .* on dim=0"),
        (lambda x: x.flip(1), NotImplementedError, r"flip\(\): .*nt\.to_padded_tensor"),
        (lambda x: x.tolist(), NotImplementedError, r"tolist\(\): .*nt\.unbind"),
        (lambda x: x.numpy(), NotImplementedError, r"view\(\): .*nt\.values"),
        (lambda x: x.view(rg.float64).T, RuntimeError, "cannot view shape"),
        (lambda x: rg.zeros(x.shape), NotImplementedError, "differs from component to component"),
        (lambda x: x.__setitem__(slice(1), 0.0), NotImplementedError, "assignment to a slice"),
        (lambda x: x[rg.tensor([0])], NotImplementedError, r"index\(\): not supported"),
        (lambda x: bool(x), RuntimeError, "Boolean value of Tensor .* is ambiguous"),
        (lambda x: x.copy_(rg.ones(3)), RuntimeError, r"tensor a \(4\) .* tensor b \(3\)"),
    ],
)
def test_what_is_not_supported_is_refused(function, error, text):
    nt = rg.nested.nested_tensor([rg.ones(2, 4), rg.ones(3, 4)], layout=rg.jagged)
    with pytest.raises(error, match=text):
        function(nt)


@pytest.mark.parametrize("layout", [rg.strided, rg.jagged])
def test_sizes_are_the_same_where_those_of_all_components_are(layout):
    nt, other = (
        rg.nested.nested_tensor([rg.ones(n, 4), rg.ones(3, 4)], layout=layout) for n in (2, 3)
    )
    assert nt.is_same_size(nt * 2)
    assert not nt.is_same_size(other)
    for pair in ((nt, rg.ones(2, 3, 4)), (rg.ones(2, 3, 4), nt)):
        with pytest.raises(RuntimeError, match="both self and other to be nested"):
            rg.is_same_size(*pair)


def test_a_component_is_written_by_its_number_and_all_by_a_whole_slice():
    nt = rg.nested.nested_tensor([rg.ones(2), rg.ones(3)], layout=rg.jagged)
    nt[:] = 3.0
    nt[1] = rg.tensor([4.0, 5.0, 6.0])
    assert [part.tolist() for part in nt.unbind()] == [[3.0, 3.0], [4.0, 5.0, 6.0]]

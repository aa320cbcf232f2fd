"""Recurrent layers and packed sequences: complex data, lengths, dropout, errors.

Values and gradients are compared with PyTorch's in `test_modules.py`.
"""

from __future__ import annotations

import copy

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn.utils import rnn

LAYERS = ["RNN", "LSTM", "GRU"]


def sequences(dtype=rg.float64):
    rg.manual_seed(5)
    return [rg.randn(n, 2, dtype=dtype) for n in (2, 4, 1, 4)]


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_a_packed_batch_gives_what_each_sequence_gives_alone(name, dtype):
    layer = getattr(nn, name)(2, 3, 2, bidirectional=True, dtype=dtype)
    given = sequences(dtype)
    packed, last = layer(rnn.pack_sequence(given, enforce_sorted=False))
    states = last if name == "LSTM" else (last,)
    for number, (out, one) in enumerate(zip(rnn.unpack_sequence(packed), given, strict=True)):
        alone, end = layer(one)
        assert rg.allclose(out, alone)
        for state, expected in zip(states, end if name == "LSTM" else (end,), strict=True):
            assert rg.allclose(state[:, number], expected)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_complex_layers_are_right(name):
    rg.manual_seed(1)
    layer = getattr(nn, name)(2, 2, dtype=rg.complex128)
    x = rg.randn(3, 1, 2, dtype=rg.complex128, requires_grad=True)
    assert rg.autograd.gradcheck(lambda x, *_: layer(x)[0], (x, *layer.parameters()))
    assert rg.autograd.gradgradcheck(lambda x: layer(x)[0], (x,))


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_a_layer_of_an_lstm_as_one_record_is_its_steps(dtype):
    """Packed sequences go step by step."""
    rg.manual_seed(2)
    layer = nn.LSTM(2, 3, 2, bidirectional=True, dtype=dtype)
    x = rg.randn(5, 4, 2, dtype=dtype, requires_grad=True)
    states = [rg.randn(4, 4, 3, dtype=dtype, requires_grad=True) for _ in "hc"]
    wanted = [x, *states, *layer.parameters()]
    both = []
    for packed in (False, True):
        given = rnn.pack_padded_sequence(x, [5] * 4) if packed else x
        out, (h, c) = layer(given, tuple(states))
        out = rnn.pad_packed_sequence(out)[0] if packed else out
        loss = (out.abs() ** 2).sum() + h.real.sin().sum() + (c.abs() ** 2).sum()
        both.append([out, h, c, *rg.autograd.grad(loss, wanted)])
    for one, steps in zip(*both, strict=True):
        rg.testing.assert_close(one, steps, rtol=1e-12, atol=1e-13)


def test_what_an_lstm_gives_is_saved_in_single_precision_alone():
    x = rg.ones(3, 2, 2, requires_grad=True)
    out, _ = nn.LSTM(2, 2)(x)
    assert out.grad_fn.name() == "MkldnnRnnLayerBackward0"
    out.mul_(2)
    with pytest.raises(RuntimeError, match="output 0 of MkldnnRnnLayer,"):
        out.sum().backward()
    layer, x = nn.LSTM(2, 2).double(), x.detach().double().requires_grad_()
    once, _ = layer(x)
    twice, _ = layer(x)
    assert twice.grad_fn.name() == "StackBackward0"
    (of_once,) = rg.autograd.grad(once.sum(), x)
    (of_twice,) = rg.autograd.grad(twice.mul_(2).sum(), x)
    rg.testing.assert_close(of_twice, 2 * of_once, rtol=1e-14, atol=0)


@pytest.mark.parametrize("dtype", [rg.float32, rg.float64])
def test_the_last_states_of_an_lstm_are_not_part_of_its_output(dtype):
    """So hooks of the output, and gradients with respect to it, leave them out."""
    layer = nn.LSTM(1, 2, dtype=dtype)
    x = rg.ones(3, 1, 1, dtype=dtype, requires_grad=True)
    out, (h, c) = layer(x)
    assert rg.autograd.grad(h.sum() + c.sum(), out, retain_graph=True, allow_unused=True) == (None,)
    (expected,) = rg.autograd.grad(h.sum() + c.sum(), x, retain_graph=True)
    out.retain_grad()
    out.register_hook(rg.zeros_like)
    (out.sum() + h.sum() + c.sum()).backward()
    assert out.grad.tolist() == [[[0, 0]]] * 3
    rg.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize("sizes", [(1, 2), (2, 1), (1, 1)])
def test_states_of_one_row_of_an_lstm_are_broadcast(sizes):
    rg.manual_seed(4)
    weights = [p.detach().requires_grad_() for p in nn.LSTM(2, 3, dtype=rg.float64).parameters()]
    x = rg.randn(4, 2, 2, dtype=rg.float64)
    states = [rg.randn(1, size, 3, dtype=rg.float64, requires_grad=True) for size in sizes]

    def gradients(start):
        out, h, c = rg.lstm(x, start, weights, True, 1, 0.0, True, False, False)
        return rg.autograd.grad((out * out).sum() + h.sum() + c.sin().sum(), [*states, *weights])

    whole = gradients([state.expand(1, 2, 3) for state in states])
    rg.testing.assert_close(gradients(states), whole, rtol=1e-12, atol=1e-13)


def test_the_function_of_an_lstm_takes_one_sequence_and_stacks_of_batches():
    layer = nn.LSTM(2, 3, dtype=rg.float64)
    x, state = rg.ones(4, 2, dtype=rg.float64), rg.zeros(1, 3, dtype=rg.float64)
    expected, _ = layer(x)
    for sizes in ((), (2, 5)):
        start = state.reshape(1, *[1 for _ in sizes], 3).expand(1, *sizes, 3)
        data = x.reshape(4, *[1 for _ in sizes], 2).expand(4, *sizes, 2)
        weights = list(layer.parameters())
        out, _, _ = rg.lstm(data, (start, start), weights, True, 1, 0.0, True, False, False)
        rg.testing.assert_close(out[(slice(None), *[0 for _ in sizes])], expected)


@pytest.mark.parametrize("name", ["gru_cell", "lstm_cell"])
@pytest.mark.parametrize("sizes", [((4, 2), (3,)), ((2,), (4, 3)), ((4, 2), (1, 3))])
def test_cells_broadcast_states_and_data(name, sizes):
    rg.manual_seed(6)
    x, h = (rg.randn(size, dtype=rg.float64, requires_grad=True) for size in sizes)
    rows = 9 if name == "gru_cell" else 12
    weights = [rg.randn(rows, size, dtype=rg.float64, requires_grad=True) for size in (2, 3)]

    def gradients(x_given, h_given):
        state = h_given if name == "gru_cell" else (h_given, h_given)
        out = getattr(rg, name)(x_given, state, *weights)
        loss = (out**2).sum() if name == "gru_cell" else (out[0] ** 2).sum() + out[1].sum()
        return rg.autograd.grad(loss, [x, h, *weights])

    whole = gradients(x.expand(4, 2), h.expand(4, 3))
    rg.testing.assert_close(gradients(x, h), whole, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("of_data", "of_weights"), [(True, False), (False, True), (True, True)])
def test_layers_of_an_lstm_run_batched(of_data, of_weights):
    rg.manual_seed(3)
    layers = [nn.LSTM(2, 3, bidirectional=True, dtype=rg.float64) for _ in range(3)]
    layers = layers if of_weights else layers[:1] * 3
    x = rg.randn(3, 4, 2, 2, dtype=rg.float64)
    x = x if of_data else x[:1].expand(3, 4, 2, 2)
    parameters = [dict(layer.named_parameters()) for layer in layers]
    stacked = {name: rg.stack([each[name] for each in parameters]) for name in parameters[0]}

    def loss(parameters, x):
        out, (h, c) = rg.func.functional_call(layers[0], parameters, (x,))
        return (out**2).sum() + h.sum() + c.sin().sum()

    dims = (0 if of_weights else None, 0 if of_data else None)
    given = (stacked if of_weights else parameters[0]), (x if of_data else x[0])
    found = rg.vmap(rg.func.grad(loss, argnums=(0, 1)), dims)(*given)
    for i in range(3):
        of_parameters, of_x = rg.func.grad(loss, argnums=(0, 1))(parameters[i], x[i])
        rg.testing.assert_close(found[1][i], of_x, rtol=1e-12, atol=1e-13)
        for name, expected in of_parameters.items():
            rg.testing.assert_close(found[0][name][i], expected, rtol=1e-12, atol=1e-13)
    whole = rg.func.grad(lambda *given: rg.vmap(loss, dims)(*given).sum(), argnums=(0, 1))
    of_parameters, of_x = whole(*given)
    expected = found[1] if of_data else found[1].sum(0)
    rg.testing.assert_close(of_x, expected, rtol=1e-12, atol=1e-13)
    for name, each in found[0].items():
        expected = each if of_weights else each.sum(0)
        rg.testing.assert_close(of_parameters[name], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("kind", "atol"), [("float32", 1e-6), ("float16", 0), ("bfloat16", 0)])
def test_a_layer_is_its_cell_repeated(name, kind, atol):
    if kind == "bfloat16":
        pytest.importorskip("ml_dtypes")
    dtype = getattr(rg, kind)
    layer, cell = (
        getattr(nn, name)(2, 3, dtype=dtype),
        getattr(nn, f"{name}Cell")(2, 3, dtype=dtype),
    )
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x, state = rg.randn(4, 5, 2, dtype=dtype), None
    out, _ = layer(x)
    for step, expected in zip(x, out, strict=True):
        state = cell(step, state)
        found = state[0] if name == "LSTM" else state
        assert rg.allclose(found, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", LAYERS)
def test_empty_sequences_and_batches_are_taken(name):
    layer = getattr(nn, name)(2, 3, bidirectional=True)
    out, _ = layer(rg.ones(4, 0, 2))
    assert out.shape == (4, 0, 6)


def test_dropout_acts_between_layers_while_training():
    rg.manual_seed(0)
    layer = nn.GRU(2, 8, 2, dropout=0.5)
    x = rg.ones(3, 1, 2)
    assert not rg.equal(layer(x)[0], layer(x)[0])
    layer.eval()
    assert rg.equal(layer(x)[0], layer(x)[0])
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        nn.GRU(2, 8, dropout=0.5)


def test_the_repr_shows_what_is_not_the_default():
    layer = nn.LSTM(10, 20, 2, batch_first=True, bidirectional=True, proj_size=3)
    expected = "LSTM(10, 20, proj_size=3, num_layers=2, batch_first=True, bidirectional=True)"
    assert repr(layer) == expected
    assert repr(nn.RNNCell(1, 2, False, "relu")) == "RNNCell(1, 2, bias=False, nonlinearity=relu)"


def test_layers_can_be_copied_and_converted():
    layer = nn.LSTM(2, 3)
    twin = copy.deepcopy(layer).to(rg.complex128)
    x = rg.ones(4, 1, 2)
    assert rg.allclose(twin(x.to(rg.complex128))[0].real, layer(x)[0].double(), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "call", "kind", "text"),
    [
        (lambda: nn.GRU(2, 3), lambda m: m(rg.ones(2)), ValueError, "Expected input to be 2D or"),
        (lambda: nn.GRU(2, 3), lambda m: m(rg.ones(4, 1, 3)), RuntimeError, "equal to input_size"),
        (
            lambda: nn.GRU(2, 3),
            lambda m: m(rg.ones(4, 1, 2), rg.ones(1, 2, 3)),
            RuntimeError,
            "Expected hidden size",
        ),
        (
            lambda: nn.GRU(2, 3),
            lambda m: m(rg.ones(4, 1, 2), rg.ones(1, 3)),
            RuntimeError,
            "hx should also be 3-D",
        ),
        (
            lambda: nn.LSTM(2, 3),
            lambda m: m(rg.ones(4, 1, 2), (rg.ones(1, 1, 3), rg.ones(1, 2, 3))),
            RuntimeError,
            r"Expected hidden\[1\] size",
        ),
        (
            lambda: nn.GRU(2, 3),
            lambda m: m(rg.ones(4, 1, 2).double()),
            ValueError,
            "does not match weight dtype",
        ),
        (lambda: nn.RNN(2, 3, nonlinearity="cube"), None, ValueError, "Unknown nonlinearity"),
        (lambda: nn.RNN(2, 0), None, ValueError, "hidden_size must be greater than zero"),
        (lambda: nn.LSTM(2, 3, proj_size=3), None, ValueError, "smaller than hidden_size"),
        (lambda: nn.RNN(2, 3, dropout=2.0), None, ValueError, "dropout should be a number"),
        (lambda: nn.RNN(2, 3, bias=1), None, TypeError, "bias should be of type bool"),
        (
            lambda: nn.GRUCell(2, 3),
            lambda m: m(rg.ones(1, 3)),
            RuntimeError,
            "inconsistent input_size",
        ),
        (
            lambda: nn.GRUCell(2, 3),
            lambda m: m(rg.ones(1, 2), rg.ones(1, 2)),
            RuntimeError,
            "hidden0 has inconsistent hidden_size: got 2, expected 3",
        ),
        (
            lambda: nn.RNNCell(2, 3),
            lambda m: m(rg.ones(2, 2), rg.ones(1, 3)),
            RuntimeError,
            "Input batch size 2 doesn't match hidden0 batch size 1",
        ),
        (
            lambda: nn.LSTM(2, 3),
            lambda m: m(rg.ones(4, 1, 2), (rg.ones(1, 1, 3),) * 3),
            RuntimeError,
            "lstm expects two hidden states, but got 3",
        ),
        (
            lambda: nn.LSTM(2, 3),
            lambda m: m(rg.ones(4, 1, 2), rg.ones(2, 1, 1, 3)),
            TypeError,
            "hx must be tuple of Tensors",
        ),
        (
            lambda: nn.LSTMCell(2, 3),
            lambda m: m(rg.ones(2, 2), (rg.ones(2, 3), rg.ones(3))),
            RuntimeError,
            "Input batch size 2 doesn't match hidden1 batch size None",
        ),
        (
            lambda: nn.LSTMCell(2, 3),
            lambda m: m(rg.ones(1, 2), rg.ones(2, 1, 3)),
            TypeError,
            "argument 'hx' .* must be tuple of Tensors, not Tensor",
        ),
        *(
            (
                lambda: nn.LSTMCell(2, 3),
                lambda m, count=count: m(rg.ones(1, 2), (rg.ones(1, 3),) * count),
                RuntimeError,
                f"lstm_cell expects two hidden states, but got {count}",
            )
            for count in (1, 3)
        ),
    ],
)
def test_what_does_not_fit_raises(make, call, kind, text):
    with pytest.raises(kind, match=text):
        call(make()) if call else make()


# -- packing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("dtype", [rg.float64, rg.complex64, rg.int64])
def test_padding_undoes_packing(batch_first, dtype):
    given = [t.real.round().to(dtype) for t in sequences()]
    padded = rnn.pad_sequence(given, batch_first, padding_value=7)
    lengths = [len(t) for t in given]
    packed = rnn.pack_padded_sequence(padded, lengths, batch_first, enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [4, 3, 2, 2]
    back, sizes = rnn.pad_packed_sequence(packed, batch_first, padding_value=7)
    assert rg.equal(back, padded)
    assert sizes.tolist() == lengths
    for found, expected in zip(rnn.unpad_sequence(back, sizes, batch_first), given, strict=True):
        assert rg.equal(found, expected)


def test_gradients_pass_through_packing():
    x = rg.ones(3, 2, dtype=rg.float64, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, [3, 1])
    (packed.data * rg.arange(1.0, 5.0).double()).sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0], [3.0, 0.0], [4.0, 0.0]]


def test_padding_to_the_left_and_to_a_length():
    given = [rg.tensor([1, 2]), rg.tensor([3])]
    assert rnn.pad_sequence(given, True, 0, "left").tolist() == [[1, 2], [0, 3]]
    padded, _ = rnn.pad_packed_sequence(rnn.pack_sequence(given), True, -1, total_length=3)
    assert padded.tolist() == [[1, 2, -1], [3, -1, -1]]
    with pytest.raises(ValueError, match="Expected total_length to be at least"):
        rnn.pad_packed_sequence(rnn.pack_sequence(given), total_length=1)


@pytest.mark.parametrize(
    ("lengths", "text"),
    [
        ([1, 2], "sorted in decreasing order"),
        ([2], "equal to batch_size"),
        ([2, 0], "greater than 0"),
        ([5, 1], "at most 3"),
    ],
)
def test_lengths_that_do_not_fit_raise(lengths, text):
    with pytest.raises(RuntimeError, match=text):
        rnn.pack_padded_sequence(rg.ones(3, 2), lengths)


def test_a_packed_sequence_converts_its_data():
    packed = rnn.pack_sequence([rg.tensor([1.0, 2.0]), rg.tensor([3.0])])
    assert packed.double().data.dtype is rg.float64
    assert packed.to(rg.complex64).data.dtype is rg.complex64
    assert packed.to(rg.float32) is packed.float() is packed
    assert isinstance(packed.int(), rnn.PackedSequence)
    kinds = [packed.short().data.dtype, packed.char().data.dtype, packed.byte().data.dtype]
    assert kinds == [rg.int16, rg.int8, rg.uint8]


def test_flat_weights_that_are_assigned_become_the_parameters():
    layer, other = rg.nn.GRU(2, 3), rg.nn.GRU(2, 3)
    layer._flat_weights = other._flat_weights
    assert all(a is b for a, b in zip(layer.parameters(), other.parameters(), strict=True))


def test_flat_weights_are_the_parameters_in_order():
    layer = rg.nn.LSTM(2, 3, num_layers=2, bidirectional=True, proj_size=1)
    assert layer._flat_weights_names == [name for name, _ in layer.named_parameters()]
    assert all(a is b for a, b in zip(layer._flat_weights, layer.parameters(), strict=True))
    assert [len(names) for names in layer._all_weights] == [5, 5, 5, 5]


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU])
def test_only_an_lstm_has_projections(kind):
    with pytest.raises(ValueError, match="only supported for LSTM, not RNN or GRU"):
        kind(3, 4, proj_size=2)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_sequence_of_no_steps_raises(kind):
    with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0"):
        kind(3, 4)(rg.ones(0, 2, 3))


def test_lengths_that_are_not_sorted_are_named_before_those_that_are_not_positive():
    with pytest.raises(RuntimeError, match="must be sorted in decreasing order"):
        rnn.pack_padded_sequence(rg.ones(2, 2, 1), [0, 1])


def test_no_sequences_cannot_be_padded():
    with pytest.raises(RuntimeError, match="received an empty list of sequences"):
        rg.nn.utils.rnn.pad_sequence([])
    with pytest.raises(RuntimeError, match="sequences need a dimension of time, but number 1"):
        rg.nn.utils.rnn.pad_sequence([rg.ones(2), rg.ones(())])


def test_unpadded_sequences_have_memory_of_their_own():
    padded = rg.arange(6.0).reshape(3, 2)
    first, second = rnn.unpad_sequence(padded, rg.tensor([3, 2]))
    assert (first.tolist(), second.tolist()) == ([0.0, 2.0, 4.0], [1.0, 3.0])
    assert first.is_contiguous()
    first.zero_()
    assert padded[1, 0] == 2


def test_a_subclass_may_check_what_it_is_given_by_itself():
    class Named(rg.nn.LSTM):
        def check_forward_args(self, input, hidden, batch_sizes):
            super().check_forward_args(input, hidden, batch_sizes)
            seen.append([tuple(t.shape) for t in (input, *hidden)])

    seen = []
    Named(2, 4, proj_size=3, batch_first=True)(rg.ones(5, 6, 2))
    assert seen == [[(5, 6, 2), (1, 5, 3), (1, 5, 4)]]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda net, h: net.check_input(rg.ones(2), None), "input must have 3 dimensions, got 1"),
        (lambda net, h: net.check_input(rg.ones(4, 3), [1]), "Expected 2, got 3"),
        (lambda net, h: net.check_hidden_size(h, (1, 2, 3), "mine {} {}"), r"mine \(1, 2, 3\)"),
        (
            lambda net, h: net.check_forward_args(rg.ones(4, 1, 2), (h, rg.ones(1, 2, 3)), None),
            r"Expected hidden\[1\] size \(1, 1, 3\), got \[1, 2, 3\]",
        ),
    ],
)
def test_the_checks_of_a_layer_can_be_called(call, text):
    with pytest.raises(RuntimeError, match=text):
        call(rg.nn.LSTM(2, 3), rg.zeros(1, 1, 3))


def test_states_are_put_into_another_order():
    h = rg.arange(6.0).reshape(1, 2, 3)
    turned, same = rg.nn.GRU(2, 3).permute_hidden(h, rg.tensor([1, 0])), rg.nn.LSTM(2, 3)
    assert turned.tolist() == [[[3, 4, 5], [0, 1, 2]]]
    assert same.permute_hidden((h, h), None)[0] is h
    assert same.permute_hidden((h, h), rg.tensor([1, 0]))[1].tolist() == turned.tolist()


def test_expected_sizes_of_states_are_those_of_a_batch_or_a_packed_one():
    net = rg.nn.LSTM(4, 5, 2, bidirectional=True, proj_size=3)
    assert net.get_expected_hidden_size(rg.ones(7, 6, 4), None) == (4, 6, 3)
    assert net.get_expected_cell_size(rg.ones(9, 4), rg.tensor([3, 1])) == (4, 3, 5)


@pytest.mark.parametrize("batch_first", [False, True])
def test_sequences_get_their_own_order_in_the_last_step_of_padding(batch_first):
    x = rg.arange(12.0).reshape(2, 3, 2).requires_grad_()
    given = x if batch_first else x.transpose(0, 1)
    packed = nn.utils.rnn.pack_padded_sequence(
        given, rg.tensor([1, 3]), batch_first, enforce_sorted=False
    )
    padded, lengths = nn.utils.rnn.pad_packed_sequence(packed, batch_first)
    assert packed.data.grad_fn.name() == "PackPaddedSequenceBackward0"
    assert padded.grad_fn.name() == "IndexSelectBackward0"
    assert padded.is_contiguous()
    assert lengths.tolist() == [1, 3]
    first = padded if batch_first else padded.transpose(0, 1)
    assert first[0].tolist() == [[0, 1], [0, 0], [0, 0]]

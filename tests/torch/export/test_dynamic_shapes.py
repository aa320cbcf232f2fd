"""Sizes that may differ between calls of an exported program."""

from __future__ import annotations

import io
import math

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.errors import UserError
from retrograd.torch.export import Dim, ShapesCollection, export, load, save


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(4, 4)

    def forward(self, x):
        b, t, c = x.shape
        heads = self.query(x).view(b, t, 2, c // 2).transpose(1, 2)
        return heads.reshape(b, -1), rg.arange(t) * b, rg.zeros(b * 2, x.size(1) - 1), t + 1


class Add(nn.Module):
    def forward(self, x, y):
        return x + y


def test_sizes_are_read_as_the_graph_runs():
    sizes = {"x": {0: Dim("b"), 1: Dim("t", max=9)}}
    module = Heads()
    program = export(module, (rg.ones(2, 3, 4),), dynamic_shapes=sizes)
    for b, t in ((1, 5), (7, 2), (4, 9)):
        x = rg.rand(b, t, 4)
        for own in (program, program.run_decompositions()):
            for found, expected in zip(own.module()(x), module(x), strict=True):
                rg.testing.assert_close(found, expected)
    assert repr(program.range_constraints) == "{s0: VR[0, int_oo], s1: VR[0, 9]}"
    assert 'x: "f32[s0, s1, 4]"' in str(program)
    assert '"f32[s0, 4*s1]"' in str(program)
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[1\] <= 9"):
        program.module()(rg.ones(2, 10, 4))
    with pytest.raises(AssertionError, match=r"Guard failed: x.size\(\)\[2\] == 4"):
        program.module()(rg.ones(2, 3, 5))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_take_another_batch(kind):
    module = kind(2, 3, batch_first=True)
    own = export(module, (rg.rand(2, 4, 2),), dynamic_shapes=({0: Dim("b")},)).module()
    x = rg.rand(5, 4, 2)
    rg.testing.assert_close(own(x), module(x))


def test_indices_are_computed_of_sizes():
    class Cut(nn.Module):
        def forward(self, x):
            n, y = x.shape[1], x + 1
            y[:, n // 2 :] = 0
            y[:, n - 1] += 5
            return y, x[:, : n // 2], x[:, n - 2], x.narrow(1, 1, n - 1), x[..., 1 : n - 1, None]

    program = export(Cut(), (rg.ones(2, 6),), dynamic_shapes={"x": {1: Dim("n")}})
    x = rg.arange(16.0).reshape(2, 8)
    for own in (program, program.run_decompositions()):
        for found, expected in zip(own.module()(x), Cut()(x), strict=True):
            rg.testing.assert_close(found, expected)


@pytest.mark.parametrize("f", [
    lambda x: rg.zeros(x.shape) + rg.ones(x.size()) + rg.empty(size=x.shape).fill_(2),
    lambda x: x[0].expand(x.shape).reshape(x.shape) + x.new_zeros(x.shape[:1] + x.shape[1:]),
    lambda x: x.shape,
    lambda x: x * (1 / x.shape[0]) / x.size(0) ** 0.5 + x.numel() / 2,
    lambda x: rg.zeros(math.ceil(x.shape[0] / 4), divmod(x.shape[0], 2)[0], x.shape[0] | 1),
    lambda x: rg.zeros(-(-x.shape[0] // 4), 7 // x.shape[0], 2 ** x.shape[0]),
    lambda x: x + x.shape[0] % 2 + rg.zeros(x.shape[0] % 2 + 1).shape[0],
    lambda x: nn.Transformer.generate_square_subsequent_mask(x.shape[0]),
])  # fmt: skip
def test_what_is_computed_of_sizes_is_computed_in_the_graph(f):
    class Called(nn.Module):
        def forward(self, x):
            return f(x)

    program = export(Called(), (rg.ones(3, 5),), dynamic_shapes={"x": {0: Dim("n")}})
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    x = rg.arange(50.0).reshape(10, 5)
    for own in (program, load(file), program.run_decompositions()):
        rg.testing.assert_close(own.module()(x), f(x))


def test_sizes_that_differ_in_the_example_differ_when_they_are_tried():
    class Called(nn.Module):
        def forward(self, x, y):
            return x + y if x.shape[0] == y.shape[0] else x.sum() + y.sum()

    sizes = {"x": {0: Dim("a")}, "y": {0: Dim("b")}}
    program = export(Called(), (rg.ones(5), rg.ones(3)), dynamic_shapes=sizes)
    assert program.module()(rg.ones(4), rg.ones(7)).item() == 11


def test_sizes_are_symbols_while_the_graph_is_written_down():
    seen = []

    class Called(nn.Module):
        def forward(self, x):
            seen.extend([x.shape[0], x.shape[0] / 2])
            return x

    export(Called(), (rg.ones(4),), dynamic_shapes={"x": {0: Dim("n")}})
    assert isinstance(seen[0], rg.SymInt)
    assert isinstance(seen[1], rg.SymFloat)


@pytest.mark.parametrize("asked", [
    lambda n: n % 2,
    lambda n: n & 1,
    lambda n: n / 2 > 4,
    lambda n: n**2 > 70,
    lambda n: divmod(n, 2)[1],
])  # fmt: skip
def test_a_way_that_depends_on_what_is_computed_of_a_size_is_checked(asked):
    class Called(nn.Module):
        def forward(self, x):
            return x if asked(x.shape[0]) else -x

    program = export(Called(), (rg.ones(9),), dynamic_shapes={"x": {0: Dim("n")}})
    assert program.module()(rg.ones(11)).tolist() == [1] * 11
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(rg.ones(8))


@pytest.mark.parametrize("training", [True, False])
def test_batches_and_lengths_of_transformers_may_differ(training):
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).train(training)
    sizes = {"src": {0: Dim("batch"), 1: Dim("length")}}
    program = export(layer, (rg.ones(3, 5, 8),), dynamic_shapes=sizes)
    x = rg.rand(4, 7, 8)
    for own in (program, program.run_decompositions()):
        rg.testing.assert_close(own.module()(x), layer(x))


def test_sizes_of_one_dim_are_equal():
    batch = Dim("batch")
    program = export(Add(), (rg.ones(4), rg.ones(4)), dynamic_shapes=[(batch,), {0: batch}])
    assert program.module()(rg.ones(6), rg.ones(6)).shape == (6,)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(rg.ones(6), rg.ones(1))


@pytest.mark.parametrize("hint", [Dim.AUTO, Dim.DYNAMIC])
def test_sizes_that_have_to_be_equal_are_found(hint):
    program = export(Add(), (rg.ones(4), rg.ones(4)), dynamic_shapes=({0: hint}, {0: hint}))
    assert program.module()(rg.ones(6), rg.ones(6)).tolist() == [2.0] * 6
    assert len(program.range_constraints) == 1


def test_a_size_that_the_module_makes_a_constant_of_is_refused():
    class Fixed(nn.Module):
        def forward(self, x):
            return x + rg.ones(4, 1)

    for said in (Dim("b"), Dim.DYNAMIC):
        with pytest.raises(UserError, match="Constraints violated"):
            export(Fixed(), (rg.ones(4, 4),), dynamic_shapes={"x": {0: said}})
    program = export(Fixed(), (rg.ones(4, 4),), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})
    assert program.module()(rg.ones(4, 7)).shape == (4, 7)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(rg.ones(5, 7))


def test_a_way_that_depends_on_a_size_is_checked():
    class Branch(nn.Module):
        def forward(self, x):
            return x + 1 if x.shape[0] > 3 else x - 1

    program = export(Branch(), (rg.ones(4),), dynamic_shapes={"x": {0: Dim.AUTO}})
    assert rg.equal(program.module()(rg.ones(9)), rg.full((9,), 2.0))
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(rg.ones(2))
    with pytest.raises(UserError, match="Constraints violated"):
        export(Branch(), (rg.ones(3),), dynamic_shapes={"x": {0: Dim("n")}})


def test_one_tensor_may_be_several_arguments():
    x, n = rg.ones(4), Dim("n")
    program = export(Add(), (x, x), dynamic_shapes=({0: n}, {0: n}))
    assert program.module()(rg.ones(6), rg.full((6,), 2.0)).tolist() == [3.0] * 6


@pytest.mark.parametrize("f", [
    lambda x: x * float(x.shape[0]),
    lambda x: x + sum(range(x.shape[0])),
    lambda x: rg.stack([row * 2 for row in x]),
])  # fmt: skip
def test_what_the_graph_cannot_compute_of_a_size_is_refused(f):
    class Called(nn.Module):
        def forward(self, x):
            return f(x)

    with pytest.raises(UserError, match="Constraints violated"):
        export(Called(), (rg.ones(2, 5),), dynamic_shapes={"x": {0: Dim("n")}})


def test_a_size_of_one_is_a_constant():
    with pytest.raises(UserError, match="A size of 1 is a constant"):
        export(nn.ReLU(), (rg.ones(1),), dynamic_shapes={"input": {0: Dim("n")}})


@pytest.mark.parametrize(("said", "text"), [
    ({"y": {0: Dim("n")}}, "top-level keys must be the arg names"),
    ({"input": {5: Dim("n")}}, "no dimension 5"),
    ({"input": (Dim("n"),)}, "same length as the actual tensor shape"),
    ({"input": {0: "n"}}, "Unexpected dimension mapped to index 0"),
    ({"input": {0: 5}}, "says 5 of a size that is 4"),
])  # fmt: skip
def test_what_is_said_has_to_fit_the_arguments(said, text):
    with pytest.raises(UserError, match=text):
        export(nn.ReLU(), (rg.ones(4, 2),), dynamic_shapes=said)


def test_sizes_may_be_said_of_tensors():
    x, sizes = rg.ones(4), ShapesCollection()
    sizes[x] = {0: Dim.DYNAMIC}
    program = export(nn.ReLU(), (x,), dynamic_shapes=sizes)
    assert program.module()(rg.arange(-2.0, 4.0)).tolist() == [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]


def test_sizes_that_are_computed_of_others_cannot_be_said():
    with pytest.raises(NotImplementedError, match="only sizes that are equal"):
        Dim("n") * 2

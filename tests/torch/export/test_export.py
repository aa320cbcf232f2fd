"""`export`: a module's call as a graph of operators, with all that it reads."""

from __future__ import annotations

import copy
import functools

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.errors import UserError
from retrograd.nn import functional as F
from retrograd.torch.export import default_decompositions, export
from retrograd.torch.library import ops


def values(*shape):
    return rg.arange(float(rg.Size(shape).numel())).reshape(shape) / 7 - 1


def targets(program):
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


def called(function, *args):
    """The program of a function's call."""

    class Called(nn.Module):
        def forward(self, *args):
            return function(*args)

    return export(Called(), args)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(rg.full((3,), 2.0))
        self.register_buffer("count", rg.zeros(1))
        self.register_buffer("kept", rg.ones(1), persistent=False)
        self.shift = rg.ones(3)

    def forward(self, x):
        self.count.add_(1)
        return x * self.scale + self.count + self.shift + rg.tensor([1.0, 2.0, 3.0])


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x):
        return rg.flatten(self.pool(F.relu(self.bn(self.conv(x)))), 1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.norm = nn.Linear(4, 4), nn.LayerNorm(4)

    def forward(self, x):
        q = self.query(x).view(2, 3, 2, 2).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, q, q)
        return self.norm(y.transpose(1, 2).reshape(2, 3, 4) + x)


def test_operators_are_those_that_the_program_calls():
    assert targets(export(Conv(), (values(2, 1, 4, 4),))) == [
        *("aten.conv2d.default", "aten.add_.Tensor", "aten.batch_norm.default"),
        *("aten.relu.default", "aten.max_pool2d.default", "aten.flatten.using_ints"),
    ]
    assert targets(export(Attention(), (values(2, 3, 4),))) == [
        *("aten.linear.default", "aten.view.default", "aten.transpose.int"),
        *("aten.scaled_dot_product_attention.default", "aten.transpose.int"),
        *("aten.reshape.default", "aten.add.Tensor", "aten.layer_norm.default"),
    ]


@pytest.mark.parametrize(("module", "x"), [
    (Conv(), values(2, 1, 4, 4)),
    (Attention(), values(2, 3, 4)),
    (Counting(), values(3)),
    (nn.Sequential(nn.Embedding(5, 3), nn.Softmax(-1)), rg.tensor([[0, 4], [2, 1]])),
    (nn.AdaptiveMaxPool1d(3), values(2, 3, 7)),
    (nn.LSTM(3, 4, batch_first=True), values(2, 5, 3)),
    (nn.Sequential(nn.Upsample(scale_factor=2), nn.AvgPool2d(2), nn.GELU()), values(1, 2, 4, 4)),
])  # fmt: skip
def test_a_program_computes_and_writes_what_the_module_does(module, x):
    other, again = copy.deepcopy(module), copy.deepcopy(module)
    program = export(other, (x,))
    decomposed = export(again, (x,)).run_decompositions()
    for _ in range(2):
        expected = module(x)
        rg.testing.assert_close(program.module()(x), expected)
        rg.testing.assert_close(decomposed.module()(x), expected)
    for own in (other, again):
        for (_, a), (_, b) in zip(module.named_buffers(), own.named_buffers(), strict=True):
            rg.testing.assert_close(a, b)


@pytest.mark.parametrize("padded", [True, False])
def test_masks_of_truth_values_are_part_of_the_graph(padded):
    layer, x = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), values(2, 3, 8)
    hidden = rg.tensor([[False, False, True], [False, True, True]])
    named = {"src_key_padding_mask": hidden} if padded else {"src_mask": rg.ones(3, 3).triu(1) > 0}
    program = export(layer, (x,), named)
    rg.testing.assert_close(program.module()(x, **named), layer(x, **named))


def test_tracing_computes_and_writes_nothing():
    module, state = Counting(), rg.get_rng_state()
    program = export(module, (values(3),))
    assert module.count.item() == 0
    assert rg.equal(state, rg.get_rng_state())
    assert program.state_dict["scale"] is module.scale


def test_parameters_of_a_part_that_is_there_twice_are_given_back():
    part = nn.Linear(2, 2)
    module, weight = nn.Sequential(part, part), part.weight
    program = export(module, (values(1, 2),))
    assert part.weight is weight
    assert program.module()(values(1, 2)).tolist() == module(values(1, 2)).tolist()


@pytest.mark.parametrize("f", [
    lambda x, w: rg.func.grad(lambda t: ((t * w) ** 3).sum())(x),
    lambda x, w: rg.func.jacrev(rg.sin)(x * w),
    lambda x, w: rg.func.hessian(lambda t: (t**3 * w).sum())(x),
    lambda x, w: rg.func.jvp(rg.sin, (x * w,), (x,))[1],
    lambda x, w: rg.func.vjp(rg.sin, x * w)[1](x)[0],
    lambda x, w: rg.func.vmap(rg.func.grad(lambda t: t**3))(x * w),
])  # fmt: skip
def test_derivatives_of_functions_are_part_of_the_graph(f):
    class Called(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(values(3))

        def forward(self, x):
            return f(x, self.weight)

    module = Called()
    program = export(module, (rg.zeros(3),)).module()
    found, expected = program(values(3)), f(values(3), module.weight)
    rg.testing.assert_close(found, expected)
    (mine,), (its,) = (rg.autograd.grad(y.sum(), module.weight) for y in (found, expected))
    rg.testing.assert_close(mine, its)


def test_a_signature_says_what_inputs_and_outputs_are():
    program = export(Counting(), (values(3),))
    assert str(program.graph_signature) == (
        "\n# inputs\np_scale: PARAMETER target='scale'\n"
        "b_count: BUFFER target='count' persistent=True\n"
        "b_kept: BUFFER target='kept' persistent=False\n"
        "c_shift: CONSTANT_TENSOR target='shift'\n"
        "c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'\nx: USER_INPUT\n"
        "\n# outputs\nadd_2: USER_OUTPUT\n"
    )
    assert list(program.state_dict) == ["scale", "count"]
    assert sorted(program.constants) == ["kept", "lifted_tensor_0", "shift"]
    assert list(program.module().state_dict()) == ["scale", "count"]
    assert program.run_decompositions().graph_signature.buffers_to_mutate == {"add": "count"}


def test_a_state_has_all_parameters_before_the_buffers():
    module = nn.Sequential(nn.BatchNorm1d(2, affine=False), nn.Linear(2, 1))
    state = export(module.eval(), (values(3, 2),)).state_dict
    statistics = ["0.running_mean", "0.running_var", "0.num_batches_tracked"]
    assert list(state) == ["1.weight", "1.bias", *statistics]


def test_a_printed_program_shows_dtypes_and_shapes():
    text = str(export(nn.Linear(3, 2, bias=False), (values(4, 3),)))
    assert text == (
        "ExportedProgram:\n    class GraphModule(retrograd.nn.Module):\n"
        '        def forward(self, p_weight: "f32[2, 3]", input: "f32[4, 3]"):\n'
        '            linear: "f32[4, 2]" = retrograd.library.ops.aten.linear.default(input, '
        "p_weight);  input = p_weight = None\n            return (linear,)\n    \n"
        "Graph signature: \n    # inputs\n    p_weight: PARAMETER target='weight'\n"
        "    input: USER_INPUT\n    \n    # outputs\n    linear: USER_OUTPUT\n    \n"
        "Range constraints: {}\n"
    )


def test_arguments_are_named_by_their_place():
    class Nested(nn.Module):
        def forward(self, x, *rest, scale=1.0, **named):
            return {"sum": x["p"] + x["q"][0] + rest[0] * scale, "other": (named["z"], 3)}

    args = ({"p": values(2), "q": [values(2)]}, values(2))
    program = export(Nested(), args, {"scale": 2.0, "z": values(2)})
    assert program.graph_signature.user_inputs == ("x_p", "x_q_0", "rest_0", 2.0, "z")
    found = program.module()(*args, z=values(2), scale=2.0)
    assert found["other"][1] == 3
    rg.testing.assert_close(found["sum"], values(2) * 4)


def test_calls_are_held_to_the_example():
    module = called(lambda x, n: x * n, values(3), 2).module()
    with pytest.raises(AssertionError, match=r"Guard failed: args_0.size\(\)\[0\] == 3"):
        module(values(4), 2)
    with pytest.raises(AssertionError, match="Guard failed: args_1 == 2"):
        module(values(3), 5)
    with pytest.raises(ValueError, match="exported input tree spec"):
        module(values(3))


def test_gradients_come_when_the_graph_runs_and_no_grad_stays():
    def f(x):
        with rg.no_grad():
            y = x.exp()
        return (y * x).sum()

    x = values(3).requires_grad_()
    called(f, values(3)).module()(x).backward()
    rg.testing.assert_close(x.grad, values(3).exp())
    assert rg.is_grad_enabled()


def test_a_mode_is_that_of_the_example():
    program = export(nn.Dropout(0.5), (rg.ones(100),))
    assert targets(program) == targets(program.run_decompositions()) == ["aten.dropout.default"]
    assert not rg.equal(program.module()(rg.ones(100)), program.module()(rg.ones(100)))
    with pytest.raises(NotImplementedError, match=r"Calling eval\(\) is not supported yet"):
        program.module().eval()


def test_both_branches_of_cond_are_in_the_graph():
    shift = nn.Parameter(rg.ones(3))
    program = called(
        lambda x: rg.cond(x.sum() > 0, lambda x: x.sin() + shift, lambda x: -x, (x,)), values(3)
    )
    module = program.module()
    rg.testing.assert_close(module(values(3) + 2), (values(3) + 2).sin() + 1)
    rg.testing.assert_close(module(values(3)), -values(3))
    assert "ops.higher_order.cond(" in program.graph_module.code
    assert ops.higher_order.cond is rg.cond
    with pytest.raises(RuntimeError, match="both branches must give"):
        called(lambda x: rg.cond(x.sum() > 0, lambda x: x, lambda x: x[:1], (x,)), values(3))


@pytest.mark.parametrize("f", [
    lambda x: x if x.sum() > 0 else -x,
    lambda x: x + x.sum().item(),
    lambda x: x[x > 0],
    lambda x: x.nonzero(),
])  # fmt: skip
def test_what_depends_on_values_raises(f):
    with pytest.raises(UserError, match=r"data-dependent|depends on values"):
        called(f, values(3))


def test_batched_calls_are_operators_of_the_whole_batch():
    program = called(rg.func.vmap(lambda x: x.sin().sum()), values(2, 3))
    rg.testing.assert_close(program.module()(values(2, 3) * 2), (values(2, 3) * 2).sin().sum(1))


def test_an_operator_whose_parts_ask_for_values_stays_whole():
    def asks(x):
        raise NotImplementedError("for values")

    program = called(lambda x: x.relu() + 1, values(3)).run_decompositions(
        {ops.aten.relu.default: asks}
    )
    assert targets(program) == ["aten.relu.default", "aten.add.Tensor"]


def test_a_smoothed_cross_entropy_is_taken_apart():
    x, t = values(2, 3), rg.tensor([0, 2])
    loss = functools.partial(F.cross_entropy, label_smoothing=0.1)
    program = called(lambda x, t: loss(x, t), x, t).run_decompositions()
    assert "aten._log_softmax.default" in targets(program)
    rg.testing.assert_close(program.module()(x * 2, t), loss(x * 2, t))


def test_a_loss_that_consists_of_another_one_is_exported():
    x = values(2, 3)
    program = called(lambda x: F.gaussian_nll_loss(x, x * 2, x.abs() + 1), x)
    rg.testing.assert_close(
        program.module()(x + 1), F.gaussian_nll_loss(x + 1, x * 2 + 2, (x + 1).abs() + 1)
    )


def test_a_power_series_stays_whole():
    program = called(rg.linalg.matrix_exp, values(2, 2))
    assert targets(program.run_decompositions()) == ["aten.linalg_matrix_exp.default"]


def test_random_numbers_are_no_constants():
    with pytest.raises(UserError, match="draws random numbers"):
        called(lambda x: F.gumbel_softmax(x, hard=False), values(3))
    module = called(lambda x: x + rg.rand_like(x), values(3)).module()
    assert not rg.equal(module(values(3)), module(values(3)))


def test_a_buffer_that_is_assigned_is_written():
    class Assigned(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", rg.zeros(1))

        def forward(self, x):
            self.n = self.n + 1
            return x + self.n

    module = Assigned()
    program = export(module, (values(2),))
    program.module()(values(2))
    assert program.state_dict["n"].item() == 1
    assert program.run_decompositions().graph_signature.buffers_to_mutate == {"copy": "n"}


def test_decompositions_have_no_writes_and_arguments_that_are_written_are_outputs():
    def f(x):
        x.view(-1)[0].mul_(5)
        return x + 1

    program = called(f, values(2, 2)).run_decompositions()
    assert not [name for name in targets(program) if "_." in name]
    assert list(program.graph_signature.user_inputs_to_mutate.values()) == ["args_0"]
    x, y = values(2, 2), values(2, 2)
    rg.testing.assert_close(program.module()(x), f(y))
    rg.testing.assert_close(x, y)


def test_a_program_says_what_is_taken_apart():
    table = default_decompositions()
    del table[ops.aten.linear.default]
    program = export(nn.Linear(3, 2), (values(4, 3),))
    assert targets(program.run_decompositions()) == ["aten.permute.default", "aten.addmm.default"]
    assert targets(program.run_decompositions(table)) == ["aten.linear.default"]


def test_only_modules_and_tuples_are_taken():
    with pytest.raises(ValueError, match="to be an instance of"):
        export(lambda x: x, (values(2),))
    with pytest.raises(UserError, match="tuple of example positional inputs"):
        export(nn.ReLU(), [values(2)])
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        export(nn.ReLU(), (values(2),))(values(2))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings_are_one_operator(mode):
    bags = rg.nn.EmbeddingBag(5, 3, mode=mode)
    for given in ((rg.tensor([0, 1, 2, 4]), rg.tensor([0, 2])), (rg.tensor([[0, 1], [2, 4]]),)):
        program = rg.export.export(bags, given)
        assert "embedding_bag" in [node.name for node in program.graph.nodes]
        assert rg.equal(program.module()(*given), bags(*given))


@pytest.mark.parametrize(
    "name", ["relu", "relu6", "leaky_relu", "celu", "hardtanh", "hardswish", "silu", "mish"]
)
def test_an_activation_in_place_is_the_operator_that_writes(name):
    x = values(2, 3)
    program = called(lambda x: getattr(F, name)(x + 1, inplace=True), x)
    assert targets(program) == ["aten.add.Tensor", f"aten.{name}_.default"]
    assert program.module()(x).tolist() == getattr(F, name)(x + 1).tolist()


def test_an_exponential_unit_is_an_operator():
    program = called(lambda x: F.elu(x, 2.0), values(2, 3))
    assert targets(program) == ["aten.elu.default"]
    assert program.module()(values(2, 3)).tolist() == F.elu(values(2, 3), 2.0).tolist()


@pytest.mark.parametrize("inplace", [False, True])
def test_dropout_of_channels_is_an_operator_and_draws_nothing(inplace):
    program = called(lambda x: F.dropout2d(x * 2, 0.5, True, inplace), rg.ones(2, 3, 4, 4))
    written = "_" * inplace
    assert targets(program) == ["aten.mul.Tensor", f"aten.feature_dropout{written}.default"]


def test_a_loss_that_uses_the_record_of_another_one_can_be_exported():
    x, variance = values(2, 3), rg.ones(2, 3)
    program = called(F.gaussian_nll_loss, x, x + 1, variance)
    rg.testing.assert_close(program.module()(x, x + 1, variance), rg.tensor(0.5))


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("smooth_l1_loss", {"beta": 3.0}, (1, 3.0)),
        ("mse_loss", {"reduction": "sum"}, (2,)),
        ("l1_loss", {}, ()),
    ],
)
def test_a_loss_keeps_its_settings_and_leaves_defaults_out(name, settings, told):
    x, y = rg.tensor([1.0, 5.0]), rg.tensor([1.5, 0.0])
    loss = functools.partial(getattr(F, name), **settings)
    program = called(loss, x, y)
    (call,) = [node for node in program.graph.nodes if node.op == "call_function"]
    assert call.args[2:] == told
    assert program.module()(x, y).item() == loss(x, y).item()


def test_a_weighted_loss_is_taken_apart():
    x, y, weight = rg.tensor([1.0, 5.0]), rg.tensor([1.5, 0.0]), rg.tensor([1.0, 2.0])
    program = called(lambda x, y, weight: F.l1_loss(x, y, weight=weight), x, y, weight)
    assert program.module()(x, y, weight).item() == F.l1_loss(x, y, weight=weight).item() == 3.5

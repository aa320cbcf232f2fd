"""`onnx.export`: names, dimensions that vary, files, and what cannot be exported."""

from __future__ import annotations

import builtins
import io

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F

nn = rg.nn


def drawn(*shape):
    return rg.randn(shape, generator=rg.Generator().manual_seed(1))


@pytest.fixture
def onnx():
    return pytest.importorskip("onnx", reason="the package that writes ONNX")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    find = builtins.__import__

    def without(name, *args):
        if name == "onnx" and not args[-1]:
            raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
        return find(name, *args)

    for name in ("program", "graph", "elementwise", "shapes", "layers"):
        monkeypatch.delitem(rg.onnx.__dict__, name, raising=False)
        monkeypatch.delitem(
            builtins.__import__("sys").modules, f"retrograd.torch.onnx.{name}", raising=False
        )
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModuleNotFoundError, match="pip install onnx"):
        rg.onnx.export(nn.Linear(2, 1), rg.ones(1, 2))


# -- what is in the file -----------------------------------------------------------------------


def test_inputs_outputs_and_parameters_have_names(onnx):
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    graph = rg.onnx.export(
        net, drawn(4, 2), input_names=["x"], output_names=["y"]
    ).model_proto.graph
    assert [each.name for each in (*graph.input, *graph.output)] == ["x", "y"]
    assert {each.name for each in graph.initializer} == {"0.weight", "0.bias"}
    assert [each.op_type for each in graph.node] == ["Gemm", "Relu", "Identity"]
    weight = next(each for each in graph.initializer if each.name == "0.weight")
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(weight), net[0].weight.detach())


def test_a_file_is_written_to_a_path_or_an_open_file(onnx, tmp_path):
    net, file = nn.Linear(2, 1), io.BytesIO()
    program = rg.onnx.export(net, drawn(1, 2), tmp_path / "net.onnx")
    program.save(file)
    assert onnx.load(tmp_path / "net.onnx") == onnx.load_from_string(file.getvalue())


def test_a_model_knows_that_it_is_exported(onnx):
    seen = []

    def model(x):
        seen.append(rg.onnx.is_in_onnx_export())
        return x * 2

    rg.onnx.export(model, drawn(2))
    assert (seen, rg.onnx.is_in_onnx_export()) == ([True, True], False)


def test_keyword_arguments_and_several_tensors_are_inputs(exported, onnx):
    def model(x, y, *, scale=None, flag=False):
        return {"sum": x + y * scale, "flag": x if flag else y}

    program = rg.onnx.export(
        model, (drawn(2), rg.ones(2)), kwargs={"scale": rg.ones(2), "flag": True}
    )
    names = [each.name for each in program.model_proto.graph.input]
    assert names == ["input_0", "input_1", "input_2"]


# -- dimensions that vary ----------------------------------------------------------------------


def test_a_batch_may_have_another_size(exported):
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(36, 2),
    ).eval()  # fmt: skip
    x, axes = drawn(2, 3, 15, 15), {"x": {0: "batch"}, "y": {0: "batch"}}
    names = {"input_names": ["x"], "output_names": ["y"]}
    model = exported(net, x, others=[(drawn(5, 3, 15, 15),)], dynamic_axes=axes, **names)
    dims = [
        each.type.tensor_type.shape.dim[0] for each in (*model.graph.input, *model.graph.output)
    ]
    assert [each.dim_param for each in dims] == ["batch", "batch"]


def test_pictures_may_have_another_size(exported):
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    axes = {"input_0": {0: "n", 2: "h", 3: "w"}}
    exported(net, drawn(2, 3, 8, 8), others=[(drawn(1, 3, 9, 5),)], dynamic_axes=axes)


def test_sequences_may_have_another_length_where_sizes_look_alike(exported):
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    others = [(drawn(3, 7, 8),), (drawn(1, 2, 8),)]
    axes = {"input_0": {0: "batch", 1: "time"}}
    exported(net, drawn(2, 2, 8), others=others, dynamic_axes=axes, tolerance=1e-4)


def test_causal_attention_may_have_another_length(exported):
    def model(q):
        return F.scaled_dot_product_attention(q, q, q, is_causal=True)

    exported(
        model, drawn(2, 2, 5, 8), others=[(drawn(1, 2, 9, 8),)], dynamic_axes={"input_0": [0, 2]}
    )


def test_zeros_to_begin_with_grow_with_the_batch(exported):
    net = nn.LSTM(3, 4, 2, batch_first=True)
    exported(net, drawn(2, 5, 3), others=[(drawn(4, 5, 3),)], dynamic_axes={"input_0": [0]})


def test_a_size_that_cannot_be_followed_raises(onnx):
    with pytest.raises(rg.onnx.OnnxExporterError, match=r"changes with the sizes .*\(7, then 9\)"):
        rg.onnx.export(lambda x: x.var(-1), drawn(1, 7), dynamic_axes={"input_0": [1]})


# -- what cannot be exported -------------------------------------------------------------------


def branch(x):
    return x.exp() if x.sum() > 0 else x.sin()


def through_numpy(x):
    return x + rg.from_numpy(np.abs(x.numpy()))


def length(x):
    return x + rg.arange(len(x))


def region(x):
    y = x.clone()
    y[0] = 1.0
    return y


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (branch, r"takes another way for other inputs: it called \w+ where it had called \w+"),
        (lambda x: x * x.sum().item(), "value that changes with the inputs and that no op made"),
        (through_numpy, "value that changes with the inputs"),
        (length, "value that changes with the inputs"),
        (nn.Dropout(), "it is random"),
        (region, "written in place"),
        (lambda x: 3, "gave no tensor, but a int"),
    ],
)
def test_what_would_freeze_the_example_raises(onnx, model, message):
    with pytest.raises(rg.onnx.OnnxExporterError, match=message):
        rg.onnx.export(model, drawn(8), dynamic_axes={"input_0": [0]})


@pytest.mark.parametrize("number", [rg.tensor(3), rg.tensor(True), rg.tensor([1, 2, 1])])
def test_numbers_of_integers_and_truth_values_do_not_freeze(onnx, number):
    with pytest.raises(rg.onnx.OnnxExporterError, match="value that changes with the inputs"):
        rg.onnx.export(lambda x: rg.arange(4.0) * x.max().item(), number)


def test_means_by_a_divisor_that_end_outside_raise(onnx):
    with pytest.raises(rg.onnx.OnnxExporterError, match="avg_pool with a divisor and ceil_mode"):
        rg.onnx.export(nn.AvgPool2d(2, ceil_mode=True, divisor_override=3), drawn(1, 1, 5, 5))


def test_dimensions_that_vary_are_counted_from_the_last_too(exported):
    axes = {"input_0": {-1: "length"}}
    found = exported(lambda x: x * 2, drawn(2, 3), others=[(drawn(2, 5),)], dynamic_axes=axes)
    assert found.graph.input[0].type.tensor_type.shape.dim[1].dim_param == "length"


def test_an_op_without_a_counterpart_raises_with_its_line(onnx):
    with pytest.raises(rg.onnx.errors.UnsupportedOperatorError, match="svdvals here") as caught:
        rg.onnx.export(lambda x: rg.linalg.svdvals(x), drawn(3, 3))
    assert "test_export.py" in str(caught.value)


def test_a_further_result_that_is_not_exported_raises(onnx):
    with pytest.raises(rg.onnx.errors.UnsupportedOperatorError, match="a further result"):
        rg.onnx.export(nn.MaxPool1d(2, return_indices=True), drawn(1, 2, 4))


def test_old_opsets_and_wrong_names_raise(onnx):
    with pytest.raises(ValueError, match="opset_version=11 is too old"):
        rg.onnx.export(nn.ReLU(), drawn(2), opset_version=11)
    with pytest.raises(ValueError, match="2 names for 1 tensors"):
        rg.onnx.export(nn.ReLU(), drawn(2), input_names=["x", "y"])
    with pytest.raises(ValueError, match=r"names \['z'\]"):
        rg.onnx.export(nn.ReLU(), drawn(2), dynamic_axes={"z": [0]})

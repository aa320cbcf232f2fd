"""Models have torchvision's parameters by name, start from its numbers and read its files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.autograd.graph import saved_tensors_hooks
from retrograd.torch.vision import models
from retrograd.torch.vision.models.resnet import BasicBlock, Bottleneck, ResNet

DATA = Path(__file__).parents[2] / "data"
sys.path.insert(0, str(DATA))

import vision_cases as cases  # noqa: E402 (from the folder of the data)

sys.path.remove(str(DATA))
EXPECTED = json.loads((DATA / "vision.json").read_text())


@pytest.fixture
def undrawn(monkeypatch):
    """Large models quickly: their weights are not drawn."""
    for name in ("kaiming_normal_", "kaiming_uniform_", "normal_", "uniform_"):
        monkeypatch.setattr(rg.nn.init, name, lambda tensor, *args, **named: tensor)


# -- parameters --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cases.MODELS)
def test_a_model_has_torchvision_s_names_and_shapes_in_order(name, undrawn):
    assert cases.state_of(getattr(models, name)()) == EXPECTED["states"][name]


def test_resnet18_has_62_tensors_of_11_689_512_parameters():
    parameters = list(models.resnet18().parameters())
    assert (len(parameters), sum(p.numel() for p in parameters)) == (62, 11_689_512)


@pytest.mark.parametrize("name", cases.RUN)
def test_a_model_from_a_seed_gives_torchvision_s_outputs(name):
    found = cases.outputs(rg, rg.vision, name)
    scale = np.abs(EXPECTED["outputs"][name]).max()
    np.testing.assert_allclose(found, EXPECTED["outputs"][name], rtol=0, atol=1e-5 * scale)


def test_blocks_begin_as_their_shortcuts_where_that_is_asked():
    model = ResNet(Bottleneck, [1, 1, 1, 1], num_classes=2, zero_init_residual=True)
    assert not model.layer4[0].bn3.weight.any()


def test_a_basic_block_refuses_groups():
    with pytest.raises(ValueError, match="BasicBlock only supports groups=1, base_width=64"):
        ResNet(BasicBlock, [1, 1, 1, 1], groups=2)


# -- files -------------------------------------------------------------------------------------


def saved(folder, name="resnet18-f37072fd.pth"):
    """A checkpoint of a small classifier, where PyTorch keeps those that it has downloaded."""
    path = folder / "hub" / "checkpoints" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    model = models.resnet18()
    rg.save(model.state_dict(), path)
    return path, model


def test_weights_are_read_from_the_path_of_a_checkpoint(tmp_path):
    path, model = saved(tmp_path)
    assert models.resnet18(weights=path).conv1.weight.equal(model.conv1.weight)


@pytest.mark.parametrize("settings", [{"pretrained": True}, {"weights": "DEFAULT"}])
def test_default_weights_are_read_from_where_pytorch_keeps_their_file(
    settings, tmp_path, monkeypatch
):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    _, model = saved(tmp_path)
    assert models.resnet18(**settings).fc.bias.equal(model.fc.bias)


def test_without_a_file_weights_are_an_error_that_names_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    message = r"resnet18-f37072fd.pth', and no weights are downloaded. Put https://.* there"
    for settings in ({"pretrained": True}, {"weights": "DEFAULT"}):
        with pytest.raises(FileNotFoundError, match=message):
            models.resnet18(**settings)


def test_without_a_checkpoint_at_a_path_there_is_an_error():
    with pytest.raises(FileNotFoundError, match=r"there is no file 'nowhere.pth'"):
        models.resnet18(weights="nowhere.pth")


def test_weights_of_another_number_of_classes_are_an_error(tmp_path):
    path, _ = saved(tmp_path)
    with pytest.raises(RuntimeError, match=r"size mismatch for fc.weight"):
        models.resnet18(weights=path, num_classes=10)


# -- the specification's example ---------------------------------------------------------------


@pytest.fixture
def finetuned(tmp_path, monkeypatch):
    """The example, verbatim but for the names of the packages."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    saved(tmp_path)
    torchvision, nn, optim = rg.vision, rg.nn, rg.optim
    model = torchvision.models.resnet18(pretrained=True)
    for param in model.parameters():
        param.requires_grad = False
    # Replace the last fully-connected layer
    # Parameters of newly constructed modules have requires_grad=True by default
    model.fc = nn.Linear(512, 100)

    # Optimize only the classifier
    optimizer = optim.SGD(model.fc.parameters(), lr=1e-2, momentum=0.9)
    return model, optimizer


def test_of_a_frozen_model_only_the_last_layer_s_input_and_weight_are_saved(finetuned):
    model, _ = finetuned
    kept = []
    with saved_tensors_hooks(lambda x: kept.append(tuple(x.shape)) or x, lambda x: x):
        out = model(rg.randn(2, 3, 32, 32))
    leaves = [edge[0] for edge in out.grad_fn.next_functions if edge[0] is not None]
    assert set(kept) <= {(2, 512), (512, 100), (100, 512)}
    assert {leaf.variable.shape for leaf in leaves if hasattr(leaf, "variable")} <= {
        (100,),
        (100, 512),
    }


def test_a_step_of_the_frozen_model_is_that_of_a_linear_layer_on_its_features(finetuned):
    model, optimizer = finetuned
    model.eval()
    x, target = rg.randn(4, 3, 32, 32), rg.tensor([3, 1, 4, 1])
    before = {name: value.clone() for name, value in model.state_dict().items()}
    rg.nn.functional.cross_entropy(model(x), target).backward()
    optimizer.step()

    features = {}
    model.fc.register_forward_pre_hook(lambda module, args: features.update(x=args[0]))
    with rg.no_grad():
        model(x)
    scores = features["x"] @ before["fc.weight"].T + before["fc.bias"]
    difference = (scores.softmax(1) - rg.nn.functional.one_hot(target, 100)) / 4
    after = model.state_dict()
    rg.testing.assert_close(
        after["fc.weight"], before["fc.weight"] - 1e-2 * difference.T @ features["x"]
    )
    rg.testing.assert_close(after["fc.bias"], before["fc.bias"] - 1e-2 * difference.sum(0))
    assert all(after[name].equal(value) for name, value in before.items() if "fc." not in name)


def test_the_graph_of_a_model_says_what_goes_in_and_flattens_by_the_function():
    traced = rg.fx.symbolic_trace(models.resnet18())
    assert traced.code.splitlines()[3] == (
        "def forward(self, x : retrograd.Tensor) -> retrograd.Tensor:"
    )
    assert [n.op for n in traced.graph.nodes if n.name == "flatten"] == ["call_function"]

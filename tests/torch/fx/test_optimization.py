"""Fusing layers with the normalizations after them."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.fx.experimental.optimization import fuse


def ready(*layers):
    net = nn.Sequential(*layers)
    for layer in layers:
        if hasattr(layer, "running_mean"):
            layer.running_mean.uniform_(-1, 1)
            layer.running_var.uniform_(0.5, 2)
    return net.eval()


@pytest.mark.parametrize(("net", "x"), [
    (ready(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3), nn.ReLU()), rg.randn(2, 2, 5)),
    (ready(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3)), rg.randn(2, 2, 4, 5)),
    (ready(nn.Conv3d(1, 2, 2), nn.BatchNorm3d(2)), rg.randn(2, 1, 3, 3, 3)),
    (ready(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Tanh()), rg.randn(4, 2)),
])  # fmt: skip
def test_a_fused_model_computes_the_same_without_its_normalization(net, x):
    fused = fuse(net)
    assert rg.allclose(fused(x), net(x), atol=1e-5)
    assert not any("BatchNorm" in type(m).__name__ for m in fused.modules())
    assert any("BatchNorm" in type(m).__name__ for m in net.modules())


def test_a_layer_that_is_read_twice_stays():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn = nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1)

        def forward(self, x):
            y = self.conv(x)
            return y + self.bn(y)

    assert hasattr(fuse(Twice().eval()), "bn")


def test_a_graph_of_a_sequence_has_no_annotations():
    graph = rg.fx.symbolic_trace(nn.Sequential(nn.ReLU())).graph
    assert str(graph).splitlines()[:2] == [
        "graph():",
        "    %input_1 : [num_users=1] = placeholder[target=input]",
    ]


def test_columns_of_a_table_of_nodes_are_wider_than_their_titles(capsys):
    rg.fx.symbolic_trace(nn.Sequential(nn.ReLU())).graph.print_tabular()
    assert capsys.readouterr().out.splitlines()[1] == (
        "-----------  -------  --------  ----------  --------"
    )

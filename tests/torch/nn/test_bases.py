"""Public classes derive from one another as PyTorch's do: programs choose by `isinstance`."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import retrograd as rg
from retrograd.nn.modules import conv
from retrograd.torch.alias.finder import home_of

DATA = Path(__file__).parents[2] / "data" / "bases.json"
BASES = json.loads(DATA.read_text())
# PyTorch's says by its metaclass that an instance is a buffer, too.
ELSEWHERE = {("UninitializedBuffer", "Buffer")}


@pytest.mark.parametrize("place", BASES)
def test_classes_derive_from_one_another_as_in_pytorch(place):
    module, known = importlib.import_module(f"retrograd.{place}"), BASES[place]
    classes = {name: getattr(module, name) for name in known if hasattr(module, name)}
    assert len(classes) > 5
    for name, each in classes.items():
        for other, base in classes.items():
            if name != other and (name, other) not in ELSEWHERE:
                assert issubclass(each, base) == (other in known[name]), (name, other)


class Standardized(conv._ConvNd):
    """A layer as programs write it."""

    def __init__(self, channels, kernel):
        pair = (kernel, kernel)
        super().__init__(
            channels, 2, pair, (1, 1), (1, 1), (1, 1), False, (0, 0), 1, True, "reflect"
        )


def test_a_convolution_of_a_program_gives_its_settings_in_pytorch_s_order():
    layer = Standardized(3, 3)
    assert layer.extra_repr() == (
        "3, 2, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), padding_mode=reflect"
    )
    assert layer._reversed_padding_repeated_twice == [1, 1, 1, 1]
    assert (layer.weight.shape, layer.bias.shape) == ((2, 3, 3, 3), (2,))

    class Up(conv._ConvTransposeNd):
        pass

    up = Up(2, 4, (3,), (2,), (0,), (1,), True, (1,), 2, False, "zeros")
    assert up.weight.shape == (2, 2, 3)
    assert (
        repr(up)
        == "Up(2, 4, kernel_size=(3,), stride=(2,), output_padding=(1,), groups=2, bias=False)"
    )


def test_bases_of_pooling_layers_are_where_programs_import_them():
    pooling = importlib.import_module(home_of("torch.nn.modules.pooling"))
    assert isinstance(rg.nn.AvgPool1d(2), pooling._AvgPoolNd)
    assert isinstance(rg.nn.MaxPool3d(2), pooling._MaxPoolNd)
    assert isinstance(rg.nn.AdaptiveAvgPool2d(2), pooling._AdaptiveAvgPoolNd)
    assert isinstance(rg.nn.AdaptiveMaxPool1d(2), pooling._AdaptiveMaxPoolNd)


def test_a_text_of_lines_is_moved_for_a_repr_of_one_s_own():
    assert rg.nn.modules.module._addindent("a\nb\nc", 2) == "a\n  b\n  c"

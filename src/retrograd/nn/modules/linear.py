"""Layers that are one product with a weight."""

from __future__ import annotations

import math
from typing import Any

from ...dtypes import dtype
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from .. import functional as F
from .. import init
from .module import Module
from .utils import empty_parameter

__all__ = ["Bilinear", "Identity", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """The input, of any shape and dtype, unchanged; any arguments are accepted and ignored.

    >>> rg.nn.Identity(54, unused=True)(rg.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """`input`."""
        return input


class Linear(Module):
    """`y = x @ weight.T + bias`, from (*, in_features) to (*, out_features).

    `weight` (out_features, in_features) and `bias` (out_features) start uniform on
    +-1/sqrt(in_features); any floating or complex dtype. Raises RuntimeError for another last size
    or dtype of the input. Source: PyTorch's `nn.Linear`.

    >>> layer = rg.nn.Linear(20, 30)
    >>> layer(rg.ones(128, 20)).shape, layer
    (retrograd.Size([128, 30]), Linear(in_features=20, out_features=30, bias=True))
    """

    _shown_settings = "in_features= out_features= bias="

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = empty_parameter((out_features, in_features), device, dtype)
        self.register_parameter(
            "bias", empty_parameter((out_features,), device, dtype) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.symmetric_(self.bias, 1 / math.sqrt(self.in_features) if self.in_features else 0)

    def forward(self, input: Tensor) -> Tensor:
        """`input @ weight.T + bias`."""
        try:
            return F.linear(input, self.weight, self.bias)
        except RuntimeError as error:
            if not str(error).startswith("mat1 and mat2 shapes"):
                raise
            raise RuntimeError(self._misfit(str(error).partition(":")[0], input)) from None

    def _misfit(self, what: str, input: Tensor) -> str:
        """What happened, what the layer takes, and what to do."""
        given, wanted = input.shape, self.weight.shape[-1]
        do = f"Make it Linear({given[-1]}, {self.weight.shape[0]})"
        if math.prod(given[1:]) == wanted:
            do = "Flatten it first: input.flatten(1)"
        return f"{what}: {self} takes (*, {wanted}), and its input is {list(given)}. {do}"


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` under the name that it has in PyTorch's attention, which shows when it is printed.

    >>> rg.nn.MultiheadAttention(4, 2).out_proj
    NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """


class Bilinear(Module):
    """`y_k = x1 @ weight[k] @ x2 + bias_k`, from (*, in1) and (*, in2) to (*, out).

    All parameters start uniform on +-1/sqrt(in1_features); any floating or complex dtype. Raises
    ValueError unless in1_features is positive, RuntimeError for shapes that do not fit. Source:
    PyTorch's `nn.Bilinear`.

    >>> rg.nn.Bilinear(2, 3, 4)(rg.ones(5, 2), rg.ones(5, 3)).shape
    retrograd.Size([5, 4])
    """

    _shown_settings = "in1_features= in2_features= out_features= bias="

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        sizes = (out_features, in1_features, in2_features)
        self.weight = empty_parameter(sizes, device, dtype)
        self.register_parameter(
            "bias", empty_parameter((out_features,), device, dtype) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        for param in self.parameters():
            init.symmetric_(param, 1 / math.sqrt(self.in1_features))

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The bilinear form of both inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

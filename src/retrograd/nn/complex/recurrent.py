"""A recurrent network whose state is turned by a unitary matrix, so that gradients keep their size.

NOTE [Unitary by construction] Every unitary matrix is exp(A) of a skew-Hermitian A, and every such
A is (M - M^H) / 2 of a free matrix M. So M is the parameter, any optimizer may move it, and the
matrix that turns the state is unitary to rounding. Source: Lezcano-Casado and Martinez-Rubio,
"Cheap orthogonal constraints in neural networks", ICML 2019.
"""

from __future__ import annotations

import math

from ... import modes
from ...dtypes import dtype
from ...engine.namespaces import recorded
from ...engine.placement import DeviceLike
from ...engine.tensor import Tensor
from ...ops.linalg.matrix_functions import matrix_exp
from ...ops.random.factories import rand
from ...ops.shape.join import stack
from .. import init
from ..modules.module import Module
from ..modules.utils import empty_parameter
from . import functional as F
from .layers import Linear, complex_dtype

__all__ = ["UnitaryRNN"]


class UnitaryRNN(Module):
    """h_t = modrelu(U h_(t-1) + V x_t, b) with a unitary U: NOTE [Unitary by construction].

    input: complex (L, N, input_size), or (N, L, input_size) if `batch_first`; h: (N, hidden_size),
    zeros if not given; returns (states of all times, the last one). Parameters: `generator`
    (hidden_size, hidden_size), M of the NOTE, with eigenvectors drawn evenly and phases uniform on
    the circle at first; `input_map`, a complex linear layer; `bias`, real, of the modReLU. Raises
    ValueError for input that is not complex or not 3-D. Source: Arjovsky, Shah and Bengio, "Unitary
    evolution recurrent neural networks", ICML 2016.

    >>> layer = rg.nn.complex.UnitaryRNN(3, 4)
    >>> states, last = layer(rg.ones(5, 2, 3, dtype=rg.complex64))
    >>> states.shape, rg.equal(states[-1], last)
    (retrograd.Size([5, 2, 4]), True)
    """

    _shown_settings = "input_size hidden_size"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.batch_first = input_size, hidden_size, batch_first
        dtype = complex_dtype(dtype)
        self.generator = empty_parameter((hidden_size, hidden_size), device, dtype)
        self.input_map = Linear(input_size, hidden_size, False, device=device, dtype=dtype)
        real = self.generator.real.dtype
        self.bias = empty_parameter((hidden_size,), device, real)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the matrices anew, and set the bias to 0."""
        init.zeros_(self.bias)
        self.input_map.reset_parameters()
        with modes.Changed(grad=False):
            vectors = init.orthogonal_(recorded.zeros_like(self.generator))
            phases = (rand(self.hidden_size, dtype=self.bias.dtype) * 2 - 1) * math.pi
            self.generator.copy_((vectors * (1j * phases)) @ vectors.mH)

    def unitary(self) -> Tensor:
        """U, (hidden_size, hidden_size)."""
        return matrix_exp((self.generator - self.generator.mH) * 0.5)

    def forward(self, input: Tensor, h: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(the states of all times, the last state)."""
        F.check_complex("UnitaryRNN", input)
        if input.ndim != 3:
            raise ValueError(f"UnitaryRNN: Expected input to be 3-D, got {input.ndim}D instead")
        driven = self.input_map(input)
        steps = driven.unbind(1 if self.batch_first else 0)
        turn = self.unitary().mT
        if h is None:
            h = recorded.zeros_like(steps[0])
        states = []
        for step in steps:
            h = F.modrelu(h @ turn + step, self.bias.real)
            states.append(h)
        return stack(states, 1 if self.batch_first else 0), h

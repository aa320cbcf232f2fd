"""TensorFlow's interface to derivatives, over the same engine: tapes, accumulators, own gradients.

`retrograd.GradientTape` and the others of `__all__` are these. Arguments and rules are TensorFlow's
where tensors are alike; docs/tape.md has the rest.
"""

from .accumulator import ForwardAccumulator
from .custom import custom_gradient
from .gradient import GradientTape
from .recording import UnconnectedGradients

__all__ = ["ForwardAccumulator", "GradientTape", "UnconnectedGradients", "custom_gradient"]

"""How long a statement takes, by PyTorch's names: `torch.utils.benchmark`."""

from .compare import Compare
from .measurement import Measurement, TaskSpec
from .timer import Timer

__all__ = [
    "Compare",
    "Measurement",
    "TaskSpec",
    "Timer",
]

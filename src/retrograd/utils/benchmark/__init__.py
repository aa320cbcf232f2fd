"""How long a statement takes, by PyTorch's names: `torch.utils.benchmark`."""

from .compare import Compare
from .fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .measurement import Measurement, TaskSpec
from .timer import Timer

__all__ = [
    "Compare",
    "FuzzedParameter",
    "FuzzedTensor",
    "Fuzzer",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
]

"""Optimizers and learning-rate schedules, one rule per file."""

from typing import Any

from .. import providers as _providers
from . import lr_scheduler, swa_utils
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .unitary import UnitaryAdam, UnitarySGD

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon",
    "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "UnitaryAdam", "UnitarySGD", "lr_scheduler",
    "swa_utils",
]  # fmt: skip
__all__ += [*_providers.names(__name__)]


def __getattr__(name: str) -> Any:
    """Load a rule, or a module, of PyTorch's world when it is first asked for."""
    return _providers.attribute(__name__, name)


def __dir__() -> list[str]:
    return _providers.listed(__name__)

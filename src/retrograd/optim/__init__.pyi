# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import lr_scheduler as lr_scheduler, swa_utils as swa_utils
from .adadelta import Adadelta as Adadelta
from .adafactor import Adafactor as Adafactor
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adamax import Adamax as Adamax
from .adamw import AdamW as AdamW
from .asgd import ASGD as ASGD
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .nadam import NAdam as NAdam
from .optimizer import Optimizer as Optimizer
from .radam import RAdam as RAdam
from .rmsprop import RMSprop as RMSprop
from .rprop import Rprop as Rprop
from .sgd import SGD as SGD
from .unitary import UnitaryAdam as UnitaryAdam, UnitarySGD as UnitarySGD
from ..torch.optim.sparse_adam import SparseAdam as SparseAdam
from ..torch.optim import sparse_adam as sparse_adam
__all__ = ['ASGD', 'LBFGS', 'SGD', 'Adadelta', 'Adafactor', 'Adagrad', 'Adam', 'AdamW', 'Adamax', 'Muon', 'NAdam', 'Optimizer', 'RAdam', 'RMSprop', 'Rprop', 'UnitaryAdam', 'UnitarySGD', 'lr_scheduler', 'swa_utils', 'SparseAdam']

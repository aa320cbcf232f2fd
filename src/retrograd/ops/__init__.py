"""Declarations of operations and the public functions over them, a folder per family.

An op is declared in a file of its family. The families in `lazy_families` load when one of their
names is asked for, one of their methods, or, by a formula, one of their ops (`lazy_loading`); which
these are, `lazy_names` lists. What a docstring leaves open is as PyTorch's function of that name
has it: NOTE [Public functions] in `core/arguments.py`.
"""

from types import ModuleType
from typing import Any

from .. import providers
from ..engine import namespaces, overriding, registry, subclasses
from . import lazy_loading
from .core import arguments, engine_ops
from .tensor import autograd_methods
from .elementwise.arithmetic import *
from .elementwise.complex_parts import *
from .shape.reshape import *
from .shape.permute import *
from .shape.expand import *
from .shape.basic_views import *
from .reduction.sum_prod import *
from .indexing.index import *
from .linalg.matmul import *
from .creation.from_data import *
from .creation.factories import *
from .creation.memory_format import *
from .tensor.inspection import *
from .tensor.values import *

namespaces.complete(registry.OPS, lazy_loading.declare)
overriding.publish(globals(), "retrograd")

__all__ = [
    name
    for name, value in globals().items()
    if not (name.startswith("_") or value in (Any, ModuleType) or isinstance(value, ModuleType))
]


def __getattr__(name: str) -> Any:
    """A name of the families that load later, or, as in `torch.ops`, operators of a program.

    A module's name is none: `from . import name` asks here first, and then loads that module.
    """
    if lazy_loading.family_of(name) is None:
        return providers.attribute(__name__, name)
    globals()[name] = found = lazy_loading.load(name)
    return found

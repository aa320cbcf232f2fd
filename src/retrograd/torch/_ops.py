"""`torch._ops` under the alias: the classes of operators, for annotations and `isinstance`."""

from .library.aten import Operator as OpOverloadPacket
from .library.aten import Operators, Overload
from .library.custom import CustomOpDef, Namespace

__all__ = ["OpOverload", "OpOverloadPacket"]

OpOverload = Overload | CustomOpDef
_OpNamespace = Operators | Namespace

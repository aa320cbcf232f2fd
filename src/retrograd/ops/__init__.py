"""Declarations of operations and the public functions over them, one family per file."""

from . import activation, conv, fft, loss, methods, norm, pool, structure
from .arithmetic import *
from .complex import *
from .elementwise import *
from .shape import *
from .reduce import *
from .index import *
from .select import *
from .linalg import *
from .create import *
from .random import *

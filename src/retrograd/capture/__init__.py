"""Capture: a step of a program, recorded once and replayed as native code.

`compile` gives a function that does what the given one does. At its first call it runs that one
truly, and notes what it does with arrays; later calls, where all is as it was, do this again
without tensors, nodes or modes, as loops in one native function. Where anything is unlike, or
cannot be noted, the function runs as it is.
"""

from .ahead import aot
from .api import compile, explain

__all__ = ["aot", "compile", "explain"]

"""Reductions and normalizations under torch.masked's names (names only; see `layouts.masked`)."""

from ...engine import overriding
from ..layouts.masked import functions
from ..layouts.masked.functions import *  # noqa: F403

__all__ = functions.__all__

overriding.publish(globals(), "retrograd.masked", "torch")

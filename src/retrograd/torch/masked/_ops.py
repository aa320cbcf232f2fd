"""Reductions and normalizations under torch.masked's names (names only; see `ops.reduction`)."""

from ...engine import overriding
from ...ops.reduction import masked as functions
from ...ops.reduction.masked import *  # noqa: F403

__all__ = functions.__all__

overriding.publish(globals(), "retrograd.masked")

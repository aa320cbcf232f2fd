"""Transforms as functions of a picture of Pillow's, or of tensors (..., H, W)."""

from .basics import *
from .color import *
from .warps import *

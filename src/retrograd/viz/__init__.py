"""Pictures of what autograd does: graphs, memory, time, gradients, functions.

They need no further library. A notebook displays a picture, a terminal prints its text, and it is
saved as a page, as SVG or as text. What it shows is data of its own, so it keeps no tensor alive.
"""

from .color import colored, image
from .curves import curves
from .derivatives import derivatives
from .flows import Flow, flow
from .graph import graph
from .memory import memory
from .picture import Picture
from .recording import recording
from .timeline import timeline

__all__ = [
    "Flow", "Picture", "colored", "curves", "derivatives", "flow", "graph", "image", "memory",
    "recording", "timeline",
]  # fmt: skip

"""Pictures of what autograd does: graphs, memory, gradients, complex functions.

They need no further library. A picture shows itself in a notebook, prints as text, and is saved as
a page, as SVG or as text; what it shows is data of its own, so it keeps no tensor alive.
"""

from .color import colored, image
from .curves import derivatives
from .flows import Flow, flow
from .graph import graph
from .picture import Picture
from .recording import recording
from .timeline import memory

__all__ = [
    "Flow", "Picture", "colored", "derivatives", "flow", "graph", "image", "memory", "recording",
]  # fmt: skip

"""Ports at which processes meet."""

from __future__ import annotations

import socket

__all__ = ["get_free_port"]


def get_free_port() -> int:
    """A port of this machine that was free just now; another process may take it.

    >>> from retrograd.distributed.elastic.utils.distributed import get_free_port
    >>> 0 < get_free_port() < 65536
    True
    """
    with socket.create_server(("localhost", 0), backlog=0) as held:
        return int(held.getsockname()[1])

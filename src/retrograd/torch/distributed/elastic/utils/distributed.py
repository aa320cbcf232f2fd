"""Ports at which processes meet."""

from __future__ import annotations

import socket

__all__ = ["get_free_port", "get_socket_with_port"]


def get_socket_with_port() -> socket.socket:
    """A socket that listens at a free port of this machine; who asked for it closes it.

    >>> from retrograd.distributed.elastic.utils.distributed import get_socket_with_port
    >>> with get_socket_with_port() as held:
    ...     held.getsockname()[1] > 0
    True
    """
    return socket.create_server(("localhost", 0), backlog=0)


def get_free_port() -> int:
    """A port of this machine that was free just now; another process may take it.

    >>> from retrograd.distributed.elastic.utils.distributed import get_free_port
    >>> 0 < get_free_port() < 65536
    True
    """
    with get_socket_with_port() as held:
        return int(held.getsockname()[1])

"""What launchers of processes need of the machine."""

from . import distributed

__all__ = ["distributed"]

"""Processes that a launcher starts: what they say when they fail."""

from . import multiprocessing

__all__ = ["multiprocessing"]

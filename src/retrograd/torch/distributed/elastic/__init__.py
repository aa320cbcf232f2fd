"""Processes that a launcher starts: where they meet, what they say when they fail."""

from . import multiprocessing, utils

__all__ = ["multiprocessing", "utils"]

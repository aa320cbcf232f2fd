"""Sorting, selecting by rank, and searching."""

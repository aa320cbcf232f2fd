"""Tensors from data, from shapes, and like others."""

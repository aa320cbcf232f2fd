"""Modules by family of layers, and `Module` itself."""

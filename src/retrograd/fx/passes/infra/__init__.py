"""Passes over graphs, and what runs them in order."""

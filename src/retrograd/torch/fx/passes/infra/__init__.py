"""Passes, and what runs them in order."""

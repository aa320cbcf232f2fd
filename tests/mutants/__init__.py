"""Mutation testing: the package with one fault in it, and the tests that should notice."""

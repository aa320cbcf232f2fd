"""Activation functions, and softmax with its relatives."""

"""Activations as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: log_softmax.int softmax.int special_log_softmax.default special_softmax.default
no operator: gumbel_softmax logsigmoid softmin softsign tanhshrink
"""

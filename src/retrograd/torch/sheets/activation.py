"""Activations as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: gumbel_softmax logsigmoid softmin softsign tanhshrink
overloads: log_softmax.int softmax.int special_log_softmax.default special_softmax.default
composed: log_softmax prelu relu6 rrelu selu softmax
basic: relu6_
along: log_softmax softmax
lower: prelu
onnx: hardswish.HardSwish
part of it: prelu
"""

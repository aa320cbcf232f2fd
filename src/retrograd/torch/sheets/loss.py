"""Losses as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: cross_entropy gaussian_nll_loss linear_cross_entropy multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss nll_loss soft_margin_loss
    triplet_margin_with_distance_loss
"""

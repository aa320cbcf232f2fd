"""Losses as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: cross_entropy gaussian_nll_loss linear_cross_entropy multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss nll_loss soft_margin_loss
    triplet_margin_with_distance_loss
composed: cosine_similarity cross_entropy_loss l1_loss pairwise_distance
float32: binary_cross_entropy cross_entropy huber_loss l1_loss mse_loss multi_margin_loss
    multilabel_margin_loss nll_loss smooth_l1_loss soft_margin_loss
part of it: binary_cross_entropy l1_loss mse_loss smooth_l1_loss
"""

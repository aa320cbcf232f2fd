"""Fourier transforms and windows as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: bartlett_window.default.periodic blackman_window.default.periodic
    hamming_window.default.periodic.periodic_alpha.periodic_alpha_beta hann_window.default.periodic
    kaiser_window.default.periodic.beta stft.default.center
"""

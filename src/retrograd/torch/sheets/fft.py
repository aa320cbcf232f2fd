"""Fourier transforms and windows as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: bartlett_window.default.periodic blackman_window.default.periodic
    hamming_window.default.periodic.periodic_alpha.periodic_alpha_beta hann_window.default.periodic
    kaiser_window.default.periodic.beta stft.default.center
composed: fft_fft fft_fft2 fft_fftn fft_fftshift fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2
    fft_ifftn fft_ifftshift fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft
    fft_rfft2 fft_rfftn istft stft
float32: fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft
    fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn stft
"""

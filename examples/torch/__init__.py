"""Programs in PyTorch's dialect, on data that scikit-learn ships."""

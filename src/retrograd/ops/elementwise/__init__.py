"""Functions of each element by itself: arithmetic, powers, comparisons, parts of numbers."""

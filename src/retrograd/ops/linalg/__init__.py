"""Products, decompositions, systems and norms of matrices."""

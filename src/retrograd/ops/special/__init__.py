"""Special functions: error and gamma functions, Bessel's, orthogonal polynomials."""

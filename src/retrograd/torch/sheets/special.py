"""Special functions as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: special_chebyshev_polynomial_t.default.x_scalar.n_scalar
    special_chebyshev_polynomial_u.default.x_scalar.n_scalar
    special_chebyshev_polynomial_v.default.x_scalar.n_scalar
    special_chebyshev_polynomial_w.default.x_scalar.n_scalar
    special_hermite_polynomial_h.default.x_scalar.n_scalar
    special_hermite_polynomial_he.default.x_scalar.n_scalar
    special_laguerre_polynomial_l.default.x_scalar.n_scalar
    special_legendre_polynomial_p.default.x_scalar.n_scalar
    special_shifted_chebyshev_polynomial_t.default.x_scalar.n_scalar
    special_shifted_chebyshev_polynomial_u.default.x_scalar.n_scalar
    special_shifted_chebyshev_polynomial_v.default.x_scalar.n_scalar
    special_shifted_chebyshev_polynomial_w.default.x_scalar.n_scalar
    special_xlog1py.default.other_scalar.self_scalar special_xlogy.default.other_scalar.self_scalar
    special_zeta.default.other_scalar.self_scalar xlogy.Tensor.Scalar_Other.Scalar_Self
composed: special_ndtr
"""

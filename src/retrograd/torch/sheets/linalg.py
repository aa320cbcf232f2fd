"""Linear algebra as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: geqrf.default.a linalg_cholesky_ex.default.L linalg_cond.default.p_str
    linalg_eigh.default.eigvals linalg_inv_ex.default.inverse linalg_matrix_norm.default.str_ord
    linalg_matrix_rank.default.tol_tensor.atol_rtol_tensor.atol_rtol_float
    linalg_norm.default.ord_str linalg_pinv.default.atol_rtol_float.atol_rtol_tensor.rcond_tensor
    linalg_svd.default.U
no operator: lobpcg pca_lowrank svd_lowrank tensordot
"""

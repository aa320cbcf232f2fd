"""Linear algebra as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: pca_lowrank svd_lowrank tensordot
overloads: geqrf.default.a linalg_cholesky_ex.default.L linalg_cond.default.p_str
    linalg_eigh.default.eigvals linalg_inv_ex.default.inverse linalg_matrix_norm.default.str_ord
    linalg_matrix_rank.default.tol_tensor.atol_rtol_tensor.atol_rtol_float
    linalg_norm.default.ord_str linalg_pinv.default.atol_rtol_float.atol_rtol_tensor.rcond_tensor
    linalg_svd.default.U
composed: bilinear cdist chain_matmul cross det einsum inner inverse kron linalg_cholesky
    linalg_cond linalg_diagonal linalg_eigh linalg_eigvals linalg_eigvalsh linalg_inv
    linalg_ldl_factor linalg_lu_factor linalg_matrix_norm linalg_matrix_rank linalg_multi_dot
    linalg_norm linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals
    linalg_tensorinv linalg_tensorsolve linalg_vander linalg_vecdot linear logdet matmul matrix_exp
    matrix_power orgqr outer pdist pinverse
basic: linalg_matrix_exp
float32: cdist cholesky_inverse cholesky_solve geqrf inverse linalg_cholesky linalg_cholesky_ex
    linalg_cond linalg_eig linalg_eigh linalg_eigvals linalg_eigvalsh linalg_householder_product
    linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank linalg_qr linalg_solve linalg_svd
    linalg_svdvals linalg_tensorinv linalg_tensorsolve orgqr ormqr pinverse trace
lower: addbmm addmm baddbmm bmm chain_matmul einsum inner linalg_matrix_power linalg_multi_dot
    linalg_vecdot linear matmul matrix_power mm tensordot
part of it: cdist cholesky_ex eigvals eigvalsh einsum
"""

"""Sparse, nested and masked tensors as PyTorch has them: NOTE [Sheets]."""

SHEET = """
no operator: dsmm sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor spmm to_padded_tensor
    to_sparse_bsc to_sparse_bsr to_sparse_coo
overloads: sparse_coo_tensor.size.indices.indices_size
    sparse_csc_tensor.ccol_row_value_size.ccol_row_value
    sparse_csr_tensor.crow_col_value_size.crow_col_value to_sparse.sparse_dim.default
    values.default.Tensor
composed: coalesce sparse_csc_tensor sparse_csr_tensor to_dense to_sparse to_sparse_csc
    to_sparse_csr
"""

"""Shapes, views and joins as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: atleast_1d.default.Sequence atleast_2d.default.Sequence atleast_3d.default.Sequence
    dsplit.int.array flatten.using_ints hsplit.int.array meshgrid.default.indexing
    moveaxis.intlist.int movedim.int.intlist narrow.default.Tensor
    repeat_interleave.Tensor.self_Tensor.self_int select.int split.Tensor.sizes.default
    squeeze.default.dim.dims sym_size.int sym_stride.default.int
    tensor_split.sections.indices.tensor_indices_or_sections
    transpose.int transpose_.default unbind.int unflatten.int unsafe_split.Tensor view.default.dtype
    vsplit.int.array
composed: adjoint atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to cartesian_prod
    chunk column_stack combinations concat concatenate contiguous diag diagflat dsplit dstack
    expand_as flatten fliplr flipud hsplit hstack meshgrid moveaxis movedim narrow pad ravel reshape
    reshape_as row_stack swapaxes swapdims tensor_split tile unflatten unsafe_chunk view_as vsplit
    vstack
onnx: clone.Identity
unrecorded: detach
widest: cat concat concatenate stack
"""

"""Sums and the like as PyTorch has them: NOTE [Sheets]."""

SHEET = """
overloads: all.default.dim.dims any.default.dim.dims bucketize.Tensor.Scalar
    count_nonzero.default.dim_IntList cumulative_trapezoid.x.dx
    gradient.scalarint.scalararray.array.scalarrayint.scalarrayarray.tensorarrayint.tensorarray
    histogram.bins_tensor.bin_ct histogramdd.default.int_bins.TensorList_bins
    max.other.default.dim.dim_max mean.default.dim median.default.dim.dim_values
    min.other.default.dim.dim_min mode.default.values nanmedian.default.dim.dim_values
    nanquantile.default.scalar norm.Scalar.ScalarOpt_dim.ScalarOpt_dim_dtype.ScalarOpt_dtype
    prod.default.dim_int quantile.default.scalar searchsorted.Tensor.Scalar
    std.default.dim.correction std_mean.default.dim.correction sum.dim_IntList.default
    trapezoid.x.dx var.default.dim.correction var_mean.default.dim.correction
composed: corrcoef cov cumulative_trapezoid diff gradient histogramdd nanmean nanquantile norm
    quantile trapezoid
along: cummax cummin cumprod cumsum logcumsumexp
float32: nanquantile prod quantile
unrecorded: bucketize histc
"""

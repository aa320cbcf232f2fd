"""PyTorch's operators of gradients, `threshold_backward` and its like, made of what they derive.

NOTE [Gradients as operators]
1. A row of `ROWS` has the arguments of `<name>_backward` after the cotangent. The operator
   without `_backward` runs on them, and is asked for its gradients. So values, and derivatives of
   every order, are those of the records.
2. Gradients are those of the arguments with a star: one, or a tuple, with None for what
   `output_mask` leaves out. Of `*input_sizes` only the shape is known: zeros stand there. A mask of
   more inputs speaks of a bias of channels, too.
3. What the operator does not take was saved for its gradient. It is computed anew.
4. Gradients that know the result alone (`of_result`) are the formulas of records.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from ...autograd import enable_grad, grad, is_grad_enabled
from ...engine.namespaces import recorded
from ...engine.registry import OPS
from ...nn.functional import batch_norm, embedding, interpolate
from ...nn.functional import threshold as rectified
from ...ops.core.dims import normalize_dim
from ...ops.reduction.variance import var_mean
from .schemas import signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...engine.tensor import Tensor

__all__ = ["FUNCTIONS", "GRADIENTS", "UPSAMPLES", "gradient_of", "of_result", "upsample"]

UPSAMPLES = {
    **{f"upsample_nearest{n}d": "nearest" for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": "nearest-exact" for n in (1, 2, 3)},
    **{"upsample_linear1d": "linear", "upsample_bilinear2d": "bilinear"},
    **{"upsample_trilinear3d": "trilinear", "upsample_bicubic2d": "bicubic"},
}
ROWS = """
hardsigmoid hardswish mish silu _adaptive_avg_pool2d _adaptive_avg_pool3d: *input
adaptive_max_pool2d adaptive_max_pool3d: *input indices
avg_pool2d avg_pool3d:
    *input kernel_size stride padding ceil_mode count_include_pad divisor_override
binary_cross_entropy: *input target weight? reduction=1
_cdist: *x1 x2 p cdist
convolution: *input *weight *bias_sizes stride padding dilation transposed output_padding groups
    output_mask
diagonal: *input_sizes offset dim1 dim2
elu: *input alpha scale input_scale
embedding: *weight_sizes indices padding_idx scale_grad_by_freq
gelu: *input approximate='none'
glu: *input dim
grid_sampler_2d grid_sampler_3d:
    *input *grid interpolation_mode padding_mode align_corners output_mask
hardshrink softshrink: *input lambd
hardtanh: *input min_val max_val
huber_loss: *input target reduction delta
select: *input_sizes dim index
leaky_relu: *input negative_slope self_is_result
log_sigmoid: *input buffer
logit: *input eps?
max_pool2d_with_indices max_pool3d_with_indices:
    *input kernel_size stride padding dilation ceil_mode indices
mse_loss soft_margin_loss: *input target reduction
multi_margin_loss: *input target p margin weight? reduction=1
multilabel_margin_loss: *input target reduction is_target
native_batch_norm: *input *weight running_mean running_var save_mean save_invstd train eps
    output_mask
native_group_norm: *input mean rstd *weight N C HxW group output_mask
native_layer_norm: *input normalized_shape mean rstd *weight *bias output_mask
nll_loss nll_loss2d: *input target weight reduction ignore_index total_weight
_pdist: *input p pdist
_prelu_kernel: *input *weight
reflection_pad1d reflection_pad2d reflection_pad3d: *input padding
replication_pad1d replication_pad2d replication_pad3d: *input padding
slice: *input_sizes dim start end step
smooth_l1_loss: *input target reduction beta
softplus: *input beta threshold
threshold: *input threshold
unfold: *input_sizes dim size step
_upsample_nearest_exact1d upsample_nearest1d: output_size *input_size scales?
_upsample_nearest_exact2d upsample_nearest2d: output_size *input_size scales_h? scales_w?
_upsample_nearest_exact3d upsample_nearest3d: output_size *input_size scales_d? scales_h? scales_w?
upsample_bicubic2d upsample_bilinear2d: output_size *input_size align_corners scales_h? scales_w?
upsample_linear1d: output_size *input_size align_corners scales?
upsample_trilinear3d: output_size *input_size align_corners scales_d? scales_h? scales_w?
"""
GRADIENTS = {
    name: words
    for names, _, words in (
        row.partition(":") for row in ROWS.replace("\n    ", " ").strip().split("\n")
    )
    for name in names.split()
}


def words_of(row: str) -> str:
    """The arguments of a row in the words of schemas, but for types; None for those with a `?`."""
    return ", ".join(f"Any {word.lstrip('*')}" for word in row.replace("?", "=None").split())


def gradient_of(name: str, function: Callable[[], Any]) -> Callable[..., Any]:
    """The operator `name`_backward of the gradients of the operator that `function` gives.

    >>> from retrograd.library import ops
    >>> x, w, g = rg.ones(1, 1, 3), rg.ones(1, 1, 2), rg.tensor([[[1.0, 2.0]]])
    >>> by = ops.aten.convolution_backward(g, x, w, [1], [1], [0], [1], False, [0], 1, (1, 1, 1))
    >>> [each.flatten().tolist() for each in by]
    [[1.0, 3.0, 2.0], [3.0, 3.0], [3.0]]
    >>> ops.aten.upsample_nearest1d_backward(rg.ones(1, 1, 4), [4], [1, 1, 2])
    tensor([[[2., 2.]]])
    """
    row = GRADIENTS[name]
    starred = [word[1:] for word in row.split() if word[0] == "*"]

    @signed(f"Any grad_output, {words_of(row)}")
    def compute(grad_output: Tensor, output_mask: Any = None, **named: Any) -> Any:
        inputs: dict[str, Any] = {}
        for word in starred:
            kind, sized, _ = word.partition("_size")
            found = named.pop(word)
            inputs[kind] = grad_output.new_zeros(found) if sized and found is not None else found
        if output_mask is not None and len(output_mask) > len(inputs):
            inputs["bias"] = grad_output.new_zeros(inputs["input"].shape[1])
        run = function()
        takes = inspect.signature(run).parameters
        if "output_size" in takes and "output_size" not in named:
            named["output_size"] = grad_output.shape[-int(name[-2]) :]
        settings = {k: value for k, value in named.items() if k in takes and value != []}
        wanted = [True] * len(inputs) if output_mask is None else output_mask
        given = gradients(functools.partial(run, **settings), inputs, wanted, grad_output)
        return given if len(given) > 1 else given[0]

    return compute


def gradients(
    function: Callable[..., Any], inputs: dict[str, Any], wanted: Any, g: Tensor
) -> tuple[Tensor | None, ...]:
    """The gradients by the inputs that are there and wanted, None for the others."""
    own = {
        name: x if x is None or x.requires_grad else x.detach().requires_grad_()
        for name, x in inputs.items()
    }
    with enable_grad():
        out = function(**own)
    asked = [want and x is not None for want, x in zip(wanted, own.values(), strict=True)]
    given = any(x is not None and x.requires_grad for x in (*inputs.values(), g))
    found = iter(
        grad(
            out[0] if isinstance(out, tuple) else out,
            [x for x, want in zip(own.values(), asked, strict=True) if want],
            g,
            create_graph=given and is_grad_enabled(),
        )
    )
    return tuple([next(found) if want else None for want in asked])


def of_result(name: str, words: str) -> Callable[..., Tensor]:
    """The operator of a gradient that knows the result: the formula of a record.

    >>> from retrograd.library import ops
    >>> ops.aten.tanh_backward(rg.ones(1), rg.tensor([0.5]))
    tensor([0.7500])
    """
    op = OPS[name]

    @signed(f"Any grad_output, Any output, {words_of(words)}")
    def compute(grad_output: Tensor, output: Tensor, dim: Any = None, **dtype: Any) -> Tensor:
        dims = None if dim is None else (normalize_dim(dim, output.ndim),)
        values = {"input": None, "out": output, "dim": dims}
        named = [values[each] for each in op.needs["input"]]
        return op.vjps["input"](recorded, grad_output, *named)  # type: ignore[no-any-return]

    return compute


# -- operators that are no function of another name ------------------------------------------------


def upsample(name: str) -> Callable[..., Tensor]:
    """The function of an operator that resamples: to a size, by scales, or by a list of scales."""
    words = words_of(GRADIENTS[name].partition("*input_size")[2])

    @signed(f"Any input, Any output_size, {words}")
    def compute(input: Tensor, output_size: Any, align_corners: Any = None, **by: Any) -> Tensor:
        first, *_ = given = [each for each in by.values() if each] or [None]
        scales = first if isinstance(first, (list, tuple)) or first is None else given
        size = output_size if scales is None else None
        return interpolate(input, size, scales, UPSAMPLES[name], align_corners)

    return compute


def _scaled(input: Tensor, shape: Any, dims: Any, rstd: Tensor, weight: Any, bias: Any) -> Tensor:
    """Input, seen in a shape, less its means, over its deviations, with the eps that `rstd` has."""
    x = input.reshape(shape)
    var, mean = var_mean(x, dims, correction=0, keepdim=True)
    eps = (rstd.reshape(var.shape) ** -2 - var).detach()
    found = ((x - mean) * (var + eps).rsqrt()).reshape(input.shape)
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


def _layer_norm(input: Any, normalized_shape: Any, rstd: Any, weight: Any, bias: Any) -> Tensor:
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    return _scaled(input, input.shape, dims, rstd, weight, bias)


def _group_norm(
    input: Any, rstd: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int
) -> Tensor:
    shape, each = (N, group, C // group * HxW), (C, *[1] * (input.ndim - 2))
    weight, bias = [None if t is None else t.reshape(each) for t in (weight, bias)]
    return _scaled(input, shape, 2, rstd, weight, bias)


def _batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, train: bool, eps: float
) -> Tensor:
    if train:
        running_mean = running_var = None
    return batch_norm(input, running_mean, running_var, weight, bias, train, 0.0, eps)


FUNCTIONS: dict[str, Callable[..., Any]] = {  # that take what an operator's gradient is given
    "embedding": lambda weight, indices, padding_idx, scale_grad_by_freq: embedding(
        indices, weight, padding_idx if padding_idx >= 0 else None, None, 2.0, scale_grad_by_freq
    ),
    "native_batch_norm": _batch_norm,
    "native_group_norm": _group_norm,
    "native_layer_norm": _layer_norm,
    "threshold": lambda input, threshold: rectified(input, threshold, 0.0),
    "unfold": lambda input, dim, size, step: input.unfold(dim, size, step),
}

"""The names of nodes where one record serves several functions; the names are PyTorch's."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.engine.registry import OPS, renamed
from retrograd.nn import functional as F

X = rg.tensor([0.1, 0.2, 0.3], requires_grad=True)
M = rg.arange(9.0).reshape(3, 3).requires_grad_()
A = rg.ones(1, 3, 1, requires_grad=True)
SIGNAL, IMAGE, VOLUME = (rg.rand(1, 1, *[4] * n).requires_grad_() for n in (1, 2, 3))
P, Q = rg.rand(2, 2).requires_grad_(), rg.rand(2, 2)
LABELS = rg.tensor([0, 1])
REDUCTIONS = ("mean", "sum", "none")
DEFINITE = (rg.eye(3) * 3 + 0.1).requires_grad_()
PLACES = rg.zeros(1, 3, dtype=rg.int64)

NAMES = {
    "SortBackward0": [
        lambda: X.sort().values,
        lambda: rg.msort(M),
    ],
    "SortBackward1": [
        lambda: X.sort(stable=True).values,
        lambda: rg.sort(M, dim=0, stable=False).values,
    ],
    "NativeLayerNormBackward0": [
        lambda: F.layer_norm(M.bfloat16(), (3,)),
    ],
    "UnsafeSplitWithSizesBackward0": [
        lambda: rg.unsafe_split_with_sizes(M, [1, 2]),
    ],
    "UnsafeSplitBackward0": [
        lambda: rg.unsafe_split(M, 2),
        lambda: M.unsafe_chunk(2),
    ],
    "IndexSelectBackward0": [
        lambda: X[0].index_select(0, LABELS[:1]),
    ],
    "CdistBackward0": [
        lambda: rg.cdist(M, M[None]),
        lambda: rg.cdist(M[None], M),
    ],
    "SumBackward0": [
        lambda: M.sum_to_size(()),
    ],
    "SumBackward1": [
        lambda: M.sum_to_size(1, 3),
    ],
    "SegmentReduceBackward0": [
        lambda: rg.segment_reduce(X, "sum", lengths=LABELS + 1),
    ],
    "Unique2Backward0": [
        lambda: rg.unique(M),
    ],
    "UniqueDimBackward0": [
        lambda: rg.unique(M, dim=0),
    ],
    "ClampBackward1": [lambda: X.clamp(0), lambda: X.clamp(max=1), lambda: X.clip(0, 1)],
    "ClampMinBackward0": [lambda: X.clamp_min(0)],
    "ClampMaxBackward0": [lambda: rg.clamp_max(X, 0)],
    "ClampBackward0": [lambda: X.clamp(X, X)],
    "ClampMinBackward1": [lambda: X.clamp_min(X)],
    "ClampMaxBackward1": [lambda: X.clamp_max(X)],
    "SqueezeBackward0": [lambda: A.squeeze(), lambda: X.squeeze()],
    "SqueezeBackward2": [lambda: A.squeeze((0, 2))],
    "SplitBackward0": [lambda: M.split(1), lambda: M.chunk(2)],
    "SplitWithSizesBackward0": [lambda: M.split([1, 2]), lambda: M.split_with_sizes((1, 2))],
    "IndexBackward0": [
        *[lambda: M[M > 0], lambda: M[[0, 1]]],
        lambda: rg.nn.utils.rnn.unpad_sequence(M, [2, 1, 3])[2],
    ],
    "TakeBackward0": [lambda: rg.take(M, PLACES)],
    "MaskedSelectBackward0": [lambda: M.masked_select(M > 0)],
    "ScatterBackward0": [lambda: M.scatter(0, PLACES, M)],
    "ScatterBackward1": [lambda: M.scatter(0, PLACES, 1.0)],
    "AmaxBackward0": [lambda n=n: rg.linalg.matrix_norm(M, n) for n in (1, 2, float("inf"))],
    "LinalgInvExBackward0": [lambda: rg.linalg.matrix_power(DEFINITE, -1)],
    "MulBackward1": [lambda: rg.special.ndtr(X)],
    "NanToNumBackward0": [lambda: rg.linalg.cond(DEFINITE, 1)],
    "ReshapeAliasBackward0": [
        lambda: rg.linalg.tensorinv(DEFINITE[None], 2),
        *[lambda: M.T.reshape(1, 3, 3), lambda: M[:, 0].reshape(3, 1)],
    ],
    "WeightNormInterfaceBackward0": [
        lambda: rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(3, 2)).weight,
        lambda: rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(3, 2), dim=1).weight,
    ],
    "SubBackward0": [lambda: X - 1, lambda: X - X],
    "AddBackward0": [lambda: X + 2, lambda: rg.nn.GRUCell(3, 2)(A.view(1, 3))],
    "RsubBackward1": [
        lambda: 1 - X,
        lambda: rg.rsub(X, 2),
        lambda: rg.rsub(X, 1, alpha=2),
    ],
    "DivBackward2": [lambda: rg.div(X, 2, rounding_mode="floor")],
    "DiagonalBackward0": [lambda: M.diagonal()],
    "DiagEmbedBackward0": [lambda: rg.diag(X), lambda: rg.diag_embed(X)],
    "EluBackward0": [lambda: F.elu(X), lambda: F.selu(X)],
    "CeluBackward0": [lambda: F.celu(X)],
    "I0Backward0": [lambda: rg.i0(X)],
    "SpecialI1Backward0": [lambda: rg.special.i1(X)],
    "SpecialI0EBackward0": [lambda: rg.special.i0e(X)],
    "SpecialI1EBackward0": [lambda: rg.special.i1e(X)],
    "SpecialZetaBackward0": [lambda: rg.special.zeta(X + 2, X)],
    "SpecialZetaBackward1": [lambda: rg.special.zeta(2.0, X)],
    "SpecialZetaBackward2": [lambda: rg.special.zeta(X + 2, 2.0)],
    "MaxPool2DWithIndicesBackward0": [lambda: F.max_pool2d(IMAGE, 2)],
    "MaxPool3DWithIndicesBackward0": [lambda: F.max_pool3d(VOLUME, 2)],
    "AvgPool2DBackward0": [lambda: F.avg_pool2d(IMAGE, 2)],
    "AvgPool3DBackward0": [lambda: F.avg_pool3d(VOLUME, 2)],
    "AdaptiveAvgPool2DBackward0": [lambda: F.adaptive_avg_pool2d(IMAGE, n) for n in (2, 3)],
    "AdaptiveAvgPool3DBackward0": [lambda: F.adaptive_avg_pool3d(VOLUME, n) for n in (2, 3)],
    "AdaptiveMaxPool2DBackward0": [lambda: F.adaptive_max_pool2d(IMAGE, n) for n in (2, 3)],
    "AdaptiveMaxPool3DBackward0": [lambda: F.adaptive_max_pool3d(VOLUME, n) for n in (2, 3)],
    "FractionalMaxPool2DBackward0": [lambda: F.fractional_max_pool2d(IMAGE, 2, 2)],
    "FractionalMaxPool3DBackward0": [lambda: F.fractional_max_pool3d(VOLUME, 2, 2)],
    "MaxUnpool2DBackward0": [lambda: F.max_unpool2d(*F.max_pool2d_with_indices(IMAGE, 2), 2)],
    "MaxUnpool3DBackward0": [lambda: F.max_unpool3d(*F.max_pool3d_with_indices(VOLUME, 2), 2)],
    "BinaryCrossEntropyBackward0": [
        lambda: F.binary_cross_entropy(P, Q),
        lambda: F.binary_cross_entropy(P, Q, weight=Q, reduction="sum"),
        lambda: F.binary_cross_entropy(P, Q, reduction="none"),
    ],
    "BinaryCrossEntropyWithLogitsBackward0": [
        lambda: F.binary_cross_entropy_with_logits(P, Q),
        lambda: F.binary_cross_entropy_with_logits(P, Q, pos_weight=Q, reduction="none"),
    ],
    "SmoothL1LossBackward0": [lambda: F.smooth_l1_loss(P, Q, reduction=r) for r in REDUCTIONS],
    "HuberLossBackward0": [lambda: F.huber_loss(P, Q, reduction=r) for r in REDUCTIONS],
    "SoftMarginLossBackward0": [lambda: F.soft_margin_loss(P, Q, reduction=r) for r in REDUCTIONS],
    "MultiMarginLossBackward0": [lambda: F.multi_margin_loss(P, LABELS)],
    "MultilabelMarginLossBackward0": [lambda: F.multilabel_margin_loss(P, LABELS.expand(2, 2))],
    "NllLossBackward0": [
        lambda: F.nll_loss(X, LABELS[0], reduction="none"),
        lambda: F.cross_entropy(P, LABELS),
        lambda: F.nll_loss(P, LABELS),
        lambda: F.nll_loss(P, LABELS, reduction="sum"),
        lambda: F.nll_loss(P, LABELS, reduction="none"),
    ],
    "NllLoss2DBackward0": [lambda: F.nll_loss(P[..., None, None], LABELS[:, None, None])],
    "GluBackward0": [lambda: F.glu(P)],
    "TraceBackward0": [lambda: M.trace()],
    "VdotBackward0": [
        lambda: rg.vdot(X, X),
        lambda: rg.linalg.vecdot(X, X),
    ],
    "DotBackward0": [lambda: rg.dot(X, X), lambda: X @ X],
    "AddmvBackward0": [lambda: rg.addmv(X, M, X, beta=2)],
    "AddrBackward0": [lambda: rg.addr(M, X, X)],
    "AddbmmBackward0": [lambda: rg.addbmm(M, M[None], M[None])],
    "DistBackward0": [lambda: rg.dist(X, M, 3)],
    "RenormBackward0": [lambda: M.renorm(2, 0, 1.0)],
    "MvlgammaBackward0": [lambda: rg.mvlgamma(X + 3, 2)],
    "GridSampler2DBackward0": [
        lambda: F.grid_sample(IMAGE, rg.zeros(1, 2, 2, 2), align_corners=True)
    ],
    "GridSampler3DBackward0": [
        lambda: F.grid_sample(VOLUME, rg.zeros(1, 2, 2, 2, 3), align_corners=True)
    ],
    "PdistBackward0": [lambda: F.pdist(M)],
    "CholeskyInverseBackward0": [lambda: rg.cholesky_inverse(M + 9 * rg.eye(3))],
    "BlockDiagBackward0": [lambda: rg.block_diag(X, M)],
    "MmBackward0": [lambda: M @ M, lambda: F.linear(M, M)],
    "AddmmBackward0": [
        lambda: F.linear(M, M, X),
        lambda: F.linear(M, M, X.detach()),
        lambda: rg.addmm(M, M, M, beta=2, alpha=3),
        lambda: M.clone().addmm_(M, M),
    ],
    "ViewBackward0": [
        lambda: M.sum_to_size(3),
        lambda: F.instance_norm(IMAGE.bfloat16()),
        lambda: F.instance_norm(IMAGE, rg.ones(1), rg.ones(1), use_input_stats=False),
        lambda: rg.nn.MultiheadAttention(4, 2)(IMAGE[0], IMAGE[0], IMAGE[0]),
        lambda: rg.nn.MultiheadAttention(4, 2, bias=False)(IMAGE[0], IMAGE[0], IMAGE[0]),
        lambda: F.instance_norm(IMAGE),
        lambda: F.linear(M[None], M, X),
        lambda: M.reshape(9),
        lambda: rg.tensordot(M, M, 1),
        lambda: rg.einsum("ij,jk->ik", M, M),
        lambda: rg.einsum("ij,bjk->bik", M, M[None]),
        lambda: rg.einsum("ij,jk->ik", X[:1, None], X[:1, None]),
        lambda: rg.einsum("i,j->", X, X),
        lambda: rg.linalg.multi_dot([M, M, M]),
        *[lambda: M.repeat_interleave(2), lambda: M.repeat_interleave(2, 1)],
        lambda: F.cross_entropy(P[..., None], LABELS[:, None], reduction="none"),
    ],
    "UnsafeViewBackward0": [
        lambda: M[None] @ X,
        lambda: X @ M[None],
        lambda: F.linear(M[None], M),
        lambda: M[None] @ M[None],
        lambda: M[None] @ M,
        lambda: M.T.reshape(9),
        lambda: M.T.flatten(),
        lambda: rg.kron(M, M),
    ],
    "BmmBackward0": [lambda: rg.bmm(M[None], M[None])],
    "BaddbmmBackward0": [lambda: rg.baddbmm(M, M[None], M[None])],
    "RsubBackward0": [
        lambda: rg.rsub(X, X),
        lambda: rg.rsub(X, X, alpha=2),
    ],
    "MaskedFillBackward0": [
        lambda: M.masked_fill(M > 0, 0),
        lambda: (+M * 1).masked_fill_(M > 0, 1),
    ],
    "MaskedFillBackward1": [lambda: M.masked_fill(M > 0, rg.tensor(0.0))],
    "MaskedScatterBackward0": [lambda: M.masked_scatter(M > 0, M)],
    "IndexCopyBackward0": [lambda: M.index_copy(0, LABELS, M[:2])],
    "IndexFillBackward0": [lambda: M.index_fill(0, LABELS, 0)],
    "IndexFillBackward1": [lambda: M.index_fill(0, LABELS, rg.tensor(0.0))],
    "IndexReduceBackward0": [lambda: M.index_reduce(0, LABELS, M[:2], "mean")],
    "ScatterReduceBackward0": [
        lambda r=r: M.scatter_reduce(0, PLACES, M, r) for r in ("sum", "mean", "amax", "prod")
    ],
    "PutBackward0": [lambda: M.put(LABELS, X[:2])],
    "SelectScatterBackward0": [lambda: rg.select_scatter(M, X, 0, 0)],
    "SliceScatterBackward0": [lambda: rg.slice_scatter(M, M[:1], 0, 0, 1)],
    "DiagonalScatterBackward0": [lambda: rg.diagonal_scatter(M, X)],
    "Rot90Backward0": [lambda k=k: M.rot90(k) for k in range(4)],
    "RollBackward0": [lambda: M.roll(1), lambda: M.roll(1, 0)],
    "DiagonalBackward0_copy": [lambda: M.diag()],
    "AminmaxBackward0": [lambda: M.aminmax(), lambda: M.aminmax()[::-1]],
    "LdexpBackward0": [lambda: rg.ldexp(X, rg.tensor(2))],
    "LeakyReluBackward0": [lambda: F.leaky_relu(X)],
    "LeakyReluBackward1": [lambda: F.leaky_relu(X * 1, 0.2, inplace=True)],
    "EluBackward1": [lambda: F.elu(X * 1, inplace=True), lambda: F.selu(X * 1, inplace=True)],
    "HardtanhBackward0": [lambda: F.relu6(X), lambda: F.relu6(X * 1, inplace=True)],
    "RreluWithNoiseBackward0": [lambda: F.rrelu(X, training=True), lambda: F.rrelu(X)],
    "RreluWithNoiseBackward1": [lambda: F.rrelu(X * 1, training=True, inplace=True)],
    "ConvolutionBackward0": [
        lambda: F.conv2d(IMAGE, IMAGE, X[:1]),
        lambda: F.conv_transpose2d(IMAGE, IMAGE),
        lambda: F.conv_transpose2d(IMAGE, IMAGE, X[:1]),
    ],
    "SqueezeBackward1": [
        *[lambda: A.squeeze(0), lambda: A.squeeze(-1), lambda: A.squeeze(1)],
        *[lambda: rg.linalg.cond(M), lambda: rg.linalg.cond(M, -2)],
        *[lambda: F.max_pool1d(SIGNAL, 2), lambda: F.avg_pool1d(SIGNAL, 2)],
        lambda: F.adaptive_avg_pool1d(SIGNAL, 2),
        lambda: F.adaptive_max_pool1d(SIGNAL, 2),
    ],
    "MeanBackward1": [
        lambda: M.mean(0),
        lambda: F.adaptive_avg_pool2d(IMAGE, 1),
        lambda: F.adaptive_avg_pool3d(VOLUME, (1, 1, 1)),
    ],
    "NativeBatchNormBackward0": [
        lambda: F.batch_norm(M.bfloat16(), None, None, training=True),
        lambda: F.batch_norm(M, None, None, training=True),
        lambda: F.batch_norm(M, X.detach(), X.detach(), X, X),
    ],
    "NativeGroupNormBackward0": [lambda: F.group_norm(IMAGE, 1)],
    "MulBackward0": [
        lambda: rg.nn.LSTMCell(3, 2)(A.view(1, 3)),
        *[lambda: rg.outer(X, X), lambda: 1 / X, lambda: F.dropout(M), lambda: F.dropout2d(IMAGE)],
        lambda: F.rms_norm(M, (3,), X),
    ],
    "EmbeddingBagBackward0": [
        lambda m=m: F.embedding_bag(PLACES, M, mode=m) for m in ("sum", "mean", "max")
    ],
    "PixelShuffleBackward0": [lambda: F.pixel_shuffle(IMAGE.reshape(1, 4, 2, 2), 2)],
    "PixelUnshuffleBackward0": [lambda: F.pixel_unshuffle(IMAGE, 2)],
    "ChannelShuffleBackward0": [lambda: F.channel_shuffle(IMAGE.reshape(1, 4, 2, 2), 2)],
    "ReflectionPad1DBackward0": [lambda: F.pad(SIGNAL, (1, 1), mode="reflect")],
    "ReflectionPad2DBackward0": [lambda: F.pad(IMAGE, (1, 1, 1, 1), mode="reflect")],
    "ReplicationPad3DBackward0": [lambda: F.pad(VOLUME, (1, 1, 1, 1, 1, 1), mode="replicate")],
    "torch::autograd::CopySlices": [lambda: F.pad(IMAGE, (1, 1, 1, 1), mode="circular")],
    "UpsampleNearest1DBackward0": [lambda: F.interpolate(SIGNAL, scale_factor=2)],
    "UpsampleNearest2DBackward0": [lambda: F.interpolate(IMAGE, scale_factor=2)],
    "UpsampleNearestExact3DBackward0": [
        lambda: F.interpolate(VOLUME, scale_factor=2, mode="nearest-exact")
    ],
    "UpsampleLinear1DBackward0": [lambda: F.interpolate(SIGNAL, scale_factor=2, mode="linear")],
    "UpsampleBilinear2DBackward0": [lambda: F.interpolate(IMAGE, scale_factor=2, mode="bilinear")],
    "UpsampleBicubic2DAaBackward0": [
        lambda: F.interpolate(IMAGE, size=2, mode="bicubic", antialias=True)
    ],
    "UpsampleTrilinear3DBackward0": [
        lambda: F.interpolate(VOLUME, scale_factor=2, mode="trilinear")
    ],
    "AffineGridGeneratorBackward0": [
        lambda: F.affine_grid(M[None, :2], (1, 1, 2, 2), align_corners=False)
    ],
    "NormBackward1": [lambda: F.pairwise_distance(M, M)],
    "CtcLossBackward0": [
        lambda: F.ctc_loss(M[:, None], LABELS[None, 1:], [3], [1], reduction="none")
    ],
    "DivBackward1": [lambda: F.cross_entropy(P, Q)],
    "NegBackward0": [lambda: F.cross_entropy(P, Q, reduction=kind) for kind in ("sum", "none")],
    "ToCopyBackward0": [
        lambda: VOLUME[0].to(memory_format=rg.channels_last),
        lambda: VOLUME.to("cpu", copy=True),
    ],
    "LinalgSolveTriangularBackward0": [
        lambda: rg.linalg.solve_triangular(DEFINITE, M, upper=True, left=False)
    ],
    "CholeskySolveBackward0": [lambda: rg.cholesky_solve(M, DEFINITE)],
    "LinalgLuBackward0": [lambda: rg.linalg.lu(DEFINITE)[1:], lambda: rg.linalg.lu(DEFINITE)[2:]],
    "LuUnpackBackward0": [lambda: rg.lu_unpack(*rg.linalg.lu_factor(DEFINITE))[1:]],
    "LinalgLuSolveBackward0": [lambda: rg.linalg.lu_solve(*rg.linalg.lu_factor(DEFINITE), M)],
    "LinalgSolveExBackward0": [
        lambda: rg.linalg.solve(DEFINITE, M),
        *[lambda: rg.linalg.solve(DEFINITE, X), lambda: rg.linalg.solve(DEFINITE, M, left=False)],
    ],
    "LinalgLstsqBackward0": [lambda: rg.linalg.lstsq(DEFINITE, M)],
    "LinalgHouseholderProductBackward0": [lambda: rg.linalg.householder_product(M, X)],
    "OrmqrBackward0": [lambda: rg.ormqr(M, X, M), lambda: rg.ormqr(M, X, M, left=False)],
    "FftR2CBackward0": [lambda: rg.fft.fft(X), lambda: rg.fft.rfft(X)],
    "FftC2CBackward0": [lambda: rg.fft.fft(X * 1j)],
    "ConjBackward0": [lambda: rg.fft.ifft(X)],
    "SelectBackward0": [lambda: M[0], lambda: (X * 1j).real, lambda: (X * 1j).imag],
    "NormalBackward1": [lambda: rg.normal(X, 1.0)],
    "NormalBackward2": [lambda: rg.normal(0.0, X)],
    "NormalBackward3": [lambda: rg.normal(X, X)],
    "TBackward0": [lambda: M.t()],
    "GatherBackward0": [
        lambda: M.gather(0, LABELS[None]),
        lambda: M.gather(0, rg.zeros(0, 1, dtype=rg.int64)),
    ],
    "IndexAddBackward0": [
        lambda: M.index_add(0, LABELS, M[:2]),
        lambda: X.sum().index_add(0, LABELS[:1], X[0]),
    ],
    "TBackward1": [lambda: M.clone().t_()],
    "TransposeBackward1": [
        lambda: M.clone().transpose_(0, 1),
        lambda: rg.nn.GRU(4, 2, batch_first=True)(IMAGE[0])[0],
        lambda: rg.stft(SIGNAL[0], 2, 1, window=rg.ones(2), return_complex=True),
    ],
    "UnsqueezeBackward1": [lambda: X.clone().unsqueeze_(0)],
    "SqueezeBackward3": [lambda: A.clone().squeeze_()],
    "SqueezeBackward4": [
        lambda: A.clone().squeeze_(0),
        lambda: X @ M,
        lambda: rg.stft(SIGNAL[0, 0], 2, 1, window=rg.ones(2), return_complex=True),
    ],
    "SqueezeBackward5": [lambda: A.clone().squeeze_((0, 2))],
    "AsStridedBackward1": [lambda: M.clone().as_strided_((2, 2), (1, 1))],
    "MseLossBackward0": [lambda: F.mse_loss(P, Q)],
    "MeanBackward0": [lambda: F.l1_loss(P, Q), lambda: P.mean()],
}


@pytest.mark.parametrize("name", NAMES)
def test_a_node_has_the_name_of_the_function(name):
    for call in NAMES[name]:
        found = call()
        node = (found[0] if isinstance(found, tuple) else found).grad_fn
        assert (type(node).__name__, node.name()) == (name.rpartition("::")[2], name)


def leaves(t):
    """What the edges of a tensor's node lead to: the number of a leaf's name, or None."""
    numbers = {id(X): "X", id(M): "M", id(A): "A"}
    return [
        edge and numbers.get(id(getattr(edge, "variable", None)), "?")
        for edge, _ in t.grad_fn.next_functions
    ]


@pytest.mark.parametrize(
    ("call", "edges"),
    [
        (lambda: 1 - X, ["X"]),
        (lambda: X - 1, ["X", None]),
        (lambda: rg.rsub(X, M), ["X", "M"]),
        (lambda: 1 / X, ["X", None]),
        (lambda: M.masked_fill(M > 0, 0), ["M"]),
        (lambda: M.masked_fill(M > 0, X.sum()), ["M", "?"]),
        (lambda: M.scatter(0, PLACES, 1.0), ["M"]),
        (lambda: rg.normal(0.0, X), ["X"]),
        (lambda: F.linear(X[None].detach(), M, X), ["X", None, "M"]),
        (lambda: F.linear(A[0].T, M), ["?", "M"]),
        (lambda: F.linear(M, M.detach()), ["M", None]),
    ],
)
def test_the_edges_of_a_node_are_those_of_pytorch(call, edges):
    assert leaves(call()) == edges


def test_hooks_of_a_node_see_the_edges_that_it_shows():
    seen = []
    y = F.linear(M, M.detach(), X)

    def hook(inputs, outputs):
        seen.append([None if g is None else g.shape for g in inputs])
        return inputs[0] * 2, inputs[1] * 3, None

    y.grad_fn.register_hook(hook)
    bias, rows = rg.autograd.grad(y.sum(), (X, M))
    assert seen == [[(3,), (3, 3), None]]
    assert bias.tolist() == [6.0, 6.0, 6.0]
    assert rows[0].tolist() == [3 * n for n in M.detach().sum(0).tolist()]
    z = 1 - X
    z.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(inputs)))
    z.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 5,))
    assert rg.autograd.grad(z.sum(), X)[0].tolist() == [-5.0, -5.0, -5.0]
    assert seen[1:] == [1]


def test_a_renamed_op_is_the_same_record():
    record = OPS["squeeze"]
    call = renamed(record.call, "OtherBackward0")
    assert (call.op.name, call.op.node_name) == ("squeeze", "OtherBackward0")
    assert OPS["squeeze"] is record
    assert record.node_name == "SqueezeBackward0"
    y = call(A, dims=(0,))
    assert y.grad_fn.name() == "OtherBackward0"
    assert y._base is A
    (gradient,) = rg.autograd.grad(y.sum(), A)
    assert gradient.tolist() == [[[1.0], [1.0], [1.0]]]


def test_a_loss_with_the_name_of_the_whole_leaves_the_names_of_others():
    loss = F.smooth_l1_loss(P, Q)
    assert P.mean().grad_fn.name() == "MeanBackward0"
    assert loss.grad_fn.next_functions[0][0].name() == "DivBackward0"
    (gradient,) = rg.autograd.grad(loss, P)
    rg.testing.assert_close(gradient, (P - Q).detach() / 4)


def test_a_renamed_op_runs_on_batches_and_forward():
    rows = rg.arange(6.0).reshape(2, 3)
    made = rg.func.vmap(lambda x: 1 - x.clamp_min(1))(rows)
    assert made.tolist() == [[0.0, 0.0, -1.0], [-2.0, -3.0, -4.0]]
    _, tangent = rg.func.jvp(lambda x: F.celu(1 - x), (rows,), (rg.ones(2, 3),))
    rg.testing.assert_close(tangent, -(1 - rows).clamp_max(0).exp())


CHAINS = {
    "rg.linalg.solve(DEFINITE, M, left=False)": "LinalgSolveEx",
    "rg.linalg.solve_triangular(DEFINITE, M, upper=True, left=False)": "LinalgSolveTriangular",
    "F.cross_entropy(P, Q)": "Div Neg Sum Mul LogSoftmax",
    "rg.fft.fft2(M)": "FftC2C ToCopy",
    "rg.fft.irfft(M)": "FftC2R ToCopy",
    "rg.fft.rfft(M, n=2)": "FftR2C Slice",
    "rg.istft(M[None] * 1j, 4)": (
        "Div Slice UnfoldBackward Mul FftC2R ViewAsComplex Transpose ViewAsReal Mul Unsqueeze"
    ),
}


@pytest.mark.parametrize("text", CHAINS)
def test_nodes_behind_the_last_have_pytorchs_names_too(text):
    node, names = eval(text).grad_fn, []
    while node.next_functions:
        names.append(node.name().removesuffix("0").removesuffix("1").removesuffix("Backward"))
        node = node.next_functions[0][0]
    assert " ".join(names) == CHAINS[text]


def test_the_name_of_a_reshaped_copy_does_not_change():
    y = M.T.reshape(9)
    for use in (y.detach, y.exp, lambda: y.mul_(2).grad_fn.next_functions[0][0]):
        made = use()
        node = made if made.__class__ is not rg.Tensor else y.grad_fn
        assert node.name() == "UnsafeViewBackward0"

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
PLACES = rg.zeros(1, 3, dtype=rg.int64)

NAMES = {
    "ClampBackward1": [lambda: X.clamp(0), lambda: X.clamp(max=1), lambda: X.clip(0, 1)],
    "ClampMinBackward0": [lambda: X.clamp_min(0)],
    "ClampMaxBackward0": [lambda: rg.clamp_max(X, 0)],
    "ClampBackward0": [lambda: X.clamp(X, X)],
    "ClampMinBackward1": [lambda: X.clamp_min(X)],
    "ClampMaxBackward1": [lambda: X.clamp_max(X)],
    "SqueezeBackward0": [lambda: A.squeeze(), lambda: X.squeeze()],
    "SqueezeBackward1": [lambda: A.squeeze(0), lambda: A.squeeze(-1), lambda: A.squeeze(1)],
    "SqueezeBackward2": [lambda: A.squeeze((0, 2))],
    "SplitBackward0": [lambda: M.split(1), lambda: M.chunk(2)],
    "SplitWithSizesBackward0": [lambda: M.split([1, 2]), lambda: M.split_with_sizes((1, 2))],
    "IndexBackward0": [lambda: M[M > 0], lambda: M[[0, 1]]],
    "TakeBackward0": [lambda: rg.take(M, PLACES)],
    "MaskedSelectBackward0": [lambda: M.masked_select(M > 0)],
    "ScatterBackward0": [lambda: M.scatter(0, PLACES, M)],
    "ScatterBackward1": [lambda: M.scatter(0, PLACES, 1.0)],
    "SubBackward0": [lambda: X - 1, lambda: X - X],
    "RsubBackward1": [lambda: 1 - X, lambda: rg.rsub(X, 2)],
    "DivBackward2": [lambda: rg.div(X, 2, rounding_mode="floor")],
    "DiagonalBackward0": [lambda: M.diagonal()],
    "DiagEmbedBackward0": [lambda: rg.diag(X), lambda: rg.diag_embed(X)],
    "MulBackward0": [lambda: rg.outer(X, X)],
    "EluBackward0": [lambda: F.elu(X), lambda: F.selu(X)],
    "CeluBackward0": [lambda: F.celu(X)],
    "I0Backward0": [lambda: rg.i0(X)],
    "SpecialI1Backward0": [lambda: rg.special.i1(X)],
    "SpecialI0EBackward0": [lambda: rg.special.i0e(X)],
    "SpecialI1EBackward0": [lambda: rg.special.i1e(X)],
    "SpecialZetaBackward0": [lambda: rg.special.zeta(X + 2, X)],
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
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_node_has_the_name_of_the_function(name):
    for call in NAMES[name]:
        found = call()
        node = (found[0] if isinstance(found, tuple) else found).grad_fn
        assert (type(node).__name__, node.name()) == (name, name)


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


def test_a_renamed_op_runs_on_batches_and_forward():
    rows = rg.arange(6.0).reshape(2, 3)
    made = rg.func.vmap(lambda x: 1 - x.clamp_min(1))(rows)
    assert made.tolist() == [[0.0, 0.0, -1.0], [-2.0, -3.0, -4.0]]
    _, tangent = rg.func.jvp(lambda x: F.celu(1 - x), (rows,), (rg.ones(2, 3),))
    rg.testing.assert_close(tangent, -(1 - rows).clamp_max(0).exp())

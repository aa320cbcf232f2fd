"""Bad input: PyTorch's exception type and key phrase, and everything left as it was."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F


def ones(*shape, dtype=rg.float32, grad=False):
    return rg.ones(*shape, dtype=dtype, requires_grad=grad)


LEAF = "a leaf Variable that requires grad is being used in an in-place operation"

CASES = {
    "a mean that is no number": (
        lambda: ones(2).normal_(ones(2), 1.0),
        TypeError,
        r"normal_\(\): argument 'mean' \(position 1\) must be float, not Tensor",
    ),
    "an initial mean that is no number": (
        lambda: rg.nn.init.normal_(ones(2), None),
        TypeError,
        r"normal_\(\): argument 'mean' \(position 1\) must be float, not NoneType",
    ),
    "a threshold of NaN": (
        lambda: F.huber_loss(ones(2), ones(2), delta=float("nan")),
        RuntimeError,
        "non-positive values for delta",
    ),
    "states that are no dictionaries": (
        lambda: rg.func.functional_call(rg.nn.ReLU(), (0, 0), (ones(2),)),
        ValueError,
        "Expected all elements of parameter_and_buffer_dicts to be dictionaries",
    ),
    "numbers to pad": (
        lambda: rg.nn.utils.rnn.pad_sequence([1.0, 2.0]),
        TypeError,
        "expected Tensor as element 0 in argument 0, but got float",
    ),
    "nothing to pack": (
        lambda: rg.nn.utils.rnn.pack_padded_sequence(None, [1]),
        TypeError,
        "argument 'input'",
    ),
    "lengths that are no numbers": (
        lambda: F.ctc_loss(ones(3, 1, 2), rg.tensor([[1]]), None, (1,)),
        TypeError,
        "input_lengths must be integral",
    ),
    "nothing to copy": (
        lambda: rg.index_copy(ones(2, 3), 0, rg.tensor([0, 1]), None),
        TypeError,
        r"index_copy\(\): argument 'source' \(position 4\) must be Tensor, not NoneType",
    ),
    "rows of other dimensions to copy": (
        lambda: rg.index_copy(ones(2, 3), 0, rg.tensor([0, 1]), ones(2)),
        IndexError,
        "dimensions of source",
    ),
    "a matrix of indices, whatever its dtype": (
        lambda: rg.index_add(ones(2, 3), 0, ones(2, 2), ones(2, 3)),
        IndexError,
        "Index is supposed to be a vector",
    ),
    "a matrix of indices to fill": (
        lambda: rg.index_fill(ones(2, 3), 1, rg.tensor([[0]]), 5.0),
        RuntimeError,
        "vector or scalar",
    ),
    "values of another dtype to put": (
        lambda: rg.put(ones(2), rg.tensor([0]), rg.tensor([1, 2])),
        RuntimeError,
        "expected to have the same dtype",
    ),
    "attention of whole numbers": (
        lambda: F.scaled_dot_product_attention(ones(2, 3, dtype=rg.int64), ones(2, 3), ones(2, 3)),
        RuntimeError,
        "Expected query, key, and value to have the same floating dtype",
    ),
    "a tolerance of NaN": (
        lambda: rg.isclose(ones(2), ones(2), float("nan")),
        RuntimeError,
        "rtol must be greater than or equal to zero",
    ),
    "a norm of NaN": (
        lambda: rg.renorm(ones(2, 2), float("nan"), 0, 1.0),
        RuntimeError,
        "non-positive-norm not supported",
    ),
    "a standard deviation of NaN": (
        lambda: ones(2).normal_(0, float("nan")),
        RuntimeError,
        "normal expects std >= 0",
    ),
    "places in fewer than no rows": (
        lambda: rg.tril_indices(-7, 3),
        RuntimeError,
        "row must be non-negative",
    ),
    "a vector to turn": (
        lambda: rg.rot90(ones(2), 1, (0, 1)),
        RuntimeError,
        "expected total dims >= 2, but got total dims = 1",
    ),
    "a bilinear map of two dimensions": (
        lambda: F.bilinear(ones(2, 3), ones(2, 3), ones(2, 3)),
        IndexError,
        r"bilinear\(\): weight must be",
    ),
    "factors of whole numbers": (
        lambda: rg.linalg.lu_factor(ones(2, 2, dtype=rg.int64)),
        NotImplementedError,
        "lu_factor",
    ),
    "a table of bags that is a vector": (
        lambda: F.embedding_bag(rg.tensor([[0, 1]]), ones(3)),
        ValueError,
        "weight has to be a 2D Tensor",
    ),
    "boundaries without a dimension": (
        lambda: rg.searchsorted(rg.tensor(2.0), ones(2)),
        RuntimeError,
        "boundaries tensor",
    ),
    "no quantile": (
        lambda: rg.quantile(ones(2), None),
        TypeError,
        r"quantile\(\): argument 'q'",
    ),
    "shapes that do not broadcast": (
        lambda: ones(2) + ones(3),
        RuntimeError,
        r"The size of tensor a \(2\) must match the size of tensor b \(3\) at non-singleton",
    ),
    "matrices that do not fit": (
        lambda: ones(2, 3) @ ones(4, 5),
        RuntimeError,
        r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)",
    ),
    "matrices of two dtypes": (
        lambda: ones(2, 3) @ ones(3, 2, dtype=rg.float64),
        RuntimeError,
        "expected m1 and m2 to have the same dtype",
    ),
    "a layer and rows of two dtypes": (
        lambda: rg.nn.Linear(3, 2)(ones(3).double()),
        RuntimeError,
        "mat1 and mat2 must have the same dtype, but got Double and Float",
    ),
    "a view of a transposed tensor": (
        lambda: ones(2, 3).T.view(6),
        RuntimeError,
        "view size is not compatible with input tensor's size and stride",
    ),
    "a view as a dtype that does not divide": (
        lambda: ones(3).view(rg.float64),
        RuntimeError,
        "must be divisible by 2 to view Float as Double",
    ),
    "fewer sizes than dimensions": (
        lambda: ones(2, 3).expand(2),
        RuntimeError,
        r"expand\(retrograd\.FloatTensor\{\[2, 3\]\}, size=\[2\]\): the number of sizes provided",
    ),
    "shapes with no common one": (
        lambda: rg.broadcast_shapes((2, 3), (4, 3)),
        RuntimeError,
        r"dimension of length 4 at -2! Mismatching argument at index 1 had \(4, 3\); but expected",
    ),
    "a border wider than the image": (
        lambda: F.pad(ones(1, 1, 3, 3), (0, 0, 5, 5), mode="reflect"),
        RuntimeError,
        "Argument #6: Padding size should be less than",
    ),
    "nothing to stack side by side": (
        lambda: rg.hstack([]),
        RuntimeError,
        "hstack expects a non-empty TensorList",
    ),
    "a tensor in the place of a parameter": (
        lambda: setattr(rg.nn.Linear(1, 1), "weight", ones(1)),
        TypeError,
        "cannot assign 'retrograd.FloatTensor' as parameter 'weight'",
    ),
    "a gradient of another size": (
        lambda: setattr(ones(2), "grad", ones(3)),
        RuntimeError,
        "Please ensure that the gradient and the tensor are the same size",
    ),
    "no sequences": (
        lambda: rg.nn.utils.rnn.pad_sequence(3),
        RuntimeError,
        "pad_sequence: Expected iterable for input sequences",
    ),
    "a view of the wrong size": (
        lambda: ones(2, 3).view(4, 2),
        RuntimeError,
        r"shape '\[4, 2\]' is invalid for input of size 6",
    ),
    "a dimension out of range": (
        lambda: ones(2, 3).sum(5),
        IndexError,
        r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 5\)",
    ),
    "an index out of bounds": (
        lambda: ones(3)[5],
        IndexError,
        "index 5 is out of bounds for dimension 0 with size 3",
    ),
    "a class that is none": (
        lambda: F.cross_entropy(ones(2, 3), rg.tensor([0, 7])),
        IndexError,
        "Target 7 is out of bounds",
    ),
    "channels that do not fit": (
        lambda: F.conv2d(ones(1, 2, 8, 8), ones(4, 3, 3, 3)),
        RuntimeError,
        r"Given groups=1, weight of size \[4, 3, 3, 3\], expected input\[1, 2, 8, 8\]",
    ),
    "no tensor": (
        lambda: rg.exp(1.0),
        TypeError,
        r"exp\(\): argument 'input' \(position 1\) must be Tensor, not float",
    ),
    "an absent device": (lambda: ones(2).to("cuda"), AssertionError, "not compiled with CUDA"),
    "a device that is none": (
        lambda: rg.zeros(2, device="toaster"),
        RuntimeError,
        "Expected one of cpu",
    ),
    "integers that require grad": (
        lambda: rg.tensor([1, 2], requires_grad=True),
        RuntimeError,
        "^Only Tensors of floating point and complex dtype can require gradients",
    ),
    "a factory of integers that require grad": (
        lambda: rg.ones(2, dtype=rg.int64, requires_grad=True),
        RuntimeError,
        "^Only Tensors of floating point and complex dtype can require gradients",
    ),
    "a parameter of integers": (
        lambda: rg.nn.Parameter(rg.arange(3)),
        RuntimeError,
        "^Only Tensors of floating point and complex dtype can require gradients",
    ),
    "integers that are to require grad": (
        lambda: rg.arange(3).requires_grad_(),
        RuntimeError,
        "^only Tensors of floating point and complex dtype can require gradients",
    ),
    "an attribute of integers that are to require grad": (
        lambda: setattr(rg.arange(3), "requires_grad", True),
        RuntimeError,
        "^only Tensors of floating point and complex dtype can require gradients",
    ),
    "an array of strings": (
        lambda: rg.from_numpy(np.array(["a"])),
        TypeError,
        r"can't convert np.ndarray of type numpy.str_. The only supported types are: bool, uint8",
    ),
    "an array of objects": (
        lambda: rg.tensor(np.array([object()])),
        TypeError,
        r"can't convert np.ndarray of type numpy.object_. The only supported types are: bool",
    ),
    "a result that does not fit its dtype": (
        lambda: rg.ones(2, dtype=rg.int64).mul_(1.5),
        RuntimeError,
        "result type Float can't be cast to the desired output type Long",
    ),
    "a result that does not fit its shape": (
        lambda: ones(3).add_(ones(2, 3)),
        RuntimeError,
        r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]",
    ),
    "an expanded tensor written": (
        lambda: ones(1).expand(3).add_(1),
        RuntimeError,
        "more than one element of the written-to tensor refers to a single memory location",
    ),
    "numpy() of a tensor that requires grad": (
        lambda: ones(2, grad=True).numpy(),
        RuntimeError,
        "Can't call numpy\\(\\) on Tensor that requires grad",
    ),
    "no gradient to start from": (
        lambda: ones(2).sum().backward(),
        RuntimeError,
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "complex numbers in order": (
        lambda: rg.tensor([1j, 2j]).sort(),
        RuntimeError,
        "complex|Complex",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_raises(name):
    call, kind, phrase = CASES[name]
    with pytest.raises(kind, match=phrase):
        call()


def test_failed_operation_leaves_tensors_and_graph_unchanged():
    x = ones(2, 3, grad=True)
    y = x * 2
    node, version = y.grad_fn, y._version
    for attempt, phrase in (
        (lambda: y.add_(ones(4)), r"tensor a \(3\) must match the size of tensor b \(4\)"),
        (lambda: y.mul_(ones(5, 2, 3)), r"output with shape \[2, 3\] .* \[5, 2, 3\]"),
        (lambda: y @ ones(2, 2), r"cannot be multiplied \(2x3 and 2x2\)"),
        (lambda: y.view(7), r"shape '\[7\]' is invalid for input of size 6"),
        (lambda: x.mul_(2), "a leaf Variable that requires grad"),
        (lambda: x[0].zero_(), "a view of a leaf Variable that requires grad"),
        (lambda: y.sum(3), r"range of \[-2, 1\], but got 3"),
        (lambda: y.backward(), "implicitly created only for scalar outputs"),
        (lambda: y.backward(ones(2)), r"shape of retrograd.Size\(\[2\]\) and output"),
        (lambda: y.requires_grad_(False), "change requires_grad flags of leaf variables"),
        (lambda: setattr(x, "grad", ones(3)), r"size '\[3\]' to a tensor of size '\[2, 3\]'"),
    ):
        with pytest.raises((RuntimeError, IndexError), match=phrase):
            attempt()
        assert y.grad_fn is node
        assert y._version == version
        assert x.grad is None
        assert x._version == 0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 3), 2, np.float32))


def test_leaf_written_in_place_raises_and_keeps_its_value():
    x = ones(3, grad=True)
    with pytest.raises(RuntimeError, match=LEAF):
        x.mul_(2)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[:2].add_(1)
    np.testing.assert_array_equal(x.detach().numpy(), np.ones(3))


def test_non_scalar_root_without_cotangent_raises():
    x = ones(3, grad=True)
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        (x * 2).backward()
    assert x.grad is None


def test_complex_scalar_root_without_cotangent_raises():
    z = rg.tensor(1j, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for real scalar"):
        (z * 2).backward()


def test_second_backward_raises_and_names_the_freed_node():
    x = ones(3, grad=True)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    with pytest.raises(RuntimeError, match="MulBackward0"):
        y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 2, np.float32))


def test_second_backward_of_a_graph_that_saves_nothing_runs():
    x = ones(3, grad=True)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.full(3, 2, np.float32))


def test_version_error_names_the_op_that_saved_and_the_op_that_wrote():
    x = ones(3, grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        z.sum().backward()
    assert "MulBackward0" in str(caught.value)
    assert "add_" in str(caught.value)
    assert "is at version 1; expected version 0" in str(caught.value)
    assert x.grad is None

"""What modes see of indices, and what comes out."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd as rg
from retrograd.nn import functional as F
from retrograd.torch.utils._python_dispatch import TorchDispatchMode

ROWS, COLUMNS = np.array([0, 2]), rg.tensor([1, 3])


class Seen(TorchDispatchMode):
    """A mode that notes the operators that it sees."""

    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **kwargs)


@pytest.mark.parametrize(
    "key",
    [ROWS, (ROWS, COLUMNS), (slice(None), COLUMNS), np.array([True, False, True])],
    ids=["rows", "places", "columns", "mask"],
)
def test_indices_in_arrays_are_seen_as_those_in_tensors(key):
    x, y = rg.arange(12.0).reshape(3, 4), rg.arange(12.0).reshape(3, 4)
    expected, written = x[key], x.clone()
    written[key] = 7.0
    with Seen() as mode:
        found = y[key]
        y[key] = 7.0
    assert mode.names == ["aten.index.Tensor", "aten.index_put_.default"]
    assert found.tolist() == expected.tolist()
    assert y.tolist() == written.tolist()


def stored(x):
    x = x.detach().clone()
    x[x > 1] = rg.tensor([2])
    return x


def test_an_activation_in_place_is_the_operator_that_writes():
    x = rg.tensor([-1.0, 2.0])
    with Seen() as mode:
        assert F.silu(x, inplace=True) is x
        F.elu(x, 2.0)
    assert mode.names == ["aten.silu_.default", "aten.elu.default"]
    assert x.tolist() == pytest.approx([-0.2689414, 1.7615942])


# Of numbers that require grad; what comes out is compared without and in a mode.
CALLS = {
    "view of a dtype": lambda x: x.detach().view(rg.int32),
    "as_strided of a row": lambda x: x[1:].as_strided((2,), (1,)) * 1.5,
    "the larger of complex numbers": lambda x: rg.maximum(x + 2j, x.flip(0) * 3j).abs(),
    "fmin of complex numbers": lambda x: rg.fmin(x + 2j, x.flip(0) * 3j).abs(),
    "unique_consecutive": lambda x: x.unique_consecutive(return_counts=True)[1],
    "weighted counts": lambda x: rg.bincount(rg.tensor([3, 0, 3, 1]), x.flatten(), 4) * 2,
    "a value of another dtype at a mask": stored,
    "sums of examples without dimensions": lambda x: rg.vmap(lambda y: y.sum() * 2)(x[0]),
    "spreads of examples without dimensions": lambda x: rg.vmap(lambda y: y.var(correction=0))(
        x[0]
    ),
    "extrema of examples without dimensions": lambda x: rg.vmap(lambda y: y.amax() * 2)(x[0]),
    "pooled examples": lambda x: rg.vmap(lambda y: F.max_pool2d(y, 2))(x.expand(3, 1, 1, 2, 2)),
    "filled examples": lambda x: rg.vmap(lambda y, v: rg.fill(y * 2, v))(x, x[0]),
    "examples filled by a mask": lambda x: rg.vmap(lambda y, v: y.masked_fill(y > 1, v))(x, x[0]),
    "distances by differences": lambda x: rg.cdist(
        x[:, :1] + 1e4, rg.full((40, 1), 1e4), compute_mode="donot_use_mm_for_euclid_dist"
    ),
    "a complex number as a real one": lambda x: rg.tensor(float(x[0, 0] + 0j)),
    "numbers up to no bound": lambda x: (
        x.detach().to(rg.uint8).random_(0, None, generator=rg.Generator().manual_seed(0))
    ),
    "numbers up to a bound": lambda x: x.detach().clone().random_(0, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_mode_that_changes_nothing_leaves_values_and_gradients(name):
    x = rg.tensor([[0.5, -3.0], [2.0, 1.0]], requires_grad=True)
    expected = CALLS[name](x)
    with Seen() as mode:
        found = CALLS[name](x)
    assert mode.names
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
    assert found.requires_grad == expected.requires_grad
    if expected.requires_grad:
        grads = [rg.autograd.grad(y.sum(), x)[0].tolist() for y in (found, expected)]
        assert grads[0] == grads[1]


@pytest.mark.parametrize("value", [[1.0, 2.0], None, "a"], ids=str)
def test_what_cannot_be_assigned_raises_in_a_mode_as_without(value):
    x = rg.zeros(4)
    with pytest.raises(TypeError, match="can't assign"), Seen():
        x[COLUMNS] = value


@pytest.mark.parametrize(
    ("bounds", "overload"),
    [
        ({"max": rg.ones(2)}, "Tensor"),
        ({"min": rg.ones(2)}, "Tensor"),
        ({"min": rg.ones(2), "max": rg.ones(2)}, "Tensor"),
        ({"max": 1}, "default"),
    ],
    ids=["upper", "lower", "both", "number"],
)
def test_a_mode_sees_the_overload_of_clamp_for_its_bounds(bounds, overload):
    x = rg.ones(2)
    with Seen() as mode:
        x.clamp(**bounds)
        x.clamp_(**bounds)
    assert mode.names == [f"aten.clamp.{overload}", f"aten.clamp_.{overload}"]


def test_comparison_with_none_is_python_s_in_a_mode():
    with Seen():
        assert (rg.ones(2) == None) is False  # noqa: E711


def test_a_wrapper_has_an_offset():
    class Wrapper(rg.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    assert rg.Tensor._make_wrapper_subclass(Wrapper, (2,)).storage_offset() == 0


WRITERS = {
    "absolute_": "abs_.default",
    "arcsin_": "asin_.default",
    "arctan2_": "atan2_.default",
    "clip_": "clamp_.Tensor",
    "fix_": "trunc_.default",
    "floor_divide_": "floor_divide_.Tensor",
    "greater_": "gt_.Tensor",
    "not_equal_": "ne_.Tensor",
    "relu_": "relu_.default",
    "square_": "pow_.Scalar",
    "xlogy_": "xlogy_.Tensor",
}


@pytest.mark.parametrize("name", WRITERS)
def test_writes_by_other_names_are_seen_as_writes(name):
    x, other = rg.tensor([0.5, -0.25]), rg.tensor([0.25, 2.0])
    takes = WRITERS[name].endswith("Tensor") or name == "arctan2_"
    expected = getattr(x.clone(), name)(*[other] * takes)
    with Seen() as mode:
        found = getattr(x, name)(*[other] * takes)
    assert found is x
    assert x.equal(expected)
    assert mode.names == [f"aten.{WRITERS[name]}"]


def test_numbers_choose_the_overload_of_xlogy():
    x = rg.ones(2)
    with Seen() as mode:
        x.xlogy_(2.0)
        rg.xlogy(x, 2.0)
        rg.xlogy(2.0, x)
    assert mode.names == [
        "aten.xlogy_.Scalar_Other",
        "aten.xlogy.Scalar_Other",
        "aten.xlogy.Scalar_Self",
    ]


def test_a_number_of_repetitions_chooses_its_overload():
    with Seen() as mode:
        rg.ones(2).repeat_interleave(2)
    assert "aten.repeat_interleave.self_int" in mode.names

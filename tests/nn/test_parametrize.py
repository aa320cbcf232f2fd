"""Parametrizations, normalized weights.

Values and gradients are compared with PyTorch's in `test_modules.py`.
"""

from __future__ import annotations

import copy
import pickle

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x):
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def test_a_parametrized_weight_is_computed_and_trained():
    layer = nn.Linear(3, 3)
    original = layer.weight
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert rg.equal(layer.weight, layer.weight.mT)
    assert layer.parametrizations.weight.original is original
    layer(rg.ones(2, 3)).sum().backward()
    assert rg.equal(original.grad, original.grad.triu())
    assert type(layer).__name__ == "ParametrizedLinear"
    assert isinstance(layer, nn.Linear)


def test_assigning_goes_through_the_inverse():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Doubled())
    layer.weight = rg.tensor([[1.0, 2.0], [2.0, 5.0]])
    assert layer.weight.tolist() == [[1.0, 2.0], [2.0, 5.0]]
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 1.0], [0.0, 2.5]]


def test_the_first_parametrization_keeps_the_value_and_further_ones_act_on_it():
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert rg.equal(layer.weight, before)
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert rg.equal(layer.weight, 2 * before)


@pytest.mark.parametrize("leave", [True, False])
def test_removal_leaves_the_value_or_the_original(leave):
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    value, original = layer.weight.detach(), layer.parametrizations.weight.original
    kept = (value if leave else original).detach().clone()
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    assert layer.weight is original
    assert rg.equal(layer.weight, kept)
    assert type(layer) is nn.Linear
    assert not parametrize.is_parametrized(layer)


def test_a_buffer_can_be_parametrized():
    layer = nn.BatchNorm1d(2)
    parametrize.register_parametrization(layer, "running_var", Doubled())
    assert layer.running_var.tolist() == [1.0, 1.0]
    assert "parametrizations.running_var.original" in dict(layer.named_buffers())


def test_cached_values_are_computed_once():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Counted())
    calls.clear()
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    _ = layer.weight
    assert len(calls) == 2


def test_a_parametrized_layer_can_be_copied_and_saved():
    layer = parametrizations.weight_norm(nn.Linear(2, 3))
    twin = copy.deepcopy(layer)
    with rg.no_grad():
        layer.parametrizations.weight.original0 *= 2
    assert rg.allclose(layer.weight, 2 * twin.weight)
    twin.load_state_dict(layer.state_dict())
    assert rg.equal(twin.weight, layer.weight)


def test_a_state_of_the_older_form_can_be_loaded():
    with pytest.warns(FutureWarning, match="deprecated"):
        older = nn.utils.weight_norm(nn.Linear(2, 3))
    layer = parametrizations.weight_norm(nn.Linear(2, 3))
    layer.load_state_dict(older.state_dict())
    assert rg.allclose(layer(rg.ones(1, 2)), older(rg.ones(1, 2)))


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        (lambda x: x[:1], ValueError, "may not change the shape"),
        (lambda x: x.double(), ValueError, "may not change the dtype"),
        (lambda x: 1, ValueError, "must return a tensor"),
    ],
)
def test_a_parametrization_that_changes_more_than_values_raises(change, kind, text):
    class Changed(nn.Module):
        def forward(self, x):
            return change(x)

    layer = nn.Linear(2, 2)
    with pytest.raises(kind, match=text):
        parametrize.register_parametrization(layer, "weight", Changed())
    assert "weight" in layer._parameters


def test_names_that_are_not_there_raise():
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="does not have a parameter, a buffer"):
        parametrize.register_parametrization(layer, "size", Doubled())
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(layer, "weight")
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found"):
        nn.utils.remove_weight_norm(layer)
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found"):
        nn.utils.remove_spectral_norm(layer)


def test_the_metadata_of_a_state_names_the_spectral_norms():
    net = nn.Sequential(nn.utils.spectral_norm(nn.Bilinear(2, 2, 2)))
    marked = {"version": 1, "spectral_norm": {"weight.version": 1}}
    assert net.state_dict(prefix="net.")._metadata == {"net": {"version": 1}, "net.0": marked}
    nn.utils.remove_spectral_norm(net[0])
    assert net.state_dict()._metadata == {"": {"version": 1}, "0": {"version": 1}}


# -- orthogonality ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("matrix_exp", rg.float64),
        ("matrix_exp", rg.complex128),
        ("cayley", rg.float64),
        ("cayley", rg.complex128),
        ("householder", rg.float64),  # it refuses complex weights
    ],
)
def test_orthogonal_weights_stay_so_under_steps(shape, kind, dtype):
    layer = nn.Linear(shape[1], shape[0], dtype=dtype)
    parametrizations.orthogonal(layer, orthogonal_map=kind)
    optimizer = rg.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        out = layer(rg.ones(2, shape[1], dtype=dtype))
        (out * out.conj()).real.sum().backward()
        optimizer.step()
        weight = layer.weight.mH if shape[0] < shape[1] else layer.weight
        assert rg.allclose(weight.mH @ weight, rg.eye(min(shape), dtype=dtype))


def test_an_orthogonal_matrix_can_be_assigned():
    for kind in ("matrix_exp", "cayley", "householder"):
        layer = parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map=kind)
        turn = rg.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
        layer.weight = turn
        assert rg.allclose(layer.weight, turn, atol=1e-6)
    layer = parametrizations.orthogonal(nn.Linear(3, 3), use_trivialization=False)
    with pytest.raises(NotImplementedError, match="not possible to assign"):
        layer.weight = turn


def test_arguments_of_orthogonal_that_do_not_fit_raise():
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="qr")
    with pytest.raises(ValueError, match="Expected a matrix or batch of matrices"):
        parametrizations.orthogonal(nn.Linear(2, 2), "bias")
    layer = nn.Linear(2, 2, dtype=rg.complex64)
    with pytest.raises(ValueError, match="does not support complex tensors"):
        parametrizations.orthogonal(layer, orthogonal_map="householder")


# -- norms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [rg.float64, rg.complex128])
def test_a_spectrally_normalized_weight_has_norm_one(dtype):
    rg.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(4, 3, dtype=dtype))
    for _ in range(100):
        weight = layer.weight
    assert rg.linalg.matrix_norm(weight, 2).item() == pytest.approx(1.0)
    layer.eval()
    assert rg.equal(layer.weight, layer.weight)


def test_a_complex_weight_has_a_real_norm_of_its_own():
    layer = parametrizations.weight_norm(nn.Linear(4, 3, dtype=rg.complex128))
    assert layer.parametrizations.weight.original0.dtype is rg.float64
    x = rg.ones(1, 4, dtype=rg.complex128)
    layer(x).abs().sum().backward()
    assert layer.parametrizations.weight.original0.grad.dtype is rg.float64


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_older_norms_can_be_removed_and_not_doubled():
    for add, remove in [
        (nn.utils.weight_norm, nn.utils.remove_weight_norm),
        (nn.utils.spectral_norm, nn.utils.remove_spectral_norm),
    ]:
        layer = add(nn.Linear(4, 3)).eval()
        with pytest.raises(RuntimeError, match="Cannot register two"):
            add(layer)
        before = layer(rg.ones(1, 4))
        remove(layer)
        assert rg.allclose(layer(rg.ones(1, 4)), before)
        assert sorted(layer.state_dict()) == ["bias", "weight"]


def test_older_names_warn():
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        assert nn.init.constant(rg.zeros(2), 3.0).tolist() == [3.0, 3.0]
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        nn.utils.clip_grad_norm([rg.ones(1, requires_grad=True)], 1.0)


def test_a_copy_loses_its_parametrizations_alone():
    layer = parametrizations.weight_norm(nn.Linear(2, 1))
    weight = layer.weight.tolist()
    made = copy.deepcopy(layer)
    assert made.weight.tolist() == weight
    parametrize.remove_parametrizations(made, "weight")
    assert type(made) is nn.Linear
    assert parametrize.is_parametrized(layer, "weight")
    assert layer.weight.tolist() == weight
    assert made.weight.tolist() == weight


def test_a_parametrized_module_is_saved_by_its_state():
    layer = parametrizations.weight_norm(nn.Linear(2, 1))
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(layer)


@pytest.mark.parametrize(
    ("inverse", "text"),
    [
        (lambda x: (x, x), "right_inverse must return a tensor"),
        (lambda x: x.bool(), "must have the same dtype"),
        (lambda x: x[:-1], "must have the same shape"),
    ],
)
def test_a_further_parametrization_has_an_inverse_that_fits(inverse, text):
    class Same(nn.Module):
        def forward(self, x):
            return x

    layer, wrong = nn.Linear(2, 3), Same()
    parametrize.register_parametrization(layer, "weight", Same())
    wrong.right_inverse = inverse
    with pytest.raises(ValueError, match=text):
        parametrize.register_parametrization(layer, "weight", wrong)
    assert len(layer.parametrizations.weight) == 1


def test_an_error_in_a_parametrization_is_seen_and_not_a_missing_weight():
    class Odd(rg.nn.Module):
        def forward(self, x):
            return x.no_such_thing

    layer = rg.nn.Linear(2, 2)
    rg.nn.utils.parametrize.register_parametrization(layer, "weight", Odd(), unsafe=True)
    with pytest.raises(AttributeError, match="no_such_thing"):
        layer(rg.ones(2))


def test_orthogonal_weights_run_under_vmap():
    layer = rg.nn.utils.parametrizations.orthogonal(rg.nn.Linear(4, 3, bias=False))
    name, weights = "parametrizations.weight.original", rg.randn(2, 3, 4)

    def run(weight):
        return rg.func.functional_call(layer, {name: weight}, (rg.eye(4),))

    found = rg.func.vmap(run)(weights)
    assert rg.equal(found, rg.stack([run(weight) for weight in weights]))


def test_spectral_norm_of_a_layer_on_the_meta_device_has_shapes():
    layer = parametrizations.spectral_norm(rg.nn.Linear(3, 4, device="meta"))
    assert layer(rg.ones(2, 3, device="meta")).shape == (2, 4)
    assert layer.parametrizations.weight[0]._u.device.type == "meta"
    moved = parametrizations.spectral_norm(rg.nn.Linear(3, 4)).to("meta")
    assert moved.weight.shape == (4, 3)


def test_a_parametrized_layer_and_its_copy_are_stacked():
    layer = parametrizations.weight_norm(nn.Linear(3, 2))
    parameters, _ = rg.func.stack_module_state([layer, copy.deepcopy(layer)])
    assert parameters["parametrizations.weight.original1"].shape == (2, 2, 3)

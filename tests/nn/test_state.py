"""Saving and loading the state of modules."""

from __future__ import annotations

import io

import pytest

import retrograd as rg
from retrograd import nn


def net():
    return nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))


NAMES = ["0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"]


def test_a_state_names_parameters_and_buffers_and_shares_their_memory():
    model = net()
    state = model.state_dict()
    assert list(state) == [*NAMES, "1.num_batches_tracked"]
    assert not state["0.weight"].requires_grad
    assert model.state_dict(keep_vars=True)["0.weight"] is model[0].weight
    assert next(iter(model.state_dict(prefix="net."))) == "net.0.weight"
    state["0.weight"].zero_()
    assert model[0].weight.abs().sum().item() == 0.0
    assert state._metadata["1"] == {"version": 2}


def test_names_that_one_side_lacks_are_shown_as_pytorch_shows_them():
    state = net().state_dict()
    state["more"] = state.pop("0.bias")
    found = net().load_state_dict(state, strict=False)
    assert repr(found) == "_IncompatibleKeys(missing_keys=['0.bias'], unexpected_keys=['more'])"
    assert type(found).__name__ == "_IncompatibleKeys"


def test_loading_copies_the_values():
    first, second = net(), net()
    result = second.load_state_dict(first.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert second[0].weight.tolist() == first[0].weight.tolist()
    assert second[0].weight._array is not first[0].weight._array


def test_assigning_takes_the_tensors_over():
    model = net()
    state = {
        k: v.clone() if v.dtype is rg.int64 else v.double() for k, v in model.state_dict().items()
    }
    model.load_state_dict(state, assign=True)
    assert model[0].weight.dtype is rg.float64
    assert isinstance(model[0].weight, nn.Parameter)
    assert model[0].weight.requires_grad
    assert model[0].weight._array is state["0.weight"]._array


def test_a_checkpoint_is_not_the_state_in_it():
    checkpoint = {"epoch": 3, "model": net().state_dict(), "losses": [1.0]}
    with pytest.raises(RuntimeError, match=r"This is a checkpoint: .* at \['model'\]\.$"):
        net().load_state_dict(checkpoint)
    net().load_state_dict(checkpoint["model"])


def test_names_that_do_not_match_raise_together():
    state = net().state_dict()
    state["other"] = state.pop("0.bias")
    state["0.more"] = rg.ones(1)
    with pytest.raises(RuntimeError) as caught:
        net().load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n\t"
        'Missing key(s) in state_dict: "0.bias". \n\t'
        'Unexpected key(s) in state_dict: "other", "0.more". \n\t'
        "strict=False ignores names that only one of the two has."
    )
    result = net().load_state_dict(state, strict=False)
    assert result.missing_keys == ["0.bias"]
    assert result.unexpected_keys == ["other", "0.more"]


def test_shapes_that_do_not_match_raise_even_if_not_strict():
    state = net().state_dict()
    state["0.weight"] = rg.ones(3, 3)
    with pytest.raises(
        RuntimeError, match=r"size mismatch for 0.weight: copying a param with shape"
    ):
        net().load_state_dict(state, strict=False)


def test_what_is_no_tensor_or_no_mapping_raises():
    state = net().state_dict()
    state["0.weight"] = 3
    with pytest.raises(RuntimeError, match=r'named "0\.weight", expected .*Tensor'):
        net().load_state_dict(state)
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        net().load_state_dict([1])


def test_loading_counts_as_a_write():
    layer = nn.Linear(1, 1)
    out = layer(rg.ones(1, 1, requires_grad=True))
    layer.load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match="written by load_state_dict"):
        out.sum().backward()


def test_states_without_a_batch_count_still_load():
    state = dict(net().state_dict())
    del state["1.num_batches_tracked"]
    model = net()
    assert model.load_state_dict(state).missing_keys == []
    assert model[1].num_batches_tracked.item() == 0


def test_extra_state_is_saved_and_loaded():
    class Counted(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    first, second = nn.Sequential(Counted()), nn.Sequential(Counted())
    first[0].count = 7
    state = first.state_dict()
    assert list(state) == ["0._extra_state"]
    second.load_state_dict(state)
    assert second[0].count == 7
    with pytest.raises(RuntimeError, match=r"Missing key.*_extra_state"):
        second.load_state_dict({})


def test_a_module_without_extra_state_says_so():
    class Half(nn.Module):
        def get_extra_state(self):
            return 3

    assert nn.ReLU().state_dict() == {}
    with pytest.raises(RuntimeError, match=r"code path in Module.get_extra_state\(\) that should"):
        nn.ReLU().get_extra_state()
    with pytest.raises(RuntimeError, match=r"Write Half.set_extra_state"):
        Half().set_extra_state(Half().get_extra_state())
    assert Half().load_state_dict({}).missing_keys == []


def test_a_number_loads_into_a_scalar_parameter():
    module = nn.Module()
    module.w = nn.Parameter(rg.tensor(1.0))
    module.load_state_dict({"w": rg.tensor([5.0])})
    assert module.w.item() == 5.0


def test_complex_values_into_a_real_parameter_warn():
    module = nn.Module()
    module.w = nn.Parameter(rg.ones(1))
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        module.load_state_dict({"w": rg.tensor([2 + 3j])})
    assert module.w.tolist() == [2.0]


def test_a_state_goes_through_a_file_with_its_versions():
    model, file = net(), io.BytesIO()
    rg.save(model.state_dict(), file)
    file.seek(0)
    state = rg.load(file)
    assert state._metadata["1"] == {"version": 2}
    other = net()
    other.load_state_dict(state)
    assert other[0].weight.tolist() == model[0].weight.tolist()


def test_a_prefix_is_taken_off_the_names_of_a_state_and_of_its_versions():
    wrapped = nn.Sequential()
    wrapped.add_module("module", net())
    state = wrapped.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert [name for name in state if "num" not in name] == NAMES
    assert state._metadata == {"": {"version": 1}, "0": {"version": 1}, "1": {"version": 2}}
    net().load_state_dict(state)


def test_a_state_may_be_asked_for_by_position_as_in_older_programs():
    module, destination = rg.nn.Linear(1, 1), {}
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        found = module.state_dict(destination, "own.", True)
    assert found is destination
    assert found["own.weight"] is module.weight
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(module.state_dict(None)) == ["weight", "bias"]


def test_a_value_that_cannot_be_written_is_listed_and_the_others_are_loaded():
    module = nn.Module()
    module.register_buffer("k", rg.arange(3.0).expand(2, 3))
    module.register_buffer("a", rg.zeros(2))
    state = {"k": rg.ones(2, 3), "a": rg.ones(2)}
    with pytest.raises(RuntimeError, match=r'named "k".*\[2, 3\].*refers to a single memory'):
        module.load_state_dict(state)
    assert (module.k.tolist(), module.a.tolist()) == ([[0, 1, 2]] * 2, [1, 1])
    with pytest.raises(RuntimeError, match=r'named "a".*meta tensor'):
        module.load_state_dict({"k": rg.ones(2, 3), "a": rg.ones(2, device="meta")})

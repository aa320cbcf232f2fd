"""Private names of `torch.nn` that libraries import."""

from __future__ import annotations

import pytest

import retrograd as rg
from retrograd.nn import _reduction


@pytest.mark.parametrize(
    ("average", "reduce", "name"),
    [(None, True, "mean"), (False, None, "sum"), (True, False, "none")],
)
def test_older_flags_of_losses_stand_for_a_reduction(average, reduce, name):
    with pytest.warns(UserWarning, match=f"please use reduction='{name}' instead"):
        assert _reduction.legacy_get_string(average, reduce) == name
    number = _reduction.legacy_get_enum(average, reduce, emit_warning=False)
    assert number == _reduction.get_enum(name) == ["none", "mean", "sum"].index(name)
    with pytest.raises(ValueError, match="x is not a valid value for reduction"):
        _reduction.get_enum("x")


def test_data_may_be_exchanged_within_a_layout_and_a_kind_of_device():
    x = rg.ones(2)
    assert rg._has_compatible_shallow_copy_type(x, 1j * x.double())
    assert not rg._has_compatible_shallow_copy_type(x, x.to_sparse())
    assert not rg._has_compatible_shallow_copy_type(x, x.to("meta"))


def test_the_fans_of_a_module_that_stands_for_a_weight_are_those_of_its_shape():
    class Factorized(rg.nn.Module):
        shape = rg.Size([4, 3])

    assert rg.nn.init._calculate_fan_in_and_fan_out(Factorized()) == (3, 4)

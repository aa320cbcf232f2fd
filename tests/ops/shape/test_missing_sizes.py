"""Functions that take sizes or dimensions one by one are given at least one, or a sequence."""

from __future__ import annotations

import pytest

import retrograd as rg


@pytest.mark.parametrize("name", ["flip", "permute", "expand", "repeat", "reshape", "view", "tile"])
def test_no_arguments_at_all_are_too_few(name):
    with pytest.raises(TypeError, match=rf"{name}\(\) missing 1 required positional arguments"):
        getattr(rg.ones(()), name)()
    assert getattr(rg.ones(()), name)(()).shape == ()


@pytest.mark.parametrize(
    ("source", "destination", "text"),
    [((0, 0), (0, 1), "repeated dim in `source`"), ((0, 1), (1, -1), "repeated dim in `desti")],
)
def test_dimensions_are_moved_once(source, destination, text):
    with pytest.raises(RuntimeError, match=text):
        rg.movedim(rg.ones(2, 2), source, destination)


def test_indices_of_nonzero_elements_go_into_int64():
    for values in (rg.ones(2), rg.arange(2)):
        with pytest.raises(RuntimeError, match="to have scalar type Long but got scalar"):
            rg.nonzero(values, out=rg.ones(1))
    out = rg.empty(0, dtype=rg.int64)
    assert rg.nonzero(rg.tensor([0, 5]), out=out) is out
    assert out.tolist() == [[1]]
    with pytest.raises(RuntimeError, match="out kwarg when as_tuple is True"):
        rg.nonzero(rg.ones(2), as_tuple=True, out=out)

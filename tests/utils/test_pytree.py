"""`utils._pytree`: containers taken apart and built again under PyTorch's names."""

from __future__ import annotations

from collections import namedtuple

import pytest

from retrograd.utils import _pytree as trees

Pair = namedtuple("Pair", "a b")
TREE = {"x": 1, "y": (2, [3, None]), "z": Pair(4, ())}


def test_a_container_is_built_again_from_its_leaves_and_its_spec():
    leaves, spec = trees.tree_flatten(TREE)
    assert leaves == [1, 2, 3, None, 4]
    again = trees.tree_unflatten(leaves, spec)
    assert again == TREE
    assert type(again["z"]) is Pair


def test_a_leaf_alone_is_a_tree():
    leaves, spec = trees.tree_flatten(7)
    assert leaves == [7]
    assert spec.is_leaf()
    assert trees.tree_unflatten([8], spec) == 8


def test_specs_compare_by_how_containers_are_built():
    assert trees.tree_structure((1, [2])) == trees.tree_structure((3, ["a"]))
    assert trees.tree_structure((1, 2)) != trees.tree_structure([1, 2])
    assert len({trees.tree_structure((1, [2])), trees.tree_structure((3, [4]))}) == 1


def test_another_number_of_leaves_is_refused():
    spec = trees.tree_structure((1, [2]))
    with pytest.raises(ValueError, match="has length 1 but the spec refers to a pytree that holds"):
        trees.tree_unflatten([1], spec)


def test_a_map_over_several_trees_takes_leaves_in_the_same_places():
    assert trees.tree_map(lambda a, b: a * b, {"x": (2, 3)}, {"x": (5, 7)}) == {"x": (10, 21)}


def test_a_map_over_trees_built_differently_is_refused():
    with pytest.raises(ValueError, match="Node type mismatch"):
        trees.tree_map(lambda a, b: a, (1, [2]), (1, 2))

"""`utils._pytree`: containers taken apart and built again under PyTorch's names."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import retrograd as rg
from retrograd import pytree
from retrograd.torch.utils import _pytree as trees

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


class Box:
    def __init__(self, inside, label):
        self.inside, self.label = inside, label


@pytest.fixture
def _boxes():
    trees.register_pytree_node(
        Box, lambda box: ([box.inside], box.label), lambda parts, label: Box(*parts, label)
    )
    yield
    del pytree.REGISTERED[Box], trees.SUPPORTED_NODES[Box]


@pytest.mark.usefixtures("_boxes")
def test_objects_of_registered_classes_are_containers():
    leaves, spec = trees.tree_flatten({"a": Box([1, 2], "x"), "b": 3})
    assert leaves == [1, 2, 3]
    built = trees.tree_unflatten([10, 20, 30], spec)
    assert (built["a"].inside, built["a"].label, built["b"]) == ([10, 20], "x", 30)


@pytest.mark.usefixtures("_boxes")
def test_registered_containers_are_alike_by_context():
    like = trees.tree_structure(Box(1, "x"))
    assert like == trees.tree_structure(Box(2, "x")) != trees.tree_structure(Box(1, "y"))
    assert not like.is_leaf()


@pytest.mark.usefixtures("_boxes")
def test_a_part_of_a_tree_may_stand_for_a_registered_container():
    assert pytree.broadcast(0, Box([1, 2], "x")) == [0, 0]
    assert pytree.broadcast(Box(5, "x"), Box([1, 2], "x")) == [5, 5]


@pytest.mark.usefixtures("_boxes")
def test_vmap_takes_registered_containers():
    found = rg.vmap(lambda box: Box(box.inside * 2, "y"))(Box(rg.ones(3), "x"))
    assert (found.inside.tolist(), found.label) == ([2.0, 2.0, 2.0], "y")


@pytest.mark.usefixtures("_boxes")
@pytest.mark.parametrize("kind", [Box, dict, list])
def test_a_container_is_registered_once(kind):
    with pytest.raises(ValueError, match="already registered as pytree node"):
        trees.register_pytree_node(kind, None, None)


def test_keys_of_dictionaries_are_told():
    pairs, context = trees._dict_flatten_with_keys({"a": 1})
    assert [(str(key), key.get({"a": 5}), value) for key, value in pairs] == [("['a']", 5, 1)]
    assert trees._dict_unflatten([2], context) == {"a": 2}


def test_containers_of_each_kind_have_their_functions_by_name():
    assert trees._list_flatten([1, 2]) == ([1, 2], None)
    assert trees._tuple_unflatten([1, 2], None) == (1, 2)
    assert trees._ordereddict_unflatten([1], ["a"]) == OrderedDict(a=1)
    assert trees._deque_flatten(deque([1], 3)) == ([1], 3)


def test_a_structure_is_built_of_its_parts_as_programs_do():
    star = trees.LeafSpec()
    inner = trees.TreeSpec(dict, ["a"], [star])
    assert trees.TreeSpec(list, None, [star, inner]) == trees.tree_structure([1, {"a": 2}])
    assert isinstance(trees.tree_structure(1), trees.LeafSpec)
    assert trees.TreeSpec(list, None, [star, inner]).unflatten("xy") == ["x", {"a": "y"}]


@pytest.mark.parametrize(
    "tree",
    [
        (1, 2),
        [1, 2],
        {"a": 1},
        OrderedDict(a=1),
        defaultdict(list, a=1),
        namedtuple("Pair", "a b")(1, 2),
    ],
)
def test_a_container_is_taken_apart_and_built_by_its_kind(tree):
    node = trees.SUPPORTED_NODES[trees._get_node_type(tree)]
    parts, context = node.flatten_fn(tree)
    built = node.unflatten_fn(parts, context)
    assert (type(built), built) == (type(tree), tree)


def test_a_registered_class_is_among_the_kinds():
    class Box:
        def __init__(self, held):
            self.held = held

    trees.register_pytree_node(Box, lambda b: ([b.held], None), lambda parts, _: Box(*parts))
    assert trees.SUPPORTED_NODES[Box].flatten_fn(Box(3)) == ([3], None)


def test_parts_of_dictionaries_meet_by_their_keys():
    found = trees.tree_map(lambda a, b: a - b, ({"a": 1, "b": 2},), ({"b": 20, "a": 10},))
    assert found == ({"a": -9, "b": -18},)


def test_a_class_of_named_tuples_may_be_registered_by_the_private_functions():
    Own = namedtuple("Own", "a b")
    trees.register_pytree_node(Own, trees._namedtuple_flatten, trees._namedtuple_unflatten)
    assert trees.tree_map(lambda n: 2 * n, [Own(1, (2,))]) == [Own(2, (4,))]


def test_a_spec_is_told_as_pytorch_tells_it():
    spec = trees.tree_structure(TREE)
    assert str(spec).splitlines() == [
        "TreeSpec(dict, ['x', 'y', 'z'], [*,",
        "  TreeSpec(tuple, None, [*,",
        "    TreeSpec(list, None, [*,",
        "      *])]),",
        f"  TreeSpec(namedtuple, {Pair!r}, [*,",
        "    TreeSpec(tuple, None, [])])])",
    ]
    assert (spec.num_nodes, spec.num_children, spec.num_leaves) == (10, 3, 5)
    assert (spec.type, spec.context, spec.child(0).is_leaf()) == (dict, ["x", "y", "z"], True)


def test_a_class_that_refuses_other_parts_than_its_own_has_a_spec():
    class Positive:
        def __init__(self, held):
            self.held = 1 / held

    trees.register_pytree_node(
        Positive, lambda p: ([p.held], None), lambda parts, _: Positive(1 / parts[0])
    )
    leaves, spec = trees.tree_flatten([Positive(2.0)])
    assert leaves == [0.5]
    assert spec.unflatten([0.25])[0].held == 0.25


def test_what_is_a_leaf_can_be_said():
    def pair(tree):
        return isinstance(tree, tuple)

    tree = {"a": (1, 2), "b": [(3, 4)]}
    assert trees.tree_leaves(tree, pair) == [(1, 2), (3, 4)]
    assert trees.tree_map(sum, tree, is_leaf=pair) == {"a": 3, "b": [7]}
    assert trees.tree_map_only(pair, len, tree, is_leaf=pair) == {"a": 2, "b": [2]}
    assert trees.tree_all_only(tuple, all, tree, is_leaf=pair)
    assert not trees.tree_any_only(list, any, tree, is_leaf=pair)


def test_a_map_takes_containers_of_later_trees_where_the_first_has_leaves():
    assert trees.tree_map(lambda a, b: (a, b), (1, 2), ([3, 4], 5)) == ((1, [3, 4]), (2, 5))


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ([1], (1,), "Node type mismatch; expected <class 'list'>, but got <class 'tuple'>."),
        ((1, 2), (1, 2, 3), "Node arity mismatch; expected 2, but got 3."),
        ({"a": 1}, {"b": 1}, "missing key(s): {'a'}; extra key(s): {'b'}."),
    ],
)
def test_how_trees_differ_is_told(first, second, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        trees.tree_map(max, first, second)


def test_dictionaries_of_several_kinds_and_deques_of_several_sizes_meet():
    found = trees.tree_map(max, defaultdict(int, a=1), {"a": 2})
    assert (type(found), found) == (defaultdict, {"a": 2})
    found = trees.tree_map(max, deque([1], 2), deque([5], 3))
    assert (list(found), found.maxlen) == ([5], 2)


def test_an_object_derived_from_a_container_is_a_leaf():
    class Table(dict):
        pass

    assert trees.tree_leaves([Table(a=1)]) == [{"a": 1}]


def test_leaves_are_found_by_the_keys_that_lead_to_them():
    tree = {"x": 1, "z": Pair(4, [5])}
    pairs, spec = trees.tree_flatten_with_path(tree)
    assert [trees.keystr(path) for path, _ in pairs] == ["['x']", "['z'].a", "['z'].b[0]"]
    assert [trees.key_get(tree, path) for path, _ in pairs] == [1, 4, 5]
    assert spec == trees.tree_structure(tree)
    assert trees.tree_map_with_path(lambda path, a, b: len(path) * a * b, tree, tree) == {
        "x": 1,
        "z": Pair(32, [75]),
    }


@pytest.mark.usefixtures("_boxes")
def test_paths_need_the_keys_of_a_registered_class():
    with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
        trees.tree_leaves_with_path(Box(1, "x"))


def test_results_of_several_parts_are_containers():
    values, indices = trees.tree_leaves(rg.tensor([3.0, 1.0]).sort())
    assert (values.tolist(), indices.tolist()) == ([1.0, 3.0], [1, 0])
    assert trees.is_structseq_instance(rg.ones(2).max(0))
    assert not trees.is_namedtuple_instance(rg.ones(2).max(0))
    assert trees.is_namedtuple_instance(Pair(1, 2))


def test_the_module_is_there_without_an_import_of_its_own():
    program = "import retrograd as rg; print(rg.utils._pytree.tree_leaves([1, (2,)]))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[1, 2]\n"


@dataclasses.dataclass
class Batch:
    x: rg.Tensor
    label: object = None
    size: int = 2


def test_a_dataclass_becomes_a_container_of_its_fields_that_are_not_none():
    trees.register_dataclass(Batch)
    parts, spec = trees.tree_flatten(Batch(1, size=3))
    assert parts == [1, 3]
    assert trees.tree_unflatten([5, 6], spec) == Batch(5, None, 6)
    (key, _), _ = trees.tree_flatten_with_path(Batch(1))[0]
    assert trees.keystr(key) == ".x"
    found = rg.func.grad(lambda batch: (batch.x**2).sum())(Batch(rg.ones(2), size=rg.ones(())))
    assert (found.x.tolist(), found.label, found.size.item()) == ([2.0, 2.0], None, 0.0)


def test_a_field_of_a_dataclass_may_be_left_out():
    @dataclasses.dataclass
    class Kept:
        a: int
        b: int = 7

    with pytest.raises(ValueError, match="Missing fields"):
        trees.register_dataclass(Kept, field_names=["a"])
    with pytest.raises(ValueError, match="Unexpected fields"):
        trees.register_dataclass(Kept, field_names=["a", "b", "c"])
    trees.register_dataclass(Kept, field_names=["a"], drop_field_names=["b"])
    assert trees.tree_map(lambda n: n + 1, Kept(1, 2)) == Kept(2, 7)
    with pytest.raises(ValueError, match="as it is not a dataclass"):
        trees.register_dataclass(int)

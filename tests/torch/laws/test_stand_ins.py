"""What stands for an array answers the questions of `StandIn` as the page on the design says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import retrograd as rg
from retrograd.compiler.abstract import Abstract, Trace
from retrograd.interop.autograd.boxes import ArrayBox
from retrograd.kernels import allocation
from retrograd.torch.distributed.tensor.array import Distributed

QUESTIONS = ("has_values", "has_memory", "is_batched", "has_class")
ROW = re.compile(r"\| `(\w+)` \|.*" + r"\| (yes|no) " * 4 + r"\|")
DESIGN = (Path(__file__).parents[3] / "docs" / "design.md").read_text()
TABLE = {row[0]: [answer == "yes" for answer in row[1:]] for row in ROW.findall(DESIGN)}


class Held(rg.Tensor):
    def __new__(cls, size, device):
        return rg.Tensor._make_wrapper_subclass(cls, size, device=device)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError


def arrays(device):
    """One of each kind that a tensor may have, on a device."""
    x = rg.ones(2, 2, device=device)
    seen = []
    rg.vmap(lambda row: seen.append(row._array) or row)(x)
    distributed = Distributed(x._array, None, (), (2, 2))
    return [x._array, *seen, distributed, Held((2, 2), device)._array]


def others():
    """One of each other kind."""
    x = rg.eye(2)
    nested = rg.nested.nested_tensor([x, x], layout=rg.jagged)
    masked = rg.masked.masked_tensor(x, x.bool())
    layouts = [t._array for t in (x.to_sparse(), x.to_sparse_csr(), nested, masked)]
    return [*layouts, Abstract(Trace(), 0, np.float64, (2,)), ArrayBox(x)]


def answers(array):
    return [getattr(allocation, name)(array) for name in QUESTIONS]


@pytest.mark.parametrize("array", [*arrays("cpu"), *others()], ids=lambda x: type(x).__name__)
def test_kinds_answer_as_the_design_says(array):
    assert answers(array) == TABLE[type(array).__name__]


@pytest.mark.parametrize("array", arrays("meta"), ids=lambda x: type(x).__name__)
def test_on_the_meta_device_no_kind_has_values_and_all_else_is_the_same(array):
    assert answers(array) == [False, *TABLE[type(array).__name__][1:]]


def test_every_kind_that_the_design_lists_is_tried():
    tried = [*arrays("cpu"), *arrays("meta"), *others()]
    assert {type(array).__name__ for array in tried} == TABLE.keys()

"""Exported programs in files."""

from __future__ import annotations

import io

import pytest

import retrograd as rg
from retrograd import nn
from retrograd.torch.export import Dim, export, load, save
from retrograd.torch.library import custom_op


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)
        self.shift = rg.ones(2)

    def forward(self, x):
        x = self.norm(self.line(x)) + self.shift
        return x.max(0), rg.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2, (x,))


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def saved(program, **settings):
    file = io.BytesIO()
    save(program, file, **settings)
    file.seek(0)
    return file


def test_a_program_is_the_same_from_a_file():
    x = rg.rand(5, 3)
    program = export(Net().eval(), (rg.rand(4, 3),), dynamic_shapes={"x": {0: Dim("n", max=8)}})
    again = load(saved(program))
    assert str(again) == str(program)
    for own in (again, again.run_decompositions()):
        found, expected = own.module()(x), program.module()(x)
        rg.testing.assert_close(tuple(found[0]), tuple(expected[0]))
        rg.testing.assert_close(found[1], expected[1])
        assert type(found[0]) is type(expected[0])
    with pytest.raises(AssertionError, match="Guard failed"):
        again.module()(rg.rand(9, 3))


def test_texts_are_kept_beside_a_program():
    texts = {"note": ""}
    load(
        saved(export(nn.ReLU(), (rg.ones(2),)), extra_files={"note": "read me"}), extra_files=texts
    )
    assert texts == {"note": "read me"}


def test_another_file_is_refused():
    file = io.BytesIO()
    rg.save({"weight": rg.ones(1)}, file)
    file.seek(0)
    with pytest.raises(ValueError, match="no file of an exported program"):
        load(file)


def test_a_program_that_calls_an_operator_of_its_own_is_read_again():
    twice = custom_op("filed::twice", lambda x: x * 2, mutates_args=())
    twice.register_fake(rg.empty_like)
    program = export(Calls(twice), (rg.ones(2),))
    assert load(saved(program)).module()(rg.ones(2)).tolist() == [2.0, 2.0]

"""Faults are what they say, and living functions get them."""

from __future__ import annotations

import ast

import pytest

from .__main__ import PACKAGE, SURVIVORS, broken, codes, drawn, known_by
from .mutations import mutated, mutations

SOURCE = '''
def weight(x, least: int = 3):
    """Text stays."""
    if x < least and x is not None:
        record(x)
        raise ValueError(f"{x + 1}")
    return -x * 2

class Kind:
    def vjp(self, node):
        """What each kind has of its own."""
        raise NotImplementedError

    def pairs(self, x):
        return list(zip(x, x, strict=True))

mul = declare("mul", np.multiply, input=lambda xp, g, other: g * xp.conj(other), linear=True)
'''
FAULTS = [
    ("weight", "if x < least and x is not None -> if not (x < least and x is not None)"),
    ("weight", "x < least and x is not None -> x < least or x is not None"),
    ("weight", "x < least -> x <= least"),
    ("weight", "x is not None -> x is None"),
    ("weight", "record(x) -> pass"),
    ("weight", "raise ValueError(f'{x + 1}') -> pass"),
    ("weight", "return -x * 2 -> return None"),
    ("weight", "-x * 2 -> -x / 2"),
    ("weight", "-x -> x"),
    ("weight", "2 -> 3"),
    ("weight", "2 -> -2"),
    ("Kind.pairs", "return list(zip(x, x, strict=True)) -> return None"),
    ("mul.input", "g * xp.conj(other) -> g / xp.conj(other)"),
    ("mul.input", "g -> other"),
    ("mul.input", "xp.conj(other) -> other"),
    ("mul.input", "other -> g"),
]


def found():
    """The mutants of SOURCE."""
    return [mutant for mutant, _ in mutations(ast.parse(SOURCE), "made.py")]


def test_faults_of_a_function_and_of_a_formula():
    assert [(mutant.where, mutant.text) for mutant in found()] == FAULTS
    assert [m.formula for m in found()] == [where == "mul.input" for where, _ in FAULTS]


def test_a_fault_keeps_its_name_until_its_function_changes():
    names = {mutant.name for mutant in found()}
    assert len(names) == len(FAULTS)
    moved = SOURCE.replace("def vjp", "added = 1\n\n    def vjp").replace("-x * 2", "-x * 3")
    others = {m.name for m, _ in mutations(ast.parse(moved), "made.py") if m.where != "weight"}
    assert names & others == others
    assert len(others) == 5


@pytest.mark.parametrize("mutant", found(), ids=lambda mutant: mutant.text)
def test_a_mutant_differs_in_its_fault_alone(mutant):
    before, after = ast.parse(SOURCE), mutated(SOURCE, mutant)
    old, new = ast.unparse(before).splitlines(), ast.unparse(after).splitlines()
    differing = [i for i, lines in enumerate(zip(old, new, strict=False)) if len(set(lines)) > 1]
    assert differing
    assert old[: differing[0]] == new[: differing[0]]
    compile(after, "made.py", "exec")


def test_living_functions_get_the_fault(tmp_path):
    path = tmp_path / "made.py"
    path.write_text("def scale(x):\n    return [(lambda y: y * x)(2)]\n")
    living = {}
    exec(compile(path.read_text(), str(path), "exec"), living)
    all_faults = [m for m, _ in mutations(ast.parse(path.read_text()), str(path))]
    (mutant,) = [m for m in all_faults if m.text == "y * x -> y / x"]
    assert living["scale"](4) == [8]
    broken(mutant, [living["scale"]])
    assert living["scale"](4) == [0.5]


def test_functions_of_the_package_are_told_apart():
    path = PACKAGE / "engine" / "inplace.py"
    held = codes(compile(path.read_text(), str(path), "exec"))
    assert len({known_by(code) for code in held.values()}) == len(held)


def test_the_same_seed_draws_the_same_faults():
    assert drawn("versions", 3, 20) == drawn("versions", 3, 20) != drawn("versions", 4, 20)


def test_the_list_of_survivors_names_files_of_the_package():
    named = [
        line.split("`")[1].split()[0]
        for line in SURVIVORS.read_text().splitlines()
        if line[:3] == "- `"
    ]
    assert named
    assert all((PACKAGE / name).is_file() for name in named)

"""Steps whose effects a replay might leave out, double, or do with objects of the first call."""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import itertools
import json
import logging
import random
import warnings

import numpy as np
import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


class Number(float):
    """A number with code of the user's, which the step reads later."""

    def __str__(self):
        WORLD.said["n"] = WORLD.said.get("n", 0) + 1
        return "number"

    def __format__(self, spec):
        return str(self)

    def __add__(self, other):
        return (float(self) + other) * len(str(self))

    __radd__ = __add__


class Text(str):
    __slots__ = ()

    def __str__(self):
        return str(WORLD.number)


class Logger(logging.Logger):
    def makeRecord(self, *args, **options):
        WORLD.number.__str__()
        return super().makeRecord(*args, **options)


class World:
    """What steps change beside tensors."""

    def __init__(self):
        random.seed(0)
        self.kept, self.said, self.file = [], {}, io.StringIO()
        self.latest, self.records = collections.deque(maxlen=2), []
        self.drawn, self.number = np.random.default_rng(0), Number(3)
        self.weight = rg.tensor([2.0, -1.0, 0.5], dtype=rg.float64)
        self.logger, self.other = logging.Logger("places"), Logger("other")
        for logger in (self.logger, self.other):
            logger.addHandler(handler := logging.Handler())
            handler.emit = self.emit

    def emit(self, record):
        print(record.getMessage(), record.lineno, record.funcName)  # noqa: T201
        self.records.append(record.args)


WORLD = World()

# Each is the body of a function step(x), then what is done between calls.
PROGRAMS = {
    "a deque is read": ("w.latest.append(3)\nreturn x * max(w.latest)", "w.latest.append(5 * i)"),
    "its length": ("d = w.latest\nd.append(x[0].item())\nreturn x * len(w.latest)", ""),
    "out=": ("y = x * 2\nw.drawn.random(out=y.numpy())\nreturn y + 1", ""),
    "out": ("a = w.weight.numpy()\nw.drawn.random(3, np.float64, a)\n"
            "return x if w.weight.sum() > 1.5 else x * 2", ""),
    "map, print": ("[*map(print, 'ab')]\nreturn x * 2", ""),
    "map, partial": ("[*map(functools.partial(print, 'p'), 'ab')]\nreturn x * 2", ""),
    "map, write": ("any(map(w.file.write, ['a', 'b']))\nreturn x * 2", ""),
    "map, uniform": ("return x * next(map(random.uniform, [0.0], [9.0]))", ""),
    "map, update": ("list(map(w.said.update, [{'a': 1}]))\nreturn x * 2", "w.said.clear()"),
    "map, log": ("list(map(w.logger.error, 'ab'))\nreturn x * 2", ""),
    "list.sort": ("['b', 'a'].sort(key=w.file.write)\nreturn x * 2", ""),
    "sorted, key": ("sorted('ba', key=w.file.write)\nreturn x * 2", ""),
    "filter": ("return x * (1 + len([*filter(print, 'ab')]))", ""),
    "accumulate": ("return x * 2, [*itertools.accumulate([1, 2], print)]", ""),
    "print of a number": ("print(w.number)\nreturn x * w.said['n']", ""),
    "f-string": ("return f'{x[0].item()} {w.number:.1f}', x * w.said['n']", ""),
    "sum of numbers": ("return w.number + x[0].item(), x * w.said['n']", ""),
    "log of a text": ("w.logger.error('%s', Text('t'))\nreturn x * 2", ""),
    "key": ("print({w.number: x[0].item()}, str({w.number: x}))\nreturn x * 2", ""),
    "json": ("return json.dumps([Text('t'), x[0].item()]), x * 2", ""),
    "logger": ("w.other.error('%s', x[0].item())\nreturn x * w.said['n']", ""),
    "kept": ("w.kept.append([1, [2]])\nreturn x * 2", "w.kept[-1][1].append(i)"),
    "kept pair": ("w.kept.append(([], x[0].item()))\nreturn x * 2", "w.kept[-1][0].append(i)"),
    "one in two": ("a = x.tolist()\nw.kept.append({'a': a, 'b': a})\nreturn x * 2",
                   "w.kept[-1]['a'].append(i)"),
    "one twice": ("a = x.tolist()\nreturn a, a", "found[0].append(found[0] is found[1])"),
    "itself": ("a = [x * 2]\na.append(a)\nreturn a", "found[1] is found or 1 / 0\ndel found[1]"),
    "logged": ("a = x.tolist()\nw.logger.error('%s', a)\na.append(3)\nreturn x * 2", ""),
    "logged list": ("w.logger.error('%s', [1])\nreturn x * 2", "w.records[-1][0].append(i)"),
    "function": ("v = x[0].item()\nreturn lambda: v", "w.kept.append(found())"),
    "function kept": ("v = x[0].item()\nw.kept.append(lambda: v)\nreturn x * 2",
                      "w.kept[-1] = w.kept[-1]()"),
    "set": ("return {x[0].item()}", ""),
    "key returned": ("return {x[0].item(): 1}", ""),
    "iterators": ("a = x.tolist()\nreturn iter(a), zip(a), enumerate(a), {'v': a[0]}.values()",
                  "w.kept += map(list, found)"),
    "assert": ("v = x[0].item()\nassert v < 2, [v, {v: v}]\nreturn x * 2", ""),
    "error": ("assert x[0].item() < 2, x[0].item()\nreturn x * 2", ""),
    "lines": ("(w.logger\n  .error(\n    '%s',\n    x[0].item(),\n  ))\nreturn x * 2", ""),
    "warning": ("return x * 2, (x.numpy()[0]\n /\n (x.numpy()[2] * 0.0))", ""),
    "warning later": ("w.said['a'] = 1\nreturn x * 2, (np.float64(x[0].item())\n / 0)", ""),
    "dtype": ("a = (x * 2).numpy().astype(np.float32)\n"
              "return x * rg.from_numpy(a), x.numpy().mean(dtype=float)", ""),
    "device": ("text = f'{x[0].item():.2f}' + ' on {}'\nreturn x * 2, text.format(x.device)", ""),
    "grad mode": ("with rg.no_grad():\n  print(x)\nreturn x * 2", ""),
}  # fmt: skip


class Out(io.StringIO):
    """A file of the user's that says which grad mode it is written in."""

    def write(self, text):
        return super().write(f"{text}[{rg.is_grad_enabled()}]")


def shown(value):
    """What can be compared of something; of functions and iterators, that they are there."""
    if isinstance(value, (list, tuple, set)):
        return type(value), [shown(v) for v in value]
    if isinstance(value, dict):
        return [(shown(key), shown(v)) for key, v in value.items()]
    known = isinstance(value, (int, float, str, np.generic, rg.Tensor))
    return type(value), float.__repr__(value) if isinstance(value, float) else str(value) * known


def history(name, folder, compiled):
    """What four calls of a program return, raise, print, warn of and leave."""
    global WORLD
    WORLD = World()
    body, between = PROGRAMS[name]
    file = folder / "program.py"
    file.write_text("def step(x):\n" + "\n".join(f"  {line}" for line in body.split("\n")))
    names = {**globals(), "w": WORLD, "functools": functools, "itertools": itertools, "json": json}
    exec(compile(file.read_text(), str(file), "exec"), names)
    step = rg.compile(names["step"]) if compiled else names["step"]
    found, out = [], Out() if name == "grad mode" else io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for i in range(4):
            try:
                result = step(rg.tensor([1.0 + i, 2.0, -0.5 * i], dtype=rg.float64))
                exec(between, {**names, "i": i, "found": result})
                found.append(shown(result))
            except AssertionError as error:
                found.append(shown(error.args))
            left = [WORLD.kept, [*WORLD.latest], WORLD.records, WORLD.weight]
            found.append(shown([*left, WORLD.file.getvalue(), random.random()]))
    return found, out.getvalue(), [(w.lineno, str(w.message)) for w in given]


@pytest.mark.parametrize("name", PROGRAMS)
def test_effects_and_objects_are_those_of_each_call(name, tmp_path):
    assert history(name, tmp_path, True) == history(name, tmp_path, False)


def test_common_functions_that_are_given_functions_are_captured():
    @rg.compile(fullgraph=True)
    def step(x):
        names = {"b": 1, "a": 2}
        texts = ", ".join(map("{:.1f}".format, [3, 2])), max(names, key=names.get)
        return x * len([*map(abs, [1])]), texts, sorted(names, key=len), [*map(float, "12")]

    for i in range(3):
        y, texts, *others = step(rg.tensor([1.0 + i, 2.0]))
        assert (y.tolist(), texts) == ([1.0 + i, 2.0], ("3.0, 2.0", "a"))
        assert others == [["b", "a"], [1.0, 2.0]]


def test_lists_that_a_step_makes_are_new_in_each_call():
    kept = []

    @rg.compile(fullgraph=True)
    def step(x):
        kept.append([1, {"n": [2]}])
        return x * 2

    for _ in range(3):
        step(rg.ones(2))
        kept[-1][1]["n"].append(3)
    assert kept == [[1, {"n": [2, 3]}]] * 3
    assert kept[0][1]["n"] is not kept[2][1]["n"]


class Fixed(Exception):
    """An error whose arguments cannot be set."""

    args = property(lambda self: ("as it was",))


def test_an_error_with_arguments_of_its_own_comes_as_it_is():
    @rg.compile
    def step(x):
        if x[0].item() > 0:
            raise Fixed
        return x * 2

    with pytest.raises(Fixed):
        step(rg.ones(2))

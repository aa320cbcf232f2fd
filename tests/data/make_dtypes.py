"""The dtypes that PyTorch gives each stored call in, for inputs of every dtype.

As a script, with PyTorch installed, this writes `dtypes.json`: calls of `ops.json` as

    [op, place among the op's calls, {answer: letters}]

where the letters, those of `ops_format.py`, are the dtypes that floating inputs (or integers, where
there are none) were cast to. An answer has a letter for each result, "=" for the input's own dtype,
and for integers that stay integers a sum of their values; "-" says that PyTorch refuses, "." that
there is no tensor.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

if __package__:
    from . import ops_format
else:
    import ops_format

FILE = Path(__file__).with_name("dtypes.json")
CAST = "eEFDd?bBl"
MOST = 2  # calls of an op
# Whose values are random, or undefined.
RANDOM = (
    "bernoulli", "cauchy", "empty", "exponential", "geometric", "log_normal", "multinomial",
    "new_empty", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.feature_alpha", "nn.functional.fractional", "nn.functional.multi_head",
    "nn.functional.rrelu", "normal", "rand", "uniform",
)  # fmt: skip


def cast(lib, name, array, letter):
    """An input of a stored call as a tensor, of the letter's dtype where it is one to cast."""
    if letter is None:
        return lib.tensor(array, dtype=getattr(lib, name))
    if array.dtype.kind == "c" and letter not in "FD":
        array = array.real
    if letter in "bBl":
        array = np.rint(2 * np.nan_to_num(array, nan=1, posinf=5, neginf=0)).clip(-100, 100)
        array = np.abs(array) if letter == "B" else array
    if letter == "?":
        array = np.nan_to_num(array) > 0.3
    return lib.tensor(np.array(array)).to(getattr(lib, ops_format.LETTERS[letter]))


def inputs(lib, call, letter, then=None):
    """All inputs of a stored call: its floating ones cast (twice?), or all where it has none."""
    floating = any(array.dtype.kind in "fc" for _, array, _ in call[1])
    for name, array, _ in call[1]:
        chosen = array.dtype.kind in "fc" or (not floating and name != "bool")
        made = cast(lib, name, array, letter if chosen else None)
        yield made.to(then) if chosen and then else made


def value(lib, call, given):
    """The tensors that a call gives."""
    lib.manual_seed(0)
    return ops_format.tensors(ops_format.run(lib, call[0], list(given), False)[0])


def digest(t):
    """A sum of integers in which each place has its own weight."""
    return sum(math.isqrt(7 * place + 4) * int(n) for place, n in enumerate(t.reshape(-1).tolist()))


def letter_of(t):
    """The letter of a tensor's dtype."""
    return ops_format.LETTER.get(str(t.dtype).split(".")[1], "x")


def answer(name, results, letter):
    """The text of results: see above."""
    found = "".join("=" if (of := letter_of(t)) == letter else of for t in results) or "."
    whole = letter in "?bBl" and all(letter_of(t) in "?bBlih" for t in results)
    if not whole or found == "." or name.startswith(RANDOM):
        return found
    return f"{found}{sum(digest(t) for t in results)}"


def calls():
    """(op, place, call) of the first calls of each op that have elements and differ in text."""
    for name, stored in ops_format.read().items():
        seen = set()
        for place, call in enumerate(stored):
            if call[0] not in seen and len(seen) < MOST and all(a.size for _, a, _ in call[1]):
                seen.add(call[0])
                if call[1]:
                    yield name, place, call


def main():
    """Write the file."""
    import torch  # noqa: PLC0415

    lines = []
    for name, place, call in calls():
        answers: dict[str, str] = {}
        for letter in CAST:
            try:
                found = answer(name, value(torch, call, inputs(torch, call, letter)), letter)
            except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AssertionError):
                found = "-"
            answers[found] = answers.get(found, "") + letter
        lines.append(json.dumps([name, place, answers], separators=(",", ":")))
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()

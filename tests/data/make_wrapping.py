"""What PyTorch gives for integers beside one whole number that their dtype may not hold.

As a script, with PyTorch installed, this writes `wrapping.json`: by function, dtype, form and
number the result's dtype and values, null where PyTorch refuses.
"""

from __future__ import annotations

import json
from pathlib import Path

FILE = Path(__file__).with_name("wrapping.json")
FUNCTIONS = [
    "add", "sub", "rsub", "mul", "div", "floor_divide", "remainder", "fmod", "pow",
    "float_power", "atan2", "xlogy", "copysign", "maximum", "minimum", "fmax", "fmin", "eq",
    "ne", "lt", "le", "gt", "ge", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and",
    "logical_or", "logical_xor", "gcd", "lcm", "clamp", "clamp_min", "clamp_max", "masked_fill",
    "special.xlog1py", "special.zeta",
]  # fmt: skip
DTYPES = {"uint8": [200, 0, 3], "int8": [-100, 0, 3], "int32": [-100, 0, 3], "bool": [1, 0, 1]}
NUMBERS = (3, -1, 200, 1000, -70000, 2**33 + 7)
FORMS = {
    "tensor": lambda call, x, y, number: call(x, y),
    "tensor first": lambda call, x, y, number: call(y, x),
    "number": lambda call, x, y, number: call(x, number),
    "number first": lambda call, x, y, number: call(number, x),
    "0-d both": lambda call, x, y, number: call(x[0], y),
}


def function(lib, name):
    """The function of a library; some have arguments between the two numbers."""
    if name == "clamp":
        return lambda x, y: lib.clamp(x, y, y)
    if name == "masked_fill":
        return lambda x, y: lib.masked_fill(x, x > 1, y)
    for part in name.split("."):
        lib = getattr(lib, part)
    return lib


def answer(lib, name, dtype, form, number):
    """[dtype, values] of one case; None for an error."""
    x = lib.tensor(DTYPES[dtype], dtype=getattr(lib, dtype))
    try:
        found = FORMS[form](function(lib, name), x, lib.tensor(number), number)
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):
        return None
    return [str(found.dtype).split(".")[1], found.tolist()]


def cases():
    """Every function, dtype, form and number."""
    return [(n, d, f, m) for n in FUNCTIONS for d in DTYPES for f in FORMS for m in NUMBERS]


def main():
    """Write the file."""
    import torch  # noqa: PLC0415

    lines = [json.dumps(answer(torch, *case)) for case in cases()]
    FILE.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()

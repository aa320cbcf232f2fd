"""The older orders of arguments that functions still take: NOTE [Other names] in `engine.naming`.

Those of a function and of the method differ where a number once came before the tensor.
"""

from __future__ import annotations

from ...engine.naming import ORDERS

for _name, _pair in (
    ("addmm", "mat1, mat2"),
    ("addmv", "mat, vec"),
    ("addr", "vec1, vec2"),
    ("addbmm", "batch1, batch2"),
    ("baddbmm", "batch1, batch2"),
):
    _first, _second = _pair.split(", ")
    ORDERS[_name] = (
        f"beta, input, alpha, {_first}, {_second}",
        f"beta, input, {_first}, {_second}",
        f"input, beta, alpha, {_first}, {_second}",
        f"input, beta, {_first}, {_second}",
    )
ORDERS["add"] = ORDERS["sub"] = ("input, alpha, other",)
ORDERS["addcmul"] = ORDERS["addcdiv"] = ("input, value, tensor1, tensor2",)

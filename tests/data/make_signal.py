"""Windows, short-time transforms and their inverses, and what PyTorch makes of them.

`windows` and `transforms` list the calls, `run` carries one out with either library. As a script,
with PyTorch installed, this writes the results to `signal.json`:

    python make_signal.py
"""

import json
import math
from functools import reduce
from pathlib import Path

PATH = Path(__file__).with_name("signal.json")

WINDOWS = [
    *[(f"signal.windows.{name}", [5], {"sym": sym, **keywords})
      for sym in (True, False)
      for name, keywords in (
        ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 1.5}),
        ("gaussian", {"std": 0.75}), ("general_cosine", {"a": [0.5, 0.25, 0.125]}),
        ("general_hamming", {"alpha": 0.625}), ("hamming", {}), ("hann", {}),
        ("kaiser", {"beta": 3.0}), ("nuttall", {}))],
    ("signal.windows.exponential", [5], {"sym": False, "center": 1.25}),
    *[(name, [6, periodic], {}) for periodic in (True, False) for name in (
        "hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")],
    ("hamming_window", [6, True, 0.5, 0.25], {}),
    ("kaiser_window", [6, False, 4.0], {}),
    *[(name, [1], {}) for name in ("hann_window", "kaiser_window", "bartlett_window")],
    *[(f"signal.windows.{name}", [count], {"sym": sym})
      for count in (1, 2) for sym in (True, False)
      for name in ("cosine", "gaussian", "kaiser", "bartlett", "hann")],
]  # fmt: skip

# The signal's shape and kind, the window's (None for none), and the keywords.
STFT = [
    ((11,), "float64", None, {"n_fft": 4}),
    ((2, 11), "float64", 4, {"n_fft": 4, "hop_length": 3}),
    ((11,), "float64", 3, {"n_fft": 5, "win_length": 3, "normalized": True}),
    ((11,), "float64", 4, {"n_fft": 4, "center": False}),
    ((11,), "float64", 3, {"n_fft": 5, "win_length": 3, "center": False, "align_to_window": True}),
    ((11,), "float64", 4, {"n_fft": 4, "pad_mode": "constant", "onesided": False}),
    ((11,), "float64", 4, {"n_fft": 4, "pad_mode": "replicate"}),
    ((2, 11), "complex128", 4, {"n_fft": 4}),
    ((11,), "complex128", None, {"n_fft": 4, "normalized": True, "hop_length": 2}),
]
ISTFT = [
    ((3, 6), None, {"n_fft": 4}),
    ((2, 3, 6), 4, {"n_fft": 4, "hop_length": 2, "length": 7}),
    ((4, 6), 4, {"n_fft": 4, "return_complex": True}),
    ((4, 6), 4, {"n_fft": 4, "onesided": False, "normalized": True}),
    ((3, 6), 3, {"n_fft": 5, "win_length": 3, "hop_length": 1}),
    ((3, 6), 4, {"n_fft": 4, "center": False}),
]


def calls():
    """Every call by a name of its own."""
    found = {}
    for place, (name, args, keywords) in enumerate(WINDOWS):
        found[f"{place}-{name}"] = (name, args, keywords)
    for place, (shape, kind, window, keywords) in enumerate(STFT):
        found[f"{place}-stft"] = ("stft", (shape, kind, window), keywords)
    for place, (shape, window, keywords) in enumerate(ISTFT):
        found[f"{place}-istft"] = ("istft", (shape, "complex128", window), keywords)
    return found


def leaf(lib, shape, kind, offset):
    """A tensor that requires grad, of numbers from 0.5 to 1.5 that look irregular."""
    count = math.prod(shape)
    values = [1 + 0.5 * math.sin(1 + offset + 2.3 * k) for k in range(count)]
    if kind == "complex128":
        values = [complex(v, math.cos(2.9 * k + offset)) for k, v in enumerate(values)]
    made = lib.tensor(values, dtype=getattr(lib, kind)).reshape(shape)
    return made.detach().requires_grad_(True)


def rounded(t):
    """The elements, real and imaginary parts apart, to 12 digits."""
    values = t.detach().reshape(-1).tolist()
    parts = [p for v in values for p in ((v.real, v.imag) if isinstance(v, complex) else (v,))]
    return [float(f"{p:.12g}") for p in parts]


def run(lib, call):
    """The result; of transforms also the gradients of the sum of its squared modulus."""
    name, args, keywords = call
    function = reduce(getattr, name.split("."), lib)
    if "stft" not in name:
        return {"value": rounded(function(*args, dtype=lib.float64, **keywords))}
    shape, kind, width = args
    leaves = [leaf(lib, shape, kind, 0.0)]
    if width is not None:
        leaves.append(leaf(lib, (width,), "float64", 0.5))
        keywords = {**keywords, "window": leaves[1]}
    if name == "stft":
        keywords = {**keywords, "return_complex": True}
    out = function(leaves[0], **keywords)
    grads = lib.autograd.grad((out.abs() ** 2).sum(), leaves)
    return {"shape": list(out.shape), "value": rounded(out), "first": [rounded(g) for g in grads]}


if __name__ == "__main__":
    import torch

    lines = [f"{json.dumps(n)}: {json.dumps(run(torch, call))}" for n, call in calls().items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")

"""Random programs of views, in-place writes and no_grad, and what PyTorch makes of them.

`run` carries out one program with either library, since both have the same methods. As a script,
with PyTorch installed, this writes `views_inplace.json`:

    python make_views_inplace.py [number of programs] [first seed] [path]

Of the programs, at most a quarter raise: they are many, and alike.

A program is a list of steps over a growing list of tensors, which starts with two leaves that
require grad and one that does not, all of shape (3, 4):

- ["do", method, i, args]: append `tensors[i].method(*args)`, or all its results if they are several
- ["get", i, key]: append `tensors[i][key]`
- ["two", name, i, j]: append `tensors[i].name(tensors[j])`
- ["write", name, i, args]: `tensors[i].name(*args)`; an argument {"t": j} is `tensors[j]`
- ["set", i, key, value]: `tensors[i][key] = value`, likewise
- ["drop", i]: forget a tensor

and last in a step, if it runs under no_grad, `1`. Afterwards the loss is a weighted sum over all
tensors that are left. The result of a program is [shapes, loss, gradients, second], each a number
that depends on every element, or the kind of error: whichever of `ERRORS` is in its text. `second`
are the gradients of a weighted sum of the gradients: "none" if that has no history, or an error.
The file holds one [seed, program, result] a line.
"""

from __future__ import annotations

import importlib
import json
import math
import random
import sys
from pathlib import Path

ERRORS = {
    "view of a leaf": "a view of a leaf Variable that requires grad",
    "leaf": "a leaf Variable that requires grad",
    "written": "has been modified by an inplace operation",
    "multi": "a function that returns multiple views",
    "no_grad": "created in no_grad mode",
    "overlap": "refers to a single memory location",
}


# Seeds of programs on which Retrograd differs from PyTorch on purpose. In PyTorch a view made under
# no_grad of a tensor that requires grad says that it does too, and so makes writes count that read
# it; and a plain view whose base has become part of the graph is still taken for a leaf. 746: it
# cannot differentiate a write to expanded memory. 1335: it refuses to use a view made under no_grad
# once a detached alias of it was written, also where nobody asks for a history.
QUIRKS = {199, 288, 572, 746, 1335}


LENGTHS = {"do": 4, "get": 3, "two": 4, "write": 4, "set": 4, "drop": 2}  # without the last 1


def key_of(items):
    """An index from JSON: a list stands for a slice, "..." for itself."""
    return tuple(
        slice(*item) if isinstance(item, list) else Ellipsis if item == "..." else item
        for item in items
    )


def start(lib):
    """The three tensors that every program starts with."""
    made = []
    for n in range(3):
        rows = [[round(0.3 + math.sin(1 + n * 12 + i * 4 + j), 3) for j in range(4)]
                for i in range(3)]  # fmt: skip
        made.append(lib.tensor(rows, dtype=lib.float64, requires_grad=n < 2))
    return made


def step(lib, tensors, instruction):
    """Carry out one step of a program."""
    silent = instruction[-1] == 1 and len(instruction) > LENGTHS[instruction[0]]
    kind, *rest = instruction[:-1] if silent else instruction
    with lib.set_grad_enabled(not silent):
        if kind == "do":
            method, i, args = rest
            made = getattr(tensors[i], method)(*args)
            tensors += made if isinstance(made, (tuple, list)) else [made]
        elif kind == "get":
            tensors.append(tensors[rest[0]][key_of(rest[1])])
        elif kind == "two":
            name, i, j = rest
            tensors.append(getattr(tensors[i], name)(tensors[j]))
        elif kind == "write":
            name, i, args = rest
            given = [tensors[a["t"]] if isinstance(a, dict) else a for a in args]
            getattr(tensors[i], name)(*given)
        elif kind == "set":
            i, key, value = rest
            tensors[i][key_of(key)] = tensors[value["t"]] if isinstance(value, dict) else value
        else:
            tensors[rest[0]] = None


def weighted(tensors):
    """The sum of everything, every tensor with a weight of its own."""
    total = 0.0
    for n, t in enumerate(tensors):
        if t is not None:
            total = total + (t * t).sum() * (0.1 * n + 0.5) + t.sum() * math.cos(n)
    return total


def numbers(t):
    """Values as a flat list."""
    return [float(v) for v in t.detach().reshape(-1).tolist()]


def rounded(value):
    """To eight digits, so that the file stays small."""
    return float(f"{value:.8g}")


def summary(grads):
    """The elements of two gradients as one number in which each has its own weight."""
    flat = [12 * [0.0] if g is None else numbers(g) for g in grads]
    return rounded(sum(v * math.cos(0.7 * n + 0.1) for n, v in enumerate(flat[0] + flat[1])))


def kind_of(error):
    """Which of `ERRORS` an error is, or its text."""
    text = str(error)
    return next((kind for kind, phrase in ERRORS.items() if phrase in text), text)


def second_order(lib, grads, leaves):
    """The gradients of a weighted sum of gradients, as one number, "none" or a kind of error."""
    parts = [g for g in grads if g is not None and g.requires_grad]
    if not parts:
        return "none"
    try:
        total = sum((g * g).sum() * 0.3 + g.sum() * (n + 0.7) for n, g in enumerate(parts))
        return summary(lib.autograd.grad(total, leaves, allow_unused=True))
    except RuntimeError as error:
        return kind_of(error)


def run(lib, program):
    """What `program` comes to, as it stands in the file."""
    tensors = start(lib)
    try:
        for instruction in program:
            step(lib, tensors, instruction)
        loss = weighted(tensors)
        grads = lib.autograd.grad(loss, tensors[:2], allow_unused=True, create_graph=True)
    except RuntimeError as error:
        return kind_of(error)
    sizes = [(n + 1) * (d + 2) * size for n, t in enumerate(tensors) if t is not None
             for d, size in enumerate(t.shape)]  # fmt: skip
    return [sum(sizes), rounded(loss.item()), summary(grads), second_order(lib, grads, tensors[:2])]


# -- writing programs --------------------------------------------------------------------------


def draw_key(rng, shape):
    """A basic index that fits."""
    items = []
    for n in shape:
        kind = rng.randrange(5)
        if kind == 0 and n:
            items.append(rng.randrange(-n, n))
        elif kind == 1:
            items.append([None, None, 2])
        elif kind == 2:
            items.append([rng.randrange(n + 1), None])
        elif kind == 3:
            items.append([None, rng.randrange(1, n + 1) if n else None])
        else:
            items.append([None, None])
        if rng.random() < 0.05:
            items.append(None)
        if rng.random() < 0.3:
            break
    if len(items) < len(shape) and rng.random() < 0.2:
        items.append("...")
    return items


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def draw_view(rng, i, t):
    """A view of one tensor, by method."""
    shape, ndim = list(t.shape), t.dim()
    size = math.prod(shape)
    choices = ["reshape", "unsqueeze", "squeeze", "flatten", "view_as", "detach", "expand"]
    if ndim:
        choices += ["select", "narrow", "split", "unbind", "chunk", "unfold", "split", "unbind"]
    if ndim >= 2:
        choices += ["transpose", "permute", "diagonal", "t" if ndim == 2 else "mT", "transpose"]
    name = rng.choice(choices)
    dim = rng.randrange(-ndim, ndim) if ndim else 0
    n = shape[dim] if ndim else 0
    if name in ("reshape", "flatten", "detach", "mT", "view_as") or size == 0:
        if size and name == "reshape":
            d = rng.choice(divisors(size))
            return ["do", "reshape", i, [d, size // d]]
        return ["do", "flatten" if name == "flatten" else "detach", i, []]
    if name == "unsqueeze":
        args = [rng.randrange(-ndim - 1, ndim + 1)]
    elif name in ("squeeze", "t"):
        args = []
    elif name == "expand":
        args = [2, *shape]
    elif name == "select":
        args = [dim, rng.randrange(n)]
    elif name == "narrow":
        first = rng.randrange(n)
        args = [dim, first, rng.randrange(1, n - first + 1)]
    elif name in ("split", "chunk"):
        args = [rng.randrange(1, n + 1), dim]
    elif name == "unbind":
        args = [dim]
    elif name == "unfold":
        width = rng.randrange(1, n + 1)
        args = [dim, width, width]
    elif name == "transpose":
        args = [rng.randrange(ndim), dim]
    elif name == "permute":
        args = [rng.sample(range(ndim), ndim)]
    else:
        args = [rng.choice([-1, 0, 1]), *rng.sample(range(ndim), 2)]
    return ["do", name, i, args]


def broadcasts(small, large):
    """Whether a tensor of one shape can be written into one of another."""
    a, b = list(small), list(large)
    return len(a) <= len(b) and all(n in (1, m) for n, m in zip(a[::-1], b[::-1]))  # noqa: B905


def apart(a, b):
    """Whether two tensors share no memory (PyTorch then has rules of its own)."""
    return a.untyped_storage().data_ptr() != b.untyped_storage().data_ptr()


def draw(rng, tensors):
    """One step that fits the tensors there are."""
    alive = [n for n, t in enumerate(tensors) if t is not None]
    recent = alive[-4:] if rng.random() < 0.6 else alive
    i = rng.choice(recent)
    t = tensors[i]
    others = [j for j in alive if broadcasts(tensors[j].shape, t.shape) and apart(tensors[j], t)]
    kind = rng.randrange(10)
    silent = rng.random() < 0.12
    if kind <= 1:
        return [*draw_view(rng, i, t), silent]
    if kind == 2:
        return ["get", i, draw_key(rng, t.shape), silent]
    if kind == 3:
        alike = [j for j in alive if broadcasts(tensors[j].shape, t.shape)]
        return ["two", rng.choice(["mul", "add", "sub"]), i, rng.choice(alike), silent]
    if kind == 4:
        return ["do", rng.choice(["sin", "exp", "tanh", "clone", "neg"]), i, [], silent]
    if kind <= 7 and i > 2:
        name = rng.choice(["mul_", "add_", "sub_", "copy_", "mul_", "fill_", "zero_", "sin_",
                           "tanh_", "neg_"])  # fmt: skip
        if name == "fill_":
            return ["write", name, i, [0.25], silent]
        if name in ("zero_", "sin_", "tanh_", "neg_"):
            return ["write", name, i, [], silent]
        if others:
            return ["write", name, i, [{"t": rng.choice(others)}], silent]
        return ["write", "mul_", i, [1.5], silent]
    if kind == 8:
        key = draw_key(rng, t.shape)
        try:
            region = t.detach()[key_of(key)]
        except IndexError:  # a 0-d tensor
            return ["do", "clone", i, [], silent]
        fits = [j for j in alive if broadcasts(tensors[j].shape, region.shape)
                and apart(tensors[j], t)]  # fmt: skip
        value = {"t": rng.choice(fits)} if fits and rng.random() < 0.8 else 0.5
        return ["set", i, key, value, silent]
    if i > 2 and rng.random() < 0.5:
        return ["drop", i, silent]
    return [*draw_view(rng, i, t), silent]


def write_program(lib, rng):
    """A program and its result."""
    tensors, program = start(lib), []
    if rng.random() < 0.9:
        program += [["two", "mul", 0, 1], ["do", "sin", 0, []]]
        for instruction in program:
            step(lib, tensors, instruction)
    for _ in range(rng.randrange(3, 12)):
        *instruction, silent = draw(rng, tensors)
        instruction += [1] * silent
        program.append(instruction)
        try:
            step(lib, tensors, instruction)
        except RuntimeError:
            break
        if len(tensors) > 24:
            break
    return program, run(lib, program)


def main():
    """Write the file."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    path = (
        Path(sys.argv[3]) if len(sys.argv) > 3 else Path(__file__).with_name("views_inplace.json")
    )
    torch = importlib.import_module("torch")
    found, raised = [], 0
    while len(found) < count:
        program, result = write_program(torch, random.Random(seed))
        raises = isinstance(result, str)
        if seed not in QUIRKS and not (raises and 4 * raised >= count):
            found.append([seed, program, result])
            raised += raises
        seed += 1
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in found)
    path.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()

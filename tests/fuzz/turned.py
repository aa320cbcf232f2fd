"""Random functions that turn and write what transforms give them, beside the same out of place.

`program(seed)` is the text of a function `f0(x0)` with others inside of it, and a call of it. They
take views, detached aliases and copies of what they are given, turn these (`t_` and its like),
write them, turn and write what they find outside, and call each other through `apply`, which is a
transform. Operands are copies, so that no node saves what is written later.

The text runs on tensors; and on `Shown`, which has no memory: what it shows are some elements of a
vector, and a write gives another vector. So derivatives there are of programs that write nothing.

    python -m tests.fuzz.turned [COUNT=1000] [SEED=0] [LIBRARY=retrograd]

prints programs on which the two differ. LIBRARY=torch says the same of PyTorch, which turns what
`vmap` is given and refuses writes to what `grad` is given.
"""

from __future__ import annotations

import importlib
import random
import sys
import warnings

import numpy as np

NO_ROOM = "This happened due to `other` being vmapped over but `self` not"
SHAPES = [(2, 3), (3, 2), (2, 2), (1, 2), (2, 1, 2), (2, 3, 2)]
NUMBERS = ["0.5", "-1.5", "2.0", "0.75"]
INNER = ["vmap 0", "vmap 1", "vmap -1", "grad", "vjp", "jvp", "jvp", "jacrev", "jacfwd"]
OUTER = [*INNER, "hessian", "dual", "backward", "backward"]
KINDS = ["view"] * 3 + ["alias", "copy", "copy"] + ["turn"] * 4 + ["write"] * 4 + ["apply"]
KEYS = {"0": 0, "-1": -1, "1:": slice(1, None), "..., 0": (..., 0), "None": None,
        "::2": slice(None, None, 2), "..., -1:": (..., slice(-1, None))}  # fmt: skip


class Maker:
    """A program in the making. Of a variable it knows its shape, and a number for its memory."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.names, self.functions = [], 0, 0

    def pick(self, items):
        """One of the items. (Of a generator, `random` alone is the same in every Python.)"""
        return items[int(self.random.random() * len(items))]

    def new(self, variables, text, shape, memory=None, pad=""):
        """Append `vN = text`."""
        name, self.names = f"v{self.names}", self.names + 1
        variables[name] = (shape, name if memory is None else memory)
        self.lines.append(f"{pad}{name} = {text}")

    def define(self, shape, outside, depth):
        """A function of a tensor of a shape, and what it makes of the variables outside."""
        name, pad, x = f"f{self.functions}", "    " * depth, f"x{self.functions}"
        self.functions += 1
        self.lines.append(f"{pad}def {name}({x}):")
        own = {x: (shape, x)}
        for _ in range(2 + int(self.random.random() * 7)):
            self.statement(own, outside, depth, pad + "    ")
        self.lines.append(f"{pad}    return joined({', '.join([*own, *outside])})")
        return name

    def statement(self, own, outside, depth, pad):
        """Append a statement to a function."""
        kind = self.pick(KINDS)
        mine = kind in ("view", "alias") or self.random.random() < 0.85
        v = self.pick([*own] if mine else [*own, *outside])
        variables = own if v in own else outside
        shape, memory = variables[v]
        if kind == "turn":
            call, turned = self.turn(shape)
            variables[v] = turned, memory
            self.lines.append(f"{pad}{v}.{call}")
        elif kind == "write":
            readable = {**outside, **own} if v in own else {}
            self.lines.append(pad + self.write(v, shape, readable))
        elif kind == "apply" and depth < 3:
            self.apply(v, own, outside, depth, pad)
        elif kind == "alias":
            self.new(own, f"{v}.detach()", shape, memory, pad)
        elif kind == "view" and shape:
            self.new(own, *self.view(v, shape), memory, pad)
        else:
            self.new(own, f"{v} * {self.pick(NUMBERS)}", shape, None, pad)

    def turn(self, shape):
        """A call that turns a tensor, and the shape that it has then."""
        n, zeros = len(shape), np.zeros(shape)
        a, b, c = (self.pick(range(k)) for k in (n or 1, n or 1, n + 1))
        some = [(f"unsqueeze_({c})", np.expand_dims(zeros, c))] * (1 + (n < 2)) * (n < 4)
        some += [("squeeze_()", zeros.squeeze())]
        some += [("t_()", zeros.T)] * 2 * (n < 3)
        if n:
            some += [(f"{f}({a}, {b})", zeros.swapaxes(a, b)) for f in ("transpose_", "swapaxes_")]
            some += [(f"squeeze_({a})", zeros.squeeze(a) if shape[a] == 1 else zeros)]
        call, made = self.pick(some)
        return call, made.shape

    def view(self, v, shape):
        """A view of a tensor that has dimensions, and its shape."""
        zeros, n = np.zeros(shape), len(shape)
        a, b = self.pick(range(n)), self.pick(range(n))
        some = [(f"{v}[{key}]", zeros[index]) for key, index in KEYS.items()]
        some += [(f"{v}.transpose({a}, {b})", zeros.swapaxes(a, b))]
        some += [(f"{v}.squeeze()", zeros.squeeze())]
        text, made = self.pick([form for form in some if form[1].size])
        return text, made.shape

    def write(self, v, shape, readable):
        """A write of numbers, or of a copy of a variable that broadcasts to what is written."""
        n, fitting = self.pick(NUMBERS), [w for w, (s, _) in readable.items() if fits(s, shape)]
        some = [f"mul_({n})", f"mul_(table({shape}))", "sin_()", f"fill_({n})"]
        if fitting:
            w = f"{self.pick(fitting)} * {n}"
            some += [f"{f}({w})" for f in ("add_", "mul_", "mul_", "copy_")]
            some += [f"sub_(({w}).sin())"]
        return f"{v}.{self.pick(some)}"

    def apply(self, v, own, outside, depth, pad):
        """Define a function and call it through a transform, on a variable or a copy."""
        transform, shape, memory = self.pick(INNER), *{**outside, **own}[v]
        kind, _, dim = transform.partition(" ")
        if kind == "vmap" and not -len(shape) <= int(dim) < len(shape):
            transform, kind = "jvp", "jvp"
        given = v if v in own and "jac" not in kind else f"{v} * 1"
        around = {**outside, **own}
        seen = {w: how for w, how in around.items() if given != v or how[1] != memory}
        inner = tuple(np.delete(shape, int(dim)).tolist()) if kind == "vmap" else shape
        function = self.define(inner, seen, depth + 1)
        for variables in (own, outside):
            variables.update({w: seen[w] for w in variables if w in seen})
        self.new(own, f"apply({transform!r}, {function}, {given})", (2,), None, pad)


def fits(shape, into):
    """Whether a shape broadcasts to another one."""
    return len(shape) <= len(into) and all(
        a in (1, b) for a, b in zip(shape[::-1], into[::-1], strict=False)
    )


def program(seed):
    """The program of a seed."""
    maker = Maker(seed)
    shape, transform = maker.pick(SHAPES), maker.pick(OUTER)
    kind, _, dim = transform.partition(" ")
    inner = tuple(np.delete(shape, int(dim)).tolist()) if kind == "vmap" else shape
    maker.define(inner, {}, 0)
    lines = [*maker.lines, f"x = made({shape})", f"result = apply({transform!r}, f0, x)"]
    return "\n".join(lines)


class Shown:
    """What shows the elements `index` of a vector: that of `histories` under its own number.

    Detached aliases are others: the vectors have the same values and histories of their own.
    """

    def __init__(self, L, histories, index, own=0):
        self.L, self.histories, self.index, self.own = L, histories, index, own

    @classmethod
    def of(cls, L, tensor):
        """What shows all of a tensor, which is not written."""
        index = np.arange(tensor.numel()).reshape(tuple(tensor.shape))
        return cls(L, [tensor.reshape(-1)], index)

    def like(self, index):
        """What shows other elements of the same."""
        return Shown(self.L, self.histories, index, self.own)

    @property
    def value(self):
        """The elements, as a tensor that nobody writes."""
        return self.histories[self.own][self.L.tensor(self.index)]

    def set(self, value):
        """Let the elements be those of a tensor."""
        places = (self.L.tensor(self.index.ravel()),)
        values = value.expand(self.index.shape).reshape(-1)
        new = self.histories[self.own].index_put(places, values)
        self.histories[:] = [new if k == self.own else h + (new - h).detach()
                             for k, h in enumerate(self.histories)]  # fmt: skip

    def detach(self):
        self.histories.append(self.histories[self.own].detach())
        return Shown(self.L, self.histories, self.index, len(self.histories) - 1)

    def __getitem__(self, key):
        return self.like(self.index[key])

    def transpose(self, a, b):
        return self.like(self.index.swapaxes(a, b))

    def squeeze(self):
        return self.like(self.index.squeeze())

    def t_(self):
        self.index = self.index.T

    def transpose_(self, a, b):
        self.index = self.index.swapaxes(a, b)

    swapaxes_ = transpose_

    def unsqueeze_(self, dim):
        self.index = np.expand_dims(self.index, dim)

    def squeeze_(self, dim=None):
        if dim is None or self.index.shape[dim] == 1:
            self.index = self.index.squeeze(dim)

    def __mul__(self, other):
        return Shown.of(self.L, self.value * other)

    def sin(self):
        return Shown.of(self.L, self.value.sin())

    def mul_(self, other):
        self.set(self.value * bare(other))

    def add_(self, other):
        self.set(self.value + bare(other))

    def sub_(self, other):
        self.set(self.value - bare(other))

    def copy_(self, other):
        self.set(bare(other))

    def fill_(self, number):
        self.set(self.L.full((), number, dtype=self.L.float64))

    def sin_(self):
        self.set(self.value.sin())


def bare(value):
    """The tensor that is shown; anything else itself."""
    return value.value if isinstance(value, Shown) else value


def derived(L, kind, run, x, dim, v):
    """What a transform of `run` gives, as tensors, and what becomes of its argument `x`.

    `run` gives a result and what becomes of its own argument; `v` is a tangent.
    """
    F, dual = L.func, L.autograd.forward_ad
    if kind == "vmap":
        out, after = F.vmap(run, in_dims=dim, out_dims=(0, dim))(x)
        return [out], after
    if kind == "grad":

        def scalar(t):
            """The sum of squares of the result, and the rest."""
            out, after = run(t)
            return (out * out).sum(), after

        found, after = F.grad(scalar, has_aux=True)(x)
        return [found], after
    if kind == "vjp":
        out, pull, after = F.vjp(run, x, has_aux=True)
        return [out, *pull(out.detach())], after
    if kind == "jvp":
        *found, after = F.jvp(run, (x,), (v,), has_aux=True)
        return found, after
    if kind == "dual":
        with dual.dual_level():
            out, after = map(dual.unpack_dual, run(dual.make_dual(x, v)))
            return [out.primal, out.tangent], after.primal
    if kind == "backward":
        leaf = x.clone().requires_grad_()
        out, after = run(leaf * 1)
        out.sum().backward()
        return [out.detach(), leaf.grad], x
    if kind == "hessian":
        return [F.hessian(lambda t: run(t)[0].sum())(x)], x
    return [getattr(F, kind)(lambda t: run(t)[0])(x)], x


def environment(L, in_place):
    """What a program's text calls."""

    def table(shape):
        """A tensor of numbers."""
        numbers = (np.arange(np.prod(shape)) * 7 % 11 - 4.5) / 4
        return L.tensor(numbers.reshape(shape).tolist(), dtype=L.float64)

    def joined(*values):
        """Two numbers that depend on all elements, as a tensor."""
        flat = L.cat([bare(v).reshape(-1) for v in values])
        weights = table(tuple(flat.shape))
        return L.stack([(flat.atan() * weights).sum(), (weights / (1 + flat * flat)).sum()])

    def apply(transform, function, x):
        """What a function gives under a transform, joined; it writes its argument."""
        kind, _, dim = transform.partition(" ")
        value = bare(x)

        def run(t):
            """The result, and what becomes of the argument."""
            if in_place:
                return (function(t),) * 2
            given = Shown.of(L, t)
            return function(given), given.histories[0].reshape(t.shape)

        found, after = derived(L, kind, run, value, int(dim or 0), table(tuple(value.shape)))
        if in_place:
            return joined(*found)
        x.set(after)
        return Shown.of(L, joined(*found))

    def made(shape):
        """The first argument."""
        return table(shape) if in_place else Shown.of(L, table(shape))

    return {"joined": joined, "apply": apply, "table": table, "made": made}


def outcome(text, L, in_place):
    """What a program gives, and what it leaves of its argument: numbers; or an error."""
    names = environment(L, in_place)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, "<program>", "exec"), names)
            return [np.asarray(bare(names[name]).detach().tolist()) for name in ("result", "x")]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def differ(found, expected):
    """Whether two outcomes are not the same, but for rounding."""
    if isinstance(found, str) or isinstance(expected, str):
        return NO_ROOM not in found
    return not all(a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9)
                   for a, b in zip(found, expected, strict=True))  # fmt: skip


def main(COUNT=1000, SEED=0, LIBRARY="retrograd"):
    """Try programs and report."""
    L = importlib.import_module(LIBRARY)
    count = 0
    for seed in range(int(SEED), int(SEED) + int(COUNT)):
        text = program(seed)
        found, expected = outcome(text, L, True), outcome(text, L, False)
        if differ(found, expected):
            count += 1
            print(f"# seed {seed}\n{text}\n# in place: {found}\n# out of place: {expected}\n")
    print(f"{COUNT} programs, {count} failures")
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(**dict(argument.split("=") for argument in sys.argv[1:])))

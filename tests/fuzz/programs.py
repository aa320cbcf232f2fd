"""Random programs: a program is made from its seed alone, the same everywhere.

`program(seed)` is a list of Python statements over a library `L` (Retrograd or PyTorch), the last
of them a backward pass. The maker knows of each variable roughly its shape and dtype, so most
statements make sense; some raise, which is part of the behaviour. Numbers stay tame: halves as
data, bounded functions, so that rounding does not grow, and jumps only in functions of data.

Programs avoid what docs/differences.md says is different, by row:
- "x.mul_(x)", "operands that overlap": an operand of a write shares no memory with its target
- "conj()", "complex data in activations", "topk ... of booleans", "as_strided": not called so
- "gradients at singular points": no roots, logarithms or norms of what may be 0
- "a leaf that only its graph knows": all variables live as long as the program
- "hooks on groups", "ctx.needs_input_grad", "writes to a dual tensor", "forward mode in inference
  mode", "selective checkpoint policies": not used so
What is left, `compare.RULES` explains.
"""

from __future__ import annotations

import math
import random
import re
from typing import NamedTuple

from . import forms

SHAPES = [(), (3,), (2, 3), (3, 3), (2, 1, 3), (1,), (0, 3), (2, 3, 2), (4, 4)]
LARGE = (70, 60)
PALETTES = """
float64
float64
float32
float64 float32
float64 int64
float32 float64 int64 bool
float16 float32
complex128 float64
complex64 float32 complex128
float32 int64 int32 uint8
""".strip().splitlines()
RANK = {"bool": 0, "uint8": 1, "int32": 1.2, "int64": 1.4, "float16": 2, "float32": 2.2}
RANK |= {"float64": 2.4, "complex64": 3.2, "complex128": 3.4}


class Var(NamedTuple):
    """What the maker believes about a variable; those of one `memory` may overlap."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    memory: int
    history: bool = False
    leaf: bool = False
    dense: bool = True

    @property
    def inexact(self):
        """Whether it can have a gradient."""
        return RANK[self.dtype] >= 2

    @property
    def complex(self):
        """Whether its numbers are complex."""
        return RANK[self.dtype] >= 3


def promoted(*vs):
    """The dtype of an operation on variables, near enough."""
    return max(vs, key=lambda v: (int(RANK[v.dtype]), v.shape != (), RANK[v.dtype])).dtype


def broadcast(a, b):
    """The common shape, or None."""
    n = max(len(a), len(b))
    pairs = zip((1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b, strict=True)
    sizes = [x if y == 1 else y if x in (1, y) else None for x, y in pairs]
    return None if None in sizes else tuple(sizes)


class SkipError(Exception):
    """No variable fits a statement."""


class Maker:
    """One program in the making."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.palette = self.pick(PALETTES).split()
        self.lines, self.vars, self.optimizers, self.memories = [], [], [], 0
        self.tangled = set()  # memory in which a tensor overlaps itself

    def below(self, n):
        """A number from 0. (Of a generator, `random` alone is the same in every Python.)"""
        return int(self.random.random() * n)

    def pick(self, items):
        """One of the items."""
        return items[self.below(len(items))]

    def chance(self, p):
        """True with probability p."""
        return self.random.random() < p

    def var(self, test=lambda v: True):
        """A variable, of the newer ones rather, that passes a test."""
        fitting = [v for v in self.vars if test(v)]
        if not fitting:
            raise SkipError
        return self.pick(fitting[-4:] if self.chance(0.5) else fitting)

    def say(self, text):
        """Append a statement, sometimes in a mode.

        What hooks keep of an in-place call is a copy here.
        """
        mode = self.pick(forms.MODES) if self.chance(0.08) else ""
        plain = not mode or ("kept" in mode and re.search(r"\w_\(|[]*+] = |[+*]= ", text))
        self.lines.append(text if plain else f"with {mode}: {text}")

    def new(self, text, shape, dtype, memory=None, plain=False, **what):
        """Append `vN = text`; in no mode if it is to be plain."""
        name = f"v{len(self.vars)}"
        text = f"in_thread(lambda: {text})" if self.chance(0.01) and not plain else text
        (self.lines.append if plain else self.say)(f"{name} = {text}")
        self.memories += memory is None
        memory = self.memories if memory is None else memory
        self.vars.append(Var(name, tuple(shape), dtype, memory, **what))
        return self.vars[-1]

    def filled(self, form, v, w=None, **more):
        """A form with its variables put in, and the shape it says."""
        text, shape = form
        more = {"n": self.pick(forms.SCALARS[:-1]), "d": self.below(len(v.shape)), **more}
        text = text.format(v=v.name, w=w and w.name, **more)
        known = {"s": v.shape, "t": w and w.shape, "d": more["d"], "prod": math.prod}
        return text, eval(f"({shape})", known, known) if shape else ()

    def write(self, v, text, w=None):
        """Append a statement that writes v and reads w.

        No two elements of v are one in memory, which PyTorch refuses in part, and no leaf gets
        another shape: what is left of its graph is nobody's promise.
        """
        reshapes = re.search(r"(squeeze|transpose)_\(", text)
        if v.memory in self.tangled or not v.dense or (v.leaf and reshapes):
            raise SkipError
        if w is not None and w.history and v.inexact:
            self.vars = [
                u._replace(history=u.inexact) if u.memory == v.memory else u for u in self.vars
            ]
        if v.leaf and v.history and self.chance(0.8):
            return self.lines.append(f"with L.no_grad(): {text}")
        assigns = re.search(r"\] = |\) = |[+*]= ", text)
        if self.chance(0.15) and not assigns and text.startswith(v.name):
            return self.new(text, v.shape, v.dtype, v.memory, history=v.history)
        return self.say(text)

    def numbers(self, shape, dtype):
        """A nested list of small numbers of a dtype, none of them 0, as text."""
        if shape:
            rows = (self.numbers(shape[1:], dtype) for _ in range(shape[0]))
            return "[" + ", ".join(rows) + "]"
        n = self.below(8) - 4
        n += n >= 0
        if RANK[dtype] >= 3:
            return f"{n / 2}{self.below(4) - 1.5:+}j"
        return str({"bool": n > 0, "uint8": abs(n)}.get(dtype, n / 2 if RANK[dtype] >= 2 else n))

    def data(self, shape, dtype):
        """A tensor of data, as text."""
        if shape == LARGE:
            text = f"(L.arange({math.prod(shape)}) % 7 - 3.5).reshape{shape}"
            return f"{text}.clone().to(L.{dtype})"
        text = f"L.tensor({self.numbers(shape, dtype)}, dtype=L.{dtype})"
        return text if math.prod(shape) else f"{text}.reshape{shape}"

    def create(self, wanted=False):
        """A leaf, in one of many layouts; one that requires grad if wanted."""
        dtype = self.palette[0] if wanted else self.pick(self.palette)
        shape = self.pick(SHAPES) if self.chance(0.98) else LARGE
        leaf = wanted or (RANK[dtype] >= 2 and self.chance(0.7))
        text, dense = self.data(shape, dtype), True
        layout = self.pick(["t", "step", "flip", "expand", "tangle"]) if self.chance(0.25) else ""
        if layout == "t" and len(shape) == 2:
            text, shape = f"{text}.t()", shape[::-1]
        elif layout == "step" and shape:
            text, shape = f"{text}[::2]", ((shape[0] + 1) // 2, *shape[1:])
        elif layout == "flip" and shape:
            text = f"{text}.flip(0)"
        elif layout == "expand":
            shape, dense = (2, *shape), False
            text = f"{text}.expand({shape})"
        elif layout == "tangle" and shape == (3, 3):
            text, dense = f"{text}.as_strided((3, 3), (2, 1))", False
            self.tangled.add(self.memories + 1)
        if leaf:  # of a leaf that is a view PyTorch forgets that it is one
            text += ".detach()" * (not text.endswith(f"L.{dtype})")) + ".requires_grad_()"
        self.new(text, shape, dtype, plain=True, history=leaf, leaf=leaf, dense=dense)

    def target(self, shape, *sources):
        """A tensor for out=: of the shape, or with memory of its own."""
        taken = [v.memory for v in self.vars]
        apart = [v.memory for v in sources]
        return self.var(lambda o: not o.history and o.dense and o.memory not in apart
                        and (o.shape == shape or taken.count(o.memory) == 1))  # fmt: skip

    def unary(self):
        """A function of one tensor: out of place, in place, or into another."""
        v = self.var(lambda v: v.dtype != "bool")
        names = forms.SMOOTH + forms.KINKED * v.leaf if v.inexact else forms.EXACT
        name = self.pick(forms.HOLOMORPHIC if v.complex else names)
        how = self.pick(["method", "method", "function", "in place", "in place", "out"])
        if how == "in place":
            return self.write(v, f"{v.name}.{name}_()")
        if how == "out":
            out = self.target(v.shape, v)
            if out.dtype != v.dtype:  # PyTorch's functions of one tensor do not convert
                raise SkipError
            return self.write(out, f"L.{name}({v.name}, out={out.name})")
        text = f"{v.name}.{name}()" if how == "method" else f"L.{name}({v.name})"
        return self.new(text, v.shape, v.dtype, history=v.history)

    def binary_name(self, v, w):
        """A function of two tensors that suits their dtypes."""
        if "bool" in (v.dtype, w.dtype):
            return self.pick(["add", "mul", "logical_and"])
        if "uint8" in (v.dtype, w.dtype):  # PyTorch's derivatives of atan2 and hypot wrap around
            return self.pick(["add", "mul"])
        if v.complex or w.complex:
            return self.pick(["add", "sub", "mul"])
        return self.pick(forms.BINARY if self.chance(0.85) else forms.COMPARISONS)

    def binary(self):
        """A function of two tensors, of any two dtypes."""
        v = self.var()
        w = self.var(lambda w: broadcast(v.shape, w.shape) is not None)
        name, shape = self.binary_name(v, w), broadcast(v.shape, w.shape)
        how = self.pick(["method", "function", "in place", "in place", "out"])
        if how == "in place":
            if (
                v.memory == w.memory
                or "bool" in (v.dtype, w.dtype)
                or name in ("maximum", "minimum", "fmax", "logical_and")
            ):
                raise SkipError
            if name in forms.COMPARISONS and (v.history or w.history):
                raise SkipError
            return self.write(v, f"{v.name}.{name}_({w.name})", w)
        if how == "out":
            out = self.target(shape, v, w)
            return self.write(out, f"L.{name}({v.name}, {w.name}, out={out.name})")
        text = f"L.{name}({v.name}, {w.name})"
        text = f"{v.name}.{name}({w.name})" if how == "method" else text
        dtype = "bool" if name in (*forms.COMPARISONS, "logical_and") else promoted(v, w)
        return self.new(text, shape, dtype, history=dtype != "bool" and (v.history or w.history))

    def scalar(self):
        """Arithmetic of a tensor with a Python number."""
        v, number = self.var(lambda v: v.dtype != "bool"), self.pick(forms.SCALARS)
        name = self.pick(["add", "mul", "sub", "div", "pow"])
        number = "2" if name == "pow" or number == "True" else number
        if self.chance(0.5):
            return self.write(v, f"{v.name}.{name}_({number})")
        symbol = {"add": "+", "mul": "*", "sub": "-", "div": "/", "pow": "**"}[name]
        text = f"{v.name} {symbol} {number}"
        if self.chance(0.3) and name in ("add", "mul", "sub"):
            text = f"{number} {symbol} {v.name}"
        real = "float32" if not v.inexact and ("." in number or name == "div") else v.dtype
        return self.new(text, v.shape, real, history=v.history)

    def view(self):
        """A view of a tensor, perhaps of a view."""
        v = self.var()
        some = forms.VIEWS + 2 * forms.VIEWS_ALONG * bool(v.shape and math.prod(v.shape))
        some += (
            forms.VIEWS_OF_MATRICES * (len(v.shape) == 2) + 4 * forms.VIEWS_OF_COMPLEX * v.complex
        )
        form = self.pick(some)
        text, shape = self.filled(form, v)
        dtype = v.dtype
        if form in forms.VIEWS_OF_COMPLEX:
            dtype = "float64" if v.dtype == "complex128" else "float32"
        history = v.history and not text.endswith((".detach()", ".data"))
        dense = v.dense and "expand" not in text and "unfold" not in text
        return self.new(text, shape, dtype, v.memory, history=history, dense=dense)

    def copy(self):
        """A new tensor of the elements of one or two; a function of a whole tensor."""
        v = self.var(lambda v: v.inexact and v.shape and v.shape[0] > 1 and math.prod(v.shape))
        w = self.var(lambda w: w.shape == v.shape and w.dtype == v.dtype)
        real = not v.complex and v.dtype != "float16"
        some = self.pick(
            [forms.COPIES, forms.COPIES, forms.REDUCTIONS + real * forms.REAL_REDUCTIONS]
        )
        text, shape = self.filled(self.pick(some), v, w)
        history = v.history or (w.history and w.name in text)
        return self.new(text, shape, promoted(v, w), history=history)

    def matmul(self):
        """A product of matrices and vectors."""
        v = self.var(lambda v: v.inexact and len(v.shape) in (1, 2))
        w = self.var(lambda w: w.dtype == v.dtype and len(w.shape) in (1, 2)
                     and w.shape[0] == v.shape[-1])  # fmt: skip
        text = f"{v.name} @ {w.name}" if self.chance(0.5) else f"L.matmul({v.name}, {w.name})"
        shape = v.shape[:-1] + w.shape[1:]
        return self.new(text, shape, v.dtype, history=v.history or w.history)

    def assign(self):
        """Writing at indices, or all of a tensor."""
        v = self.var(lambda v: v.dense)
        apart = [w for w in self.vars if w.memory != v.memory and (v.inexact or not w.history)
                 and int(RANK[w.dtype]) <= int(RANK[v.dtype])]  # fmt: skip
        same = [w for w in apart if broadcast(v.shape, w.shape) == v.shape]
        rows = [w for w in same if v.shape and v.shape[0] and len(w.shape) < len(v.shape)]
        if same and self.chance(0.6):
            into = rows and self.chance(0.6)
            w = self.pick(rows if into else same)
            text, _ = self.filled(self.pick(forms.COPIES_INTO if into else forms.COPIES_OVER), v, w)
            return self.write(v, text, w)
        some = forms.FILLS + forms.REAL_FILLS * (v.inexact and not v.complex)
        some += forms.FILLS_ALONG * bool(v.shape and v.shape[0])
        return self.write(v, self.filled(self.pick(some), v)[0])

    def convert(self):
        """Another dtype, or another tensor of the same values."""
        v, dtype = self.var(), self.pick(self.palette)
        dtype = v.dtype if v.complex and not dtype.startswith("complex") else dtype
        form = self.pick(["to", "to", "leaf", "copy", "deepcopy"])
        if form == "to":
            memory, history = v.memory if dtype == v.dtype else None, v.history and RANK[dtype] >= 2
            return self.new(f"{v.name}.to(L.{dtype})", v.shape, dtype, memory, history=history)
        if form == "leaf":
            text = f"{v.name}.detach().clone().requires_grad_({v.inexact})"
            return self.new(text, v.shape, v.dtype, plain=True, history=v.inexact, leaf=v.inexact)
        memory = v.memory if form == "copy" else None
        what = {"history": v.history, "leaf": v.leaf, "dense": v.dense}
        return self.new(f"copy.{form}({v.name})", v.shape, v.dtype, memory, **what)

    def swap(self):
        """Calls that change what a tensor is."""
        v = self.var(lambda v: v.dense)
        same = [w for w in self.vars if w.shape == v.shape and w.name != v.name]
        if not same:
            raise SkipError
        w, some = self.pick(same), forms.SWAPS
        if v.leaf or not v.history:
            some = [*some, ("{v}.set_({w}.detach())", "")]
        text, _ = self.filled(self.pick(some), v, w)
        if text.endswith((f"data = {w.name}", f"set_({w.name}.detach())")):
            self.vars = [
                u._replace(memory=w.memory) if u.memory == v.memory else u for u in self.vars
            ]
        self.lines.append(text)

    def formula(self, v, depth, shape):
        """An expression in `x`, a tensor like v of a shape, that has its shape."""
        if depth == 0:
            return "x"
        inside = self.formula(v, depth - 1, shape)
        name = self.pick(forms.HOLOMORPHIC if v.complex else forms.SMOOTH)
        some = [f"{inside}.{name}()", f"({inside} * {self.pick(forms.SCALARS)})", f"({inside} + x)"]
        some += [f"({inside} * x.cos())", f"({inside} * 1).mul_(x)", f"{inside}.clone().{name}_()"]
        some += [f"L.zeros_like(x).copy_({inside})", f"({inside} * x.detach())"]
        if shape:
            some += [f"written({inside}, x)", f"{inside}.unbind(0)[0] * x"]
            some += [f"{inside}.cumsum(0)", f"{inside}.flip(0)", f"({inside} - {inside}.sum(0))"]
        others = [w for w in self.vars if w.shape in (shape, ()) and w.dtype == v.dtype]
        if others:
            some.append(f"({inside} * {self.pick(others).name})")
        return self.pick(some)

    def custom(self):
        """A custom Function, or a checkpoint."""
        form = self.pick(forms.FUNCTIONS)
        v = self.var(lambda v: v.inexact and not (v.complex and "Order" in form[0]))
        w = self.var(lambda w: w.shape == v.shape and w.dtype == v.dtype)
        text, shape = self.filled(form, v, w, f=self.formula(v, 2, v.shape))
        writes = text.startswith(("Double_", "Into"))
        if writes and not v.dense:  # it would write elements that are one
            raise SkipError
        memory = v.memory if text.startswith(("Double_", "Alias", "Same", "Into")) else None
        history = v.history or w.history
        return self.new(text, shape, v.dtype, memory, plain=True, history=history)

    def transform(self):
        """A transform of a pure function."""
        v = self.var(lambda v: v.shape and v.dense and v.dtype in ("float32", "float64")
                     and 0 < math.prod(v.shape) < 40)  # fmt: skip
        f, g = self.formula(v, 2, v.shape), self.formula(v, 2, v.shape[1:])
        text, shape = self.filled(self.pick(forms.TRANSFORMS), v, f=f, g=g)
        return self.new(text, shape, v.dtype, plain=True, history=v.history)

    def loss(self, v):
        """A root for a pass, and its cotangent or "": texts."""
        if v.complex or self.chance(0.3):
            return v.name, f"L.ones_like({v.name})"
        return (f"{v.name}.sum()" if self.chance(0.6) else f"({v.name} * {v.name}).sum()"), ""

    def backward(self, final=False):
        """A backward pass."""
        root, cotangent = self.loss(self.var(lambda v: v.history))
        options = [cotangent] * bool(cotangent)
        if not final:
            some = ["retain_graph=True", "retain_graph=True", "create_graph=True"]
            options += [self.pick(some)] * self.chance(0.5)
        leaves = [w.name for w in self.vars if w.leaf]
        if leaves and self.chance(0.15):
            options.append(f"inputs=[{self.pick(leaves)}]")
        text = f"{root}.backward({', '.join(options)})"
        self.lines.append(f"in_thread(lambda: {text})" if self.chance(0.05) else text)

    def grad(self):
        """autograd.grad; its result may be differentiated again."""
        v, w = self.var(lambda v: v.history), self.var(lambda w: w.history)
        root, cotangent = self.loss(v)
        create = self.chance(0.5)
        arguments = [root, w.name] + [cotangent] * bool(cotangent)
        arguments += ["create_graph=True" if create else self.pick(["retain_graph=True", ""])]
        arguments += [self.pick(["", "materialize_grads=True"])]
        text = f"L.autograd.grad({', '.join(filter(None, arguments))})[0]"
        self.new(text, w.shape, w.dtype, history=create, dense=False)  # it may be expanded

    def read_grad(self):
        """The gradient of a leaf as a variable like any other: further passes may write it."""
        v = self.var(lambda v: v.leaf)
        text = f"{v.name}.detach() if {v.name}.grad is None else {v.name}.grad"
        self.new(text, v.shape, v.dtype, v.memory)

    def hook(self):
        """A hook of any kind, which looks at gradients or changes them; on no view.

        Those on views PyTorch forgets when the base is written under no_grad.
        """
        taken = [v.memory for v in self.vars]
        v = self.var(lambda v: v.history and (v.leaf or taken.count(v.memory) == 1))
        w = self.var(lambda w: w.history and (w.leaf or taken.count(w.memory) == 1))
        text, _ = self.filled(self.pick(forms.HOOKS), v, w)
        if ".data.sub_(" in text and not v.dense:  # it would write elements that are one
            raise SkipError
        self.say(text)

    def optimize(self):
        """An optimizer's step, clipping, zeroing."""
        v = self.var(lambda v: v.leaf and v.dense)
        if not self.optimizers or self.chance(0.15):
            self.optimizers.append(f"o{len(self.optimizers)}")
            rule = self.pick(forms.OPTIMIZERS).format(v=v.name)
            self.lines.append(f"{self.optimizers[-1]} = L.optim.{rule}")
        else:
            o = self.pick(self.optimizers)
            self.lines.append(self.filled(self.pick(forms.STEPS), v, o=o)[0])

    def statement(self):
        """Append a statement of a kind drawn by weight."""
        weights = {
            self.create: 1, self.unary: 6, self.binary: 8, self.scalar: 4, self.matmul: 2,
            self.view: 7, self.copy: 5, self.assign: 6, self.convert: 2, self.swap: 4,
            self.custom: 2, self.transform: 1, self.hook: 3, self.backward: 3, self.grad: 2,
            self.read_grad: 1, self.optimize: 3,
        }  # fmt: skip
        kinds = [kind for kind, weight in weights.items() for _ in range(weight)]
        before = len(self.lines)
        while len(self.lines) == before:
            try:
                self.pick(kinds)()
            except SkipError:
                continue


def program(seed):
    """The program of a seed: three leaves, some statements, a backward pass."""
    maker = Maker(seed)
    for wanted in (True, False, False):
        maker.create(wanted)
    for _ in range(4 + maker.below(12)):
        maker.statement()
    maker.backward(final=True)
    return maker.lines

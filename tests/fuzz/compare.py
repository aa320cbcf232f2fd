"""Whether two outcomes of a program agree, and how the first difference reads.

Errors and facts are equal; numbers are, to the tolerance of the coarsest dtype in the program and
relative to the largest size there. What differs on purpose is explained by a rule of `RULES`, each
with its row of docs/differences.md; what follows an explained difference is not compared.
"""

from __future__ import annotations

from typing import NamedTuple

TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}  # of the others, FINE
FINE = 1e-6


SAVES_LESS = ("prod", "take", "gather", "index_copy_")


class Difference(NamedTuple):
    """Where two outcomes part: the statement, what of it, and both sides."""

    statement: int
    what: str
    ours: object
    theirs: object

    @property
    def sort(self):
        """What stays the same while a program is shrunk."""
        kinds = {"crash": "crash", "error": f"{self.ours} / {self.theirs}"}
        if self.what in ("crash", "error", "notes") or None in (self.ours, self.theirs):
            return kinds.get(self.what, "present")
        mine, other = ((r[1:] if len(r) == 4 else r) for r in (self.ours, self.theirs))
        return "numbers" if mine[0] == other[0] else "facts"


def late_view(program, d):
    """PyTorch refuses every use of some views, Retrograd what looks at their history."""
    kinds = ("multi-view", "no-grad view", "inference view", "custom view")
    return any(kind in str(d.theirs) for kind in kinds)


def hidden(program, d):
    """PyTorch does not let a tensor be looked at."""
    return d.sort == "facts" and d.theirs[-3] == "RuntimeError"


def singular(program, d):
    """PyTorch has a NaN, Retrograd a number."""
    return d.sort in ("facts", "numbers") and " nan" in d.theirs[-3] and " nan" not in d.ours[-3]


def refused_write(program, d):
    """A write that both refuse: PyTorch may have written or resized something by then."""
    return d.what == "left"


def no_grad_view(program, d):
    """A view of a leaf made under no_grad says that it requires grad, but PyTorch gives it none."""
    modes = ("L.no_grad()", "enabled(False)", "L.inference_mode()")
    silent = any(mode in " ".join(program) for mode in modes)
    lost = d.what == "error" and (d.ours, d.theirs) == (None, "RuntimeError")
    refused = lost and any(call in program[d.statement] for call in ("backward(", ".grad("))
    return silent and (refused or (d.what.endswith(".grad") and d.theirs is None))


def unneeded(program, d):
    """A root that leads to nothing wanted: PyTorch calls its hooks and retains its gradient."""
    asked = "inputs=" in program[d.statement] or "autograd.grad(" in program[d.statement]
    retained = d.what.endswith(".grad") and d.ours is None
    return asked and (retained or (d.what == "notes" and d.ours < d.theirs))


def saves_less(program, d):
    """These derivatives read a shape or less where PyTorch saves a tensor."""
    found = (d.ours, d.theirs) == (None, "RuntimeError overwritten")
    less = found and any(f".{name}(" in " ".join(program) for name in SAVES_LESS)
    return less or (d.ours, d.theirs) == (None, "RuntimeError freed")


def gradient_layout(program, d):
    """One of them expands a gradient; memory like that is not written, and has fewer views."""
    strict = any(call in program[d.statement] for call in (".view(", ".detach_("))
    strict |= "overlap" in f"{d.ours}{d.theirs}"
    return d.what == "error" and strict and "grad" in " ".join(program)


def copies_count(program, d):
    """`copy.copy` shares memory, and in Retrograd versions and inference mode as well."""
    return "copy.copy(" in " ".join(program) and (
        d.sort == "facts" or (d.ours, d.theirs) == ("RuntimeError overwritten", None)
    )


def inference_alias(program, d):
    """An alias of an inference tensor is one, too: it is not written outside the mode."""
    found = (d.ours, d.theirs) == ("RuntimeError", None)
    return found and "L.inference_mode()" in " ".join(program) and "_(" in program[d.statement]


def data_replaced(program, d):
    """`x.data = y` makes x no view any more, and is a write to x where x was saved."""
    return d.what == "error" and ".data = " in " ".join(program)


def no_gradients_to_clip(program, d):
    """PyTorch's clip_grad_value_ fails if there is no gradient."""
    return d.theirs == "RuntimeError empty list"


# What explains a difference, and its row in docs/differences.md.
RULES = {
    late_view: "views of multi-view functions, of no-grad blocks and of custom Functions",
    hidden: "views of multi-view functions, of no-grad blocks and of custom Functions",
    singular: "gradients at singular points of second order",
    refused_write: "writes that are refused",
    no_grad_view: "views of leaves made under no_grad",
    unneeded: "`backward(inputs=[y])` for a `y` that is no leaf",
    saves_less: "what `prod`, `take`, `gather` and `index_copy` save",
    gradient_layout: "the layout of `.grad` in memory",
    copies_count: "`copy.copy(x)`",
    inference_alias: "`detach()` and `data` of inference tensors",
    data_replaced: "`x.data = y`",
    no_gradients_to_clip: "`clip_grad_value_` without gradients",
}


def explained(program, difference):
    """Whether a difference is one of those on purpose."""
    return any(rule(program, difference) for rule in RULES)


def apart(a, b):
    """Whether two kinds of error differ: by family, or by the text that names a stale value."""
    first, second = ([*(error or "none").split(" ", 1), ""] for error in (a, b))
    told = ("overwritten", "freed")
    return first[0] != second[0] or (second[1] in told and first[1] not in told)


def agree(a, b, bound, size):
    """Whether two records do."""
    if a is None or b is None:
        return a is b
    return (
        a[0] == b[0]
        and abs(a[1] - b[1]) <= bound * max(size, abs(b[1]) / 100)
        and abs(a[2] - b[2]) <= bound * size
    )


def difference(ours, theirs):
    """The first difference of two outcomes, or None."""
    if theirs[0] == "crash":  # PyTorch's own; there is nothing to compare
        return None
    if ours[0] == "crash":
        return Difference(0, "crash", ours[1], None)
    bound, size, here, there = FINE, 1.0, {}, {}
    for n, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if apart(mine[0], other[0]):
            return Difference(n, "error", mine[0], other[0])
        here.update(mine[2])
        there.update(other[2])
        for facts, _, mean in filter(None, other[2].values()):
            size, bound = max(size, mean), max(bound, TOLERANCES.get(facts.split()[0], FINE))
        if mine[0]:
            mine[1].clear()
            other[1].clear()
        if len(mine[1]) != len(other[1]):
            return Difference(n, "notes", len(mine[1]), len(other[1]))
        for a, b in zip(mine[1], other[1], strict=True):
            if a[0] != b[0] or not agree(a[1:], b[1:], bound, size):
                return Difference(n, "note", a, b)
        for name in sorted(mine[2].keys() | other[2].keys()):
            if not agree(here.get(name), there.get(name), bound, size):
                what = "left" if mine[0] else name
                return Difference(n, what, here.get(name), there.get(name))
    return None

"""Whether two outcomes of a program agree, and how the first difference reads.

Errors and facts are equal; numbers are, to the tolerance of the coarsest dtype in the program and
relative to the largest size there. What differs on purpose is explained by a rule of `RULES`, each
with its row of docs/differences.md; what follows an explained difference is not compared.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

TOLERANCES = {"float16": 2e-2, "float32": 1e-4, "complex64": 1e-4}  # of the others, FINE
FINE = 1e-6
DIGITS = 1e-3  # of sizes, which have four digits, relative to one

SAVES_LESS = (
    *("prod", "cumprod", "take", "gather"),
    *("index_add", "index_add_", "index_copy", "index_copy_"),
    *("elu", "leaky_relu", "_foreach_add", "_foreach_add_", "_foreach_mul_"),
)


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
    return isinstance(d.theirs, list) and str(d.theirs[-3]).startswith("RuntimeError")


def singular(program, d):
    """PyTorch has a NaN, Retrograd a number."""
    return d.sort in ("facts", "numbers") and " nan" in d.theirs[-3] and " nan" not in d.ours[-3]


def refused_write(program, d):
    """A write that both refuse: PyTorch may have written or resized something by then."""
    return d.what == "left"


def no_grad_view(program, d):
    """A view of a leaf made under no_grad says that it requires grad, but PyTorch gives it none."""
    modes = ("L.no_grad()", "enabled(False)", "L.inference_mode()")
    text = " ".join(program)
    silent = any(mode in text for mode in modes)
    lost = d.what == "error" and (d.ours, d.theirs) == (None, "RuntimeError")
    refused = lost and any(call in program[d.statement] for call in ("backward(", ".grad("))
    zeros = d.sort in ("numbers", "facts") and d.theirs[-1] == 0
    zeros = zeros and "materialize_grads=True" in text
    spared = d.theirs is None and d.ours in ("RuntimeError", "TypeError")
    spared = spared and ("Wrong.apply(" in text or "allow_mutation_on" in text)
    nothing = d.what.endswith(".grad") and d.theirs is None
    return silent and (refused or zeros or spared or nothing)


def unneeded(program, d):
    """A root that leads to nothing wanted: PyTorch calls its hooks and retains its gradient."""
    asked = "inputs=" in program[d.statement] or "autograd.grad(" in program[d.statement]
    retained = d.what.endswith(".grad") and "retain_grad()" in " ".join(program)
    retained &= d.ours is None or d.sort == "numbers"
    retained &= "inputs=" in str(program) or "autograd.grad(" in str(program)
    hooked = d.what == "error" and (d.ours, d.theirs) == (None, "RuntimeError")
    hooked &= "register_hook(" in " ".join(program)
    return retained or (asked and (hooked or (d.what == "notes" and d.ours < d.theirs)))


def saves_less(program, d):
    """These derivatives read a shape or less where PyTorch saves a tensor."""
    found = d.what == "error" and d.theirs == "RuntimeError overwritten"  # ours may fail later on
    text = " ".join(program)
    less = found and ("func.jvp(" in text or any(f".{name}(" in text for name in SAVES_LESS))
    outside = (d.ours, d.theirs) == (None, "TypeError") and "allow_mutation_on" in text
    outside = outside and any(f".{name}(" in text for name in SAVES_LESS)
    return less or outside or (d.ours, d.theirs) == (None, "RuntimeError freed")


def keeps_complex_input(program, d):
    """The derivatives of complex tanh and sigmoid read the input, which has more digits."""
    text = " ".join(program)
    found = (d.ours, d.theirs) == ("RuntimeError overwritten", None)
    found |= (d.ours, d.theirs) == ("RuntimeError", None) and "create_graph=True" in text
    numbers = "complex" in text or re.search(r"\dj\b", text)
    return found and bool(numbers) and ("tanh(" in text or "sigmoid(" in text)


def gradient_layout(program, d):
    """One of them expands a gradient; memory like that is not written, and has fewer views."""
    strict = any(call in program[d.statement] for call in (".view(", ".detach_("))
    strict |= "overlap" in f"{d.ours}{d.theirs}"
    return d.what == "error" and strict and "grad" in " ".join(program)


def copies_count(program, d):
    """`copy.copy` shares memory, and in Retrograd versions and inference mode as well."""
    text = " ".join(program)
    found = (d.ours, d.theirs) if d.what == "error" else None
    in_mode = found == (None, "RuntimeError") and "L.inference_mode()" in text
    return "copy.copy(" in text and (
        d.sort == "facts" or in_mode or found == ("RuntimeError overwritten", None)
    )


def inference_leaf(program, d):
    """Ops on inference tensors that require grad: PyTorch records none, so a gradient is lost."""
    told = flags(d) and "inference" in d.ours[-3] and "inference" in d.theirs[-3]
    return bool(told) or (d.ours, d.theirs) == ("RuntimeError inference saved", None)


def inference_alias(program, d):
    """An alias of an inference tensor is one, too: it is not written outside the mode."""
    found = (d.ours, d.theirs) == ("RuntimeError", None)
    writes = re.search(r"_\(|\] = ", program[d.statement])
    return found and "L.inference_mode()" in " ".join(program) and bool(writes)


def data_replaced(program, d):
    """`x.data = y` makes x no view any more, is a write to x, and may give x another dtype.

    In PyTorch it also makes x an inference tensor, but one with a version, if y is one.
    """
    if ".data = " in " ".join(program) and d.sort == "facts" and "inference" in d.theirs[-3]:
        return "inference" not in d.ours[-3]
    recast = (d.what == "note" or d.what.endswith(".grad")) and d.sort == "facts"
    recast = recast and d.ours[-3].split()[0] != d.theirs[-3].split()[0]
    return (d.what == "error" or recast) and ".data = " in " ".join(program)


def no_gradients_to_clip(program, d):
    """PyTorch's clip_grad_value_ fails if there is no gradient."""
    return d.theirs == "RuntimeError empty list"


def jacobian_copies(program, d):
    """What Jacobians and Hessians save are copies, so nothing overwrites them."""
    calls = ("L.func.jacrev(", "L.func.jacfwd(", "L.func.hessian(")
    text = " ".join(program)
    found = d.theirs == "RuntimeError overwritten" and d.ours in (None, "RuntimeError")
    unseen = d.sort == "numbers" and ".data" in text and d.what.endswith(".grad")
    return (found or unseen) and any(call in text for call in calls)


def nothing_arrives(program, d):
    """A node to which only None arrives: PyTorch reads what it saved all the same."""
    found = (d.ours, d.theirs) == (None, "RuntimeError overwritten")
    return found and any(name in " ".join(program) for name in ("Both.apply(", "Part.apply("))


def detached(program, d):
    """PyTorch refuses a saved tensor that was detached in place, or drops its gradient."""
    dropped = d.what.endswith(".grad") and (d.theirs is None or d.sort == "facts")
    dropped = dropped and ".detach_()" in " ".join(program)
    return dropped or (d.ours, d.theirs) == (None, "RuntimeError detached")


def view_counts_as_leaf(program, d):
    """PyTorch takes a view for a leaf until somebody asks for its new history."""
    if (d.ours, d.theirs) != (None, "RuntimeError leaf written"):
        return False
    name = re.search(r"v\d+|$", program[d.statement])[0]
    if not name:
        return False
    made = re.search(rf"\b{name} = .*", "\n".join(program))[0]
    return "requires_grad" not in made and not re.search(rf"{name}\.requires_grad", str(program))


def empty_pairs(program, d):
    """The backward pass through `view_as_real` of no numbers fails in PyTorch."""
    return (d.ours, d.theirs) == (None, "RuntimeError no pairs")


def index_of_nothing(program, d):
    """An index into a dimension of size 0 is out of range, as any index is that is too large."""
    return (d.ours, d.theirs) == ("IndexError", "RuntimeError no elements")


def out_dtype(program, d):
    """Some functions of PyTorch want an `out` of exactly the dtype that they compute."""
    return (d.ours, d.theirs) == (None, "RuntimeError other dtype") and "out=" in " ".join(program)


def real_part(program, d):
    """A real value written into a part of a complex tensor: PyTorch's backward pass fails."""
    return (d.ours, d.theirs) == (None, "RuntimeError real part")


def transform_looks(program, d):
    """Transforms look at the history of their arguments, in no-grad blocks, too."""
    lost = (d.ours, d.theirs) == ("RuntimeError no-grad view", None)
    return lost and "L.func." in program[d.statement]


def reads_others(program, d):
    """A value was overwritten unseen, and the derivative here reads another one."""
    text = " ".join(program)
    unseen = any(way in text for way in (".data", "save_on_cpu()", "saved_hooks("))
    names = "hypot", "sgn", "prod(", ".elu(", "leaky_relu(", "save_on_cpu()"
    others = any(name in text for name in names)
    return unseen and others and d.sort in ("numbers", "facts")


def view_of_expanded(program, d):
    """The gradient of a view of an expanded leaf, which was written: PyTorch spreads it out."""
    text = " ".join(program)
    alike = d.sort == "numbers" and d.what.endswith(".grad") and d.ours[-1] == d.theirs[-1]
    unrecorded = "L.no_grad()" in text or "L.nn.init." in text
    overlaps = d.what.endswith(".grad") and d.sort == "numbers" and "Double_.apply(" in text
    return ".expand(" in text and ((alike and unrecorded) or overlaps)


def flags(d):
    """The flags by which two records of one tensor differ, if that is all."""
    if d.sort != "facts":
        return None
    ours, theirs = (set(seen[-3].split()) for seen in (d.ours, d.theirs))
    return ours ^ theirs if ours ^ theirs <= {"grad", "leaf"} else None


def flags_of_views(program, d):
    """What views say and get when the base comes to require grad, or no longer does."""
    lost = d.what.endswith(".grad") and d.theirs is None
    set_later = any(re.fullmatch(r"(with .*: *)?v\d+\.requires_grad.*", s, re.S) for s in program)
    unset = "requires_grad_(False)" in " ".join(program) and ".backward(" in program[d.statement]
    spared = unset and (d.ours, d.theirs) == ("RuntimeError", None)
    spared |= (d.ours, d.theirs) == ("RuntimeError overwritten", None)
    return set_later and (lost or spared or bool(flags(d)))


def pytorch_bug(program, d):
    """PyTorch says so itself."""
    return d.theirs == "RuntimeError internal"


def retained_shape(program, d):
    """The retained gradient of a tensor that got another shape in place."""
    text = " ".join(program)
    reshaped = re.search(r"(squeeze|transpose)_\(", text)
    return d.what.endswith(".grad") and d.sort == "facts" and bool(reshaped) and "retain_g" in text


def graph_of_nothing(program, d):
    """Some gradients without elements have a graph here, and none in PyTorch, or the other way."""
    return bool(flags(d)) and " [0" in d.ours[-3] and "create_graph=True" in " ".join(program)


def scan_of_nothing(program, d):
    """PyTorch refuses `cumsum_` of booleans, unless there are none."""
    return (d.ours, d.theirs) == ("RuntimeError", None) and ".cumsum_(" in program[d.statement]


def identity_transformed(program, d):
    """`vmap(lambda x: x)(v)` is v itself in PyTorch, and what `vjp` gives the cotangent."""
    text = " ".join(program)
    return d.sort == "facts" and ("vmap(lambda x: x)" in text or "vjp(lambda x: x," in text)


def checkpoint_of_constant(program, d):
    """A run again from a leaf that no longer requires grad saves nothing, which PyTorch refuses."""
    text = " ".join(program)
    found = (d.ours, d.theirs) == (None, "RuntimeError") and ".backward(" in program[d.statement]
    constant = ".requires_grad_(False)" in text or ".detach_()" in text
    return found and "again(" in text and constant


def nothing_to_free(program, d):
    """A node that had nothing to save is freed as any other."""
    return (d.ours, d.theirs) == ("RuntimeError freed", None)


def overlapping_write(program, d):
    """Elements that are one are all written from the old values, in PyTorch one after another."""
    return d.sort == "numbers" and ".as_strided((3, 3), (2, 1))" in " ".join(program)


def no_graph_of_zeros(program, d):
    """A derivative that is constant has no graph, in PyTorch one of zeros."""
    text = " ".join(program)
    found = flags(d) and "grad" in d.theirs[-3].split()
    refused = d.ours == "RuntimeError" and d.theirs in (None, "RuntimeError freed")
    refused |= d.ours == "TypeError" and "hook(" in program[d.statement]
    refused |= (d.ours, d.theirs) == (None, "RuntimeError") and "copy(" in program[d.statement]
    zeros = d.what.endswith(".grad") and d.ours is None and d.theirs[-1] == 0
    transforms = "L.func." in text or "tangent(" in text
    kinked = "create_graph=True" in text and "leaky_relu(" in text
    return bool(found or refused or zeros) and (transforms or kinked)


def saved_names(program, d):
    """Nodes save other values than PyTorch's, or have no attribute of that name."""
    return d.what == "error" and "._saved_" in program[d.statement]


def hooks_of_the_root(program, d):
    """PyTorch calls hooks of several tensors twice, or forgets them, if one is the root."""
    twice = d.what == "note" or (d.what == "notes" and d.ours > d.theirs)
    refused = d.what == "error" and d.ours is None
    return "register_multi_grad_hook(" in " ".join(program) and (twice or refused)


def tangents_in_inference_mode(program, d):
    """Forward derivatives by inference tensors are what they are by others."""
    text = " ".join(program)
    return d.sort == "numbers" and "tangent(" in text and "inference_mode()" in text


def written_by_foreach(program, d):
    """`allow_mutation_on_saved_tensors` sees each write, in PyTorch none of `_foreach_add_`."""
    text = " ".join(program)
    return d.sort == "facts" and "allow_mutation_on" in text and "_foreach_" in text


def resized_by_out(program, d):
    """What were views of an `out` that got another shape are none any more."""
    call = program[d.statement]
    return d.sort == "numbers" and "out=" in call and f"out={d.what})" not in call


def rounded_before_out(program, d):
    """Integers are computed with in single precision, also where a double is to be written."""
    found = d.sort == "numbers" and f"out={d.what})" in program[d.statement]
    return (
        found and "float64" in d.ours[-3] and math.isclose(d.ours[-2], d.theirs[-2], rel_tol=1e-4)
    )


def no_examples(program, d):
    """Transforms of nothing give nothing; some fail in PyTorch."""
    refused = "IndexError no examples", "RuntimeError nothing to stack"
    transforms = "vmap(", "functional.jacobian(", "functional.hessian("
    found = d.ours is None and d.theirs in refused
    return found and any(call in program[d.statement] for call in transforms)


def scattered_over_itself(program, d):
    """What PyTorch copies before it writes a part overlaps itself, as the input does."""
    overlaps = "unfold(", "as_strided("
    found = d.sort == "numbers" and re.search(r"(select|slice)_scatter\(", program[d.statement])
    return bool(found) and any(call in " ".join(program) for call in overlaps)


def gradient_set_by_hand(program, d):
    """PyTorch drops a gradient set by hand when a custom Function writes its tensor."""
    lost = d.what.endswith(".grad") and d.theirs is None and ".apply(" in program[d.statement]
    return lost and f"{d.what} = " in " ".join(program)


def nodes_of_norms(program, d):
    """Hooks of the nodes of normalisations are given None for mean and deviation, too."""
    found = (d.ours, d.theirs) == ("TypeError", None)
    return found and "prehook(" in " ".join(program) and "layer_norm(" in " ".join(program)


# What explains a difference, and its row in docs/differences.md.
RULES = {
    late_view: "views of multi-view functions, of no-grad blocks and of custom Functions",
    hidden: "views of multi-view functions, of no-grad blocks and of custom Functions",
    singular: "gradients at singular points of second order",
    refused_write: "writes that are refused",
    no_grad_view: "views of leaves made under no_grad",
    unneeded: "`backward(inputs=[y])` for a `y` that is no leaf",
    saves_less: "what `prod`, `take`, `gather` and `index_copy` save",
    keeps_complex_input: "the input of a complex `tanh` or `sigmoid`",
    gradient_layout: "gradients of expanded results (`sum`), in hooks and in `.grad`",
    copies_count: "`copy.copy(x)`",
    inference_leaf: "ops on an inference tensor that requires grad",
    inference_alias: "`detach()` and `data` of inference tensors",
    data_replaced: "`x.data = y`",
    no_gradients_to_clip: "`clip_grad_value_` without gradients",
    jacobian_copies: "what `jacrev` and `hessian` saved, overwritten afterwards",
    nothing_arrives: "a node to which only None arrives",
    detached: "`y.detach_()` after `y` was saved",
    view_counts_as_leaf: "a view, written after its base came to have a history",
    empty_pairs: "`view_as_real` of an empty tensor",
    index_of_nothing: "`index_select` along a dimension of size 0",
    out_dtype: "`out=` of another dtype that can hold the result",
    real_part: "a real value written into a part of a complex tensor",
    transform_looks: "transforms of views of no-grad blocks, in such blocks",
    reads_others: "derivatives of `hypot` and `sgn` after unseen writes",
    view_of_expanded: "the gradient of a view of an expanded leaf, after a write",
    flags_of_views: "views whose base comes to require grad, or no longer does",
    pytorch_bug: "errors that PyTorch calls its own",
    retained_shape: "`retain_grad()`, then `unsqueeze_` and the like",
    graph_of_nothing: "gradients without elements",
    scan_of_nothing: "`cumsum_` of no booleans",
    identity_transformed: "transforms of the identity",
    checkpoint_of_constant: "`checkpoint` of a leaf that no longer requires grad",
    nothing_to_free: "a second pass through ops that had nothing to save",
    overlapping_write: "unrecorded writes to views that overlap themselves",
    no_graph_of_zeros: "derivatives that are constant",
    saved_names: "attributes of nodes",
    hooks_of_the_root: "multi-grad hooks of the root",
    tangents_in_inference_mode: "forward mode in inference mode",
    written_by_foreach: "writes by `_foreach_add_` and the like",
    resized_by_out: "views of a tensor that gets memory of another shape",
    rounded_before_out: "functions of integers, written into doubles",
    no_examples: "`vmap` of no examples",
    scattered_over_itself: "`select_scatter` and its like of what overlaps itself",
    gradient_set_by_hand: "`.grad` set by hand on a tensor that a custom Function then writes",
    nodes_of_norms: "gradients that hooks of the nodes of `layer_norm` are given",
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
    """Whether two records do.

    A sum may be off by the unit roundoff, relatively: its elements may all be rounded alike.
    """
    if a is None or b is None:
        return a is b
    return (
        a[0] == b[0]
        and abs(a[1] - b[1]) <= bound * max(size, abs(b[1]) / 20)
        and abs(a[2] - b[2]) <= max(bound * size, DIGITS * abs(b[2]))
    )


def records(outcome):
    """All records of an outcome, those of notes too."""
    for _, notes, changes in outcome:
        yield from (note[1:] for note in notes)
        yield from filter(None, changes.values())


def difference(ours, theirs):
    """The first difference of two outcomes, or None."""
    if theirs[0] == "crash":  # PyTorch's own; there is nothing to compare
        return None
    if ours[0] == "crash":
        return Difference(0, "crash", ours[1], None)
    size, here, there = 1.0, {}, {}
    bound = max([FINE, *(TOLERANCES.get(seen[0].split()[0], FINE) for seen in records(theirs))])
    for n, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if apart(mine[0], other[0]):
            return Difference(n, "error", mine[0], other[0])
        here.update(mine[2])
        there.update(other[2])
        size = max([size, *(mean for _, _, mean in records([other]))])
        near = bound * max(1.0, math.log(size))  # e^k is off by k times the error of its argument
        if mine[0]:
            mine[1].clear()
            other[1].clear()
        if len(mine[1]) != len(other[1]):
            return Difference(n, "notes", len(mine[1]), len(other[1]))
        for a, b in zip(mine[1], other[1], strict=True):
            if a[0] != b[0] or not agree(a[1:], b[1:], near, size):
                return Difference(n, "note", a, b)
        for name in sorted(mine[2].keys() | other[2].keys()):
            if not agree(here.get(name), there.get(name), near, size):
                what = "left" if mine[0] else name
                return Difference(n, what, here.get(name), there.get(name))
    return None

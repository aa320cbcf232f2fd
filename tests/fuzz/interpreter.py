"""Runs programs with either library and records what can be seen of them.

A program is a list of Python statements over a library `L`, which is Retrograd or PyTorch: the
names are the same in both. The outcome of a program is a list with an entry for each statement:

    [error, notes, changes]

`error` is None or the kind of error, `notes` are what hooks saw, `changes` is a table from names to
records: what differs from the entry before. A record says what a tensor is and has:

    [facts, value, size]

`facts` is a text: dtype, shape, flags, writes. `value` is a sum of all elements with a weight for
each, `size` the mean of their absolute values. Of a program that is not watched, only the last
entry and those with errors have changes: looking at a tensor may itself repair what is broken.

`python -m tests.fuzz.interpreter LIBRARY` reads programs from its input, one JSON list a line, and
writes the outcomes. It must know nothing of how either library works, and imports no other. With
`kernels` behind it, Retrograd's kernels run on arrays of all sizes.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import sys
import warnings
import weakref

import numpy as np

from .prelude import needed

# What texts of errors are told apart by: the first two are compared, the others are for rules.
ERRORS = {
    "modified by an inplace operation": "overwritten",
    "backward through the graph a second time": "freed",
    "multiple views": "multi-view",
    "created in no_grad mode": "no-grad view",
    "created in inference mode": "inference view",
    "inside a custom Function": "custom view",
    "single memory location": "overlap",
    "nested_tensorlist": "empty list",
    "detached in-place": "detached",
    "cannot be saved for backward": "inference saved",
    "a leaf Variable that requires grad is being used": "leaf written",
    "Found dtype": "other dtype",
    "indexing axis dim should be positive": "no elements",
    "must have a last dimension with stride 1": "no pairs",
    "input_is_complex == grad_is_complex": "real part",
    "INTERNAL ASSERT FAILED": "internal",
    "stack expects a non-empty": "nothing to stack",
    "index 0 out of range for tensor of size [0": "no examples",
}
KINDS = (RuntimeError, IndexError, TypeError, ValueError, NameError)


def kind(error):
    """The family of an error, and what its text is about where that is known."""
    name = next((k.__name__ for k in KINDS if isinstance(error, k)), "TypeError")
    about = next((a for phrase, a in ERRORS.items() if phrase in str(error)), "")
    return f"{name} {about}".strip()


@functools.cache
def weights(count):
    """Factors of the numbers of a tensor, which tell their order."""
    return 1.0 + np.arange(count) * 37 % 11


def record(t, writes):
    """What can be seen of a tensor; an error where PyTorch refuses to look at one."""
    try:
        flags = [t.requires_grad and "grad", t.is_leaf and "leaf"]
        flags.append("inference" if t.is_inference() else f"{writes} writes")
        facts = [str(t.dtype).split(".")[-1], str(list(t.shape)), *filter(None, flags)]
        numbers = np.array(t.tolist()).ravel()
    except Exception as error:
        return [kind(error), 0.0, 0.0]
    numbers = numbers.view(float) if numbers.dtype == complex else numbers.astype(float)
    if not (finite := np.isfinite(numbers)).all():
        odd = np.isnan(numbers).sum(), np.isinf(numbers).sum()
        facts += [f"{n} {what}" for n, what in zip(odd, ("nan", "inf"), strict=True) if n]
        numbers = np.where(finite, numbers, 0.0)
    value = weights(numbers.size) @ numbers / 6
    size = np.abs(numbers).sum() / max(numbers.size, 1)
    return [" ".join(facts), float(f"{value:.7g}"), float(f"{size:.4g}")]


class Observer:
    """Sees the variables of a program that are tensors, and their gradients.

    Of versions it says how many statements raised them: by how much is nobody's business.
    """

    def __init__(self, names, L):
        self.names, self.L, self.seen, self.before = names, L, {}, {}

    def tensors(self):
        """All of them by name."""
        for name, t in list(self.names.items()):
            if isinstance(t, self.L.Tensor):
                yield name, t
                if t.grad is not None:
                    yield f"{name}.grad", t.grad

    def glance(self):
        """Note which tensors are new, and which were written: identity, version, writes."""
        seen = {}
        for name, t in self.tensors():
            version = 0 if t.is_inference() else t._version
            ref, last, writes = self.seen.get(name, (weakref.ref(t), version, 0))
            if ref() is not t:
                last, writes = version, 0
            seen[name] = weakref.ref(t), version, writes + (version > last)
        self.seen = seen

    def changes(self):
        """The records that differ from the time before; None for what is gone."""
        after = {name: record(t, self.seen[name][2]) for name, t in self.tensors()}
        changed = {name: seen for name, seen in after.items() if self.before.get(name) != seen}
        changed |= {name: None for name in self.before if name not in after}
        self.before = after
        return changed


def library(name):
    """A library whose modules that programs use are all loaded."""
    for module in ("func", "nn", "optim", "utils.checkpoint"):
        importlib.import_module(f"{name}.{module}")
    return importlib.import_module(name)


def carry_out(statement, names):
    """Run one statement; the kind of error, if there is one."""
    try:
        exec(compile(statement, "<program>", "exec"), names)
    except Exception as error:
        return kind(error)
    return None


def run(program, L, watched=True):
    """The outcome of a program. A backward pass that fails ends it.

    (docs/differences.md, "leaves in a backward pass": such a pass changes no `.grad` in Retrograd.)
    """
    notes, outcome, names = [], [], {"L": L, "copy": copy}
    for source in needed("\n".join(program)):
        exec(source, names)
    names["note"] = lambda label, *seen: notes.extend([label, *record(t, 0)] for t in seen)
    observer = Observer(names, L)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, statement in enumerate(program):
            error = carry_out(statement, names)
            failed = error and (".backward(" in statement or "autograd.grad(" in statement)
            with L.no_grad():
                observer.glance()
                look = not failed and (watched or error or n == len(program) - 1)
                changes = observer.changes() if look else {}
            outcome.append([error, sorted(notes, key=lambda seen: seen[0]), changes])
            notes.clear()
            if failed:
                break
        L.set_grad_enabled(True)
    return outcome


def main(name, how=None):
    """Answer programs from the input, one a line, until it ends."""
    L = library(name)
    if how == "kernels":
        L.compiler.door.change(least=0)
    for line in sys.stdin:
        watched, *program = json.loads(line)
        print(json.dumps(run(program, L, watched)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

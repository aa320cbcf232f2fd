"""Programs: a recording as a function that does it again, on the arrays of another call.

The function is Python that calls, in order, what was called in the recording: forwards, formulas
and NumPy's functions on arrays, without tensors, nodes or modes; and between them the effects. All
names in it are local. Arithmetic runs in segments, in the package's own NumPy state (`quiet`).
"""

from __future__ import annotations

import operator
from itertools import repeat
from typing import Any

import numpy as np

from ..compiler import door
from ..compiler.updates import natively
from ..engine.backward import accumulation
from ..engine.graph import FREED, LEAF, Cell, new_node
from ..engine.record import walk
from ..engine.tensor import Tensor, new_tensor, wrote
from ..kernels import meta
from ..kernels.native import loops as in_c
from ..quiet import CALM
from .asked import Asked, Bail, Turned, holds, turn
from .explaining import Listing, Row, Rows, of_run, of_step
from .history import Captured
from .loops.lowering import Lowered, Lowering, Undrawn
from .past import Past, is_shown_by
from .recording import Formulas, Recording, add_gradient, count_write
from .steps import Call, Effect, Result, Root, Slot, Step, Truth, leaves, places_in

PLACES = (Slot, Root, Result)  # what stands for something else among arguments
SHARED = "what is returned shares memory with something else"
LARGE = 1 << 16  # bytes of an array that goes where it was read last
NATIVE = in_c is not None and door.AVAILABLE
if NATIVE:
    from .loops import native
    from .loops.fusing import Fused, FusedRows, is_elementwise, is_in_rows, is_repeated, shape_of
    from .loops.rolling import Table
    from .timing import Clock

__all__ = ["Unclear", "program"]


class Unclear(Exception):  # noqa: N818 (no error)
    """What a function returns cannot be made by a replay; the text says why."""


def program(
    recording: Recording,
    result: Any,
    pasts: list[Past],
    compiled: bool,
    forms: dict[Any, Any],
    timed: bool = False,
) -> tuple[Any, Listing, list[Captured]]:
    """The function `replay(args, kwargs)` that does what was recorded; and what that is, `timed` or
    not.

    Third, the kinds of the nodes that results have, one for each of `pasts`.

    Raises Unclear where there is none, or where it would be no quicker than the function: where
    nothing of it is native, if it is to be `compiled`. `forms` are those of older recordings.
    """
    writer = Writer(recording, pasts, compiled, forms)
    while True:
        try:
            text = writer.text(result)
            break
        except Partial as error:
            writer.leave_out(error.args[0])
    calls = sum(isinstance(step, Call) for step in recording.steps)
    if compiled and calls and not (writer.loops or writer.shapes or writer.gains):
        raise Unclear(f"none of {calls} calls on arrays has native code")
    if compiled:
        writer.forms.keep()
    names = writer.names
    exec(compile(text, "<a recorded function>", "exec"), names)
    for number, kind in enumerate(writer.kinds):
        kind.backward = names[f"backward{number}"]
    return names["replay"], writer.listing(text, timed), writer.kinds


def is_branch(step: Any) -> bool:
    """Whether a step is a branch on a value."""
    return isinstance(step, Truth) or getattr(step, "function", None) is turn


def check(shapes: bool) -> None:
    """Raise Bail unless shapes that depend on values are those of the recording."""
    if not shapes:
        raise Bail


class Partial(Exception):  # noqa: N818 (no error)
    """What is needed later is a part of memory, which these steps do not make natively."""


def with_history(array: Any, node: Any, facts: dict[str, Any], version: int = 0) -> Tensor:
    """A tensor around an array, with a history that has no values any more, and a version."""
    own = new_node(node.op, node.edges)
    own.saved, own.params = node.saved, node.params
    own.shape, own.dtype, own.fits = node.shape, node.dtype, node.fits
    if facts:
        own.__dict__.update(facts)
    made = new_tensor(array)
    made._node, made._cell = own, Cell()  # a node may have told its cell to others
    return versioned(made, version) if version else made


def versioned(tensor: Tensor, version: int) -> Tensor:
    """A tensor that a call gave, whose version counts the writes that followed."""
    for _ in range(version - tensor._version):
        wrote(tensor, "a compiled step")
    return tensor


def new(slot: int, tensor: Tensor) -> str:
    """The expression for a new tensor with the version of one of the recording."""
    made, version = f"new_tensor(v{slot})", tensor._version
    return f"versioned({made}, {version})" if version else made


class Writer:
    """Writes the text of a replay."""

    def __init__(
        self, recording: Recording, pasts: list[Past], compiled: bool, forms: dict[Any, Any]
    ) -> None:
        self.recording, self.pasts, self.compiled = recording, pasts, compiled
        self.kinds = [*map(Captured, pasts)]
        backward = sum(len(past.steps) for past in pasts)
        self.forward = recording.steps[: len(recording.steps) - backward]
        self.order = self.forward  # in which they are done
        self.branches: list[Any] = []  # on values, in that order
        self.names: dict[str, Any] = {
            "Bail": Bail, "Turned": Turned, "add": accumulation.add_to_leaf, "asarray": np.asarray,
            "calm": CALM.copy, "check": check, "natively": natively, "new_tensor": new_tensor,
            "turn": turn, "versioned": versioned, "walk": walk, "with_history": with_history,
        }  # fmt: skip
        self.known: dict[int, str] = {id(value): name for name, value in self.names.items()}
        self.returned: set[int] = set()  # slots
        self.bases: list[Tensor] = []  # of views that are returned
        self.given: list[Tensor] = []  # results with a node, so far
        self.views: list[Tensor] = []  # and views of what there is
        self.lowering = Lowering(recording, native.can if compiled else None)
        self.loops: dict[Step, Lowered] = {}  # of steps that have a native form
        self.shapes: dict[Step, Any] = {}  # of steps on large arrays that kernels do
        self.rows: dict[str, tuple[list[Row], Any]] = {}  # of lines of the text; and what they run
        self.gains = 0  # steps that nobody needs
        if compiled:
            self.forms = native.Forms(forms)
            self.names |= {"run_steps": in_c.run_steps, "empty": np.empty, "ndarray": np.ndarray}
            for step in recording.steps:
                lowered = self.lowering.lowered(step)
                if lowered is not None:
                    self.loops[step] = lowered
                elif shape := shape_of(step, recording):
                    self.shapes[step] = shape

    def name(self, value: Any) -> str:
        """The name or text of a constant."""
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        name = self.known.get(id(value))
        if name is None:
            name = self.known[id(value)] = f"c{len(self.names)}"
            self.names[name] = value
        return name

    def leave_out(self, steps: list[Step]) -> None:
        """Let steps stay calls."""
        self.returned.clear()
        self.bases.clear()
        self.given.clear()
        self.views.clear()
        self.order = self.forward
        for step in steps:
            del self.loops[step]

    def writers(self, storage: Any) -> list[Step]:
        """The steps that write to a storage."""
        return [step for step, lowered in self.loops.items() if storage in lowered.written()]

    # -- the whole -------------------------------------------------------------------------------

    def text(self, result: Any) -> str:
        """The source of `replay`."""
        recording = self.recording
        returned = self.output(result)
        self.hoist()
        self.branches = [s for s in self.order if is_branch(s)]
        parts = self.parts()
        needed = set(self.returned)  # slots, of what comes later
        functions: list[str] = []
        lines: list[str] = []
        for number in range(len(self.pasts)):
            texts, nodes, kept = self.backward(number)
            functions += texts
            lines += nodes
            needed |= kept
        late = 0  # lines at the end, from the first that must not be done twice
        first = min(recording.lasting, default=None)
        for number, part in reversed([*enumerate(parts)]):
            if isinstance(part[0], Effect):
                lines = self.effect(part[0], needed) + lines
                if first is not None and part[0] is recording.steps[first]:
                    late = len(lines)
                needed = (needed - set(part[0].made)) | set(part[0].reads)
                continue
            body, took = self.body(part, needed)
            made = {s for step in part for s in step.gives}
            takes = ", ".join([f"v{s}" for s in sorted(took - self.constants())])
            gives = ", ".join([f"v{s}" for s in sorted(made & needed)])
            if body:  # nobody may need what a part makes
                function = [f"def part{number}({takes}):", *[f"    {line}" for line in body]]
                run = f"calm().run(part{number}{takes and ', ' + takes})"
                if gives:
                    function.append(f"    return {gives}")
                    run = f"{gives} = {run}"
                functions = function + functions
                lines.insert(0, run)
            if first is not None and recording.steps[first] in part:
                late = len(lines)
            needed = (needed - made) | took
        used = needed | set(self.returned)
        head = []
        for number, (origin, slot) in enumerate(
            zip(recording.origins, recording.root_slots, strict=True)
        ):
            kind, where = origin
            head.append(f"r{number} = {where if kind == 'argument' else self.name(where)}")
            if slot in used:
                head.append(f"v{slot} = r{number}._array")
        before = [*head, *lines[: len(lines) - late]]
        main = ["try:", *[f"    {line}" for line in before]] if before else []
        if before:
            main += ["except Turned:", "    raise", "except Exception as error:"]
            main.append("    raise Bail from error")
        main += [*lines[len(lines) - late :], f"return {returned}"]
        return "\n".join([*functions, "def replay(args, kwargs):", *[f"    {m}" for m in main]])

    def body(self, part: list[Any], later: set[int]) -> tuple[list[str], set[int]]:
        """The lines of a run of arithmetic, and the slots that it takes from before."""
        runs: list[tuple[Any, list[Any]]] = []
        for step in part:
            kind = step in self.loops or self.shapes.get(step)
            if not runs or runs[-1][0] != kind or kind is None:
                runs.append((kind, []))
            runs[-1][1].append(step)
        lines: list[str] = []
        needed, outer = set(later), set[int]()
        for kind, run in reversed(runs):
            made = {s for step in run for s in step.gives}
            if kind is True and any(self.loops[step].places for step in run):
                text, takes = self.native(run, made, needed)
            elif isinstance(kind, tuple):
                text, takes = self.fused(run, made, needed)
            elif self.compiled and not made & needed and is_elementwise(run[0], self.recording):
                self.gains += 1
                continue
            else:
                text = [self.line(step) for step in run]
                takes = {s for step in run for s in step.reads} - made
            gone = sorted(s for s in takes - needed - self.constants() if self.is_large(s))
            text += [f"del {', '.join([f'v{s}' for s in gone])}"] * bool(gone)
            lines = text + lines
            needed, outer = (needed - made) | takes, (outer - made) | takes
        return lines, outer

    def is_large(self, slot: int) -> bool:
        """Whether memory is worth to be given back before the end."""
        return bool(self.recording.arrays[slot].nbytes >= LARGE)

    def fused(self, run: list[Any], made: set[int], later: set[int]) -> tuple[list[str], set[int]]:
        """The lines that run elementwise steps on large arrays, as few kernels as that takes."""
        takes = {s for step in run for s in step.reads} - made
        gives = sorted(made & later)
        if not gives:
            return [], set()
        given, arrays = sorted(takes - self.constants()), self.recording.arrays
        repeated = any(is_repeated(arrays[s]) for s in given)
        kernel = self.kernel(run, given, gives) if len(run) > 1 or repeated else None
        if kernel is not None:
            inside = ", ".join([f"v{s}" for s in given])
            line = f"{self.target(tuple(gives))} = {self.name(kernel)}({inside})"
            self.rows[line] = [of_run(run, [arrays[s] for s in given + gives])], line
            return [line], takes
        if len(run) == 1:
            return [self.line(run[0])], takes
        first, rest = run[: len(run) // 2], run[len(run) // 2 :]
        made = {s for step in rest for s in step.gives}
        after, between = self.fused(rest, made, later)
        made = {s for step in first for s in step.gives}
        before, takes = self.fused(first, made, later | between)
        return before + after, takes | (between - made)

    def kernel(self, run: list[Any], given: list[int], gives: list[int]) -> Any:
        """One kernel that does some steps; None where there is none."""
        arrays, in_rows = self.recording.arrays, any(is_in_rows(s, self.recording) for s in run)
        if any(is_repeated(arrays[s]) for s in gives):  # which a kernel would write out
            return None
        method = "" if in_rows else "alike"
        lines = [f"{self.target(step.made)} = {self.called(step, method)}" for step in run]
        head = [f"v{s}" for s in given]
        if in_rows:
            lines.append(f"return {self.target(tuple(gives))}")
        else:
            head += [f"o{s}" for s in gives]
            lines += [f"o{s}[...] = v{s}" for s in gives]
        own: dict[str, Any] = {}
        exec("\n    ".join([f"def fused({', '.join(head)}):", *lines]), self.names, own)
        operands, results = ([arrays[s] for s in slots] for slots in (given, gives))
        made: Any = (
            FusedRows(own["fused"], operands) if in_rows
            else Fused(own["fused"], operands, results)
        )  # fmt: skip
        return None if made.kernel is None else made

    def views_later(self, run: list[Any], made: set[int], needed: set[int]) -> list[Any]:
        """The views among steps that are needed later, and so made anew, of what is then `needed`.

        Raises Partial for a view of earlier memory that a step gives beside what it computes.
        """
        again: list[Any] = []
        for step in reversed(run):
            wanted = needed.intersection(step.gives)
            apart = all(self.storage(s).slot == s for s in wanted)  # it makes memory, and no views
            if not self.loops[step].places and not apart:
                again.insert(0, step)
                needed |= set(step.reads)
            elif any(self.storage(s).slot not in made for s in wanted):
                raise Partial([step])
        return again

    def native(self, run: list[Any], made: set[int], later: set[int]) -> tuple[list[str], set[int]]:
        """The lines that run steps as one native function, and the slots that these take."""
        recording, takes, needed = self.recording, set[int](), set(later)
        again = self.views_later(run, made, needed)
        calls = [self.loops[step] for step in run if self.loops[step].places]
        anew = {s for step in again for s in step.gives}
        shown: dict[Any, set[int]] = {}  # the slots that must be there afterwards, by storage
        for slot in (made & needed) - anew:
            shown.setdefault(self.storage(slot), set()).add(slot)
        arrays: list[str] = []  # the arguments
        facts: list[Any] = []
        before: list[str] = []
        placed: dict[Any, Any] = {}
        written = {storage for lowered in calls for storage in lowered.written()}
        for storage in dict.fromkeys([s for call in calls for s, _ in call.places.values()]):
            if storage.kind == "constant":
                arrays.append(self.name(storage.whole))
                facts.append((storage.whole, False))
                placed[storage] = (len(arrays), 0)
                continue
            number, mine = storage.slot, shown.get(storage, set())
            if number in made:
                if not mine:
                    placed[storage] = None
                    continue
                number = min(mine)
            array = recording.arrays[number]
            if number in made:
                new = self.empty(array)
                if len(mine) != 1 or not new or array.nbytes != storage.whole.nbytes:
                    raise Partial(self.writers(storage))
                before.append(f"v{number} = {new}")
            else:
                takes.add(number)
            arrays.append(f"v{number}")
            facts.append((array, storage in written))
            placed[storage] = (len(arrays), -self.lowering.outer(number).offset)
        table = Table(calls, placed, self.forms)
        fixed = [self.name(table.calls), str(table.arena), self.name(native.layout(facts))]
        call = f"run_steps({', '.join([*fixed, *arrays])})"
        self.rows[call] = [row for row, _ in table.rows], (table, facts, arrays)
        lines = [*before, call, *[self.step(step) for step in again]]
        for step in again:
            takes |= set(step.reads) - made
        return lines, takes

    def empty(self, array: Any) -> str:
        """The expression for new memory that lies as an array does; "" for one with gaps."""
        dtype, shape, strides = self.name(array.dtype), array.shape, array.strides
        if np.empty(shape, array.dtype).strides == strides:
            return f"empty({shape!r}, {dtype})"
        beside = array.itemsize
        for stride, size in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
            if stride != beside and array.size:
                return ""
            beside *= size
        return f"ndarray({shape!r}, {dtype}, None, 0, {strides!r})"

    def storage(self, slot: int) -> Any:
        """The storage of a slot."""
        return self.lowering.outer(slot).storage

    def constants(self) -> set[int]:
        """The slots of constants."""
        return set(self.recording.constants)

    def hoist(self) -> None:
        """Let branches on values come before what must not be done twice; else raise Unclear.

        What a branch depends on is computed first where that is of arguments alone.
        """
        recording = self.recording
        made, places = self.makers(), {step: n for n, step in enumerate(self.forward)}
        roots = {*recording.root_slots, *recording.constants}
        begin = min(recording.lasting, default=len(self.forward))
        ahead = dict.fromkeys(self.forward[:begin])  # branches keep their order
        for late in filter(is_branch, self.forward[begin:]):
            waiting, first = [late], {late}
            for step in waiting:  # which grows
                values = places_in([*vars(step).values()], Result)
                asked = {recording.steps[value.step] for value in values} - first
                first |= asked
                waiting += asked
                written = [array for n, array in recording.writes if n < places[step]]
                for slot in step.reads:
                    array = recording.arrays[slot]
                    if (
                        any(np.may_share_memory(array, other) for other in written)
                        or (slot in made and places[made[slot]] in recording.lasting)
                        or not (slot in made or slot in roots)
                    ):
                        raise Unclear("a branch on a value follows what cannot be undone")
                    if slot in made and made[slot] not in first:
                        first.add(made[slot])
                        waiting.append(made[slot])
            ahead |= dict.fromkeys([s for s in self.forward if s in first])
        self.order = [*ahead, *[s for s in self.forward if s not in ahead]]

    def parts(self) -> list[list[Any]]:
        """The steps in runs of arithmetic, and effects one by one.

        Writes are counted before the run that they are in, once something was done that must not be
        done twice: memory that parts hand on is given back late.
        """
        first = min(self.recording.lasting, default=None)
        parts: list[list[Any]] = []
        began = early = False
        for step in self.order:
            arithmetic = bool(parts) and not isinstance(parts[-1][0], Effect)
            if early and arithmetic and getattr(step, "function", None) is count_write:
                parts.insert(-1, [step])
                continue
            if not arithmetic or isinstance(step, Effect):
                parts.append([])
                early = began
            parts[-1].append(step)
            began = began or (first is not None and step is self.recording.steps[first])
        return parts

    # -- the backward pass of results --------------------------------------------------------------

    def makers(self) -> dict[int, Any]:
        """The steps of the forward pass, by the slots that they make."""
        return {s: step for step in self.forward for s in step.gives}

    def backward(self, number: int) -> tuple[list[str], list[str], set[int]]:
        """Of a stretch: its backward function, the lines that make its node, the slots for both."""
        recording, past, kind = self.recording, self.pasts[number], self.kinds[number]
        steps = past.steps
        if not all(isinstance(step, Call) for step in steps):
            raise Unclear("the backward pass of what is returned depends on a value")
        again = self.made_anew(steps, past)
        body, took = self.body([*again, *steps], set(past.gradients))
        took |= set(past.gradients) - {s for step in [*again, *steps] for s in step.gives}
        took -= {*past.cotangents, *self.constants()}
        if took & recording.overwritten:
            raise Unclear("what is written is read by the backward pass of a result")
        if took.intersection([s for p in self.pasts for step in p.steps for s in step.gives]):
            raise Unclear("the backward passes of results share values")
        roots = [number for number, s in enumerate(recording.root_slots) if s in took]
        arrays = sorted(took - set(recording.root_slots))
        slots = [*[recording.root_slots[r] for r in roots], *arrays, *past.cotangents]
        takes = "".join([f"v{s}, " for s in slots])
        gives = "".join([f"{self.value(Slot(s))}, " for s in past.gradients])
        alone = ["None"] * (past.frees and not roots and not arrays)  # what is freed is a number
        functions = [
            f"def back{number}({takes}):", *[f"    {line}" for line in body], f"    return {gives}",
            f"def backward{number}({'_, ' * len(alone)}{takes}):",
            f"    return calm().run(back{number}, {takes})",
        ]  # fmt: skip
        places = list(enumerate(arrays, len(roots)))
        kind.cells = dict.fromkeys([place for place, _ in places])
        results = [recording.by_id[id(t._array)].slot for t in past.results]
        known = [
            recording.by_id[id(t._array)].slot for p in self.pasts[: number + 1] for t in p.results
        ]
        owned = [
            (place, o) for place, s in places for o in known
            if np.may_share_memory(recording.arrays[s], recording.arrays[o])
        ]  # fmt: skip
        kind.owned = [place for place, _ in owned]
        edges = [f"r{e}" if isinstance(e, int) else f"o{e[0]}[{e[1]}]" for e in past.ends]
        saved = [*[f"r{r}" for r in roots], *[f"v{s}" for s in arrays]] or alone
        read = [f"r{r}" for r in range(len(recording.roots))]
        tensors, owners = [f"t_{s}" for s in results], [f"t_{o}" for _, o in owned]
        shown = ", ".join(
            [f"({''.join([f'{n}, ' for n in names])})" for names in (tensors, edges, saved, owners)]
        )
        # written before another one saves it
        lines = [f"t_{s} = {new(s, t)}" for s, t in zip(results, past.results, strict=True)]
        lines.append(
            f"o{number} = {self.name(kind)}.give({shown}, (args, kwargs), ({', '.join(read)},))"
        )
        return functions, lines, {*arrays, *results}

    def made_anew(self, steps: Any, past: Past) -> list[Any]:
        """The views of roots that a backward pass reads: it makes them of the roots itself.

        So these are saved, and their versions checked.
        """
        recording, makers = self.recording, self.makers()
        before = {s for step in steps for s in step.gives}
        before |= {*past.cotangents, *self.constants(), *recording.root_slots}
        waiting = {s for step in steps for s in step.reads}.union(past.gradients) - before
        held = [recording.arrays[s] for s in recording.root_slots]
        again: list[Any] = []
        while waiting:
            slot = waiting.pop()
            before.add(slot)
            array = recording.arrays[slot]
            if any(np.may_share_memory(array, root) for root in held):
                if not self.is_view(makers[slot]):
                    raise Unclear("a backward pass reads memory of a tensor from outside")
                again.append(makers[slot])
                waiting |= set(makers[slot].reads) - before
        return [step for step in self.forward if step in again]

    def is_view(self, step: Any) -> bool:
        """Whether a step gives a view of what it is given, and does nothing else."""
        function = step.function
        known = isinstance(function, operator.attrgetter) or function is operator.getitem
        lowered = self.loops.get(step)
        nothing = lowered is not None and not lowered.places
        return known or step in self.recording.views or nothing

    # -- what runs -------------------------------------------------------------------------------

    def line(self, step: Any) -> str:
        """The line for a step of arithmetic, which `explain` is to show."""
        text = self.step(step)
        if not (isinstance(step, Call) and self.is_view(step)):
            self.rows[text] = [of_step(step, self.recording.arrays)], step
        return text

    def listing(self, text: str, timed: bool) -> Listing:
        """What was recorded, and what the text runs for it; how long each takes, if `timed`."""
        times: Any = Clock(self).times if timed else lambda source: repeat(0)
        before: list[Any] = []
        after: list[Any] = []
        rows: dict[int, Any] = {}  # of bodies
        for step in self.recording.steps:
            if isinstance(step, Call) and not self.is_view(step):
                lowered = self.loops.get(step)
                kind = id(step if lowered is None else lowered.body)
                if kind not in rows:
                    rows[kind] = of_step(step, self.recording.arrays), next(iter(times(step)))
                before.append(rows[kind])
        for line in text.splitlines():
            found, source = self.rows.get(line.strip(), ((), None))
            after += zip(found, times(source), strict=False)
        ways = tuple([s.value if isinstance(s, Truth) else s.args[-1] for s in self.branches])
        return Listing(Rows(before), Rows(after), text, ways)

    # -- steps -----------------------------------------------------------------------------------

    def value(self, value: Any) -> str:
        """The expression for an argument."""
        kind = type(value)
        if kind is Slot:
            if value in self.recording.constants:
                return self.name(self.recording.constants[value])
            return f"v{value}"
        if kind is Root:
            return f"r{value.number}"
        if kind is Result:
            return f"t{value.step}{''.join([f'[{i}]' for i in value.place])}"
        fresh = holds(value, (*PLACES, list, dict))  # what may be kept is another one each time
        if kind in (list, tuple) and fresh:
            inside = "".join([self.value(v) + ", " for v in value])
            return f"[{inside}]" if kind is list else f"({inside})"
        if kind is dict and fresh:
            return (
                "{"
                + ", ".join([f"{self.name(k)}: {self.value(v)}" for k, v in value.items()])
                + "}"
            )
        return self.name(value)

    def called(self, step: Any, method: str = "", stepping: bool = False) -> str:
        """The expression for a call, of formulas by a method of theirs; of a step `natively`."""
        args = [self.value(v) for v in step.args]
        args += [f"{key}={self.value(v)}" for key, v in step.options.items()]
        name = self.name(step.function)
        if method and isinstance(step.function, Formulas):
            name = f"{name}.{method}"
        if stepping:
            name, args = "natively", [name, *args]
        return f"{name}({', '.join(args)})"

    def step(self, step: Any) -> str:
        """The line for a step of arithmetic."""
        if isinstance(step, Truth):
            return f"turn(v{step.slot}, {step.value}, {self.branches.index(step)})"
        target = self.target(step.made)
        scalars = self.recording.scalars.intersection(step.gives)
        after = "".join([f"; v{s} = asarray(v{s})" for s in sorted(scalars)])
        made = step.gives
        if made and not self.is_static(step):
            number = self.recording.steps.index(step)
            if any(lasting <= number for lasting in self.recording.lasting):
                raise Unclear("a shape that may depend on values follows what cannot be undone")
            shapes = [f"v{s}.shape == {self.recording.arrays[s].shape!r}" for s in made]
            after += f"; check({' and '.join(shapes)})"
        return (self.called(step) if target == "_" else f"{target} = {self.called(step)}") + after

    def is_static(self, step: Call) -> bool:
        """Whether the shapes of what a call gives are known not to depend on values."""
        arrays = self.recording.arrays

        def unknown(value: Any) -> Any:
            if isinstance(value, Slot):
                return meta.like(arrays[value])
            if type(value) in (list, tuple):
                return type(value)([unknown(v) for v in value])
            if type(value) is dict:
                return {key: unknown(v) for key, v in value.items()}
            return value

        if not step.reads:
            return True
        if isinstance(getattr(step.function, "loops", step.function), np.ufunc):
            return True
        if step.function is operator.getitem and any(
            arrays[s].dtype == np.bool_ for s in places_in(step.args[1])
        ):
            return False
        args, options = unknown(step.args), unknown(step.options)
        try:
            with Undrawn():
                if getattr(step.function, "__objclass__", None) is np.ndarray:
                    found = getattr(args[0], step.function.__name__)(*args[1:], **options)
                else:
                    found = step.function(*args, **options)
        except Exception:  # it asks for values, or draws
            return False
        pairs = zip(leaves(found), leaves(step.made), strict=False)
        return all(m is None or getattr(f, "shape", None) == arrays[m].shape for f, m in pairs)

    def target(self, made: Any) -> str:
        """The target of an assignment."""
        if isinstance(made, tuple):
            return "".join([self.target(m) + ", " for m in made]) or "_"
        return "_" if made is None else f"v{made}"

    def effect(self, step: Effect, later: set[int]) -> list[str]:
        """The lines for an effect."""
        number = self.recording.steps.index(step)
        if step.function is add_gradient:
            root, slot = step.args
            borrowed = not self.may_give(slot, later)
            lines = [f"add(r{root.number}._node, {self.value(slot)}, {borrowed})"]
            if step.made[0] in later:
                lines.append(f"v{step.made[0]} = r{root.number}._gradient._array")
            return lines
        recording = self.recording
        places = [p for k, p, _ in recording.objects.values() if k == number]
        stepping = self.compiled and getattr(step.function, "__name__", "") == "step"
        lines = [f"t{number} = {self.called(step, stepping=stepping)}"]
        if step.function is turn:
            lines = [f"{self.called(step)[:-1]}, {self.branches.index(step)})"]
        self.rows[lines[0]] = [of_step(step, recording.arrays, "effect")], step
        if not places:
            return lines
        several = isinstance(recording.results[number], (tuple, list))
        for place, slot in zip(sorted(places), step.made, strict=True):
            lines.append(f"t{number}_{place} = t{number}{f'[{place}]' if several else ''}")
            lines.append(f"v{slot} = t{number}_{place}._array")
        return lines

    def may_give(self, slot: int, later: set[int]) -> bool:
        """Whether a gradient may be handed over, for nothing else holds its memory."""
        recording = self.recording
        array = recording.arrays[slot]
        if slot in later or slot in recording.constants or array.base is not None:
            return False
        if slot in recording.root_slots or sum(1 for a in recording.arrays if a is array) != 1:
            return False
        return not any(a.base is array for a in recording.arrays)

    # -- what is returned ------------------------------------------------------------------------

    def output(self, value: Any) -> str:
        """The expression for something that is returned."""
        kind = type(value)
        if isinstance(value, Tensor):
            return self.tensor(value)
        if kind in (list, tuple):
            inside = "".join([self.output(v) + ", " for v in value])
            return f"[{inside}]" if kind is list else f"({inside})"
        if kind is dict:
            pairs = [f"{self.name(k)}: {self.output(v)}" for k, v in value.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return f"{self.name(kind)}({''.join([self.output(v) + ', ' for v in value])})"
        if isinstance(value, Asked):
            return self.value(Result(value.step, value.place))
        if value is None or kind in (bool, int, float, str, complex):
            return self.name(value)
        raise Unclear(f"a {kind.__name__} is returned")

    def tensor(self, value: Tensor) -> str:
        """The expression for a tensor that is returned."""
        recording = self.recording
        if id(value) in recording.numbers:
            return f"r{recording.numbers[id(value)]}"
        if id(value) in recording.objects and value._node is None:
            step, place, made = recording.objects[id(value)]
            if value._array is recording.arrays[made]:  # `t_` and the like give it another one
                if not any(value is result for result in self.given):
                    self.check_apart(made, self.returned)
                    self.given.append(value)
                return f"versioned(t{step}_{place}, {value._version})"
        if any(value is gradient for gradient in recording.gradients.values()):
            raise Unclear("a gradient is returned")
        if not self.is_there(value) and is_shown_by(value, self.is_there):
            view: Any = value._view_of
            for number, each in enumerate(self.views):
                if each is value:
                    return f"w{number}"
            self.views.append(value)
            walked = f"walk({self.tensor(view.base)}, {self.name(view.path)})"
            return f"(w{len(self.views) - 1} := {walked})"
        known = recording.by_id.get(id(value._array))
        if known is None:
            raise Unclear("a tensor of unknown origin is returned")
        slot, array = known.slot, value._array
        if slot in recording.constants:
            raise Unclear("a constant is returned")
        if any(value is result for result in self.given):
            return f"t_{slot}"
        self.check_apart(slot, {*recording.root_slots, *self.returned})
        if any(np.may_share_memory(array, g._array) for g in recording.gradients.values()):
            raise Unclear(SHARED)
        self.check_view(value)
        version = value._version
        if self.is_there(value):
            self.given.append(value)
            return f"t_{slot}"
        if value._node is None:
            return new(slot, value)
        if value._node.op is LEAF:
            raise Unclear("a leaf that the step has made is returned")
        self.check_freed(value._node)
        facts = dict(value._node.__dict__)
        return f"with_history(v{slot}, {self.name(value._node)}, {self.name(facts)}, {version})"

    def check_apart(self, slot: int, others: set[int]) -> None:
        """Raise Unclear where a result shares memory with others: a write counts for both."""
        array = self.recording.arrays[slot]
        if any(np.may_share_memory(array, self.recording.arrays[other]) for other in others):
            raise Unclear(SHARED)
        self.returned.add(slot)

    def is_there(self, value: Tensor) -> bool:
        """Whether a replay has a tensor before it makes results: as a root, or with a node."""
        known = id(value) in self.recording.numbers
        return known or any(value is result for past in self.pasts for result in past.results)

    def check_view(self, value: Tensor) -> None:
        """Raise Unclear where a write to a result would count as one to another, or be refused."""
        view = value._view_of
        if view is None:
            return
        if view.origin == "multi" or any(view.base is base for base in self.bases):
            raise Unclear("views of one tensor are returned")
        self.bases.append(view.base)

    def check_freed(self, node: Any) -> None:
        """Raise Unclear unless the graph of a result is the same for all calls: without values."""
        recording = self.recording
        arguments = {
            id(root._node)
            for root, (kind, _) in zip(recording.roots, recording.origins, strict=True)
            if kind == "argument"
        }
        if node.hooks is not None:
            raise Unclear("a result has hooks")
        waiting, seen = [node], {node}
        while waiting:
            node = waiting.pop()
            if node.op is LEAF and id(node) in arguments:
                raise Unclear("a result has a history that leads to an argument")
            if node.op is not LEAF and not (node.saved is FREED or node.saved == ()):
                raise Unclear("a result has a history that is not used up")
            for edge in node.edges:
                if edge is not None and edge not in seen:
                    seen.add(edge)
                    waiting.append(edge)

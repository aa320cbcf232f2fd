"""Op records: one declaration gives an operation its forward, derivatives, callers and tests.

    exp = declare("exp(input)", np.exp, derivative=lambda xp, out: out, ...)

`registry.declare` makes a record and enters it. Here is what one is: data, and what follows.

NOTE [The record]
1. The signature names the inputs (tensors), after `*` the parameters, after `->` the outputs (one,
   called `out`, where nothing is said). `*tensors` is a sequence of inputs, `-> *parts` a sequence
   of outputs, as many as the call gives (`outputs` is then MANY).
2. `forward` is a function of arrays, in the signature's order; if its first parameter is `xp`, the
   array namespace is bound to it.
3. Each differentiable input has a formula, named like it: `formula(xp, g, ...)` gives its share of
   the cotangent `g`. Edges are in the order of the formulas. The further argument names of a
   formula say what it needs: inputs, outputs, parameters, `<input>_shape`. Names used = values
   saved, and only if that input needs a gradient. Those `of_complex` a real result does without:
   the formula is given None for them. The formula of a `*tensors` input returns a sequence. For an
   op with several differentiable outputs, `g` is a tuple with zeros where nothing arrived.
4. `derivative` (elementwise, one input, holomorphic or real) gives the formula
   `g * conj(derivative)`.
5. `linear` says which inputs the op is linear in: "input, values" jointly, "input | other" each
   with the rest held fixed. In its place, `keeps` says so of an op that leaves elements where they
   are, `moves` of one that puts them elsewhere, maybe among zeros, `adds` of one that adds them up.
   `tangent` is an explicit forward-mode formula where speed asks for one.
6. What no formula may mention: broadcasting and real-versus-complex.
   `fitting.fit` undoes both. `exact` says that formulas give their inputs' shapes as they are:
   with equal dtypes, nothing is left to fit (an elementwise op with one input is always exact).
7. `piecewise` says that the formulas do not depend on the inputs, but for what piece of the domain
   these lie in. The second derivative is then zeros, and not missing: `record.tied`.
8. Where `rows` of several formulas meet in one backward pass, they run as one: `joint_formula`.
   So do those of an elementwise op where an operand leads: NOTE [Leaders] in `kernels.layout`.
   `together`, in place of formulas, is one for all inputs, whose shares cost least at once.
9. `batch` says how the op runs on many examples at once: NOTE [Rules] in `transforms.rules`.
   Elementwise ops and those whose parameters name dimensions need not say it.
10. `saved` has PyTorch's names for what nodes save, `grad_fn._saved_<name>`, where they do not
   follow from the record (`self` is the first input, `result` an output, `self_sym_sizes` a shape):
   the name in the record; a function of such values, or of attributes of the node, which its
   arguments name; two functions of the node, for value and handle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import dtypes, modes
from ..compiler.door import opened
from ..kernels.allocation import zeros
from ..kernels.layout import in_row_major, is_array, is_permuted, kept_shape, laid_out, led_by
from ..locks import load
from .graph import JOINED, MANY, PLAIN, VARIADIC, Kind, Node, output_node
from .namespaces import arrays, recorded
from .table import COTANGENT, DTYPES, FIRST, NEVER, NOBODY, SHAPES, Table
from .tensor import Tensor, new_tensor
from .transforms.interpreted import home_of

INFERENCE_SAVED = (
    "Inference tensors cannot be saved for backward. To work around you can make a clone to get a "
    "normal tensor and use it in autograd: x = x.clone()"
)

NodeName = str | Callable[[Node], str] | None
Shows = Callable[[Node], Sequence[int]] | None

# Parameters that count dimensions, and those that speak of shapes in a way of their own.
DIMENSIONS = {"dim", "dims", "dim0", "dim1", "dim2"}
UNSHIFTED = {"index", "path", "kernel", "sizes_of"}


class Example:
    """Inputs on which the law suites try an op: a spec per input, and parameters.

    A spec is sizes joined by "x" ("" for 0-d), with an optional kind: "3x2" floating (complex too
    where the op allows), "4:int<5" integers from 0 to 4, "4:int1<5" from 1 to 4, "3:bool",
    "3:real" never complex, "3:complex" always, "none".
    """

    def __init__(self, specs: str, params: Mapping[str, Any]) -> None:
        self.specs = [spec.strip() for spec in specs.split(",")]
        self.params = dict(params)

    def __repr__(self) -> str:
        params = "".join(f", {name}={value!r}" for name, value in self.params.items())
        return f"({', '.join(self.specs)}{params})"


def example(specs: str, **params: Any) -> Example:
    """An `Example`; the parameters are those of the op's record."""
    return Example(specs, params)


def held(values: Iterable[Any]) -> list[Any]:
    """The values of a formula, with arrays in place of tensors."""
    return [x._array if isinstance(x, Tensor) else x for x in values]


def relaid(tensor: Tensor, array: Any, shared: bool) -> Tensor:
    """A tensor that a formula gave, with its array or a copy of it that lies otherwise in memory.

    It is another tensor then, if it is `shared`, because it is a view, say, or may be the user's.
    """
    if array is not tensor._array:
        tensor = recorded.clone(tensor) if shared else tensor
        tensor._array = array
    return tensor


def refuse_inference(value: Any) -> None:
    """Raise if an inference tensor is about to be saved for the backward pass."""
    if isinstance(value, Tensor) and value._inference:
        raise RuntimeError(INFERENCE_SAVED)


def uncounted(*values: Any, **params: Any) -> int:
    """No floating-point operations: only products are counted."""
    return 0


class Op(Kind):
    """One operation: see NOTE [The record].

    `methods` are the names under which tensors get it. `examples` are what the law suites run (a
    text is one without parameters), with real inputs drawn from `domain` and, unless `complex` is
    False, complex ones too. `nondiff` names the outputs without derivative, which come last.
    `inplace` says whether a `name_` form exists (by default for elementwise ops). `view` is True
    when the output shares the input's memory, "maybe" when it may. `node_name` replaces the name of
    the node type: a name, or a function of the node; it is asked for when a user first sees the
    node. `shows` gives, of a node, the edges that users see, and their order, where these are not
    all edges as they are.
    `on_reals` is a simpler forward that formulas may use where all values are real; it may return
    its input.
    `promote` casts the two arrays of a binary op, where their dtypes differ, to one.
    `batch` is the op's rule for many examples at once, None for one at a time. `number_first` says
    that the first of two inputs may be a number, too. `rows` says that large arrays get a kernel,
    though the op is not elementwise: it takes sums or maxima along dimensions. `leads` names the
    value that the formulas' results lie as; without, that is the cotangent. `contiguous` names
    inputs whose gradients are in row-major order, whatever leads. A formula that calls `laid_out`
    decides by itself. `flops` counts the floating-point operations of a product, of results, inputs
    and parameters, an addition as one.
    """

    members: Callable[[Op], dict[str, Any]]  # of the class of its nodes
    call: Any  # what users call; as `members`, set when the op is entered
    home: str  # the module that declares it

    def __init__(
        self,
        signature: str,
        forward: Callable[..., Any],
        *,
        methods: Sequence[str] = (),
        derivative: Callable[..., Any] | None = None,
        together: Callable[..., Any] | None = None,
        linear: str = "",
        keeps: str = "",
        moves: str = "",
        adds: str = "",
        tangent: Callable[..., Any] | None = None,
        elementwise: bool = False,
        rows: bool = False,
        exact: bool = False,
        piecewise: bool = False,
        view: bool | str = False,
        nondiff: Sequence[str] = (),
        examples: Sequence[Example | str] = (),
        domain: tuple[float, float] = (-2.0, 2.0),
        complex: bool = True,
        inplace: bool | None = None,
        of_complex: Sequence[str] = (),
        leads: str = "",
        contiguous: str = "",
        node_name: NodeName = None,
        shows: Shows = None,
        on_reals: Callable[..., Any] | None = None,
        promote: Callable[..., Any] = dtypes.promote,
        batch: Any = "auto",
        number_first: bool = False,
        saved: Mapping[str, Any] | None = None,
        flops: Callable[..., int] = uncounted,
        doc: str = "",
        **formulas: Callable[..., Any],
    ) -> None:
        self.name, names, self.params, self.output_names = parse_signature(signature)
        self.variadic = bool(names) and names[0].startswith("*")
        self.inputs = tuple(name.lstrip("*") for name in names)
        many = self.output_names[0].startswith("*")
        self.outputs = MANY if many else len(self.output_names)
        self.nondiff = tuple(nondiff)
        self.forward = bind(forward)
        if elementwise or rows:
            self.forward = opened(self.forward, self.name, rows)
        self.derivative, self.tangent = derivative, tangent
        self.keeps, self.moves, self.adds = keeps, moves, adds
        self.linear = linear or keeps or moves or adds
        self._prepare_tangents()
        self.elementwise, self.rows = elementwise, rows
        self.view, self.piecewise = view, piecewise
        self.exact = exact or elementwise
        self.promote = promote
        self.batch = self._batch_rule() if batch == "auto" else batch
        self.examples = tuple([example(e) if isinstance(e, str) else e for e in examples])
        self.domain, self.complex = domain, complex
        self.inplace = elementwise if inplace is None else inplace
        self.number_first, self.saved, self.flops = number_first, saved or {}, flops
        self.doc, self.methods, self.on_reals = doc, methods, on_reals or self.forward
        if derivative is not None:
            formulas = {self.inputs[0]: derivative_formula(derivative)}
        if together is not None:
            formulas = {name: share_of(together, i) for i, name in enumerate(self.inputs)}
        unknown = set(formulas) - set(self.inputs)
        if unknown:
            raise TypeError(f"{self.name}: formulas for unknown inputs {sorted(unknown)}")
        self.vjps = dict(formulas)
        self.together = together
        known = ["self" if name == self.inputs[0] else name for name in self.vjps]
        self.order = sorted(range(len(known)), key=known.__getitem__)  # PyTorch's, of formulas
        self.needs = {name: parameters_of(f)[2:] for name, f in self.vjps.items()}
        self.is_binary = (
            elementwise and not self.params and len(self.inputs) == 2 and len(self.vjps) != 1
        )
        self.named(node_name, shows)
        super().__init__(self.name, None, self.outputs - len(self.nondiff))
        if self.vjps:
            single = self.grad_outputs == 1
            self.ordinary = VARIADIC if self.variadic else PLAIN if single else JOINED
        self.settled = {n for n, f in self.vjps.items() if "laid_out" in f.__code__.co_names}
        self.flat = tuple(contiguous.replace(" ", "").split(",")) if contiguous else ()
        flat = [name in self.flat for name in self.vjps]
        plain = [
            in_row_major(f) if own else f for f, own in zip(self.vjps.values(), flat, strict=True)
        ]
        self.formulas = tuple(
            [opened(f, f"{self.name}, {n}", rows) for f, n in zip(plain, self.vjps, strict=True)]
            if elementwise or rows
            else plain
        )
        self._lay_out(of_complex, leads)
        self._join(rows, flat)

    def _prepare_tangents(self) -> None:
        """Say in which groups of inputs the op is linear, and what names its tangent needs."""
        groups = self.linear.replace(" ", "").split("|") if self.linear else []
        self.groups = [[*map(self.inputs.index, group.split(","))] for group in groups]
        rule = self.tangent or self.derivative
        self.asks = [] if rule is None else parameters_of(rule)[2 if rule is self.tangent else 1 :]

    def named(self, node_name: NodeName, shows: Shows = None) -> None:
        """Say what this op's nodes are called, and which of their edges users see."""
        self.node_name = node_name or camel_case(self.name) + "Backward0"
        self.shows = shows
        self.node_types: dict[str, type[Node]] = {}

    def type_of(self, node: Node) -> type[Node]:
        """The class of a node, made when the first is shown: imports stay quick."""
        full = self.node_name if isinstance(self.node_name, str) else self.node_name(node)
        found = self.node_types.get(full)
        if found is None:
            name = full.rpartition("::")[2]
            members = {"__slots__": (), "__module__": "builtins", **self.members(self)}
            members["__doc__"] = Described(self, [n for n in members if n.startswith("_saved_")])
            if name != full:
                members["full_name"] = full
            made = type(name, (Node,), members)
            found = self.node_types.setdefault(full, made)  # one class in all threads
        return found

    def _batch_rule(self) -> str | None:
        if self.elementwise:
            return "elementwise"
        names_dims = not DIMENSIONS.isdisjoint(self.params)
        return "dims" if names_dims and UNSHIFTED.isdisjoint(self.params) else None

    def _lay_out(self, of_complex: Sequence[str], leads: str) -> None:
        """Decide what nodes save and in which places: the names `saves` and `facts`, `table`."""
        used = {name for needs in self.needs.values() for name in needs}
        saved = [name for name in (*self.inputs, *self.output_names) if name in used]
        if self.is_binary and saved:
            saved = [*self.inputs, *(["out"] if "out" in used else [])]  # the binary caller's
        shapes = {f"{name}_shape": -1 if self.variadic else i for i, name in enumerate(self.inputs)}
        facts = [name for name in (*self.params, *shapes) if name in used]
        values = [*saved, *facts]
        wrong = used - {*(facts if self.variadic else values)}
        if wrong:
            raise TypeError(f"{self.name}: formulas may not name {sorted(wrong)}")
        plain = self.outputs == 1 and self.exact and not (self.view or self.variadic)
        self.saves, self.facts = tuple(saved), tuple(facts)
        known = ["self" if name == self.inputs[0] else name for name in saved]
        self.read = sorted(
            range(len(saved)), key=lambda place: (saved[place] not in self.inputs, known[place])
        )
        self.table = Table(
            edges=[self.inputs.index(name) for name in self.vjps],
            reads=[[values.index(name) for name in needs] for needs in self.needs.values()],
            saved=[
                self.inputs.index(n) if n in self.inputs else ~self.output_names.index(n)
                for n in saved
            ],
            facts=[shapes.get(name, name) for name in facts],
            fits=NEVER if not plain else SHAPES if self.elementwise else DTYPES,
            for_complex=sum(1 << k for k, name in enumerate(saved) if name in of_complex),
            leads=self._leader(values, leads) if self.elementwise and saved else NOBODY,
        )

    def _join(self, rows: bool, flat: Sequence[bool]) -> None:
        """Decide how several formulas run as one: `joint`."""
        if self.together is not None:
            self.joint = wanted_of(self.together, self.table.reads[0])
        elif rows and len(self.formulas) > 1:
            joint = joint_formula(self.formulas, self.table.reads)
            self.joint = opened(joint, f"{self.name}, together", rows)
        elif self.table.leads != NOBODY:
            joint = joint_formula(self.formulas, self.table.reads)
            self.joint = led_by(joint, self.table.leads - COTANGENT, flat)

    @staticmethod
    def _leader(values: Sequence[str], leads: str) -> int:
        return FIRST + values.index(leads) if leads else COTANGENT

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def differentiable(self, inputs: tuple[Any, ...]) -> Sequence[Any]:
        """Those of a call's inputs that have a formula, in order; edges follow this order."""
        return inputs if self.variadic else [inputs[i] for i in self.table.edges]

    def takes(self, params: Iterable[str]) -> bool:
        """Whether all of these are names of its parameters."""
        return all(name in self.params for name in params)

    def keep(
        self, edges: Iterable[Node | None], inputs: tuple[Any, ...], results: Sequence[Any]
    ) -> tuple[Any, ...]:
        """What a node with these edges saves: input tensors themselves, outputs as arrays."""
        needed = 0
        for edge, bits in zip(edges, self.table.needs, strict=True):
            if edge is not None:
                needed |= bits
        if self.table.for_complex and results[0].dtype.kind != "c":
            needed &= ~self.table.for_complex
        saved = tuple(
            [
                None if not needed >> k & 1 else inputs[i] if i >= 0 else results[~i]
                for k, i in enumerate(self.table.saved)
            ]
        )
        if modes.inference_seen:
            for value in saved:
                refuse_inference(value)
        return saved

    def collect(self, inputs: tuple[Any, ...], params: Mapping[str, Any]) -> tuple[Any, ...]:
        """The facts of one call, in the order of `facts`."""
        return tuple(
            [
                params[key] if key.__class__ is str else shape_at(inputs, key)
                for key in self.table.facts
            ]
        )

    def materialize(self, node: Node, g: Any, create_graph: bool) -> Any:
        """The cotangents of all outputs, zeros where none arrived."""
        like = next(part for part in g if part is not None)
        like = home_of(like._array if create_graph else like)

        def nothing(shape: tuple[int, ...], dtype: Any) -> Any:
            made = zeros(like, shape, dtype)
            return new_tensor(made) if create_graph else made

        return tuple(
            [
                nothing(*layout) if part is None else part
                for part, layout in zip(g, node.layout, strict=True)
            ]
        )

    def derive(self, xp: Any, g: Any, values: Any, live: Sequence[bool]) -> Any:
        """What the formulas give for the values of a node; None for an edge that is not `live`."""
        reads = self.table.reads
        if self.variadic:
            return self.formulas[0](xp, g, *map(values.__getitem__, reads[0]))
        if self.together is not None:
            found = self.together(xp, g, *map(values.__getitem__, reads[0]))
            return [c if lives else None for c, lives in zip(found, live, strict=True)]
        if self.joint is not None and xp is not recorded and self.is_joint(g, values):
            wanted = sum(1 << i for i, lives in enumerate(live) if lives)
            made = iter(self.joint(xp, wanted, g, *values))
            return [next(made) if lives else None for lives in live]
        found = [None] * len(live)
        for i in self.order:
            if live[i]:
                found[i] = self.formulas[i](xp, g, *map(values.__getitem__, reads[i]))
        return self.arranged(found, g, values) if xp is recorded else found

    def arranged(self, found: list[Any], g: Any, values: Any) -> list[Any]:
        """Tensors that formulas gave, in the order of arrays: NOTE [Leaders] in `layout`."""
        leads = self.table.leads
        leader = values[leads - FIRST] if leads >= FIRST else g
        for i, (name, reads) in enumerate(zip(self.vjps, self.table.reads, strict=True)):
            c, rows = found[i], name in self.flat
            led = leads and name not in self.settled
            if c is None or not (led or rows) or not is_array(c._array):
                continue
            if rows or any(leader._array.strides):
                given = [leader, *map(values.__getitem__, reads), g]
                shared = c._view_of is not None or any(c is x for x in given)
                found[i] = relaid(c, laid_out(*held([c] if rows else [c, *given])), shared)
        return found

    def is_joint(self, g: Any, values: Any) -> bool:
        """Whether the formulas run as one: NOTE [Leaders] in `kernels.layout`."""
        leads = self.table.leads
        return leads == NOBODY or is_permuted(g if leads == COTANGENT else values[leads - FIRST])

    def read_order(self, held: Sequence[Any]) -> Sequence[int]:
        """Inputs by PyTorch's names, as far as they are known, then results."""
        return self.read

    def history(self, node: Any, place: int) -> Node | None:
        """The node that a saved value had when it was saved."""
        source, edges = self.table.saved[place], self.table.edges
        if source >= 0:
            return node.edges[edges.index(source)] if source in edges else None
        if ~source >= self.grad_outputs:
            return None
        if self.grad_outputs == 1:
            return node  # type: ignore[no-any-return]
        return output_node(node, ~source, *node.layout[~source])


def parse_signature(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Name, inputs, parameters and outputs of "name(a, b, *, p) -> out"."""
    name, opened, rest = text.partition("(")
    inside, closed, after = rest.rpartition(")")
    outputs = after.replace(" ", "").removeprefix("->")
    if not (opened and closed and name.isidentifier()) or (after and not outputs):
        raise TypeError(f"not an op signature: {text!r}")
    parts = [part for part in inside.replace(" ", "").split(",") if part]
    cut = parts.index("*") if "*" in parts else len(parts)
    return (
        name, tuple(parts[:cut]), tuple(parts[cut + 1 :]), tuple((outputs or "out").split(","))
    )  # fmt: skip


def shape_at(inputs: tuple[Any, ...], place: int) -> Any:
    """The shape of one input, None if it is absent; of all of them where `place` is negative."""
    if place < 0:
        return tuple([kept_shape(t._array) for t in inputs])
    return None if inputs[place] is None else kept_shape(inputs[place]._array)


class Described:
    """The docstring of the class of an op's nodes, made when it is asked for."""

    def __init__(self, op: Op, saved: list[str]) -> None:
        self.op, self.saved = op, saved

    def __get__(self, node: Node | None, kind: type[Node]) -> str:
        formulas = load(f"{__package__}.backward.formulas")
        return formulas.described(self.op, self.saved)  # type: ignore[no-any-return]


def camel_case(name: str) -> str:
    """A name in camel case: `log_softmax` as `LogSoftmax`."""
    return "".join(word[:1].upper() + word[1:] for word in name.strip("_").split("_"))


def bind(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward` as a function of arrays alone: a leading `xp` is bound to the array namespace."""
    if isinstance(forward, np.ufunc):
        return forward
    if not hasattr(forward, "__code__") or parameters_of(forward)[:1] != ["xp"]:
        return forward

    def on_arrays(*inputs: Any, **params: Any) -> Any:
        return forward(arrays, *inputs, **params)

    return on_arrays


def parameters_of(function: Any) -> list[str]:
    """The names of a function's parameters; thirty times as fast as `inspect.signature`."""
    names = getattr(function, "parameters", None)
    if names is None:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return list(names)


def joint_formula(
    formulas: Sequence[Callable[..., Any]], reads: Sequence[Sequence[int]]
) -> Callable[..., Any]:
    """Several formulas as one, of which a kernel is one loop; `Kind` says what it takes."""

    def together(xp: Any, wanted: int, g: Any, *values: Any) -> tuple[Any, ...]:
        return tuple([
            formula(xp, g, *map(values.__getitem__, row))
            for i, (formula, row) in enumerate(zip(formulas, reads, strict=True))
            if wanted >> i & 1
        ])  # fmt: skip

    return together


def share_of(together: Callable[..., Any], place: int) -> Callable[..., Any]:
    """The formula of one input, of the one for all."""

    def formula(xp: Any, g: Any, *values: Any) -> Any:
        return together(xp, g, *values)[place]

    formula.parameters = parameters_of(together)  # type: ignore[attr-defined]
    formula.__wrapped__ = together  # type: ignore[attr-defined]
    return formula


def wanted_of(together: Callable[..., Any], reads: Sequence[int]) -> Callable[..., Any]:
    """The formula for all inputs as `Kind.joint` has it."""

    def joint(xp: Any, wanted: int, g: Any, *values: Any) -> tuple[Any, ...]:
        found = together(xp, g, *map(values.__getitem__, reads))
        return tuple([share for i, share in enumerate(found) if wanted >> i & 1])

    return joint


def derivative_formula(derivative: Callable[..., Any]) -> Callable[..., Any]:
    """The vjp `g * conj(derivative)` of an elementwise op, needing what the derivative needs."""
    names = parameters_of(derivative)[1:]

    def of_one(xp: Any, g: Any, value: Any) -> Any:
        return g * xp.conj(derivative(xp, value))

    def of_several(xp: Any, g: Any, *values: Any) -> Any:
        return g * xp.conj(derivative(xp, *values))

    formula: Callable[..., Any] = of_one if len(names) == 1 else of_several
    formula.parameters = ["xp", "g", *names]  # type: ignore[attr-defined]
    return formula

"""Writes docs/ops.md, the table of all ops, from their records: `python docs/make_ops.py`.

Every cell is read off: signatures and formulas from the source, kinks from docs/kinks.md, the rest
from what the record says. Only the reasons in `REAL_ONLY` and the page's prose are written here.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
from pathlib import Path
from types import FunctionType, ModuleType

import retrograd as rg
from retrograd import Tensor, ops
from retrograd.engine.backward.formulas import definition, formulas_of, helpers_of
from retrograd.engine.namespaces import recorded
from retrograd.engine.op import Op, camel_case
from retrograd.engine.overriding import forms
from retrograd.engine.registry import OPS
from retrograd.torch import lazy_families as later

HERE = Path(__file__).parent
SPACES = {
    "": {name: getattr(rg, name) for name in (*ops.__all__, *later.__all__)},
    "nn.functional.": vars(rg.nn.functional),
    "linalg.": vars(rg.linalg),
    "fft.": vars(rg.fft),
    "special.": vars(rg.special),
    "masked.": vars(rg.masked),
    "signal.windows.": {name: vars(rg.signal.windows)[name] for name in rg.signal.windows.__all__},
}
# Methods of other types, which say nothing about tensors where they are called.
COMMON = {"append", "copy", "count", "format", "get", "index", "item", "items", "join", "keys",
          "pop", "remove", "size", "sort", "split", "tolist", "update", "values",
          "numpy", "dim", "replace", "lower", "type", "bool", "int", "float", "round", "all",
          "any", "max", "min", "data_ptr", "stride", "element_size", "is_contiguous"}  # fmt: skip
BEHIND = ("engine.", "ops.core.arguments", "ops.core.dims", "ops.core.return_types", "dtypes",
          "kernels.", "errors", "modes")  # fmt: skip

REAL_ONLY = {
    "complex numbers have no order": (
        "maximum minimum fmax fmin clamp_numbers clamp_tensors max min median nanmedian amax amin "
        "max_dim min_dim median_dim nanmedian_dim mode_dim max_pool adaptive_max_pool cummax "
        "cummin segment_amax segment_amin sort topk kthvalue larger_share "
        "floor_div trunc_div remainder fmod heaviside "
        "copysign nextafter nan_to_num hardtanh leaky_relu prelu elu hardsigmoid hardswish "
        "hardshrink softshrink threshold"
    ),
    "its inputs are the parts of a complex number": "complex polar view_as_complex join_parts",
    "of real numbers by its definition": (
        "hypot deg2rad rad2deg fft_r2c frexp times_power_of_two binary_cross_entropy "
        "binary_cross_entropy_with_logits cross_entropy cross_entropy_derivative"
    ),
    "its kernel is real": (
        "erfinv ndtri igamma igammac beta betaln betainc zeta bessel_ie logaddexp2 pow_or_zero"
    ),
}
# Complex too, but for vectors that are fixed up to a phase only, which the law suites cannot take.
UP_TO_PHASE = {"eigh", "svd", "phase_free"}
# Functions that call records but whose results have no derivative.
STEPS = {
    "allclose", "as_subclass", "as_tensor", "asarray", "bernoulli", "bincount", "empty_permuted",
    "empty_strided", "equal", "from_numpy", "frombuffer", "full", "histc", "histogram",
    "histogramdd", "isclose", "matrix_rank", "new_empty_strided", "new_full", "new_tensor", "numpy",
    "poisson", "result_type",
    "scalar_tensor", "tensor", "tril_indices", "triu_indices", "unique", "unique_consecutive",
}  # fmt: skip
# Functions about tensors that are no ops, and modules of such.
NO_OPS = {"printing", "generator", "register_hook", "register_post_accumulate_grad_hook",
          "retain_grad", "set_default_device", "get_default_device", "data_ptr"}  # fmt: skip
# Ops whose kinks are those of another.
LIKE = {
    **dict.fromkeys(["min_dim", "median_dim", "nanmedian_dim", "mode_dim", "kthvalue", "cummin",
                     "adaptive_max_pool"], "max_dim"),
    **dict.fromkeys(["nanmedian", "segment_amax", "segment_amin"], "amax"),
    **dict.fromkeys(["floor_div", "trunc_div", "round_decimals"], "floor"),
    "norm": "vector_norm",
}  # fmt: skip
NODE = re.compile(r"\b(\w\w+)Backward\d\b")  # the name of a node without what all have
WHY_REAL = {name: why for why, names in REAL_ONLY.items() for name in names.split()}


# -- public names --------------------------------------------------------------------------------


def surface() -> dict[int, tuple[object, list[str]]]:
    """The public functions and their names, by identity."""
    found: dict[int, tuple[object, list[str]]] = {}
    methods = {name: value for name, value in vars(Tensor).items() if callable(value)}
    for prefix, names in (*SPACES.items(), ("Tensor.", methods)):
        for name, shown in names.items():
            value = bare(shown)
            function = isinstance(value, FunctionType) or hasattr(value, "op")
            if name.startswith("_") or not function or name.endswith("_"):
                continue
            known = found.setdefault(id(value), (value, []))[1]
            if prefix != "Tensor." or not known:
                own = name == getattr(value, "__name__", "") and not prefix
                known.insert(0 if own else len(known), prefix + name)
    return found


def bare(value: object) -> object:
    """The function behind the form of it that users see."""
    return BARE.get(id(value), value)


BARE = {id(form): function for function, form in forms.items()}
PUBLIC = surface()
NAME_OF = {key: names[0] for key, (_, names) in PUBLIC.items()}


def in_place_form(names: list[str], function: object) -> str:
    """How an op is done in place, or why it is not."""
    for name in names:
        short = name.split(".")[-1]
        if hasattr(Tensor, short + "_"):
            return f"`{short}_`"
    if isinstance(function, FunctionType) and "inplace" in inspect.signature(function).parameters:
        return "`inplace=True`"
    return "no: PyTorch has none"


# -- what a function is made of ------------------------------------------------------------------


@functools.cache
def parts(function: FunctionType) -> tuple[list[str], frozenset[str]]:
    """The public functions and records that a function calls, and all records behind them."""
    named, behind = within(function, frozenset(), function.__name__)
    own = (NAME_OF.get(id(function)), function.__name__)
    return [name for name in named if name not in own], behind


def within(
    function: FunctionType, seen: frozenset[object], top: str
) -> tuple[list[str], frozenset[str]]:
    """`parts`, when the functions in `seen` are being looked into already, on behalf of `top`."""
    named: dict[str, None] = {}
    seen |= {function}
    behind: set[str] = set()
    for value in called(function, top):
        if isinstance(value, FunctionType) and value in seen:
            continue
        op = getattr(value, "op", None)
        if isinstance(op, Op):
            named[NAME_OF.get(id(value), op.name).removeprefix("Tensor.")] = None
            behind.add(op.name)
        elif isinstance(value, FunctionType) and not is_behind(value):
            inner, records = within(value, seen, top)
            behind |= records
            public = NAME_OF.get(id(value))
            for name in [public] if public and records else inner:
                named[name.removeprefix("Tensor.")] = None
    return list(named), frozenset(behind)


def is_behind(function: FunctionType) -> bool:
    """Whether a function is of the engine or a helper about arguments."""
    module = function.__module__.removeprefix("retrograd.")
    return module == function.__module__ or module.startswith(BEHIND)


def called(function: FunctionType, top: str) -> list[object]:
    """The functions that the source of a function names; of a table, those like `top`."""
    named = named_in(function)
    return [bare(v) for each in named for v in (chosen(each, top) if is_table(each) else [each])]


@functools.cache
def named_in(function: FunctionType) -> list[object]:
    """What the source of a function names."""
    inner = inspect.unwrap(function)
    closed = inspect.getclosurevars(inner).nonlocals
    names = {**inner.__globals__, **dict.fromkeys(inner.__code__.co_varnames), **closed}
    found: list[object] = list(closed.values())
    tree = definition(inner)[1]
    if tree is None:
        return found
    methods = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.append(names.get(node.id))
        elif isinstance(node, ast.Attribute):
            found.append(attribute(node, names, id(node) in methods))
    return found


def is_table(value: object) -> bool:
    """Whether something is a dictionary of callers of records."""
    return isinstance(value, dict) and bool(value) and all(hasattr(v, "op") for v in value.values())


def chosen(table: dict, top: str) -> list[object]:
    """The callers in a table that a function called `top` takes from it, or all."""
    like = [v for k, v in table.items() if top in str(k).split("_") or v.op.name == f"{top}_dim"]
    return like or [v for k, v in table.items() if str(k) == top] or list(table.values())


def attribute(node: ast.Attribute, names: dict, is_call: bool) -> object:
    """What `owner.name` stands for, if it is a record, a function of a module or a method."""
    owner = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
    if owner is recorded or isinstance(owner, ModuleType):
        return getattr(owner, node.attr, None)
    if owner is None and is_call and node.attr not in COMMON:
        return vars(Tensor).get(node.attr)
    return None


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", "\\|").replace("\n", " ")


# -- cells ---------------------------------------------------------------------------------------

NO_DERIVATIVE = "none: the result is constant between jumps, or is not floating point"


def kinks() -> dict[str, list[str]]:
    """The lines of docs/kinks.md, by name of op."""
    found: dict[str, list[str]] = {}
    for line in (HERE / "kinks.md").read_text().splitlines():
        columns = [part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(columns) == 4 and columns[0].startswith("`"):
            label, point, derivative, _ = columns
            of = f" in {label.split(' in ')[1]}" if " in " in label else ""
            for name in re.findall(r"`(x \*\* \w+|\w+(?:\(dim\))?)[^`]*`", label):
                place = "pow" if "*" in name else name.replace("(dim)", "_dim")
                at = f"{label} at {point}" if "*" in name else point + of
                found.setdefault(place, []).append(f"{at}: {derivative}")
    return found


KINKS = kinks()
CALLS = json.loads((HERE.parent / "tests" / "data" / "ops.json").read_text())
# What PyTorch takes complex numbers in, and agrees: tests/test_reference.py.
COMPARED = {name for name, calls in CALLS.items() if any("D" in str(call[1]) for call in calls)}


def kinks_of(name: str) -> str:
    """What kinks.md says of an op, or of the one whose variant it is."""
    short = name.rsplit(".", 1)[-1]
    short = LIKE.get(short, short)
    for known in (short, re.sub(r"_(dim|tensors|numbers|number|base|op)$", "", short)):
        if known in KINKS:
            return "; ".join(KINKS[known])
    return ""


def row_of_record(op: Op, label: str, names: list[str]) -> list[str]:
    """The cells of a record."""
    last = [batch_of(op), in_place_form(names, op.call) if names else "no: internal"]
    if not op.vjps:
        return [label, signature(op), NO_DERIVATIVE, "none: no derivative", complex_of(op),
                "no derivative", "no derivative", *last]  # fmt: skip
    return [label, signature(op), derivative(op), kinks_of(op.name) or smooth(op), complex_of(op),
            "yes", forward_of(op), *last]  # fmt: skip


def signature(op: Op) -> str:
    """The signature of a record, as declared."""
    inputs = ["*" * op.variadic + name for name in op.inputs]
    inside = ", ".join([*inputs, *(["*", *op.params] if op.params else [])])
    outputs = "" if op.output_names == ("out",) else " → " + ", ".join(op.output_names)
    return f"`{op.name}({inside}){outputs}`"


def derivative(op: Op) -> str:
    """The formulas of a record."""
    if op.derivative is not None:
        return cell(formulas_of(op)[op.inputs[0]])
    shown = [f"{name}: {cell(text)}" for name, text in formulas_of(op).items()]
    rest = [name for name in op.inputs if name not in op.vjps]
    shown += [f"{', '.join(rest)}: none"] if rest else []
    return "; ".join(shown)


def smooth(op: Op) -> str:
    """Why no kinks are listed."""
    groups = op.groups
    if groups and {i for group in groups for i in group} >= {op.inputs.index(n) for n in op.vjps}:
        return "none: linear" if len(groups) == 1 else "none: multilinear"
    if re.search(r" (<|>|<=|>=|==|!=) |where\(", derivative(op)):
        return "where a comparison in the formula turns"
    return "none; poles where the formula is infinite"


def takes_complex(op: Op) -> bool:
    """Whether a record takes complex numbers."""
    return op.complex or op.name in UP_TO_PHASE


def complex_of(op: Op) -> str:
    """Whether an op takes complex numbers."""
    return "yes" if takes_complex(op) else f"no: {WHY_REAL.get(op.name, 'of real numbers only')}"


def forward_of(op: Op) -> str:
    """By which of the four ways forward mode goes: engine/transforms/forward.py."""
    if op.tangent is not None:
        return "own formula"
    if op.derivative is not None:
        return "derivative"
    if op.linear and smooth(op).startswith("none: "):
        return "linearity"
    return f"linearity ({cell(op.linear)}), transposition" if op.linear else "transposition"


def batch_of(op: Op) -> str:
    """How an op runs under vmap."""
    if callable(op.batch):
        return "own rule"
    return f"{op.batch}" if op.batch else "[one example at a time](#one-example-at-a-time)"


def row_of_function(function: FunctionType, names: list[str]) -> list[str]:
    """The cells of a public function that calls records."""
    used, behind = parts(function)
    records = [OPS[name] for name in sorted(behind)]
    own = next((op for op in records if op.name == function.__name__ and op.vjps), None)
    slow = [op.name for op in records if op.batch is None]
    sharp = [op.name for op in records if kinks_of(op.name)]
    none = "none in its parts" if own is None else smooth(own)
    vmap = "of its parts" if own is None else batch_of(own)
    made = f"composition of {ticked(used)}" if own is None else derivative(own)
    with_dim = ""
    if f"{function.__name__}_dim" in behind and kinks_of(function.__name__):
        along = kinks_of(f"{function.__name__}_dim")
        with_dim = f"{kinks_of(function.__name__)}; along a dim, {along}"
    made += f"; also calls {ticked(used)}" if own is not None and used else ""
    if not any(op.vjps for op in records):
        return [label_of(names), f"`{function.__name__}{arguments(function)}`", NO_DERIVATIVE,
                "none: no derivative", "yes", "no derivative", "no derivative", "of its parts",
                in_place_form(names, function)]  # fmt: skip
    return [
        label_of(names),
        f"`{function.__name__}{arguments(function)}`",
        made,
        with_dim or kinks_of(names[0]) or (f"those of {ticked(sharp)}" if sharp else none),
        complex_through(names, own, records),
        "yes",
        "of its parts" if own is None else forward_of(own),
        f"{vmap}; {ticked(slow)} [one by one](#one-example-at-a-time)"
        if slow and own is None
        else vmap,
        in_place_form(names, function),
    ]


def complex_through(names: list[str], own: Op | None, records: list[Op]) -> str:
    """Whether a function made of records takes complex numbers; if not, where not."""
    real = [op for op in records if op.vjps and not takes_complex(op)]
    if not real:
        return "yes"
    if any(op.name == "complex" for op in real):
        return "yes: each part by itself where an op is real"
    why = {WHY_REAL.get(op.name, "of real numbers only") for op in real}
    if COMPARED.isdisjoint(names):
        if own is not None:
            return complex_of(own)
        if all(op in real or op.linear or not op.vjps for op in records):
            return f"no: {', '.join(sorted(why))}"
        return f"no where {ticked([op.name for op in real])} runs: {', '.join(sorted(why))}"
    return f"yes, but what reaches {ticked([op.name for op in real])} must be real"


def ticked(names: list[str]) -> str:
    """Names as code."""
    return ", ".join(f"`{name}`" for name in names)


def arguments(function: FunctionType) -> str:
    """The arguments of a function without annotations."""
    found = inspect.signature(forms.get(function, function))
    bare = [p.replace(annotation=p.empty) for p in found.parameters.values()
            if p.kind is not p.VAR_KEYWORD]  # fmt: skip
    return cell(str(found.replace(parameters=bare, return_annotation=found.empty)))


def label_of(names: list[str]) -> str:
    """The names of a function: the first, and the others after it."""
    return f"**{names[0]}**" + "".join(f"<br>{name}" for name in names[1:])


# -- the page ------------------------------------------------------------------------------------

COLUMNS = ["op", "signature", "derivative", "kinks", "complex", "double backward", "forward",
           "vmap", "in place"]  # fmt: skip


def page() -> str:
    """The whole page."""
    families: dict[str, list[list[str]]] = {}
    shown: set[str] = set()
    without: list[str] = []
    for value, names in PUBLIC.values():
        op = getattr(value, "op", None)
        if op is not None:
            families.setdefault(family(op), []).append(row_of_record(op, label_of(names), names))
            shown.add(op.name)
        elif NO_OPS & {value.__name__, value.__module__.rsplit(".", 1)[-1]}:
            continue
        elif parts(value)[1] and value.__name__ not in STEPS:
            place = "/".join(value.__module__.split(".")[-2:])
            families.setdefault(place, []).append(row_of_function(value, names))
            shown |= {value.__name__} & parts(value)[1]
        elif value.__module__.startswith("retrograd.ops"):
            without.append(names[0].removeprefix("Tensor."))
    inner: dict[str, list[list[str]]] = {}
    for op in OPS.values():
        if op.name not in shown:
            inner.setdefault(family(op), []).append(row_of_record(op, f"{op.name}", []))
    looped = sorted(op.name for op in OPS.values() if op.batch is None)
    return (
        (HERE / "ops_template.md")
        .read_text()
        .format(
            public="\n".join(tables(families)),
            inner="\n".join(tables(inner)),
            helpers=helpers(),
            nodes=nodes(),
            looped=f"{ticked(looped)}.",
            without=f"{ticked(sorted(set(without)))}.",
        )
    )


def helpers() -> str:
    """The functions that formulas call and that are no methods, with what they do."""
    found: dict[str, str] = {}
    for op in OPS.values():
        found |= helpers_of(op) if op.vjps else {}
    shown = sorted((name, text) for name, text in found.items() if not hasattr(rg, name))
    return "\n".join(f"| `{name}` | {cell(text)} |" for name, text in shown)


def nodes() -> str:
    """The names of nodes that are not those of their ops, each with what records such a node."""
    found: dict[str, set[str]] = {}
    for op in OPS.values():
        names = op.node_name if isinstance(op.node_name, str) else inspect.getsource(op.node_name)
        for name in NODE.findall(names):
            if name.lower() != camel_case(op.name).lower():
                found.setdefault(name, set()).add(op.name)
    for value, names in PUBLIC.values():
        if isinstance(value, FunctionType):
            for name in NODE.findall(inspect.getsource(inspect.unwrap(value))):
                if name.lower() != camel_case(value.__name__).lower():
                    found.setdefault(name, set()).add(names[0])
    return "\n".join(f"| `{n}` | {ticked(sorted(ops))} |" for n, ops in sorted(found.items()))


def tables(families: dict[str, list[list[str]]]) -> list[str]:
    """A heading and a table per family."""
    line = "|" + "---|" * len(COLUMNS)
    return [
        "\n".join([f"### {name}\n", f"| {' | '.join(COLUMNS)} |", line,
                   *(f"| {' | '.join(row)} |" for row in sorted(rows)), ""])
        for name, rows in sorted(families.items())
    ]  # fmt: skip


def family(op: Op) -> str:
    """The file in which a record is declared, by that of its formulas."""
    sources = [op.derivative, *op.vjps.values(), op.forward]
    codes = [f.__code__ for f in sources if hasattr(f, "__code__")]
    files = [Path(code.co_filename) for code in codes if "engine" not in code.co_filename]
    places = (f"{path.parent.name}/{path.stem}" for path in files if "retrograd" in path.parts)
    return next(places, "elementwise/numpy")


if __name__ == "__main__":
    (HERE / "ops.md").write_text(page())

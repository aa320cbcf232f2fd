"""The house rules that code can check: layers, namespaces, documentation."""

from __future__ import annotations

import ast
import functools
import gc
import re
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

import retrograd
from retrograd.engine.namespaces import arrays, recorded

ROOT = Path(retrograd.__file__).parent
HOUSE = Path(__file__).parents[1]
MAKEFILE = (HOUSE / "Makefile").read_text()
FILES = sorted(ROOT.rglob("*.py"))

# From the bottom to the top; a module may import from its own layer's files and from below. Three
# rings: the engine, training, and PyTorch's world, of which the others import nothing.
ENGINE = [
    ["errors", "locks", "modes", "quiet", "dtypes", "providers", "pytree", "version"],
    ["kernels"],
    ["compiler"],
    ["engine"],
    ["ops"],
    ["autograd", "fft", "linalg", "quasirandom", "random"],
    ["return_types", "signal", "special"],
    ["func", "tape", "testing", "wirtinger"],
]
TRAINING = [
    ["serialization"],
    ["utils", "nn", "optim", "distributions"],
    ["interop", "viz", "runtime"],
    ["capture"],
]
WORLD = [
    *(
        ["torch.lazy_names", "torch.sheets", "torch.tables"],
        ["torch"],
        ["torch.futures", "torch.torch_version", "torch.types"],
    ),
    ["torch.__config__", "torch.accelerator", "torch.amp", "torch.autograd", "torch.mps"],
    ["torch.names", "torch.version", "torch.xpu", "torch.hub", "torch.storage", "torch.profiler"],
    ["torch._VF", "torch._tensor_str", "torch._utils", "torch.cpu", "torch.cuda"],
    ["torch.layouts", "torch.overrides"],
    ["torch.masked", "torch.nested", "torch.sparse", "torch.lazy_families"],
    ["torch.nn", "torch.optim"],
    ["torch.backends", "torch.compiler", "torch.functional", "torch.jit"],
    ["torch.__future__", "torch._inductor", "torch.ao", "torch.onnx"],
    ["torch._higher_order_ops", "torch.distributed", "torch.library", "torch.multiprocessing"],
    ["torch._C", "torch._ops", "torch.utils", "torch.vision"],
    ["torch._functorch", "torch._subclasses"],
    ["torch._vmap_internals"],
    ["torch._guards", "torch.fx"],
    ["torch._dynamo", "torch.export"],
    ["torch.alias"],
]
TOP = ["__init__", "as_torch", "__main__"]
LAYERS = [*ENGINE, *TRAINING, *WORLD, TOP]
# These hand names on to the whole package, which they ask when they are called.
WHOLE = {"torch.alias.finder", "torch.alias.module_names", "torch.library.aten"}
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
INNER = {name for names in [*ENGINE, *TRAINING, TOP] for name in names}


def room(name: str) -> str:
    """The part of the package that a module is in, by their names within it."""
    return ".".join(name.split(".")[: 2 if name.startswith("torch.") else 1])


def module_of(path: Path) -> str:
    """The name of a module within the package, whose own is "__init__"."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


@functools.cache
def nodes(text: str) -> list[ast.AST]:
    """What `ast.walk` gives of a file, the module first: many rules ask for it."""
    return list(ast.walk(ast.parse(text)))


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    """Leave a million nodes to no other test, and to no search for garbage."""
    gc.disable()
    yield
    nodes.cache_clear()
    gc.enable()


def imported(path: Path) -> list[tuple[int, str]]:
    """(line, module) of every module of this package that a file imports, by whatever name."""
    found = []
    package = ["retrograd", *path.relative_to(ROOT).parts[:-1]]
    for node in nodes(path.read_text()):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - (node.level - 1)] if node.level else []
            whole = ".".join([*base, node.module] if node.module else base)
            names = [f"{whole}.{alias.name}" for alias in node.names]
        else:
            continue
        for parts in (name.split(".") for name in names):
            if parts[0] == "retrograd":
                inner, outer = (".".join(some) or "__init__" for some in (parts[1:], parts[1:-1]))
                found.append((node.lineno, inner if inner in MODULES else outer))
    return found


def test_imports_are_found_by_whatever_name(tmp_path, monkeypatch):
    (tmp_path / "func").mkdir()
    file = tmp_path / "func" / "made.py"
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    for text, module in {
        "import retrograd": "__init__",
        "import retrograd.nn.modules as m": "nn.modules",
        "from retrograd import nn": "nn",
        "from retrograd import Tensor": "__init__",
        "from retrograd.nn import Linear": "nn",
        "from .. import nn": "nn",
        "from .. import Tensor": "__init__",
        "from ..nn.modules import Linear": "nn.modules",
        "from . import vmap": "func",
        "from .grad import vjp": "func.grad",
        "def f():\n    from ..nn import init": "nn.init",
    }.items():
        file.write_text(text)
        assert [name for _, name in imported(file)] == [module], text
    file.write_text("import numpy, retrograds\nfrom numpy import linalg")
    assert imported(file) == []


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down_the_layers(path):
    here = HEIGHT[room(module_of(path))]
    for line, name in imported(path):
        if name == "__init__" and module_of(path) in WHOLE:
            continue
        height = HEIGHT[room(name)]
        assert height <= here, f"{path.name}:{line} imports {name} from above"


def test_every_layer_that_is_listed_exists_and_every_module_is_in_one():
    assert {room(name) for name in MODULES} == set(HEIGHT)


def named(path: Path) -> list[tuple[int, str]]:
    """(line, text) of every text in a file that could name a module of PyTorch's world.

    Such a name is absolute, or relative to a package: `load("..torch.amp", __package__)`.
    """
    texts = [
        (node.lineno, node.value)
        for node in nodes(path.read_text())
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [(line, text) for line, text in texts if re.match(r"(retrograd)?\.+torch\b", text)]


def test_texts_that_name_the_outer_ring_are_seen(tmp_path):
    file = tmp_path / "made.py"
    for text in (
        'load("retrograd.torch.amp")',
        'load("..torch.amp", __package__)',
        'load(f"{__name__}.torch")',
        'load(__package__ + ".torch.amp")',
    ):
        file.write_text(text)
        assert named(file), text
    file.write_text('"torch.nn", "retrograd.nn", "retrograd.torchvision"')
    assert not named(file)


@pytest.mark.parametrize(
    "path",
    [path for name, path in MODULES.items() if room(name) in INNER],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_the_inner_rings_name_the_outer_one_in_one_place(path):
    """NOTE [Rings] in `providers`: by no import, no name in a text, and none for type checkers."""
    assert not [each for each in imported(path) if room(each[1]) not in INNER]
    found = {text for _, text in named(path)}
    assert found == ({".torch"} if path.name == "providers.py" else set())


def test_no_modules_import_each_other_in_a_circle():
    below = {
        name: {other for _, other in imported(path)} - {name, "__init__"}
        for name, path in MODULES.items()
    }
    while free := [name for name, names in below.items() if not names & below.keys()]:
        for name in free:
            del below[name]
    assert not below, "these import each other, or what does: " + ", ".join(sorted(below))


def test_who_is_asked_is_said_where_functions_are_declared():
    """`engine/overriding.py` names no function: factories and the like enter themselves."""
    tree = ast.parse(MODULES["engine.overriding"].read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    functions = {name for name in dir(retrograd) if callable(getattr(retrograd, name, None))}
    assert {"add", "einsum", "zeros"} <= functions
    assert not texts & functions


def test_no_folder_is_crowded():
    for folder in {path.parent for path in FILES}:
        files = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= 20, folder


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_function_imports(path):
    found = nodes(path.read_text())
    lines = {node.lineno for node in found if isinstance(node, (ast.Import, ast.ImportFrom))}
    for node in found:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = lines.intersection(range(node.lineno, node.end_lineno + 1))
            assert not inside, f"{path.name}:{min(inside)} imports inside {node.name}()"


# Where classes are told from each other that stand for arrays: in their own rooms.
OF_ARRAYS = {
    "kernels.allocation",
    "kernels.meta",
    "compiler",
    "engine.transforms.batch",
    "interop",
    "capture",
}


def stand_ins() -> dict[str, str]:
    """The module of each class that stands for an array: NOTE [Stand-ins] in `allocation`."""
    bases = {
        node.name: ({ast.unparse(base).rpartition(".")[2] for base in node.bases}, name)
        for name, path in MODULES.items()
        for node in nodes(path.read_text())
        if isinstance(node, ast.ClassDef)
    }
    found = {"StandIn"}
    while more := {name for name, (above, _) in bases.items() if above & found} - found:
        found |= more
    return {name: bases[name][1] for name in found}


def test_whatever_speaks_numpys_protocols_or_carries_out_ops_is_a_stand_in():
    known = stand_ins()
    for path in FILES:
        for node in nodes(path.read_text()):
            if isinstance(node, ast.ClassDef):
                methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
                speaks = methods & {"__array_ufunc__", "__array_function__", "interpret"}
                assert not speaks or node.name in known, f"{path.name}: class {node.name}"


def test_the_engine_and_training_ask_arrays_what_they_can_do_not_what_they_are():
    kinds = stand_ins().keys()
    for name, path in MODULES.items():
        own = any(f"{name}.".startswith(f"{each}.") for each in OF_ARRAYS)
        if own or room(name) not in INNER:
            continue
        for node in nodes(path.read_text()):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                asked = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                assert not asked & kinds, f"{path.name}:{node.lineno}"


# To these, bfloat16 comes as float32, or not at all.
OF_NUMPYS_DTYPES = ("capture/", "compiler/", "kernels/", "interop/autograd/", "engine/inplace.py",
                    "ops/elementwise/power.py")  # fmt: skip


def test_who_asks_for_floating_numbers_by_their_kind_thinks_of_bfloat16():
    """Its kind is "V", which "fcV" has and "fc" has not."""
    for path in FILES:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(OF_NUMPYS_DTYPES):
            assert not re.findall(r'kind (?:not )?in "fc".*', path.read_text()), name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_name_a_formula_asks_of_xp_exists_in_every_namespace(path):
    for node in nodes(path.read_text()):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "xp"
        ):
            for namespace in (arrays, recorded):
                assert hasattr(namespace, node.attr), f"{path.name}:{node.lineno} xp.{node.attr}"


def test_modules_say_what_they_do():
    for path in FILES:
        assert ast.get_docstring(nodes(path.read_text())[0]), f"{path} has no docstring"


# Who may lay an array over memory, and why it stays within it.
OVER_MEMORY = {
    ("ndarray", "kernels/memory.py"): "`strided` checks the bounds",
    ("stride_tricks", "kernels/memory.py"): "`sliding_window_view` checks the bounds",
    ("as_strided", "kernels/meta.py"): "elements of no bytes, which nothing reads",
    ("stride_tricks", "kernels/meta.py"): "elements of no bytes, which nothing reads",
    ("__array_interface__", "kernels/meta.py"): "asked where such elements would lie",
    (
        "ndarray",
        "kernels/allocation.py",
    ): "memory of its own, in the order of an array of that shape",
    ("ndarray", "kernels/layout.py"): "memory of its own, in the order of an array of that shape",
    ("frombuffer", "kernels/shared.py"): "NumPy checks bounds; the array keeps the map",
    ("frombuffer", "ops/creation/from_data.py"): "NumPy checks bounds; the array keeps the owner",
    ("frombuffer", "ops/creation/memory.py"): "NumPy checks bounds; the array keeps the owner",
    ("frombuffer", "ops/random/streams.py"): "bytes made there, copied",
    ("frombuffer", "runtime.py"): "NumPy checks bounds; the array keeps the bytes",
    ("ndarray", "runtime.py"): "`Program._part` checks the bounds, and so does NumPy",
    ("frombuffer", "serialization/archive.py"): "bytes made there, which the array keeps",
    ("frombuffer", "serialization/files.py"): "NumPy checks bounds; the array keeps the map",
    ("frombuffer", "ops/tensor/storage.py"): "copied",
    (
        "frombuffer",
        "utils/data/_utils/transport.py",
    ): "NumPy checks bounds; the array keeps the map",
    ("frombuffer", "torch/vision/codecs.py"): "bytes made there, which the array keeps",
    ("from_dlpack", "ops/tensor/dlpack.py"): "the capsule states shape and owner",
    ("__array_interface__", "kernels/memory.py"): "`Span`: from an array's first byte to its last",
    ("ctypes", "torch/distributed/engine/mpi.py"): "MPI is started, and is given no array",
    ("ctypes", "compiler/kernels.py"): "kernels write what they were given, as far as it goes",
    ("ctypes", "compiler/rows.py"): "as far as shapes and strides say, for which a kernel is made",
    (
        "ctypes",
        "ops/tensor/dlpack.py",
    ): "what type a capsule names, before it is imported",
    ("__array_interface__", "ops/tensor/dlpack.py"): "the interface of an array that is kept",
}
NEVER = {"as_strided", "stride_tricks", "ctypes", "ctypeslib", "cffi"}
LAYING = {"stride_tricks", "ctypes", "ctypeslib", "__array_interface__", "__array_struct__"}


def over_memory(text: str) -> set[str]:
    """The names in a module by which an array could be laid over memory of another's."""
    found = set()
    for node in nodes(text):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not getattr(node, "level", 0):
            words = [*(alias.name for alias in node.names), getattr(node, "module", None) or ""]
            found |= NEVER & {part for word in words for part in word.split(".")}
        elif isinstance(node, ast.Attribute):
            of_numpy = isinstance(node.value, ast.Name) and node.value.id == "np"
            if node.attr in LAYING or (of_numpy and node.attr in ("frombuffer", "from_dlpack")):
                found.add(node.attr)
            if node.attr == "strides" and isinstance(node.ctx, ast.Store):
                found.add("strides")
        elif isinstance(node, ast.Call) and "ndarray" in ast.unparse(node.func).split("."):
            found.add("ndarray")
    return found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("np.lib.stride_tricks.as_strided(x, (9,))", "stride_tricks"),
        ("from numpy.lib.stride_tricks import as_strided", "as_strided"),
        ("ndarray((9,), float, x)", "ndarray"),
        ("np.ndarray.__new__(np.ndarray, (9,), float, x)", "ndarray"),
        ("x.strides = (8,)", "strides"),
        ("import ctypes", "ctypes"),
    ],
)
def test_the_rule_about_memory_sees_what_lays_arrays_over_it(text, name):
    assert name in over_memory(text)


def test_arrays_are_laid_over_memory_only_where_bounds_are_checked():
    found = {
        (name, str(path.relative_to(ROOT)))
        for path in FILES
        for name in over_memory(path.read_text())
    }
    assert found == set(OVER_MEMORY)


# Ops whose result is zero where something is not chosen.
PREDICATES = {"eq", "ne", "ge", "gt", "le", "lt", "isnan", "isinf", "isfinite", "signbit",
              "logical_and", "logical_or", "logical_not", "tie_share", "segment_share"}  # fmt: skip


def is_mask(node: ast.expr, masks: set[str]) -> bool:
    """Whether an expression is a mask, or made of one by moving, casting or scaling it."""
    if isinstance(node, ast.Name):
        return node.id in masks
    if isinstance(node, ast.Compare):
        return not any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) or is_mask(node.operand, masks)
    if isinstance(node, ast.BinOp):
        logical = isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
        either = is_mask(node.left, masks) or is_mask(node.right, masks)
        return logical or (isinstance(node.op, (ast.Mult, ast.Div)) and either)
    if isinstance(node, ast.Subscript):
        return is_mask(node.value, masks)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        moved = node.func.attr in {"cast", "astype", "unreduce", "reshape", "index", "expand"}
        return node.func.attr in PREDICATES or (
            moved and any(is_mask(each, masks) for each in [node.func.value, *node.args])
        )
    return False


def multiplied_masks(formula: ast.FunctionDef | ast.Lambda) -> list[ast.BinOp]:
    """The products of a mask and something else in a formula: NOTE [Masks in formulas]."""
    masks: set[str] = set()
    for node in ast.walk(formula):
        if isinstance(node, ast.Assign) and is_mask(node.value, masks):
            masks |= {name.id for t in node.targets for name in ast.walk(t) if hasattr(name, "id")}
    return [
        node
        for node in ast.walk(formula)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and (is_mask(node.left, masks) or is_mask(node.right, masks))
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_formula_multiplies_by_a_mask(path):
    for node in nodes(path.read_text()):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and [
            each.arg for each in node.args.args[:1]
        ] == ["xp"]:
            found = [ast.unparse(product) for product in multiplied_masks(node)]
            assert not found, f"{path.name}:{node.lineno} needs zero_where: {found}"


@pytest.mark.parametrize(
    "formula",
    [
        "lambda xp, g, x: g * (x > 0)",
        "lambda xp, g, x: xp.cast(x == x, dtype=float) * g",
        "lambda xp, g, x, out: g * xp.unreduce((x == out) / 2.0, dim=0)",
        "lambda xp, g, x, out: g * xp.tie_share(x, out, dim=0, keepdim=True)",
    ],
)
def test_the_rule_about_masks_sees_them(formula):
    (body,) = ast.parse(formula).body
    assert multiplied_masks(body.value)


TESTS = sorted(Path(__file__).parent.rglob("*.py"))
# What `make test-core` leaves out: it is of PyTorch's world, or of the whole package with it.
LEFT_OUT = [
    name
    for line in re.findall(r"^(?:WORLD|WHOLE) := (.*?[^\\])$", MAKEFILE, re.MULTILINE | re.DOTALL)
    for name in line.replace("\\", "").split()
]
CORE = [
    path
    for path in TESTS
    if not any(path.is_relative_to(HOUSE / name) for name in LEFT_OUT)
    and not path.name.startswith("make_")  # with PyTorch at hand
]


def left_out(part: str) -> set[Path]:
    """The test modules that CI leaves out of a part."""
    (given,) = re.findall(rf'{part}="(.*?)"', (HOUSE / ".ci" / "run").read_text(), re.DOTALL)
    found = {
        path
        for word in re.findall(r"--ignore(?:-glob)?=(\S+)", given)
        for place in HOUSE.glob(word)
        for path in [place, *place.rglob("test_*.py")]
    }
    return found & set(TESTS)


def test_what_ci_leaves_out_of_the_whole_tree_runs_without_pytorch_s_world():
    assert len(left_out("REST")) > 70
    assert left_out("REST") <= set(CORE) - left_out("CORE")


def reached(text: str) -> list[tuple[int, str]]:
    """(line, name) of what a module imports of the package, or reaches from there by dots."""
    known, found = {"retrograd": "retrograd"}, []
    for node in nodes(text):
        if isinstance(node, ast.Import):
            pairs = [(each.asname, each.name) for each in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            pairs = [
                (each.asname or each.name, f"{node.module}.{each.name}") for each in node.names
            ]
        else:
            continue
        own = [pair for pair in pairs if f"{pair[1]}.".startswith("retrograd.")]
        known |= dict(own)
        found += [(node.lineno, name) for _, name in own]
    for node in nodes(text):
        if isinstance(node, ast.Attribute):
            first, _, rest = ast.unparse(node).partition(".")
            if first in known:
                found.append((node.lineno, f"{known[first]}.{rest}"))
    return found


def is_of_the_world(name: str) -> bool:
    """Whether PyTorch's world has what a test calls so."""
    try:
        value = attrgetter(name.removeprefix("retrograd."))(retrograd)
    except AttributeError:
        return name.startswith("retrograd.torch")
    place = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
    return f"{place}.".startswith("retrograd.torch.")


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("from retrograd.torch.amp import autocast", True),
        ("import retrograd.cuda", True),
        ("from retrograd import fx", True),
        ("from retrograd import nn as n\nn.parallel.DistributedDataParallel", True),
        ("import retrograd as rg\nrg.masked.sum(x)", True),
        ("import retrograd\nretrograd.LongTensor(1).sum()", True),
        ("import retrograd as rg\nrg.ones(2).sum().cuda(), rg.nn.Linear, rg.compiler", False),
    ],
)
def test_what_is_of_the_outer_ring_is_seen_in_tests(text, seen):
    assert any(is_of_the_world(name) for _, name in reached(text)) == seen


@pytest.mark.parametrize("path", CORE, ids=lambda p: str(p.relative_to(HOUSE)))
def test_the_tests_of_the_inner_rings_use_nothing_of_the_outer_one(path):
    """But for methods of tensors, which `make test-core` finds."""
    found = reached(path.read_text())
    assert not [each for each in found if is_of_the_world(each[1])]


@pytest.mark.parametrize("path", TESTS, ids=lambda p: str(p.relative_to(Path(__file__).parent)))
def test_no_test_module_holds_a_generator(path):
    """Tests that drew from one would depend on their order: the sealed `np.random` is theirs."""
    for node in nodes(path.read_text())[0].body:
        value = getattr(node, "value", None)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.Call):
            made = ast.unparse(value.func).rpartition(".")[2]
            assert made not in {"default_rng", "Generator", "RandomState", "Random"}, (
                f"{path.name}:{node.lineno} holds a generator: draw from np.random, sealed per test"
            )


def test_the_map_names_every_part_of_the_package_and_no_other():
    cells = re.findall(r"^\| (`.*?) \|", (HOUSE / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    named = {name.rstrip("/") for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    parts = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    parts |= {path.name for path in ROOT.glob("*.py")} - {"__init__.py"}
    assert {name for name in named if "/" not in name} == parts
    assert all((ROOT / name).is_dir() for name in named if "/" in name)

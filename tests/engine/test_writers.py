"""Every writer counts: a value that was saved and then overwritten is refused by the backward pass.

The law crosses every writer with every way in which the memory that it writes can have been saved.
In-place methods and functions with `out=` are found by their names, so a new one is tried, too.
"""

import ast
import copy
import inspect
import re
from pathlib import Path

import pytest
from tests.laws.samples import at_least

import retrograd as rg
from retrograd import nn, optim
from retrograd.errors import VersionError

ROOT = Path(rg.__file__).parent


class Keep(rg.autograd.Function):
    """The first argument, with the second saved for the backward pass."""

    @staticmethod
    def forward(ctx, x, kept):
        ctx.save_for_backward(kept)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        assert ctx.saved_tensors
        return g, None


def kept(x):
    """A graph that has saved `x`, of any dtype."""
    return Keep.apply(rg.ones(1, requires_grad=True), x)


# From a tensor, by name: (a graph that saved it or a relative, what is to be written).
RELATIONS = {
    "the tensor itself": lambda x: (kept(x), x),
    "its base": lambda x: (kept(x[:]), x),
    "a view of it": lambda x: (kept(x), x[:]),
    "another view": lambda x: (kept(x[:]), x[:]),
    "a detached alias": lambda x: (kept(x), x.detach()),
    "what a detached alias shows": lambda x: (kept(x.detach()), x),
    "a shallow copy": lambda x: (kept(x), copy.copy(x)),
}


def square(dtype=rg.float64):
    return rg.tensor([[0.7, 0.1, 0.2], [0.1, 0.6, 0.3], [0.2, 0.3, 0.8]], dtype=dtype)


def candidates():
    """(target, arguments) to be tried in turn: the first that a writer takes is used."""
    m, v, i = square(), square()[0].clone(), rg.tensor([0, 2, 1])
    n = rg.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    pairs = [(), (m,), (2,), (0,), (0, 1), (v,), (m, m), (v, v), (m, v), (m, m, m), (m[0],)]
    pairs += [(0, n % 3, m), (0, i, m), (0, i, 1.0), (0, i, m, "mean"), (0, n % 3, m, "sum")]
    pairs += [(m > 0.5, 1.0), (m > 0.5, m), (n.reshape(-1) - 1, m.reshape(-1)), ((i, i), v)]
    pairs += [(lambda a: a + 1,), (m, lambda a, b: a + b), (m, m, lambda a, b, c: a + b)]
    pairs += [(2, 0, 0.1), (m, 0.5), ((3, 3), (3, 1))]
    for args in pairs:
        yield m.clone(), args
    for args in [(n,), (1,), ()]:
        yield n.clone(), args
    yield v.clone(), (m, v)
    yield m.clone(), (0.5,)
    for other in (m, m[None]):
        yield other.clone(), (m[None], m[None])


REFUSALS = (RuntimeError, TypeError, IndexError, ValueError, AttributeError, StopIteration)
NO_WRITERS = {"detach_", "requires_grad_", "share_memory_"}
OPERATORS = {
    "__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/=",
    "__ifloordiv__": "//=", "__imod__": "%=", "__ipow__": "**=", "__iand__": "&=",
    "__ior__": "|=", "__ixor__": "^=", "__ilshift__": "<<=", "__irshift__": ">>=",
}  # fmt: skip
METHODS = sorted(
    name
    for name in dir(rg.Tensor)
    if (name.endswith("_") and not name.startswith("_") and name not in NO_WRITERS)
    or name in OPERATORS
)


# What the error calls a writer, where that is not the method's name.
BEHIND = {name: f"y {sign} value" for name, sign in OPERATORS.items()}
BEHIND |= {"resize_as_": "resize_", "square_": "pow_"}


def attempt(name):
    """(target, arguments) for the method called `name`."""
    for target, args in candidates():
        try:
            written = target.clone()
            getattr(written, name)(*args)
        except (*REFUSALS, UserWarning):  # the warning is for an older order of arguments
            continue
        if written._version:  # not so where `resize_as_` has nothing to do
            return target, args
    raise AssertionError(f"no candidate suits {name}: add one")


@pytest.mark.parametrize("name", at_least(160, METHODS))
def test_every_in_place_method_counts(name):
    source, args = attempt(name)
    for relation, relate in RELATIONS.items():
        graph, target = relate(source.clone())
        try:
            getattr(target, name)(*args)
        except RuntimeError:
            assert relation != "the tensor itself"  # as resize_ of a view
            continue
        writer = BEHIND.get(name) or getattr(rg.Tensor, name).__name__
        with pytest.raises(VersionError, match=f"written by .*{re.escape(writer)}"):
            graph.backward()


NAMESPACES = {"": rg, "linalg": rg.linalg, "fft": rg.fft, "special": rg.special}
WITH_OUT = sorted(
    (space, name)
    for space, module in NAMESPACES.items()
    for name in dir(module)
    if not name.startswith("_")
    and not name.endswith("_")  # in-place forms write what they are called on, and have no out
    and callable(getattr(module, name))
    and not isinstance(getattr(module, name), type)
    and name != "histogramdd"  # a tensor and a list of them: see below
    and "out" in inspect.signature(getattr(module, name)).parameters
)


def attempt_out(space, name):
    """(function of what it is to write, tensors to be written) for the function called `name`."""
    function = getattr(NAMESPACES[space], name)
    settings = {"solve_triangular": {"upper": True}, "nonzero_static": {"size": 3}}.get(name, {})
    for args in argument_lists():
        try:
            found = function(*args, **settings)
            several = isinstance(found, tuple)
            outs = tuple(t.clone() for t in found) if several else (found.clone(),)
            function(*args, **settings, out=outs if several else outs[0])
        except (*REFUSALS, UserWarning):
            continue
        return lambda *to: function(*args, **settings, out=to if several else to[0]), outs
    raise AssertionError(f"no arguments suit {name}: add some")


@pytest.mark.filterwarnings("ignore:retrograd.range is deprecated")
@pytest.mark.filterwarnings("ignore:Using cross without")
@pytest.mark.parametrize(("space", "name"), at_least(310, WITH_OUT, inner=280))
def test_every_function_with_out_counts(space, name):
    write, outs = attempt_out(space, name)
    graphs = [kept(out) for out in outs]
    write(*outs)
    for graph in graphs:
        with pytest.raises(VersionError, match=r"written by (.*\(out=\)|copy_)"):
            graph.backward()


def test_histogramdd_with_out_counts():
    x = square()[:, :2]
    counts, edges = rg.histogramdd(x, [3, 3])
    graphs = [kept(t) for t in (counts, *edges)]
    rg.histogramdd(x, [3, 3], out=(counts, edges))
    for graph in graphs:
        with pytest.raises(VersionError, match="histogramdd"):
            graph.backward()


def argument_lists():
    m, v, n = square(), square()[0].clone(), rg.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    i, batch = rg.tensor([0, 2, 1]), rg.ones(2, 3, 3)
    yield from [
        (m,),
        (m, m),
        (m, 1),
        (m, 0),
        (1, m),
        (m, m, m),
        (v, v),
        (m, v),
        (m, v, v),
        (v, m, v),
    ]
    yield from [(n,), (n, n), (n, 1), (batch, batch), (batch, batch, batch), ([m, m],), ((m, m),)]
    yield from [(3,), (0, 3), (0, 1, 3), (3, 4, (3,)), (0, 3, (3,)), ((3,), 2.0), (9, (3, 3))]
    yield from [(m, 0, i), (m, 0, i, m), (m, 0, i, m, "mean"), (m, 0, n % 3), (m, 0, n % 3, m)]
    yield from [(m, 0, n % 3, m, "sum"), (m, m > 0.5), (m, n - 1), (m, n % 3, 0), (m, 2, 0, 0.1)]
    yield from [(m, m[None], m[None]), (m, [3]), (m, 2, (0, 1)), (m, [1, 2]), (v, m, i.int() + 1)]
    yield from [(m, i.int() + 1, m), (m, [2, 2, 2]), (m, m, i.int() + 1), (m, (3, 3))]
    yield from [
        (m, 0, 0),
        (m, 0, 1),
        (m, 0, 0, 2),
        (m, (1, 0)),
        (m, (9,)),
        (m, 0, 1, 1),
        (m, 1, 1, 0),
    ]
    yield from [
        (m, rg.ones(3, 3)),
        (m > 0.5, m, m),
        (m, v, i),
        (m, (3, 3), (3, 1)),
        (m, 2, 0, 1, 2),
    ]
    yield from [(m, i.int() + 1), (m, i.int() + 1, m), (m, v, m), (m, (0, 1)), (m, 2, 0, 1)]
    yield from [(m, 3, 0), (m.view(3, 3), rg.float64), (m.reshape(9), 3), (rg.ones(3, 2),)]
    yield from [
        (rg.ones(3, 2, dtype=rg.complex64),),
        (m + 1, 2),
        (0.5, m),
        (2, m),
        (m[None], m[None]),
    ]
    yield from [
        (m, 2, 1),
        (rg.eye(4).reshape(2, 2, 2, 2), 2),
        (rg.eye(4).reshape(2, 2, 2, 2), v[:2]),
    ]
    yield from [(m, 3, m), (rg.eye(4).reshape(2, 2, 2, 2), rg.ones(2, 2)), (m[0, 1], m)]


def step(make, **settings):
    """A step of an optimizer on the tensor, made a parameter's."""

    def write(t):
        p = t.detach().requires_grad_()
        p.grad = rg.ones_like(t)
        make([p], **settings).step(lambda: (p * p).sum())

    return write


def as_grad(clear):
    """What is done to the gradient of a parameter, which the tensor is."""

    def write(t):
        p = nn.Parameter(rg.ones_like(t))
        p.grad = t
        clear(p)

    return write


class Doubled(rg.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.numpy()[...] *= 2
        return x

    @staticmethod
    def backward(ctx, g):
        return 2 * g


def load(t):
    module = nn.Linear(3, 3, bias=False, dtype=t.dtype)
    module.weight = nn.Parameter(t)
    module.load_state_dict({"weight": rg.zeros(3, 3)})


def average(t):
    model = nn.Linear(3, 3, bias=False, dtype=t.dtype)
    averaged = optim.swa_utils.AveragedModel(model)
    averaged.module.weight = nn.Parameter(t)
    averaged.update_parameters(model)


def normalize(t):
    running = t[0]
    x = rg.ones(2, 3, dtype=t.dtype)
    nn.functional.batch_norm(x, running, rg.ones(3, dtype=t.dtype), training=True)


def standardize(t):
    x = rg.ones(2, 3, 4, dtype=t.dtype)
    nn.functional.instance_norm(x, t[0], rg.ones(3, dtype=t.dtype), use_input_stats=True)


def assign(t):
    t[0] = 3.0


def infer(write):
    """`write` in inference mode."""

    def inside(t):
        with rg.inference_mode():
            write(t)

    return inside


def half(t):
    module = nn.Module()
    module.p = nn.Parameter(t)
    module.half()


OPTIMIZERS = "SGD Adam AdamW Adamax Adagrad Adadelta Adafactor RMSprop NAdam RAdam Rprop ASGD LBFGS"
WRITERS = {
    **{f"{name}.step": step(getattr(optim, name)) for name in OPTIMIZERS.split()},
    "SGD.step ": step(optim.SGD, momentum=0.9, nesterov=True),
    "Muon.step": step(optim.Muon),
    "zero_grad": as_grad(lambda p: optim.SGD([p], 0.1).zero_grad(set_to_none=False)),
    "zero_grad ": as_grad(lambda p: nn.ParameterList([p]).zero_grad(set_to_none=False)),
    "clip_grad_norm_": as_grad(lambda p: nn.utils.clip_grad_norm_([p], 0.1)),
    "clip_grad_value_": as_grad(lambda p: nn.utils.clip_grad_value_([p], 0.1)),
    "Doubled": Doubled.apply,
    "load_state_dict": load,
    "copy_": average,
    "y[key] = value": assign,
    "batch_norm": normalize,
    "instance_norm": standardize,
    "embedding": lambda t: nn.functional.embedding(rg.tensor([0, 1]), t, max_norm=0.1),
    "increment_version": rg.autograd.graph.increment_version,
    "mul_": infer(lambda t: t.detach().mul_(2)),
    "mul_ ": infer(lambda t: t[0].mul_(2)),
    "add(out=)": infer(lambda t: rg.add(t, 1, out=t)),
    "dropout": lambda t: nn.functional.dropout(t, 0.5, inplace=True),
    "relu_": lambda t: nn.functional.relu(t, inplace=True),
    **{
        f"init.{name}": getattr(nn.init, name)
        for name in dir(nn.init)
        if name.endswith("_") and not name.startswith("_") and name != "dirac_"
    },
}
ARGUMENTS = {"init.constant_": (1.0,), "init.sparse_": (0.5,), "init.symmetric_": (1.0,)}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", WRITERS)
def test_every_other_writer_counts(name, relation):
    graph, target = RELATIONS[relation](square())
    WRITERS[name](target, *ARGUMENTS.get(name, ()))
    name = "init." if name.startswith("init.") else name.strip()
    with pytest.raises(VersionError, match=f"written by .*{re.escape(name)}"):
        graph.backward()


@pytest.mark.parametrize("name", ["exp", "sigmoid", "sqrt", "softmax"])
@pytest.mark.parametrize("alias", [lambda y: y, lambda y: y[0], lambda y: y.detach()])
def test_a_saved_result_is_watched_through_every_alias(name, alias):
    x = square().requires_grad_()
    y = getattr(rg, name)(x, *([0] if name == "softmax" else []))
    z = y.sum()
    with rg.no_grad():
        alias(y).mul_(2)
    with pytest.raises(VersionError, match=r"saved it as its result, .*written by mul_"):
        z.backward()


def test_a_saved_result_is_watched_after_detach():
    x = square().requires_grad_()
    y = x.exp()
    z = y.sum()
    y.detach_()
    y.mul_(2)
    with pytest.raises(VersionError, match="written by mul_"):
        z.backward()


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda p: optim.SGD([p], 0.1, momentum=0.9), ["momentum_buffer"]),
        (lambda p: optim.Adam([p], amsgrad=True), ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
        (lambda p: optim.RMSprop([p], momentum=0.9), ["square_avg", "momentum_buffer"]),
        (lambda p: optim.Adagrad([p]), ["step", "sum"]),
        (lambda p: optim.Rprop([p]), ["prev", "step_size"]),
    ],
)
def test_the_state_of_an_optimizer_is_watched(make, names):
    p = square().requires_grad_()
    p.grad = rg.ones_like(p)
    optimizer = make(p)
    optimizer.step()
    graphs = [kept(optimizer.state[p][name]) for name in names]
    optimizer.step()
    for graph in graphs:
        with pytest.raises(VersionError, match="step"):
            graph.backward()


def test_other_memory_under_the_same_name_is_noticed():
    x = square()
    graph = kept(x)
    x.data = rg.zeros(3, 3)
    with pytest.raises(VersionError, match=r"written by the assignment to \.data"):
        graph.backward()
    assert x._version == 0


def test_a_conversion_between_the_passes_is_noticed_unless_it_changes_nothing():
    module, x = nn.Linear(3, 3), rg.ones(3, requires_grad=True)
    y = module(x).sum()
    module.to(rg.float32)
    y.backward(retain_graph=True)
    module.double()
    with pytest.raises(VersionError, match=r"\.data"):
        y.backward()


def test_batch_norm_does_not_count_but_is_noticed():
    module = nn.BatchNorm1d(3)
    version, graph = module.running_mean._version, kept(module.running_mean)
    module(rg.ones(2, 3))
    assert module.running_mean._version == version
    with pytest.raises(VersionError, match="written by batch_norm"):
        graph.backward()


def test_set_counts_for_the_tensor_alone():
    x, y = square(), square()
    graph, other = kept(x), kept(y)
    x.set_(y)
    assert (x._version, y._version) == (1, 0)
    with pytest.raises(VersionError, match="written by set_"):
        graph.backward()
    other.backward()


def test_an_alias_made_in_inference_mode_counts():
    x = rg.ones(2)
    with rg.inference_mode():
        d = x.detach()
        assert not d.is_inference()
        assert not x.data.is_inference()
        d.mul_(2)
    assert x._version == d._version == 1


def test_copying_a_tensor_onto_itself_counts():
    x = rg.ones(2)
    x.copy_(x)
    assert x._version == 1
    y = rg.ones(2, requires_grad=True) * 1
    y.copy_(y)
    assert y.grad_fn.name() == "torch::autograd::CopyBackwards"


def test_only_the_engine_touches_versions():
    """`wrote` is the one function that counts: elsewhere no `.bump(`, `.note(`, `.version =`."""
    found = []
    for path in ROOT.rglob("*.py"):
        if path.parent.name == "engine" and path.name in ("tensor.py", "graph.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            if called and node.func.attr in ("bump", "note"):
                found.append((path.name, node.lineno))
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if stored and node.attr == "version":
                found.append((path.name, node.lineno))
    assert not found

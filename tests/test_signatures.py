"""PyTorch's calls fit: arguments have its names, defaults and order, or the table says why not."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import typing
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import retrograd as rg
from retrograd import providers
from retrograd.engine.naming import ALIASES, NEUTRAL, ORDERS

from .data.make_signatures import default
from .laws.samples import present

ALL = json.loads((Path(__file__).parent / "data" / "signatures.json").read_text())
# All, where PyTorch's world is installed, whose names these are.
STORED = {name: texts for name, texts in ALL.items() if providers.world() or present(name)}

# Names of functions, differences, reasons. `*` stands for anything.
REASONS = """
*am[ai][xn] | default of dim is None, not [] | both are all dimensions
*trap* | default of dx is None, not 1 | None is 1, where no `x` is given
utils.data.random_split | default of generator is None, not ... | None is the default generator
signal.windows.* | default of layout is None, not strided | None is `strided`, the only one
Tensor.*contiguous | default of memory_format is None, not contiguous_format | None is it
Tensor.c[pu]* | default of memory_format is None, not preserve_format | None is it, too
*nan_to_num* | default of nan is 0, not None | None is 0, and taken
*conv?d | default of padding is 0, not valid | an overload: 'valid' is 0
save | default of pickle_module is None, not ... | None is Python's `pickle`
from_file | default of shared is False, not None | None is False
l[io]?space | default of steps is required, not None | the stub errs: PyTorch requires it
*_pool?d* | default of stride is None, not [] | both are the size of the window
*std* | default of unbiased is None, not True | None is True unless `correction` is given
*var* | default of unbiased is None, not True | so is it here
* | place of unbiased | an overload: a boolean in the place of `dim` is `unbiased`
* | place of value | an overload: a number in the place of `src` is `value`
* | place of other | an overload: a tensor in the place of `dim` is `other`
* | place of dtype | an overload: a dtype in the place of a size is one
* | place of keepdim | an overload: a boolean in the place of `dim` is `keepdim`
*rrelu* | place of generator | `inplace` stands there, as in PyTorch's `nn.functional`
Tensor.cpu | place of memory_format | the stub errs: PyTorch takes it by name only
repeat_interleave | place of repeats | an overload: `repeats` alone
*subtract* | place of alpha | the stub errs: PyTorch takes it by name only
rsub | place of alpha | the order that PyTorch has deprecated takes `alpha` in front
tensordot | place of out | by name only, as everywhere
*tensor | place of * | the stub errs: PyTorch takes them by name only
result_type | * | the arguments are taken by place; the overloads name them otherwise
*mm | no out_dtype | PyTorch has it on GPUs only
full | no names | named dimensions are absent
*Storage | no * | the classes have it in no order but PyTorch's own internal one
Size | no iterable | an error of the stub: PyTorch takes no names
Tensor.new | no * | the stub's names of arguments that PyTorch takes by place only
Tensor.to | no other | the stub's name of an argument that PyTorch takes by place only
Tensor.requires_grad_ | no mode | the stub errs: it is `requires_grad`
set_warn_always | no b | the stub's name of an argument that PyTorch takes by place only
t*_indices | no requires_grad | indices are integers, which PyTorch refuses it for
native_batch_norm | no out | an internal function
linalg.matrix_exp | no out | the schema has it, PyTorch's function does not take it
autograd.graph.RemovableHandle | no * | hooks make handles, programs do not
utils.data.default_convert | no data | the argument is called `sample`
"""
TABLE = [tuple(part.strip() for part in line.split(" | ")) for line in REASONS.strip().splitlines()]


def parsed(text):
    """(names by place, names by keyword only, defaults) of a stored signature."""
    text = re.sub(r"=([A-Za-z_]\w*|\.\.\.)(?=,|$)", lambda found: f"={found[1]!r}", text)
    given = ast.parse(f"def f({text}): pass").body[0].args
    names = [each.arg for each in given.args]
    ends = dict(zip(names[len(names) - len(given.defaults) :], given.defaults, strict=True))
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ends |= {each.arg: value for each, value in pairs if value is not None}
    shown = {name: ast.literal_eval(value) for name, value in ends.items()}
    return names, [each.arg for each in given.kwonlyargs], shown


def here(full):
    """Our function, method or class of that name, or None."""
    place, _, name = full.rpartition(".")
    space = (
        rg.Tensor
        if place == "Tensor"
        else importlib.import_module(f"retrograd.{place}".rstrip("."))
    )
    return getattr(space, name, None)


def taken_as(name, parameters):
    """The name under which a function takes an argument, or None."""
    names = [name, *ALIASES.get(name, "").split()]
    if name in NEUTRAL and "device" in parameters:
        return name
    return next((each for each in names if each in parameters), None)


def is_older(name, places):
    """Whether arguments are in an order that PyTorch has deprecated, which is taken, too."""
    orders = ORDERS.get(name.rpartition(".")[2].rstrip("_"), ())
    return any(
        sorted(order.replace("input", "self").split(", ")) == sorted(places) for order in orders
    )


def differences(full, text):
    """How our function differs from one of PyTorch's signatures."""
    parameters = inspect.signature(here(full)).parameters
    kinds = {each.kind for each in parameters.values()}
    places, keywords, ends = parsed(text)
    if is_older(full, places):
        return []
    ours = [each.name for each in parameters.values() if each.kind <= each.POSITIONAL_OR_KEYWORD]
    found = []
    for place, name in enumerate([*places, *keywords]):
        if place == 0 and name in ("self", "input"):
            continue
        own = taken_as(name, parameters)
        if own is None:
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                found.append(f"no {name}")
            continue
        if own not in parameters:
            continue
        if name in ends:
            value = parameters[own].default
            shown = "required" if value is inspect.Parameter.empty else default(value)
            if shown not in (str(ends[name]), repr(ends[name])):
                found.append(f"default of {name} is {shown}, not {ends[name]}")
        by_place = inspect.Parameter.VAR_POSITIONAL not in kinds
        if name in places and by_place and ours[place : place + 1] != [own]:
            found.append(f"place of {name}")
    return found


def reason(full, difference):
    """Why there is a difference; None if the table does not say."""
    for name, what, why in TABLE:
        if fnmatchcase(full, name) and fnmatchcase(difference, what):
            return why
    return None


def inspectable(full):
    try:
        inspect.signature(here(full))
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("place", sorted({name.rpartition(".")[0] for name in STORED}))
def test_every_signature_is_pytorchs_or_has_a_reason(place):
    names = [name for name in STORED if name.rpartition(".")[0] == place]
    unexplained = [
        f"{name}({text}): {difference}"
        for name in names
        if inspectable(name)
        for text in STORED[name]
        for difference in differences(name, text)
        if not reason(name, difference)
    ]
    assert not unexplained, "\n".join(unexplained)


def test_every_reason_is_needed():
    found = [
        (name, difference)
        for name in STORED
        if inspectable(name)
        for text in STORED[name]
        for difference in differences(name, text)
    ]
    used = {why for name, difference in found if (why := reason(name, difference))}
    elsewhere = ALL.keys() - STORED.keys()
    assert [
        why
        for name, _, why in TABLE
        if why not in used and not any(fnmatchcase(each, name) for each in elsewhere)
    ] == []


SPACES = (
    *("nn", "nn.functional", "nn.init", "nn.utils", "optim", "optim.lr_scheduler"),
    *("optim.swa_utils", "func", "autograd", "autograd.functional", "autograd.forward_ad"),
)


def unreadable(value):
    """The error of asking a callable for its types, or None."""
    try:
        typing.get_type_hints(value)
    except NameError as error:
        return f"{value.__module__}.{value.__qualname__}: {error}"
    return None


@pytest.mark.parametrize("space", SPACES)
def test_types_can_be_read(space):  # by programs that make rules or forms of them
    module = importlib.import_module(f"retrograd.{space}")
    names = getattr(module, "__all__", None) or [name for name in vars(module) if name[0] != "_"]
    found = [value for name in names if callable(value := getattr(module, name))]
    for kind in [value for value in found if isinstance(value, type)]:
        methods = {} if issubclass(kind, rg.Tensor) else vars(kind)
        found += [
            method
            for name, method in methods.items()
            if inspect.isfunction(method) and (name == "__init__" or name[0] != "_")
        ]
    assert found
    assert [error for value in found if (error := unreadable(value))] == []


# -- what the signatures do not say ------------------------------------------------------------


def test_memory_is_strided_and_not_pinned_wherever_there_is_a_device():
    x, settings = rg.ones(2), {"layout": rg.strided, "pin_memory": False, "device": None}
    for made in (
        rg.zeros(2, **settings),
        rg.arange(0, 2, **settings),
        rg.rand_like(x, **settings),
        rg.fft.fftfreq(2, **settings),
        x.new_zeros(2, **settings),
        x.new_tensor([1.0, 2.0], **settings),
        rg.tensor([1.0, 2.0], pin_memory=False),
    ):
        assert made.shape == (2,)
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        rg.zeros(2, pin_memory=True)
    with pytest.raises(TypeError, match=r"'layout' must be retrograd\.strided"):
        rg.zeros(2, layout="sparse")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        x.new_zeros(2, pin_memory=True)


def test_arguments_go_by_all_of_their_names():
    x, eye = rg.tensor([1.0, -2.0]), rg.eye(2)
    assert rg.heaviside(x, values=x).tolist() == x.heaviside(other=x).tolist() == [1.0, 0.0]
    assert x.clone().copy_(other=rg.zeros(2)).tolist() == [0.0, 0.0]
    assert rg.cholesky_solve(eye, input2=eye).tolist() == eye.tolist()
    assert rg.isin(element=1.0, test_elements=x).item()
    assert rg.ones(2, 3).swapaxes_(axis0=0, axis1=1).shape == (3, 2)
    assert x.tensor_split(tensor_indices_or_sections=2)[1].item() == -2.0
    assert rg.ones(2).resize_(size=(1,)).shape == rg.ones(2).resize_as_(the_template=x[:1]).shape
    assert rg.add(input=x, other=1).tolist() == rg.add(x, x2=1).tolist() == [2.0, -1.0]
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'values'"):
        rg.exp(x, values=x)
    with pytest.warns(FutureWarning, match="`min_value` is deprecated"):
        assert rg.nn.Hardtanh(min_value=-3)(x).tolist() == [1.0, -2.0]


def test_none_and_an_empty_list_are_what_they_are_where_they_are_the_default():
    x = rg.tensor([[1, 2], [3, 4]])
    assert rg.roll(x, 1, []).tolist() == rg.roll(x, 1, None).tolist() == [[4, 1], [2, 3]]
    assert rg.amax(x, []).tolist() == rg.amax(x, None).tolist() == 4
    assert rg.tril_indices(2, 2, dtype=None).dtype is rg.int64
    assert rg.triu_indices(2, 2, dtype=None).tolist() == [[0, 0, 1], [0, 1, 1]]
    with pytest.warns(UserWarning, match="required to pass the indexing argument") as seen:
        assert rg.meshgrid(x[0], x[1], indexing=None)[0].tolist() == [[1, 1], [2, 2]]
    assert seen[0].filename == __file__
    windows = rg.max_pool2d(x[None], 2, []), rg.max_pool2d(x[None], 2)
    assert [made.tolist() for made in windows] == [[[[4]]], [[[4]]]]
    with pytest.raises(RuntimeError, match=r"must align\. shifts: 2, dims:0"):
        rg.roll(x, (1, 1))


def test_results_of_more_functions_can_be_written_into_out():
    x, places = rg.tensor([3.0, 0.25]), rg.zeros(2, dtype=rg.int64)
    assert rg.argsort(x, out=places) is places
    assert places.tolist() == [1, 0]
    assert rg.hardshrink(x, out=rg.empty(2)).tolist() == [3.0, 0.0]
    assert rg.nonzero_static(x, size=1, out=rg.zeros(1, 1, dtype=rg.int64)).tolist() == [[0]]


def test_random_leaks_draw_from_a_generator_that_is_given():
    def leaks(**given):
        return rg.rrelu(-rg.ones(4), training=True, **given)

    first, second = (leaks(generator=rg.Generator().manual_seed(1)) for _ in range(2))
    assert rg.equal(first, second)
    assert not rg.equal(first, leaks())


def test_a_device_is_a_context_and_a_decorator():
    with rg.device("cpu") as here:
        assert rg.ones(1).device == here
    assert rg.device("cpu")(abs)(-1) == 1
    with pytest.raises(AssertionError, match="tensors live on the cpu"), rg.device("cuda"):
        pass

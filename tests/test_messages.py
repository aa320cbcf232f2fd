"""What beginners get wrong: the whole text that they read, which says what to write instead."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading

import pytest

import retrograd as rg
from retrograd import nn, optim

ROOT = "element 0 of tensors does not require grad and does not have a grad_fn: "
PARAMS = (
    "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
)
WHOLE = (
    "it holds retrograd.{}, and whole numbers have no derivative. Comparisons, argmax() and long() "
    "end the graph: compute the loss from floating-point values"
)
UNRECORDED = (
    "it was computed under no_grad(), or none of the tensors that it was computed from requires "
    "grad; .data, .item() and .numpy() give constants. Compute it outside no_grad(), from a tensor "
    "with requires_grad=True, or call module.requires_grad_()"
)
NONE_REQUIRES = (
    "none of the tensors that it was computed from requires grad; .data, .item() and .numpy() give "
    "constants. Make one with requires_grad=True, or call module.requires_grad_()"
)


def x(*shape):
    return rg.ones(*shape, requires_grad=True)


class Unbegun(nn.Module):
    def __init__(self):
        self.layer = nn.ReLU()


def under(mode, then=lambda loss: loss.backward(), inside=False):
    with mode():
        loss = x(3).sum()
        if inside:
            then(loss)
    then(loss)


MISTAKES = {
    "a loss of whole numbers": (lambda: x(3).argmax().backward(), ROOT + WHOLE.format("int64")),
    "a loss that is a truth": (lambda: (x(1) > 0).backward(), ROOT + WHOLE.format("bool")),
    "a loss of inference mode": (
        lambda: under(rg.inference_mode),
        ROOT + "it was computed under inference_mode(), which records nothing. Compute it outside",
    ),
    "a backward pass where nothing is recorded": (
        lambda: under(rg.no_grad, inside=True),
        ROOT + "nothing is recorded here, under no_grad(), inference_mode() or "
        "set_grad_enabled(False). Compute the loss, and call backward(), outside",
    ),
    "a detached loss": (
        lambda: x(3).sum().detach().backward(),
        ROOT + "detach() has cut it off. Call backward() on the tensor before detach()",
    ),
    "a loss under no_grad": (lambda: under(rg.no_grad), ROOT + UNRECORDED),
    "a module for its parameters": (
        lambda: optim.Adam(nn.Linear(2, 2)),
        PARAMS + "Linear. Write Adam(model.parameters())",
    ),
    "parameters without a call": (
        lambda: optim.SGD(nn.Linear(2, 2).parameters, lr=0.1),
        PARAMS + "method. Write SGD(model.parameters())",
    ),
    "a state for parameters": (
        lambda: optim.SGD(nn.Linear(2, 2).state_dict(), lr=0.1),
        PARAMS + "OrderedDict. Write SGD(model.parameters())",
    ),
    "a text for a learning rate": (
        lambda: optim.SGD(nn.Linear(2, 2).parameters(), lr="0.1"),
        "lr must be a number, not '0.1'",
    ),
    "a list of layers": (
        lambda: nn.Sequential([nn.ReLU()]),
        "list is not a Module subclass. Give its elements one by one: nn.Sequential(*layers)",
    ),
    "a class for a layer": (
        lambda: nn.Sequential(nn.ReLU),
        "retrograd.nn.modules.activation.piecewise.ReLU is not a Module subclass. ReLU is a class: "
        "make a layer, ReLU(...)",
    ),
    "a module that is not begun": (
        lambda: Unbegun(),
        "cannot assign module before Module.__init__() call. Begin __init__ with "
        "super().__init__()",
    ),
    "a parameter without a list": (
        lambda: optim.AdamW(nn.Linear(2, 2).weight),
        PARAMS + "Parameter. Wrap it in a list: [param]",
    ),
    "a layer of another size": (
        lambda: nn.Linear(4, 2)(rg.ones(3, 5)),
        "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2): Linear(in_features=4, "
        "out_features=2, bias=True) takes (*, 4), and its input is [3, 5]. Make it Linear(5, 2)",
    ),
    "an image for a layer of vectors": (
        lambda: nn.Linear(784, 10)(rg.ones(8, 1, 28, 28)),
        "mat1 and mat2 shapes cannot be multiplied (224x28 and 784x10): Linear(in_features=784, "
        "out_features=10, bias=True) takes (*, 784), and its input is [8, 1, 28, 28]. Flatten it "
        "first: input.flatten(1)",
    ),
    "a weight of another size": (
        lambda: nn.functional.linear(rg.ones(3, 5), rg.ones(2, 4)),
        "mat1 and mat2 shapes cannot be multiplied (3x5 and 4x2): a weight of shape [2, 4] takes "
        "(*, 4), got [3, 5]",
    ),
    "matrices that do not fit": (
        lambda: rg.ones(2, 3) @ rg.ones(4, 5),
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5): 3, the last size of [2, 3], must "
        "be 4, the first of [4, 5]",
    ),
    "a matrix that is to be transposed": (
        lambda: rg.ones(2, 3) @ rg.ones(5, 3),
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 5x3): 3, the last size of [2, 3], must "
        "be 5, the first of [5, 3]. Transpose the second: y.mT",
    ),
    "a letter of a function": (
        lambda: rg.conv2D,
        "module 'retrograd' has no attribute 'conv2D'. Did you mean: 'conv2d'?",
    ),
    "a letter of a layer": (
        lambda: nn.Liner,
        "module 'retrograd.nn' has no attribute 'Liner'. Did you mean: 'Linear'?",
    ),
    "a letter of a class": (
        lambda: rg.Tesnor,
        "module 'retrograd' has no attribute 'Tesnor'. Did you mean: 'Tensor'?",
    ),
    "a name that is like none": (
        lambda: rg.qqqqq,
        "module 'retrograd' has no attribute 'qqqqq'",
    ),
    "an axis by another name": (
        lambda: rg.ones(3).sum(axes=0),
        "sum() got an unexpected keyword argument 'axes'. Did you mean 'dim'? It takes: input, "
        "dim, keepdim, dtype",
    ),
    "a name that no op has": (
        lambda: rg.exp(rg.ones(3), axis=0),
        "exp() got an unexpected keyword argument 'axis'. It takes: input, out",
    ),
    "softmax along nothing": (
        lambda: rg.softmax(rg.ones(3)),
        "softmax() missing 1 required positional argument: 'dim', along which the weights add up "
        "to 1. For scores in the last dimension: softmax(x, dim=-1)",
    ),
    "log_softmax along nothing": (
        lambda: rg.ones(3).log_softmax(),
        "log_softmax() missing 1 required positional argument: 'dim', along which the weights add "
        "up to 1. For scores in the last dimension: log_softmax(x, dim=-1)",
    ),
    "a dtype as NumPy's arrays get it": (
        lambda: x(2).astype(rg.float64),
        "'Tensor' object has no attribute 'astype'. Write x.to(dtype)",
    ),
    "a copy as of NumPy's arrays": (
        lambda: x(2).copy(),
        "'Tensor' object has no attribute 'copy'. Write x.clone()",
    ),
    "a setting for complex parameters that an optimizer lacks": (
        lambda: optim.SGD([x(2)], complex="modulus"),
        "SGD.__init__() got an unexpected keyword argument 'complex'. Leave it away: to SGD, a "
        "complex parameter is one number. It takes: params, lr, momentum, dampening, weight_decay, "
        "nesterov, maximize, foreach, differentiable, fused",
    ),
    "a misspelt setting of an optimizer": (
        lambda: optim.SGD([x(2)], momentun=0.9),
        "SGD.__init__() got an unexpected keyword argument 'momentun'. Did you mean 'momentum'? It "
        "takes: params, lr, momentum, dampening, weight_decay, nesterov, maximize, foreach, "
        "differentiable, fused",
    ),
    "the gradient of more than one number": (
        lambda: rg.func.grad(lambda t: t * 2)(rg.ones(2)),
        "grad(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 1 dims. Did "
        "you mean f(*args).sum()? Maybe you wanted to use the vjp or jacrev APIs instead?",
    ),
    "the same with the value": (
        lambda: rg.func.grad_and_value(lambda t: 1.0)(rg.ones(2)),
        "grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got <class 'float'>. "
        "Return the tensor itself: .item(), float() and .numpy() end the graph",
    ),
    "a text to choose": (
        lambda: rg.where(rg.ones(3) > 0, "a", 1),
        "where(): argument 'input' (position 2) must be Tensor or Number, not str",
    ),
    "a loss called where it is made": (
        lambda: nn.CrossEntropyLoss(rg.ones(2, 3), rg.tensor([0, 1])),
        "CrossEntropyLoss() takes settings, not tensors. Make the loss first, then call it: "
        "CrossEntropyLoss()(input, target)",
    ),
    "another loss called where it is made": (
        lambda: nn.MSELoss(rg.ones(2), rg.ones(2)),
        "MSELoss() takes settings, not tensors. Make the loss first, then call it: "
        "MSELoss()(input, target)",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_text_is(name):
    call, text = MISTAKES[name]
    with pytest.raises((AttributeError, RuntimeError, TypeError)) as caught:
        call()
    assert str(caught.value) == text


def test_where_no_thread_left_the_default_mode_no_grad_is_not_suspected():
    seen = []

    def train():
        try:
            rg.ones(3).sum().backward()
        except RuntimeError as error:
            seen.append(str(error))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert seen == [ROOT + NONE_REQUIRES]


def test_other_errors_of_a_layer_stay_what_they_are():
    with pytest.raises(RuntimeError, match="mat1 and mat2 must have the same dtype"):
        nn.Linear(3, 2)(rg.ones(3).double())


def test_a_near_name_is_said_once():
    """Python adds what it finds itself."""
    code = "import retrograd as rg; rg.nn.Liner"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].count("Did you mean") == 1


def test_asking_whether_a_name_is_there_looks_for_no_near_one(monkeypatch):
    monkeypatch.setattr("difflib.get_close_matches", None)
    assert not hasattr(rg, "conv2D")
    assert not hasattr(nn, "Liner")


def test_a_missing_name_reaches_another_process():
    with pytest.raises(AttributeError) as caught:
        rg.conv2D
    there = pickle.loads(pickle.dumps(caught.value))
    assert str(there) == str(caught.value) == MISTAKES["a letter of a function"][1]

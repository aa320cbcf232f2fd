"""Beginners' mistakes as programs: each message says what is wrong, where, and what to write.

Python itself words the last ones, which say what is wrong. Some whole texts: `test_messages.py`.
"""

from __future__ import annotations

import re

import pytest

import retrograd as rg

NET = "class Net(nn.Module):\n    def __init__(self):\n        "
DATA = "class Data(rg.utils.data.Dataset):\n    def __getitem__(self, i):\n        return i\n"

# A program, and what its message must contain.
PROGRAMS = r"""
rg.ones(3, 4) + rg.ones(3, 5)
    [3, 4] and [3, 5]: sizes must be equal, or 1. Reshape one
rg.ones(2, 3) @ rg.ones(4, 5)
    3, the last size of [2, 3], must be 4, the first of [4, 5]
nn.Linear(4, 2)(rg.ones(3, 5))
    its input is [3, 5]. Make it Linear(5, 2)
nn.Linear(784, 10)(rg.ones(8, 1, 28, 28))
    Flatten it first: input.flatten(1)
nn.Conv2d(3, 8, 3)(rg.ones(4, 1, 28, 28))
    Channels are the second size of the input: make the layer's in_channels 1
nn.Conv2d(3, 8, 3)(rg.ones(4, 28, 28, 3))
    Channels come second: input.permute(0, 3, 1, 2)
nn.Conv2d(1, 8, 7)(rg.ones(1, 1, 5, 5))
    Take a smaller kernel, or padding=
rg.cat([rg.ones(2, 3), rg.ones(2, 4)], dim=0)
    The shapes are [2, 3] and [2, 4]. Join them along dim=1
rg.cat(rg.ones(2), rg.ones(3))
    Put the tensors into a list: cat([x, y])
rg.stack([rg.ones(2), rg.ones(3)])
    got [2] at entry 0 and [3] at entry 1. Pad them to one size
rg.ones(2, 3).reshape(4, 2)
    input of size 6: it takes 8 elements. A size of -1 stands for what is left
rg.ones(2, 3).t().view(6)
    Use .reshape(...) instead
rg.ones(2, 3).sum(dim=2)
    got 2). Dimensions count from 0: the last of 2 is 1, or -1
rg.ones(3)[5]
    index 5 is out of bounds for dimension 0 with size 3: indices go from -3 to 2
rg.ones(3)[0, 1]
    (got 2, shape [3]): there is one index for a dimension
rg.ones(3)[1.0]
    (got float). Convert numbers, int(i)
rg.ones(3).expand(2, 4)
    Only a size of 1 expands: x.unsqueeze(dim) makes one
nn.Linear(3, 2)(rg.ones(1, 3, dtype=rg.float64))
    got Double and Float. Convert one of them: x.to(retrograd.float32)
nn.Linear(3, 2)(rg.tensor([[1, 2, 3]]))
    Convert the whole numbers: x.to(retrograd.float32)
rg.tensor([1, 2, 3], requires_grad=True)
    is retrograd.int64. Convert it first: x.float().requires_grad_()
rg.func.grad(lambda x: x.sum().item())(rg.ones(3))
    Return the tensor itself: .item(), float() and .numpy() end the graph
rg.tensor(["a", "b"])
    'a' is no number. Give each text one
rg.tensor([[1.0, 2.0], [3.0]])
    length 2 at dim 1 (got 1): rows are equally long. Pad them
nn.Linear(2, 2)(rg.ones(1, 2, dtype=rg.complex64))
    The weight is real, the input complex. Make the weight complex, too: layer.to(
rg.ones(2, dtype=rg.complex64, requires_grad=True).sum().backward()
    Give the cotangent, or take y.abs() or y.real first
rg.ones(3).sum().backward()
    with requires_grad=True
with rg.no_grad(): loss = nn.Linear(2, 1)(rg.ones(2)).sum()\nloss.backward()
    Compute it outside no_grad()
(x * 2).backward()
    has shape [3]. Reduce it first (y.sum().backward())
y = (x * x).sum(); y.backward(); y.backward()
    keep it the first time: y.backward(retain_graph=True)
x -= 0.1
    with retrograd.no_grad(): x -= value
y = x.exp(); y += 1; y.sum().backward()
    Write out of place: y = y + value for y += value
y = x * 2; y.sum().backward(); y.grad
    use .retain_grad() on the non-leaf Tensor
x.numpy()
    Use tensor.detach().numpy() instead
rg.ones(3).item()
    Reduce it first (x.sum().item())
bool(rg.ones(3) > 0)
    Use x.any() or x.all()
rg.ones(3, device="cuda")
    Leave the device argument out, or write device='cpu'
rg.ones(3, device="gpu")
    Tensors live on the cpu: leave the device away
rg.optim.Adam(nn.Linear(2, 2))
    Write Adam(model.parameters())
rg.optim.SGD(nn.Linear(2, 2).parameters, lr=0.1)
    Write SGD(model.parameters())
rg.optim.SGD([], lr=0.1)
    Layers in a plain list are not seen: put them into nn.ModuleList
rg.conv2D
    Did you mean: 'conv2d'?
nn.Liner(2, 2)
    Did you mean: 'Linear'?
nn.Relu()
    Did you mean: 'ReLU'?
nn.linear(2, 2)
    Did you mean: 'Linear'?
rg.Relu()
    Did you mean: 'nn.ReLU'?
rg.optim.Sgd
    Did you mean: 'SGD'?
rg.optim.lr_scheduler.StepLr
    Did you mean: 'StepLR'?
nn.functional.mse
    Did you mean: 'mse_loss'?
nn.CrossEntropyLoss()(rg.ones(2, 3), rg.ones(2, 3).long())
    Give class numbers, as target.argmax(1) of one-hot targets, or probabilities: target.float()
rg.autograd.grad((x.clone() * 2).sum(), x.clone())
    compute the outputs from this tensor itself: a copy of it is another tensor
rg.ones(3).sum(axes=0)
    Did you mean 'dim'?
rg.softmax(rg.ones(3))
    For scores in the last dimension: softmax(x, dim=-1)
rg.where(rg.ones(3) > 0, "a", 1)
    argument 'input' (position 2) must be Tensor or Number, not str
nn.CrossEntropyLoss(rg.ones(2, 3), rg.tensor([0, 1]))
    CrossEntropyLoss()(input, target)
F.cross_entropy(rg.ones(2, 3), rg.tensor([0.0, 1.0]))
    Convert the class indices: target.long()
F.cross_entropy(rg.ones(2, 3), rg.tensor([0, 3]))
    Target 3 is out of bounds. Classes count from 0 to 2
F.cross_entropy(rg.ones(2, 3), rg.tensor([0, 1, 2]))
    The input is [2, 3] and the target [3]: it has one class for each row
F.cross_entropy(rg.ones(2, 3), rg.tensor([[0], [1]]))
    the target is [2, 1], and has one class for each row. Write target.squeeze(1)
F.binary_cross_entropy(rg.full((2, 1), 0.5), rg.ones(2))
    target.view_as(input) where it has as many elements
F.mse_loss(rg.ones(4, 1), rg.ones(4))
    target.view_as(input) where it has as many elements, or input.squeeze(dim)
nn.Linear(2, 2).load_state_dict({"w": rg.ones(2, 2), "bias": rg.ones(2)})
    rename them: "w" for "weight"
nn.Linear(1, 1).load_state_dict({"module.weight": x, "module.bias": x})
    All keys have "module." before them
nn.Linear(2, 2).load_state_dict(nn.Linear(3, 2).state_dict())
    Build the module with the sizes of the state
nn.Linear(2, 2).load_state_dict(nn.Linear(2, 2))
    Give the state of a module, model.state_dict()
NET super().__init__()\nNet()(x)
    Define it in class Net, indented like __init__: def forward(self, x): ...
NET self.layer = nn.ReLU()\nNet()
    Begin __init__ with super().__init__()
nn.Sequential([nn.ReLU()])
    nn.Sequential(*layers)
nn.Embedding(5, 2)(rg.tensor([1, 7]))
    run from 1 to 7, and weight has 5 rows, which count from 0. Make them num_embeddings=8
list(rg.utils.data.DataLoader([rg.ones(2), rg.ones(3)], batch_size=2))
    DataLoader(..., collate_fn=...)
DATA rg.utils.data.DataLoader(Data(), shuffle=True)
    Define __len__(self) in class Data
with rg.GradientTape() as tape: tape.watch(x); y = x * x\ntape.gradient(y, x); tape.gradient(y, x)
    GradientTape(persistent=True)
with rg.GradientTape() as tape: tape.watch(x); y = x.sum().item()\ntape.gradient(y, x)
    Give the tensor itself: .item()
rg.GradientTape().watch(x)
    Do it inside the tape's context: with GradientTape() as tape: ...
rg.optim.Adam([x * 2])
    it was computed from others
rg.optim.lr_scheduler.StepLR(nn.ReLU(), 1)
    Give the optimizer whose rate it sets, as StepLR(optimizer, step_size=10)
nn.utils.clip_grad_norm_(nn.Linear(2, 2), 1.0)
    Write clip_grad_norm_(model.parameters(), max_norm)
nn.LSTM(4, 8)(rg.ones(5, 2, 3))
    The input is [5, 2, 3], and its last size is that of one step: make it LSTM(3, 8)
nn.BatchNorm1d(3)(rg.ones(1, 3))
    to predict, model.eval()
rg.mean([1.0, 2.0])
    Make it one: retrograd.tensor(input)
rg.vmap(lambda a, b: a + b)(rg.ones(3), rg.ones(4))
    What is no batch has None in in_dims
x.sum().item().backward()
    'float' object has no attribute 'backward'
x.grad.zero_()
    'NoneType' object has no attribute 'zero_'
x.sun()
    'Tensor' object has no attribute 'sun'
nn.Linear(2, 2).weigth
    'Linear' object has no attribute 'weigth'
nn.Linear(2, 2)(x, x)
    Linear.forward() takes 2 positional arguments but 3 were given
rg.optim.SGD([x], lrr=0.1)
    SGD.__init__() got an unexpected keyword argument 'lrr'
"""
ROWS = [row.split("\n    ") for row in re.findall(r"\S.*\n    .*", PROGRAMS)]


@pytest.mark.parametrize(("program", "phrase"), ROWS, ids=[row[0][:60] for row in ROWS])
def test_the_message_says(program, phrase):
    code = program.replace(r"\n", "\n").replace("NET ", NET).replace("DATA ", DATA)
    known = {"rg": rg, "nn": rg.nn, "F": rg.nn.functional, "x": rg.ones(3, requires_grad=True)}
    with pytest.raises(Exception) as caught:  # noqa: PT011 (of any type)
        exec(code, known)
    assert phrase in str(caught.value)

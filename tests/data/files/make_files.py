"""Writes the reference files of `tests/serialization`: `TORCH_PYTHON make_files.py`.

Small files by PyTorch 2.13, and one by the library safetensors 0.8; the values in them are stated
in the tests.
"""

import collections
import pickle
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

HERE = Path(__file__).parent
DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.bfloat16),
    *(torch.float32, torch.float64, torch.complex64, torch.complex128),
]


def save(obj, name, **settings):
    torch.save(obj, HERE / name, **settings)


def ramp(dtype):
    return torch.tensor([0, 1, 1, 0, 3] if dtype != torch.bool else [0, 1, 1, 0, 1]).to(dtype)


def views():
    x = torch.arange(12.0).reshape(3, 4)
    z = torch.tensor([1 + 2j, 3 - 1j])
    return {
        "whole": x,
        "row": x[1],
        "columns": x[:, 1::2],
        "turned": x.t(),
        "expanded": torch.tensor([5.0]).expand(3),
        "empty": torch.empty(0, 3),
        "number": torch.tensor(7),
        "conj": z.conj(),
        "imag of conj": (2 * z).conj().imag,
        "leaf": torch.ones(2, requires_grad=True),
        "same": x,
    }


def containers():
    tagged = torch.ones(1)
    tagged.unit = "m"
    parameter = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    tagged_parameter = torch.nn.Parameter(torch.tensor([3.0]), requires_grad=False)
    tagged_parameter.kind = {"bias": True}
    return {
        "parameter": parameter,
        "tagged parameter": tagged_parameter,
        "buffer": torch.nn.Buffer(torch.ones(1)),
        "tagged": tagged,
        "size": torch.Size([2, 3]),
        "dtype": [torch.float32, torch.uint16, torch.bfloat16],
        "device": [torch.device("cpu"), torch.device("cuda", 1)],
        "layout": torch.strided,
        "ordered": collections.OrderedDict([("b", 1), ("a", (2, [3, {4: 5}]))]),
        "counter": collections.Counter("abba"),
        "plain": [None, True, -3, 2**80, 1.5, "text €", b"\0\xff", bytearray(b"x"), 1j, {1}],
        "frozen": frozenset([2]),
    }


def trained():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 1, 5])
    x = torch.arange(12.0).reshape(4, 3) / 10
    for _ in range(2):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()
        schedule.step()
    model.eval()
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "input": x,
        "output": model(x).detach(),
    }, model


def sparse():
    indices, values = torch.tensor([[1, 0, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])
    twice = torch.sparse_coo_tensor(indices, values, (2, 3))
    whole = twice.coalesce()
    return {
        "twice": twice,
        "whole": whole,
        "rows": whole.to_sparse_csr(),
        "columns": whole.to_sparse_csc(),
        "parameter": torch.nn.Parameter(whole),
    }


class Scripted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(2, 2)
        self.register_buffer("steps", torch.arange(3))
        self.sizes = [1, 2]

    def forward(self, x):
        return self.first(x) * self.steps.sum() if x.sum() > 0 else x


def main():
    save({str(dtype)[6:]: ramp(dtype) for dtype in DTYPES}, "dtypes.pt")
    save(views(), "views.pt")
    save(sparse(), "sparse.pt")
    save(containers(), "containers.pt")
    save(containers(), "protocol5.pt", pickle_protocol=5)
    checkpoint, model = trained()
    save(checkpoint, "checkpoint.pt")
    save(model, "module.pt")
    attention = torch.nn.MultiheadAttention(2, 1, bias=False)
    optimizer = torch.optim.SGD(attention.parameters(), lr=1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    save({"attention": attention, "optimizer": optimizer, "schedule": schedule}, "objects.pt")
    typed = {str(dtype)[6:]: ramp(dtype) for dtype in DTYPES}
    save({**views(), **typed}, "legacy.pt", _use_new_zipfile_serialization=False)
    save({"array": np.arange(6).reshape(2, 3), "number": np.float32(1.5)}, "numpy.pt")
    torch.manual_seed(0)
    torch.jit.script(Scripted()).save(str(HERE / "scripted.pt"))
    torch.serialization.set_crc32_options(False)
    save(torch.arange(3), "unchecked.pt")
    shared = torch.arange(6.0).reshape(2, 3)
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.note = 3
    turned = torch.tensor([1 + 2j]).conj()
    plain = {
        "views": (shared, shared.T),
        "parameter": parameter,
        "turned": (turned, turned.imag),
        "module": torch.nn.Linear(2, 1).requires_grad_(False),
    }
    (HERE / "plain.pickle").write_bytes(pickle.dumps(plain))
    tensors = {str(dtype)[6:]: ramp(dtype) for dtype in DTYPES if dtype != torch.complex128}
    save_file(
        {**tensors, "matrix": torch.arange(6.0).reshape(2, 3)}, HERE / "x.safetensors", {"a": "b"}
    )


if __name__ == "__main__":
    main()

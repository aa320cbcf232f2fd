"""PyTorch's names for what nodes save, where a record calls it something else.

`grad_fn._saved_<name>` by op: the record's own name, or a function of the node. The names of inputs
(the first of which is `self`), outputs (`result`), parameters and shapes (`self_sym_sizes`) follow
from the record, and need no line here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...engine.saved import PYTORCH_NAMES, SavedTensor
from ...engine.tensor import new_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...engine.graph import Node


def param(node: Node, name: str) -> Any:
    """The value of a parameter that a node keeps."""
    return node.params[node.op.facts.index(name)]


def only_entry(name: str) -> Callable[[Node], Any]:
    """The only entry of a parameter that is a tuple here and a number in PyTorch."""
    return lambda node: param(node, name)[0] if len(param(node, name)) == 1 else param(node, name)


def chosen_entry(node: Node) -> tuple[int, Any]:
    """(dimension, entry) of what a basic index chooses: its first entry that is not all."""
    index = param(node, "index")
    for dim, entry in enumerate(index):
        if entry is None or entry != slice(None):
            return dim, entry
    return 0, slice(None)


def slice_part(name: str, default: int) -> Callable[[Node], int]:
    """A function that reads the start, stop or step of a slice off a node."""

    def read(node: Node) -> int:
        value = getattr(chosen_entry(node)[1], name)
        return default if value is None else value

    return read


def index_tensors(node: Any) -> tuple[Any, ...]:
    """For each dimension the index tensor that was given for it, or None."""
    dims, index = param(node, "dims"), node._saved_index
    rows = [index] if len(dims) == 1 else [new_tensor(row) for row in index._array]
    found = dict(zip(dims, rows, strict=True))
    return tuple([found.get(dim) for dim in range(max(dims) + 1)])


def index_handles(node: Any) -> tuple[SavedTensor, ...]:
    """For each dimension the handle to what was given for it; several share what is saved."""
    dims, place = param(node, "dims"), node.op.saves.index("index")
    return tuple([SavedTensor(node, place if d in dims else None) for d in range(max(dims) + 1)])


def pad_widths(node: Node) -> tuple[int, ...]:
    """The widths as PyTorch's `pad` takes them: last dimension first, none that is 0 throughout."""
    widths = [*param(node, "widths")]
    while widths and widths[0] == (0, 0):
        widths.pop(0)
    return tuple([width for pair in reversed(widths) for width in pair])


def inverse_deviation(node: Any) -> Any:
    """1 / sqrt(var + eps), which PyTorch's normalisations keep in place of the variance."""
    return (node._saved_var + param(node, "eps")).rsqrt()


def with_ones(node: Node) -> tuple[int, ...]:
    """The shape that the input of a squeeze had."""
    shape = list(node.shape)
    for dim in param(node, "dims"):
        shape.insert(dim, 1)
    return tuple(shape)


def constant(value: Any) -> Callable[[Node], Any]:
    """The value of a setting that the record has no other one for."""
    return lambda node: value


END = 2**63 - 1
NUMEL = {"self_sym_numel": lambda node: math.prod(param(node, "input_shape"))}
REDUCTIONS = ("none", "mean", "sum")  # PyTorch's numbers of them
POSITION = {"dim": lambda node: chosen_entry(node)[0], "index": lambda node: chosen_entry(node)[1]}
REDUCED: dict[str, Any] = {"dim": only_entry("dim")}

PYTORCH_NAMES.update(
    add={"alpha": constant(1)},
    as_strided={"storage_offset": "offset"},
    avg_pool={
        "kernel_size": "kernel", "count_include_pad": "count_pad", "divisor_override": "divisor",
    },
    cdist={"x1": "x1"},
    cholesky_ex={"L": "out"},
    col2im={"kernel_size": "kernel"},
    constant_pad_nd={"pad": pad_widths},
    conv={
        "input": "input",
        "padding": lambda node: tuple(a for a, _ in param(node, "padding")),
        "output_padding": lambda node: (0,) * len(param(node, "stride")),
        "transposed": constant(False),
    },
    det={"A": "input"},
    dot={"tensor": "other"},
    eigh={"eigenvalues": "values", "eigenvectors": "vectors"},
    embedding={
        "scale_grad_by_freq": "by_frequency",
        "padding_idx": lambda node: -1 if param(node, "skip") is None else param(node, "skip"),
        "sparse": constant(False),
        "weight_sym_argsize_0": lambda node: param(node, "weight_shape")[0],
    },
    gelu={"approximate": constant("none")},
    gelu_tanh={"approximate": constant("tanh")},
    im2col={"kernel_size": "kernel"},
    index={"indices": (index_tensors, index_handles)},
    inv_ex={"inverse": "out"},
    kthvalue=REDUCED,
    linear={
        "alpha": constant(1),
        "beta": constant(1),
        "mat1": "input",
        "mat2": lambda node: None if node._saved_weight is None else node._saved_weight.t(),
    },
    log_softmax=REDUCED,
    masked_scale={
        "other": lambda node: node._saved_mask * param(node, "scale"), "self": constant(None),
    },
    matmul={"mat2": "other"},
    max_dim=REDUCED,
    max_pool={"kernel_size": "kernel", "result1": "indices"},
    mean=NUMEL,
    mean_dim=NUMEL,
    median_dim=REDUCED,
    min_dim=REDUCED,
    mode=REDUCED,
    mse_loss={"reduction": lambda node: REDUCTIONS.index(param(node, "reduction"))},
    native_batch_norm={
        "input": "input",
        "result1": lambda node: node._saved_mean.flatten(),
        "result2": lambda node: inverse_deviation(node).flatten(),
        "training": constant(True),
    },
    native_layer_norm={
        "input": "input",
        "normalized_shape": lambda node: tuple(
            node._saved_input.shape[-len(param(node, "dim")) :]
        ),
        "result1": "mean",
        "result2": inverse_deviation,
    },
    new_axis={"dim": POSITION["dim"]},
    pow_base={"self": "base", "exponent": "exponent"},
    prod_dim=REDUCED,
    qr={"Q": "q", "R": "r"},
    select=POSITION,
    split={"split_sizes": "sizes", "split_size": lambda node: param(node, "sizes")[0]},
    slice={
        "dim": POSITION["dim"],
        "start": slice_part("start", 0),
        "end": slice_part("stop", END),
        "step": slice_part("step", 1),
    },
    softmax=REDUCED,
    solve_ex={"A": "input"},
    squeeze={"dim": only_entry("dims"), "self_sym_sizes": with_ones},
    sub={"alpha": constant(1)},
    svd={"U": "u", "S": "s", "Vh": "vh"},
    unfold={"dimension": "dim"},
    unsqueeze={"dim": only_entry("dims")},
    where={"condition": "condition"},
)  # fmt: skip

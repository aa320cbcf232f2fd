"""A few small calls of every op that PyTorch describes for its own tests, and its results.

With PyTorch 2.13 installed, this writes `ops.json` and `ops.npz`; `ops_format.py` says their form.

    python make_ops.py

The calls are PyTorch's sample inputs for float32, float64 and complex128 (int64 for ops that take
none of these): those of few elements, and of these the first that differ in their number of
dimensions or in their arguments. The numbers of inputs are rounded to twelve bits, since those
compress better.
"""

import itertools
import json
import warnings
import zlib

import numpy as np
import torch
from ops_format import HERE, LETTER, LETTERS, run, tensors
from torch.testing._internal import common_methods_invocations as samples_of
from torch.testing._internal import opinfo

DTYPES = (torch.float32, torch.float64, torch.complex128)
MOST = 96  # elements of all arrays of a call
AT_ALL = 1500  # where none is as small: then one call is taken
CALLS = 4  # of an op in one dtype
LOOKED_AT = 60  # samples

# PyTorch's samples measure S to L; smaller ones say as much.
for module in (samples_of, opinfo.core, *vars(opinfo.definitions).values()):
    for name, size in {"S": 3, "M": 4, "L": 5}.items():
        if isinstance(getattr(module, name, None), int):
            setattr(module, name, size)

# What has no public name of its own, and what is not of strided arrays on a CPU.
PRIVATE = ("_batch", "_chunk", "_native", "_segment", "_softmax", "_unsafe", "_upsample", "hash_",
           "jiterator", "max_pool2d_with_indices_backward", "native_dropout_backward",
           "sparse", "to_sparse", "torch.")  # fmt: skip

# Variants, or ops altogether, whose calls are not stored, and why.
OMITTED = {
    "as_strided|partial_views": "its samples are views of larger memory, which text cannot say",
    "linalg.pinv|singular": "its samples are the factors of the argument, not the argument",
    "logcumsumexp|complex128": "PyTorch's imaginary part is not always principal (differences)",
    **dict.fromkeys(
        [f"nn.functional.max_unpool{n}d|" for n in (1, 2, 3)],
        "PyTorch keeps any of the values of one index, Retrograd adds them (differences)",
    ),
    **dict.fromkeys(
        ["grid_sampler_2d", "grid_sampler_3d", "native_batch_norm", "native_group_norm",
         "native_layer_norm"],
        "the kernel under a function of nn.functional, which has calls of its own",
    ),
    "pca_lowrank": "approximate: a random projection decides on the result",
    "svd_lowrank": "approximate: a random projection decides on the result",
    "chalf": "NumPy has no complex numbers of two half floats",
}  # fmt: skip

# Ops whose values count but not their gradients, and why.
WITHOUT_GRADIENTS = {
    "as_strided_scatter": "PyTorch's gradient of `input` is not 0 where `src` replaced it",
    "cholesky_inverse": "PyTorch's gradient is not 0 on the triangle that is not read",
    "cholesky_solve": "PyTorch's gradient is not 0 on the triangle that is not read",
    **dict.fromkeys(
        ["cholesky|complex128", "linalg.cholesky|complex128", "linalg.cholesky_ex|complex128",
         "linalg.pinv|hermitian"],
        "PyTorch adds an anti-Hermitian part, which no step among Hermitian matrices sees",
    ),
}  # fmt: skip

# Factors up to the phase of each column, which no definition fixes.
UP_TO_PHASE = {"linalg.eig", "linalg.eigh", "linalg.svd", "svd"}

RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential",
    "geometric", "log_normal", "multinomial", "new_empty",
    "new_empty_strided", "nn.functional.multi_head_attention_forward",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "uniform",
}  # fmt: skip

# -- a sample as an expression -------------------------------------------------------------------


class NoText(Exception):
    """A sample has something that the expression of a call cannot say."""


def text(value, inputs):
    """A Python expression for an argument; tensors join `inputs` and become their names there."""
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or dtype_name(value) not in LETTER:
            raise NoText
        places = [i for i, t in enumerate(inputs) if t is value]
        if not places:
            inputs.append(value)
        return f"x{places[0] if places else len(inputs) - 1}"
    if isinstance(value, (list, tuple)):
        parts = [text(part, inputs) for part in value]
        if isinstance(value, list):
            return f"[{', '.join(parts)}]"
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if isinstance(value, (torch.dtype, torch.layout)):
        return str(value).replace("torch.", "lib.")
    if isinstance(value, torch.device):
        return repr(str(value))
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str, slice, type(...))):
        return repr(value)
    raise NoText


def dtype_name(t):
    """`float64` for torch.float64."""
    return str(t.dtype).removeprefix("torch.")


def expressions(op, sample):
    """The forms that a call of the sample may take, and its inputs."""
    inputs = []
    args = [text(value, inputs) for value in (sample.input, *sample.args)]
    args += [f"{key}={text(value, inputs)}" for key, value in sample.kwargs.items()
             if key != "memory_format"]  # fmt: skip
    first, rest = args[0], ", ".join(args[1:])
    name = op.name
    forms = [f"lib.{name}({', '.join(order)})" for order in (args, args[1::-1] + args[2:])]
    if name.startswith("nn.functional.embedding"):  # the sample has the table first
        forms = forms[1:]
    if first == "x0" and "." not in name:
        methods = [
            f"x0.{name}({rest})",
            f"x0.clone().{name}({rest})",
            f"x0.clone().{name}_({rest})",
        ]
        forms = methods if name.endswith("_") else forms + methods
        forms += [f"x0.{name}"] if not rest else []
        forms += [f"x0.__rtruediv__({rest})"] if name == "__rdiv__" else []
    if name in UP_TO_PHASE:
        forms = [f"magnitudes({form})" for form in forms]
    return forms, inputs


def rounded(t, bits=12):
    """The tensor with that many bits of mantissa, contiguous; in place of the original."""
    values = t.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    if values.dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        values = torch.from_numpy(trimmed(values.numpy(), bits))
    return values.requires_grad_(t.requires_grad)


def trimmed(array, bits):
    """An array of float or complex numbers, all with `bits` bits of mantissa."""
    real = np.array(array).reshape(-1).view(array.real.dtype)
    mantissa, exponent = np.frexp(real)
    kept = np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits)
    return np.where(np.isfinite(real), kept, real).view(array.dtype).reshape(array.shape)


# -- a call and its results ----------------------------------------------------------------------


def recorded(op, sample, gradients):
    """A call with its results, or None if PyTorch refuses it."""
    try:
        forms, inputs = expressions(op, sample)
    except NoText:
        return None
    inputs = [rounded(t) for t in inputs]
    if sum(t.numel() for t in inputs) > AT_ALL:
        return None
    for form in forms:
        for derivatives in (True, False):
            given = [t.detach().clone().requires_grad_(derivatives and t.requires_grad)
                     for t in inputs]  # fmt: skip
            try:
                torch.manual_seed(0)
                value, grads = run(torch, form, given, derivatives and gradients)
                if not plain(value):
                    raise TypeError
            except Exception:  # whatever PyTorch says, this form is none
                continue
            again = [t.detach().clone() for t in given]
            return (
                form,
                [(t, g.requires_grad) for t, g in zip(again, given, strict=True)],
                value,
                grads,
            )
    return None


def plain(value):
    """Whether a result is made of strided tensors and simple values."""
    if isinstance(value, (list, tuple)):
        return all(plain(part) for part in value)
    if isinstance(value, torch.Tensor):
        return value.layout == torch.strided and dtype_name(value) in LETTER
    return isinstance(value, (bool, int, float, complex, str, torch.dtype, torch.Size))


def size_of(call):
    """The number of elements of all arrays of a call."""
    _, inputs, value, grads = call
    arrays = [t for t, _ in inputs] + tensors(value) + [g for g in grads or () if g is not None]
    return sum(t.numel() for t in arrays)


def kind_of(call):
    """What tells samples apart: the expression, and the ranks of the arrays."""
    form, inputs, _, _ = call
    return form, tuple(t.ndim for t, _ in inputs)


def chosen(op, dtype):
    """Up to CALLS calls of an op in a dtype: small ones, and as different as they come."""
    torch.manual_seed(zlib.crc32(f"{op.name}{op.variant_test_name}{dtype}".encode()))
    derivatives = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    compared = op.name not in RANDOM and not reason(WITHOUT_GRADIENTS, op, dtype)
    found, kinds, empty, large = [], set(), 0, []
    stream = op.sample_inputs("cpu", dtype, requires_grad=derivatives)
    for _ in range(LOOKED_AT):
        try:
            sample = next(stream)
        except Exception:  # no more samples, or none of this size
            break
        call = recorded(op, sample, compared)
        if call is None or kind_of(call) in kinds or size_of(call) > AT_ALL:
            continue
        if size_of(call) > MOST:
            large.append(call)
            continue
        if size_of(call) == 0 and (empty := empty + 1) > 1:
            continue
        kinds.add(kind_of(call))
        found.append(call)
    found.sort(key=lambda call: (call[3] is None, size_of(call) < 4))
    return found[:CALLS] or sorted(large, key=size_of)[:1]


# -- storing -------------------------------------------------------------------------------------


class Pools:
    """The numbers of all arrays, by dtype."""

    def __init__(self):
        self.parts = {letter: [] for letter in LETTERS}

    def add(self, t):
        """Append a tensor's numbers; return its description."""
        letter = LETTER[dtype_name(t)]
        t = t.detach().resolve_conj().resolve_neg()
        array = (t.float() if letter == "E" else t).numpy(force=True)
        self.parts[letter].append(array.reshape(-1))
        return described(t)

    def write(self):
        """Store each pool byte by byte: first bytes, second bytes ..., which compress well."""
        whole = {LETTERS[k]: np.concatenate(v) for k, v in self.parts.items() if v}
        planes = {
            name: pool.view(np.uint8).reshape(-1, pool.dtype.itemsize).T
            for name, pool in whole.items()
        }
        np.savez_compressed(HERE / "ops.npz", **planes)


def described(t):
    """`d3x2` for float64 of shape (3, 2)."""
    return LETTER[dtype_name(t)] + "x".join(str(n) for n in t.shape)


def stored(call, pools, random):
    """A call in the form of the index."""
    form, inputs, value, grads = call
    line = [form, [pools.add(t) + "*" * wanted for t, wanted in inputs]]
    outs = tensors(value)
    if not outs:
        line.append([f"= {tuple(value) if isinstance(value, tuple) else value!r}"])
    else:
        line.append(["~" + described(t) if random else pools.add(t) for t in outs])
    if grads is not None:
        line.append(["0" if g is None else pools.add(g) for g in grads])
    return line


def main():
    """Write both files."""
    warnings.filterwarnings("ignore")
    pools, index = Pools(), {}
    ops = [op for op in samples_of.op_db if not op.name.startswith(PRIVATE) and op.name != "slice"]
    for name, group in itertools.groupby(sorted(ops, key=name_of), key=name_of):
        for op, kind in [(each, kind) for each in group for kind in dtypes_of(each)]:
            if reason(OMITTED, op, kind):
                continue
            calls = [stored(call, pools, name in RANDOM) for call in chosen(op, kind)]
            index.setdefault(name, []).extend(calls)
            if not calls:
                print("no call of", name, op.variant_test_name, kind)  # noqa: T201
    pools.write()
    lines = [f" {json.dumps(name)}: [\n  " + ",\n  ".join(json.dumps(c) for c in calls) + "]"
             for name, calls in index.items() if calls]  # fmt: skip
    (HERE / "ops.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def dtypes_of(op):
    """The dtypes in which an op is called: int64 if it takes none of the others."""
    taken = [kind for kind in (*DTYPES, torch.int64) if op.supports_dtype(kind, "cpu")]
    return [kind for kind in taken if kind in DTYPES] or taken


def reason(table, op, dtype):
    """Why the table names an op: with its variant, with a dtype, or altogether."""
    ends = ("", f"|{op.variant_test_name}", "|" + str(dtype).removeprefix("torch."))
    return next((table[op.name + end] for end in ends if op.name + end in table), None)


def name_of(op):
    """An op's name, shared by its variants."""
    return op.name


if __name__ == "__main__":
    main()

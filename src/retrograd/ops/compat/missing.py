"""Why some names of PyTorch are not here: what an AttributeError for them says.

The page on ops lists the same reasons: docs/ops_template.md.
"""

from __future__ import annotations

import re

# (pattern of whole names, why, and what to write instead)
REASONS = [
    (
        r"hspmm|hsmm|smm|sspaddmm|saddmm|\w*_indices_copy|indices_copy"
        r"|values_copy|resize_as_sparse_|sparse_resize\w*|sparse_(bsr|bsc|compressed)\w*"
        r"|to_sparse_bs[rc]|spsolve|SparseSemi\w*|to_sparse_semi\w*",
        "sparse tensors are of coordinates, of rows or of columns, and nothing is written into "
        "them. Use sparse_coo_tensor, sparse_csr_tensor and sparse.mm",
    ),
    (
        r"nested|jagged|to_padded_tensor",
        "there are no jagged tensors: an array is one strided block of memory, as "
        "NumPy's are. Keep the data dense; sums over groups are scatter_add and segment_reduce",
    ),
    (
        r"q(u?int|scheme|_)\w*|quint\w*|quanti[sz]\w*|dequantize|fake_quant\w*|fbgemm\w*|per_channel\w*"
        r"|per_tensor\w*|int_repr|choose_qparams\w*|fused_moving\w*|empty_quantized|ao",
        "NumPy has no quantized dtypes. Compute in float32, or in an integer dtype with a scale",
    ),
    (
        r"float8_e8m0fnu|float4\w*|bits\w*|u?int[1-7]|bit|scaled_(grouped_)?mm|grouped_mm",
        "NumPy has no such dtype. Use float16, uint8 or complex64",
    ),
    (
        r"cudnn_\w*|miopen_\w*|mkldnn_\w*|batch_norm_\w+|native_norm|xpu|mtia"
        r"|Event|to_mkldnn|record_stream|ipu",
        "there are no accelerators: arrays are in the memory of the CPU. Call the function of "
        "nn.functional, and leave devices out",
    ),
    (
        r"export|fork|wait|parse_\w*|import_ir\w*|sym_\w*|cond|while_loop"
        r"|Script(?!Function$|Module$)\w*|(?!DeviceObj)\w+Type|Graph|dynamo|package",
        "Python itself is the program, recorded as it runs. Write if, while, int() and max(); call "
        "the function without compiling it",
    ),
    (
        r"\w+_autocast_(ipu|xla|gpu)_\w+",
        "there is no such device. Ask about the cpu: get_autocast_dtype('cpu')",
    ),
    (
        r"\w*init_num_threads",
        "threads need no preparation. Use retrograd.set_num_threads",
    ),
    (
        r"\w+_object|\w+_object_list",
        "objects would be pickled, and who unpickles runs the sender's code. Send tensors",
    ),
    (
        r"new_group|new_subgroups\w*|batch_isend_irecv|P2POp|all_to_all\w*|rpc",
        "there is one group, of all processes. Use all_gather, isend and irecv",
    ),
    (
        r"Q\w+Storage|StorageBase|set_storage",
        "storages are UntypedStorage, TypedStorage and its types by dtype, such as FloatStorage",
    ),
    (
        r"\w*masked_tensor|MaskedTensor",
        "masked tensors are no class: functions of retrograd.masked take the mask as an argument",
    ),
    (
        r"\w*DataPipe|DataChunk|functional_datapipe|runtime_validation\w*|non_deterministic"
        r"|guaranteed_datapipes_determinism",
        "there are no data pipes. Use utils.data.IterableDataset and generators",
    ),
    (
        r"functionalize|debug_unwrap|rearrange|enforce_grad_layout_policy"
        r"|region_activation_memory_budget|\w*torch_function\w*|is_tensor_like",
        "it serves PyTorch's compiler. Leave it out; functions run as they are written",
    ),
    (
        r"module_load|swap_in_optimizer_params_and_state|grad_dtype|slice_inverse|hash_tensor|index",
        "it is for PyTorch's own use",
    ),
    (
        r"\w*torch_dispatch\w*|_pop_mode\w*|_push_mode|_detect_infra_mode|FakeTensor\w*",
        "it serves PyTorch's compiler. utils._python_dispatch has TorchDispatchMode, and the meta "
        "device tensors without data",
    ),
    (
        r"impl|impl_abstract|opcheck|register_vmap|register_torch_dispatch",
        "an operator is one function, which runs on every device, under vmap once per example. "
        "Write library.custom_op, and check its gradient by autograd.gradcheck",
    ),
    (
        r"Fuzzer|FuzzedParameter|FuzzedTensor|FuzzedSparseTensor|ParameterAlias",
        "what is measured comes from the program. Make inputs by testing.make_tensor",
    ),
    (
        r"emit_itt|load_nvprof|parse_nvprof_trace",
        "they mark ops for profilers of accelerators, of which there are none. Use "
        "autograd.profiler.profile, and its export_chrome_trace",
    ),
    (r"BFloat16(Tensor|Storage)", "write x.bfloat16()"),
    (
        r"cpp_extension|load_inline|CppExtension|CUDAExtension|BuildExtension",
        "there is no C++ library to build against. Write an autograd.Function on NumPy arrays, and "
        "call C from it by ctypes, cffi, Cython or Numba",
    ),
]


def reason(name: str) -> str:
    """Why the package has no `name`, as the end of a sentence; empty where nothing is known."""
    for pattern, why in REASONS:
        if re.fullmatch(pattern, name):
            return f": {why}"
    return ""

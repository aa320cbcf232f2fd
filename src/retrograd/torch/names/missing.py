"""Why some names of PyTorch are not here: what an AttributeError for them says.

The page on ops lists the same reasons: docs/ops_template.md.
"""

from __future__ import annotations

import re

from ...dtypes.placeholders import QUANTIZED

SHARED = {  # reasons that stand in several rows, by the words that do
    "ACCELERATORS": "there are no accelerators: arrays are in the memory of the CPU. Call the "
    "function of nn.functional, and leave devices out",
    "CPP": "it belongs to PyTorch's C++ side, of which nothing is here. Use what the documentation "
    "of PyTorch shows of it in Python",
    "PYTHON": "Python itself is the program, recorded as it runs. Write if, while, int() and "
    "max(); call the function without compiling it",
    "QUANTIZED": QUANTIZED,
    "RPC": "objects would be pickled, and who unpickles runs the sender's code. Send tensors by "
    "distributed.send, broadcast and all_gather",
}


def read(table: str) -> list[tuple[str, str]]:
    """The rows of a table: what matches its patterns, and the reason, which is below them."""
    rows = re.findall(r"((?:^\S.*\n)+)((?:^ .*\n)+)", table, re.MULTILINE)
    told = [("|".join(patterns.split()), " ".join(why.split())) for patterns, why in rows]
    return [(patterns, SHARED.get(why, why)) for patterns, why in told]


# Patterns of places in PyTorch, with all that is in them; below, why, and what to write instead.
PLACES = read(r"""
ao\.pruning
    its masks are for quantized models. Use nn.utils.prune
ao quantization nn\.(intrinsic|qat|quantizable|quantized) jit\.quantized
    QUANTIZED
cuda accelerator backends cpu mps mtia xpu numa profiler\.itt utils\.mkldnn nn\.parallel\.comm
utils\.backend_registration utils\.hipify nn\.attention sparse\.semi_structured
distributed\.constants\.default_pg_nccl_timeout
distributed\.distributed_c10d\.get_default_backend_for_device serialization\.validate_\w+
    ACCELERATORS
jit\.(save|load|ScriptModule\.(save|save_to_buffer))
    programs are not written to files. Save the state by save(model.state_dict(), path), make
    the module again, and load that by load_state_dict
_dynamo _export _higher_order_ops nativert _inductor compiler monitor package jit nn\.cpp cpp
utils\.(jit|mobile_optimizer|model_dump|bundled_inputs|cpp_backtrace|debug_log|show_pickle)
utils\.(throughput_benchmark|set_module)
utils\.benchmark\.utils\.(compile|cpp_jit|valgrind_wrapper|timer\.Language)
fx\.(config|annotate|operator_schemas|tensor_type|graph_module|proxy|traceback) fx\.experimental
fx\.passes\.(backends|fake_tensor_prop|regional\w*|reinplace|runtime_\w+)
overrides\.redispatch_function library\.(get_kernel|fallthrough_kernel)
    PYTHON
export
    a program is saved, loaded, taken apart and run, and no more: see ExportedProgram
fx\.passes
    of the passes over graphs, ShapeProp and split_module are here. Write others as functions of
    a module, by Graph's methods, fx.Interpreter or fx.Transformer, and call them in turn
return_types
    results that are written to out= are of the types without _out, such as return_types.max
multiprocessing\.(reductions|pool|queue)
    tensors go to other processes as they are. Use retrograd.multiprocessing as Python's
    multiprocessing
onnx\.symbolic_opset\d+ onnx\.(ops|testing|utils|verification|errors)
onnx\.(ExportableModule|InputObserver|ONNXProgram)
    what is exported is a file, by retrograd.onnx.export. Run it by onnxruntime
serialization types\.Storage
    a file is written whole and its checksums are compared. Use save, load and
    serialization.safe_globals
autograd\.gradcheck
    autograd.gradcheck and gradgradcheck say what differs. Jacobians are those of func.jacrev
autograd\.(profiler\w*|function|graph) profiler
    it is for PyTorch's own use. Read a profile by key_averages(), events() and
    export_chrome_trace()
utils\.data\.(datapipes|graph|graph_settings|backward_compatibility)
    there are no data pipes. Use utils.data.IterableDataset and generators
utils\.benchmark
    Timer, Measurement and Compare are here; their helpers are not. Write them in Python
utils\.(collect_env|file_baton|backcompat|hooks|flop_counter|cpp_extension)
    it tells of PyTorch's own build, or serves it. See retrograd.__config__.show()
distributed\.rpc distributed\.nn\.api distributed\.nn\.jit distributed\.remote_device
    RPC
distributed\.elastic distributed\.(launch|launcher|run|rendezvous|argparse_util)
    processes are started by retrograd launch; it ends all when one fails
distributed\.checkpoint
    checkpoints are folders in PyTorch's format, planned in one way. Use save, async_save, load
    and the functions of checkpoint.state_dict
distributed\.fsdp
    modules whose parameters are cut are made by fsdp.fully_shard. Use that
distributed\.(optim|algorithms)
    gradients are exchanged by DistributedDataParallel. Write a hook for register_comm_hook, or
    take one of ddp_comm_hooks
distributed\.(pipelining|tensor\.parallel|tensor\.debug|tensor\.experimental)
    models are cut by their parameters, not into stages. Use tensor.parallel, distribute_tensor
    and fsdp.fully_shard
distributed
    there is one way for tensors between processes. Use all_reduce, all_gather, broadcast, send
    and recv
nn\.modules\.container\.Container nn\.utils\.spectral_norm
    it is for PyTorch's own use. Derive from nn.Module; spectral_norm reads its own states
nn\.parallel
    copies of a module would go to several accelerators. Use nn.DataParallel, whose copies run
    in threads
AVG SUM AcceleratorError AliasDb Argument\w* Benchmark\w+ Block BufferDict CallStack Capsule Code
CompilationUnit CompleteArgumentSpec ConcreteModuleTypeBuilder \w+StorageContext DeepCopyMemoTable
DispatchKey\w* ErrorReport ExcludeDispatchKeyGuard ExecutionPlan FatalError (testing\.)?FileCheck
FunctionSchema Gradient GraphExecutorState IODescriptor JITException Lite\w+ LockingLogger
LoggerBase NoopLogger ModuleDict Node OperatorInfo ParameterDict PyTorchFileWriter StaticModule
ThroughputBenchmark TracingState Use Value classes \w+_type_\w+
    CPP
""")

# Patterns of whole names, wherever they are.
REASONS = read(r"""
hspmm hsmm smm sspaddmm saddmm \w*_indices_copy indices_copy values_copy resize_as_sparse_
sparse_resize\w* spsolve SparseSemi\w* to_sparse_semi\w*
    nothing is written into sparse tensors, and their products have one name. Make a new one by
    sparse_coo_tensor or sparse_compressed_tensor, and use sparse.mm and sparse.addmm
q(scheme|_)\w* quanti[sz]\w* dequantize fbgemm\w* per_channel\w* per_tensor\w* int_repr
choose_qparams\w* fused_moving\w* empty_quantized ao
    QUANTIZED
float8_e8m0fnu float4\w* bits\w* u?int[1-7] bit scaled_(grouped_)?mm grouped_mm
    NumPy has no such dtype. Use float16, uint8 or complex64
cudnn_\w* miopen_\w* mkldnn_\w* batch_norm_\w+ native_norm xpu mtia Event to_mkldnn record_stream
ipu
    ACCELERATORS
fork wait parse_\w* import_ir\w* sym_\w* Script(?!Function$|Module$)\w* (?!DeviceObj|Tensor)\w+Type
Graph dynamo package
    PYTHON
\w+_autocast_(ipu|xla)_\w+ set_autocast_gpu_dtype
    there is no such device. Ask about the cpu: get_autocast_dtype('cpu')
\w*init_num_threads
    threads need no preparation. Use retrograd.set_num_threads
\w+_object(_list)?
    RPC
new_group new_subgroups\w* batch_isend_irecv P2POp all_to_all\w* rpc
    there is one group, of all processes. Use all_gather, isend and irecv
Q\w+Storage set_storage
    storages are UntypedStorage, TypedStorage and its types by dtype, such as FloatStorage
\w*DataPipe DataChunk functional_datapipe runtime_validation\w* non_deterministic
guaranteed_datapipes_determinism
    there are no data pipes. Use utils.data.IterableDataset and generators
functionalize debug_unwrap rearrange enforce_grad_layout_policy region_activation_memory_budget
\w*torch_function\w* is_tensor_like
    it serves PyTorch's compiler. Leave it out; functions run as they are written
swap_in_optimizer_params_and_state slice_inverse hash_tensor index
    it is for PyTorch's own use
\w*torch_dispatch\w* TorchDispatchMode _pop_mode\w* _push_mode _detect_infra_mode FakeTensor\w*
    it serves PyTorch's compiler. utils._python_dispatch has TorchDispatchMode, and the meta
    device tensors without data
register_torch_dispatch
    an operator is one function, which runs on every device. Write library.custom_op
FuzzedSparseTensor
    make a dense one by FuzzedTensor, and call to_sparse()
emit_itt load_nvprof parse_nvprof_trace
    they mark ops for profilers of accelerators, of which there are none. Use
    autograd.profiler.profile, and its export_chrome_trace
thread_safe_generator autocast_decorator
    it is for PyTorch's own use. Threads of a loader share the default generator; autocast
    itself is a decorator
BFloat16(Tensor|Storage)
    write x.bfloat16()
cpp_extension load_inline CppExtension CUDAExtension BuildExtension
    there is no C++ library to build against. Write an autograd.Function on NumPy arrays, and
    call C from it by ctypes, cffi, Cython or Numba
""")


def reason(name: str, place: str = "") -> str:
    """Why `place` of the package has no `name`, as the end of a sentence; empty if nobody knows.

    place: a module by its name within PyTorch, such as "nn.functional"; by default the package.
    """
    path = f"{place}.{name}".lstrip(".")
    for pattern, why in PLACES:
        if re.fullmatch(rf"(?:{pattern})(?:\..+)?", path):
            return f": {why}"
    for pattern, why in REASONS:
        if re.fullmatch(pattern, name):
            return f": {why}"
    return ""

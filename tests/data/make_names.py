"""The public names of PyTorch, by namespace.

As a script, with PyTorch installed, this writes them to `names.json`:

    python make_names.py

Left out are modules, names from Python's own library, and what is only for PyTorch's C++ side.
"""

import json
import types
from pathlib import Path

PATH = Path(__file__).with_name("names.json")

SPACES = """
Tensor nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrize
nn.utils.parametrizations linalg fft special random autograd autograd.graph autograd.functional
autograd.forward_ad func optim optim.lr_scheduler optim.swa_utils utils.data utils.checkpoint
signal.windows testing masked distributions distributions.constraints
"""

# Plumbing that shows in PyTorch's namespaces: of its imports, its compiler and its C++ side.
INTERNAL = """
AVG AcceleratorError AliasDb Argument ArgumentSpec BenchmarkConfig BenchmarkExecutionStats Block
BroadcastingList1 BroadcastingList2 BroadcastingList3 BufferDict CallStack Capsule Code
CompilationUnit CompleteArgumentSpec ConcreteModuleTypeBuilder DeepCopyMemoTable
DeserializationStorageContext DispatchKey DispatchKeySet ErrorReport ExcludeDispatchKeyGuard
ExecutionPlan FatalError FileCheck FunctionSchema Future Gradient GraphExecutorState IODescriptor
JITException LiteScriptModule LockingLogger LoggingTensorMode ModuleDict NestedIOFunction Node
NoopLogger OpaqueBase OperatorInfo Optimizer PackedSequence_ ParameterDict ProfilerActivity
ProfilerConfig ProfilerEvent ProfilerState PyTorchFileReader PyTorchFileWriter SUM SavedTensor
SerializationStorageContext StaticModule TYPE_CHECKING Tag Tensor ThroughputBenchmark
TorchDispatchMode TracingState Type USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH Use Value
Variable argument_validation assert_int_or_pair bind bisect_right boolean_dispatch capture_logs
classproperty copy_method_params factory_kwargs get_device_module get_file_path
get_swap_module_params_on_conversion inf is_opaque_reference_type is_traceable_wrapper_subclass
merge_type_from_type_comment prepare_multiprocessing_environment
profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 set_override_stale_capture_stream
thread_safe_generator tree_map unify_type_list
"""


def is_own(value):
    """Whether a value is PyTorch's: a function, a class or a constant."""
    if isinstance(value, types.ModuleType):
        return False
    module = getattr(value, "__module__", None) or getattr(type(value), "__module__", None) or ""
    return module.startswith("torch") or (
        callable(value) and type(value).__name__ in (
            "builtin_function_or_method", "method_descriptor", "wrapper_descriptor")
    ) or isinstance(value, (float, bool))  # fmt: skip


if __name__ == "__main__":
    import importlib
    import warnings

    import torch

    warnings.simplefilter("ignore")
    found = {}
    for place in ("", *SPACES.split()):
        if place == "Tensor":
            space = torch.Tensor
        else:
            space = importlib.import_module(f"torch.{place}" if place else "torch")
        names = [n for n in dir(space) if not n.startswith("_") and n not in INTERNAL.split()]
        kept = [n for n in names if place == "Tensor" or is_own(getattr(space, n))]
        if place == "":  # classes of the compiler and of C++, by the module that they come from
            kept = [
                n
                for n in kept
                if not (
                    isinstance(getattr(torch, n), type)
                    and getattr(torch, n).__module__ == "torch._C"
                )
            ]
        found[place] = " ".join(kept)
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")

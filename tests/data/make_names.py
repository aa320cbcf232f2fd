"""The public names of PyTorch, by module, and those of tensors.

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

# Private modules that programs import.
PRIVATE = """
__config__ __future__ _C._nn _VF _tensor_str _utils _vmap_internals distributed._composable
distributed._composable.fsdp distributed._tensor functional nn.common_types
"""

# Plumbing that shows in PyTorch's namespaces: of its imports, its compiler and its C++ side.
INTERNAL = """
BroadcastingList1 BroadcastingList2 BroadcastingList3 Future LoggingTensorMode Optimizer
PackedSequence_ ProfilerActivity ProfilerConfig ProfilerEvent ProfilerState PyTorchFileReader
SavedTensor TYPE_CHECKING Tensor USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH Variable
argument_validation assert_int_or_pair bind bisect_right boolean_dispatch capture_logs
classproperty copy_method_params factory_kwargs get_file_path get_swap_module_params_on_conversion
inf is_opaque_reference_type is_traceable_wrapper_subclass prepare_multiprocessing_environment
profiler_allow_cudagraph_cupti_lazy_reinit_cuda12 tree_map OpaqueBase
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


# Packages of which only the name is kept: none of their parts is here.
CLOSED = """
_inductor accelerator.graphs ao.nn ao.ns ao.pruning ao.quantization.backend_config
ao.quantization.fx ao.quantization.pt2e ao.quantization.quantizer distributed.elastic.agent
distributed.elastic.events distributed.elastic.metrics distributed.elastic.rendezvous
distributed.elastic.timer distributed.elastic.utils distributed.launcher distributed.pipelining
export fx.experimental.migrate_gradual_types fx.experimental.unification fx.passes.tests
masked.maskedtensor mtia nativert nn.intrinsic nn.qat nn.quantizable nn.quantized package
quantization utils.benchmark.examples utils.data.datapipes utils.hipify utils.jit
"""


def listed(space, place):
    """The names that a namespace says are public; of one that says nothing, what is made in it."""
    if hasattr(space, "__all__"):
        return [n for n in space.__all__ if hasattr(space, n) and not n.startswith("_")]
    made = {n: v for n, v in vars(space).items() if not n.startswith("_") and callable(v)}
    return [n for n, v in made.items() if getattr(v, "__module__", None) == f"torch.{place}"]


def modules(place=""):
    """(the name, the module) of PyTorch and its public modules that can be imported."""
    try:
        module = importlib.import_module(f"torch.{place}".rstrip("."))
    except ImportError:
        return
    yield place, module
    if place not in CLOSED.split():
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if not inner.name.startswith("_"):
                yield from modules(f"{place}.{inner.name}".lstrip("."))


if __name__ == "__main__":
    import importlib
    import pkgutil
    import warnings

    import torch

    warnings.simplefilter("ignore")
    found = {"Tensor": {n for n in dir(torch.Tensor) if not n.startswith("_")}}
    private = {place: importlib.import_module(f"torch.{place}") for place in PRIVATE.split()}
    for place, space in {**dict(modules()), **private}.items():
        own = [n for n in dir(space) if not n.startswith("_") and is_own(getattr(space, n))]
        closed = place in CLOSED.split()
        unlisted = closed or (place.startswith("_") and not hasattr(space, "__all__"))
        names = set(() if unlisted else listed(space, place))
        names.update(own if place in SPACES.split() or not place else ())
        if names or closed or place in private:
            found[place] = names - {*INTERNAL.split()}
    lines = [
        f"{json.dumps(place)}: {json.dumps(' '.join(sorted(names)))}"
        for place, names in found.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")

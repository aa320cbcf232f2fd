"""PyTorch's world: what PyTorch's programs ask for beyond the engine and training.

The folders mirror PyTorch's modules, file for file: under the alias (`retrograd.as_torch`) the
module `torch.x.y` is `x/y.py` here where that exists, else that of the package. So a name of
`torch.x.y` that programs miss goes into `x/y.py`. Of what else stands here (`OWN`) PyTorch has no
module: `alias` makes `torch` a name of this package, `layouts` are sparse, nested and masked
tensors, `names` functions of `torch` itself and methods by older and internal names, `sheets` what
does not follow from records, `tables` make functions of rows, and `lazy_families` load late.

NOTE [Rings] in `providers`: the inner rings import nothing from here. `SERVICES` and `NAMES` say
what they may ask for.
"""

from __future__ import annotations

from ..locks import load

__all__ = ["NAMES", "OWN", "SERVICES", "home_of", "modules"]

OWN = (
    "alias",
    "layouts",
    "lazy_families",
    "lazy_names",
    "names",
    "sheets",
    "tables",
)  # modules of which PyTorch has none

# What inner rings ask for by name, and the module here that does it.
SERVICES = {
    "alias": "alias.finder",
    "autocast": "amp.autocast_mode",
    "command": "alias.command",
    "compiler": "compiler",
    "dispatch": "library.dispatch",
    "distributed": "distributed",
    "missing names": "names.missing",
    "nested": "layouts.nested.factories",
    "sparse": "layouts.sparse.compressed",
    "sparse factories": "layouts.sparse.factories",
    "sparse gradcheck": "layouts.sparse.gradcheck",
    "sparse lookup": "layouts.sparse.lookup",
}

# Names of other packages, and the module here that has each or is it; `families` lists functions.
NAMES = {
    **dict.fromkeys(("DisableTorchFunction", "DisableTorchFunctionSubclass"), "_C"),
    "StorageBase": "_C",
    "PyTorchFileReader": "_C.reader",
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt"), "types"),
    **dict.fromkeys(("DeviceObjType", "TensorType", "Type"), "jit"),
    **dict.fromkeys(("ScriptFunction", "ScriptModule"), "jit"),
    "Future": "futures",
    "GradScaler": "amp",
    "Tag": "library.tags",
    "autocast": "amp",
    **dict.fromkeys(
        (
            "autocast_decrement_nesting",
            "autocast_increment_nesting",
            "clear_autocast_cache",
            "get_autocast_cpu_dtype",
            "get_autocast_dtype",
            "get_autocast_gpu_dtype",
            "is_autocast_cache_enabled",
            "is_autocast_cpu_enabled",
            "is_autocast_enabled",
            "set_autocast_cache_enabled",
            "set_autocast_cpu_dtype",
            "set_autocast_cpu_enabled",
            "set_autocast_dtype",
            "set_autocast_enabled",
        ),
        "amp.autocast_mode",
    ),
    "Stream": "cpu.streams",
    "_disable_dynamo": "compiler",
    **dict.fromkeys(("cond", "while_loop"), "_higher_order_ops"),
    **dict.fromkeys(
        (
            "func.combine_state_for_ensemble",
            "func.make_functional",
            "func.make_functional_with_buffers",
        ),
        "_functorch.make_functional",
    ),
    "get_device_module": "accelerator.modules",
    **dict.fromkeys(("_check", "_check_index", "_check_is_size"), "names.checks"),
    **dict.fromkeys(("_check_type", "_check_value", "_check_with"), "names.checks"),
    "_assert": "fx._symbolic_trace",
    "_amp_foreach_non_finite_check_and_unscale_": "amp.grad_scaler",
    "_amp_update_scale_": "amp.grad_scaler",
    "_assert_async": "names.checks",
    "_has_compatible_shallow_copy_type": "names.checks",
    "_check_not_implemented": "names.checks",
    "_check_tensor_all": "names.checks",
    "_check_tensor_all_with": "names.checks",
    **dict.fromkeys(
        (
            "_convert_indices_from_coo_to_csr",
            "_convert_indices_from_csr_to_coo",
            "_segment_reduce",
            "_shape_as_tensor",
            "_unique",
            "_unique2",
        ),
        "_VF",
    ),
    "_validate_sparse_compressed_tensor_args": "layouts.sparse.compressed",
    "_validate_sparse_coo_tensor_args": "layouts.sparse.factories",
    "to_dlpack": "utils.dlpack",
    "autograd._profiler_enabled": "autograd.profiler",
    **dict.fromkeys(("nn.SyncBatchNorm", "nn.modules.SyncBatchNorm"), "nn.modules.batchnorm"),
    **dict.fromkeys(("nn.Container", "nn.modules.Container"), "nn.modules.container"),
    "nn.DataParallel": "nn.parallel",
    **dict.fromkeys(("nn.NLLLoss2d", "nn.modules.NLLLoss2d"), "nn.modules.loss"),
    **dict.fromkeys(
        (
            "nn.UpsamplingBilinear2d",
            "nn.UpsamplingNearest2d",
            "nn.modules.UpsamplingBilinear2d",
            "nn.modules.UpsamplingNearest2d",
        ),
        "nn.modules.upsampling",
    ),
    "nn.utils.convert_conv2d_weight_memory_format": "nn.utils.memory_format",
    "nn.utils.convert_conv3d_weight_memory_format": "nn.utils.memory_format",
    "nn.utils.fuse_conv_bn_eval": "nn.utils.fusion",
    "nn.utils.fuse_conv_bn_weights": "nn.utils.fusion",
    "nn.utils.fuse_linear_bn_eval": "nn.utils.fusion",
    "nn.utils.fuse_linear_bn_weights": "nn.utils.fusion",
    "nn.functional.grad": "nn.grad",
    "nn.utils.prune": "nn.utils.prune",
    "nn.utils.skip_init": "nn.utils.init",
    "nn.utils.stateless": "nn.utils.stateless",
    "optim.SparseAdam": "optim.sparse_adam",
    "utils.data.DistributedSampler": "utils.data.distributed",
    "autograd.kineto_available": "autograd.profiler",
}


def home_of(name: str) -> str | None:
    """The module here that has a name of the package or of a package in it, such as "nn.x"."""
    return "names.foreach" if name.startswith("_foreach_") else NAMES.get(name)


def modules() -> list[str]:
    """The modules here that are PyTorch's, whole ones: see NOTE [Rings], 4."""
    listed = load("pkgutil").iter_modules(__path__)  # a start-up names no module
    return [each.name for each in listed if each.name not in OWN]

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

# Modules of which PyTorch has none.
OWN = ("alias", "layouts", "lazy_families", "lazy_names", "names", "sheets", "tables")

# What inner rings ask for by name, and the module here that does it.
SERVICES = {
    "alias": "alias.finder",
    "autocast": "amp.autocast_mode",
    "backends": "_dynamo.graphs",
    "command": "alias.command",
    "dispatch": "library.dispatch",
    "distributed": "distributed",
    "missing names": "names.missing",
    "nested": "layouts.nested.factories",
    "sparse": "layouts.sparse.compressed",
    "sparse factories": "layouts.sparse.factories",
    "sparse gradcheck": "layouts.sparse.rules",
    "sparse lookup": "layouts.sparse.records",
}

# Names of other packages, by the module here that has or is them; `lazy_names` lists functions.
HOMES = {
    "_C": "DisableTorchFunction DisableTorchFunctionSubclass StorageBase",
    "_C.reader": "PyTorchFileReader",
    "_VF": (
        "_convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _segment_reduce "
        "_shape_as_tensor _unique _unique2"
    ),
    "_functorch.make_functional": (
        "func.combine_state_for_ensemble func.make_functional func.make_functional_with_buffers"
    ),
    "_higher_order_ops": "cond while_loop",
    "accelerator": "get_device_module",
    "amp": "GradScaler autocast",
    "amp.autocast_mode": (
        "autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache "
        "get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype "
        "is_autocast_cache_enabled is_autocast_cpu_enabled is_autocast_enabled "
        "set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled "
        "set_autocast_dtype set_autocast_enabled"
    ),
    "amp.grad_scaler": "_amp_foreach_non_finite_check_and_unscale_ _amp_update_scale_",
    "autograd.profiler": "autograd._profiler_enabled autograd.kineto_available",
    "compiler": "_disable_dynamo",
    "cpu": "Stream",
    "futures": "Future",
    "fx._symbolic_trace": "_assert",
    "jit": "DeviceObjType ScriptFunction ScriptModule TensorType Type",
    "layouts.sparse.compressed": "_validate_sparse_compressed_tensor_args",
    "layouts.sparse.factories": "_validate_sparse_coo_tensor_args",
    "library.tags": "Tag",
    "names.checks": (
        "_assert_async _check _check_index _check_is_size _check_not_implemented "
        "_check_tensor_all _check_tensor_all_with _check_type _check_value _check_with "
        "_has_compatible_shallow_copy_type"
    ),
    "names.fake_quantize": (
        "_fake_quantize_learnable_per_channel_affine _fake_quantize_learnable_per_tensor_affine"
    ),
    "nn.grad": "nn.functional.grad",
    "nn.modules.batchnorm": "nn.SyncBatchNorm nn.modules.SyncBatchNorm",
    "nn.modules.container": "nn.Container nn.modules.Container",
    "nn.modules.loss": "nn.NLLLoss2d nn.modules.NLLLoss2d",
    "nn.modules.upsampling": (
        "nn.UpsamplingBilinear2d nn.UpsamplingNearest2d nn.modules.UpsamplingBilinear2d "
        "nn.modules.UpsamplingNearest2d"
    ),
    "nn.parallel": "nn.DataParallel",
    "nn.utils.fusion": (
        "nn.utils.fuse_conv_bn_eval nn.utils.fuse_conv_bn_weights nn.utils.fuse_linear_bn_eval "
        "nn.utils.fuse_linear_bn_weights"
    ),
    "nn.utils.init": "nn.utils.skip_init",
    "nn.utils.memory_format": (
        "nn.utils.convert_conv2d_weight_memory_format nn.utils.convert_conv3d_weight_memory_format"
    ),
    "nn.utils.prune": "nn.utils.prune",
    "nn.utils.stateless": "nn.utils.stateless",
    "optim.sparse_adam": "optim.SparseAdam",
    "types": "SymBool SymFloat SymInt",
    "utils.data.distributed": "utils.data.DistributedSampler",
    "utils.dlpack": "to_dlpack",
}
NAMES = {name: home for home, names in HOMES.items() for name in names.split()}

# Modules that have a namesake among PyTorch's, and where its names are.
COMPLETED = {"ops": "library.ops", "version": "version"}


def home_of(name: str) -> str | None:
    """The module here that has a name of the package or of a package in it, such as "nn.x"."""
    package, _, own = name.rpartition(".")
    if package in COMPLETED and not own.startswith("__"):
        return COMPLETED[package]
    return "names.foreach" if name.startswith("_foreach_") else NAMES.get(name)


def modules() -> list[str]:
    """The modules here that are PyTorch's, whole ones: see NOTE [Rings], 4."""
    listed = load("pkgutil").iter_modules(__path__)  # a start-up names no module
    return [each.name for each in listed if each.name not in OWN]

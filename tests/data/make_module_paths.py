"""The public names of PyTorch's modules whose contents are in other modules here.

As a script, with PyTorch installed, this writes them to `module_paths.json`:

    python make_module_paths.py
"""

import json
from pathlib import Path

PATH = Path(__file__).with_name("module_paths.json")

MODULES = """
__future__ __config__ _C._nn _VF _tensor_str _utils _vmap_internals functional storage torch_version
distributed._composable distributed._composable.fsdp distributed._tensor nn.common_types
nn.modules nn.modules.activation nn.modules.batchnorm nn.modules.channelshuffle nn.modules.conv
nn.modules.distance nn.modules.linear nn.modules.loss
nn.modules.flatten nn.modules.fold nn.modules.instancenorm nn.modules.pixelshuffle
nn.modules.upsampling signal.windows.windows utils.data.dataloader utils.data.dataset
utils.data.sampler version
"""

if __name__ == "__main__":
    import importlib

    found = {each: importlib.import_module(f"torch.{each}") for each in MODULES.split()}
    names = {each: getattr(found[each], "__all__", ()) for each in found}
    text = json.dumps({f"torch.{each}": " ".join(sorted(names[each])) for each in names}, indent=1)
    PATH.write_text(text + "\n")

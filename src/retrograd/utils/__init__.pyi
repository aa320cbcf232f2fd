# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import checkpoint as checkpoint, data as data, hooks as hooks
from ..ops.tensor.swap import swap_tensors as swap_tensors
from ..torch.utils import _contextlib as _contextlib, _device as _device, _foreach_utils as _foreach_utils, _nodes as _nodes, _python_dispatch as _python_dispatch, _pytree as _pytree, backcompat as backcompat, benchmark as benchmark, cpp_extension as cpp_extension, deterministic as deterministic, dlpack as dlpack, flop_counter as flop_counter, model_zoo as model_zoo, module_tracker as module_tracker, tensorboard as tensorboard, weak as weak
__all__ = ['checkpoint', 'data', 'hooks', 'swap_tensors']

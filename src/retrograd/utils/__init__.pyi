# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from . import checkpoint as checkpoint
from . import data as data
from . import hooks as hooks
from ..ops.tensor.swap import swap_tensors as swap_tensors
from ..torch.utils import _contextlib as _contextlib
from ..torch.utils import _device as _device
from ..torch.utils import _foreach_utils as _foreach_utils
from ..torch.utils import _nodes as _nodes
from ..torch.utils import _python_dispatch as _python_dispatch
from ..torch.utils import _pytree as _pytree
from ..torch.utils import benchmark as benchmark
from ..torch.utils import cpp_extension as cpp_extension
from ..torch.utils import deterministic as deterministic
from ..torch.utils import dlpack as dlpack
from ..torch.utils import flop_counter as flop_counter
from ..torch.utils import model_zoo as model_zoo
from ..torch.utils import module_tracker as module_tracker
from ..torch.utils import tensorboard as tensorboard
from ..torch.utils import weak as weak
__all__ = ['checkpoint', 'data', 'hooks', 'swap_tensors']

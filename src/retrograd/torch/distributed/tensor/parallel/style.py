"""How a layer is cut, and how what it takes and gives lies over the ranks.

NOTE [Styles]
1. A style says how parameters lie (`cuts`), how plain tensors that come are to be read
   (`input_layouts`), how the layer wants them (`desired_input_layouts`), and how its output is to
   lie (`output_layouts`), as a plain tensor with `use_local_output`.
2. What is computed on parts is decided by the arrays: NOTE [Computing on parts] in `parts`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from .....engine.tensor import Tensor
from .....nn import Embedding, Linear
from ..api import DTensor, distribute_module, distribute_tensor
from ..placements import Placement, Replicate, Shard

if TYPE_CHECKING:
    from .....nn import Module
    from ...device_mesh import DeviceMesh

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleOutput",
    "RowwiseParallel", "SequenceParallel",
]  # fmt: skip

WHOLE = Replicate()


class ParallelStyle:
    """How a layer is cut: the base of styles, which define `_apply(module, device_mesh)`."""

    src_data_rank: int | None = 0
    _shown: tuple[str, ...] = ()

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        raise NotImplementedError

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)
        return f"{type(self).__name__}({said})"


class _Cut(ParallelStyle):
    """A style of `Linear` and `Embedding`, whose parameters are cut."""

    _shown = ("input_layouts", "output_layouts", "use_local_output")
    input_default: Placement = WHOLE
    output_default: Placement = WHOLE
    cuts: ClassVar[dict[type, dict[str, Placement]]]

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = (input_layouts or self.input_default,)
        self.output_layouts = (output_layouts or self.output_default,)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        kind = next((kind for kind in self.cuts if isinstance(module, kind)), None)
        if kind is None:
            raise NotImplementedError(
                f"{type(self).__name__} currently only support nn.Linear and nn.Embedding! It got "
                f"{type(module).__name__}"
            )
        desired = (self.input_default if kind is Linear else WHOLE,)
        distribute_module(module, device_mesh, partial(_cut, self.cuts[kind], self.src_data_rank))
        _taking(module, device_mesh, self.input_layouts, desired)
        return _giving(module, device_mesh, (WHOLE,), self.output_layouts, self.use_local_output)


class ColwiseParallel(_Cut):
    """Cut a `Linear` by its outputs, an `Embedding` by the columns of its table.

    input_layouts: how inputs lie, whole by default; output_layouts: how outputs are to, cut along
    the last dimension by default; use_local_output: whether they are plain tensors.

    >>> from retrograd.distributed.tensor.parallel import ColwiseParallel
    >>> ColwiseParallel()
    ColwiseParallel(input_layouts=(Replicate(),), output_layouts=(Shard(dim=-1),), use_local_output=True)
    """  # noqa: E501 (as PyTorch prints it)

    output_default = Shard(-1)
    cuts: ClassVar = {
        Linear: {"weight": Shard(0), "bias": Shard(0)},
        Embedding: {"weight": Shard(1)},
    }


class RowwiseParallel(_Cut):
    """Cut a `Linear` by its inputs, an `Embedding` by the rows of its table.

    input_layouts: how inputs lie, cut along the last dimension by default; of an `Embedding`, they
    are whole; output_layouts: how outputs are to, whole by default; use_local_output: whether they
    are plain tensors.

    >>> from retrograd.distributed.tensor.parallel import RowwiseParallel
    >>> RowwiseParallel(use_local_output=False).input_layouts
    (Shard(dim=-1),)
    """

    input_default = Shard(-1)
    cuts: ClassVar = {Linear: {"weight": Shard(1), "bias": WHOLE}, Embedding: {"weight": Shard(0)}}


class SequenceParallel(ParallelStyle):
    """Cut what a layer takes and gives along `sequence_dim`; its parameters stay whole.

    use_local_output: whether outputs are plain tensors.

    >>> from retrograd.distributed.tensor.parallel import SequenceParallel
    >>> SequenceParallel()
    SequenceParallel(sequence_dim=1, use_local_output=False)
    """

    _shown = ("sequence_dim", "use_local_output")

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim, self.use_local_output = sequence_dim, use_local_output

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        cut = (Shard(self.sequence_dim),)
        distribute_module(module, device_mesh, partial(_cut, {}, self.src_data_rank))
        _taking(module, device_mesh, cut, cut)
        return _giving(module, device_mesh, cut, cut, self.use_local_output)


class PrepareModuleInput(ParallelStyle):
    """Let the inputs of a layer lie as it wants them.

    input_layouts: how plain inputs lie, one for each, None for one that is left as it is;
    desired_input_layouts: how they are to lie; input_kwarg_layouts, desired_input_kwarg_layouts:
    the same by name; use_local_output: whether the layer gets plain tensors. Raises AssertionError
    where the two do not fit together.

    >>> from retrograd.distributed.tensor import Replicate, Shard
    >>> from retrograd.distributed.tensor.parallel import PrepareModuleInput
    >>> PrepareModuleInput(input_layouts=Shard(0), desired_input_layouts=Replicate()).input_layouts
    (Shard(dim=0),)
    """

    _shown = (
        "input_layouts",
        "desired_input_layouts",
        "input_kwarg_layouts",
        "desired_input_kwarg_layouts",
        "use_local_output",
    )

    def __init__(
        self,
        *,
        input_layouts: Any = None,
        desired_input_layouts: Any = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:
        self.input_layouts, self.desired_input_layouts = map(
            several, (input_layouts, desired_input_layouts)
        )
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            _check_fit("input", self.input_layouts, self.desired_input_layouts)
        _check_fit("input_kwarg", self.input_kwarg_layouts, self.desired_input_kwarg_layouts)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        named = {
            name: (self.input_kwarg_layouts[name], wanted)
            for name, wanted in self.desired_input_kwarg_layouts.items()
        }
        layouts = self.input_layouts, self.desired_input_layouts
        return _taking(module, device_mesh, *layouts, self.use_local_output, named)


class PrepareModuleOutput(ParallelStyle):
    """Let the outputs of a layer lie as is desired.

    output_layouts: how plain outputs lie, one for each, None for one that is left as it is;
    desired_output_layouts: how they are to lie; use_local_output: whether they become plain
    tensors. Raises AssertionError where the two do not fit together.

    >>> from retrograd.distributed.tensor import Replicate, Shard
    >>> from retrograd.distributed.tensor.parallel import PrepareModuleOutput
    >>> PrepareModuleOutput(output_layouts=Shard(0), desired_output_layouts=Replicate())
    PrepareModuleOutput(output_layouts=(Shard(dim=0),), desired_output_layouts=(Replicate(),), use_local_output=True)
    """  # noqa: E501 (as PyTorch prints it)

    _shown = ("output_layouts", "desired_output_layouts", "use_local_output")

    def __init__(
        self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True
    ) -> None:
        self.output_layouts, self.desired_output_layouts = map(
            several, (output_layouts, desired_output_layouts)
        )
        self.use_local_output = use_local_output
        _check_fit("output", self.output_layouts, self.desired_output_layouts)

    def _apply(self, module: Module, device_mesh: DeviceMesh) -> Module:
        layouts = self.output_layouts, self.desired_output_layouts
        return _giving(module, device_mesh, *layouts, self.use_local_output)


def several(layouts: Any) -> Any:
    """Layouts as a tuple; one alone is one."""
    return (layouts,) if isinstance(layouts, Placement) else layouts


def _taking(
    module: Module, mesh: DeviceMesh, own: Any, wanted: Any, local: bool = False, named: Any = None
) -> Module:
    """Let what a module is called with lie as is wanted, all of it unless `own` is None."""

    def before(_: Any, args: Any, kwargs: Any) -> Any:
        if own is not None:
            args = _all_moved("input", args, own, wanted, mesh, local)
        for name, (lies, desired) in (named or {}).items():
            kwargs = {**kwargs, name: _moved(kwargs.get(name), lies, desired, mesh, local)}
        return args, kwargs

    module.register_forward_pre_hook(before, with_kwargs=True)
    return module


def _giving(module: Module, mesh: DeviceMesh, own: Any, wanted: Any, local: bool) -> Module:
    """Let what a module gives lie as is wanted."""

    def after(_: Any, __: Any, output: Any) -> Any:
        outputs = output if isinstance(output, tuple) else (output,)
        made = _all_moved("output", outputs, own, wanted, mesh, local)
        return made if isinstance(output, tuple) else made[0]

    module.register_forward_hook(after)
    return module


def _all_moved(
    name: str, values: Any, own: Any, wanted: Any, mesh: DeviceMesh, local: bool
) -> tuple[Any, ...]:
    """Inputs or outputs as is wanted; ValueError where there are layouts for another number."""
    if len(values) != len(own):
        raise ValueError(f"module {name}s and {name}_layouts should have same length!")
    layouts = zip(own, wanted, strict=True)
    return tuple(_moved(v, *pair, mesh, local) for v, pair in zip(values, layouts, strict=True))


def _moved(value: Any, own: Any, wanted: Any, mesh: DeviceMesh, local: bool) -> Any:
    """A tensor as is wanted, plain ones lying as `own`; others, or without it, as they are."""
    if own is None or not isinstance(value, Tensor):
        return value
    found = value if isinstance(value, DTensor) else DTensor.from_local(value, mesh, (own,))
    found = found.redistribute(mesh, (wanted or own,))
    return found.to_local() if local else found


def _cut(cuts: dict[str, Placement], source: Any, name: str, part: Any, mesh: DeviceMesh) -> None:
    """Let the parameters of a layer lie as `cuts` say, whole by default."""
    for key, value in part._parameters.items():
        if value is not None and not isinstance(value, DTensor):
            placements = [cuts.get(key, WHOLE)]
            part._parameters[key] = distribute_tensor(value, mesh, placements, src_data_rank=source)


def _check_fit(name: str, own: Any, desired: Any) -> None:
    if desired is None:
        raise AssertionError(f"desired module {name}s should not be None!")
    if len(own) != len(desired):
        raise AssertionError(f"{name}_layouts and desired_{name}_layouts should have same length!")

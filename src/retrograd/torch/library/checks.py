"""`opcheck`: whether an operator does what its definition says.

Not checked, for there is nothing of the kind here: symbolic sizes, functionalization and kernels of
other devices. A compiled call is the call itself, so what PyTorch compares with it, outputs and
gradients, is compared from one call to the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import pytree
from ...autograd.grad import grad
from ...engine.tensor import Tensor
from ...testing import assert_close
from .context import SizeByValuesError
from .custom import CustomOpDef

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["OpCheckError", "opcheck"]

DEFAULT = (
    *("test_schema", "test_autograd_registration", "test_faketensor"),
    "test_aot_dispatch_dynamic",
)
OTHER = "When comparing the output of {} on the meta device and on tensors, found {}"


class OpCheckError(Exception):
    """Raised by `opcheck` for an operator that does not keep to its definition."""


def opcheck(
    op: CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Check an operator on examples; "SUCCESS", or what was raised, for each check by name.

    "test_schema": it writes what it says that it writes, and returns tensors of its own.
    "test_autograd_registration": it is recorded by its formula only. "test_faketensor": the meta
    device tells shapes, strides and dtypes of what it gives; not checked where a size depends on
    values. "test_aot_dispatch_dynamic" and "test_aot_dispatch_static": outputs and gradients are
    the same from call to call. Raises OpCheckError for the first that fails, unless
    `raise_exception=False`. `autograd.gradcheck` checks what a gradient is.

    >>> from retrograd import library
    >>> @library.custom_op("mine::cube", mutates_args=())
    ... def cube(x: rg.Tensor) -> rg.Tensor:
    ...     return x**3
    >>> library.opcheck(cube, (rg.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    >>> library.opcheck(cube, (rg.ones(2),))
    Traceback (most recent call last):
    ...
    retrograd.torch.library.checks.OpCheckError: opcheck(op, ...): test_faketensor failed with ...
    """
    if (rtol is None) != (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    if not isinstance(op, CustomOpDef):
        raise ValueError(f"opcheck(op, ...): op must be an operator of custom_op, got {type(op)}")
    names = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    names = list(CHECKS) if names == ["ALL"] else names
    if not {*names} <= CHECKS.keys():
        raise ValueError(
            f"opcheck(op, ..., test_utils={test_utils}), expected test_utils to be subset of "
            f"{tuple(CHECKS)} but it was not"
        )
    results: dict[str, Any] = {}
    for name in names:
        try:
            CHECKS[name](op, args, kwargs or {}, {"rtol": rtol, "atol": atol})
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
    return results


def copied(args: Any, kwargs: Any, change: Callable[[Tensor], Tensor]) -> tuple[Any, Any]:
    """Arguments with `change` of each tensor, which requires grad where the tensor does."""

    def leaf(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return change(value.detach()).requires_grad_(value.requires_grad)

    made: tuple[Any, Any] = pytree.map_leaves(leaf, (args, kwargs))
    return made


def check_writes(op: CustomOpDef, args: Any, kwargs: Any, bounds: Any) -> None:
    """Raise RuntimeError if an argument was written that is not said to be."""
    args, kwargs = copied(args, kwargs, Tensor.clone)
    arguments = op._signature.bind(*args, **kwargs).arguments
    before = {name: bytes_of(value) for name, value in arguments.items()}
    op(*args, **kwargs)
    for name, value in arguments.items():
        if name not in op._mutated and bytes_of(value) != before[name]:
            raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")


def bytes_of(value: Any) -> list[bytes]:
    """The bytes of the tensors in a value."""
    leaves = pytree.flatten(value)
    return [t.detach().numpy().tobytes() for t in leaves if isinstance(t, Tensor)]


def check_recorded(op: CustomOpDef, args: Any, kwargs: Any, bounds: Any) -> None:
    """Raise AssertionError if the operator's function hands on a history of its own."""
    args, kwargs = copied(args, kwargs, Tensor.clone)
    if op._composite is not None or op._backward is not None:
        return
    bound = op._signature.bind(*args, **kwargs)
    bound.apply_defaults()
    made = pytree.flatten(op._run(list(bound.arguments.values()), list(bound.arguments)))
    if any(isinstance(out, Tensor) and out.requires_grad for out in made):
        raise AssertionError(
            f"{op._qualname}: at least one output of this operator has requires_grad=True, but no "
            "formula is registered. Write register_autograd"
        )


def check_meta(op: CustomOpDef, args: Any, kwargs: Any, bounds: Any) -> None:
    """Raise AssertionError if the meta device tells other outputs than the operator gives."""
    real, named = copied(args, kwargs, Tensor.clone)
    fake, fake_named = copied(args, kwargs, lambda tensor: tensor.to("meta"))
    try:
        told = pytree.flatten(op(*fake, **fake_named))
    except SizeByValuesError:
        return
    made = pytree.flatten(op(*real, **named))
    if len(made) != len(told):
        counts = f"mismatched numbers of outputs: {len(made)} and {len(told)} are not equal!"
        raise AssertionError(OTHER.format(op._qualname, counts))
    for own, other in zip(made, told, strict=True):
        if not isinstance(own, Tensor):
            continue
        for what, get in ASPECTS.items():
            if get(own) != get(other):
                both = f"{what} {get(own)} and {get(other)} are not equal!"
                raise AssertionError(
                    OTHER.format(op._qualname, f"mismatched tensor metadata: {both}")
                )


ASPECTS: dict[str, Callable[[Tensor], Any]] = {
    "Shapes": lambda tensor: tensor.shape,
    "Dtypes": lambda tensor: tensor.dtype,
    "Strides": lambda tensor: tensor.stride(),
}


def check_again(op: CustomOpDef, args: Any, kwargs: Any, bounds: Any) -> None:
    """Raise if a second call gives other outputs or gradients, or the meta device tells others."""
    check_meta(op, args, kwargs, bounds)
    first, second = outcome(op, args, kwargs), outcome(op, args, kwargs)
    assert_close(first, second, equal_nan=True, **bounds)


def outcome(op: CustomOpDef, args: Any, kwargs: Any) -> list[Any]:
    """The result of a call, the arguments as written, and gradients of its sum, if it has any."""
    args, kwargs = copied(args, kwargs, Tensor.clone)
    given = [leaf for leaf in pytree.flatten((args, kwargs)) if isinstance(leaf, Tensor)]
    wanted = [leaf for leaf in given if leaf.requires_grad]
    leaves = [leaf for leaf in pytree.flatten(op(*args, **kwargs)) if isinstance(leaf, Tensor)]
    roots = [leaf for leaf in leaves if leaf.requires_grad]
    found = grad([root.sum() for root in roots], wanted, allow_unused=True) if roots else ()
    return [leaf.detach() for leaf in (*leaves, *given, *found) if leaf is not None]


CHECKS = {
    "test_schema": check_writes,
    "test_autograd_registration": check_recorded,
    "test_faketensor": check_meta,
    "test_aot_dispatch_static": check_again,
    "test_aot_dispatch_dynamic": check_again,
}

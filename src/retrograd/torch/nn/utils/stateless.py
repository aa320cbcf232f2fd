"""Names of PyTorch's for `functional_call` and a part of it, which are defined in `func`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....func import calls
from ....func.calls import replaced as _reparametrize_module  # noqa: F401 (PyTorch's name)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["functional_call"]


def functional_call(
    module: Any,
    parameters_and_buffers: Mapping[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`func.functional_call`, which says what it does.

    >>> layer = rg.nn.Linear(1, 1)
    >>> given = {"weight": rg.tensor([[3.0]]), "bias": rg.tensor([1.0])}
    >>> rg.nn.utils.stateless.functional_call(layer, given, rg.tensor([2.0]))
    tensor([7.])
    """
    return calls.functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )

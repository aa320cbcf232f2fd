"""`ByProbs`: what distributions share that are given by `probs` or by `logits`."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import Size, Tensor
from .distribution import Distribution
from .utils import Values, broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["ByProbs"]


class ByProbs(Distribution):
    """Probabilities, or their logits; the one that is not given is derived from the other."""

    _is_binary = True

    def _given(self, probs: Values | None, logits: Values | None) -> tuple[str, Any]:
        """The name and the value of the one that is not None; else ValueError."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        return ("logits", logits) if probs is None else ("probs", probs)

    def _by_odds(self, probs: Values | None, logits: Values | None, *others: Any) -> Any:
        """Take one of the two, broadcast against the others, which are returned."""
        name, value = self._given(probs, logits)
        value, *rest = broadcast_all(value, *others)
        self._choose(name, value)
        return rest

    def _choose(self, name: str, value: Tensor) -> None:
        self._is_logits = name == "logits"
        setattr(self, name, value)

    _param = property(lambda self: self.logits if self._is_logits else self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and of `logits`."""
        return self._param.shape

    @lazy_property
    def logits(self) -> Tensor:
        """Log-odds, or logarithms of probabilities of events."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, computed from the logits where those were given."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

"""`ForwardAccumulator`: Jacobian-vector products alongside, as TensorFlow's class gives them."""

from __future__ import annotations

from typing import Any

from .. import pytree
from ..engine.namespaces import recorded
from ..engine.tensor import Tensor
from ..engine.transforms.forward import Level, set_tangent, tangent_of
from ..locks import structure
from .recording import UnconnectedGradients, differentiable

__all__ = ["ForwardAccumulator"]

ENTERED = (
    "Accumulator is already recording, or has recorded: it can be entered once. Make another one: "
    "ForwardAccumulator(primals, tangents)"
)


class ForwardAccumulator:
    """A context that computes the derivative of every result along a direction.

    primals: a tensor or a nested structure, real or complex; tangents: built alike, of the same
    shapes, cast to the dtypes of the primals. What is computed from the primals in the context and
    the thread has a tangent, which `jvp` gives, in the context or later. Accumulators and tapes
    nest in any order: the tangent of a gradient is a Hessian-vector product. For complex z the
    tangent is (∂f/∂z) t + (∂f/∂z*) t*.

    Raises ValueError for primals and tangents that are not alike, or where it is entered twice.
    Source: TensorFlow's `autodiff.ForwardAccumulator`.

    >>> x, v = rg.tensor([1.0, 2.0]), rg.tensor([1.0, 0.0])
    >>> with rg.ForwardAccumulator(x, v) as forward:
    ...     with rg.GradientTape() as tape:
    ...         tape.watch(x)
    ...         y = (x**3).sum()
    ...     derivative = tape.gradient(y, x)
    >>> forward.jvp(derivative)
    tensor([6., 0.])
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        if not pytree.same_structure(tangents, primals):
            raise ValueError(
                "ForwardAccumulator: primals and tangents must be built alike, got "
                f"{type(primals).__name__} of {len(pytree.flatten(primals))} and "
                f"{type(tangents).__name__} of {len(pytree.flatten(tangents))}"
            )
        self._level = Level()
        self._given: list[tuple[Tensor, Tensor]] = []
        self._kept: dict[int, tuple[Tensor, Any]] = {}  # primals and their tangents, afterwards
        xs = differentiable(primals, "primal", "it has no tangent")
        for x, t in zip(xs, differentiable(tangents, "tangent", "it is left out"), strict=True):
            if x is None or t is None:
                continue
            if x._array.shape != t._array.shape:
                raise ValueError(
                    f"ForwardAccumulator: a primal of shape {list(x.shape)} has a tangent of shape "
                    f"{list(t.shape)}; they must be equal"
                )
            if t._array.dtype.kind == "c" != x._array.dtype.kind:
                raise ValueError(
                    f"ForwardAccumulator: a real primal of dtype {x.dtype} has a complex tangent, "
                    f"of dtype {t.dtype}. Take its real part, or make the primal complex"
                )
            same = x._array.dtype == t._array.dtype
            self._given.append((x, t if same else recorded.cast(t, dtype=x._array.dtype)))

    def __enter__(self) -> ForwardAccumulator:
        if self._level.left or hasattr(self._level, "older"):
            raise ValueError(ENTERED)
        self._level.__enter__()
        with structure:  # other threads may have accumulators on the same primals
            for x, t in self._given:
                before = tangent_of(x, self._level)  # of a primal that is there twice
                set_tangent(x, self._level, t if before is None else before + t)
        return self

    def __exit__(self, *exc: object) -> None:
        with structure:
            for x, _ in self._given:
                self._kept.setdefault(id(x), (x, tangent_of(x, self._level)))
                set_tangent(x, self._level, None)
        self._level.__exit__()

    def jvp(
        self,
        primals: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The derivatives of results, in the same structure; None or zeros if there is none.

        Raises ValueError for another value of `unconnected_gradients`, TypeError for no tensors.

        >>> z = rg.tensor(1 + 2j)
        >>> with rg.ForwardAccumulator(z, rg.tensor(1j)) as forward:
        ...     s = z * z.conj()
        >>> forward.jvp(s)
        tensor(4.+0.j)
        """
        unconnected = UnconnectedGradients(unconnected_gradients)
        found: list[Any] = []
        for x in differentiable(primals, "result", "its tangent is None"):
            if x is None:
                found.append(None)
                continue
            kept = self._kept.get(id(x))
            tangent = tangent_of(x, self._level) if kept is None else kept[1]
            found.append(unconnected.fill(tangent, x, x.shape))
        return pytree.unflatten(primals, found)

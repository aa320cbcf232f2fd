"""Random sizes and tensors to measure with: the draws of PyTorch's `Fuzzer`, from the same seed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...ops.random.factories import rand, randint
from ...ops.random.generator import manual_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...engine.tensor import Tensor

__all__ = ["FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias"]

TRIES = 1000


class ParameterAlias:
    """A choice of a `FuzzedParameter`: the value of the parameter of another name.

    >>> from retrograd.utils.benchmark import FuzzedParameter, Fuzzer, ParameterAlias
    >>> parameters = [FuzzedParameter("n", 1, 9, "uniform"),
    ...               FuzzedParameter("m", distribution={ParameterAlias("n"): 1.0})]
    >>> [params for _, _, params in Fuzzer(parameters, [], seed=0).take(1)]
    [{'n': 6, 'm': 6}]
    """

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedParameter:
    """A number to be drawn from minval to maxval, both included, or one of several choices.

    distribution: "uniform", of integers where both ends are, otherwise of floats; "loguniform", of
    integers whose logarithms are uniform; a dict of choices and their probabilities, whose sum is
    1. strict: drawn once for a set, not again where the set meets no constraint. Raises
    AssertionError for a distribution that is none.

    >>> from retrograd.utils.benchmark import FuzzedParameter
    >>> FuzzedParameter("n", 1, 9, "uniform").sample(np.random.RandomState(0))
    6
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self.name, self.strict = name, strict
        self._ends: Any = (minval, maxval)
        self._distribution = distribution
        if not isinstance(distribution, dict):
            if distribution not in ("uniform", "loguniform"):
                raise AssertionError(f"Unknown distribution: {distribution}")
            return
        shares = distribution.values()
        if min(shares) < 0 or abs(sum(shares) - 1) > 1e-5:
            raise AssertionError(f"Distribution is not normalized: {distribution}")
        if (minval, maxval) != (None, None):
            raise AssertionError("a custom distribution has no minval and no maxval")

    def sample(self, state: np.random.RandomState) -> Any:
        """A value, drawn from a generator of NumPy's."""
        if isinstance(self._distribution, dict):
            shares = tuple(self._distribution.values())
            return list(self._distribution)[state.choice(len(shares), p=shares)]
        low, high = self._ends
        if self._distribution == "loguniform":
            drawn = int(2 ** state.uniform(np.log2(low), np.log2(high)))
            return min(max(drawn, low), high)
        if isinstance(low, int) and isinstance(high, int):
            return int(state.randint(low, high + 1))
        return state.uniform(low, high)


class FuzzedTensor:
    """A tensor of random sizes, values and strides.

    size, steps: numbers or names of parameters, of which the first `dim_parameter` count; a step
    leaves elements out. Its memory is in another order with 1 - probability_contiguous. A set of
    parameters is drawn again where it has fewer than `min_elements`, more than `max_elements`, or
    takes more than `max_allocation_bytes`. tensor_constructor(size=, dtype=, **params): makes it.

    >>> from retrograd.utils.benchmark import FuzzedTensor
    >>> FuzzedTensor("x", ("n", 2), max_elements=8).satisfies_constraints({"n": 5})
    False
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: dtypes.dtype = dtypes.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Tensor] | None = None,
    ) -> None:
        self.name, self._dtype, self._cuda = name, dtype, cuda
        self._size, self._steps, self._dims = size, steps or (), dim_parameter
        self._contiguous = probability_contiguous
        self._bounds = (min_elements, max_elements, max_allocation_bytes)
        self._make = tensor_constructor or self.default_tensor_constructor

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: dtypes.dtype, **kwargs: Any) -> Tensor:
        """Numbers from 0 to 1; of integers, from 1 to 126."""
        if dtype.is_floating_point or dtype.is_complex:
            return rand(size, dtype=dtype)
        return randint(1, 127, size, dtype=dtype)

    def _sizes(self, params: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The size and the steps for values of the parameters."""
        dims = params[self._dims] if self._dims is not None else len(self._size)

        def resolved(values: tuple[str | int, ...]) -> tuple[Any, ...]:
            known = tuple(params.get(each, each) for each in values)  # type: ignore[arg-type]
            return (*known[:dims], *(1,) * (dims - len(known)))

        return resolved(self._size), resolved(self._steps)

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether values of the parameters are within the bounds."""
        size, steps = self._sizes(params)
        count, taken = math.prod(size), math.prod(size) * math.prod(steps) * self._dtype.itemsize
        fewest, most, bytes_ = self._bounds
        return (
            (fewest is None or count >= fewest)
            and (most is None or count <= most)
            and (bytes_ is None or taken <= bytes_)
        )

    def _make_tensor(
        self, params: dict[str, Any], state: np.random.RandomState
    ) -> tuple[Tensor, dict[str, Any]]:
        """The tensor for values of the parameters, and how it was made."""
        size, steps = self._sizes(params)
        whole = [each * step for each, step in zip(size, steps, strict=True)]
        made = self._make(size=tuple(whole), dtype=self._dtype, **params)
        made = made.cuda() if self._cuda else made
        order = np.arange(len(size))
        if state.rand() > self._contiguous:
            while len(size) > 1 and (order == np.arange(len(size))).all():
                order = state.permutation(made.ndim)
            made = made.permute(*order.tolist()).contiguous()
            made = made.permute(*np.argsort(order).tolist())
        made = made[tuple(slice(0, end, step) for end, step in zip(whole, steps, strict=True))]
        return made, {
            "numel": made.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": made.is_contiguous(),
            "dtype": str(self._dtype),
        }


class Fuzzer:
    """Draws parameters and tensors again and again: those that meet every constraint.

    parameters, tensors: `FuzzedParameter`s and `FuzzedTensor`s, or lists of them. constraints:
    functions of a dict of the parameters' values. Raises ValueError where two have one name.

    >>> from retrograd.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
    >>> fuzzer = Fuzzer([FuzzedParameter("n", 1, 9, "uniform")], [FuzzedTensor("x", ("n", 2))],
    ...                 seed=0)
    >>> for tensors, properties, params in fuzzer.take(2):
    ...     print(tensors["x"].shape, params)
    retrograd.Size([6, 2]) {'n': 6}
    retrograd.Size([5, 2]) {'n': 5}
    """

    def __init__(
        self,
        parameters: Iterable[Any],
        tensors: Iterable[Any],
        constraints: list[Callable[[dict[str, Any]], bool]] | None = None,
        seed: int | None = None,
    ) -> None:
        self._seed = int(np.random.RandomState().randint(2**32 - 1)) if seed is None else seed
        self._parameters: list[FuzzedParameter] = unpacked(parameters)
        self._tensors: list[FuzzedTensor] = unpacked(tensors)
        self._constraints = constraints or []
        made: list[Any] = [*self._parameters, *self._tensors]
        names = [each.name for each in made]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"Duplicate names in parameters and tensors: {twice}")
        self._drawn = self._rejected = 0

    @property
    def rejection_rate(self) -> float:
        """Which part of the sets of parameters met not all constraints."""
        return self._rejected / self._drawn if self._drawn else 0.0

    def take(self, n: int) -> Iterator[tuple[dict[str, Tensor], dict[str, Any], dict[str, Any]]]:
        """n times tensors, what they are like, and parameters, each by name; seeds `random`."""
        state = np.random.RandomState(self._seed)
        manual_seed(int(state.randint(0, 2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {each.name: each._make_tensor(params, state) for each in self._tensors}
            tensors = {name: tensor for name, (tensor, _) in made.items()}
            yield tensors, {name: like for name, (_, like) in made.items()}, params

    def _generate(self, state: np.random.RandomState) -> dict[str, Any]:
        strict: dict[str, Any] = {}
        for _ in range(TRIES):
            params: dict[str, Any] = {}
            for each in self._parameters:
                kept = strict if each.strict else {}
                params[each.name] = kept[each.name] if each.name in kept else each.sample(state)
                kept[each.name] = params[each.name]
            params = resolved_aliases(params)
            self._drawn += 1
            if all(meets(params) for meets in self._constraints) and all(
                each.satisfies_constraints(params) for each in self._tensors
            ):
                return params
            self._rejected += 1
        raise ValueError("Failed to generate a set of valid parameters. Loosen the constraints")


def unpacked(values: Iterable[Any]) -> list[Any]:
    """Specifications, of which some are in lists."""
    return [
        each
        for value in values
        for each in (value if isinstance(value, (list, tuple)) else [value])
    ]


def resolved_aliases(params: dict[str, Any]) -> dict[str, Any]:
    """Values in place of the names of others; ValueError where names lead to each other."""

    def resolved(value: Any) -> Any:
        for _ in params:
            if isinstance(value, ParameterAlias):
                value = params[value.alias_to]
        if isinstance(value, ParameterAlias):
            raise ValueError(f"ParameterAlias cycle detected\n{params}")
        return value

    return {name: resolved(value) for name, value in params.items()}

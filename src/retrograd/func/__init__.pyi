# Written by docs/make_stubs.py: change that, and run it.
# ruff: noqa
# fmt: off
from .batch_norm import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from .batching import debug_unwrap as debug_unwrap
from .calls import functional_call as functional_call
from .calls import functionalize as functionalize
from .calls import stack_module_state as stack_module_state
from ..torch._functorch.make_functional import combine_state_for_ensemble as combine_state_for_ensemble
from ..torch._functorch.make_functional import make_functional as make_functional
from ..torch._functorch.make_functional import make_functional_with_buffers as make_functional_with_buffers
__all__ = ['debug_unwrap', 'functional_call', 'functionalize', 'grad', 'grad_and_value', 'hessian', 'jacfwd', 'jacrev', 'jvp', 'linearize', 'replace_all_batch_norm_modules_', 'stack_module_state', 'vjp', 'vmap', 'combine_state_for_ensemble', 'make_functional', 'make_functional_with_buffers']

from collections.abc import Callable
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, TypeVarTuple, overload
from ..engine.tensor import Tensor

_P = ParamSpec("_P")
_T = TypeVar("_T")
_R = TypeVar("_R")
_A = TypeVar("_A")
_R_co = TypeVar("_R_co", covariant=True)
_T_contra = TypeVar("_T_contra", contravariant=True)
_Ts = TypeVarTuple("_Ts")
_Argnums = int | tuple[int, ...]
_Pair = tuple[Tensor, Tensor]

class _Jacobian(Protocol[_T_contra, _P, _R_co]):
    """By a tensor it is built like what the function gives; by a container, like both."""

    @overload
    def __call__(self: _Jacobian[Tensor, _P, _R_co], first: Tensor, /, *args: _P.args, **kwargs: _P.kwargs) -> _R_co: ...
    @overload
    def __call__(self, first: _T_contra, /, *args: _P.args, **kwargs: _P.kwargs) -> Any: ...

@overload
def grad(func: Callable[Concatenate[_T, _P], Tensor]) -> Callable[Concatenate[_T, _P], _T]: ...
@overload
def grad(func: Callable[Concatenate[_T, _P], tuple[Tensor, _A]], *, has_aux: Literal[True]) -> Callable[Concatenate[_T, _P], tuple[_T, _A]]: ...
@overload
def grad(func: Callable[_P, Any], argnums: _Argnums, has_aux: bool = False) -> Callable[_P, Any]: ...

@overload
def grad_and_value(func: Callable[Concatenate[_T, _P], Tensor]) -> Callable[Concatenate[_T, _P], tuple[_T, Tensor]]: ...
@overload
def grad_and_value(func: Callable[Concatenate[_T, _P], tuple[Tensor, _A]], *, has_aux: Literal[True]) -> Callable[Concatenate[_T, _P], tuple[_T, tuple[Tensor, _A]]]: ...
@overload
def grad_and_value(func: Callable[_P, Any], argnums: _Argnums, has_aux: bool = False) -> Callable[_P, Any]: ...

@overload
def jacrev(func: Callable[Concatenate[_T, _P], _R], *, chunk_size: int | None = None) -> _Jacobian[_T, _P, _R]: ...
@overload
def jacrev(func: Callable[Concatenate[Tensor, _P], Tensor], *, chunk_size: int | None = None, wirtinger: Literal[True]) -> Callable[Concatenate[Tensor, _P], _Pair]: ...
@overload
def jacrev(func: Callable[_P, Any], *, has_aux: Literal[True], chunk_size: int | None = None) -> Callable[_P, Any]: ...
@overload
def jacrev(func: Callable[_P, Any], argnums: _Argnums, *, has_aux: bool = False, chunk_size: int | None = None, wirtinger: bool = False) -> Callable[_P, Any]: ...

@overload
def jacfwd(func: Callable[Concatenate[_T, _P], _R], *, randomness: str = "error", chunk_size: int | None = None) -> _Jacobian[_T, _P, _R]: ...
@overload
def jacfwd(func: Callable[Concatenate[Tensor, _P], Tensor], *, randomness: str = "error", chunk_size: int | None = None, wirtinger: Literal[True]) -> Callable[Concatenate[Tensor, _P], _Pair]: ...
@overload
def jacfwd(func: Callable[_P, Any], *, has_aux: Literal[True], randomness: str = "error", chunk_size: int | None = None) -> Callable[_P, Any]: ...
@overload
def jacfwd(func: Callable[_P, Any], argnums: _Argnums, has_aux: bool = False, *, randomness: str = "error", chunk_size: int | None = None, wirtinger: bool = False) -> Callable[_P, Any]: ...

@overload
def hessian(func: Callable[Concatenate[_T, _P], _R]) -> _Jacobian[_T, _P, _R]: ...
@overload
def hessian(func: Callable[Concatenate[Tensor, _P], Tensor], *, wirtinger: Literal[True]) -> Callable[Concatenate[Tensor, _P], tuple[_Pair, _Pair]]: ...
@overload
def hessian(func: Callable[_P, Any], argnums: _Argnums, *, wirtinger: bool = False) -> Callable[_P, Any]: ...

def vmap(func: Callable[_P, _R], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *, chunk_size: int | None = None) -> Callable[_P, _R]: ...

@overload
def vjp(func: Callable[[*_Ts], _R], *primals: *_Ts) -> tuple[_R, Callable[[_R], tuple[*_Ts]]]: ...
@overload
def vjp(func: Callable[[*_Ts], tuple[_R, _A]], *primals: *_Ts, has_aux: Literal[True]) -> tuple[_R, Callable[[_R], tuple[*_Ts]], _A]: ...

@overload
def jvp(func: Callable[[*_Ts], _R], primals: tuple[*_Ts], tangents: tuple[*_Ts], *, strict: bool = False) -> tuple[_R, _R]: ...
@overload
def jvp(func: Callable[[*_Ts], tuple[_R, _A]], primals: tuple[*_Ts], tangents: tuple[*_Ts], *, strict: bool = False, has_aux: Literal[True]) -> tuple[_R, _R, _A]: ...

def linearize(func: Callable[[*_Ts], _R], *primals: *_Ts) -> tuple[_R, Callable[[*_Ts], _R]]: ...

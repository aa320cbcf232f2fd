"""Schemas from annotations; the texts are PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, Union

import pytest

import retrograd as rg
from retrograd.torch.library import Library, custom_op, infer_schema, ops

T = rg.Tensor


def plain(x: T, y: int = 3, *, z: float = 1.0, w: list[int] | None = None) -> T: ...


def kinds(
    x: Sequence[T],
    y: Optional[T],  # noqa: UP045
    d: rg.dtype = rg.float32,
    s: str = "a",
    b: bool = True,
    n: Union[int, float, bool] = 2,  # noqa: UP007
    dev: rg.device | None = None,
    e: Sequence[bool | None] | None = None,
) -> tuple[T, list[T]]: ...


def nothing(out: T, *, k: str | None = None) -> None: ...


def test_annotations_become_a_schema():
    assert infer_schema(plain, mutates_args=()) == (
        "(Tensor x, SymInt y=3, *, float z=1.0, SymInt[]? w=None) -> Tensor"
    )
    assert infer_schema(kinds, mutates_args=()) == (
        '(Tensor[] x, Tensor? y, ScalarType d=float32, str s="a", bool b=True, Scalar n=2, '
        "Device? dev=None, bool?[]? e=None) -> (Tensor, Tensor[])"
    )
    assert infer_schema(nothing, mutates_args=["out"], op_name="ns::q") == (
        "ns::q(Tensor(a0!) out, *, str? k=None) -> ()"
    )


def test_unknown_writes_are_those_of_every_tensor():
    def two(x: T, n: int, y: T) -> bool: ...

    assert infer_schema(two, mutates_args="unknown") == (
        "(Tensor(a0!) x, SymInt n, Tensor(a2!) y) -> bool"
    )


def untyped(x: T, y) -> T: ...
def of_dict(x: T, y: dict) -> T: ...
def starred(*x: T) -> T: ...
def no_return(x: T): ...
def to_dict(x: T) -> dict: ...
def to_ints(x: T) -> list[int]: ...
def defaulted(x: T, y: list[float] = (1.0,)) -> T: ...


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (untyped, "Parameter y must have a type annotation"),
        (of_dict, "Parameter y has unsupported type <class 'dict'>"),
        (starred, "We do not support positional-only args, varargs, or varkwargs"),
        (no_return, "No return type annotation was provided"),
        (to_dict, "Return has unsupported type <class 'dict'>"),
        (to_ints, "Return has unsupported type"),
        (defaulted, "unsupported default value type <class 'tuple'>"),
    ],
)
def test_what_a_schema_cannot_say_is_refused(function, text):
    with pytest.raises(ValueError, match=text):
        infer_schema(function, mutates_args=())


def test_only_tensors_among_the_arguments_are_written():
    with pytest.raises(ValueError, match="only Tensors can be mutated"):
        infer_schema(plain, mutates_args=["y"])
    with pytest.raises(ValueError, match="are no arguments of func"):
        infer_schema(plain, mutates_args=["nope"])


def test_an_operator_says_its_schema():
    def moved(x: rg.Tensor, by: float = 1.0, *, times: list[int] | None = None) -> rg.Tensor: ...

    custom_op("said::moved", moved, mutates_args=["x"])
    text = "(Tensor(a0!) x, float by=1., *, SymInt[]? times=None) -> Tensor"
    assert str(ops.said.moved.default._schema) == f"said::moved{text}"
    Library("said", "DEF").define("total.dims(Tensor x, int[]? dim=None) -> Tensor")
    assert (
        str(ops.said.total.dims._schema) == "said::total.dims(Tensor x, int[]? dim=None) -> Tensor"
    )
    custom_op("said::any", lambda x, n=2: x, mutates_args=())
    assert repr(ops.said.any._schema) == "said::any(x, n=2)"

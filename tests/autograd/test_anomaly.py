"""Anomaly mode: traces of the forward pass in errors, and NaN gradients as errors."""

from __future__ import annotations

import warnings

import pytest

import retrograd as rg
from retrograd import autograd
from retrograd.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled


def leaf(*values):
    return rg.tensor(list(values), dtype=rg.float64, requires_grad=True)


class Failing(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        raise ValueError("mine")


def make_nan(x):
    return (x * 0).sqrt() * 0  # 0 * inf on the way back: this very line is in the trace


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_nan_gradients_raise_and_name_the_forward_line():
    with autograd.set_detect_anomaly(True):
        y = make_nan(leaf(1))
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan") as caught,
        ):
            y.backward()
    assert "in its 0th output" in str(caught.value)
    assert "this very line is in the trace" in str(caught.value)
    assert "engine" not in str(caught.value).rpartition("File")[2]


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_without_a_recorded_trace_the_error_says_so():
    y = make_nan(leaf(1))
    with (
        autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information available"),
        pytest.raises(RuntimeError, match="No forward pass information available"),
    ):
        y.backward()


def test_nan_is_no_error_without_the_mode_or_without_the_check():
    x = leaf(1)
    make_nan(x).backward()
    with autograd.set_detect_anomaly(True, check_nan=False):
        make_nan(x).backward()
    assert x.grad.isnan().all()


def test_any_error_of_a_backward_gets_the_trace_as_a_note():
    with autograd.set_detect_anomaly(True):
        y = Failing.apply(leaf(1))  # the line to be found
        with (
            pytest.warns(UserWarning, match="Error detected in FailingBackward"),
            pytest.raises(ValueError, match="mine") as caught,
        ):
            y.backward()
    (note,) = caught.value.__notes__
    assert "Error detected in FailingBackward" in note
    assert "the line to be found" in note


def test_nodes_of_a_second_derivative_name_the_node_that_induced_them():
    with autograd.set_detect_anomaly(True):
        x = leaf(4)
        (dx,) = autograd.grad(x.sqrt(), x, create_graph=True)
        nodes = [dx.grad_fn]
        for node in nodes:
            for edge, _ in node.next_functions:
                if edge is not None and edge not in nodes:
                    nodes.append(edge)
    parents = {node.metadata["parent_"].name() for node in nodes if "parent_" in node.metadata}
    assert parents == {"SqrtBackward0"}


def test_detect_anomaly_is_a_context_that_warns():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        mode = autograd.detect_anomaly(check_nan=False)
    with mode:
        assert is_anomaly_enabled()
        assert not is_anomaly_check_nan_enabled()
    assert not is_anomaly_enabled()
    assert is_anomaly_check_nan_enabled()


def test_set_detect_anomaly_is_a_function_too():
    autograd.set_detect_anomaly(True)
    assert is_anomaly_enabled()
    autograd.set_detect_anomaly(False)
    assert not is_anomaly_enabled()


class Outer(autograd.Function):
    """The identity, whose backward is recorded as `Inner`."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return Inner.apply(g)


class Inner(autograd.Function):
    """The identity; its derivative is NaN."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


@pytest.mark.filterwarnings("always")
def test_each_node_that_induced_a_failing_one_is_a_warning_of_its_own():
    x, cotangent = leaf(1), leaf(1)
    with warnings.catch_warnings(record=True) as said, autograd.set_detect_anomaly(True):
        (dx,) = autograd.grad(Outer.apply(x), x, cotangent, create_graph=True)
        with pytest.raises(RuntimeError, match="'InnerBackward' returned nan values"):
            dx.backward()
    first, second = [str(one.message) for one in said]
    assert "return Inner.apply(g)" in first
    assert second.startswith("Previous calculation was induced by OuterBackward")
    assert "Outer.apply(x)" in second


@pytest.mark.filterwarnings("error")
def test_where_warnings_are_errors_the_trace_goes_to_stderr(capsys):
    with autograd.set_detect_anomaly(True), pytest.raises(ValueError, match="mine"):
        Failing.apply(leaf(1)).backward()
    assert "UserWarning: Error detected in FailingBackward" in capsys.readouterr().err


def test_the_metadata_of_a_node_say_where_it_was_recorded():
    with autograd.set_detect_anomaly(True):
        y = rg.ones(1, requires_grad=True) * 2
    place = y.grad_fn.metadata["traceback_"][-1]
    assert place.startswith(f'  File "{__file__}", line ')
    assert place.endswith("y = rg.ones(1, requires_grad=True) * 2\n")
    assert "traceback_" not in (y * 2).grad_fn.metadata

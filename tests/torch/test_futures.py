"""`retrograd.futures`: results that are not there yet."""

from __future__ import annotations

import threading

import pytest

from retrograd.torch.futures import Future, collect_all, wait_all


def test_a_future_gives_its_result_to_whoever_waits_in_another_thread():
    future, got = Future(), []
    thread = threading.Thread(target=lambda: got.append(future.wait()))
    thread.start()
    future.set_result(3)
    thread.join()
    assert got == [3]


def test_a_future_is_fulfilled_once():
    future = Future()
    future.set_result(1)
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_result(2)
    with pytest.raises(RuntimeError, match="can only be marked completed once"):
        future.set_exception(ValueError())
    assert future.value() == 1


def test_the_value_of_a_future_that_is_not_done_raises():
    with pytest.raises(RuntimeError, match=r"future\.wait\(\)"):
        Future().value()


def test_an_error_is_raised_by_wait_and_value():
    future = Future()
    future.set_exception(ValueError("x"))
    assert future.done()
    for get in (future.wait, future.value):
        with pytest.raises(ValueError, match="x"):
            get()


def test_what_is_no_exception_cannot_be_an_error():
    with pytest.raises(TypeError, match="not an Exception"):
        Future().set_exception("no")


def test_then_runs_after_the_future_and_carries_errors_on():
    future = Future()
    after = future.then(lambda done: done.value() / 0)
    assert not after.done()
    future.set_result(1)
    with pytest.raises(ZeroDivisionError):
        after.wait()


def test_an_error_in_a_done_callback_is_logged(caplog):
    future = Future()
    future.set_result(1)
    future.add_done_callback(lambda done: done.value() / 0)
    assert "ZeroDivisionError" in caplog.text


def test_collect_all_is_done_when_the_last_one_is():
    first, second = Future(), Future()
    both = collect_all([first, second])
    second.set_result(2)
    assert not both.done()
    first.set_result(1)
    assert both.wait() == [first, second]
    assert collect_all([]).wait() == []


def test_wait_all_raises_the_first_error():
    first, second = Future(), Future()
    first.set_result(1)
    second.set_exception(KeyError("second"))
    with pytest.raises(KeyError, match="second"):
        wait_all([first, second])


def test_there_are_no_devices_but_the_cpu():
    with pytest.raises(ValueError, match="cuda"):
        Future(devices=["cuda:0"])

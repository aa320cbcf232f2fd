"""Running functions in threads that start at once, for the tests of threads."""

from __future__ import annotations

import concurrent.futures
import sys
import threading

import pytest

import retrograd as rg

__all__ = ["eager", "elsewhere", "in_threads", "leaf"]


@pytest.fixture(autouse=True)
def eager():
    """Switch threads after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def leaf(*values, dtype=rg.float64):
    return rg.tensor(list(values), dtype=dtype, requires_grad=True)


def in_threads(count, function):
    """What `function(number)` returns in each of `count` threads, which start at once."""
    barrier = threading.Barrier(count)

    def body(number):
        barrier.wait()
        return function(number)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(body, number) for number in range(count)]
        return [future.result() for future in futures]


def elsewhere(function):
    """What `function()` returns in another thread, which ends before this returns."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()

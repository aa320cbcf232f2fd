"""Large results use the memory of others that are gone, and the user's arrays are left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

from retrograd.kernels.native import loops

pytestmark = pytest.mark.skipif(
    loops is None or not sys.platform.startswith("linux"), reason="memory is not recycled here"
)

PRELUDE = """
import gc
import numpy as np
import retrograd as rg
from numpy._core.multiarray import get_handler_name

def place(x):
    return x._array.__array_interface__["data"][0]

x = rg.ones(3 << 20)  # 12 MiB
"""


def printed(program, **environment):
    """What a program prints in a fresh interpreter."""
    code = PRELUDE + textwrap.dedent(program)
    env = {**os.environ, "RETROGRAD_NATIVE": "1", "RETROGRAD_RECYCLE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    )
    return done.stdout.strip()


def test_the_next_result_takes_the_memory_of_one_that_is_gone():
    program = """
    y = x * 2
    before = place(y)
    del y
    z = x * 3
    print(place(z) == before, bool((z == 3).all()))
    """
    assert printed(program) == "True True"


def test_blocks_that_glibc_would_map_are_kept_and_the_last_one_is_taken_first():
    program = """
    small = x[:40_000]  # 160 kB: more than 128 KiB
    first, second, third = (small * n for n in range(3))
    places = place(first), place(second)
    del first, second
    fourth = small * 3
    fifth = small * 4
    print((place(fifth), place(fourth)) == places)
    """
    assert printed(program) == "True"


def test_blocks_begin_where_lines_of_the_cache_do():
    program = """
    from retrograd.quiet import CALM
    kept = []
    for size in (5_000, 20_001, 40_000, 500_000):
        kept += [x[:size] * 2, rg.from_numpy(CALM.copy().run(np.zeros, size)), x[:size] * 3]
    print({place(y) % 64 for y in kept}, kept[1].sum().item())
    """
    assert printed(program) == "{0} 0.0"


def test_a_view_keeps_its_memory():
    program = """
    y = x * 2
    before, view = place(y), y[5:7]
    del y
    z = x * 3
    print(place(z) == before, view.tolist())
    """
    assert printed(program) == "False [2.0, 2.0]"


def test_zeros_are_zeros_in_memory_that_was_used():
    program = """
    del_me = x * 2
    del del_me
    print(float((x * 0 + rg.zeros(3 << 20)).sum()), float(rg.zeros_like(x).sum()))
    """
    assert printed(program) == "0.0 0.0"


def test_no_more_is_kept_than_the_bound():
    program = """
    import resource
    many = [x * i for i in range(90)]  # 1080 MiB
    del many
    pages = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
    print(pages < 800 << 20)
    """
    assert printed(program) == "True"


def test_arrays_of_the_users_are_allocated_as_ever():
    program = "print(get_handler_name(np.ones(3 << 20)), get_handler_name((x * 2)._array))"
    assert printed(program) == "default_allocator retrograd"


def test_the_environment_turns_it_off():
    program = "print(get_handler_name((x * 2)._array))"
    assert printed(program, RETROGRAD_RECYCLE="0") == "default_allocator"


def test_results_of_other_threads_are_recycled():
    program = """
    import threading
    names = []
    thread = threading.Thread(target=lambda: names.append(get_handler_name((x * 2)._array)))
    thread.start(); thread.join()
    print(names)
    """
    assert printed(program) == "['retrograd']"


def test_what_is_kept_gives_way_to_arrays_of_other_sizes():
    program = """
    import resource
    many = [x * i for i in range(20)]  # 240 MiB
    del many
    others = [rg.ones(5 << 20) * i for i in range(10)]  # 200 MiB
    pages = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
    print(pages < 400 << 20)
    """
    assert printed(program) == "True"

"""Functions of tensors over Dask's arrays."""

from __future__ import annotations

import pickle

import dask
import dask.array as da
import numpy as np
import pytest

import retrograd as rg
from retrograd.interop.dask import map_batches


def rows(*shape, chunks):
    return da.from_array(np.arange(np.prod(shape), dtype=np.float64).reshape(shape), chunks)


def test_rows_that_lie_in_several_blocks_come_whole_and_results_have_any_shape():
    array = rows(7, 4, chunks=(3, 2))
    found = map_batches(lambda x, k: (x * k).reshape(-1, 2, 2), array, 1j)
    assert found.chunks == ((3, 3, 1), (2,), (2,))
    assert found.dtype == np.complex128
    np.testing.assert_array_equal(found, np.arange(28).reshape(7, 2, 2) * 1j)
    assert map_batches(lambda x: x.sum(1), array).shape == (7,)


def test_blocks_whose_number_of_rows_nobody_knows_are_mapped():
    array = rows(8, 3, chunks=(4, 3))
    found = map_batches(rg.sin, array[array[:, 0] > 13])
    np.testing.assert_array_equal(found.compute(), np.sin(np.arange(15.0, 24).reshape(3, 3)))


def test_a_network_is_one_entry_of_the_graph():
    net = rg.nn.Linear(30, 20).double()
    (found,) = dask.optimize(map_batches(net, rows(40, 30, chunks=(4, 30))))
    sizes = sorted(len(pickle.dumps(task)) for task in found.__dask_graph__().values())
    assert sizes[-1] > 600 * 8 > 4 * sizes[-12] > 0  # the array is another one
    assert found.compute().shape == (40, 20)


def test_no_graph_is_kept_and_the_array_stays_as_it_is():
    seen, array = [], rows(4, 2, chunks=(2, 2))
    weight = rg.ones(2, requires_grad=True)

    def function(x):
        x *= weight
        seen.append(x.requires_grad)
        return x + 1

    found = map_batches(function, array).compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, np.arange(8.0).reshape(4, 2) + 1)
    np.testing.assert_array_equal(array, np.arange(8.0).reshape(4, 2))
    assert seen == [False] * 3


def test_a_function_that_gives_other_rows_is_refused():
    with pytest.raises(ValueError, match=r"of shape \(2, 1\) for a batch of shape \(1, 2\)"):
        map_batches(rg.t, rows(4, 2, chunks=(2, 2)))

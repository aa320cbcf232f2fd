"""Names that rules of other packages take from `utils._foreach_utils`."""

from __future__ import annotations

import retrograd as rg
from retrograd.torch.utils import _foreach_utils


def test_lists_are_cut_by_device_and_dtype_of_the_first():
    a, b, c = rg.zeros(1), rg.ones(1, dtype=rg.float64), rg.ones(2)
    cut = _foreach_utils._group_tensors_by_device_and_dtype([[a, b, c], [None, b, None], []], True)
    assert cut.keys() == {(a.device, rg.float32), (a.device, rg.float64)}
    (params, states, empty), places = cut[a.device, rg.float32]
    assert params[0] is a
    assert params[1] is c
    assert (states, empty, places) == ([None, None], [], [0, 2])
    assert cut[a.device, rg.float64] == ([[b], [b], []], [1])
    assert _foreach_utils._group_tensors_by_device_and_dtype([[a]])[a.device, a.dtype][1] == []


def test_optimizers_of_other_packages_choose_loops_on_the_cpu_and_may_fuse_there():
    assert _foreach_utils._foreach_supported_types == [rg.Tensor]
    assert "cpu" not in _foreach_utils._get_foreach_kernels_supported_devices()
    assert "cpu" in _foreach_utils._get_fused_kernels_supported_devices()

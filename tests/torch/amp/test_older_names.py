"""`cuda.amp` and `cpu.amp` are `amp` for one device."""

from __future__ import annotations

import pytest

import retrograd as rg


def test_the_older_region_of_the_cpu_casts():
    pytest.importorskip("ml_dtypes")
    with pytest.warns(FutureWarning, match=r"retrograd.cpu.amp.autocast\(args...\)` is deprecated"):
        region = rg.cpu.amp.autocast()
    with region:
        assert (rg.ones(2, 2) @ rg.ones(2, 2)).dtype == rg.bfloat16


def test_the_older_region_takes_whether_it_is_enabled_first():
    with pytest.warns(FutureWarning, match="is deprecated"):
        region = rg.cpu.amp.autocast(False)
    with region:
        assert (rg.ones(2, 2) @ rg.ones(2, 2)).dtype == rg.float32


@pytest.mark.filterwarnings("ignore")
def test_for_a_gpu_both_are_turned_off():
    with rg.cuda.amp.autocast():
        assert (rg.ones(2, 2) @ rg.ones(2, 2)).dtype == rg.float32
    assert not rg.cuda.amp.GradScaler().is_enabled()


def test_the_older_scaler_of_the_cpu_scales():
    with pytest.warns(FutureWarning, match="is deprecated"):
        scaler = rg.cpu.amp.GradScaler(init_scale=8.0)
    assert scaler.scale(rg.ones(1)).item() == 8


@pytest.mark.filterwarnings("ignore")
def test_a_function_decorated_by_the_older_names_runs():
    class Double(rg.autograd.Function):
        @staticmethod
        @rg.cuda.amp.custom_fwd(cast_inputs=rg.float32)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @rg.cuda.amp.custom_bwd
        def backward(ctx, g):
            return g * 2

    x = rg.ones(1, requires_grad=True)
    Double.apply(x).backward()
    assert x.grad.item() == 2


def test_the_dtype_of_regions_of_a_gpu_is_asked_for_by_its_older_name():
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype"):
        assert rg.get_autocast_gpu_dtype() is rg.float16

"""Devices that are not here can be named and asked for, and never used."""

from __future__ import annotations

import pytest

import retrograd as rg

OTHERS = ["cuda", "cuda:1", "mps", "xpu"]


@pytest.mark.parametrize("name", OTHERS)
def test_a_device_that_is_absent_can_be_named(name):
    named = rg.device(name)
    assert str(named) == name
    assert rg.device(named) == named
    assert named != rg.device("cpu")


def test_a_device_has_a_type_and_an_index_by_name():
    assert (rg.device(type="cuda", index=1).type, rg.device("cuda:1").index) == ("cuda", 1)
    assert rg.device("cuda", 1) == rg.device("cuda:1")


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "use",
    [
        lambda name: rg.ones(1, device=name),
        lambda name: rg.tensor([1.0], device=name),
        lambda name: rg.ones(1).to(name),
        lambda name: rg.ones(1).to(rg.device(name)),
        lambda name: rg.nn.Linear(1, 1).to(name),
        lambda name: rg.nn.Linear(1, 1, device=name),
        lambda name: rg.set_default_device(name),
    ],
)
def test_a_device_that_is_absent_cannot_be_used(name, use):
    with pytest.raises(AssertionError, match="not compiled with"):
        use(name)


@pytest.mark.parametrize("name", OTHERS)
def test_a_generator_of_a_device_that_is_absent_is_refused(name):
    with pytest.raises(RuntimeError, match=r"Cannot get a [A-Z]+ generator"):
        rg.Generator(name)


def test_cuda_takes_devices_of_that_kind():
    for name in (None, "cuda", "cuda:1"):
        with pytest.raises(AssertionError, match="not compiled with"):
            rg.ones(1).cuda(name)
    for name in ("cpu", "meta", "mps", "xpu"):
        with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
            rg.ones(1).cuda(name)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gpu",), "Expected one of cpu, cuda"),
        (("cuda:x",), "Invalid device string: 'cuda:x'"),
        (("cuda:",), "Invalid device string: 'cuda:'"),
        (("cpu:01",), "Invalid device string: 'cpu:01'"),
        (("no such device",), "Invalid device string: 'no such device'"),
        (("",), "Device string must not be empty"),
        (("cuda", -1), "Device index must not be negative"),
        (("cuda:1", 2), "must not include an index because index was passed explicitly: cuda:1"),
        ((0,), "Cannot access accelerator device when none is available"),
    ],
)
def test_a_name_that_is_no_device_raises(arguments, said):
    with pytest.raises(RuntimeError, match=said):
        rg.device(*arguments)


# -- modules of accelerators -------------------------------------------------------------------


@pytest.mark.parametrize("module", [rg.cuda, rg.mps, rg.xpu, rg.accelerator])
def test_no_accelerator_is_available(module):
    assert (module.is_available(), module.device_count()) == (False, 0)


@pytest.mark.parametrize(
    "call",
    [
        rg.cuda.current_device,
        rg.cuda.get_device_name,
        rg.cuda.get_device_properties,
        rg.cuda.get_device_capability,
        lambda: rg.cuda.set_device(0),
        lambda: rg.cuda.set_device("cuda:1"),
        lambda: rg.cuda.device("cuda").__enter__(),
        lambda: rg.cuda.set_rng_state_all([rg.get_rng_state()]),
    ],
)
def test_what_needs_a_gpu_raises(call):
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        *(rg.accelerator.current_device_index, rg.accelerator.synchronize),
        lambda: rg.accelerator.set_device_index(0),
    ],
)
def test_what_needs_an_accelerator_raises(call):
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        call()


def test_lack_of_memory_has_one_type():
    assert rg.cuda.OutOfMemoryError is rg.OutOfMemoryError


def test_seeds_and_caches_of_no_gpu_do_nothing():
    rg.manual_seed(3)
    first = rg.rand(2)
    rg.manual_seed(3)
    for seed in (rg.cuda.manual_seed, rg.cuda.manual_seed_all, rg.mps.manual_seed):
        seed(7)
    for call in (rg.cuda.empty_cache, rg.cuda.synchronize, rg.cuda.seed, rg.mps.synchronize):
        assert call() is None
    assert (rg.rand(2) == first).all()


def test_a_negative_number_chooses_no_gpu():
    assert rg.cuda.set_device(-1) is None
    with rg.cuda.device("cpu") as entered:
        assert entered is None


@pytest.mark.parametrize(
    "ask",
    ["current_stream", "default_stream", "mem_get_info", "ipc_collect", "initial_seed"],
)
def test_what_only_a_gpu_has_is_refused(ask):
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        getattr(rg.cuda, ask)()


def test_there_are_no_counts_of_a_gpu_s_memory_and_no_state_of_its_generator():
    assert rg.cuda.memory_stats() == {}
    with pytest.raises(AssertionError, match="not compiled with CUDA enabled"):
        rg.cuda.get_rng_state()


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("mark", "a"),
        ("range_push", "a"),
        ("range_pop", ""),
        ("range_start", "a"),
        ("range_end", "0"),
    ],
)
def test_marks_for_nvidia_s_tools_are_refused(name, args):
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        getattr(rg.cuda.nvtx, name)(*args)


def test_a_span_for_nvidia_s_tools_is_refused_where_it_begins():
    span = rg.cuda.nvtx.range("a")
    with pytest.raises(RuntimeError, match="NVTX functions not installed"), span:
        pass


def test_no_gpu_was_ever_initialized():
    assert not rg.cuda._initialized
    assert not rg.cuda.is_initialized()


def test_there_is_no_gpu():
    assert not rg.cuda.is_available()
    assert rg.cuda.device_count() == 0
    rg.cuda.manual_seed(0)
    rg.cuda.manual_seed_all(0)

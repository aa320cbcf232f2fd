"""Switches of libraries that are not here can be set, and change nothing."""

import importlib

import pytest

import retrograd as rg


@pytest.mark.parametrize("name", ["cudnn", "mkldnn"])
def test_switches_are_set_for_a_while_and_for_good(name):
    library = importlib.import_module(f"retrograd.torch.backends.{name}")
    with library.flags(enabled=False, deterministic=True):
        assert (library.enabled, library.deterministic) == (False, True)
    assert (library.enabled, library.deterministic) == (True, False)

    @library.flags(enabled=False)
    def read():
        return library.enabled

    assert read() is False


def test_a_switch_that_there_is_not_raises():
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        rg.backends.cudnn.flags(speed=1).__enter__()


def test_none_of_the_libraries_is_available():
    backends = rg.backends
    libraries = (backends.cudnn, backends.mkl, backends.mkldnn, backends.mps, backends.openmp)
    assert not any(library.is_available() for library in libraries)
    assert not backends.cuda.is_built()
    assert not backends.mps.is_built()
    assert backends.cudnn.version() is None


def test_the_precision_of_products_can_be_written(monkeypatch):
    monkeypatch.setattr(rg.backends.cuda.matmul, "allow_tf32", True)
    assert rg.backends.cuda.matmul.allow_tf32


def test_kernels_of_attention_are_switched_for_a_while():
    cuda, attention = rg.backends.cuda, importlib.import_module("retrograd.nn.attention")

    def switches():
        return (
            cuda.flash_sdp_enabled(), cuda.math_sdp_enabled(),
            cuda.mem_efficient_sdp_enabled(), cuda.cudnn_sdp_enabled(),
        )  # fmt: skip

    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        assert switches() == (False, True, False, False)
        cuda.enable_flash_sdp(True)
        assert cuda.flash_sdp_enabled()
    assert switches() == (True,) * 4
    with pytest.warns(FutureWarning, match="sdpa_kernel"), cuda.sdp_kernel(enable_math=False):
        assert switches() == (True, False, True, True)


def test_switches_without_flags_are_kept():
    assert rg.backends.mha.get_fastpath_enabled()
    rg.backends.mha.set_fastpath_enabled(False)
    assert not rg.backends.mha.get_fastpath_enabled()
    rg.backends.mha.set_fastpath_enabled(True)
    with rg.backends.nnpack.flags(enabled=False):
        assert not rg.backends.nnpack.enabled
    assert rg.backends.nnpack.set_flags(True) == (True,)
    with rg.backends.opt_einsum.flags(strategy="greedy"):
        assert rg.backends.opt_einsum.strategy == "greedy"
    assert (rg.backends.opt_einsum.strategy, rg.backends.cusparselt.version()) == (None, None)


@pytest.mark.parametrize("name", rg.accelerator.memory.__all__)
def test_the_memory_of_no_accelerator_can_be_asked(name):
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is avail"):
        getattr(rg.accelerator, name)()


def test_no_accelerator_can_be_chosen():
    with pytest.raises(RuntimeError, match="Cannot access accelerator device"):
        rg.accelerator.device_index(0).__enter__()
    with rg.accelerator.device_index(None), rg.cuda.device_of(rg.ones(1)):
        assert rg.cuda.default_generators == ()
    with pytest.raises(RuntimeError, match="does not have a corresponding module"):
        rg.get_device_module("meta")
    assert rg.get_device_module("mps") is rg.mps


def test_kernels_of_attention_have_one_class():
    assert rg.backends.cuda.SDPBackend is rg.nn.attention.SDPBackend
    assert rg.backends.cuda.SDPBackend.MATH == 0

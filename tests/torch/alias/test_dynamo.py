"""What programs use of `torch._dynamo`, and classes of CUDA's that they name."""

from __future__ import annotations

import importlib

import pytest

import retrograd as rg
from retrograd.torch import _dynamo as dynamo
from retrograd.torch.alias.finder import home_of


def test_tensors_index_under_vmap_in_and_out_of_its_context():
    path = home_of("torch._dynamo._trace_wrapped_higher_order_op")
    context = importlib.import_module(path).TransformGetItemToIndex
    x = rg.tensor([[5, 6], [7, 8]])
    rows, columns = rg.tensor([1, 0]), rg.tensor([0, 1])
    with context():
        inside = rg.vmap(lambda i, j: x[i, j])(rows, columns)
    assert inside.tolist() == rg.vmap(lambda i, j: x[i, j])(rows, columns).tolist() == [7, 6]


def test_marks_for_a_compiler_leave_a_tensor_as_it_is():
    x = rg.ones(2)
    for mark in (dynamo.mark_static_address, dynamo.mark_static):
        assert mark(x) is None
    assert dynamo.mark_dynamic(x, 0, min=1) is None
    assert not dynamo.is_compiling()
    assert x.tolist() == [1.0, 1.0]


def test_a_compiled_module_is_an_optimized_module():
    net = rg.nn.Linear(1, 1)
    assert isinstance(rg.compile(net), dynamo.OptimizedModule)


def test_settings_of_a_compiler_are_kept():
    dynamo.config.cache_size_limit = 64
    assert dynamo.config.cache_size_limit == 64
    assert importlib.import_module(home_of("torch._dynamo.config")) is dynamo.config
    inductor = importlib.import_module(home_of("torch._inductor"))
    assert importlib.import_module(home_of("torch._inductor.config")) is inductor.config
    assert not hasattr(dynamo.config, "verbose")


def test_no_tensor_is_of_a_type_of_cuda():
    assert rg.cuda.FloatTensor.dtype is rg.float32
    assert not isinstance(rg.ones(1), rg.cuda.FloatTensor)


@pytest.mark.parametrize("name", ["Stream", "Event", "CUDAGraph", "MemPool", "graph", "HalfTensor"])
def test_classes_of_things_on_a_gpu_have_no_objects(name):
    with pytest.raises(RuntimeError, match=f"Tried to instantiate dummy base class {name}"):
        getattr(rg.cuda, name)()


def test_errors_of_the_compiler_may_be_caught():
    exc = importlib.import_module(home_of("torch._dynamo.exc"))
    assert issubclass(exc.Unsupported, exc.TorchDynamoException)
    assert issubclass(exc.TorchDynamoException, RuntimeError)
    with importlib.import_module(home_of("torch._dynamo.utils")).disable_cache_limit():
        pass


def test_functional_has_the_functions_of_layers_by_a_short_name():
    functional = importlib.import_module(home_of("torch.functional"))
    assert functional.F is rg.nn.functional
    assert functional.einsum is rg.einsum
    assert rg.functional is functional


def test_no_mode_makes_tensors_of_shapes_alone():
    guards = importlib.import_module(home_of("torch._guards"))
    assert guards.active_fake_mode() is None
    assert guards.detect_fake_mode([rg.ones(1)]) is None


def test_no_module_watches_or_rounds_for_a_quantized_dtype():
    kinds = importlib.import_module(home_of("torch.ao.quantization"))
    assert issubclass(kinds.FakeQuantizeBase, kinds.ObserverBase)
    assert not isinstance(rg.nn.Linear(1, 1), kinds.ObserverBase)
    with pytest.raises(NotImplementedError, match="NumPy has no quantized dtypes"):
        kinds.ObserverBase()


def test_bases_of_storages_parameters_and_dropout_are_named():
    assert isinstance(rg.ones(1).untyped_storage(), rg.StorageBase)
    assert isinstance(rg.nn.Parameter, rg.nn.parameter._ParameterMeta)
    assert isinstance(rg.nn.Dropout(), rg.nn.modules.dropout._DropoutNd)
    assert rg.serialization.pickle.__name__ == "pickle"

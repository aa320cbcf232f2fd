"""What trainers (Lightning, accelerate, peft, fastai) use of PyTorch's less public names."""

from __future__ import annotations

import importlib
import io

import pytest

import retrograd as rg
from retrograd.torch import _dynamo as dynamo
from retrograd.torch.alias.finder import home_of


def c_nn():
    return importlib.import_module(home_of("torch._C._nn"))


def test_the_class_of_tensors_has_its_metaclass_under_pytorch_s_name():
    assert isinstance(rg.Tensor, rg._C._TensorMeta)


def test_functions_that_pytorch_has_in_c_are_those_of_functional():
    assert c_nn().linear is rg.nn.functional.linear


def test_the_arguments_of_to_are_parsed_into_four():
    cpu = rg.device("cpu")
    assert c_nn()._parse_to(device="cpu") == (cpu, None, False, None)
    assert c_nn()._parse_to("cpu", rg.float32, True) == (cpu, rg.float32, True, None)
    assert c_nn()._parse_to(rg.zeros(2)) == (cpu, rg.float32, False, None)


def test_compiled_modules_are_of_one_class():
    net = rg.nn.Linear(2, 1)
    assert isinstance(rg.compile(net), dynamo.eval_frame.OptimizedModule)
    assert dynamo.OptimizedModule is dynamo.eval_frame.OptimizedModule


def test_scripted_modules_are_named_at_the_top_too():
    assert (rg.ScriptModule, rg.ScriptFunction) == (rg.jit.ScriptModule, rg.jit.ScriptFunction)


def test_the_right_fan_of_a_weight_has_pytorch_s_private_name():
    fan = rg.nn.init._calculate_correct_fan
    assert [fan(rg.ones(2, 3), mode) for mode in ("fan_in", "fan_out")] == [3, 2]


def test_a_fresh_parameter_stores_no_attributes():
    assert rg.nn.Parameter(rg.zeros(2)).__dict__ == {}
    with rg.inference_mode():
        inside = rg.zeros(2)
    assert rg.nn.Parameter(inside, requires_grad=False).is_inference()


def test_there_are_no_accelerators_whose_generators_have_states():
    checkpoint = rg.utils.checkpoint
    assert checkpoint.get_device_states(rg.ones(2), 3) == ([], [])
    checkpoint.set_device_states([], [])
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        checkpoint.set_device_states([0], [rg.zeros(1)])


def test_torchvision_says_the_version_that_goes_with_pytorch_s():
    assert rg.vision.__version__ == "0.28.0+retrograd"


# -- records of files --------------------------------------------------------------------------


@pytest.fixture
def reader():
    file = io.BytesIO()
    rg.save({"a": rg.arange(3.0)}, file)
    file.seek(0)
    return rg.PyTorchFileReader(file)


def test_records_of_a_file_are_read_by_name(reader):
    assert {"data.pkl", "data/0", "version"} <= set(reader.get_all_records())
    assert [reader.has_record(name) for name in ("data/0", "data/1")] == [True, False]
    assert reader.get_record("version").strip() == b"3"
    assert reader.get_record_size("data/0") == 12


def test_a_record_is_a_storage_of_bytes_or_of_elements(reader):
    found = reader.get_storage_from_record("data/0", 3, rg.float32)
    assert (found.shape, found.storage().tolist()) == ((0,), [0.0, 1.0, 2.0])
    found = reader.get_storage_from_record("data/0", 12, rg.UntypedStorage)
    assert found.untyped_storage().nbytes() == 12


def test_a_record_of_another_size_or_name_raises(reader):
    with pytest.raises(RuntimeError, match=r"record size \(12 bytes\) does not match .* \(20"):
        reader.get_storage_from_record("data/0", 5, rg.float32)
    with pytest.raises(RuntimeError, match="failed locating file x: file not found"):
        reader.get_record("x")
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        rg.PyTorchFileReader(io.BytesIO(b"abc"))


def test_a_tensor_of_a_module_is_exchanged_for_another():
    accessor = importlib.import_module("retrograd.nn.utils._named_member_accessor")
    line = rg.nn.Linear(1, 1, bias=False)
    weight = line.weight
    assert accessor.swap_tensor(line, "weight", rg.tensor([[2.0]])) is weight
    assert line(rg.ones(1)).item() == 2.0
    assert accessor.swap_tensor(line, "extra", rg.ones(1), allow_missing=True) is accessor._MISSING
    accessor.swap_tensor(line, "extra", accessor._MISSING, allow_missing=True)
    assert not hasattr(line, "extra")
    for name, value, kind, text in [
        ("weight", 3, TypeError, "3 is not an instance of torch.Tensor"),
        ("in_features", rg.ones(1), TypeError, "which 'in_features' is, is not an instance of"),
        ("nothing", rg.ones(1), AttributeError, "Linear has no attribute `nothing`"),
        ("a.weight", rg.ones(1), KeyError, r"a\.weight"),
    ]:
        with pytest.raises(kind, match=text):
            accessor.swap_tensor(line, name, value)


def test_a_context_manager_of_a_program_decorates_as_the_modes_do():
    entered = []

    class Counted(rg.utils._contextlib._DecoratorContextManager):
        def __init__(self, name):
            self.name = name

        def clone(self):
            return type(self)(self.name)

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc):
            entered.append("end")

    @Counted("a")
    def double(x):
        return 2 * x

    assert (double(3), entered) == (6, ["a", "end"])
    assert isinstance(rg.no_grad(), rg.utils._contextlib._NoParamDecoratorContextManager)
    assert not isinstance(
        rg.set_grad_enabled(True), rg.utils._contextlib._NoParamDecoratorContextManager
    )


def test_hooks_of_all_registrations_are_found_where_pytorch_keeps_them():
    module = rg.nn.modules.module
    seen = []
    with module.register_module_parameter_registration_hook(lambda *given: seen.append(given[1])):
        for hook in module._global_parameter_registration_hooks.values():
            hook(None, "weight", None)
    assert (seen, len(module._global_parameter_registration_hooks)) == (["weight"], 0)


def test_there_is_no_kind_of_accelerator():
    assert rg._utils._get_available_device_type() is None
    assert rg._utils._get_device_module("cpu") is rg.cpu
    assert rg._C._get_accelerator() == rg.device("cpu")

"""Private names of PyTorch that libraries about graphs use."""

from __future__ import annotations

import importlib
import math

import pytest

import retrograd as rg
import retrograd.torch.distributed.rpc
from retrograd.torch.alias.finder import home_of


def test_rows_are_compressed_and_listed_again():
    rows, columns = rg.tensor([0, 0, 2, 3]), rg.tensor([1, 2, 0, 3])
    starts = rg._convert_indices_from_coo_to_csr(rows, 5)
    assert starts.tolist() == [0, 2, 2, 3, 4, 4]
    pair = rg._convert_indices_from_csr_to_coo(starts, columns)
    assert pair.tolist() == [[0, 0, 2, 3], [1, 2, 0, 3]]
    turned = rg._convert_indices_from_csr_to_coo(starts, columns, out_int32=True, transpose=True)
    assert turned.dtype is rg.int32
    assert turned.tolist() == [[1, 2, 0, 3], [0, 0, 2, 3]]
    assert rg._convert_indices_from_coo_to_csr(rows, 4, out_int32=True).dtype is rg.int32


def test_segments_are_reduced_by_the_names_amax_and_amin():
    x, offsets = rg.tensor([1.0, 3.0, 2.0]), rg.tensor([0, 2, 3])
    assert rg._segment_reduce(x, "amax", offsets=offsets).tolist() == [3.0, 2.0]
    assert rg._segment_reduce(x, "amin", offsets=offsets).tolist() == [1.0, 2.0]
    assert rg._segment_reduce(x, "sum", offsets=offsets, initial=1).tolist() == [5.0, 3.0]


def test_programs_may_show_tensors_as_the_package_does():
    shown = importlib.import_module(home_of("torch._tensor_str"))
    text = "Mine(" + shown._tensor_str(rg.tensor([[1.0], [2.0]]), 5)
    assert text == "Mine([[1.],\n      [2.]]"
    assert shown._add_suffixes(text, ["a=1"], 5, False) == text + ", a=1)"
    assert shown._add_suffixes(text, ["a=1"], 5, True) == text + ",\n     a=1)"
    with rg.printoptions(precision=2):
        assert shown.PRINT_OPTS.precision == 2
    assert not hasattr(shown.PRINT_OPTS, "nothing")


def test_the_kind_of_the_default_device_follows_contexts():
    assert rg._C._get_default_device() == "cpu"
    with rg.device("meta"):
        assert rg._C._get_default_device() == "meta"


def test_what_is_not_available_says_so():
    assert not rg.distributed.rpc.is_available()
    assert not rg.onnx.is_in_onnx_export()


def test_a_value_of_torchscript_is_a_type_that_nothing_has():
    assert not isinstance(rg.ones(1), rg._C.Value | rg._C.Graph)
    with pytest.raises(TypeError, match=r"_C\.Graph: No constructor defined"):
        rg._C.Graph()
    assert not isinstance(rg.device("cpu"), rg.DeviceObjType)


def test_no_fake_tensors_are_made_outside_a_context_either():
    fake = importlib.import_module(home_of("torch._subclasses.fake_tensor"))
    with fake.unset_fake_temporarily() as mode:
        assert mode is None
        assert not fake.is_fake(rg.ones(1))


def test_a_sigmoid_stays_off_its_limits_by_the_private_name():
    clipped = rg.distributions.transforms._clipped_sigmoid(rg.tensor([-200.0, 0.0, 200.0]))
    limits = rg.finfo(rg.float32)
    assert clipped.tolist() == [limits.tiny, 0.5, 1 - limits.eps]


def test_mixed_precision_for_a_gpu_is_definitely_not_available():
    common = importlib.import_module(home_of("torch.cuda.amp.common"))
    assert common is rg.cuda.amp.common
    assert common.amp_definitely_not_available()


def test_names_of_modules_that_stand_elsewhere_are_the_same_objects():
    windows = importlib.import_module(home_of("torch.signal.windows.windows"))
    assert windows.hann is rg.signal.windows.hann
    assert rg.DisableTorchFunctionSubclass is rg._C.DisableTorchFunctionSubclass


def test_programs_may_put_jacobians_together_by_the_private_functions():
    functional = importlib.import_module("retrograd.autograd.functional")
    x = rg.ones(2, requires_grad=True)
    assert functional._as_tuple(x, "inputs", "jacobian") == (False, (x,))
    with pytest.raises(TypeError, match="inputs given to jacobian must be either a Tensor"):
        functional._as_tuple([x], "inputs", "jacobian")
    ((plain,),) = functional._grad_postprocess(((2 * x,),), create_graph=False)
    assert not plain.requires_grad
    assert functional._grad_postprocess((x,), create_graph=True)[0] is x
    unpacked = functional._tuple_postprocess
    assert unpacked((1,), False) == 1
    assert unpacked((1,), True) == (1,)
    assert unpacked(((1,), (2,)), (True, False)) == (1, 2)
    assert unpacked(((1, 2),), (False, True)) == (1, 2)


def test_types_of_scripts_are_names_for_annotations():
    assert not isinstance(rg.ones(1), rg.TensorType)
    assert not rg._C._is_tracing()


def test_switches_of_the_compiler_of_scripts_say_what_they_were():
    for change in (rg._C._jit_set_profiling_executor, rg._C._jit_set_profiling_mode):
        assert [change(False), change(True), change(True)] == [True, False, True]


def test_nothing_is_compiled_by_a_builder_of_extensions_or_as_a_script():
    builder = importlib.import_module(home_of("torch.utils.cpp_extension"))
    assert builder.CUDA_HOME is None
    for build in (builder.load, builder.load_inline):
        with pytest.raises(RuntimeError, match=r"mine: there is no C\+\+ library to build against"):
            build("mine", ["mine.cpp"])
    with pytest.raises(RuntimeError, match="mine: there is no"):
        builder.load_inline(name="mine", cpp_sources="")
    assert not importlib.import_module(home_of("torch.jit._state"))._enabled.enabled


def test_a_device_is_the_context_of_functions():
    on_device = importlib.import_module(home_of("torch.utils._device"))
    with on_device.DeviceContext("meta"):
        assert rg.ones(2).is_meta
    assert on_device.device_decorator("meta", rg.ones)(2).is_meta
    assert not on_device.set_device("cpu")(rg.ones)(2).is_meta


def test_a_checkpoint_is_valid_in_passes_to_all_leaves():
    seen = []

    class Asking(rg.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append(rg.autograd._is_checkpoint_valid())
            return g * 2

    x = rg.ones(2, requires_grad=True)
    Asking.apply(x).sum().backward()
    Asking.apply(x).sum().backward(inputs=[x])
    rg.autograd.grad(Asking.apply(x).sum(), x)
    assert seen == [True, False, False]
    assert rg.autograd._is_checkpoint_valid()


def test_attention_s_projections_are_found_beside_it():
    x, w, b = rg.randn(2, 3, 4), rg.randn(12, 4), rg.randn(12)
    packed = rg.nn.functional._in_projection_packed(x, x, x * 2, w, b)
    single = rg.nn.functional._in_projection(x, x, x * 2, *w.chunk(3), *b.chunk(3))
    wanted = [part @ w[at : at + 4].T + b[at : at + 4] for at, part in ((0, x), (4, x), (8, x * 2))]
    for one, two, three in zip(packed, single, wanted, strict=True):
        assert rg.equal(one, two)
        rg.testing.assert_close(one, three)


def test_no_graph_of_torchscript_is_written_down():
    with pytest.raises(RuntimeError, match=r"Write fx\.symbolic_trace"):
        rg.jit._get_trace_graph(rg.nn.ReLU(), rg.ones(1))


def test_what_waits_for_a_gpu_is_never_called():
    called = []
    assert rg.cuda._lazy_call(lambda: called.append(1), seed=True) is None
    assert not called
    assert not rg.cuda._is_in_bad_fork()
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        rg.cuda._lazy_init()


def test_the_older_base_of_transposed_convolutions_warns():
    conv = importlib.import_module(home_of("torch.nn.modules.conv"))

    class Older(conv._ConvTransposeMixin, rg.nn.ConvTranspose1d):
        pass

    with pytest.warns(FutureWarning, match="deprecated internal class"):
        made = Older(1, 2, 3)
    assert made(rg.ones(1, 1, 4)).shape == (1, 2, 6)


def test_operators_are_of_pytorch_s_private_classes():
    classes = importlib.import_module(home_of("torch._ops"))
    aten = importlib.import_module(home_of("torch.ops")).aten
    own = rg.library.custom_op("private::twice", lambda x: x * 2, mutates_args=())
    assert isinstance(aten.add.Tensor, classes.OpOverload)
    assert isinstance(own._opoverload, classes.OpOverload)
    assert isinstance(aten.add, classes.OpOverloadPacket)
    assert isinstance(aten, classes._OpNamespace)


def test_layers_that_pool_have_a_base_for_each_kind():
    pooling = importlib.import_module(home_of("torch.nn.modules.pooling"))
    for kind in ("AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "LPPool", "MaxPool", "MaxUnpool"):
        base = getattr(pooling, f"_{kind}Nd")
        layers = [name for name in pooling.__all__ if issubclass(getattr(pooling, name), base)]
        assert layers == [f"{kind}{n}d" for n in (1, 2, 3)]


def test_tensors_do_not_go_to_gpus():
    with pytest.raises(AssertionError, match="not compiled with CUDA"):
        rg.cuda.comm.broadcast(rg.ones(1), [0])


def test_groups_have_private_names():
    rg.distributed.init_process_group(rank=0, world_size=1)
    try:
        world = rg.distributed._get_default_group()
        assert world is rg.distributed.group.WORLD
        assert rg.distributed._get_global_rank(world, 0) == 0
        assert not rg.distributed._rank_not_in_group(world)
        assert rg.distributed._rank_not_in_group(rg.distributed.GroupMember.NON_GROUP_MEMBER)
    finally:
        rg.distributed.destroy_process_group()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        rg.distributed._get_default_group()


@pytest.mark.parametrize(
    ("values", "width", "first"),
    [
        ([1.0, 2.5], 6, "1.0000"),
        ([1, 200], 3, "  1"),
        ([1e-10, 1e10], 10, "1.0000e-10"),
        ([True, False], 5, " True"),
        ([math.nan, 1.0], 2, "nan"),
    ],
)
def test_numbers_are_formatted_in_pytorchs_widths(values, width, first):
    x = rg.tensor(values)
    formatter = importlib.import_module(home_of("torch._tensor_str"))._Formatter(x)
    assert (formatter.width(), formatter.format(values[0])) == (width, first)
    assert formatter.format(x[0]) == first


def test_clones_of_a_layer_share_nothing():
    layer = rg.nn.Linear(2, 2)
    clones = rg.nn.modules.transformer._get_clones(layer, 2)
    with rg.no_grad():
        clones[0].weight.zero_()
    assert clones[1].weight.equal(layer.weight)
    assert not layer.weight.equal(clones[0].weight)


def test_types_of_scripts_are_types():
    assert issubclass(rg.TensorType, rg.Type)
    assert not isinstance(rg.ones(1), rg.Type)

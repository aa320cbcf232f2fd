"""Functions and classes are of PyTorch's modules under the alias, in whatever order these come."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .children import printed


@pytest.mark.parametrize(
    "first", ["fx", "nn.utils.prune", "distributions", "optim", "serialization"]
)
def test_what_a_module_uses_is_not_renamed_by_it(first):
    code = f"""
import torch, torch.{first}
from torch.fx import symbolic_trace as trace
for found in (torch.finfo, torch.layout, torch.memory_format, torch.UntypedStorage, torch.topk):
    print(found.__module__)
print([node.op for node in trace(lambda x: torch.topk(x, 1)).graph.nodes])
print([node.op for node in trace(lambda x: torch.zeros_like(x)).graph.nodes])
print([node.op for node in trace(lambda x: torch.grid_sampler_2d(x, x, 0, 0, 0)).graph.nodes])
"""
    traced = "['placeholder', 'call_function', 'output']"
    assert printed(code).splitlines() == ["torch"] * 5 + [traced] * 3


def test_classes_that_are_made_for_one_object_are_of_torch_s_modules():
    code = """
import torch
from torch import nn
from torch.nn.utils import parametrizations

for made in (parametrizations.weight_norm(nn.Linear(1, 1)), torch.fx.symbolic_trace(nn.ReLU())):
    print(type(made).__module__)
"""
    assert printed(code).split() == ["torch.nn.utils.parametrize", "torch.fx.graph_module"]


def test_distributions_are_of_modules_by_their_names():
    code = """
import torch.distributions as d
for found in (d.Normal, d.StudentT, d.MultivariateNormal, d.LKJCholesky, d.Categorical):
    print(found.__module__)
"""
    modules = ("normal", "studentT", "multivariate_normal", "lkj_cholesky", "categorical")
    assert printed(code).split() == [f"torch.distributions.{name}" for name in modules]


@pytest.mark.parametrize("layer", ["Linear", "Conv2d", "BatchNorm1d", "Flatten", "L1Loss"])
def test_the_source_of_a_layer_is_found(layer):
    code = f"import inspect, torch; print(inspect.getsource(torch.nn.{layer}))"
    assert printed(code).startswith(f"class {layer}(")


def test_a_layer_is_what_its_module_has_by_its_name_and_its_annotations_can_be_read():
    code = """
import sys, typing, torch
print(torch.nn.Module.__module__)
for name, kind in vars(torch.nn).items():
    if isinstance(kind, type) and issubclass(kind, torch.nn.Module):
        typing.get_type_hints(kind)
        if getattr(sys.modules[kind.__module__], kind.__name__) is not kind:
            print(name)
"""
    assert printed(code).split() == ["torch.nn.modules.module"]


def test_a_function_that_a_method_has_loaded_is_traced_as_a_function(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, torch.fx\n"
        "torch.Tensor.topk, torch.Tensor.clamp\n"
        "for call in (lambda x: torch.topk(x, 1), lambda x: torch.clamp(x, 0)):\n"
        "    print([node.op for node in torch.fx.symbolic_trace(call).graph.nodes])\n"
    )
    whole = (sys.executable, "-m", "retrograd", "run", script)
    done = subprocess.run(whole, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['placeholder', 'call_function', 'output']"] * 2


def test_what_functions_return_is_of_torch_s_modules():
    code = """
import torch
x = torch.ones(1, 1, requires_grad=True)
class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
for made in (x.max(1), x.register_hook(print), Same.apply(x).grad_fn):
    print(type(made).__module__)
"""
    modules = ["torch.return_types", "torch.utils.hooks", "torch.autograd.function"]
    assert printed(code).split() == modules


def test_errors_and_warnings_name_what_programs_know():
    code = """
import warnings, torch
from torch import nn
def told(call):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call()
    except (Exception, UserWarning) as error:
        print(str(error).split(chr(10))[-1][:80])
told(lambda: torch.finfo(torch.int32))
told(lambda: torch.linspace(1j, 2, 3, dtype=torch.float32))
told(lambda: torch.frexp(torch.ones(2, dtype=torch.uint8)))
told(lambda: torch.Size(["a"]))
told(lambda: torch.ones(2).clone(memory_format=3))
told(lambda: torch.ones(2)[torch.ones(2, dtype=torch.uint8)])
told(lambda: torch.range(0, 1))
told(lambda: nn.Linear(1, 1).load_state_dict({"weight": 3, "bias": torch.ones(1)}))
print(repr(torch.set_grad_enabled(True)))
"""
    shown = printed(code)
    assert shown.count("torch.") >= 9
    assert "retrograd" not in shown

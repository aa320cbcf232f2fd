"""`torch` as a name of the package, in interpreters of their own: the alias is for good."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import retrograd
from retrograd.torch.alias.explain import explain

from . import children

NAMES = Path(__file__).parents[2] / "data" / "names.json"  # of PyTorch's modules


def run(*arguments, folder=None):
    """A finished interpreter with these arguments."""
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )


def printed(code):
    """What a program prints under the alias."""
    return children.printed(code).strip()


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return str(path)


# -- the alias ---------------------------------------------------------------------------------


def test_torch_and_its_submodules_are_the_package():
    code = """
import retrograd, torch, torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
print(torch.Tensor is retrograd.Tensor, nn is retrograd.nn, F.relu is retrograd.nn.functional.relu)
print(nn.__name__, nn.__spec__.name, DataLoader is retrograd.utils.data.DataLoader)
"""
    assert printed(code) == "True True True\nretrograd.nn retrograd.nn True"


def test_whatever_dir_names_can_be_read():
    code = """
import torch, types
left, seen = [torch], {torch}
while left:
    module = left.pop()
    for name in dir(module):
        found = getattr(module, name)
        known = isinstance(found, types.ModuleType)
        if known and found.__name__.startswith(("retrograd", "torch")):
            left += {found} - seen
            seen.add(found)
print(len(seen) > 70)
"""
    assert printed(code) == "True"


def test_the_version_under_the_alias_is_that_of_the_pytorch_that_is_followed():
    code = """
import importlib.metadata, retrograd, torch
print(torch.__version__, torch.version.__version__, torch.version.cuda)
print(importlib.metadata.version("torch"), retrograd.__version__)
print(torch.__version__ >= (2, 4), torch.__version__ < "2.9", torch.__version__.split("+")[0])
"""
    assert printed(code).splitlines() == [
        "2.13.0+retrograd 2.13.0+retrograd None",
        f"2.13.0+retrograd {retrograd.__version__}",
        "True False 2.13.0",
    ]


def test_what_is_printed_says_torch():
    code = """
import torch
print(torch.ones(2, 3).shape, torch.ones(1, dtype=torch.float64), torch.ones(1).type())
print(torch.strided, torch.channels_last, torch.FloatTensor, type(torch.ones(1)))
print(torch.ones(1, 2).max(1))
"""
    assert printed(code).splitlines() == [
        "torch.Size([2, 3]) tensor([1.], dtype=torch.float64) torch.FloatTensor",
        "torch.strided torch.channels_last <class 'torch.FloatTensor'> <class 'torch.Tensor'>",
        "torch.return_types.max(",
        "values=tensor([1.]),",
        "indices=tensor([0]))",
    ]


def test_a_file_saved_under_the_alias_is_read_without_it(tmp_path):
    path = str(tmp_path / "saved")
    code = "import torch; torch.save([torch.ones(2), torch.Size([1]), torch.int8], {!r})"
    printed(code.format(path))
    done = run("-c", f"import retrograd as rg; print(rg.load({path!r}))")
    assert done.stdout == "[tensor([1., 1.]), retrograd.Size([1]), retrograd.int8]\n"


def test_the_alias_is_refused_where_pytorch_is_imported():
    code = "import sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
    done = run("-c", code + "import retrograd.as_torch")
    assert "RuntimeError: retrograd.as_torch: PyTorch itself has been imported" in done.stderr


def test_a_module_that_is_missing_is_not_found():
    code = """
import importlib.util
print(importlib.util.find_spec("torch.nothing"))
try:
    import torch.nothing
except ModuleNotFoundError as error:
    print(error)
"""
    assert printed(code) == "None\nNo module named 'torch.nothing'"


def test_without_the_alias_nothing_of_it_is_imported():
    done = run(
        "-c",
        "import sys, retrograd; print([m for m in sys.modules if 'retrograd.torch.alias' in m])",
    )
    assert done.stdout == "[]\n"


def test_the_names_of_pytorch_s_compiler_are_at_torch_compiler():
    code = """
import torch, torch.compiler
print(torch.compiler.is_compiling(), torch.compile(abs) is abs, torch.compiler.disable(abs) is abs)
part = torch._disable_dynamo(recursive=False)
print(torch._disable_dynamo(abs) is abs, part(abs) is abs, torch.sparse.Tensor is torch.Tensor)
"""
    assert printed(code) == "False True True\nTrue True True"


def test_switches_of_a_backend_are_imported_as_a_module():
    code = """
import torch.backends.cudnn as cudnn
import torch
cudnn.benchmark = True
print(torch.backends.cudnn.benchmark, cudnn.is_available(), torch.backends.cuda.matmul.allow_tf32)
"""
    assert printed(code) == "True False False"


def test_modules_that_are_elsewhere_here_are_imported_and_asked_for_by_attribute():
    code = """
import torch
net = torch.nn.BatchNorm1d(2)
print(isinstance(net, torch.nn.modules.batchnorm._BatchNorm))
from torch.utils.data.dataset import Dataset
import torch.utils.data.sampler
from torch.nn.modules.flatten import Flatten
print(Dataset is torch.utils.data.Dataset, torch.utils.data.dataloader.default_collate([1, 2]))
print(torch.nn.modules.Linear is torch.nn.Linear, Flatten is torch.nn.Flatten)
"""
    assert printed(code) == "True\nTrue tensor([1, 2])\nTrue True"


def test_a_function_keeps_hiding_the_module_of_its_name():
    code = """
from torch.autograd.gradcheck import GradcheckError
import torch.autograd.grad
x = torch.ones(1, dtype=torch.float64, requires_grad=True)
print(torch.autograd.gradcheck(torch.exp, x), torch.autograd.grad(x.exp() - x.exp(), x)[0].item())
"""
    assert printed(code) == "True 0.0"


# -- what is missing ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("torch.sofmax", "torch.sofmax is not in Retrograd. The nearest name is torch.softmax."),
        ("from torch.nn import Liner", "torch.nn.Liner is not in Retrograd. The nearest name is "),
        ("torch.nn.functional.rellu", "torch.nn.functional.rellu is not in Retrograd. The nea"),
        ("torch.ones(1).summ()", "torch.Tensor.summ is not in Retrograd. The nearest name is"),
        ("torch.hspmm", "torch.hspmm is not in Retrograd: nothing is written into sparse tensors"),
        (
            "import torch.nativert",
            "torch.nativert is not in Retrograd: Python itself is the p",
        ),
    ],
)
def test_an_uncaught_error_says_place_name_reason_and_nearest_name(tmp_path, line, said):
    script = write(tmp_path, "script.py", f"import torch\n\n{line}\n")
    done = run("-m", "retrograd", "run", script)
    assert done.returncode == 1
    assert f"\n{script}:3: {said}" in done.stderr
    assert "runpy" not in done.stderr


def test_an_error_of_the_program_s_own_gets_no_note(tmp_path):
    script = write(tmp_path, "script.py", "import torch\nimport math\nmath.nothing\n")
    assert "Retrograd" not in run("-m", "retrograd", "run", script).stderr


# -- commands ----------------------------------------------------------------------------------


def test_run_gives_a_script_its_arguments_and_its_folder(tmp_path):
    write(tmp_path, "beside.py", "import torch\nvalue = torch.ones(2).sum().item()\n")
    text = "import sys, beside\nprint(__name__, sys.argv[1:], beside.value)\nsys.exit(3)\n"
    done = run("-m", "retrograd", "run", write(tmp_path, "script.py", text), "--lr", "0.1")
    assert done.stdout == "__main__ ['--lr', '0.1'] 2.0\n"
    assert done.returncode == 3


def test_run_m_runs_a_package(tmp_path):
    (tmp_path / "package").mkdir()
    write(tmp_path / "package", "__init__.py", "")
    text = "import sys, torch\nprint(sys.argv[1:], torch.zeros(1).item())\n"
    write(tmp_path / "package", "__main__.py", text)
    done = run("-m", "retrograd", "run", "-m", "package", "-x", folder=tmp_path)
    assert done.stdout == "['-x'] 0.0\n", done.stderr


def test_check_lists_what_is_missing_without_running(tmp_path):
    text = """
import torch as t, torch.nn.functional as F
from torch import nn, nothing
import torch.nativert as ex

print(t.ones(1), nn.Linear, F.relu, t.Tensor.sum, F.rellu, nn.Liner, ex.export)
t.autograd.graph.sav, nn.Liner
"""
    script = write(tmp_path, "script.py", text)
    done = run("-m", "retrograd", "check", script)
    found = [
        line.removeprefix(f"{script}:").split(" is not")[0] for line in done.stdout.split("\n")
    ]
    assert found == [
        "3: torch.nothing",
        "4: torch.nativert",
        "6: torch.nn.Liner",
        "6: torch.nn.functional.rellu",
        "7: torch.autograd.graph.sav",
        "",
    ]
    assert done.returncode == 1


def test_check_walks_folders_and_is_content_where_nothing_is_missing(tmp_path):
    write(tmp_path, "one.py", "import torch\ntorch.ones(1)\n")
    write(tmp_path, "two.py", "from torch.optim import *\nimport os\nos.path\n")
    done = run("-m", "retrograd", "check", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")


def test_check_leaves_names_alone_that_the_program_assigns(tmp_path):
    script = write(tmp_path, "script.py", "from torch import nn\nnn = object()\nnn.nothing\n")
    assert run("-m", "retrograd", "check", script).stdout == ""


def test_check_knows_torchvision_where_none_is_installed(tmp_path):
    text = "from torchvision import models as M\nimport torchvision.ops\nM.ResNet, M.VGG\n"
    script = write(tmp_path, "script.py", text)
    done = run("-m", "retrograd", "check", script)
    assert done.stdout.startswith(f"{script}:3: torchvision.models.VGG is not in Retrograd: ")
    assert done.stdout.count("\n") == 1


def test_a_command_that_is_none_says_what_there_are():
    done = run("-m", "retrograd", "walk")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: retrograd run script.py")


# -- pytest ------------------------------------------------------------------------------------

TESTS = """
import torch

def test_sum():
    assert torch.ones(2).sum() == 2

def test_missing():
    torch.sofmax
"""


def test_pytest_runs_tests_of_torch_and_says_what_they_lack(tmp_path):
    write(tmp_path, "conftest.py", "import torch\n")
    write(tmp_path, "test_it.py", TESTS)
    options = ("-p", "retrograd.torch.alias.plugin", "--retrograd", "-p", "no:cacheprovider")
    done = run("-m", "pytest", *options, "test_it.py", folder=tmp_path)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "test_it.py:8: torch.sofmax is not in Retrograd. The nearest name is" in done.stdout


def test_processes_that_tests_start_afresh_have_the_alias(tmp_path):
    write(
        tmp_path,
        "work.py",
        "import torch\n\n\ndef total(n):\n    return torch.ones(n).sum().item()\n",
    )
    write(
        tmp_path,
        "test_it.py",
        "import multiprocessing\nimport work\n\n\ndef test_it():\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        assert pool.map(work.total, [3]) == [3.0]\n",
    )
    options = ("-p", "retrograd.torch.alias.plugin", "--retrograd", "-p", "no:cacheprovider")
    done = run("-m", "pytest", *options, "test_it.py", folder=tmp_path)
    assert "1 passed" in done.stdout, done.stdout


def test_pytest_says_what_an_import_of_a_test_file_lacks(tmp_path):
    write(tmp_path, "test_it.py", "from torch.nn import Liner\n")
    options = ("-p", "retrograd.torch.alias.plugin", "--retrograd", "-p", "no:cacheprovider")
    done = run("-m", "pytest", *options, "test_it.py", folder=tmp_path)
    assert "torch.nn.Liner is not in Retrograd. The nearest name is torch.nn.Linear" in done.stdout


def test_torchvision_is_the_package_s_where_none_is_installed(tmp_path):
    code = """
import retrograd, torch, torchvision, torchvision.ops as O
from torchvision.models import resnet18
print(torchvision is retrograd.vision, O is retrograd.vision.ops)
print(resnet18 is retrograd.vision.models.resnet18)
try:
    import torchvision.tv_tensors
except ModuleNotFoundError as error:
    print(error)
"""
    assert printed(code).splitlines() == [
        "True True",
        "True",
        "No module named 'torchvision.tv_tensors'",
    ]


def test_a_torchvision_that_is_installed_is_itself(tmp_path):
    write(tmp_path, "torchvision.py", "installed = True")
    code = "import retrograd.as_torch, torchvision; print(torchvision.installed)"
    assert run("-c", code, folder=tmp_path).stdout == "True\n"


def test_a_name_that_torchvision_lacks_is_told_by_its_own_name(tmp_path):
    path = write(tmp_path, "program.py", "from torchvision.ops import roi_aline")
    done = run("-m", "retrograd", "run", path)
    assert "torchvision.ops.roi_aline is not in Retrograd: retrograd.vision" in done.stderr
    assert "pip install --no-deps torchvision pillow. The nearest name is" in done.stderr


def test_what_programs_choose_a_backend_by_is_of_torch():
    code = """
import torch
for x in (torch.ones(1), torch.nn.Parameter(), torch.Generator(), torch.float32, torch.Size()):
    print(type(x).__module__)
"""
    assert printed(code).split() == ["torch", "torch.nn.parameter", "torch", "torch", "torch"]


def test_public_functions_and_classes_are_of_torch_s_modules():
    code = f"""
import importlib, json, torch, types, warnings
from torch import nn

warnings.simplefilter("ignore")
names = json.load(open({str(NAMES)!r}))
for name in names:
    try:
        module = importlib.import_module(f"torch.{{name}}".rstrip("."))
    except ImportError:  # absent with a reason, or a class: tests/test_names.py
        continue
    for own in names[name]:
        found = vars(module).get(own)
        named = getattr(found, "__qualname__", None) == own and not own.startswith("_")
        if named and str(getattr(found, "__module__", "")).startswith("retrograd"):
            print(name, own, found.__module__)
for found in (torch.sum, nn.functional.gelu, nn.Linear, nn.LazyLinear, nn.ReLU, nn.Flatten):
    print(found.__module__)
for found in (nn.BatchNorm2d, nn.CTCLoss, torch.optim.SGD, torch.utils.data.DataLoader):
    print(found.__module__)
"""
    assert printed(code).split() == [
        "torch",
        "torch.nn.functional",
        "torch.nn.modules.linear",
        "torch.nn.modules.linear",
        "torch.nn.modules.activation",
        "torch.nn.modules.flatten",
        "torch.nn.modules.batchnorm",
        "torch.nn.modules.loss",
        "torch.optim.sgd",
        "torch.utils.data.dataloader",
    ]


def test_classes_and_functions_pickle_by_torch_s_names():
    code = """
import pickle, torch
things = [torch.sum, torch.nn.functional.relu, torch.nn.Flatten, torch.optim.SGD, torch.no_grad]
assert all(a is b for a, b in zip(pickle.loads(pickle.dumps(things)), things))
print(b"retrograd" in pickle.dumps(things))
"""
    assert printed(code) == "False"


def test_a_saved_parameter_is_what_pytorch_writes(tmp_path):
    save = "save(nn.Parameter(ones(2)), sys.argv[1])"
    run("-c", f"import sys; from retrograd import nn, ones, save; {save}", "a.pt", folder=tmp_path)
    alias = "import sys, retrograd.as_torch; from torch import nn, ones, save"
    run("-c", f"{alias}; {save}", "b.pt", folder=tmp_path)
    with zipfile.ZipFile(tmp_path / "a.pt") as a, zipfile.ZipFile(tmp_path / "b.pt") as b:
        written = [
            file.read(next(n for n in file.namelist() if "data.pkl" in n)) for file in (a, b)
        ]
    assert written[0] == written[1]
    assert b"_rebuild_parameter" in written[0]


def test_what_pytorch_wrote_by_pythons_own_pickle_is_read():
    path = Path(__file__).parents[2] / "data" / "files" / "plain.pickle"
    code = f"""
import pickle, torch
found = pickle.load(open({str(path)!r}, "rb"))
x, transposed = found["views"]
print(x.tolist(), transposed.tolist())
print(found["parameter"], found["parameter"].note)
print(*found["turned"])
line = found["module"]
print(type(line) is torch.nn.Linear, line(torch.ones(2)) == line.weight.sum() + line.bias)
"""
    assert printed(code).splitlines() == [
        "[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]] [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]",
        "Parameter containing:",
        "tensor([1., 1.], requires_grad=True) 3",
        "tensor([1.-2.j]) tensor([-2.])",
        "True tensor([True])",
    ]


def test_what_steers_the_compiler_is_there():
    code = """
import torch.compiler as compiler
print(compiler.get_default_backend(), compiler.save_cache_artifacts())
compiler.set_default_backend("inductor")
print(compiler.get_default_backend(), compiler.set_default_backend(None), compiler.list_backends())
print(compiler.nested_compile_region(max_reuse_entries=1)(abs)(-1))
print(compiler.substitute_in_graph(abs)(len)([1]), compiler.wrap_numpy(abs) is abs)
"""
    assert printed(code).splitlines() == ["eager None", "inductor None ['inductor']", "1", "1 True"]


def test_an_absent_module_has_the_reason_of_its_package():
    done = run("-c", "import retrograd.as_torch\nimport torch.fx.experimental.unification")
    assert "torch.fx.experimental.unification is not in Retrograd: Python itself is" in done.stderr
    done = run("-c", "import retrograd.as_torch\nfrom torch.ao.quantization import prepare_qat")
    assert "torch.ao.quantization.prepare_qat is not in Retrograd: NumPy has no" in done.stderr


def test_what_scripted_modules_alone_have_is_explained():
    with pytest.raises(AttributeError) as caught:
        retrograd.nn.Linear(1, 1).save("model.pt")
    assert "torch.jit.ScriptModule.save is not in Retrograd: programs are not written to files" in (
        explain(caught.value)
    )


def test_errors_name_functions_as_the_program_does():
    code = """
import torch
class Refuses:
    @classmethod
    def __torch_function__(cls, *args):
        return NotImplemented
try:
    torch.mul(Refuses(), 2)
except TypeError as error:
    print(str(error).partition(";")[0])
f = torch.fx.Graph()
f.output(f.call_function(torch.ops.aten.sin.default, (f.placeholder("x"),)))
print("torch.ops.aten.sin.default(x)" in f.python_code("self").src)
"""
    assert printed(code).splitlines() == ["Multiple dispatch failed for 'torch.mul'", "True"]


def test_functions_that_can_be_overridden_are_listed_by_the_modules_of_the_alias():
    code = (
        "import torch\n"
        "found = torch.overrides.get_overridable_functions()\n"
        "print(torch.add in found[torch], torch.linalg.svd in found[torch.linalg])"
    )
    assert printed(code) == "True True"


def test_warnings_of_older_names_say_torch_under_the_alias():
    code = """
import torch, warnings
with warnings.catch_warnings(record=True) as found:
    torch.qr(torch.eye(2))
print(found[0].message)"""
    assert printed(code).startswith("torch.qr is deprecated in favor of torch.linalg.qr")

"""Steps of programs that import `torch` are compiled as those that import this package."""

from __future__ import annotations

import subprocess
import sys

import pytest

import retrograd as rg
from retrograd.capture.program import NATIVE

pytestmark = pytest.mark.skipif(not NATIVE, reason="needs llvmlite and the parts in C")


AS_TORCH = """
import retrograd.as_torch
import torch

model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Dropout(0.2), torch.nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters())

@torch.compile
def step(x, y):
    optimizer.zero_grad()
    with torch.no_grad():
        most = x.max(0).values
    loss = torch.nn.functional.cross_entropy(model(x - most), y) + torch.zeros(())
    loss.backward()
    optimizer.step()
    return loss

for _ in range(2):
    step(torch.randn(5, 3), torch.randint(0, 2, (5,)))
assert step.compiled.variants and not step.compiled.reasons, step.compiled.reasons
"""


def test_steps_are_captured_under_the_name_torch(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(AS_TORCH)
    subprocess.run([sys.executable, str(program)], check=True)


def test_settings_are_read_in_each_call():
    threaded = rg.compile(lambda x: x * rg.get_num_threads())
    before = rg.get_num_threads()
    try:
        for number in (1, 1, 2):
            rg.set_num_threads(number)
            assert threaded(rg.ones(1)).item() == number
    finally:
        rg.set_num_threads(before)

"""What the gradient of a complex number is: one sentence, wherever it is said, and it is so."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import retrograd as rg

ROOT = Path(__file__).parents[1]
FORMULA = "∂L/∂x + i ∂L/∂y = 2 ∂L/∂z*, the direction of steepest ascent"
SENTENCE = f"or a real loss L and a complex z = x + iy, the gradient is {FORMULA}"
SAID = [
    *("docs/autograd.md", "docs/complex.md", "docs/tape.md", "docs/wirtinger.md"),
    *("docs/tutorials/complex.md", "demo/phase.py", "examples/complex/quantum_circuit.py"),
    *(
        f"src/retrograd/{place}.py"
        for place in (
            *("autograd/function", "autograd/grad", "engine/tensor", "ops/elementwise/complex"),
            *("func/reverse", "optim/sgd", "tape/gradient", "wirtinger"),
        )
    ),
]


def plain(path: Path) -> str:
    """The words of a file."""
    return " ".join(path.read_text().replace("\\*", "*").split())


@pytest.mark.parametrize("name", SAID)
def test_the_sentence_is_the_same(name):
    assert SENTENCE in plain(ROOT / name)


def test_the_readme_says_it_beside_the_number():
    assert f"# {FORMULA}" in (ROOT / "README.md").read_text()


def test_no_other_number_is_called_the_gradient():
    """Half of it is spoken of only where conventions are compared."""
    apart = {"docs/wirtinger.md", "docs/make_conventions.py", "src/retrograd/wirtinger.py"}
    for folder, kind in (("docs", "md"), ("src", "py"), ("demo", "py"), ("examples", "py")):
        for path in (ROOT / folder).rglob(f"*.{kind}"):
            if str(path.relative_to(ROOT)) not in apart:
                assert not re.findall(r"(?<!2 )[∂d]L/[∂d]z", plain(path)), path
                assert "Wirtinger gradient" not in plain(path), path


def test_the_sentence_is_true():
    """Of a loss that is not symmetric: x² + 3y + xy at 1 + 2i."""
    z = rg.tensor(1 + 2j, dtype=rg.complex128, requires_grad=True)
    (z.real**2 + 3 * z.imag + z.real * z.imag).backward()
    assert z.grad.item() == (2 * 1 + 2) + (3 + 1) * 1j
    pair = rg.wirtinger.derivatives(lambda z: z.real**2 + 3 * z.imag + z.real * z.imag, z.detach())
    assert z.grad.item() == 2 * pair[1].item()


def test_the_table_of_conventions_is_up_to_date():
    made = runpy.run_path(str(ROOT / "docs/make_conventions.py"))
    assert made["PLACE"].read_text() == made["text"](), "run python docs/make_conventions.py"

"""The same two programs under PyTorch: `retrograd` means it, and nothing of them is changed.

Run by the interpreter in TORCH_PYTHON, or by this one, where PyTorch is installed; it prints what
the report shows beside its own results. Elsewhere the report shows what `pytorch.json` has, which
`python -m demo.under_torch --store` writes: no seconds, for those are another machine's.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
STORED = HERE / "pytorch.json"


def results(quick: bool) -> dict[str, Any]:
    """Accuracy, error and seconds under PyTorch; where it is not installed, those stored."""
    python = os.environ.get("TORCH_PYTHON")
    if python is None and importlib.util.find_spec("torch") is None:
        return json.loads(STORED.read_text())
    done = subprocess.run(
        [python or sys.executable, "-m", "demo.under_torch", *(["--quick"] if quick else [])],
        cwd=HERE.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main(quick: bool, store: bool) -> None:
    """Run both programs with PyTorch in the place of Retrograd."""
    torch = importlib.import_module("torch")
    sys.modules["retrograd"] = torch
    for name in ("nn", "nn.functional", "optim", "utils.data"):
        sys.modules[f"retrograd.{name}"] = importlib.import_module(f"torch.{name}")
    digits = importlib.import_module("demo.digits")
    reading = digits.run(epochs=2 if quick else digits.EPOCHS)
    recovery = importlib.import_module("demo.phase").run()
    found = {
        "version": torch.__version__,
        "epochs": len(reading.accuracies),
        "accuracy": reading.accuracy,
        "error": recovery.errors[-1],
    }
    if store:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
    else:
        print(json.dumps(found | {"digits": reading.seconds, "phase": recovery.seconds}))


if __name__ == "__main__":
    main(quick="--quick" in sys.argv, store="--store" in sys.argv)

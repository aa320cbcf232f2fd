"""The same two programs under PyTorch: `retrograd` means it, and nothing of them is changed.

Run by the interpreter in TORCH_PYTHON, or by this one, where PyTorch is installed; it prints what
the report shows beside its own results.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def results() -> dict[str, Any] | None:
    """Accuracy, error and seconds under PyTorch; None where it is not installed."""
    python = os.environ.get("TORCH_PYTHON")
    if python is None and importlib.util.find_spec("torch") is None:
        return None
    done = subprocess.run(
        [python or sys.executable, "-m", "demo.under_torch"],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def main() -> None:
    """Run both programs with PyTorch in the place of Retrograd."""
    torch = importlib.import_module("torch")
    sys.modules["retrograd"] = torch
    for name in ("nn", "nn.functional", "optim", "utils.data"):
        sys.modules[f"retrograd.{name}"] = importlib.import_module(f"torch.{name}")
    reading = importlib.import_module("demo.digits").run()
    recovery = importlib.import_module("demo.phase").run()
    found = {
        "version": torch.__version__,
        "accuracy": reading.accuracy,
        "error": recovery.errors[-1],
        "digits": reading.seconds,
        "phase": recovery.seconds,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()

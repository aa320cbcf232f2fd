"""What the programs of `examples/torch` print in their quick form under PyTorch.

As a script, with PyTorch and scikit-learn installed, this writes `examples_torch.json`:

    python make_examples.py
"""

import json
import subprocess
import sys
from pathlib import Path

PATH = Path(__file__).with_name("examples_torch.json")
PROGRAMS = Path(__file__).parents[2] / "examples" / "torch"

if __name__ == "__main__":
    printed = {}
    for program in sorted(PROGRAMS.glob("[!_]*.py")):
        command = [sys.executable, "-W", "ignore", str(program), "--quick"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        printed[program.stem] = done.stdout.splitlines()
    PATH.write_text(json.dumps(printed, indent=1) + "\n")

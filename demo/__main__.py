"""Run both parts and write `demo/report.html`: `python -m demo`, or `make demo`.

`--quick` trains for two epochs of fifteen. Beside the report `demo/picture.jpg`, which the README
shows, as `docs/demo.jpg`: `make picture`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
NEEDS = {"sklearn": "scikit-learn", "matplotlib": "matplotlib", "tqdm": "tqdm"}


def main(quick: bool) -> None:
    """Train, recover, report; the two results are printed last."""
    if missing := [name for module, name in NEEDS.items() if find_spec(module) is None]:
        sys.exit(f'The demo needs {" and ".join(missing)}: pip install "retrograd[demo]"')
    from . import digits, phase, report, under_torch  # noqa: PLC0415 (they import what is needed)

    reading = digits.run(epochs=2 if quick else digits.EPOCHS)
    recoveries = [phase.run(masks=count) for count in phase.COMPARED]
    page = report.page(reading, recoveries, under_torch.results(quick))
    (HERE / "report.html").write_text(page, encoding="utf-8")
    shown = report.picture(reading, recoveries[-1])
    shown.savefig(HERE / "picture.jpg", dpi=90, transparent=False)

    recovery = recoveries[-1]
    print(f"\nReport: {HERE / 'report.html'} ({reading.seconds + recovery.seconds:.0f} s)")
    print(
        f"Digits: {reading.accuracy:.2%} of {len(reading.labels)} held-out handwritten digits read "
        f"correctly ({reading.parameters} parameters, {len(reading.accuracies)} epochs)."
    )
    print(
        f"Phase retrieval: relative error {recovery.errors[0]:.3g} -> {recovery.errors[-1]:.3g}, "
        f"{recovery.factor:.0f}x smaller, from intensities alone "
        f"({recovery.size}x{recovery.size} complex64 field)."
    )


if __name__ == "__main__":
    main(quick="--quick" in sys.argv)

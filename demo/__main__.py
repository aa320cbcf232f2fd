"""Run both parts and write `demo/report.html`: `python -m demo`, or `make demo`."""

from __future__ import annotations

import time
from pathlib import Path

from . import digits, phase, report

REPORT = Path(__file__).with_name("report.html")


def main() -> None:
    """Train, recover, report; the two results are printed last."""
    start = time.perf_counter()
    reading = digits.run()
    recovery = phase.run()
    seconds = time.perf_counter() - start
    REPORT.write_text(report.page(reading, recovery, seconds), encoding="utf-8")
    print(f"\nReport: {REPORT} ({seconds:.0f} s)")
    print(
        f"Digits: {reading.accuracy:.2%} of {len(reading.labels)} held-out handwritten digits read "
        f"correctly ({reading.parameters} parameters, {reading.epochs} epochs)."
    )
    print(
        f"Phase retrieval: relative error {recovery.errors[0]:.3g} -> {recovery.errors[-1]:.3g}, "
        f"{recovery.factor:.0f}x smaller, from intensities alone "
        f"({recovery.size}x{recovery.size} complex64 field)."
    )


if __name__ == "__main__":
    main()

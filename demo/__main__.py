"""Run both parts and write `demo/report.html`: `python -m demo`, or `make demo`.

Beside it `demo/picture.jpg`, which the README shows, as `docs/demo.jpg`: `make picture`.
"""

from __future__ import annotations

from pathlib import Path

from . import digits, phase, report, under_torch

REPORT = Path(__file__).with_name("report.html")


def main() -> None:
    """Train, recover, report; the two results are printed last."""
    reading = digits.run()
    recovery = phase.run()
    other = under_torch.results()
    REPORT.write_text(report.page(reading, recovery, other), encoding="utf-8")
    shown = report.picture(reading, recovery)
    shown.savefig(REPORT.with_name("picture.jpg"), dpi=90, transparent=False)
    print(f"\nReport: {REPORT} ({reading.seconds + recovery.seconds:.0f} s)")
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
    main()

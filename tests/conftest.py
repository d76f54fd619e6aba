"""Say once, not once a test, why tests were skipped."""

from __future__ import annotations

from collections import Counter
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line a reason (pytest's own -rs prints one a place)."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in skipped
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} x {reason}", yellow=True)

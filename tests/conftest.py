"""A folder for commands; why tests were skipped, said once and not once a test."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from book.tools.browser import FLAGS, find_chromium

# Before NumPy is imported: threads of several workers wait for one another more than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, entered: what a command writes by default goes there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def placeholder_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dataset has texts, invented ones: the real ones are no part of the repository."""
    from poe.datasets import Dataset
    from tests.helpers import placeholders

    monkeypatch.setattr(Dataset, "_content", property(placeholders))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests of a worker, wherever they are."""
    from tests.browser.conftest import NO_BROWSER, skip

    executable = find_chromium()
    if executable is None:
        skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield chromium
        chromium.close()


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

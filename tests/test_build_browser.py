"""Without a browser or a book the browser tests say so in one line, unless they are required."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run_browser_tests(tmp_path: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run the tests of the pages where there is neither a browser nor a book."""
    drop = ("CHROMIUM", "JBC_REQUIRE_BROWSER", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    environment |= {"PATH": str(tmp_path), "JBC_HTML": str(tmp_path / "html"), **extra}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/browser/test_pages.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )


def test_no_browser_is_one_line_that_says_how_to_get_one(tmp_path: Path) -> None:
    done = run_browser_tests(tmp_path)
    lines = [line for line in done.stdout.splitlines() if "browser tests skipped" in line]
    assert done.returncode == 0, done.stdout
    assert len(lines) == 1, done.stdout
    assert "apt install chromium" in lines[0]


def test_no_book_is_one_line_that_says_how_to_build_it(tmp_path: Path) -> None:
    done = run_browser_tests(tmp_path, CHROMIUM=shutil.which("true") or sys.executable)
    lines = [line for line in done.stdout.splitlines() if "browser tests skipped" in line]
    assert len(lines) == 1, done.stdout
    assert "make book" in lines[0]


@pytest.mark.parametrize("extra", [{}, {"CHROMIUM": sys.executable}], ids=["browser", "book"])
def test_a_required_browser_test_fails_instead(tmp_path: Path, extra: dict[str, str]) -> None:
    done = run_browser_tests(tmp_path, JBC_REQUIRE_BROWSER="1", **extra)
    assert done.returncode == 1, done.stdout
    assert " skipped" not in done.stdout.splitlines()[-1]

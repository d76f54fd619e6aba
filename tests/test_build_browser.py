"""Without a browser or a book the browser tests say so in one line, unless they are required."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import NO_BOOK, ROOT, skip


def test_no_browser_is_one_line_that_says_how_to_get_one(tmp_path: Path) -> None:
    drop = ("CHROMIUM", "JBC_REQUIRE_BROWSER", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in drop}
    environment |= {"PATH": str(tmp_path), "JBC_HTML": str(tmp_path / "html")}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
    command.append("tests/browser/test_pages.py")
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if "browser tests skipped" in line]
    assert done.returncode == 0, done.stdout
    assert len(lines) == 1, done.stdout
    assert "apt install chromium" in lines[0]


def test_a_required_browser_test_fails_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JBC_REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="make book"):
        skip(NO_BOOK)
    monkeypatch.setenv("JBC_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="make book"):
        skip(NO_BOOK)

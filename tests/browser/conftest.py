"""A browser for these tests, or one line that says why they were skipped."""

import os
from pathlib import Path

import pytest

from book.tools.browser import find_chromium

ROOT = Path(__file__).resolve().parents[2]
HTML = Path(os.environ.get("JBC_HTML") or ROOT / "_build" / "html")

NO_BROWSER = (
    "browser tests skipped: no Chromium found; "
    "install one (Debian: apt install chromium) or name it in CHROMIUM"
)
NO_BOOK = "browser tests skipped: no rendered book to open yet; run make book first"


def skip(reason: str) -> None:
    """Skip, or fail where JBC_REQUIRE_BROWSER says that these tests must run."""
    if os.environ.get("JBC_REQUIRE_BROWSER"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def html() -> Path:
    """The rendered book, where there is one and a browser to open it."""
    if find_chromium() is None:
        skip(NO_BROWSER)
    if not (HTML / "index.html").is_file():
        skip(NO_BOOK)
    return HTML

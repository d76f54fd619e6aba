"""The Chromium that prints the book and opens its pages in the tests."""

from __future__ import annotations

import os
import shutil

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

# A closed network is no reason to wait or to complain.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_chromium() -> str | None:
    """Return the browser named by CHROMIUM, or one found on the PATH, or None.

    CHROMIUM=none finds none, wherever one is: what a machine without a browser sees.
    """
    named = os.environ.get("CHROMIUM")
    if named == "none":
        return None
    return named or next((path for name in BROWSERS if (path := shutil.which(name))), None)

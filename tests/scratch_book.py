"""What the tests of the build put at the head of a page that executes, and a release of a book."""

from __future__ import annotations

import subprocess
from pathlib import Path

HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""


def released(root: Path, *, tag: str | None = None) -> str:
    """Commit a folder, with a tag where one is given; return the commit."""
    mine = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*mine, "commit", "-qm", "all"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    if tag:
        subprocess.run(["git", "tag", tag], cwd=root, check=True)
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, check=True, capture_output=True)
    return said.stdout.decode().strip()

"""Which version of the book a site shows, and where the others are.

The site shows the newest commit. Every release keeps its own book, PDF and course kit beside its
package (.github/workflows/release.yml), so the list of releases is the list of versions.
"""

from __future__ import annotations

import subprocess
from pathlib import Path


def releases(hosted: str) -> str:
    """Address of the releases."""
    return f"https://github.com/{hosted}/releases"


def git(root: Path, *words: str) -> str:
    """What git says, nothing where there is no git or no repository."""
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def edition(root: Path, *, hosted: str) -> str:
    """The version and commit that pages are built from, and a link to the other versions."""
    commit = git(root, "rev-parse", "HEAD")
    tags = git(root, "tag", "--points-at", "HEAD", "v[0-9]*").split()
    version = f"Version {tags[-1].removeprefix('v')}" if tags else "Not a release"
    link = f'<a href="https://github.com/{hosted}/commit/{commit}">commit {commit[:7]}</a>'
    built = f"{version}, built from {link}. " if commit else ""
    return f'{built}<a href="{releases(hosted)}">Other versions</a>.'

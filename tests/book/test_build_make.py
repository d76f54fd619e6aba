"""The Makefile speaks to a newcomer: its targets, and what is missing on their machine."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE = shutil.which("make") or "make"


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make without the settings of a make above this test."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    command = [MAKE, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """Make a folder with the Makefile and its inputs, and no environment yet."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def fake_python(folder: Path, *, version_is_fine: bool) -> Path:
    """Write a python that is too old, or that has no venv module."""
    path = folder / f"python3-{version_is_fine}"
    lines = ["#!/bin/sh", '[ "$1" = --version ] && { echo Python 3.9.2; exit 0; }']
    if version_is_fine:
        lines.append('case "$2" in *version_info*) exit 0;; esac')
    path.write_text("\n".join([*lines, "exit 1", ""]))
    path.chmod(0o755)
    return path


def test_help_is_the_default_and_lists_every_target(fresh: Path) -> None:
    done = make(fresh)
    assert done.returncode == 0
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets is not None
    for target in targets[1].split():
        assert re.search(rf"^  make {target} +[A-Z]", done.stdout, re.MULTILINE), target


def test_what_a_student_wrote_survives_a_cleaning(fresh: Path) -> None:
    for name in ("lab/05-mine.ipynb", "html/index.html", ".hidden/file"):
        (fresh / "_build" / name).parent.mkdir(parents=True)
        (fresh / "_build" / name).touch()
    assert make(fresh, "clean").returncode == 0
    left = [path for path in (fresh / "_build").rglob("*") if path.is_file()]
    assert left == [fresh / "_build/lab/05-mine.ipynb"]
    assert make(fresh, "clean").returncode == 0


def test_a_python_that_cannot_do_is_named_with_the_way_out(fresh: Path) -> None:
    for python, words in (
        (fake_python(fresh, version_is_fine=False), ("3.11 or newer is needed", "Python 3.9.2")),
        ("python3.99", ("3.11 or newer is needed", "python3.99 is missing", "make PYTHON=")),
        (fake_python(fresh, version_is_fine=True), ("sudo apt install python3-venv",)),
    ):
        done = make(fresh, f"PYTHON={python}", "book")
        assert done.returncode != 0
        assert all(word in done.stdout for word in words), done.stdout
        assert not (fresh / ".venv").exists()


def test_setting_up_says_how_far_it_is_and_leaves_no_stamp_when_it_fails(fresh: Path) -> None:
    python = fresh / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    found = [
        "for k in $(seq 60); do echo Collecting $k; done",
        "echo Installing collected packages",
    ]
    for status in (1, 0):
        python.write_text("\n".join(["#!/bin/sh", *found, f"exit {status}", ""]))
        python.chmod(0o755)
        done = make(fresh, f"PYTHON={sys.executable}", ".venv/.installed")
        said = [line.strip() for line in done.stdout.splitlines() if line.startswith("  ")]
        assert said == [
            "25 packages found",
            "50 packages found",
            "60 packages: putting them in place",
        ]
        assert (done.returncode == 0) == (status == 0)
        assert (fresh / ".venv/.installed").is_file() == (status == 0)


def test_a_codespace_opens_a_chapter_as_a_notebook() -> None:
    """As copies, which make writes: the sources are Markdown, and saving would rewrite them."""
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    assert container["onCreateCommand"].endswith("make copies")
    (opened,) = container["customizations"]["codespaces"]["openFiles"]
    assert (ROOT / "notebooks" / f"{Path(opened).stem}.md").is_file()
    assert Path(opened).parent == Path("_build/lab")
    assert "ms-toolsai.jupyter" in container["customizations"]["vscode"]["extensions"]

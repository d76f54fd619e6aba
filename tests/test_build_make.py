"""The Makefile speaks to a newcomer: its targets, and what is missing on their machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
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
    path = folder / "python3"
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
    assert make(fresh, "help").stdout == done.stdout


@pytest.mark.parametrize("target", ["book", "test"])
def test_an_old_python_is_named_with_the_way_out(fresh: Path, target: str) -> None:
    python = fake_python(fresh, version_is_fine=False)
    done = make(fresh, f"PYTHON={python}", target)
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stdout
    assert "is Python 3.9.2" in done.stdout
    assert "make PYTHON=" in done.stdout
    assert not (fresh / ".venv").exists()


def test_a_python_that_is_not_there_is_called_missing(fresh: Path) -> None:
    done = make(fresh, "PYTHON=python3.99", "book")
    assert done.returncode != 0
    assert "python3.99 is missing" in done.stdout


def test_a_python_without_venv_says_what_to_install(fresh: Path) -> None:
    python = fake_python(fresh, version_is_fine=True)
    done = make(fresh, f"PYTHON={python}", "book")
    assert done.returncode != 0
    assert "sudo apt install python3-venv" in done.stdout


def installed(folder: Path) -> None:
    """Pretend that the environment was made after its inputs."""
    (folder / ".venv").mkdir()
    (folder / ".venv/.installed").write_text("")


def test_the_environment_is_remade_only_when_its_inputs_change(fresh: Path) -> None:
    installed(fresh)
    assert "pip install" not in make(fresh, "--dry-run", "test").stdout
    later = (fresh / ".venv/.installed").stat().st_mtime + 10
    os.utime(fresh / "constraints.txt", (later, later))
    assert "pip install" in make(fresh, "--dry-run", "test").stdout


def test_bench_says_plainly_that_there_is_nothing_to_run(fresh: Path) -> None:
    installed(fresh)
    done = make(fresh, "bench")
    assert done.returncode == 0
    assert "no benchmarks yet" in done.stdout


def test_clean_keeps_the_environment_and_distclean_does_not(fresh: Path) -> None:
    installed(fresh)
    (fresh / "_build").mkdir()
    assert make(fresh, "clean").returncode == 0
    assert not (fresh / "_build").exists()
    assert (fresh / ".venv").exists()
    assert make(fresh, "distclean").returncode == 0
    assert not (fresh / ".venv").exists()

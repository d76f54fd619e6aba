"""Tests that need more than the bare install say so, and how to get it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests").rglob("*.py"))


def test_every_need_is_in_the_table_and_its_way_is_real() -> None:
    marks = {name for path in FILES for name in needs.named([ast.parse(path.read_text("utf-8"))])}
    assert marks - {"a", "nothing"} <= set(needs.NEEDS)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for need in needs.NEEDS.values():
        assert set(re.findall(r"\bmake ([a-z-]+)", need.way)) <= set(targets), need.way
        assert need.way


TEST = """
import pytest
{first}
{second}def test_it():
    assert 0


def test_another():
    assert 1
"""
RUN = """
import sys, pytest
sys.path.insert(0, {root!r})
from tests import conftest, needs
needs.NEEDS["nothing"] = needs.Need("make judge", ("no_such_module",))
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[conftest]))
"""


@pytest.mark.parametrize("must", [False, True])
def test_a_lacking_need_skips_with_its_way_or_fails_where_it_must_be_here(
    must: bool, tmp_path: Path
) -> None:
    """Of one test, and of a whole file that imports at its top what it needs."""
    mark = "pytest.mark.needs('nothing')"
    one, whole = tmp_path / "test_one.py", tmp_path / "test_whole.py"
    one.write_text(TEST.format(first="", second=f"@{mark}\n"))
    whole.write_text(TEST.format(first=f"pytestmark = {mark}\nimport no_such_module\n", second=""))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  needs\n  browser\n")
    command = [sys.executable, "-c", RUN.format(root=str(ROOT)), str(one), str(whole)]
    command += ["--needing", "nothing", "--continue-on-collection-errors"] if must else []
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    said = done.stdout + done.stderr
    if must:
        assert done.returncode == 1, said
        assert "No module named 'no_such_module'" in said
        assert "needs nothing: make judge" in said
        assert "1 passed" not in said, "the other test needs nothing, and was not asked for"
    else:
        assert done.returncode == 0, said
        assert "2 x needs nothing: make judge" in said
        assert "1 passed, 2 skipped" in said

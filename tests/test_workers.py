"""Workers of pytest-xdist that are lost: a test that hung is ended, tried once more, and said."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.needs import ROOT

pytestmark = pytest.mark.long

TEST = """
import time
from pathlib import Path
import pytest

@pytest.mark.parametrize("k", range({before}))
def test_before(k): pass

def test_hangs():
    with Path("began").open("a") as began:
        began.write("x")
    if len(Path("began").read_text()) <= {times}:
        time.sleep(60)

@pytest.mark.parametrize("k", range({after}))
def test_after(k): time.sleep(0.05)
"""
RUN = """
import sys, pytest
sys.path.insert(0, {root!r})
from tests import conftest
sys.exit(pytest.main(["-q", "-n", "2", "--dist", "loadgroup", *sys.argv[1:]], plugins=[conftest]))
"""
INI = """[pytest]
faulthandler_timeout = 1
faulthandler_exit_on_timeout = true
"""


@pytest.mark.parametrize(("times", "after"), [(1, 0), (2, 1), (1, 3), (2, 8)])
def test_a_test_that_hangs_is_ended_and_tried_once_more(
    times: int, after: int, tmp_path: Path
) -> None:
    test = tmp_path / "test_it.py"
    test.write_text(TEST.format(before=3, after=after, times=times))
    (tmp_path / "pytest.ini").write_text(INI)
    command = [sys.executable, "-c", RUN.format(root=str(ROOT)), str(test)]
    own = {name: value for name, value in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=90, env=own
    )
    said = done.stdout + done.stderr
    assert (tmp_path / "began").read_text() == "x" * (times + 1), said
    assert "in test_hangs\n" in said, "where it hung is said"
    assert "tried again, as its worker was lost: test_it.py::test_hangs" in said
    assert f"{3 + after + 1} passed" in said
    assert ("1 failed" in said) == (times == 2) == (done.returncode == 1), said

"""A folder for commands; what tests need, and why some were skipped, said once."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from book.tools.browser import FLAGS, find_chromium
from tests.needs import NEEDS, lacking, of_item, of_module, reason, require

# Before NumPy is imported: threads of several workers wait for one another more than they work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, entered: what a command writes by default goes there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def placeholder_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dataset has texts, invented ones: the real ones are no part of the repository."""
    from judging.datasets import Dataset
    from tests.helpers import placeholders

    monkeypatch.setattr(Dataset, "_content", property(placeholders))


@pytest.fixture(scope="session")
def card() -> Any:
    """The scorecard of every printed cell; who changes it takes a copy."""
    from reproduction import verdicts

    return verdicts.scorecard()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless Chromium for all tests of a worker, wherever they are."""
    require(["browser"])
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield chromium
        chromium.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --needing and --rewrite."""
    told = f"run only tests that need one of these, which must be here: {', '.join(NEEDS)}"
    parser.addoption("--needing", default="", metavar="NAME,NAME", help=told)
    told = "write what commands print now into tests/judging/transcripts"
    parser.addoption("--rewrite", action="store_true", help=told)


def needing(config: pytest.Config) -> set[str]:
    """What --needing names."""
    names = set(config.getoption("--needing").replace(",", " ").split())
    if unknown := names - set(NEEDS):
        raise pytest.UsageError(f"--needing knows no {min(unknown)!r}, only {', '.join(NEEDS)}")
    return names


class Lacking(pytest.Module):
    """A file of tests, marked as a whole, that this machine lacks something for."""

    def collect(self) -> Iterator[Any]:
        (name, *_) = self.lacked
        pytest.skip(reason(name), allow_module_level=True)

    lacked: list[str]


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> Any:
    """Leave a file alone, without importing it, when what its `pytestmark` names is not here.

    Where it must be here (--needing), the file is imported, which fails.
    """
    names = of_module(ast.parse(module_path.read_text(encoding="utf-8")))
    lacked = sorted(name for name in names - needing(parent.config) if lacking(name))
    if not lacked:
        return None
    module = Lacking.from_parent(parent, path=module_path)
    module.lacked = lacked
    return module


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that needs what is not here, before any of its fixtures is made."""
    require(of_item(item), must=needing(item.config))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only the tests that need what --needing names."""
    names = needing(config)
    wanted = [item for item in items if not names or of_item(item) & names]
    if others := [item for item in items if item not in set(wanted)]:
        items[:] = wanted
        config.hook.pytest_deselected(items=others)


@pytest.hookimpl(optionalhook=True)  # poe's own tests run without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of a file that names an `xdist_group` go to one worker.

    pytest-xdist 3.8 writes groups into `_nodeid`, which pytest 9.2 no longer reads, so that what a
    module sets up once was set up in every worker. And it gives one test to a worker that replaces
    a crashed one, which waits for a second before it begins, for ever.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    here = Path(__file__).parent
    marks = {
        path.relative_to(here.parent).as_posix(): re.search(r'xdist_group\("(\w+)"\)', text)
        for path in here.rglob("test_*.py")
        if "pytestmark" in (text := path.read_text(encoding="utf-8"))
    }
    groups = {name: mark[1] for name, mark in marks.items() if mark}

    class Grouped(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return groups.get(nodeid.partition("::")[0], nodeid)

        def _reschedule(self, node: Any) -> None:
            super()._reschedule(node)
            while self.workqueue and self._pending_of(self.assigned_work[node]) < 2:
                if node.shutting_down:
                    break
                super()._reschedule(node)

    return Grouped(config, log)


LOST: set[str] = set()  # tests whose worker crashed, or was ended because they hung


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: Any) -> None:
    """Once, a test with which its worker was lost is tried again, and the summary says so.

    An engine or a browser that hangs or crashes once in a hundred runs is not ours to mend.
    """
    if crashitem not in LOST:
        LOST.add(crashitem)
        report.outcome = "rerun"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one line a reason (pytest's own -rs prints one a place)."""
    for name in sorted(LOST):
        terminalreporter.write_line(f"tried again, as its worker was lost: {name}", yellow=True)
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in skipped
        if isinstance(report.longrepr, tuple)
    )
    for why, count in reasons.items():
        terminalreporter.write_line(f"{count} x {why}", yellow=True)

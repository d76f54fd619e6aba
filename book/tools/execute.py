"""Execute pages, and reuse a result only while nothing it could depend on has changed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import distributions, version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from book.tools.pages import BuildError, Page, code_cells, hash_files, plain
from judging.datasets import files
from judging.errors import DatasetError
from reproduction import imports

# Vector figures, the same bytes on every run; and no word from each kernel
# about its unencrypted sockets, which never leave this machine.
SETTINGS = {
    "profile_default/ipython_config.py": """\
c = get_config()
c.InlineBackend.figure_formats = {"svg"}
c.IPKernelApp.log_level = 40
""",
    "matplotlibrc": "svg.hashsalt: judging-by-comparison\n",
}
EXECUTED_BY = [  # the rest of book/ only renders
    *(Path(__file__), Path(__file__).with_name("pages.py")),
    Path(__file__).parents[1] / "exercises.py",
]
COUNTED_ELSEWHERE = {".py", ".pyi", ".pyc", ".md"}  # modules by their imports, pages by themselves
SIDE_BY_SIDE = 4  # pages at most, each in some hundred MB
SECONDS = 10.0  # of a page that was never executed here: what most take


@dataclass(frozen=True)
class Execution:
    """What happened to one page: where its result is, whether it ran, for how long, and why.

    when and environment say on what day, and with which versions, its numbers were computed.
    """

    page: Page
    result: Path
    seconds: float
    ran: bool
    reason: str
    when: str
    environment: str


# The path of a socket holds 103 bytes on macOS (107 on Linux), with its name.
LONGEST_SOCKET = 95

# Folders of data sets; a page runs elsewhere, so they are made absolute for it.
DATA_VARIABLES = ("POE_DATA_DIR", "POE_CACHE_DIR")


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def originals() -> str:
    """Where the original files of the data sets are found, how large and how old.

    Pages read nothing else outside the repository. What else lies in those folders, such as a
    judge's weights that are being fetched, is no reason to execute a page again.
    """
    entries = [files.info(name) for name in (*files.names(), *files.recordings())]
    try:
        paths = [files.find(file) for entry in entries for file in entry.files]
    except DatasetError as error:  # POE_DATA_DIR names no folder
        raise BuildError(str(error)) from None
    state = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths if path]
    return json.dumps(state)


@cache
def installed() -> list[str]:
    """Name the installed packages with their versions."""
    return sorted(f"{d.metadata['Name']}=={d.version}" for d in distributions())


def code_state(page: Page, root: Path) -> dict[str, str]:
    """Hash, by package, the modules that a page's cells import, and those that these import.

    What lies beside a module and is neither Python nor a page counts with it. A page that starts a
    program, or whose cells are more than Python, may depend on all modules.
    """
    code = "\n".join(cell.source for cell in code_cells(page.notebook()))
    try:
        known = imports.needed(root, code)
    except SyntaxError:
        known = imports.modules(root)
    if "subprocess" in code:
        known = imports.modules(root)
    files = set(known.values())
    for folder in {path.parent for path in files}:
        files |= {path for path in folder.iterdir() if path.suffix not in COUNTED_ELSEWHERE}
    state = {}
    for package in imports.PACKAGES:
        digest = hashlib.sha256()
        for path in sorted(path for path in files if path.is_relative_to(root / package)):
            if path.is_file():
                digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
        state[f"{package}/"] = digest.hexdigest()
    return state


def shared_state(root: Path) -> dict[str, str]:
    """Hash what any page's numbers could depend on, beside its own text and code.

    Nobody tracks which page reads which file of data: any change re-executes every
    page. That costs minutes; a stale number costs the reader's trust.
    """
    poe_variables = sorted(f"{k}={v}" for k, v in os.environ.items() if k.startswith("POE_"))
    constraints = root / "constraints.txt"
    return {
        **{folder: hash_files(root / folder) for folder in ("data/", "benchmarks/results/")},
        "constraints.txt": text_hash(constraints.read_text() if constraints.exists() else ""),
        "the installed packages": text_hash("\n".join(installed())),
        "book/tools/": text_hash("".join(path.read_text() for path in EXECUTED_BY)),
        "Python": sys.version,
        "the POE_ variables": text_hash("\n".join(poe_variables)),
        "the data sets": text_hash(originals()),
    }


def environment_in_words() -> str:
    """Name the versions that numbers depend on most."""
    # cvxpy is installed whole, or as cvxpy-base without solvers that nothing here uses.
    base = {d.metadata["Name"] for d in distributions()} & {"cvxpy", "cvxpy-base"}
    named = [("numpy", "NumPy"), ("scipy", "SciPy"), (max(base), "cvxpy")]
    versions = [f"{name} {version(package)}" for package, name in named]
    return f"Python {platform.python_version()}, {', '.join(versions[:-1])} and {versions[-1]}"


def kernel_environment(root: Path, *, build: Path) -> dict[str, str]:
    """Environment of the kernels: poe importable, nobody's personal settings, fixed output."""
    settings = build / "settings"
    (settings / "profile_default").mkdir(parents=True, exist_ok=True)
    for name, text in SETTINGS.items():
        path = settings / name
        if not path.exists() or path.read_text() != text:  # another kernel may be reading it
            path.write_text(text)
    chosen = {name: os.environ[name] for name in DATA_VARIABLES if os.environ.get(name)}
    return {
        **os.environ,
        **{name: str(Path(path).expanduser().resolve()) for name, path in chosen.items()},
        "PYTHONPATH": str(root),
        "PYTHONHASHSEED": "0",
        "IPYTHONDIR": str(settings),
        "MPLCONFIGDIR": str(settings),
        "SOURCE_DATE_EPOCH": "0",  # keeps the date out of SVG figures
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def complaint(page: Page, cells: list[nbformat.NotebookNode], number: int, verb: str) -> str:
    """Point to a code cell of a page (the first is 0), say what it did, and show it."""
    source = cells[number].source
    line = page.text.count("\n", 0, page.text.find(source)) + 1
    code = "\n".join("    " + row for row in source.splitlines())
    where = f"{page.path.name}, line {line}, code cell {number + 1} of {len(cells)}"
    return f"{where} {verb}:\n\n{code}\n\n"


def failure_message(page: Page, notebook: nbformat.NotebookNode, *, error: Exception) -> str:
    """Say which chapter and cell failed, and how, as plain text."""
    cells = code_cells(notebook)
    # The failing cell is the last one the client touched.
    started = [n for n, cell in enumerate(cells) if cell.execution_count or cell.outputs]
    number = started[-1] if started else 0
    if isinstance(error, CellTimeoutError):
        trace = f"The cell took longer than {page.timeout} s."
    elif isinstance(error, DeadKernelError):
        trace = "The kernel died (out of memory, perhaps)."
    else:
        traces = [o.traceback for o in cells[number].outputs if o.output_type == "error"]
        trace = plain("\n".join(traces[-1])) if traces else str(error)
    return complaint(page, cells, number, "failed") + trace


def refuse_stderr(page: Page, notebook: nbformat.NotebookNode) -> None:
    """Refuse a page on which a warning or a progress bar would be printed."""
    cells = code_cells(notebook)
    for number, cell in enumerate(cells):
        said = "".join(o.text for o in cell.outputs if o.get("name") == "stderr")
        if said:
            verb = "writes to stderr, which would stand in the page"
            raise BuildError(complaint(page, cells, number, verb) + said)


@contextmanager
def sockets_of(client: NotebookClient) -> Iterator[None]:
    """Let a kernel be spoken to through files of its own folder, where the system has them.

    A network port is chosen first and bound later, by the kernel; another process that binds it
    in between, on a machine where many kernels start at once, leaves a kernel that dies.
    """
    manager = client.create_kernel_manager()
    with TemporaryDirectory(prefix="kernel-") as folder:
        if hasattr(socket, "AF_UNIX") and len(folder) <= LONGEST_SOCKET:
            manager.transport, manager.ip = "ipc", f"{folder}/to"
        yield


def run_notebook(page: Page, *, root: Path, build: Path) -> nbformat.NotebookNode:
    """Execute one page in a kernel of its own, in an empty working directory."""
    notebook = page.notebook()
    folder = build / "work" / page.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    client = NotebookClient(
        notebook,
        timeout=page.timeout,
        kernel_name=page.header["kernelspec"].get("name", "python3"),
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )
    environment = kernel_environment(root, build=build)
    with sockets_of(client):
        try:
            client.execute(env=environment)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise BuildError(failure_message(page, notebook, error=error)) from None
    refuse_stderr(page, notebook)
    return notebook


def execute_page(page: Page, *, root: Path, build: Path, shared: Mapping[str, str]) -> Execution:
    """Return the executed page, from the cache if every part of its key is unchanged."""
    result = build / "executed" / f"{page.name}.ipynb"
    record = result.with_suffix(".json")
    code = code_state(page, root)
    parts = {"its text": text_hash(page.text), **code, **shared}
    known = json.loads(record.read_text()) if record.exists() and result.exists() else {}
    changed = [part for part in parts if known.get("parts", {}).get(part) != parts[part]]
    if known and not changed:
        facts = {key: known[key] for key in ("seconds", "when", "environment")}
        return Execution(page, result, ran=False, reason="", **facts)
    result.parent.mkdir(parents=True, exist_ok=True)
    record.unlink(missing_ok=True)  # a result without a record is never served
    start = time.perf_counter()
    notebook = run_notebook(page, root=root, build=build)
    day = datetime.now(UTC)
    facts = {
        "seconds": time.perf_counter() - start,
        "when": f"{day.day} {day:%B %Y}",
        "environment": environment_in_words(),
    }
    nbformat.write(notebook, result)
    # Code edited while the page ran may or may not be in the result: do not keep it.
    if (code_state(page, root), shared_state(root)) == (code, dict(shared)):
        record.write_text(json.dumps({"parts": parts, **facts}, indent=1))
    reason = f"{', '.join(changed)} changed" if known else "first time"
    return Execution(page, result, ran=True, reason=reason, **facts)


def expected(page: Page, *, build: Path) -> float:
    """Seconds that a page took the last time, or `SECONDS`."""
    record = build / "executed" / f"{page.name}.json"
    return float(json.loads(record.read_text())["seconds"]) if record.exists() else SECONDS


def in_words(seconds: float) -> str:
    """Say a time that was guessed from others, with no more digits than it deserves."""
    if seconds < 95:
        return f"about {max(10 * round(seconds / 10), 10)} s"
    return f"about {round(seconds / 60)} min"


class Progress:
    """A line for every page as it is done, with how long the others will take.

    They take what is expected of them, times what the pages that are done took for what was
    expected of those.
    """

    def __init__(self, seconds: Mapping[str, float]) -> None:
        self.all, self.left = dict(seconds), dict(seconds)
        self.width = max(map(len, seconds), default=0)
        self.start = time.perf_counter()
        self.lock = Lock()  # pages are executed in threads

    def tell(self, run: Execution) -> None:
        """Print the line of a page."""
        with self.lock:
            del self.left[run.page.name]
            done, rest = len(self.all) - len(self.left), sum(self.left.values())
            line = f"  [{done:2}/{len(self.all)}] {run.page.name:<{self.width}}  "
            line += f"executed in {run.seconds:.1f} s ({run.reason})" if run.ran else "cached"
            if run.ran and rest:
                pace = (time.perf_counter() - self.start) / (sum(self.all.values()) - rest)
                line += f"; {in_words(pace * rest)} left"
            print(line, flush=True)


def execute_pages(pages: list[Page], *, root: Path, build: Path) -> list[Execution]:
    """Execute what changed, the page that took longest first; results in the given order."""
    names = {page.name for page in pages}
    for path in (build / "executed").glob("*"):
        if path.stem not in names:
            path.unlink()
    shared = shared_state(root)
    seconds = {page.name: expected(page, build=build) for page in pages}
    progress = Progress(seconds)

    def execute(page: Page) -> Execution:
        run = execute_page(page, root=root, build=build, shared=shared)
        progress.tell(run)
        return run

    # Every page has a kernel of its own, so as many as there are cores run side by side.
    with ThreadPoolExecutor(min(os.cpu_count() or 1, SIDE_BY_SIDE)) as pool:
        waiting = {
            page.name: pool.submit(execute, page)
            for page in sorted(pages, key=lambda page: -seconds[page.name])
        }
        try:
            for done in as_completed(waiting.values()):
                done.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # the first failure stops what has not begun
            raise
    return [waiting[page.name].result() for page in pages]

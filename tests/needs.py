"""What a test may need beyond what `make test` installs, and the way to get it.

    @pytest.mark.needs("torch")        # a test, or a class; `pytestmark = ...` for a whole file

A test whose need is lacking is skipped with one line that names the way. The file of a marked
module is not even imported then, so it may import at its top what it needs.

    make test ARGS="--needing torch,llama"

runs the tests that need one of these and no others, and fails where it is lacking.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from book.tools.browser import find_chromium

ROOT = Path(__file__).resolve().parents[1]
HTML = Path(os.environ.get("JBC_HTML") or ROOT / "_build" / "html")
# Pyodide with its libraries; tests/browser/pyodide.py.
PYODIDE = Path(os.environ.get("JBC_PYODIDE_FILES") or ROOT / "_build" / "pyodide")
# Original files of the data sets, which the repository may not hold.
ORIGINALS = Path(os.environ.get("POE_DATA_DIR") or "/nowhere")


@dataclass(frozen=True)
class Need:
    """Modules to be installed, or another thing to be there, and what to type to have it."""

    way: str
    modules: tuple[str, ...] = ()
    here: Callable[[], bool] = lambda: True

    def met(self) -> bool:
        """Whether it is there, without importing anything large."""
        return all(find_spec(name) is not None for name in self.modules) and self.here()


def _weights() -> bool:
    from judging.datasets.models import place
    from judging.errors import JudgeError

    try:
        place("smollm2")
    except JudgeError:
        return False
    return True


def _larger() -> bool:
    from judging.datasets.models import place
    from judging.errors import JudgeError

    try:
        place("qwen")
    except JudgeError:
        return False
    return True


def _texts() -> bool:
    from judging import datasets

    return all(datasets.load(name).has_texts for name in ("summeval", "topicalchat"))


def _stories() -> bool:
    from judging import datasets

    return datasets.load("hanna").has_texts


def _sessions() -> bool:
    from judging.datasets import files

    return all(files.find(file) for file in files.info("sessions").files)


def _checkout() -> bool:
    if shutil.which("git") is None:
        return False
    done = subprocess.run(["git", "ls-files", "Makefile"], cwd=ROOT, capture_output=True)
    return done.returncode == 0 and bool(done.stdout)


def _history() -> bool:
    if not _checkout():
        return False
    asked = ["git", "rev-parse", "--is-shallow-repository"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True).stdout.strip() == b"false"


TEXTS = "name a folder with the original files in POE_DATA_DIR"
SERVING = ("fastapi", "uvicorn", "openai", "pydantic")

NEEDS = {
    # What `make test` itself installs; the core's tests run without: numpy, scipy, cvxpy-base,
    # clarabel, highspy, pytest and hypothesis.
    "pandas": Need("make test", ("pandas",)),
    "scikit-learn": Need("make test", ("sklearn",)),
    "choix": Need("make test", ("choix",)),
    "crowd-kit": Need("make test", ("crowdkit",)),
    "judging": Need("make test", ("pandas", "httpx", "typer", "platformdirs", "tqdm")),
    # More.
    "torch": Need("make judge", ("torch", "transformers")),
    "smollm2": Need("make judge", ("torch", "transformers", "gguf"), _weights),
    "node": Need(
        "install node (Debian: apt install nodejs)", here=lambda: bool(shutil.which("node"))
    ),
    "llama": Need("make judge", ("xllamacpp",)),
    "qwen": Need("judging data fetch qwen", ("xllamacpp",), _larger),
    "pyright": Need(".venv/bin/pip install 'pyright[nodejs]'", ("pyright",)),
    "book": Need("make book", here=lambda: (HTML / "index.html").is_file()),
    "browser": Need(
        "install Chromium (Debian: apt install chromium) or name one in CHROMIUM",
        here=lambda: find_chromium() is not None,
    ),
    "pyodide": Need(
        "make pyodide",
        here=lambda: (PYODIDE / "pyodide-lock.json").is_file(),
    ),
    "texts": Need(f"judging data fetch summeval topicalchat, or {TEXTS}", here=_texts),
    "stories": Need(f"judging data fetch hanna, or {TEXTS}", here=_stories),
    "sessions": Need(f"judging data fetch sessions, or {TEXTS}", here=_sessions),
    "originals": Need(TEXTS, here=lambda: (ORIGINALS / "summeval").is_dir()),
    "checkout": Need("git clone, and git itself", here=_checkout),
    "history": Need("git clone without --depth, and git itself", here=_history),
    "transformers-serve": Need(
        "make judge, then pip install 'transformers[serving]'", ("torch", "transformers", *SERVING)
    ),
    "ray": Need("make judge, then pip install ray", ("ray",)),
    "slurm": Need(
        "be root, and install Slurm (Debian: apt install slurm-wlm munge)",
        here=lambda: os.geteuid() == 0 and all(map(shutil.which, ("slurmctld", "munged"))),
    ),
    "llama-cpp-server": Need(
        "make judge, then pip install 'llama-cpp-python[server]'",
        ("torch", "transformers", "gguf", "llama_cpp", *SERVING[:2]),
    ),
}


@cache
def lacking(name: str) -> bool:
    """Whether this machine lacks it; KeyError for a name that is not in the table."""
    return not NEEDS[name].met()


def reason(name: str) -> str:
    """One line for whoever wants these tests to run."""
    return f"needs {name}: {NEEDS[name].way}"


def require(names: Iterable[str], *, must: Iterable[str] = ()) -> None:
    """Skip the test at hand when one of these is lacking, or fail it: `must` be here."""
    for name in sorted(set(names)):
        if lacking(name):
            if name in must:
                pytest.fail(reason(name), pytrace=False)
            pytest.skip(reason(name))


def of_item(item: pytest.Item) -> set[str]:
    """The needs that the marks of a test name, its file's and its class's among them."""
    found = {name for mark in item.iter_markers("needs") for name in mark.args}
    return found | ({"browser"} if item.get_closest_marker("browser") else set())


def named(nodes: Iterable[ast.AST]) -> set[str]:
    """The needs that the marks in these expressions name: needs("torch"), browser."""
    found = set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "needs":
            found |= {one.value for one in node.args if isinstance(one, ast.Constant)}
        if isinstance(node, ast.Attribute) and node.attr == "browser":
            found.add("browser")
    return found


def of_module(tree: ast.Module) -> set[str]:
    """The needs of a whole file, from its `pytestmark`."""
    return named(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(getattr(target, "id", "") == "pytestmark" for target in node.targets)
    )

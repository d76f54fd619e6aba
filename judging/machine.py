"""Where the package's own data files are, and how it writes files: whole or not at all."""

from __future__ import annotations

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


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; an OSError names it, such as for a full disk."""
    part = path.with_name(path.name + ".part")
    try:
        if isinstance(content, str):
            part.write_text(content, encoding="utf-8")
        else:
            part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise OSError(f"{path} was not written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)

"""Where the package's own data files are, and how it writes files: whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A path to write to instead; what is there at the end becomes the file, or nothing does.

    Raises OSError with the file's name, such as for a full disk.
    """
    part = path.with_name(path.name + ".part")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise OSError(f"{path} was not written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)

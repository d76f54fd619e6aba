"""Build the book: `python -m book.tools build`.

Each page with a kernel in its front matter is executed (or taken from the
cache, see book/tools/execute.py); Sphinx then renders the executed pages.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat

from book.tools.execute import execute_pages
from book.tools.pages import BuildError, find_pages
from book.tools.render import render, stage

TARGETS = [
    "build",
    "execute",
    "notebooks",
    "pdf",
    "slides",
    "handout",
    "check-handout",
    "extras",
]


@contextlib.contextmanager
def locked(build: Path) -> Iterator[None]:
    """Let one build at a time work in a folder, where the system has file locks."""
    build.mkdir(parents=True, exist_ok=True)
    with open(build / ".lock", "w") as lock:
        try:
            import fcntl
        except ImportError:  # Windows
            pass
        else:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                print(f"Waiting for another build in {build}")
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def build_book(
    root: Path,
    *,
    build: Path,
    light: bool = False,
    execute_only: bool = False,
    verbose: bool = False,
) -> Path:
    """Execute and render; return the first page."""
    start = time.perf_counter()
    every_page = find_pages(root)
    left_out = {page.name for page in every_page if light and page.needs}
    pages = [page for page in every_page if page.name not in left_out]
    print("Executing the chapters")
    runs = execute_pages([page for page in pages if page.executes], root=root, build=build)
    for name in sorted(left_out):
        print(f"  {name}  left out (needs more than the light set)")
    ran = [run for run in runs if run.ran]
    print(
        f"  {len(ran)} executed in {sum(run.seconds for run in ran):.1f} s, "
        f"{len(runs) - len(ran)} cached"
    )
    first = build / "html" / "index.html"
    if execute_only:
        return first
    source = stage(root, build=build, pages=every_page, runs=runs, left_out=left_out)
    print("Rendering the pages", flush=True)
    rendering = time.perf_counter()
    if render(source, build=build, pages=pages, verbose=verbose):
        print(f"  rendered in {time.perf_counter() - rendering:.1f} s")
    else:
        print("  nothing changed since the last time")
    print(f"The book is ready ({time.perf_counter() - start:.1f} s in all). First page:")
    print(f"  {first}")
    print(f"  {first.as_uri()}")
    return first


def write_notebooks(root: Path, *, build: Path) -> Path:
    """Write every executable page as a clean .ipynb."""
    folder = build / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.ipynb"):
        old.unlink()
    for page in find_pages(root):
        if page.executes:
            path = folder / f"{page.name}.ipynb"
            nbformat.write(page.notebook(), path)
            print(f"  {path}")
    return folder


def write_pdf(root: Path, *, build: Path) -> Path:
    """Print the rendered book."""
    from book.tools.pdf import print_book

    output = build / "judging-by-comparison.pdf"
    print_book(build / "html", toc=root / "book" / "_toc.yml", output=output)
    print(f"The book as a PDF:\n  {output}")
    return output


def print_extras(root: Path, *, build: Path) -> None:
    """Print the extras that pages ask for, for the Makefile."""
    print(" ".join(sorted({need for page in find_pages(root) for need in page.needs})))


def write_student_notebooks(root: Path, *, build: Path) -> None:
    """Write the notebooks without solutions."""
    from book.tools.handout import write_handouts

    for path in write_handouts(find_pages(root), folder=build / "handout"):
        print(f"  {path}")


def write_slides(root: Path, *, build: Path) -> None:
    """Write the decks from the executed chapters."""
    from book.tools.slides import write_decks

    for path in write_decks(find_pages(root), executed=build / "executed", folder=build / "slides"):
        print(f"  {path}")


def check_handout(file: Path | None) -> None:
    """Run and grade one student's notebook."""
    from book.tools.handout import grades, report, run

    if file is None:
        raise BuildError("Name the notebook: make check-handout FILE=path/to/it.ipynb")
    print(report(grades(run(file))))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m book.tools", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--file", type=Path, help="the notebook to check")
    parser.add_argument("--build-dir", type=Path, help="default: _build under the root")
    parser.add_argument("--light", action="store_true", help="leave out pages that need extras")
    parser.add_argument("-v", "--verbose", action="store_true", help="show Sphinx's output")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run one target."""
    options = parse(arguments)
    root = options.root.resolve()
    build = (options.build_dir or root / "_build").resolve()
    try:
        if options.target == "extras":
            print_extras(root, build=build)
            return 0
        if options.target == "check-handout":
            check_handout(options.file)
            return 0
        with locked(build):
            if options.target == "notebooks":
                write_notebooks(root, build=build)
            elif options.target == "slides":
                write_slides(root, build=build)
            elif options.target == "handout":
                write_student_notebooks(root, build=build)
            elif options.target == "pdf":
                write_pdf(root, build=build)
            else:
                build_book(
                    root,
                    build=build,
                    light=options.light,
                    execute_only=options.target == "execute",
                    verbose=options.verbose,
                )
    except BuildError as error:
        said = "The book was not built. " if options.target in ("build", "execute") else ""
        print(f"\n{said}{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

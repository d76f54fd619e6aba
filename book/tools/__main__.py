"""Build the book: `python -m book.tools build`.

Each page with a kernel in its front matter is executed (or taken from the
cache, see book/tools/execute.py); Sphinx then renders the executed pages.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from functools import partial
from pathlib import Path

from book.tools.course import write_course
from book.tools.exam import write_exam
from book.tools.execute import execute_pages
from book.tools.handout import write_handouts
from book.tools.lab import write_lab
from book.tools.notes import with_notes
from book.tools.pages import BuildError, find_pages, rendered
from book.tools.pdf import print_book
from book.tools.plain import read_book
from book.tools.render import render, stage
from book.tools.slides import mathjax, within, write_decks
from book.tools.wheel import runs_on_its_own

TARGETS = {
    "build": "execute the pages and render them",
    "execute": "execute the pages only",
    "notebooks": "write every executed page as a plain .ipynb, with the wheel it needs",
    "lab": "write copies of the pages to work in, where there are none yet",
    "pdf": "print the rendered book",
    "slides": "write the decks from the executed chapters",
    "handout": "write the notebooks without solutions",
    "exam": "write an examination by its --seed, with answers and marks",
    "course": "write the course kit: decks, handouts, solutions",
}


def build_book(
    root: Path,
    *,
    build: Path,
    execute_only: bool = False,
    verbose: bool = False,
) -> Path:
    """Execute and render; return the first page."""
    start = time.perf_counter()
    pages = find_pages(root)
    print(
        "Executing the pages (about two minutes on two cores; later only what changed)", flush=True
    )
    runs = execute_pages([page for page in pages if page.executes], root=root, build=build)
    ran = [run for run in runs if run.ran]
    print(
        f"  {len(ran)} executed in {sum(run.seconds for run in ran):.1f} s, "
        f"{len(runs) - len(ran)} cached"
    )
    first = build / "html" / "index.html"
    if execute_only:
        return first
    source = stage(root, build=build, pages=pages, runs=runs)
    print("Rendering the pages (about a minute)", flush=True)
    if not render(source, root=root, build=build, pages=pages, verbose=verbose):
        print("  nothing changed since the last time")
    print(f"The book is ready ({time.perf_counter() - start:.1f} s in all). First page:")
    print(f"  {first}")
    print(f"  {first.as_uri()}")
    return first


def write_notebooks(root: Path, *, build: Path) -> list[Path]:
    """Put the plain notebooks of the rendered book into a folder, with the wheel that they need.

    The folder is whole in itself: Binder, and `pip install -r requirements.txt`, take it as it is.
    """
    folder = build / "notebooks"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = [build / "html/_sources" / f"{p.name}.ipynb" for p in find_pages(root) if p.executes]
    if missing := [path.stem for path in sources if not path.is_file()]:
        raise BuildError(f"There is no rendered {missing[0]} yet; run make book first")
    return [Path(shutil.copy(path, folder)) for path in sources] + runs_on_its_own(folder)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m book.tools", description=__doc__)
    listed = "; ".join(f"{name}: {what}" for name, what in TARGETS.items())
    parser.add_argument("target", choices=TARGETS, help=listed)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--build-dir", type=Path, help="default: _build under the root")
    parser.add_argument("--seed", type=int, default=1, help="of an examination; default: 1")
    parser.add_argument("-v", "--verbose", action="store_true", help="show Sphinx's output")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace) -> None:
    """Run one target."""
    root, target = options.root.resolve(), options.target
    build = (options.build_dir or root / "_build").resolve()
    if target in ("build", "execute"):
        build_book(
            root,
            build=build,
            execute_only=target == "execute",
            verbose=options.verbose,
        )
    elif target == "course":
        book = read_book(rendered(build), executed=build / "executed", root=root)
        print(write_course(find_pages(root), book=book, build=build))
    elif target == "pdf":
        output = build / "judging-by-comparison.pdf"
        print(print_book(rendered(build), toc=root / "book" / "_toc.yml", output=output))
    else:
        if target == "notebooks":
            written = write_notebooks(root, build=build)
        elif target == "handout":
            written = write_handouts(find_pages(root), folder=build / target)
        elif target == "exam":
            script = within(mathjax())
            written = write_exam(options.seed, folder=build / target, script=script)
        elif target == "lab":
            book = read_book(rendered(build), executed=build / "executed", root=root)
            written = write_lab(find_pages(root), book=book, folder=build / target)
        else:
            executed = build / "executed"
            book = read_book(rendered(build), executed=executed, root=root)
            written = write_decks(
                find_pages(root),
                executed=executed,
                folder=build / target,
                add_notes=partial(with_notes, book=book),
            )
        print("\n".join(f"  {path}" for path in written))


def main(arguments: list[str] | None = None) -> int:
    """Run the target that the command line names; returns the exit status."""
    options = parse(arguments)
    try:
        run(options)
    except BuildError as error:
        said = "The book was not built. " if options.target in ("build", "execute") else ""
        print(f"\n{said}{error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

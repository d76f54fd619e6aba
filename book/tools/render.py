"""Turn executed pages into the rendered book."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import yaml

from book.tools.commands import MARK, commands
from book.tools.execute import Execution
from book.tools.finish import BRANCH, finish
from book.tools.hosted import releases, repository, site
from book.tools.pages import BuildError, Page, hash_files, plain, signature, source_files
from book.tools.slides import without_slides

# Sphinx places a warning of cell 3, line 7 at line 30007 of the notebook.
CELL_LINE = re.compile(r"(\S+)\.ipynb:(\d+)")
# [text](page.md), [text](page.md#part) and {glue:text}`page.md::key`
PAGE_LINK = re.compile(r"(\]\(|`)([\w-]+)\.md(\)|#|::)")
# myst-nb takes the key for a format in {glue:text}`page.md::key`; "s" means as it is.
UNFORMATTED = re.compile(r"(\{glue:text\}`[\w-]+\.\w+::[^`:]+)`")
# Where pages are hosted, the course kit and the feed lie beside them, and releases on the host.
HOSTED = {
    "% course kit\n": '<p><a href="course.zip">Download the course kit</a>, which has all of '
    "this.</p>\n",
    "% feed\n": '<p>Read the book of <a href="{releases}">another version</a>. New versions '
    'come as an <a href="changes.xml">Atom feed</a>.</p>\n',
}
PROBLEM = re.compile(r"\b(WARNING|ERROR|CRITICAL)\b|^Traceback|Error:|Exception:")


def staged_links(text: str, *, executed: set[str]) -> str:
    """Point links and glue that name an executed page's .md to the .ipynb staged for it."""

    def staged(match: re.Match[str]) -> str:
        opening, name, closing = match.groups()
        return f"{opening}{name}.{'ipynb' if name in executed else 'md'}{closing}"

    return UNFORMATTED.sub(r"\1:s`", PAGE_LINK.sub(staged, text))


def stamp(run: Execution) -> str:
    """Say when a page was executed, and with what; the numbers in it are as old as that."""
    return f"{{.jc-executed}}\nExecuted on {run.when} with {run.environment}."


def stage(root: Path, *, build: Path, pages: list[Page], runs: list[Execution]) -> Path:
    """Lay out a fresh Sphinx source: book/ and notebooks/ in one folder, pages executed."""
    folder = build / "stage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source in (root / "book", root / "notebooks"):
        for path in source_files(source, skip=("tools",)):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
    if (changes := root / "CHANGELOG.md").is_file():
        shutil.copy2(changes, folder)  # which a page includes
    executed = {run.page.name for run in runs}
    hosted = repository()
    for page in pages:
        path = folder / f"{page.name}.md"
        if page.executes:
            path.unlink()
        else:
            text = page.text.replace(MARK, commands()) if MARK in page.text else page.text
            for mark, link in HOSTED.items() if hosted else ():
                text = text.replace(mark, link.format(releases=releases(hosted)))
            path.write_text(staged_links(text, executed=executed), encoding="utf-8")
    for run in runs:
        notebook = without_slides(nbformat.read(run.result, as_version=4))
        notebook.cells.append(nbformat.v4.new_markdown_cell(stamp(run), id="executed"))
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = staged_links(cell.source, executed=executed)
        nbformat.write(notebook, folder / run.result.name)
    if hosted:
        configure(folder / "_config.yml", hosted=hosted, pages=pages)
    return folder


def configure(path: Path, *, hosted: str, pages: list[Page]) -> None:
    """Switch the theme's buttons on.

    They are: the repository, an edit, an issue, the hosts that run pages. Both hosts open the
    notebooks of a branch of their own; an edit changes the text on main.
    """
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    sphinx = config["sphinx"]["config"]
    sphinx["html_theme_options"] |= {
        "repository_url": f"https://github.com/{hosted}",
        "repository_branch": BRANCH,
        "use_repository_button": True,
        "use_edit_page_button": True,
        "use_issues_button": True,
        "launch_buttons": {
            "colab_url": "https://colab.research.google.com",
            "binderhub_url": "https://mybinder.org",
            "notebook_interface": "jupyterlab",
        },
    }
    sphinx["html_baseurl"] = f"{site(hosted)}/"
    if os.environ.get("JBC_COMMENTS") == "hypothesis":  # loads a script from another host
        config["html"]["comments"] = {"hypothesis": True}
    sphinx["html_context"] |= {
        "hosted": True,
        "edit_page_provider_name": "GitHub",
        "edit_page_url_template": f"https://github.com/{hosted}/edit/main/"
        "{{ folder_of[pagename] }}/{{ pagename }}.md{# in place of file_name #}",
        "folder_of": {page.name: page.path.parent.name for page in pages},
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")


def readable(line: str) -> str:
    """Name page and cell in a Sphinx message instead of staged file and line."""

    def place(match: re.Match[str]) -> str:
        cell, row = divmod(int(match.group(2)), 10_000)
        return f"{Path(match.group(1)).name}.md, cell {cell}, line {row}"

    return CELL_LINE.sub(place, line)


def run_sphinx(source: Path, *, root: Path, output: Path, log: Path, verbose: bool) -> Path:
    """Render a staged book with warnings as errors; return the folder of pages.

    The API reference is made of the docstrings of the package under `root`.
    """
    shutil.rmtree(output, ignore_errors=True)
    program = (
        "from sys import modules; modules['rfc3987_syntax'] = None\n"  # as book.tools does
        "from jupyter_book.cli.main import main; main()"
    )
    command = [sys.executable, "-c", program, "build", str(source)]
    command += ["--path-output", str(output), "--all", "-W", "-n", "--keep-going"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(root)},
    )
    said = plain(done.stdout)  # jupyter-book colours its output even into a file
    log.write_text(said, encoding="utf-8")
    if verbose:
        print(said)
    html = output / "_build" / "html"
    if done.returncode != 0 or not (html / "index.html").exists():
        lines = [readable(line) for line in said.splitlines() if PROBLEM.search(line)]
        problems = "\n".join(f"  {line}" for line in dict.fromkeys(lines))
        raise BuildError(f"Sphinx refused the book (its whole output: {log}):\n{problems}")
    return html


def render(
    source: Path, *, root: Path, build: Path, pages: list[Page], verbose: bool = False
) -> bool:
    """Render a staged book into build/html; return False where that was up to date."""
    html = build / "html"
    record = build / "rendered.json"
    wanted = {"source": hash_files(source), "tools": hash_files(Path(__file__).parent)}
    wanted |= {"python": sys.version, "repository": repository() or ""}
    documented = ("poe", "judging", "reproduction", "studies")
    wanted |= {f"docstrings of {name}": hash_files(root / name) for name in documented}
    if record.exists() and json.loads(record.read_text()) == {**wanted, "html": signature(html)}:
        return False
    record.unlink(missing_ok=True)
    log = build / "sphinx.log"
    fresh = run_sphinx(source, root=root, output=build / "sphinx", log=log, verbose=verbose)
    finish(fresh, pages=pages, executed=build / "executed", root=root)
    shutil.rmtree(html, ignore_errors=True)
    fresh.rename(html)
    record.write_text(json.dumps({**wanted, "html": signature(html)}, indent=1))
    return True

"""The book never shows a stale number: what is executed again, and what is not."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from book.tools import execute
from book.tools.__main__ import main
from book.tools.execute import Execution, execute_pages
from book.tools.pages import BuildError, Page, find_pages, signature
from judging.datasets import files
from tests.scratch_book import HEADER

FIRST = "# First\n\n```{code-cell} python\nimport poe\n\nprint(f'<{poe.NUMBER}>')\n```\n"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a book of one page about a package of one number."""
    for name in [name for name in os.environ if name.startswith("POE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "root"
    for folder in (
        "poe",
        "judging",
        "reproduction",
        "studies",
        "data/results",
        "notebooks",
        "book",
    ):
        (root / folder).mkdir(parents=True)
    (root / "poe/__init__.py").write_text("NUMBER = 41\n")
    (root / "poe/settings.toml").write_text("a = 1\n")
    (root / "data/numbers.csv").write_text("a\n1\n")
    (root / "constraints.txt").write_text("numpy==2.0.0\n")
    (root / "notebooks/03-first.md").write_text(HEADER + FIRST)
    return root


def run(root: Path) -> list[Execution]:
    return execute_pages(find_pages(root), root=root, build=root / "_build")


def printed(run: Execution) -> str:
    return run.result.read_text(encoding="utf-8")


class TestCache:
    @pytest.fixture(autouse=True)
    def without_kernels(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A page is executed by looking up its number: what is tested is when, not how."""

        def look(page: Page, *, root: Path, build: Path) -> nbformat.NotebookNode:
            number = (root / "poe/__init__.py").read_text()
            return nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(number)])

        monkeypatch.setattr(execute, "run_notebook", look)

    def test_only_a_change_executes_a_page(self, scratch: Path) -> None:
        (first,) = run(scratch)
        (second,) = run(scratch)
        assert (first.ran, second.ran) == (True, False)
        (scratch / "poe/__init__.py").write_text("NUMBER = 42\n")
        (third,) = run(scratch)
        assert (third.ran, third.reason) == (True, "poe/ changed")
        assert "42" in printed(third)
        third.result.unlink()
        (fourth,) = run(scratch)
        assert fourth.ran, "a lost result is made again"
        (scratch / "notebooks/03-first.md").rename(scratch / "notebooks/04-first.md")
        run(scratch)
        assert not fourth.result.exists(), "the result of a removed page is removed"

    def test_a_changed_text_executes_its_page_alone(self, scratch: Path) -> None:
        (scratch / "notebooks/05-other.md").write_text(HEADER + FIRST.replace("First", "Other"))
        run(scratch)
        with (scratch / "notebooks/05-other.md").open("a") as page:
            page.write("\nOne more sentence.\n")
        assert [(one.page.name, one.ran, one.reason) for one in run(scratch)] == [
            ("03-first", False, ""),
            ("05-other", True, "its text changed"),
        ]

    def test_a_package_that_changes_while_a_page_runs_is_not_trusted(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        look = execute.run_notebook

        def edited(page: Page, **folders: Path) -> nbformat.NotebookNode:
            (scratch / "poe/__init__.py").write_text("NUMBER = 42\n")
            return look(page, **folders)

        with monkeypatch.context() as patch:
            patch.setattr(execute, "run_notebook", edited)
            run(scratch)
        (again,) = run(scratch)
        assert again.ran

    def test_every_page_is_told_as_it_is_done_with_what_is_left(
        self, scratch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in ("05-other", "06-third"):
            (scratch / f"notebooks/{name}.md").write_text(HEADER + FIRST)
        run(scratch)
        record = scratch / "_build/executed/06-third.json"
        record.write_text(json.dumps(json.loads(record.read_text()) | {"seconds": 400.0}))
        (scratch / "poe/__init__.py").write_text("NUMBER = 42\n")
        monkeypatch.setattr(execute.os, "cpu_count", lambda: 1)
        capsys.readouterr()
        assert [one.page.name for one in run(scratch)] == ["03-first", "05-other", "06-third"]
        first, *_, last = capsys.readouterr().out.splitlines()
        assert first.startswith("  [ 1/3] 06-third  executed in"), "the longest begins"
        assert first.endswith("; about 10 s left")
        assert last.startswith("  [ 3/3] ")
        assert "left" not in last

    def test_a_guess_is_told_in_round_numbers(self) -> None:
        said = [execute.in_words(seconds) for seconds in (2.0, 44.0, 87.0, 100.0, 200.0)]
        assert said == ["about 10 s", "about 40 s", "about 90 s", "about 2 min", "about 3 min"]


def write(name: str, text: str = "new") -> Callable[[Path], None]:
    """Return an edit of one file."""

    def edit(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return edit


def test_an_empty_cache_folder_is_as_good_as_none(tmp_path: Path) -> None:
    missing = signature(tmp_path / "cache")
    (tmp_path / "cache" / "set").mkdir(parents=True)
    assert signature(tmp_path / "cache") == missing
    (tmp_path / "cache" / "set" / "texts.json").write_text("[]")
    assert signature(tmp_path / "cache") != missing


def test_each_input_is_part_of_the_key(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POE_DATA_DIR", str(scratch / "../shared"))
    monkeypatch.setenv("POE_CACHE_DIR", str(scratch / "../cache"))
    (scratch / "../shared").mkdir()
    original = files.info("summeval").main.names[0]
    data = scratch / "../shared" / original
    for edit, part in (
        (write("data/results/table1.csv"), "data/"),
        (write("constraints.txt"), "constraints.txt"),
        (write(f"../cache/{original}"), "the data sets"),
        (write(f"../shared/{original}"), "the data sets"),
        (lambda _: os.utime(data, ns=(1, 1)), "the data sets"),
        (lambda _: monkeypatch.setenv("POE_OPTION", "1"), "the POE_ variables"),
    ):
        before = execute.shared_state(scratch)
        edit(scratch)
        after = execute.shared_state(scratch)
        assert [name for name in before if before[name] != after[name]] == [part]
    for other in ("../cache/judge.gguf", "../cache/half.partial", "../shared/notes.csv"):
        before = execute.shared_state(scratch)
        write(other)(scratch)
        assert execute.shared_state(scratch) == before, "no page reads it"
    monkeypatch.setenv("POE_DATA_DIR", str(scratch / "../nowhere"))
    with pytest.raises(BuildError, match="POE_DATA_DIR"):
        execute.shared_state(scratch)


def test_a_page_depends_on_the_code_that_its_cells_import(scratch: Path) -> None:
    """And on no other: a help text of the command executes none but a page that runs it."""
    for name, text in (
        ("poe/__init__.py", '_NAMES = {"fitting": ["fit"], "scores": ["win_ratio"]}'),
        ("poe/fitting.py", "def fit():\n    from poe.newton import solve"),
        ("poe/newton.py", "def solve(): ..."),
        ("poe/scores.py", "import poe.newton"),
        ("judging/__init__.py", '_NAMES = {"practice.rank": ["rank"], "store": ["Store"]}'),
        ("judging/practice/rank.py", "from poe import fit"),
        ("judging/practice/cli/rank.py", 'HELP = "what it does"'),
        ("judging/practice/cli/__init__.py", "from judging.practice.cli import rank"),
        ("judging/store.py", ""),
        ("book/exercises.py", "def asks(): ..."),
    ):
        write(name, text)(scratch)
    cells = {
        "averages": "import poe\n```\n\n```{code-cell} python\npoe.win_ratio()",  # two cells
        "fits": "from poe import fit",
        "ranks": "import judging as j\nimport judging\njudging.rank()".partition("\n")[2],
        "stores": "from judging import Store",
        "commands": "from judging.practice.cli import main",
        "handed on": "import judging\nprint(vars(judging))",
        "programs": "import subprocess",
        "shell": "!judging --help",
        "exercises": "from book.exercises import asks",
        "prose": "1 + 1",
    }
    for name, cell in cells.items():
        text = f"# {name}\n\n```{{code-cell}} python\n{cell}\n```\n"
        write(f"notebooks/{name}.md", HEADER + text)(scratch)
    pages = {page.name: page for page in find_pages(scratch) if page.name in cells}
    anything = {"programs", "shell"}
    for name, asked in (
        ("poe/newton.py", {"averages", "fits", "ranks", "handed on", *anything}),
        ("poe/scores.py", {"averages", *anything}),
        ("judging/practice/rank.py", {"ranks", "handed on", *anything}),
        ("judging/practice/cli/rank.py", {"commands", "handed on", *anything}),
        ("judging/store.py", {"stores", "handed on", *anything}),
        ("poe/new.py", anything),
        ("book/exercises.py", {"exercises", *anything}),
        ("book/another-page.md", set()),
        ("poe/settings.toml", {"averages", "fits", "ranks", "handed on", *anything}),
    ):
        before = {page: execute.code_state(pages[page], scratch) for page in pages}
        old = (scratch / name).read_text() if (scratch / name).exists() else ""
        write(name, f"{old}\na = 2\n")(scratch)
        after = {page: execute.code_state(pages[page], scratch) for page in pages}
        assert {page for page in pages if before[page] != after[page]} == asked, name
        part = name.partition("/")[0] + "/"
        assert all(before[page][part] != after[page][part] for page in asked)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "item = 'essay-12'\nraise ValueError('no score for ' + item)",
            ["line 20, code cell 2 of 2", "'no score for ' + item", "Error: no score for essay-12"],
        ),
        (
            "import warnings\n\nwarnings.warn('careful', stacklevel=1)",
            ["code cell 2 of 2 writes to stderr", "UserWarning: careful"],
        ),
    ],
    ids=["error", "warning"],
)
def test_a_failing_cell_names_chapter_cell_and_error(
    scratch: Path, cell: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{FIRST}\n```{{code-cell}} python\n{cell}\n```\n"
    (scratch / "notebooks/03-first.md").write_text(HEADER + text)
    assert main(["build", "--root", str(scratch)]) == 1
    said = capsys.readouterr().err
    for word in ("03-first.md", *words):
        assert word in said
    assert not list((scratch / "_build/executed").glob("*")), "nothing that a later build serves"
    assert not (scratch / "_build/html").exists()


def test_pages_that_cannot_be_told_apart_are_refused(scratch: Path) -> None:
    (scratch / "book/03-first.md").write_text("# First\n")
    with pytest.raises(BuildError, match="same name"):
        find_pages(scratch)


def test_a_kernel_takes_no_port_of_the_machine(scratch: Path) -> None:
    """A port is chosen before it is bound: among many builds, somebody takes it in between."""
    asked = "from ipykernel.connect import get_connection_info as of\nof(unpack=True)['transport']"
    page = f"# First\n\n```{{code-cell}} ipython3\n{asked}\n```\n"
    (scratch / "notebooks/03-first.md").write_text(HEADER + page)
    (done,) = run(scratch)
    assert "'ipc'" in printed(done)

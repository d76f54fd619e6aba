"""The book never shows a stale number: what is executed again, and what is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from book.tools.__main__ import main
from book.tools.execute import (
    Execution,
    data_folders,
    execute_pages,
    kernel_environment,
    shared_state,
)
from book.tools.pages import BuildError, find_pages
from poe.datasets import cache_dir
from tests.scratch_book import HEADER

FIRST = "# First\n\n```{code-cell} python\nimport poe\n\nprint(f'<{poe.NUMBER}>')\n```\n"


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a book of one page about a package of one number."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("POE_")]:
        monkeypatch.delenv(name)
    root = tmp_path / "root"
    for folder in ("poe", "reproduction", "data/results", "notebooks", "book"):
        (root / folder).mkdir(parents=True)
    (root / "poe/__init__.py").write_text("NUMBER = 41\n")
    (root / "poe/settings.toml").write_text("a = 1\n")
    (root / "data/numbers.csv").write_text("a\n1\n")
    (root / "constraints.txt").write_text("numpy==2.0.0\n")
    (root / "notebooks/03-first.md").write_text(HEADER + FIRST)
    return root


def execute(root: Path) -> list[Execution]:
    """Execute a scratch book."""
    return execute_pages(find_pages(root), root=root, build=root / "_build")


def printed(run: Execution) -> str:
    """Return the executed page as text."""
    return run.result.read_text(encoding="utf-8")


def test_second_run_executes_nothing(scratch: Path) -> None:
    (first,) = execute(scratch)
    (second,) = execute(scratch)
    assert (first.ran, second.ran) == (True, False)
    assert second.result.read_text() == printed(first)
    assert "<41>" in printed(second)


def test_a_changed_package_gives_the_new_number(scratch: Path) -> None:
    execute(scratch)
    (scratch / "poe/__init__.py").write_text("NUMBER = 42\n")
    (run,) = execute(scratch)
    assert run.ran
    assert run.reason == "poe/ changed"
    assert "<42>" in printed(run)
    assert "<41>" not in printed(run)


def test_a_changed_text_executes_its_page_alone(scratch: Path) -> None:
    (scratch / "notebooks/05-other.md").write_text(HEADER + FIRST.replace("First", "Other"))
    execute(scratch)
    with (scratch / "notebooks/05-other.md").open("a") as page:
        page.write("\nOne more sentence.\n")
    runs = execute(scratch)
    assert [(run.page.name, run.ran, run.reason) for run in runs] == [
        ("03-first", False, ""),
        ("05-other", True, "its text changed"),
    ]


def write(name: str, text: str = "new") -> Callable[[Path], None]:
    """Return an edit of one file."""

    def edit(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return edit


def state(root: Path, **environment: str) -> dict[str, str]:
    """Return the part of the key that all pages share."""
    fixed = {"XDG_CACHE_HOME": str(root / "../cache"), "POE_DATA_DIR": str(root / "../shared")}
    return shared_state(root, environment={**fixed, **environment})


@pytest.mark.parametrize(
    ("edit", "part"),
    [
        (write("poe/__init__.py"), "poe/"),
        (write("poe/settings.toml"), "poe/"),
        (write("poe/solvers/new.py"), "poe/"),
        (write("reproduction/new.py"), "reproduction/"),
        (lambda root: (root / "poe/settings.toml").unlink(), "poe/"),
        (lambda root: (root / "poe/settings.toml").rename(root / "poe/renamed.toml"), "poe/"),
        (write("data/numbers.csv"), "data/"),
        (write("data/results/table1.csv"), "data/"),
        (write("constraints.txt"), "constraints.txt"),
        (write("../shared/summeval/human_scores.csv"), "the data sets"),
        (write("../cache/poe/summeval.json"), "the data sets"),
    ],
)
def test_each_input_is_part_of_the_key(
    scratch: Path, edit: Callable[[Path], None], part: str
) -> None:
    before = state(scratch)
    edit(scratch)
    after = state(scratch)
    assert [name for name in before if before[name] != after[name]] == [part]


def test_touching_a_data_set_is_noticed(scratch: Path) -> None:
    write("../shared/data.csv")(scratch)
    before = state(scratch)
    os.utime(scratch / "../shared/data.csv", ns=(1, 1))
    assert state(scratch)["the data sets"] != before["the data sets"]


def test_a_poe_variable_is_part_of_the_key_and_others_are_not(scratch: Path) -> None:
    before = state(scratch)
    assert state(scratch, HOSTNAME="elsewhere") == before
    assert state(scratch, POE_OPTION="1") != before


@pytest.mark.parametrize("variable", ["POE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"])
def test_the_place_of_downloads_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("POE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    assert tmp_path in (cache_dir(), *cache_dir().parents)
    assert cache_dir() in data_folders(os.environ)


def test_a_relative_data_folder_is_made_absolute_for_the_pages(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scratch)
    given = {"POE_DATA_DIR": "../shared", "PATH": "x"}
    environment = kernel_environment(scratch, build=scratch / "_build", environment=given)
    assert environment["POE_DATA_DIR"] == str(scratch.parent / "shared")
    assert environment["PATH"] == "x"


@pytest.mark.parametrize("name", ["poe/__pycache__/x.pyc", "poe/.hidden"])
def test_by_products_are_not_part_of_the_key(scratch: Path, name: str) -> None:
    before = state(scratch)
    write(name)(scratch)
    assert state(scratch) == before


def test_a_package_that_changes_while_a_page_runs_is_not_trusted(scratch: Path) -> None:
    module = scratch / "poe/__init__.py"
    body = f"from pathlib import Path\nPath({str(module)!r}).write_text('NUMBER = 42\\n')"
    text = FIRST.replace("import poe\n", f"import poe\n{body}\n")
    (scratch / "notebooks/03-first.md").write_text(HEADER + text)
    execute(scratch)
    (again,) = execute(scratch)
    assert again.ran
    assert "<42>" in printed(again)


def test_the_result_of_a_removed_page_is_removed(scratch: Path) -> None:
    (run,) = execute(scratch)
    (scratch / "notebooks/03-first.md").rename(scratch / "notebooks/04-first.md")
    execute(scratch)
    assert not run.result.exists()


def test_a_lost_result_is_made_again(scratch: Path) -> None:
    (run,) = execute(scratch)
    run.result.unlink()
    (again,) = execute(scratch)
    assert again.ran


def test_the_working_directory_is_empty_and_not_the_repository(scratch: Path) -> None:
    cell = "import os\n\nprint(os.listdir(), os.path.basename(os.getcwd()))"
    text = f"# Where\n\n```{{code-cell}} python\n{cell}\n```\n"
    (scratch / "notebooks/03-first.md").write_text(HEADER + text)
    (run,) = execute(scratch)
    assert "[] 03-first" in printed(run)


def failing(scratch: Path, cell: str, *, header: str = HEADER) -> str:
    """Break the second cell of the page; return the complaint."""
    text = f"{FIRST}\n```{{code-cell}} python\n{cell}\n```\n"
    (scratch / "notebooks/03-first.md").write_text(header + text)
    with pytest.raises(BuildError) as caught:
        execute(scratch)
    return str(caught.value)


def test_a_failing_cell_names_chapter_cell_and_error(scratch: Path) -> None:
    message = failing(scratch, "item = 'essay-12'\nraise ValueError('no score for ' + item)")
    assert "03-first.md, line 20, code cell 2 of 2" in message
    assert "raise ValueError('no score for ' + item)" in message
    assert "ValueError: no score for essay-12" in message
    assert "\x1b" not in message


def test_a_cell_that_never_ends_is_stopped(scratch: Path) -> None:
    header = HEADER.replace("jupytext:", "timeout: 1\njupytext:", 1)
    message = failing(scratch, "import time\n\ntime.sleep(60)", header=header)
    assert "code cell 2 of 2" in message
    assert "longer than 1 s" in message


def test_a_dead_kernel_is_reported(scratch: Path) -> None:
    message = failing(scratch, "import os\n\nos._exit(1)")
    assert "03-first.md" in message
    assert "kernel died" in message


def test_a_warning_in_the_page_is_refused(scratch: Path) -> None:
    message = failing(scratch, "import warnings\n\nwarnings.warn('careful', stacklevel=1)")
    assert "code cell 2 of 2 writes to stderr" in message
    assert "UserWarning: careful" in message


def test_a_failed_page_is_not_served_later(scratch: Path) -> None:
    failing(scratch, "1 / 0")
    with pytest.raises(BuildError):
        execute(scratch)


def test_the_command_fails_with_the_chapter_on_stderr(
    scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = scratch / "notebooks/03-first.md"
    page.write_text(HEADER + FIRST.replace("poe.NUMBER", "poe.MISSING"))
    assert main(["build", "--root", str(scratch)]) == 1
    said = capsys.readouterr().err
    assert "03-first.md" in said
    assert "MISSING" in said
    assert not (scratch / "_build/html").exists()


def test_two_pages_of_one_name_are_refused(scratch: Path) -> None:
    (scratch / "book/03-first.md").write_text("# First\n")
    with pytest.raises(BuildError, match="same name"):
        find_pages(scratch)


def test_front_matter_that_does_not_close_is_refused(scratch: Path) -> None:
    (scratch / "book/notation.md").write_text("---\nkernelspec:\n\n# Notation\n")
    with pytest.raises(BuildError, match=r"notation\.md.*never closes"):
        find_pages(scratch)

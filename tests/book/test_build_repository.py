"""What must not be in the repository: paths of one machine, index hosts, built notebooks."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import poe

ROOT = Path(__file__).resolve().parents[2]

# Written in pieces, so that this file does not find itself.
FORBIDDEN = re.compile(
    "|".join(
        [
            r"(?<![\w.~-])/(?:work|root|home|Users|opt)" + r"/\w",
            "file:" + r"///\w",
            "files[.]python" + "hosted",
            "py" + "pi[.]org/simple",
            "extra-" + "index-url",
            "--" + "index-url",
            "[\U0001f000-\U0001faff]",
        ]
    )
)


def committed_files() -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def forbidden_lines(text: str) -> list[str]:
    """Return the lines that name a machine, an index or hold an emoji."""
    return [line.strip()[:120] for line in text.splitlines() if FORBIDDEN.search(line)]


@pytest.mark.needs("checkout")
def test_no_text_names_a_machine_or_an_index() -> None:
    found = {}
    for path in committed_files():
        content = path.read_bytes()
        if b"\0" not in content:
            lines = forbidden_lines(content.decode("utf-8"))
            if lines:
                found[path.relative_to(ROOT).as_posix()] = lines
    assert found == {}


def test_the_check_finds_these_and_passes_ordinary_paths() -> None:
    forbidden = [
        "cd /" + "work/main",
        "see /" + "home/ada/book",
        "Location 'file:/" + "//var/wheels'",
        "https://files.python" + "hosted.org/packages/x.whl",
        "pip install --" + "index-url x",
        "done " + chr(0x1F389),
    ]
    fine = ["poe/scores.py", "~/.cache/poe", "and/or", "a/homework/x"]
    assert forbidden_lines("\n".join([*fine, *forbidden])) == forbidden


@pytest.mark.needs("checkout")
def test_no_built_notebook_or_lock_file_is_committed() -> None:
    names = [path.name for path in committed_files()]
    assert [name for name in names if name.endswith(".ipynb") or name == "uv.lock"] == []


def test_constraints_pin_every_requirement_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    pinned = {pin.name.lower(): pin for pin in pins}
    assert all(str(pin.specifier).startswith("==") for pin in pins)
    for line in [*project["dependencies"], *(line for extra in extras for line in extra)]:
        wanted = Requirement(line)
        if wanted.name != project["name"]:
            version = str(pinned[wanted.name.lower()].specifier).removeprefix("==")
            assert wanted.specifier.contains(version), line


def test_the_workflows_run_what_exists() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= set(phony[1].split())
        for file in re.findall(r"bash (\S+)", text):
            assert (ROOT / file).is_file(), file
        for module in re.findall(r"python -m (book\.[\w.]+)", text):
            place = ROOT / module.replace(".", "/")
            assert place.is_dir() or place.with_suffix(".py").is_file(), module


def test_the_workflows_pin_every_action_to_a_commit() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", one) for one in used), path.name


def test_environment_file_installs_the_pinned_book() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [item["pip"] for item in environment["dependencies"] if isinstance(item, dict)]
    assert pip[:2] == ["-c constraints.txt", "-e .[book]"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["book"], *extras["chapters"], *pip[2:]]
    there = {Requirement(line).name for line in lines} | set(environment["dependencies"][:-1])
    assert {"jupyter-book", "jupyterlab", "numpy", "scipy", "pandas", "seaborn"} <= there
    assert {"pytorch-cpu", "transformers", "cvxpy-base"} <= there
    assert {"torch", "accelerate", "peft"}.isdisjoint(there), "pip's torch is not for processors"


def test_the_version_is_that_of_the_changelog_and_stated_once() -> None:
    headings = re.findall(
        r"^## ([\d.]+), (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    (newest, when), *older = headings
    released = when != "unreleased"
    if released:
        assert poe.__version__ == newest
    else:
        assert re.fullmatch(rf"{re.escape(newest)}\.dev\d+", poe.__version__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert older
    assert citation["version"] == poe.__version__
    # Without a day a citation has no year.
    assert str(citation.get("date-released", "unreleased")) == when
    named = [author["name"] for author in citation["authors"]]
    assert set(named) == {author["name"] for author in project["authors"]}


def test_the_front_page_lists_the_chapters_of_the_contents_under_their_own_titles() -> None:
    """A link without text takes the page's title, so no title is typed twice."""
    chapter = r"(\d\d-[\w-]+)"
    contents = re.findall(rf"file: {chapter}", (ROOT / "book/_toc.yml").read_text())
    front = (ROOT / "book/index.md").read_text()
    rows = {
        int(number): re.findall(rf"\[(.*?)\]\({chapter}\.md\)", pages)
        for number, pages in re.findall(r"^\| (\d+) \| (\[.*?\)) \|", front, re.MULTILINE)
    }
    assert list(rows) == list(range(1, 16)), "a row a chapter, which has all of its pages"
    assert [name for pages in rows.values() for _, name in pages] == contents
    assert all(number == int(name[:2]) for number, pages in rows.items() for _, name in pages)
    assert not any(title for pages in rows.values() for title, _ in pages)

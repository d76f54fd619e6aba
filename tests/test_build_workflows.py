"""The workflows for the day the repository is hosted: what they run exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def commands(path: Path) -> str:
    steps = [step for job in jobs(path).values() for step in job["steps"]]
    return "\n".join(step.get("run", "") for step in steps)


def test_there_is_one_for_each_purpose() -> None:
    assert {path.stem for path in WORKFLOWS} == {"tests", "book", "weekly"}


def test_every_target_and_file_they_run_exists() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    for said in map(commands, WORKFLOWS):
        assert set(re.findall(r"\bmake ([a-z-]+)", said)) <= set(phony[1].split())
        for file in re.findall(r"bash (\S+)", said):
            assert (ROOT / file).is_file(), file
        for module in re.findall(r"python -m (book\.[\w.]+)", said):
            assert (ROOT / module.replace(".", "/")).exists(), module


def test_no_job_runs_for_ever_or_with_more_rights_than_it_says() -> None:
    for path in WORKFLOWS:
        assert all("timeout-minutes" in job for job in jobs(path).values()), path
        assert "permissions" in yaml.safe_load(path.read_text(encoding="utf-8")), path


def test_the_suite_runs_on_three_systems_and_the_book_is_built_for_its_host() -> None:
    matrix = jobs(ROOT / ".github/workflows/tests.yml")["suite"]["strategy"]["matrix"]
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    job = jobs(ROOT / ".github/workflows/book.yml")["deploy"]
    assert job["env"]["JBC_REPOSITORY"] == "${{ github.repository }}"

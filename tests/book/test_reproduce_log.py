"""The reproduction log: dates, costs and what is out of date, as the book shows them."""

import json
import re
import subprocess
from io import StringIO

import pandas as pd
import pytest

from book.telling import log
from reproduction import results, run
from reproduction.run import Run
from reproduction.settings import Settings
from reproduction.targets import TARGETS

NAME = "figure1b"
RUN = Run("2026-01-02T03:04:05Z", 12.34, 20.0, 2, 2, "judging reproduce all")


@pytest.fixture
def about():
    """A description as `make` would write it today."""
    head = {"kind": ["simulated"], "labels": "real", "draws": 20, "seed": 0, "value": 1.0}
    return run.describe(pd.DataFrame(head), Settings(TARGETS[NAME]), RUN)


def test_a_run_of_today_is_up_to_date(about):
    row = log.rows({NAME: about}).iloc[0]
    assert row["state"] == log.UP_TO_DATE
    assert (row["reads"], row["date"], row["seconds"]) == ("topicalchat", RUN.date, 12.34)


def test_what_another_code_or_other_data_made_says_so(about, monkeypatch):
    monkeypatch.setattr(run, "digest", lambda: "another")
    assert log.state(NAME, about) == "code or data changed since"
    assert log.state("no-target", about) == f"made at commit {log.FIRST_TWINS}"


def test_the_page_names_the_commit_that_makes_the_diagnoses_again():
    page = (run.ROOT / "book" / "diagnoses.md").read_text(encoding="utf-8")
    assert f"git worktree add ../first-twins {log.FIRST_TWINS}\n" in page
    old = {name for name in results.index() if name.startswith("diagnosis-")}
    assert len(old) == 6
    assert not old & set(TARGETS)


@pytest.mark.needs("history")
def test_that_commit_holds_the_rows_that_are_stored():
    for name in sorted(name for name in results.index() if name.startswith("diagnosis-")):
        assert results.index()[name]["command"] == f"poe reproduce {name}"
        then = pd.read_csv(StringIO(git("show", f"{log.FIRST_TWINS}:data/results/{name}.csv")))
        now = results.stored(name)
        assert sorted(then["value"]) == pytest.approx(sorted(now["value"]), abs=6e-5), name


def git(*words):
    """What git says, None where it fails."""
    done = subprocess.run(["git", *words], cwd=run.ROOT, capture_output=True, text=True)
    return None if done.returncode else done.stdout


def test_a_result_of_other_answers_says_so(about, monkeypatch):
    name = "measured-qwen-absolute"
    made = {**about, "settings": {"answers": run.answers_read(TARGETS[name])}}
    assert log.state(name, made) == log.UP_TO_DATE
    assert log.state(name, {**made, "settings": {"answers": "0" * 16}}) != log.UP_TO_DATE
    both = {**about, "settings": {"answers": run.answers_read(TARGETS["shrinkage"])}}
    assert log.state("shrinkage", both) == log.UP_TO_DATE
    monkeypatch.setattr(run.answers, "digest", lambda model: model.name)
    assert log.state("shrinkage", both) != log.UP_TO_DATE
    assert log.state(NAME, about) == log.UP_TO_DATE, "it reads none"


def test_the_table_sorts_dates_by_time_and_says_what_is_not_recorded(about):
    later = {**about, "run": {**about["run"], "date": "2026-01-02T03:04:06Z"}}
    without = {key: value for key, value in about.items() if key != "run"}
    html = log.html(log.rows({NAME: about, "figure5d": later, "table1": without}))
    keys = re.findall(r'data-sort="(\d+)" title="[^"]*">2026-01-02<', html)
    assert keys == ["20260102030405", "20260102030406"]
    assert html.count("not recorded") == 2
    assert html.count("</tr>") == 4
    assert html.count("</td>") == html.count("<td")


def test_the_cost_of_everything_in_a_sentence():
    entry = {**RUN.__dict__, "seconds": 600.0, "made": 5}
    assert "No uninterrupted run" in log.whole_run({}, 5)
    said = log.whole_run(entry, 5)
    assert said.startswith("The last uninterrupted run of all 5 targets took")
    assert "10.0 minutes on two cores" in said
    assert "begun on 2026-01-02" in said
    assert log.whole_run(entry, 6).startswith("The last uninterrupted run of the then 5 targets")


def test_every_committed_result_has_a_row():
    found = results.descriptions()
    table = log.rows(found)
    assert table["name"].tolist() == sorted(found)
    assert "all" not in found, "the record of runs of all is no result"
    assert json.loads(json.dumps(found)) == found

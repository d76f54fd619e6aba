"""The reproduction log: dates, costs and what is out of date, as the book shows them."""

import json
import re

import pandas as pd
import pytest

from reproduction import files, log, making, sources
from reproduction.runs import Run
from reproduction.targets import TARGETS

NAME = "figure1b"
RUN = Run("2026-01-02T03:04:05Z", 12.34, 20.0, 2, 2, "poe reproduce all")


@pytest.fixture
def about(tmp_path):
    """A description as `make` would write it today."""
    target = TARGETS[NAME]
    table = pd.DataFrame({"kind": ["simulated"], "draws": 20, "seed": 0, "value": 1.0})
    path = files.write(
        NAME,
        table,
        command=target.command,
        code=sources.fingerprint(),
        made_from=making.made_from(target, "real"),
        labels="real",
        out=tmp_path,
        run=RUN,
    )
    assert path.parent == tmp_path
    return log.descriptions(tmp_path)[NAME]


def test_a_run_of_today_is_up_to_date(about):
    row = log.rows({NAME: about}).iloc[0]
    assert row["state"] == log.UP_TO_DATE
    assert (row["reads"], row["date"], row["seconds"]) == ("topicalchat", RUN.date, 12.34)


def test_what_has_changed_since_is_named(about, monkeypatch):
    older = {**about, "inputs": {**about["inputs"], "twins.toml": "another"}}
    assert log.state(NAME, older) == "changed since: twins.toml"
    monkeypatch.setattr(sources, "fingerprint", lambda *_, **__: "another")
    assert log.state(NAME, older) == "changed since: code, twins.toml"
    assert log.state("no-target", about) == "made once; its code is in the history"


def test_a_measured_result_is_compared_without_its_store(about):
    code = {"fingerprint": sources.fingerprint()}
    inputs = {**about["inputs"], "answers": "digest"}
    measured = {**about, "kind": "measured", "code": code, "inputs": inputs}
    assert log.state(NAME, measured) == log.UP_TO_DATE
    assert log.state(NAME, {**measured, "kind": "simulated"}) != log.UP_TO_DATE


def test_the_table_sorts_dates_by_time_and_says_what_is_not_recorded(about):
    later = {**about, "run": {**about["run"], "date": "2026-01-02T03:04:06Z"}}
    without = {key: value for key, value in about.items() if key != "run"}
    html = log.html(log.rows({NAME: about, "figure5d": later, "table1": without}))
    keys = re.findall(r'data-sort="(\d+)" title="[^"]*">2026-01-02<', html)
    assert keys == ["20260102030405", "20260102030406"]
    assert html.count("not recorded") == 2
    assert html.count("</tr>") == 4
    assert html.count("</td>") == html.count("<td")


def test_only_a_run_that_made_everything_is_called_whole():
    entry = {**RUN.__dict__, "seconds": 600.0, "made": 5, "up_to_date": 0, "settings": {}}
    assert "No uninterrupted run" in log.whole_run({"latest": entry}, 5)
    said = log.whole_run({"whole": entry}, 5)
    assert said.startswith("All 5 targets were made anew")
    assert "10.0 minutes on two cores, begun on 2026-01-02" in said
    assert log.whole_run({"whole": entry}, 6).startswith("The then 5 targets")


def test_every_committed_result_has_a_row():
    found = log.descriptions()
    table = log.rows(found)
    assert table["name"].tolist() == sorted(found)
    assert "all" not in found, "the record of runs of all is no result"
    assert json.loads(json.dumps(found)) == found

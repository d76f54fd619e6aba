"""The benchmarks run, agree and report; how fast anything is they say, the tests do not."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import goals, timing
from benchmarks.cases import CASES
from benchmarks.timing import Entry, race
from reproduction.run import cores

# The cases run once, in one worker.
pytestmark = [pytest.mark.xdist_group("benchmarks"), pytest.mark.long]
QUICK = sorted(set(CASES) - {"g"})


@pytest.fixture(scope="module", autouse=True)
def uncollected():
    """Rubbish is collected before every measurement: long work where other tests left much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing.gc, "collect", lambda: 0)
        yield


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The cases on problems of the smallest size, all in this process; "g" is slow at any size."""

    def here(command, **_):
        *_, name, n = command
        return SimpleNamespace(stdout=json.dumps(timing.alone(name, int(n))))

    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing.subprocess, "run", here)
        for case in QUICK:
            command.main(["--worker", case, "--mode", "tiny", "--output", str(folder)])
    assert command.main(["--report", "--output", str(folder)]) == 0
    return folder


def test_every_case_leaves_rows_with_a_time_or_a_reason_and_all_agree(tiny):
    results = [json.loads(path.read_text()) for path in sorted(tiny.glob("*.json"))]
    assert [result["case"] for result in results] == QUICK
    for result in results:
        assert result["mode"] == "tiny"
        assert result["rows"]
        for row in result["rows"]:
            assert row["case"] == result["case"]
            assert all(row[title] for title in ("problem", "method", "who"))
            assert (row["seconds"] is not None and row["seconds"] > 0) or row["note"]
            assert row["off"] is None or row["off"] < 1e-2
        who = {row["who"].split(",")[0] for row in result["rows"]}
        assert result["case"] not in "ace" or {"poe", "textbook"} <= who


def test_results_name_the_machine_but_no_place_and_goals_are_for_the_full_size(tiny):
    text = (tiny / "README.md").read_text()
    everything = text + "".join(path.read_text() for path in tiny.glob("*.json"))
    assert f'"cores": {cores()}' in everything
    assert not re.search(r"(^|[\s\"'(])/(home|root|tmp|usr|work|var)/", everything)
    assert "met |" not in text


def entry(who, value, **more):
    return Entry(who, "sum", lambda _: np.array(value), **more)


def test_a_race_counts_compares_and_goes_on_where_one_breaks():
    def broken(_):
        raise RuntimeError("no answer")

    entries = [
        entry("poe", [1.0, 2.0], problems=10),
        entry("other", [1.0, 2.5], within=1.0),
        Entry("broken", "sum", broken),
    ]
    first, second, third = race("p", entries, repeats=4, budget=5.0, least=0.0)
    assert (first.off, second.off) == (0.0, 0.5)
    assert first.repeats == second.repeats == 4
    assert first.low <= first.seconds <= first.high
    assert third.seconds is None
    assert third.note == "failed: RuntimeError: no answer"


def test_a_race_refuses_another_answer():
    with pytest.raises(AssertionError, match=r"other is 0\.5 away from poe"):
        race("p", [entry("poe", [1.0]), entry("other", [1.5])], repeats=1, budget=1.0)


def test_a_goal_about_all_sizes_shows_the_worst_of_them(tmp_path):
    rows = [
        {"goal": "sizes" if who == "poe" else None, "problem": size, "method": "m"}
        | {"who": who, "seconds": seconds}
        for size, who, seconds in (
            ("ten", "poe", 3.0),
            ("ten", "evalica", 4.0),
            ("thirty", "poe", 3.0),
            ("thirty", "evalica", 2.0),
            ("million", "poe", 9.0),  # beside nobody
        )
    ]
    (tmp_path / "j_sizes.json").write_text(json.dumps({"rows": rows}))
    assert "beside evalica | 1 times | 1.5 times | NOT MET | m, thirty |" in goals.write(tmp_path)

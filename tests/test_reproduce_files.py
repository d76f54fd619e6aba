"""Results on disk: what is recorded beside them, and when they are out of date."""

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

import poe
from poe.cli import main
from reproduction import (
    curves,
    files,
    making,
    runs,
    sources,
    sweep,
    targets,
)
from reproduction.making import Request
from reproduction.runs import Run, Stopwatch
from reproduction.targets import TARGETS


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(
        {
            "id": ["a", "b"],
            "value": [40.123456, 41.0],
            "kind": "simulated",
            "labels": "stand-in",
            "draws": 25,
            "seed": 3,
        }
    )


def write(table, out, **changes):
    options = {"code": "c0de", "made_from": {"twins.toml": "1"}, "labels": "stand-in"}
    return files.write("t", table, command="poe reproduce t", out=out, **{**options, **changes})


class TestDescription:
    def test_results_say_what_they_are(self, table, tmp_path):
        path = write(table, tmp_path)
        assert path == tmp_path / "stand-in" / "t.csv", "kept apart from real labels"
        np.testing.assert_allclose(pd.read_csv(path)["value"], table["value"], atol=5e-5)
        about = json.loads(path.with_suffix(".json").read_text())
        assert (about["kind"], about["labels"], about["draws"]) == ("simulated", "stand-in", 25)
        assert (about["command"], about["seed"]) == ("poe reproduce t", 3)
        assert about["inputs"] == {"twins.toml": "1"}
        assert about["code"] == {"version": poe.__version__, "fingerprint": "c0de"}

    def test_date_and_cost_stand_beside_the_numbers_and_not_among_them(
        self, table, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
        one = write(table, tmp_path / "one", run=Stopwatch("x", workers=2).run())
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        two = write(table, tmp_path / "two", run=Run("", 99.0, 50.0, 64, 1, "y"))
        assert one.read_bytes() == two.read_bytes()
        about = json.loads(one.with_suffix(".json").read_text())
        run = runs.of_result(about)
        assert (run.date, run.invoked, run.workers) == ("1970-01-02T00:00:00Z", "x", 2)
        assert run.cores >= 1

    def test_a_description_without_a_run_can_be_read(self, table, tmp_path):
        path = write(table, tmp_path)
        about = json.loads(path.with_suffix(".json").read_text())
        assert runs.of_result(about) is None
        del about["run"]  # as written before there were any
        assert runs.of_result(about) is None

    def test_the_stopwatch_reads_both_clocks_from_its_start(self, monkeypatch):
        clocks = {"perf_counter": 100.0, "process_time": 7.0}
        for name in clocks:
            monkeypatch.setattr(runs.time, name, lambda name=name: clocks[name])
        watch = Stopwatch("x")
        clocks.update(perf_counter=103.5, process_time=12.25)
        run = watch.run()
        assert (run.seconds, run.cpu_seconds) == (3.5, 5.25), "two threads at work"

    def test_committed_results_are_on_real_labels(self):
        assert set(files.read("table1")["labels"]) == {"real"}
        assert files.read("no-such-table") is None
        assert files.describe("table1")["labels"] == "real"
        assert files.describe("no-such-table") is None

    def test_private_labels_do_not_make_a_result_a_stand_in(self):
        both = pd.DataFrame({"dataset": ["HANNA", "CMCQRD"], "labels": ["real", "stand-in"]})
        assert files.labels_of(both, ("hanna", "cmcqrd")) == "real"
        assert files.labels_of(both[1:], ("hanna",)) == "stand-in"


class TestFreshness:
    def test_fresh_until_something_changes(self, table, tmp_path):
        now = {"labels": "stand-in", "code": "c0de", "made_from": {"twins.toml": "1"}}
        now |= {"settings": {"draws": 25}, "out": tmp_path}
        assert not files.is_fresh("t", **now)
        path = write(table, tmp_path, settings={"draws": 25})
        assert files.is_fresh("t", **now)
        for change in (
            {"settings": {"draws": 26}},
            {"code": "other"},
            {"made_from": {"twins.toml": "2"}},
            {"made_from": {"twins.toml": "1", "answers": "3"}},
            {"made_from": {}},
        ):
            assert not files.is_fresh("t", **{**now, **change})
        path.unlink()
        assert not files.is_fresh("t", **now)

    def test_what_changed_is_named(self):
        about = {"code": {"fingerprint": "1"}, "inputs": {"a": "1", "b": {"x": "2"}, "c": "3"}}
        assert files.outdated(about, "1", {"a": "1", "b": {"x": "2"}, "c": "3"}) == []
        assert files.outdated(about, "2", {"a": "1", "b": {"x": "9"}}) == ["code", "b", "c"]
        assert files.outdated({}, "1", {}) == ["code"]

    def test_inputs_are_those_a_target_has(self):
        simulated = making.made_from(TARGETS["table7"], "real")
        assert set(simulated) == {"topicalchat", "published/poe_v2", "twins.toml"}
        recorded = making.made_from(TARGETS["recorded-llmbar"], "real")
        assert set(recorded) == {"datasets.toml"}, "twins have no part in it"
        assert making.made_from(TARGETS["figure3"], "real")["cmcqrd"] == "stand-in"


class TestCode:
    @pytest.fixture
    def tree(self, tmp_path):
        for name in ("poe/scores.py", "reproduction/large.py"):
            (tmp_path / name).parent.mkdir()
            (tmp_path / name).write_text('"""About."""\n\nONE = "a # b"\n')
        return tmp_path

    def digest(self, tree):
        sources.fingerprint.cache_clear()
        return sources.fingerprint(tree)

    @pytest.mark.parametrize("name", ["poe/scores.py", "reproduction/large.py", "poe/new.py"])
    def test_any_change_of_code_ages_the_results(self, tree, name):
        before = self.digest(tree)
        (tree / name).write_text('"""About."""\n\nONE = "a # c"\n')
        assert self.digest(tree) != before

    def test_words_and_layout_do_not(self, tree):
        before = self.digest(tree)
        said = '"""Said otherwise."""\n# A remark.\n\nONE  =  "a # b"  # why\n'
        (tree / "poe/scores.py").write_text(said)
        assert self.digest(tree) == before


@pytest.fixture
def two(monkeypatch):
    """`all` is two small targets."""
    monkeypatch.setattr(sweep, "BLOCK", 2)
    monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
    monkeypatch.setattr(
        targets, "TARGETS", {name: TARGETS[name] for name in ("figure1b", "figure5d")}
    )


def everything(out, *more):
    options = ["--labels", "stand-in", "--draws", "2", "--quiet", "--out", str(out)]
    return main(["reproduce", "all", *options, *more])


class TestAll:
    def test_a_run_of_all_is_recorded_with_what_it_made(self, two, tmp_path, capsys):
        folder = tmp_path / "stand-in"
        assert everything(tmp_path) == 0
        out = capsys.readouterr().out
        assert "2 of 2 targets recomputed, 0 were up to date" in out
        assert "in all" in out
        first = runs.read_all(folder)
        assert (first["whole"]["made"], first["whole"]["up_to_date"]) == (2, 0)
        assert first["whole"] == first["latest"]
        assert first["whole"]["invoked"] == "poe reproduce all"
        parts = [
            runs.of_result(json.loads((folder / f"{name}.json").read_text()))
            for name in ("figure1b", "figure5d")
        ]
        assert sum(part.seconds for part in parts) <= first["whole"]["seconds"] + 0.02
        # Nothing to do: nothing is recorded, so nothing changes in a clone.
        assert everything(tmp_path) == 0
        assert runs.read_all(folder) == first
        # One made again: the latest run, and no longer a whole one.
        (folder / "figure5d.json").unlink()
        assert everything(tmp_path) == 0
        then = runs.read_all(folder)
        assert (then["latest"]["made"], then["latest"]["up_to_date"]) == (1, 1)
        assert then["whole"] == first["whole"]

    def test_an_interrupted_run_is_not_recorded(self, two, tmp_path, monkeypatch, capsys):
        made = making.make

        def stopped(target, request, **options):
            if target.name == "figure5d":
                raise KeyboardInterrupt
            return made(target, request, **options)

        monkeypatch.setattr(making, "make", stopped)
        assert everything(tmp_path) == 130
        assert runs.read_all(tmp_path / "stand-in") == {}
        assert "1 targets were recomputed and are kept" in capsys.readouterr().out

    def test_identical_seeds_give_identical_bytes(self, two, tmp_path):
        for out in ("one", "two"):
            assert everything(tmp_path / out) == 0
            sweep._block.cache_clear()
        for name in ("figure1b.csv", "figure5d.csv"):
            one, other = (tmp_path / out / "stand-in" / name for out in ("one", "two"))
            assert one.read_bytes() == other.read_bytes()
        assert everything(tmp_path / "three", "--seed", "1") == 0
        other = tmp_path / "three" / "stand-in" / "figure5d.csv"
        assert one.with_name("figure5d.csv").read_bytes() != other.read_bytes()


def test_a_target_made_through_a_request_is_fresh(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "BLOCK", 2)
    request = Request(draws=2, labels="stand-in", out=tmp_path)
    target = TARGETS["figure10"]
    assert not making.is_fresh(target, request)
    made = making.make(target, request)
    assert making.is_fresh(target, request)
    assert asdict(made.run)["invoked"] == "poe reproduce figure10"
    assert not making.is_fresh(target, Request(draws=3, labels="stand-in", out=tmp_path))

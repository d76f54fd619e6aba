"""Results on disk, what makes them out of date, and the command `poe reproduce`."""

import json

import pandas as pd
import pytest

from poe.cli import main
from reproduction import cli, run, small, targets
from reproduction.run import Run, Stopwatch
from reproduction.settings import Settings
from reproduction.targets import TARGETS


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(small, "BLOCK", 2)


class TestDigest:
    @pytest.fixture
    def tree(self, tmp_path):
        for name in ("poe/scores.py", "reproduction/large.py", "data/published/a.csv"):
            (tmp_path / name).parent.mkdir(parents=True)
            (tmp_path / name).write_text('"""About."""\n\nONE = "a # b"\n')
        return tmp_path

    def digest(self, tree):
        run.digest.cache_clear()
        return run.digest(tree)

    @pytest.mark.parametrize(
        "name",
        [
            "poe/scores.py",
            "poe/new.py",
            "reproduction/large.py",
            "data/published/a.csv",
            "data/labels/b.csv",
            "data/twins.toml",
        ],
    )
    def test_a_change_of_code_or_data_ages_the_results(self, tree, name):
        before = self.digest(tree)
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text('"""About."""\n\nONE = "a # c"\n')
        assert self.digest(tree) != before

    def test_words_layout_and_results_do_not(self, tree):
        before = self.digest(tree)
        said = '"""Said otherwise."""\n# A remark.\n\nONE  =  "a # b"  # why\n'
        (tree / "poe/scores.py").write_text(said)
        (tree / "data/results").mkdir()
        (tree / "data/results/table1.csv").write_text("1")
        assert self.digest(tree) == before


class TestResult:
    def test_it_says_what_it_is_and_is_fresh_until_something_changes(self, tmp_path, monkeypatch):
        settings = Settings(TARGETS["figure10"], draws=2)
        assert not run.is_fresh(settings, tmp_path)
        made = run.make(settings, out=tmp_path)
        about = json.loads(made.path.with_suffix(".json").read_text())
        assert (about["command"], about["seed"]) == ("poe reproduce figure10", 0)
        assert (about["kind"], about["draws"]) == ("simulated", 1)
        assert about["what"] == TARGETS["figure10"].what
        assert about["code"]["digest"] == run.digest()
        assert run.is_fresh(settings, tmp_path)
        assert not run.is_fresh(Settings(TARGETS["figure10"], draws=3), tmp_path)
        assert not run.is_fresh(Settings(TARGETS["figure10"], draws=2, seed=1), tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(run, "digest", lambda: "another")
            assert not run.is_fresh(settings, tmp_path)
        made.path.unlink()
        assert not run.is_fresh(settings, tmp_path)

    def test_date_and_cost_stand_beside_the_numbers_and_not_among_them(self, tmp_path, monkeypatch):
        settings = Settings(TARGETS["figure10"], draws=2)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
        one = run.make(settings, out=tmp_path / "one", invoked="poe reproduce all").path
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
        two = run.make(settings, out=tmp_path / "two").path
        assert one.read_bytes() == two.read_bytes()
        made = Run(**json.loads(one.with_suffix(".json").read_text())["run"])
        assert (made.date, made.invoked) == ("1970-01-02T00:00:00Z", "poe reproduce all")
        assert made.cores >= 1

    def test_the_stopwatch_reads_both_clocks_from_its_start(self, monkeypatch):
        clocks = {"perf_counter": 100.0, "process_time": 7.0}
        for name in clocks:
            monkeypatch.setattr(run.time, name, lambda name=name: clocks[name])
        watch = Stopwatch("x")
        clocks.update(perf_counter=103.5, process_time=12.25)
        assert (watch.run().seconds, watch.run().cpu_seconds) == (3.5, 5.25), "two threads at work"

    def test_committed_results(self):
        assert set(run.read("table1")["labels"]) == {"real"}
        assert run.describe("table1")["command"] == "poe reproduce table1"
        assert run.read("no-such-table") is None
        assert run.describe("no-such-table") is None

    def test_a_result_with_networks_or_of_full_size_serves_for_less(self, tmp_path, monkeypatch):
        settings = Settings(TARGETS["skill-table3"], draws=2, full=True)
        row = {"id": ["a"], "value": 1.0, "kind": "simulated", "labels": "drawn", "draws": 2}
        monkeypatch.setattr(run.panel, "has_torch", lambda: True)
        path, cost = tmp_path / "skill-table3.csv", Stopwatch("x").run()
        run.write(path, pd.DataFrame(row), settings, cost)
        monkeypatch.setattr(run.panel, "has_torch", lambda: False)
        less = Settings(TARGETS["skill-table3"], draws=2)
        assert run.is_fresh(less, tmp_path)
        run.write(path, pd.DataFrame(row), less, cost)
        assert run.is_fresh(less, tmp_path)
        assert not run.is_fresh(settings, tmp_path)
        monkeypatch.setattr(run.panel, "has_torch", lambda: True)
        assert not run.is_fresh(less, tmp_path), "a poor result gives way once torch is there"


@pytest.fixture
def two(monkeypatch):
    """`all` is two small targets."""
    for name in list(TARGETS):
        if name not in ("figure9", "figure10"):
            monkeypatch.delitem(targets.TARGETS, name)


def everything(out, *more):
    return main(["reproduce", "all", "--draws", "2", "--quiet", "--out", str(out), *more])


class TestAll:
    def test_a_run_of_all_is_recorded_with_what_it_made(self, two, tmp_path, capsys):
        assert everything(tmp_path) == 0
        assert "2 of 2 targets recomputed, 0 were up to date" in capsys.readouterr().out
        first = run.read_all(tmp_path)
        assert (first["whole"]["made"], first["whole"]["up_to_date"]) == (2, 0)
        assert first["whole"] == first["latest"]
        assert first["whole"]["invoked"] == "poe reproduce all"
        # Nothing to do: nothing is recorded, so nothing changes in a clone.
        assert everything(tmp_path) == 0
        assert run.read_all(tmp_path) == first
        # One made again: the latest run, and no longer a whole one.
        (tmp_path / "figure9.json").unlink()
        assert everything(tmp_path) == 0
        then = run.read_all(tmp_path)
        assert (then["latest"]["made"], then["latest"]["up_to_date"]) == (1, 1)
        assert then["whole"] == first["whole"]

    def test_an_interrupted_run_keeps_what_it_made_and_is_not_recorded(
        self, two, tmp_path, monkeypatch, capsys
    ):
        made = cli.make

        def stopped(settings, **options):
            if settings.target.name == "figure10":
                raise KeyboardInterrupt
            return made(settings, **options)

        monkeypatch.setattr(cli, "make", stopped)
        assert everything(tmp_path) == 130
        assert run.read_all(tmp_path) == {}
        assert "1 targets were recomputed and are kept" in capsys.readouterr().out
        assert (tmp_path / "figure9.csv").exists()

    def test_seeds_decide(self, two, tmp_path):
        assert everything(tmp_path / "one") == everything(tmp_path / "two", "--workers", "1") == 0
        assert everything(tmp_path / "three", "--seed", "1") == 0
        one, two_, three = (
            (tmp_path / out / "figure9.csv").read_bytes() for out in ("one", "two", "three")
        )
        assert one == two_ != three

    def test_check_finds_a_number_that_is_not_the_committed_one(
        self, two, tmp_path, monkeypatch, capsys
    ):
        assert everything(tmp_path / "results") == 0
        monkeypatch.setattr(run, "data_dir", lambda: tmp_path)
        capsys.readouterr()
        check = ["reproduce", "all", "--draws", "2", "--check", "--quiet"]
        assert main(check) == 0
        assert "2 of 2 results are the committed bytes" in capsys.readouterr().out
        path = tmp_path / "results" / "figure9.csv"
        lines = path.read_text().splitlines()
        lines[1] = lines[1].rsplit(",", 1)[0] + ",0.0000"
        path.write_text("\n".join(lines) + "\n")
        assert main(check) == 1
        assert "figure9: 1 of 841 lines are not as committed; values differ by 5" in (
            capsys.readouterr().out
        )


class TestCommand:
    def test_a_table_beside_the_published_one(self, tmp_path, capsys):
        arguments = ["reproduce", "comparative-table8", "--draws", "2", "--out", str(tmp_path)]
        assert main(arguments) == 0
        streams = capsys.readouterr()
        assert "with the published value in brackets, is simulated on" in streams.out
        assert "Verdicts:" in streams.out
        assert "comparative-table8:" in streams.err, "the bar goes to the error stream"

    def test_list_names_every_target_and_alias(self, capsys):
        assert main(["reproduce", "list"]) == 0
        out = capsys.readouterr().out
        assert all(name in out for name in TARGETS)
        assert f"{'v1-figure4':24} the same as figure1c" in out

    def test_mistakes_name_the_choices(self, capsys):
        for name, message in (
            ("tabel1", "did you mean table1"),
            ("comparative-table4", "comparative-table"),
            ("everything", "there are all, table1 and more"),
        ):
            assert main(["reproduce", name]) != 0
            assert message in capsys.readouterr().err

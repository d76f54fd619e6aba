"""Results on disk, what makes them out of date, and the command `judging reproduce`."""

import shutil
from unittest import mock

import pytest

from judging import machine
from judging.machine import data_dir
from judging.practice.cli import main
from reproduction import cli, imports, results, run, small, targets, verdicts
from reproduction.settings import Settings
from reproduction.targets import TARGETS


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(small, "BLOCK", 2)
    monkeypatch.setattr(small, "_KNOWN", {})


class TestDigest:
    @pytest.fixture
    def tree(self, tmp_path):
        for name, text in (
            ("data/published/a.csv", "a"),
            ("data/targets.toml", '[one]\nrun = "large.table"\n[two]\nrun = "studies.own.table"'),
            ("reproduction/large.py", "def table():\n    from poe import fit"),
            ("studies/own.py", "import judging\njudging.Store"),
            ("poe/__init__.py", '_NAMES = {"fitting": ["fit"]}'),
            ("poe/fitting.py", '"""About."""\n\nONE = "a # b"\n'),
            ("judging/__init__.py", '_NAMES = {"store": ["Store"], "practice.rank": ["rank"]}'),
            ("judging/store.py", ""),
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return tmp_path

    def digest(self, tree):
        run.digest.cache_clear()
        return run.digest(tree)

    def test_a_change_of_code_or_data_ages_the_results(self, tree):
        code = ["poe/fitting.py", "judging/store.py", "reproduction/large.py", "studies/own.py"]
        data = ["published/a.csv", "labels/b.csv"]
        for name in [*code, *(f"data/{each}" for each in (*data, "twins.toml"))]:
            before = self.digest(tree)
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            text = (tree / name).read_text() if name in code else ""
            (tree / name).write_text(f"{text}\nTWO = 2\n")
            assert self.digest(tree) != before, name

    def test_words_layout_and_results_do_not_nor_what_makes_none(self, tree):
        before = self.digest(tree)
        said = '"""Said otherwise."""\n# A remark.\n\nONE  =  "a # b"  # why\n'
        (tree / "poe/fitting.py").write_text(said)
        (tree / "poe/__init__.py").write_text('_NAMES = {"fitting": ["fit", "other"]}')
        for name in ("data/results/table1.csv", "judging/practice/rank.py", "studies/told.py"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text("ONE = 1")
        assert self.digest(tree) == before

    def test_of_the_house_it_has_what_makes_numbers_and_not_what_tells_of_them(self):
        makers = "".join(
            f"import {name.rpartition('.')[0]}\n" for name in imports.of_targets(run.ROOT)
        )
        need = set(imports.needed(run.ROOT, makers))
        assert {
            "poe.newton",
            "judging.judges.recorded",
            "reproduction.twins",
            "studies.tokens",
        } <= need
        assert not need & {"reproduction.power", "reproduction.verdicts", "reproduction.claims"}
        assert not any(name.startswith("judging.practice") for name in need)


class TestResult:
    def test_it_says_what_it_is_and_is_fresh_until_something_changes(self, tmp_path, monkeypatch):
        settings = Settings(TARGETS["figure10"], draws=2)
        assert not run.is_fresh(settings, tmp_path)
        made = run.make(settings, out=tmp_path)
        about = results.index(tmp_path)["figure10"]
        assert (about["command"], about["seed"]) == ("judging reproduce figure10", 0)
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

    def test_both_clocks_are_read_from_the_start(self, monkeypatch):
        clocks = {"wall": 100.0, "own": 7.0, "children": 2.0}
        monkeypatch.setattr(run.time, "perf_counter", lambda: clocks["wall"])
        times = lambda: (clocks["own"], 0.0, clocks["children"], 0.0, 1.0)  # noqa: E731
        monkeypatch.setattr(run.os, "times", times)
        work = lambda: clocks.update(wall=103.5, own=8.0, children=6.25)  # noqa: E731
        _, cost = run.timed(work, invoked="x", workers=2)
        assert (cost.seconds, cost.cpu_seconds) == (3.5, 5.25), "two processes at work"


@pytest.fixture
def two():
    """`all` is two small targets; afterwards all are there again, in their order."""
    kept = {name: TARGETS[name] for name in ("figure9", "figure10")}
    with mock.patch.dict(targets.TARGETS, kept, clear=True):
        yield


def everything(out, *more):
    return main(["reproduce", "all", "--draws", "2", "--out", str(out), *more])


class TestAll:
    def test_only_a_run_that_made_everything_is_recorded(self, two, tmp_path, capsys):
        assert everything(tmp_path) == 0
        assert "2 of 2 targets recomputed, 0 were up to date" in capsys.readouterr().out
        whole = results.index(tmp_path)[results.WHOLE]
        assert (whole["made"], whole["invoked"]) == (2, "judging reproduce all")
        (tmp_path / "figure9.csv").unlink()
        assert everything(tmp_path) == 0
        assert "1 of 2 targets recomputed, 1 were up to date" in capsys.readouterr().out
        assert results.index(tmp_path)[results.WHOLE] == whole

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
        assert results.WHOLE not in results.index(tmp_path)
        assert "what was recomputed is kept" in capsys.readouterr().out
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
        monkeypatch.setattr(results, "data_dir", lambda: tmp_path)
        capsys.readouterr()
        check = ["reproduce", "all", "--draws", "2", "--check"]
        assert main(check) == 0
        assert "2 of 2 results are as committed" in capsys.readouterr().out
        path = tmp_path / "results" / "figure9.csv"
        lines = path.read_text().splitlines()
        lines[1] = lines[1].rsplit(",", 1)[0] + ",0.0000"
        path.write_text("\n".join(lines) + "\n")
        assert main(check) == 1
        assert "figure9: 1 of 840 rows are not as committed; values differ by 5" in (
            capsys.readouterr().out
        )


class TestCommand:
    def test_a_table_beside_the_published_one(self, tmp_path, capsys):
        arguments = ["reproduce", "comparative-table8", "--draws", "2", "--out", str(tmp_path)]
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "with the published value in brackets, is simulated on" in out
        assert "Verdicts:" in out

    def test_without_a_clone_results_go_where_one_is(self, tmp_path, monkeypatch, capsys):
        """The notebooks' wheel has the data: what is installed is nobody's place for results."""
        packaged = tmp_path / "site" / "judging" / "_data"
        shutil.copytree(
            data_dir(), packaged, ignore=shutil.ignore_patterns("results", "measured", "labels")
        )
        (packaged / "results").mkdir()
        for module in (machine, results, cli, verdicts):
            monkeypatch.setattr(module, "data_dir", lambda: packaged)
        here = tmp_path / "here"
        here.mkdir()
        monkeypatch.chdir(here)
        before = {path: path.stat().st_mtime_ns for path in packaged.rglob("*")}
        assert main(["reproduce", "figure10", "--draws", "2"]) == 0
        assert f"results go into {here / 'results'}" in capsys.readouterr().out
        assert {path.name for path in (here / "results").iterdir()} == {
            "figure10.csv",
            "index.json",
        }
        for command in (["reproduce", "twins"], ["scorecard", "--accept"]):
            assert main(command) == 1
            assert "writes into data/ of a clone" in capsys.readouterr().err
        assert {path: path.stat().st_mtime_ns for path in packaged.rglob("*")} == before

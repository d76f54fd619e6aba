"""The several-judges paper by command: ids, kinds, seeds, progress, and life without PyTorch."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from poe.cli import main
from poe.panel import paper, reproduce
from reproduction import aggregation, aggregation_runs, making, published, verdicts
from reproduction.aggregation_runs import Size
from reproduction.making import Request, is_fresh, make
from reproduction.settings import Settings
from reproduction.targets import ALIASES, TARGETS, find, of_table

TINY = Size(most=400, subset=320, sizes=(100, 200), epochs=1, batch=200)
TWO = Settings(draws=2, source="stand-in", workers=1)
SKILL = [name for name in TARGETS if name.startswith("skill-")]
RECORDED = ["recorded-aggregation", "recorded-experts"]
NETWORKS = [
    "train-on-majority-voting", "Crowdlayer", "SkillAggregation-unregularised",
    "SkillAggregation", "SkillAggregation-X",
]  # fmt: skip


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(aggregation_runs, "QUICK", TINY)


@pytest.fixture
def no_torch(monkeypatch):
    monkeypatch.setattr(aggregation_runs, "has_torch", lambda: False)
    monkeypatch.setattr(aggregation, "has_torch", lambda: False)


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def tables():
    """Tables 1 to 5, tiny."""
    pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregation_runs, "QUICK", TINY)
        return {k: TARGETS[f"skill-table{k}"].run(TWO) for k in range(1, 6)}


class TestNames:
    def test_every_table_has_a_target_and_every_figure_a_name(self):
        for table in published.PAPERS["skill_aggregation"]:
            assert of_table("skill_aggregation", table).name == f"skill-{table}"
        figures = [f"skill-figure{k}" for k in (3, 4, 6, 7, 8, 9, 10, 11)]
        assert all(len(find(name)) == 1 for name in figures)
        assert set(RECORDED) <= set(TARGETS)

    def test_aliases_lead_to_targets(self):
        assert all(find(name) for name in ALIASES.values())

    def test_a_figure_that_was_not_attempted_is_refused_by_name(self):
        with pytest.raises(ValueError, match="no target 'skill-figure5'"):
            find("skill-figure5")


class TestTables:
    def test_rows_carry_the_printed_cells_and_fill_the_scorecard(self, tables):
        for k, table in tables.items():
            compared = verdicts.compare(f"table{k}", table, paper="skill_aggregation")
            known = set(paper.printed(k)["id"])
            assert table["id"].is_unique
            assert set(compared["id"]) == known
            left = compared[compared["verdict"] == "not attempted"]
            assert set(compared["verdict"]) <= {"inputs differ", "not attempted"}
            assert len(left) == (6 if k == 3 else 0)  # guessing, and the judges taken out

    def test_a_result_on_real_labels_would_be_judged(self, tables):
        """Negative control: it is the column `labels` that keeps the cells from a verdict."""
        claimed = tables[1].assign(labels="real")
        compared = verdicts.compare("table1", claimed, paper="skill_aggregation")
        assert "inputs differ" not in set(compared["verdict"])

    def test_every_row_with_a_network_has_its_spread(self, tables):
        for k in (1, 2, 4, 5):
            rows = tables[k][tables[k]["method"].isin(NETWORKS)]
            assert len(rows)
            assert (rows["draws"] == 2).all()
            assert rows["sd"].notna().all()
            np.testing.assert_allclose(rows["se"], rows["sd"] / np.sqrt(2))

    def test_five_seeds_unless_fewer_draws_are_asked_for(self):
        assert aggregation_runs.seeds(Settings(seed=3)) == (3, 4, 5, 6, 7)
        assert aggregation_runs.seeds(Settings(draws=2)) == (0, 1)

    def test_what_was_calibrated_is_no_prediction(self, tables):
        roles = tables[1].set_index("method")["role"]
        assert set(roles[roles == "calibrated"].index) == {
            "majority-voting", "train-on-majority-voting",
        }  # fmt: skip
        assert set(tables[3]["role"]) == {"calibrated"}
        assert set(tables[4]["role"]) == {"predicted"}

    def test_judges_that_the_paper_took_out_say_so_on_the_scorecard(self, tables):
        compared = verdicts.compare("table3", tables[3], paper="skill_aggregation")
        left = compared.loc[compared["verdict"] == "not attempted", "id"]
        card = verdicts.scorecard("skill_aggregation").set_index("id")
        assert (card.loc[left, "verdict"] == "not attempted").all()
        assert (card.loc[left, "reason"] != "").all()

    def test_equal_seeds_give_equal_digits_and_another_seed_others(self, torch, monkeypatch):
        monkeypatch.setattr(paper, "TASKS", ("TruthfulQA",))
        monkeypatch.setattr(reproduce.table1, "__kwdefaults__", {
            **reproduce.table1.__kwdefaults__, "tasks": ("TruthfulQA",), "pools": ("70B",),
        })  # fmt: skip
        once = aggregation.table1(TWO)
        torch.manual_seed(77)  # the global state must not matter
        torch.set_num_threads(2)
        pd.testing.assert_frame_equal(once, aggregation.table1(TWO))
        assert torch.get_num_threads() == 2  # put back
        other = aggregation.table1(Settings(draws=2, seed=5))
        assert (other["value"] != once["value"]).any()


class TestFigures:
    def test_slopes_have_a_row_for_every_judge(self, torch):
        table = TARGETS["skill-figure3"].run(TWO)
        small = [len(paper.single_accuracies(task, "7B-8B")) for task in paper.TASKS]
        assert len(table) == 2 * sum(small)
        assert table["correlation"].between(-100, 100).all()
        assert set(table["draws"]) == {2}

    def test_sizes_refer_to_the_majority_vote_of_the_same_samples(self, torch):
        table = TARGETS["skill-figure6"].run(TWO).set_index(["dataset", "k", "method"])
        assert (table.xs("majority-voting", level="method")["gain"] == 0).all()
        for (dataset, k, _), row in table.iterrows():
            base = table.loc[(dataset, k, "majority-voting"), "value"]
            assert row["gain"] == pytest.approx(row["value"] - base)

    def test_contexts_differ_in_what_they_show_of_the_common_error(self, torch):
        table = TARGETS["skill-context"].run(TWO)
        wide = table.pivot(index="k", columns="method", values="value")
        assert list(wide.index) == list(aggregation.VISIBLE)
        assert wide["majority-voting"].nunique() == 1  # the judges are the same
        assert table["sd"].notna().all()

    def test_calls_count_both_orders_twice(self):
        table = TARGETS["skill-calls"].run(TWO)
        orders = np.where(table["selection"] == "both orders", 2, 1)
        assert (table["judges"] * orders == table["k"]).all()

    def test_a_stand_in_for_llmbar_is_simulated_and_says_so(self):
        for name in RECORDED:
            table = TARGETS[name].run(TWO)
            assert set(table["kind"]) == {"simulated"}
            assert set(table["labels"]) == {"stand-in"}


class TestWithoutTorch:
    def test_every_target_runs_and_leaves_the_networks_out(self, no_torch):
        for name in (*SKILL, *RECORDED):
            table = TARGETS[name].run(TWO)
            assert len(table)
            assert not set(table["method"]) & set(NETWORKS)
            left_out = name not in ("skill-table3", "skill-calls", "recorded-experts")
            assert ("judge]" in table.attrs.get("without", "")) == left_out

    def test_nothing_imports_torch(self):
        """In a process of its own, where importing torch is an error."""
        code = (
            "import sys\n"
            "class Refuse:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if name.split('.')[0] == 'torch':\n"
            "            raise ModuleNotFoundError(name)\n"
            "sys.meta_path.insert(0, Refuse())\n"
            "from reproduction import aggregation, aggregation_runs as runs\n"
            "from reproduction.settings import Settings\n"
            "runs.QUICK = runs.Size(400, 320, (100,), 1, 200)\n"
            "table = aggregation.table1(Settings(draws=2))\n"
            "sys.exit(len(table) != 18 or not table.attrs['without'])"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def test_a_complete_result_is_kept_and_counts_as_up_to_date(
        self, torch, tmp_path, monkeypatch, capsys
    ):
        target = TARGETS["skill-table2"]
        request = Request(draws=2, labels="stand-in", out=tmp_path)
        whole = make(target, request)
        assert whole.written
        before = whole.path.read_bytes()
        monkeypatch.setattr(aggregation_runs, "has_torch", lambda: False)
        monkeypatch.setattr(aggregation, "has_torch", lambda: False)
        assert json.loads(whole.path.with_suffix(".json").read_text())["versions"]["torch"]
        assert is_fresh(target, request)
        again = make(target, request)
        assert not again.written
        assert len(again.table) < len(whole.table)
        assert whole.path.read_bytes() == before
        command = ["reproduce", target.name, "--draws", "2", "--labels", "stand-in"]
        assert main([*command, "--out", str(tmp_path), "--quiet"]) == 0
        out = capsys.readouterr().out
        assert "PyTorch is not installed" in out
        assert "fuller result is kept" in out
        assert whole.path.read_bytes() == before

    def test_a_poor_result_gives_way_once_torch_is_there(self, torch, tmp_path, monkeypatch):
        target, request = TARGETS["skill-table2"], Request(draws=2, labels="stand-in", out=tmp_path)
        with monkeypatch.context() as patch:
            patch.setattr(aggregation_runs, "has_torch", lambda: False)
            patch.setattr(aggregation, "has_torch", lambda: False)
            poor = make(target, request)
            assert poor.written
            assert is_fresh(target, request)
        assert not is_fresh(target, request)
        assert len(pd.read_csv(make(target, request).path)) > len(poor.table)


def test_an_interruption_leaves_the_result_as_it_was(no_torch, tmp_path):
    target, request = TARGETS["skill-table2"], Request(draws=2, labels="stand-in", out=tmp_path)
    made = make(target, request)
    before = made.path.read_bytes(), made.path.with_suffix(".json").read_bytes()

    def stop(done, total):
        assert done < total
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(target, request, progress=stop)
    assert (made.path.read_bytes(), made.path.with_suffix(".json").read_bytes()) == before


class TestSize:
    def test_full_is_another_result_and_serves_for_the_small_one(self, no_torch, tmp_path):
        target = TARGETS["skill-table3"]
        small = Request(draws=2, labels="stand-in", out=tmp_path)
        full = Request(draws=2, labels="stand-in", out=tmp_path, full=True)
        made = make(target, small)
        assert is_fresh(target, small)
        assert not is_fresh(target, full)
        assert made.table["samples"].max() == TINY.most
        larger = make(target, full)
        assert larger.table["samples"].max() == max(paper.SAMPLES.values())
        assert json.loads(larger.path.with_suffix(".json").read_text())["settings"]["full"]
        assert is_fresh(target, full)
        assert is_fresh(target, small)

    def test_other_targets_do_not_know_of_sizes(self):
        assert TARGETS["table1"].variants(True) == ({},)

    def test_progress_counts_to_the_end(self, no_torch):
        for name in ("skill-table1", "skill-table4", "skill-figure6", "recorded-aggregation"):
            seen = []
            options = {"draws": 2, "source": "stand-in", "progress": lambda *at: seen.append(at)}  # noqa: B023
            TARGETS[name].run(Settings(**options))
            assert seen[-1][0] == seen[-1][1] == len(seen)

    def test_no_judge_of_a_store_has_a_place(self):
        assert not any(making.takes_store(TARGETS[name]) for name in SKILL)

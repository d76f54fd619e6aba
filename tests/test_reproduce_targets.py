"""Every target by name, each run small; recorded and measured judges in the same targets."""

import numpy as np
import pandas as pd
import pytest

import poe
from poe.cli import main
from poe.errors import JudgeError
from poe.judges import SimulatedJudge
from poe.judges.questions import Answer
from poe.judges.store import Store
from reproduction import (
    comparative,
    comparative_rankings,
    curves,
    figures,
    large,
    published,
    recorded,
    sweep,
)
from reproduction.measured import judges_of
from reproduction.settings import Settings
from reproduction.targets import ALIASES, TARGETS, find, of_table
from reproduction.twins import Twin

SMALL = Settings(draws=2, source="stand-in", workers=1)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(sweep, "BLOCK", 2)


class TestNames:
    def test_every_table_of_the_issue_has_a_target(self):
        v2 = {f"table{k}" for k in (1, 2, 3, 5, 6, 7, 8, 9)}
        assert v2 <= set(TARGETS)
        for paper, tables in (
            ("poe_v2", v2),
            ("poe_v1", {f"table{k}" for k in range(1, 6)}),
            ("comparative_assessment", {f"table{k}" for k in (1, 3, 5, 6, 7, 8, 9, 10, 11)}),
        ):
            assert all(of_table(paper, table) is not None for table in tables), paper

    def test_every_figure_of_the_second_version_has_its_panels(self):
        names = ["figure2", "figure3", "figure4", "figure9", "figure10"]
        names += [f"figure1{x}" for x in "abc"] + [f"figure5{x}" for x in "abcdef"]
        names += [f"figure6{x}" for x in "abcdef"] + ["figure7a", "figure7b"]
        names += [f"figure8{x}" for x in "abc"]
        assert set(names) <= set(TARGETS)
        assert len(find("figure6")) == 6
        assert all(find(f"v1-figure{k}") for k in range(1, 6))
        assert [find(alias) for alias in ALIASES], "every other name leads somewhere"

    def test_unknown(self):
        with pytest.raises(ValueError, match="no target 'table4'"):
            find("table4")
        assert find("all") == list(TARGETS.values())


class TestCurves:
    def test_points_of_a_panel(self, monkeypatch):
        monkeypatch.setitem(curves.CALLS, "topicalchat", (12, 18, 30))
        table = figures.small(SMALL, "figure1b")
        assert set(table["k"]) == {12, 18, 30}
        assert set(table["method"]) == set(sweep.METHODS)
        assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()
        end = table[table["k"] == 30].set_index("method")["value"]
        assert end["PoE-BT"] == pytest.approx(end["avg-prob"]), "equal on the full set"

    def test_a_curve_shares_its_draws_with_the_table(self, monkeypatch):
        """Same twin, same K, same seed: figure and table must report the same number."""
        monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
        panel = {"x": ("FlanT5-3B", "topicalchat", "coherency")}
        curve = curves.run(SMALL, panel).set_index("method")["value"]
        judge = SMALL.judge("topicalchat", "FlanT5-3B", "coherency")
        setting = sweep.Setting("topicalchat", "stand-in", 18)
        found = sweep.run_blocks([(judge, setting)], draws=2)[judge, setting]
        mean = 100 * np.nanmean(found["PoE-BT", "spearman"])
        assert curve["PoE-BT"] == pytest.approx(mean)

    def test_laplace_selection_starts_from_a_chain_and_repeats_nothing(self, monkeypatch):
        monkeypatch.setitem(curves.CALLS, "topicalchat", (10, 12, 14))
        judge = SMALL.judge("topicalchat", "FlanT5-3B", "coherency")
        found = curves.laplace(judge, "topicalchat", SMALL, draws=2)
        assert sorted(found) == [10, 12, 14]
        assert found[14].shape == (2, 60)

    def test_a_bias_is_seen_and_taken_out(self, monkeypatch):
        """Figure 7a's judge: mean p far above a half, and large gains from the plug-in bias."""
        monkeypatch.setattr(figures, "TIMES_DESIGNS", (5,))
        monkeypatch.setitem(figures.DEBIASED, "figure7a", ("Llama2-7B", "hanna", "coherence"))
        table = figures.debiased(SMALL, "figure7a").set_index(["method", "bias"])["value"]
        assert table["PoE-BT", "plug-in"] > table["PoE-BT", "none"] + 5

    def test_joint_distribution_adds_up(self):
        nine, ten = figures.figure9(SMALL), figures.figure10(SMALL)
        for table in (nine, ten):
            counts = table.groupby("panel")["count"].sum().tolist()
            assert counts == [100 * 240, 60 * 30]


class TestEarlierPaper:
    def test_decisions_by_hand(self):
        """A judge without noise whose bias is larger than any difference always says first."""
        judge = Twin("y", "topicalchat", "coherency", 0.9999, 1.0, 0.0, 12.0, ())
        found = comparative.decided(judge, "stand-in", 0, 1)
        assert found.first == pytest.approx([1.0])
        assert found.accuracy["standard"] == pytest.approx([0.5])
        assert found.accuracy["debiased"][0] > 0.95

    def test_tables_have_the_ids_of_the_paper(self):
        for table in ("table3", "table10"):
            ours = comparative.run(SMALL, table)
            known = published.load(table, paper="comparative_assessment")
            assert set(ours["id"]) <= set(known["id"])
            assert len(ours) >= 16

    def test_all_sixteen_agree_with_themselves(self):
        ours = comparative_rankings.table8(SMALL).set_index("id")["value"]
        assert ours[[name for name in ours.index if "n16/final" in name]].tolist() == [100.0]


class TestRecorded:
    def test_stand_ins_are_called_simulated(self):
        for target in ("recorded-llmbar", "recorded-pandalm"):
            assert set(TARGETS[target].run(SMALL)["kind"]) == {"simulated"}

    def test_llmbar_by_hand(self, monkeypatch):
        """Item a: right in both orders; item b: first both times, so right once."""
        table = pd.DataFrame({
            "set": "S", "item": ["a", "a", "b", "b"], "judge": "j", "strategy": "Vanilla",
            "first": [1, 2, 1, 2], "p": [1.0, 0.0, 1.0, 1.0], "label": [1, 1, 1, 1],
        })  # fmt: skip
        table.attrs["kind"] = "recorded"
        monkeypatch.setattr(recorded.recorded, "llmbar", lambda source: table)
        found = recorded.llmbar(SMALL).set_index("method")["value"]
        assert found["first-position"] == 75.0
        assert found["accuracy"] == 75.0
        assert found["both-orders"] == 75.0
        assert found["consistent"] == 50.0

    def test_a_scorer_is_perfectly_transitive(self, monkeypatch):
        """Every method must find the order of its own scores once all is linked well."""
        monkeypatch.setattr(recorded, "TIMES", (40,))
        judge = recorded.recorded.hanna("ChatGPT", 1, "coherence", source="stand-in")
        rng = np.random.default_rng(0)
        what = large.Large("hanna", "stand-in", 40 * 1056)
        c = large.compared(len(judge.present), what, recorded._of(judge, judge.present), rng)
        found = large.scores(c, what)["PoE-BT"]
        r = poe.metrics.spearman(found, judge.scores[judge.present])
        assert r > 0.99


class Parrot:
    """A reader whose answers are a simulated judge's, by the names of the texts."""

    def __init__(self, data):
        self.specification = {"kind": "test", "model": "parrot"}
        gold = data.scores["coherency"]
        made = SimulatedJudge(gold, sharpness=2.0, noise=0.4, bias=0.3, seed=1).matrix()
        self.p = {}
        for c in range(data.n_contexts):
            texts = data.candidates(c)
            for i, j in np.ndindex(made.shape[1:]):
                if i != j:
                    self.p[texts[i].text, texts[j].text] = made[c, i, j]
        self.matrix = made

    def answer(self, questions):
        for k, question in enumerate(questions):
            p = self.p[question.first.text, question.second.text]
            yield k, Answer(log_p=(float(np.log(p)), float(np.log1p(-p))))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    from poe.judges import planning, prompts

    data = poe.datasets.load("topicalchat", source="stand-in")
    path = tmp_path_factory.mktemp("store") / "judgements.sqlite"
    prompt = prompts.load("topicalchat", "coherency")
    questions = planning.questions_of(data, prompt, contexts=range(60))
    parrot = Parrot(data)
    with Store(path) as made:
        made.ask(parrot, questions)
    return path, parrot


class TestMeasured:
    def test_answers_come_back_as_they_were_given(self, store):
        path, parrot = store
        judges = judges_of(path, system="Mistral-7B", source="stand-in")
        assert set(judges) == {("topicalchat", "Mistral-7B", "coherency")}
        (judge,) = judges.values()
        off = ~np.eye(6, dtype=bool)
        np.testing.assert_allclose(judge.p[:, off], parrot.matrix[:, off], atol=1e-9)

    def test_a_target_runs_on_it_and_says_measured(self, store, monkeypatch):
        monkeypatch.setitem(curves.CALLS, "topicalchat", (18, 30))
        path, _ = store
        judges = judges_of(path, system="Mistral-7B", source="stand-in")
        settings = Settings(draws=4, source="stand-in", judges=judges)
        panel = {"x": ("Mistral-7B", "topicalchat", "coherency")}
        table = curves.run(settings, panel)
        assert set(table["kind"]) == {"measured"}
        end = table[table["k"] == 30]
        assert end["se"].max() == pytest.approx(0.0), "a recorded judge does not vary"
        other = curves.run(settings, {"x": ("FlanT5-3B", "topicalchat", "coherency")})
        assert set(other["kind"]) == {"simulated"}

    def test_two_stores_of_one_name_are_two_judges(self, store):
        path, _ = store
        one, two = (judges_of(path, system="X", source="stand-in") for _ in range(2))
        assert next(iter(one.values())) != next(iter(two.values()))

    def test_unknown_models_and_unfinished_stores_are_refused(self, store, tmp_path):
        path, _ = store
        with pytest.raises(JudgeError, match="--as, one of Llama2-7B"):
            judges_of(path, source="stand-in")
        with pytest.raises(JudgeError, match="no judgement store"):
            judges_of(tmp_path / "absent.sqlite", source="stand-in")
        with Store(tmp_path / "empty.sqlite"):
            pass
        with pytest.raises(JudgeError, match="in full, both orders"):
            judges_of(tmp_path / "empty.sqlite", system="X", source="stand-in")


class TestCommand:
    def test_all_panels_of_a_figure_are_made_once_and_then_left_alone(
        self, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
        monkeypatch.setitem(curves.CALLS, "summeval", (48,))
        asked = ["reproduce", "figure5", "--labels", "stand-in", "--draws", "2", "--quiet"]
        assert main([*asked, "--out", str(tmp_path)]) == 0
        assert "6 of 6 targets recomputed" in capsys.readouterr().out
        (tmp_path / "stand-in" / "figure5d.json").unlink()  # as if interrupted there
        assert main([*asked, "--out", str(tmp_path)]) == 0
        assert "1 of 6 targets recomputed" in capsys.readouterr().out

    def test_list(self, capsys):
        assert main(["reproduce", "list"]) == 0
        out = capsys.readouterr().out
        assert all(name in out for name in TARGETS)

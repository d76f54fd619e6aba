"""Measured judges: a store in the place of twins, through `poe reproduce TARGET --store`.

The judge that fills the stores is a script that knows the invented human scores of the stand-ins;
it is declared as such in the store, and nothing it says is evidence about language models.
"""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import poe
from poe.cli import main
from poe.errors import JudgeError
from poe.judges import planning, prompts
from poe.judges.demo import DemoJudge
from poe.judges.questions import Answer
from poe.judges.store import Store
from poe.metrics import spearman
from reproduction import curves, figures, large, making, runs, sweep
from reproduction.large import Large
from reproduction.making import Request
from reproduction.measured import judges_of, stored
from reproduction.settings import Settings
from reproduction.targets import TARGETS

N = 1056  # stories
NEEDED = 50 * N  # pairs in both orders: the largest set any target draws


class Script:
    """Answers by the human scores of the texts, with a noise that the question decides."""

    def __init__(self, data, attribute, *, noise=0.7, bias=0.4):
        self.specification = {"kind": "test", "model": "a script that knows the scores"}
        self.score = {}
        for c in range(data.n_contexts):
            for n, text in enumerate(data.candidates(c)):
                self.score[text.text] = data.scores[attribute][c, n]
        self.noise, self.bias = noise, bias

    def p(self, first, second):
        """P(first is better)."""
        gap = self.score[first.text] - self.score[second.text]
        error = np.sin(1e4 * float(int((first.digest + second.digest)[:12], 16) % 9973))
        return float(expit(2.0 * gap + self.bias + self.noise * error))

    def answer(self, questions):
        for k, question in enumerate(questions):
            p = self.p(question.first, question.second)
            yield k, Answer(log_p=(float(np.log(p)), float(np.log1p(-p))))


def fill(path, name, attribute, judge=None, source="stand-in", **options):
    """A store with a script's answers about an attribute; returns the script."""
    data = poe.datasets.load(name, source=source)
    script = Script(data, attribute) if judge is None else judge
    prompt = prompts.load(name, attribute)
    questions = planning.questions_of(data, prompt, contexts=range(data.n_contexts), **options)
    with Store(path) as store:
        store.ask(script, questions)
    return script


@pytest.fixture(scope="module")
def hanna(tmp_path_factory):
    """All stories, and just as many pairs as are needed, in both orders."""
    path = tmp_path_factory.mktemp("hanna") / "judgements.sqlite"
    return path, fill(path, "hanna", "coherence", calls=2 * NEEDED, both_orders=True)


@pytest.fixture(scope="module")
def stories(hanna):
    """What the store of stories offers."""
    return stored(hanna[0], system="Mistral-7B", source="stand-in")


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory):
    """All of one attribute of TopicalChat."""
    path = tmp_path_factory.mktemp("dialogues") / "judgements.sqlite"
    return path, fill(path, "topicalchat", "coherency")


def reproduce(name, path, out, *more, system="Mistral-7B"):
    options = ["--labels", "stand-in", "--draws", "10", "--quiet", "--out", str(out)]
    return main(["reproduce", name, "--store", str(path), "--as", system, *options, *more])


class TestHanna:
    def test_its_pairs_are_the_pool(self, hanna, stories):
        _, script = hanna
        (judge,) = stories.judges.values()
        assert judge.pool.shape == (NEEDED, 2)
        assert (judge.pool[:, 0] < judge.pool[:, 1]).all()
        texts = poe.datasets.load("hanna", source="stand-in").candidates()
        for i, j in judge.pool[::9999].tolist():
            for a, b in ((i, j), (j, i)):
                expected = script.p(texts[a], texts[b])
                assert judge.ask(np.array([[a, b]]))[0] == pytest.approx(expected, abs=1e-9)

    def test_draws_stay_in_the_pool_and_link_everything(self, stories):
        (judge,) = stories.judges.values()
        known = set(map(tuple, judge.pool.tolist()))
        for rule, count in (("symmetric", 2 * N), ("no-repeat", 2 * N), ("no-repeat", 5 * N)):
            what = Large("hanna", "stand-in", count, rule)
            rng = np.random.default_rng(0)
            c = large.compared(N, what, judge.ask, rng, judge.pool)
            assert len(c) == (count // 2 if rule == "symmetric" else count)
            assert set(map(tuple, np.sort(c.pairs, axis=1).tolist())) <= known
            c.require_connected()
            assert not np.isnan(c.p).any()
        # Negative control: the pool of all items has pairs that were never asked.
        with pytest.raises(poe.ComparisonError, match="not in"):
            large.compared(N, Large("hanna", "stand-in", 9 * N), judge.ask, rng)

    def test_table_3_is_measured_where_the_store_has_answers(self, hanna, tmp_path, capsys):
        path, _ = hanna
        assert reproduce("table3", path, tmp_path) == 0
        out = capsys.readouterr().out
        table = pd.read_csv(tmp_path / "stand-in" / "table3.csv")
        is_ours = (table["system"] == "Mistral-7B") & (table["attribute"] == "COH")
        assert set(table.loc[is_ours, "kind"]) == {"measured"}
        assert set(table.loc[~is_ours, "kind"]) == {"simulated"}
        assert is_ours.sum() == 8
        assert "rows by kind: 88 simulated, 8 measured" in out
        assert "hanna surprise: no answers; poe judge hanna surprise --calls 200000" in out
        about = json.loads((tmp_path / "stand-in" / "table3.json").read_text())
        assert about["kind"] == "measured/simulated"
        assert set(about["inputs"]) >= {"hanna", "answers", "twins.toml"}
        assert str(path) not in json.dumps(about), "a place on one machine means nothing elsewhere"

    def test_the_numbers_are_those_of_the_answers(self, hanna, stories):
        """All answers at once, scored without the reproduction: 50N pairs are the whole pool."""
        _, script = hanna
        data = poe.datasets.load("hanna", source="stand-in")
        texts, gold = data.candidates(), data.scores["coherence"][0]
        (judge,) = stories.judges.values()
        rows = [
            (i, j, (script.p(texts[i], texts[j]) + 1.0 - script.p(texts[j], texts[i])) / 2.0)
            for i, j in judge.pool.tolist()
        ]
        i, j, p = map(np.array, zip(*rows, strict=True))
        whole = poe.Comparisons.from_pairs(np.column_stack([i, j]), p, items=N)
        expected = spearman(poe.average_probability(whole), gold)
        found = large.draw(judge, Large("hanna", "stand-in", 100 * N), 0)["avg-prob"]
        assert found == pytest.approx(float(expected), abs=1e-9)

    @pytest.mark.parametrize("name", ["figure4", "figure7b"])
    def test_figures_of_both_designs(self, hanna, tmp_path, name, monkeypatch):
        monkeypatch.setattr(figures, "TIMES_DESIGNS", (2, 50))
        path, _ = hanna
        assert reproduce(name, path, tmp_path) == 0
        table = pd.read_csv(tmp_path / "stand-in" / f"{name}.csv")
        assert set(table["kind"]) == {"measured"}
        few, many = (table[table["k"] == times * N].set_index(["method", "selection", "bias"])
                     for times in (2, 50))  # fmt: skip
        assert (many["value"] > few["value"]).all()

    def test_too_small_a_store_is_refused_with_the_way_out(self, tmp_path, capsys):
        path = tmp_path / "small.sqlite"
        fill(path, "hanna", "coherence", calls=2000, both_orders=True)
        with Store(path) as store:
            assert len(store) > 1900
        assert reproduce("figure2", path, tmp_path) == 1
        said = capsys.readouterr().err
        assert "nothing of figure2 can be measured" in said
        assert f"1,000 pairs answered in both orders, {NEEDED:,} needed" in said
        assert "poe judge hanna coherence --calls 200000 --orders both" in said
        assert not (tmp_path / "stand-in" / "figure2.csv").exists()

    def test_one_order_of_every_pair_is_not_both(self, tmp_path):
        path = tmp_path / "one-order.sqlite"
        fill(path, "hanna", "coherence", calls=3000)
        found = stored(path, system="Mistral-7B", source="stand-in")
        assert not found.judges
        assert found.partly["hanna", "Mistral-7B", "coherence"].startswith("0 pairs answered in")

    def test_sorting_needs_every_pair_and_stays_with_the_twin(self, stories):
        settings = Settings(source="stand-in", judges=stories.judges)
        key = ("hanna", "Mistral-7B", "coherence")
        assert settings.kind(settings.judge(*key)) == "measured"
        assert settings.kind(settings.judge(*key, every=True)) == "simulated"
        (line,) = stories.lacking(settings.asked)
        assert "sorting (PairS) may ask about any; poe judge hanna coherence --full" in line


class TestContexts:
    def test_a_table_of_the_earlier_paper(self, dialogues, tmp_path, capsys):
        path, script = dialogues
        assert reproduce("comparative-table3", path, tmp_path, system="Llama2-7B") == 0
        table = pd.read_csv(tmp_path / "stand-in" / "comparative-table3.csv")
        ours = table[table["kind"] == "measured"]
        assert set(ours["system"]) == {"Llama2-7B"}
        assert 0 < len(ours) < len(table)
        data = poe.datasets.load("topicalchat", source="stand-in")
        each = []
        for c in range(data.n_contexts):
            gold, texts = data.scores["coherency"][c], data.candidates(c)
            won = [
                sum(np.sign(script.p(a, b) - 0.5) - np.sign(script.p(b, a) - 0.5)
                    for b in texts if b is not a)
                for a in texts
            ]  # fmt: skip
            if np.ptp(gold) > 0:
                each.append(float(np.nan_to_num(spearman(np.array(won), gold))))
        assert ours["value"].tolist() == pytest.approx([100.0 * np.mean(each)], abs=1e-3)

    def test_a_figure_of_the_earlier_paper(self, tmp_path):
        path = tmp_path / "store.sqlite"
        fill(path, "topicalchat", "naturalness")
        assert reproduce("comparative-figure5d", path, tmp_path, system="Llama2-7B") == 0
        table = pd.read_csv(tmp_path / "stand-in" / "comparative-figure5d.csv")
        assert set(table["kind"]) == {"measured"}

    def test_a_mean_over_attributes_is_measured_in_full_or_not_at_all(
        self, dialogues, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr(sweep, "BLOCK", 2)
        path, _ = dialogues
        assert reproduce("table7", path, tmp_path) == 1
        said = capsys.readouterr().err
        for missing in ("continuity", "engagingness", "naturalness"):
            assert f"topicalchat {missing}: no answers; poe judge topicalchat {missing}" in said
        assert "coherency:" not in said
        store = stored(path, system="Mistral-7B", source="stand-in")
        settings = Settings(judges=store.judges)
        names = ("coherency", "continuity")
        mixed = settings.group("topicalchat", "Mistral-7B", names)
        assert {settings.kind(judge) for judge in mixed} == {"simulated"}
        alone = settings.group("topicalchat", "Mistral-7B", names[:1])
        assert [settings.kind(judge) for judge in alone] == ["measured"]

    def test_part_of_a_dataset_is_counted(self, tmp_path):
        path = tmp_path / "part.sqlite"
        fill(path, "topicalchat", "coherency", calls=10)
        found = stored(path, system="Llama2-7B", source="stand-in")
        said = found.partly["topicalchat", "Llama2-7B", "coherency"]
        assert said == "600 of 1,800 comparisons answered"
        with pytest.raises(JudgeError, match="600 of 1,800"):
            judges_of(path, system="Llama2-7B", source="stand-in")

    def test_the_result_is_fresh_until_the_answers_change(self, dialogues, tmp_path, monkeypatch):
        monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
        path, _ = dialogues
        target = TARGETS["figure5d"]  # FlanT5-11B, coherency
        store = stored(path, system="FlanT5-11B", source="stand-in")
        request = Request(draws=2, labels="stand-in", out=tmp_path, store=store)
        made = making.make(target, request)
        assert set(made.table["kind"]) == {"measured"}
        assert made.lacking == []
        assert making.is_fresh(target, request)
        assert not making.is_fresh(target, Request(draws=2, labels="stand-in", out=tmp_path))
        other = tmp_path / "other.sqlite"
        data = poe.datasets.load("topicalchat", source="stand-in")
        fill(other, "topicalchat", "coherency", Script(data, "coherency", bias=0.5))
        changed = stored(other, system="FlanT5-11B", source="stand-in")
        again = Request(draws=2, labels="stand-in", out=tmp_path, store=changed)
        assert not making.is_fresh(target, again)


class TestRefusals:
    def test_targets_without_a_judge_of_theirs_say_so(self, dialogues, tmp_path, capsys):
        path, _ = dialogues
        assert reproduce("recorded-llmbar", path, tmp_path) == 1
        assert "no judge of yours can take part" in capsys.readouterr().err
        assert main(["reproduce", "list"]) == 0
        lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
        assert "simulated*" in lines["table3"]
        assert "recorded*" not in lines["recorded-llmbar"]

    def test_another_judge_than_the_figure_shows(self, dialogues, tmp_path, capsys, monkeypatch):
        monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
        path, _ = dialogues
        assert reproduce("figure5d", path, tmp_path) == 1
        said = capsys.readouterr().err
        assert "figure5d shows FlanT5-11B on topicalchat" in said
        assert "stands for Mistral-7B" in said

    def test_of_several_targets_those_that_can_be_are_made(
        self, dialogues, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr(sweep, "BLOCK", 2)
        monkeypatch.setitem(curves.CALLS, "topicalchat", (18,))
        monkeypatch.setitem(curves.CALLS, "summeval", (48,))
        path, _ = dialogues
        assert reproduce("figure5", path, tmp_path, system="FlanT5-11B") == 0
        out = capsys.readouterr().out
        assert "1 of 6 targets recomputed" in out
        assert "not made, 5: figure5a, figure5b, figure5c, figure5e, figure5f" in out
        assert runs.read_all(tmp_path / "stand-in") == {}

    def test_a_formula_is_no_measurement(self, tmp_path, capsys):
        path = tmp_path / "demo.sqlite"
        fill(path, "topicalchat", "coherency", DemoJudge())
        assert reproduce("figure5d", path, tmp_path, system="FlanT5-11B") == 1
        assert "no language model" in capsys.readouterr().err

    def test_answers_about_other_texts_are_not_compared_with_these_scores(
        self, dialogues, monkeypatch
    ):
        path, _ = dialogues
        data = poe.datasets.load("topicalchat", source="stand-in")
        texts = tuple(tuple(f"{text}!" for text in row) for row in data.texts)
        content = dataclasses.replace(data.read(), texts=texts)
        other = dataclasses.replace(data, read=lambda: content)
        monkeypatch.setattr("reproduction.measured.labels", lambda *_: other)
        with pytest.raises(JudgeError, match="about other texts than the stand-in ones"):
            stored(path, system="Mistral-7B", source="stand-in")

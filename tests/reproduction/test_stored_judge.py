"""Measured judges: a store in the place of twins, through `judging reproduce TARGET --store`.

The judge that fills the stores is a script that knows people's scores and is asked about
placeholder texts; it is declared as such in the store, and nothing it says is evidence about
language models.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import judging
import poe
from judging import prompts
from judging.datasets.questions import questions_of
from judging.errors import JudgeError
from judging.judges.demo import DemoJudge
from judging.metrics import spearman
from judging.practice.cli import main
from judging.question import Answer, Reader
from judging.store import Store
from reproduction import large, published, results, run, small, stored_judge
from reproduction.settings import Calls, Settings
from reproduction.stored_judge import stored
from reproduction.targets import TARGETS
from tests.helpers import placeholders, short

N = 1056  # stories
NEEDED = 5 * N  # pairs in both orders; here the largest set that a target draws is a small one

pytestmark = pytest.mark.xdist_group("stored")  # one store for all of them


@pytest.fixture(scope="module", autouse=True)
def texts():
    """Every dataset has texts, invented ones, and every block of draws is a small one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging.datasets.Dataset, "_content", property(placeholders))
        patch.setattr(small, "BLOCK", 2)
        patch.setattr(small, "_KNOWN", {})
        patch.setattr(stored_judge, "MOST_TIMES", 10)
        yield


class Script(Reader):
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


def fill(path, name, attribute, judge=None, **options):
    """A store with a script's answers about an attribute; returns the script."""
    data = judging.datasets.load(name)
    script = Script(data, attribute) if judge is None else judge
    prompt = prompts.load(name, attribute)
    questions = questions_of(data, prompt, contexts=range(data.n_contexts), **options)
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
    return stored(hanna[0], system="Mistral-7B")


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory):
    """All of one attribute of TopicalChat."""
    path = tmp_path_factory.mktemp("dialogues") / "judgements.sqlite"
    return path, fill(path, "topicalchat", "coherency")


@pytest.fixture(scope="module")
def talk(dialogues):
    """What the store of dialogues offers, whichever judge it stands for."""
    found = stored(dialogues[0], system="X")

    def of(system):
        judges = {(data, system, name): j for (data, _, name), j in found.judges.items()}
        return replace(found, system=system, judges=judges)

    return of


def reproduce(name, path, out, *, system="Mistral-7B"):
    options = ["--draws", "4", "--out", str(out)]
    return main(["reproduce", name, "--store", str(path), "--as", system, *options])


class TestHanna:
    def test_its_pairs_are_the_pool_and_draws_stay_in_it(self, hanna, stories):
        _, script = hanna
        (judge,) = stories.judges.values()
        assert judge.pool.shape == (NEEDED, 2)
        texts = judging.datasets.load("hanna").candidates()
        ask = judge.asker(None, None)
        for i, j in judge.pool[::999].tolist():
            for a, b in ((i, j), (j, i)):
                expected = script.p(texts[a], texts[b])
                assert ask(np.array([[a, b]]))[0] == pytest.approx(expected, abs=1e-9)
        known = set(map(tuple, judge.pool.tolist()))
        rng = np.random.default_rng(0)
        for rule, count in (("symmetric", 2 * N), ("no-repeat", 2 * N), ("no-repeat", 4 * N)):
            c = large.compared(N, count, ask, rng, rule=rule, known=judge.pool)
            assert len(c) == (count // 2 if rule == "symmetric" else count)
            assert set(map(tuple, np.sort(c.pairs, axis=1).tolist())) <= known
            c.require_connected()
            assert not np.isnan(c.p).any()
        # Negative control: the pool of all items has pairs that were never asked.
        with pytest.raises(poe.ComparisonError, match="not in"):
            large.compared(N, 9 * N, ask, rng)

    def test_table_3_is_measured_where_the_store_has_answers(
        self, hanna, tmp_path, capsys, monkeypatch
    ):
        path, _ = hanna
        some = published.load("table3").query("dataset == 'HANNA' and system == 'Mistral-7B'")
        monkeypatch.setattr(large, "load", lambda _: some)
        assert reproduce("table3", path, tmp_path) == 0
        out = capsys.readouterr().out
        table = results.read("table3", tmp_path)
        is_ours = (table["system"] == "Mistral-7B") & (table["attribute"] == "COH")
        assert set(table.loc[is_ours, "kind"]) == {"measured"}
        assert set(table.loc[~is_ours, "kind"]) == {"simulated"}
        assert is_ours.sum() == 8
        assert "rows by kind: 16 simulated, 8 measured" in out
        assert "hanna surprise: no answers; judging ask hanna surprise --calls 200000" in out
        about = results.index(tmp_path)["table3"]
        assert about["kind"] == "measured/simulated"
        assert about["settings"]["measured"] == "Mistral-7B"
        assert str(path) not in json.dumps(about), "a place on one machine means nothing elsewhere"

    def test_the_numbers_are_those_of_the_answers(self, hanna, stories):
        """All answers at once, scored without the reproduction: 5N pairs are the whole pool."""
        _, script = hanna
        data = judging.datasets.load("hanna")
        texts, gold = data.candidates(), data.scores["coherence"][0]
        (judge,) = stories.judges.values()
        rows = [
            (i, j, (script.p(texts[i], texts[j]) + 1.0 - script.p(texts[j], texts[i])) / 2.0)
            for i, j in judge.pool.tolist()
        ]
        i, j, p = map(np.array, zip(*rows, strict=True))
        whole = poe.Comparisons.from_pairs(np.column_stack([i, j]), p, items=N)
        expected = 100.0 * float(spearman(poe.average_probability(whole), gold))
        job = (judge, Calls("hanna", 10 * N), "none", ("avg-prob",))
        assert large.draw(job, 0)["avg-prob"] == pytest.approx(expected, abs=1e-7)

    def test_too_small_a_store_is_refused_with_the_way_out(self, tmp_path, capsys, monkeypatch):
        """Both orders of a pair count, and one order of every pair is not both."""
        monkeypatch.setitem(TARGETS, "figure2", short("figure2", times=(2,)))
        path = tmp_path / "small.sqlite"
        fill(path, "hanna", "coherence", calls=1100)
        assert not stored(path, system="Mistral-7B").judges
        assert reproduce("figure2", path, tmp_path) == 1
        said = capsys.readouterr().err
        assert "nothing was written" in said
        assert f"0 pairs answered in both orders, {NEEDED:,} needed" in said
        assert "judging ask hanna coherence --calls 200000 --orders both" in said
        assert not results.index(tmp_path)


class TestContexts:
    def test_the_result_is_fresh_until_the_answers_change(self, talk, tmp_path):
        target = short("figure5d", counts=(18, 30))  # FlanT5-11B, coherency
        settings = Settings(target, draws=2, store=talk("FlanT5-11B"))
        made = run.make(settings, out=tmp_path)
        assert set(made.table["kind"]) == {"measured"}
        assert made.lacking == []
        end = made.table[made.table["k"] == 30]
        assert end["se"].max() == pytest.approx(0.0), "a recorded judge does not vary"
        assert run.is_fresh(settings, tmp_path)
        assert not run.is_fresh(Settings(target, draws=2), tmp_path)
        store = talk("FlanT5-11B")
        ((key, judge),) = store.judges.items()
        changed = replace(store, judges={key: replace(judge, p=judge.p / 2)})
        assert not run.is_fresh(replace(settings, store=changed), tmp_path)


class TestRefusals:
    def test_another_judge_than_the_figure_shows(self, talk, tmp_path):
        target = short("figure5d", counts=(18,))
        settings = Settings(target, draws=2, store=talk("Mistral-7B"))
        with pytest.raises(JudgeError, match="figure5d shows FlanT5-11B on topicalchat"):
            run.make(settings, out=tmp_path)
        assert not list(tmp_path.iterdir())

    def test_stores_that_nothing_can_be_measured_with(self, dialogues, tmp_path):
        demo = tmp_path / "demo.sqlite"
        fill(demo, "topicalchat", "coherency", DemoJudge())
        with pytest.raises(JudgeError, match="no language model"):
            stored(demo, system="FlanT5-11B")
        with pytest.raises(JudgeError, match="--as, one of Llama2-7B"):
            stored(dialogues[0])
        with pytest.raises(JudgeError, match="no judgement store"):
            stored(tmp_path / "absent.sqlite")

    def test_answers_about_other_texts_are_not_compared_with_these_scores(
        self, dialogues, monkeypatch
    ):
        data = judging.datasets.load("topicalchat")
        texts = tuple(tuple(f"{text}!" for text in row) for row in data.texts)
        other = replace(placeholders(data), texts=texts)
        monkeypatch.setattr(judging.datasets.Dataset, "_content", property(lambda _: other))
        with pytest.raises(JudgeError, match="about other texts than those that people scored"):
            stored(dialogues[0], system="Mistral-7B")

"""The tables in data/labels: derived again to the last bit, and held against known counts."""

import gzip
import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from judging import datasets
from judging.datasets import dataset
from judging.judges import recorded
from tests.needs import ORIGINALS

ROOT = Path(__file__).resolve().parents[2]
LABELS = ROOT / "data" / "labels"

# SHA-256 of the arrays that the first edition's loaders read from the original files (float64, the
# attributes one after the other).
ARRAYS = {
    "summeval": "f1064df74ab930cd",
    "topicalchat": "aef9e432d7da3492",
    "hanna": "947ff6439d3c587c",
    "cmcqrd": "0c97fb45db0a914c",
}
HANNA_JUDGES = "456ed66eddc02550"
TABLES = {"llmbar": "f31627e5327d0be8", "pandalm": "ddfb444b9040cfbf"}


def digest(values):
    data = values if isinstance(values, bytes) else np.ascontiguousarray(values, "<f8").tobytes()
    return hashlib.sha256(data).hexdigest()[:16]


def test_scores_are_the_first_editions_to_the_last_bit():
    for name, known in ARRAYS.items():
        assert digest(np.stack(list(datasets.load(name).scores.values()))) == known, name
    judges = [
        recorded.as_published(judge, prompt, attribute)
        for judge in recorded.HANNA_JUDGES
        for prompt in recorded.HANNA_PROMPTS
        for attribute in datasets.load("hanna").attributes
    ]
    assert digest(np.array(judges)) == HANNA_JUDGES
    for name, known in TABLES.items():
        table = getattr(recorded, name)()
        assert digest(table.to_csv(index=False, lineterminator="\n").encode()) == known


def test_the_tables_are_small_and_hold_no_text():
    paths = [*LABELS.glob("*.csv"), *LABELS.glob("*.gz")]
    assert len(paths) == 6
    assert sum(path.stat().st_size for path in paths) < 400_000
    for path in paths:
        rows = dataset.table(path.name)
        assert not rows.isin([None]).any().any()
        assert max(rows[column].str.len().max() for column in rows) < 60
        assert not rows.map(lambda cell: len(cell.split()) > 6).any().any()


def test_a_changed_table_is_refused(tmp_path, monkeypatch):
    (tmp_path / "labels").mkdir()
    for path in LABELS.glob("*.csv"):
        (tmp_path / "labels" / path.name).write_bytes(path.read_bytes().replace(b"11", b"12", 1))
    monkeypatch.setattr(dataset, "data_dir", lambda: tmp_path)
    with pytest.raises(datasets.InvalidDataError, match="is not the table that was published"):
        dataset.table.__wrapped__("hanna.csv")


# What the verdicts mean.


def test_llmbars_p_is_for_the_output_shown_first():
    """Winners name the original output; in the swapped order output 2 was shown first."""
    wide = dataset.table("llmbar.csv.gz").set_index(["set", "item"])
    table = recorded.llmbar()
    assert len(table) == 2 * 30963
    assert table["p"].isna().sum() == 273
    assert len(table[["judge", "strategy"]].drop_duplicates()) == 65
    seen = set()
    for row in table.sample(300, random_state=0).itertuples():
        said = wide.loc[(row.set, str(row.item)), f"{row.judge}/{row.strategy}"]
        winner = said[row.first - 1]
        expected = {"-": "nan", str(row.first): "1.0"}.get(winner, "0.0")
        assert str(row.p) == expected
        assert row.label == int(wide.loc[(row.set, str(row.item)), "label"])
        assert row.independent == (not row.strategy.startswith(("Swap", "Rating")))
        seen.add(said)
    assert seen >= {"11", "12", "21", "22"}
    vanilla = table[(table["set"] == "Natural") & (table["strategy"] == "Vanilla")]
    right = vanilla["p"].eq(1) == vanilla["first"].eq(vanilla["label"])
    accuracy = right.groupby(vanilla["judge"]).mean().round(3)
    assert (accuracy["GPT-4"], accuracy["Falcon"]) == (0.955, 0.740)
    rate = vanilla.groupby("judge")["p"].mean().round(3)
    assert (rate["GPT-4"], rate["Falcon"]) == (0.505, 0.740)


def test_hannas_judges_agree_with_people_as_their_authors_publish():
    people = datasets.load("hanna").scores
    order = ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")
    for (judge, prompt), published in {
        ("Beluga-13B", 2): (0.444, 0.488, 0.438, 0.332, 0.463, 0.521),
        ("Mistral-7B", 1): (0.416, 0.429, 0.374, 0.269, 0.398, 0.424),
        ("Llama-13B", 2): (0.301, 0.367, 0.222, 0.212, 0.260, 0.360),
        ("ChatGPT", 1): (0.365, 0.447, 0.374, 0.236, 0.409, 0.465),
    }.items():
        for attribute, expected in zip(order, published, strict=True):
            scores = recorded.as_published(judge, prompt, attribute)
            use = scores >= 1
            assert round(spearmanr(scores[use], people[attribute][0, use])[0], 3) == expected


# Against the original files.


@pytest.fixture
def derive(monkeypatch):
    monkeypatch.setenv("POE_DATA_DIR", str(ORIGINALS))
    spec = importlib.util.spec_from_file_location("derive", LABELS / "derive.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.needs("originals")
def test_the_tables_are_derived_again_byte_by_byte(derive):
    for name in derive.TABLES:
        stored = (LABELS / name).read_bytes()
        assert derive.table(name) == (gzip.decompress(stored) if name.endswith("gz") else stored)
        if name.endswith("gz"):
            assert stored[4:8] == bytes(4), "no time stamp"


@pytest.mark.needs("originals")
def test_texts_come_with_their_scores(monkeypatch):
    monkeypatch.setenv("POE_DATA_DIR", str(ORIGINALS))
    summeval = datasets.load("summeval", texts=True)
    assert len(set(summeval.contexts)) == 100
    groups = [sum(row.count(text) > 1 for text in set(row)) for row in summeval.texts]
    assert (sum(map(bool, groups)), sum(groups)) == (38, 45), "articles with equal summaries"
    rows = datasets.table("summeval.csv")
    texts = {(r.context, r.candidate): r.same_as for r in rows.itertuples()}
    assert sum(key[1] != first for key, first in texts.items()) == 54
    assert rows["words"].tolist() == [str(len(t.split())) for row in summeval.texts for t in row]
    talk = datasets.load("topicalchat")
    assert talk.has_texts
    assert talk.context(59).id == "dialogue-59"
    pairs = recorded.llmbar_pairs()
    assert len(pairs) == 885
    assert pairs["output_1"].str.len().min() > 0

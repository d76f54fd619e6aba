"""Recorded judges: what the columns mean, on hand-made files and on the published ones."""

import csv
import dataclasses
import gzip
import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import poe
from poe import datasets
from poe.datasets import verdicts
from poe.errors import JudgeError
from poe.judges import recorded

REPOSITORY = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("POE_DATA_DIR") or REPOSITORY.parent / "shared" / "data")


@pytest.fixture(autouse=True)
def own_places(monkeypatch, tmp_path):
    """No test sees the user's folder or cache, or reaches the network."""
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def real(monkeypatch):
    def need(folder):
        if not (REAL / folder).is_dir():
            pytest.skip(f"no real data: {REAL} lacks {folder}")
        monkeypatch.setenv("POE_DATA_DIR", str(REAL))

    return need


def scored(scores, **options):
    names = tuple(f"t{k}" for k in range(len(scores)))
    return recorded.RecordedScores("judge", 1, "coherence", names, np.array(scores), **options)


# Absolute scores as a judge of pairs.


def test_probabilities_by_hand():
    judge = scored([2.0, 3.0, 3.0])
    p = judge.answer([[0, 1], [1, 0], [1, 2]])
    np.testing.assert_allclose(p, [1 / (1 + np.e), np.e / (1 + np.e), 0.5])
    softer = scored([2.0, 3.0, 3.0], scale=2.0).answer([[1, 0]])
    np.testing.assert_allclose(softer, [1 / (1 + np.exp(-0.5))])


def test_hard_decisions_with_ties_at_one_half():
    judge = scored([2.0, 3.0, 3.0], hard=True)
    np.testing.assert_array_equal(judge.answer([[0, 1], [1, 0], [1, 2]]), [0, 1, 0.5])


def test_they_have_no_position_bias_and_are_transitive():
    """What the docstring says of them, and what a judge of pairs need not have."""
    rng = np.random.default_rng(0)
    judge = scored(rng.normal(3, 1, 8))
    pairs = poe.select(8, 56, seed=0)
    logit = np.log(judge.answer(pairs) / (1 - judge.answer(pairs)))
    np.testing.assert_allclose(judge.answer(pairs) + judge.answer(pairs[:, ::-1]), 1)
    matrix = np.zeros((8, 8))
    matrix[pairs[:, 0], pairs[:, 1]] = logit
    triangle = matrix[:, :, None] + matrix[None, :, :] - matrix[:, None, :]
    off = ~(
        np.eye(8, dtype=bool)[:, :, None]
        | np.eye(8, dtype=bool)[None]
        | np.eye(8, dtype=bool)[:, None]
    )
    assert abs(triangle[off]).max() < 1e-9
    fit = poe.fit(judge.compare(pairs), expert="bradley-terry")
    # All follow from N numbers, so the product of experts gives those numbers back.
    np.testing.assert_allclose(fit.scores, judge.scores - judge.scores.mean(), atol=1e-5)


def test_a_missing_score_is_named():
    judge = scored([2.0, np.nan, 3.0])
    assert judge.missing.tolist() == [False, True, False]
    assert judge.present.tolist() == [0, 2]
    with pytest.raises(JudgeError, match=r"no coherence score of 't1'; draw pairs among"):
        judge.answer([[0, 2], [1, 0]])
    assert judge.answer(judge.present[poe.select(2, 2, seed=0)]).shape == (2,)


def test_a_recorded_judge_drives_a_ranking():
    judge = recorded.hanna("ChatGPT", 1, "complexity", source="stand-in")
    use = judge.present[:30]
    found = poe.rank(lambda pairs: judge.answer(use[np.asarray(pairs)]), len(use), budget=600)
    assert spearmanr(found.fit.scores, judge.scores[use])[0] > 0.98


def test_answers_keep_the_leading_axes():
    judge = scored([1.0, 2.0, 4.0])
    pairs = np.array([[[0, 1], [1, 2]], [[2, 0], [1, 0]]])
    answers = judge.answer(pairs)
    assert answers.shape == (2, 2)
    np.testing.assert_array_equal(answers[1], judge.answer(pairs[1]))


def hanna_file(values):
    """The scores file with one judge's coherence, prompt 1: (11, 96)."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(["Model", "Llama-13B CH 1"])
    writer.writerows((f"writer {w}", json.dumps(list(row))) for w, row in enumerate(values))
    return stream.getvalue().encode()


def test_scores_below_the_scale_are_missing(monkeypatch, tmp_path):
    values = np.full((11, 96), 3.0)
    values[0, 5], values[1, 0], values[10, 95] = -1.0, 1 / 3, 5.0
    entry = datasets.info("hanna")
    file = dataclasses.replace(entry.main, sha256="", size=0)
    entry = dataclasses.replace(entry, files=(file, *entry.files[1:]))
    monkeypatch.setattr(datasets, "info", lambda name: entry)
    (tmp_path / "hanna").mkdir()
    (tmp_path / "hanna" / "hanna_metric_scores_llm.csv").write_bytes(hanna_file(values))
    judge = recorded.hanna("Llama-13B", 1, "coherence")
    assert np.flatnonzero(judge.missing).tolist() == [5, 96]
    assert judge.scores[1055] == 5.0
    assert judge.items[96] == "story-0096"
    assert judge.kind == "recorded"
    with pytest.raises(ValueError, match="read-only"):
        judge.scores[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("GPT-4",), "no recorded judge 'GPT-4'; there are 'Beluga-13B'"),
        (("ChatGPT", 5), "no recorded prompt 5; there are 1, 2, 3, 4"),
        (("ChatGPT", 1, "fluency"), "no recorded attribute 'fluency'; there are 'coherence'"),
    ],
)
def test_a_judge_that_is_not_there(arguments, message):
    with pytest.raises(JudgeError, match=message):
        recorded.hanna(*arguments, source="stand-in")
    with pytest.raises(JudgeError, match="must be positive, not 0"):
        recorded.hanna("ChatGPT", scale=0.0, source="stand-in")


def test_without_the_files_one_learns_how_to_get_them():
    with pytest.raises(datasets.DataNotFoundError, match=r"put https://.*fetch\('hanna'\)"):
        recorded.hanna("ChatGPT")
    with pytest.raises(
        datasets.DataNotFoundError, match=r"clone https://github\.com/princeton-nlp"
    ):
        recorded.llmbar()
    with pytest.raises(datasets.DataNotFoundError, match=r"fetch\('pandalm'\)"):
        recorded.pandalm()


# LLMBar: a pair of outputs, two orders.

LINES = [
    # set, item, judge, strategy, winner in the given order, in the swapped order
    ("Natural", 0, "GPT-4", "Vanilla", "1", "1"),
    ("Natural", 1, "GPT-4", "Vanilla", "1", "2"),
    ("Natural", 0, "GPT-4", "Swap", "2", ""),
    ("Adversarial-Manual", 0, "Falcon", "Rating", "2", "2"),
]
LABELS = {("Natural", 0): 1, ("Natural", 1): 2, ("Adversarial-Manual", 0): 2}


def llmbar_files(lines=LINES):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(
        ["set", "item", "judge", "prompt_strategy", "winner_given_order", "winner_swapped_order"]
    )
    writer.writerows(lines)
    pairs = [
        {"set": s, "item": k, "input": "i", "output_1": "x", "output_2": "y", "label": label}
        for (s, k), label in LABELS.items()
    ]
    return {
        "verdicts": stream.getvalue().encode(),
        "pairs": "\n".join(map(json.dumps, pairs)).encode(),
    }


def llmbar_table(lines=LINES):
    return verdicts.llmbar_from_files(datasets.recording("llmbar"), llmbar_files(lines))


def test_p_is_for_the_output_shown_first():
    """Winners name the original output; in the swapped order output 2 was shown first."""
    table = llmbar_table()
    p = table["p"].tolist()
    assert table["first"].tolist() == [1, 2] * 4
    # Output 1 wins in both orders: shown first it has p = 1, shown second its rival has p = 0.
    assert p[:2] == [1.0, 0.0]
    # The judge picks what it sees first, whichever it is.
    assert p[2:4] == [1.0, 1.0]
    assert p[4] == 0.0
    assert np.isnan(p[5])
    assert p[6:] == [0.0, 1.0]
    assert table["label"].tolist() == [1, 1, 2, 2, 1, 1, 2, 2]
    assert table["independent"].tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("Natural", 0, "GPT-4", "Vanilla", "3", "1"), "row 1 names '3' the winner"),
        (("Natural", 7, "GPT-4", "Vanilla", "1", "1"), r"unknown pair \('Natural', 7\)"),
    ],
)
def test_verdicts_that_make_no_sense(line, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        llmbar_table([line])


def clone(tmp_path, lines=LINES):
    """The repository's own folders with the same verdicts."""
    folders = {
        "Natural": "LLMBar/Natural",
        "Adversarial-Manual": "LLMBar/Adversarial/Manual",
        "MT-Bench": "Processed/MT-Bench",
    }
    files = {}
    for name, item, judge, strategy, given, swapped in lines:
        results = {
            "swap = False": {"completion": ["...", "stop"], "winner": given},
            "swap = True": {"winner": swapped or None},
        }
        entry = {"input": "i", "label": LABELS.get((name, item), 1), "results": [results]}
        files.setdefault((name, judge, strategy), []).append(entry)
    root = tmp_path / "LLMBar"
    for (name, judge, strategy), entries in files.items():
        path = root / "Dataset" / folders[name] / "evaluators" / judge / strategy / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(entries))
    ignored = root / "Dataset" / "CaseStudy" / "Base_9" / "evaluators" / "GPT-4" / "CoT"
    ignored.mkdir(parents=True)
    (ignored / "result.json").write_text("[]")
    return root


def test_a_clone_of_the_repository_gives_the_same_table(tmp_path):
    columns = ["set", "judge", "strategy", "item", "first"]
    derived = llmbar_table().sort_values(columns).reset_index(drop=True)
    table = recorded.llmbar(clone=clone(tmp_path)).sort_values(columns).reset_index(drop=True)
    pd.testing.assert_frame_equal(table, derived)
    assert recorded.llmbar(clone=tmp_path / "LLMBar").attrs["kind"] == "recorded"


def test_a_folder_that_is_no_clone(tmp_path):
    with pytest.raises(datasets.DataNotFoundError, match="give the folder of a clone"):
        recorded.llmbar(clone=tmp_path)
    root = clone(tmp_path, [("MT-Bench", 0, "GPT-4", "CoT", "1", "2")])
    assert recorded.llmbar("MT-Bench", clone=root)["set"].unique().tolist() == ["MT-Bench"]
    (path,) = root.glob("Dataset/Processed/MT-Bench/evaluators/GPT-4/CoT/result.json")
    path.write_text(json.dumps([{"label": 1, "results": [{"swap = False": {}}]}]))
    with pytest.raises(datasets.InvalidDataError, match="item 0 is not laid out as expected"):
        recorded.llmbar(clone=root)


def test_sets_are_chosen_by_name():
    table = recorded.llmbar(["Natural", "MT-Bench"], source="stand-in")
    assert set(table["set"]) == {"Natural", "MT-Bench"}
    with pytest.raises(JudgeError, match="no recorded set 'Normal'; there are 'Natural'"):
        recorded.llmbar("Normal", source="stand-in")


# PandaLM: pairs of models, one order, ties.


def pandalm_files():
    pairs = [
        {"idx": 4, "cmp_key": "bloom-7b_opt-7b", "annotator1": 1, "annotator2": 1, "annotator3": 2},
        {"idx": 9, "cmp_key": "opt-7b_llama-7b", "annotator1": 0, "annotator2": 2, "annotator3": 0},
    ]
    gpt = [{"idx": 9, "gpt_result": "garbage"}, {"idx": 4, "gpt_result": "Tie"}]
    panda = [{"idx": 4, "pandalm_result": 1}, {"idx": 9, "pandalm_result": 2}]
    names = ("pairs", "gpt-3.5-turbo", "pandalm-7b")
    return {k: json.dumps(v).encode() for k, v in zip(names, (pairs, gpt, panda), strict=True)}


def test_pandalms_codes_by_hand():
    table = verdicts.pandalm_from_files(datasets.recording("pandalm"), pandalm_files())
    assert table[["item", "judge"]].to_numpy().tolist() == [
        [4, "gpt-3.5-turbo"],
        [9, "gpt-3.5-turbo"],
        [4, "pandalm-7b"],
        [9, "pandalm-7b"],
    ]
    assert table["first"].tolist() == ["bloom-7b", "opt-7b"] * 2
    np.testing.assert_array_equal(table["p"], [0.5, np.nan, 1.0, 0.0])
    np.testing.assert_array_equal(table["people"], [1.0, 0.5, 1.0, 0.5])


def test_pandalm_verdicts_that_make_no_sense():
    source = datasets.recording("pandalm")
    wrong = pandalm_files() | {
        "gpt-3.5-turbo": b'[{"idx": 4, "gpt_result": "A"}, {"idx": 9, "gpt_result": "1"}]'
    }
    with pytest.raises(datasets.InvalidDataError, match=r"gpt-3\.5-turbo says 'A' on pair 4"):
        verdicts.pandalm_from_files(source, wrong)
    fewer = pandalm_files() | {"pandalm-7b": b'[{"idx": 4, "pandalm_result": 1}]'}
    with pytest.raises(datasets.InvalidDataError, match="1 verdicts of pandalm-7b where 2"):
        verdicts.pandalm_from_files(source, fewer)
    split = json.loads(pandalm_files()["pairs"])
    split[0]["annotator2"] = 0
    with pytest.raises(datasets.InvalidDataError, match=r"votes on pair 4 are \[1, 0, 2\]"):
        verdicts.pandalm_from_files(source, pandalm_files() | {"pairs": json.dumps(split).encode()})


# Stand-ins are simulated and say so.


def test_stand_ins_are_called_simulated():
    for table in (recorded.llmbar(source="auto"), recorded.pandalm(source="auto")):
        assert table.attrs == {"kind": "simulated"}
        assert table["judge"].str.startswith("stand-in").all()
    for name in recorded.HANNA_JUDGES:
        judge = recorded.hanna(name, 3, "surprise", source="auto")
        assert judge.kind == "simulated"
        assert 0 < judge.missing.sum() < 50
        assert np.nanmin(judge.scores) >= 1
        assert np.nanmax(judge.scores) <= 5


def test_stand_ins_have_the_columns_and_the_pairs_of_the_real_files():
    table = recorded.llmbar(source="stand-in")
    assert tuple(table.columns) == verdicts.LLMBAR
    assert len(table[["set", "item"]].drop_duplicates()) == 885
    assert table.groupby(["set", "item"])["label"].nunique().max() == 1
    panda = recorded.pandalm(source="stand-in")
    assert tuple(panda.columns) == verdicts.PANDALM
    assert panda["item"].nunique() == 999
    assert (panda["first"] != panda["second"]).all()
    again = recorded.pandalm(source="stand-in")
    pd.testing.assert_frame_equal(panda, again)


def test_every_stand_in_judge_of_hanna_has_noise_of_its_own():
    scores = [
        recorded.hanna(judge, prompt, attribute, source="stand-in").scores
        for judge in recorded.HANNA_JUDGES
        for prompt in recorded.HANNA_PROMPTS
        for attribute in ("coherence", "relevance")
    ]
    assert len({row.tobytes() for row in scores}) == len(scores)


# The published files, where they are. The figures are those that came with the files.

SANITY = {  # Spearman correlation with people over all 1056 stories: RE CH EM SU EG CX
    ("Beluga-13B", 2): (0.444, 0.488, 0.438, 0.332, 0.463, 0.521),
    ("Mistral-7B", 1): (0.416, 0.429, 0.374, 0.269, 0.398, 0.424),
    ("Llama-13B", 2): (0.301, 0.367, 0.222, 0.212, 0.260, 0.360),
    ("ChatGPT", 1): (0.365, 0.447, 0.374, 0.236, 0.409, 0.465),
}
ORDER = ("relevance", "coherence", "empathy", "surprise", "engagement", "complexity")


@pytest.mark.parametrize(("judge", "prompt"), SANITY)
def test_the_real_hanna_judges(real, judge, prompt):
    real("hanna")
    people = datasets.load("hanna").scores
    for attribute, expected in zip(ORDER, SANITY[judge, prompt], strict=True):
        found = recorded.hanna(judge, prompt, attribute)
        use = found.present
        rho = spearmanr(found.scores[use], people[attribute][0, use])[0]
        assert round(rho, 3) == expected


def test_the_real_hanna_judges_against_an_independent_table(real):
    real("hanna")
    flat = pd.read_csv(REAL / "hanna" / "llm_scores.csv")
    assert (flat[["RE", "CH", "EM", "SU", "EG", "CX"]] < 1).sum().sum() == 1051
    for (judge, prompt), rows in flat.groupby(["judge", "eval_prompt"]):
        # A different attribute each time, so that all six are met.
        attribute = datasets.info("hanna").attributes[(len(judge) + prompt) % 6]
        found = recorded.hanna(judge, prompt, attribute.name)
        given = rows.sort_values("story_id")[attribute.source_name].to_numpy()
        np.testing.assert_array_equal(found.missing, given < 1)
        np.testing.assert_allclose(found.scores[found.present], given[given >= 1], atol=1e-5)


def test_the_real_llmbar(real):
    real("llmbar_multi_judge")
    table = recorded.llmbar()
    assert len(table) == 2 * 30963
    assert table["p"].isna().sum() == 273
    assert len(table[["judge", "strategy"]].drop_duplicates()) == 65
    vanilla = table[(table["set"] == "Natural") & (table["strategy"] == "Vanilla")]
    right = vanilla["p"].eq(1) == vanilla["first"].eq(vanilla["label"])
    accuracy = right.groupby(vanilla["judge"]).mean().round(3)
    assert accuracy["GPT-4"] == 0.955
    assert accuracy["Falcon"] == 0.740
    rate = vanilla.groupby("judge")["p"].mean().round(3)
    assert rate["GPT-4"] == 0.505
    assert rate["Falcon"] == 0.740
    pairs = recorded.llmbar_pairs()
    assert len(pairs) == 885
    assert pairs["output_1"].str.len().min() > 0


def test_the_real_pandalm(real):
    real("pandalm")
    table = recorded.pandalm()
    assert table.groupby("judge").size().to_dict() == {"gpt-3.5-turbo": 999, "pandalm-7b": 999}
    gpt = table[table["judge"] == "gpt-3.5-turbo"]
    assert (gpt["p"].eq(0.5).sum(), gpt["p"].isna().sum()) == (38, 25)
    panda = table[table["judge"] == "pandalm-7b"]
    assert round((panda["p"] == panda["people"]).mean(), 3) == 0.668
    models = set(table["first"]) | set(table["second"])
    assert models == {"bloom-7b", "cerebras-gpt-6.7B", "llama-7b", "opt-7b", "pythia-6.9b"}
    # The first model in the key wrote the first response: its text repeats across pairs.
    with gzip.open(REAL / "pandalm" / "testset-v1.json.gz") as stream:
        rows = json.load(stream)
    agree = {False: 0, True: 0}
    for swapped in agree:
        seen = {}
        for row in rows:
            names = row["cmp_key"].split("_")[:: -1 if swapped else 1]
            for name, text in zip(names, (row["response1"], row["response2"]), strict=True):
                first = seen.setdefault((row["instruction"], row["input"], name), text)
                agree[swapped] += first == text
    assert agree[False] > 1.5 * agree[True]

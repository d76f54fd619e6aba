"""Loading datasets: labels of the package, texts that are read late, copies of your own."""

import dataclasses
import gzip
import json

import numpy as np
import pandas as pd
import pytest

from judging import datasets
from judging.datasets import dataset

LABELLED = ("summeval", "topicalchat", "hanna")
OWN = ("cmcqrd", "webnlg", "podcast")
SHIPPED = ("ladder",)
RECORDED = ("llmbar", "pandalm", "sessions", "rave")


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    """An empty POE_DATA_DIR and cache; `place(name, data)` puts a file into the former."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))

    def put(name, data):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(data, bytes):
            table = name.endswith("csv")
            data = (pd.DataFrame(data).to_csv(index=False) if table else json.dumps(data)).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return put


# The registry.


def test_every_file_is_pinned_or_says_how_to_get_it():
    assert datasets.names() == LABELLED + OWN + SHIPPED
    assert datasets.recordings() == RECORDED
    again = [datasets.info(name).again for name in datasets.names()]
    (hanna,) = filter(None, again)
    assert len(hanna.sha256) == 64
    for entry in map(datasets.info, LABELLED + OWN + SHIPPED + RECORDED):
        assert entry.licence
        assert entry.citation
        assert entry.bibkey
        assert ("Permission is hereby granted" in entry.notice) == ("MIT" in entry.licence)
        for file in (*entry.files, *(hanna.made_of if entry.name == "hanna" else ())):
            if file.url:
                assert file.url.startswith("https://raw.githubusercontent.com/")
                assert len(file.sha256) == 64
                assert any(len(part) == 40 for part in file.url.split("/")), "a commit"
            elif entry.name in SHIPPED:
                assert datasets.fetch(entry.name).read_bytes()
            else:
                assert "http" in file.obtain, (entry.name, file.role)


def test_an_unknown_name_suggests_near_ones():
    for wrong, hint in {
        "sumeval": "did you mean 'summeval'",
        "hellaswag": "there are 'summeval', 'topicalchat'",
    }.items():
        for call in (datasets.load, datasets.fetch):
            with pytest.raises(datasets.UnknownDatasetError, match=hint):
                call(wrong)
    with pytest.raises(datasets.UnknownDatasetError, match=r"see judging\.judges\.recorded"):
        datasets.load("llmbar")


# Scores without texts.


def test_a_labelled_dataset_needs_no_file():
    loaded = datasets.load("summeval")
    assert (loaded.n_contexts, loaded.n_candidates, loaded.source) == (100, 16, "real")
    assert loaded.attributes == ("coherence", "consistency", "fluency", "relevance")
    assert "100 contexts x 16 candidates" in repr(loaded)
    assert "MIT License, Copyright (c) 2021 Alex Fabbri" in loaded.entry.notice
    with pytest.raises(ValueError, match="read-only"):
        loaded.scores["fluency"][0, 0] = 1.0


@pytest.mark.parametrize("name", LABELLED)
def test_texts_that_are_not_here_name_the_command(name, tmp_path):
    loaded = datasets.load(name)
    assert not loaded.has_texts
    with pytest.raises(datasets.DataNotFoundError):
        datasets.load(name, texts=True)
    with pytest.raises(datasets.DataNotFoundError) as caught:
        loaded.candidates()
    message = str(caught.value)
    assert f"judging data fetch {name}" in message
    for place in datasets.info(name).main.names:
        assert f"{tmp_path / 'data' / place}.gz\n" in message
    assert str(tmp_path / "cache") in message


def test_a_changed_file_is_refused_with_both_checksums(place):
    file = datasets.info("topicalchat").main
    loaded = datasets.load("topicalchat")
    for name in (file.names[-1], f"{file.names[0]}.gz"):
        path = place(name, b"[]")
        with pytest.raises(datasets.InvalidDataError) as caught:
            loaded.candidates()
        for part in (str(path), f"expected sha256 {file.sha256}", "got 4f53cda18c2baa", "fetch"):
            assert part in str(caught.value)
        path.unlink()
    path.write_bytes(gzip.compress(b"[]" * 1000)[:-20])
    with pytest.raises(datasets.InvalidDataError, match=r"\.gz cannot be read"):
        loaded.candidates()


def test_hannas_stories_come_with_their_prompts_and_match_the_labels(place, monkeypatch):
    entry = datasets.info("hanna")
    unpinned = dataclasses.replace(entry.main, sha256="", size=0)
    changed = dataclasses.replace(entry, files=(unpinned,))
    monkeypatch.setattr(dataset, "info", lambda name: changed)
    sums = dataset.table("hanna.csv")
    rows = [
        {
            "Story ID": k,
            "Prompt": f"prompt {k % 96}, with a comma",
            "Story": f"story {k}\nsecond line",
        }
        | {a.field: (int(sums[a.name][k]) + rater) // 3 for a in entry.attributes}
        for rater in range(3)  # three rows a story, not sorted
        for k in range(1056)
    ]
    place("hanna/hanna_stories_annotations.csv", rows)
    loaded = datasets.load("hanna")
    story = loaded.candidates()[100]
    assert story.id == "story-0100"
    expected = "Prompt: prompt 4, with a comma\n\nGenerated Story: story 100\nsecond line"
    assert story.text == expected
    assert loaded.context() is None


# CMCQRD without a copy: drawn.


def test_cmcqrds_scores_are_drawn_and_called_so():
    drawn = datasets.load("cmcqrd")
    assert drawn.source == "drawn"
    assert "drawn at random" in repr(drawn)
    values = drawn.scores["difficulty"]
    assert values.shape == (1, 658)
    assert len(np.unique(values)) == 658
    with pytest.raises(datasets.DataNotFoundError, match="agree to the licence at http"):
        drawn.candidates()


# Copies of your own, each as small as may be.


def passages():
    def question(p, q):
        given = {"question": "Which?", "options": ["one", "two"]}
        return given | {"question_difficulty": 10 * p + q}

    return [
        {"id": f"p{p}", "context": f"Passage {p}.", "questions": [question(p, 0), question(p, 1)]}
        for p in (0, 1)
    ]


def triples():
    return [
        {"mr": f"a{c} | likes | b<br>a{c} | knows | c", "text": f"{team} on {c}", "team": team}
        | {"fluency": 1 + c, "grammar": 2.5, "semantics": 3}
        for c, team in ((0, "Zeta"), (0, "webnlg"), (1, "Zeta"), (0, "Alpha"), (1, "Alpha"))
    ]


def summaries():
    return [
        {"transcript": f"episode {e}", "summary": f"{system} on {e}", "score": grade}
        | {"episode_id": f"e{e}", "system_id": system}
        for e, system, grade in ((0, "R1", "B"), (0, "A1", "E"), (1, "A1", "G"), (1, "R1", "F"))
    ]


COPIES = {
    "cmcqrd": ("cmcqrd/cmcqrd.json", passages),
    "webnlg": ("webnlg.csv", triples),
    "podcast": ("podcast/dataset.json", summaries),
}


def test_cmcqrd_shows_passage_question_and_numbered_options(place):
    place("cmcqrd/cmcqrd.json", passages())
    loaded = datasets.load("cmcqrd")
    assert loaded.source == "real"
    assert loaded.candidate_ids == ("p0/1", "p0/2", "p1/1", "p1/2")
    np.testing.assert_array_equal(loaded.scores["difficulty"], [[0, 1, 10, 11]])
    assert loaded.candidates()[2].text == "Passage 1.\n\nWhich?\n1) one\n2) two"
    assert loaded.context() is None


def test_webnlg_groups_the_texts_by_their_triples_without_the_references(place):
    place("webnlg.csv", triples())
    loaded = datasets.load("webnlg")
    assert loaded.context_ids == ("triples-000", "triples-001")
    assert loaded.candidate_ids == ("Alpha", "Zeta")
    assert loaded.texts[1] == ("Alpha on 1", "Zeta on 1")
    np.testing.assert_array_equal(loaded.scores["fluency"], [[1, 1], [2, 2]])
    opening = "The following are semantic triples of the form (subject|relation|object)\n\n"
    assert loaded.context(1).text == f"{opening}a1 | likes | b\na1 | knows | c"


def test_podcast_puts_systems_in_one_order_and_grades_in_numbers(place):
    place("podcast/dataset.json", summaries())
    loaded = datasets.load("podcast")
    assert loaded.context_ids == ("e0", "e1")
    assert loaded.texts == (("R1 on 0", "A1 on 0"), ("R1 on 1", "A1 on 1"))
    np.testing.assert_array_equal(loaded.scores["overall"], [[0, 3], [1, 2]])


def edit(key, value, row=-1):
    def change(rows):
        rows[row] = {**rows[row], key: value}
        return rows

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("cmcqrd", edit("id", "p0"), "'p0/1' in context 'all' is there a second time"),
        ("webnlg", edit("grammar", 9), "'Alpha' in context 'triples-001' has a grammar .* 1 to 3"),
        ("webnlg", lambda rows: rows[:-1], "'triples-001' has texts of 'Zeta', not of 'Alpha', 'Z"),
        ("podcast", edit("score", "A"), "not laid out as expected .KeyError: 'A'"),
    ],
)
def test_a_wrong_copy_is_refused_by_name_and_place(place, name, change, message):
    file, make = COPIES[name]
    place(file, change(make()))
    with pytest.raises(datasets.InvalidDataError, match=message):
        datasets.load(name)


def test_without_a_copy_one_learns_how_to_get_it(tmp_path):
    for name in ("webnlg", "podcast"):
        with pytest.raises(datasets.DataNotFoundError) as caught:
            datasets.load(name)
        entry = datasets.info(name).main
        assert str(tmp_path / "data" / entry.names[0]) in str(caught.value)
        assert entry.obtain in str(caught.value)
        with pytest.raises(datasets.DataNotFoundError, match="no pinned public address"):
            datasets.fetch(name)

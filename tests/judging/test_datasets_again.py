"""HANNA's stories from elsewhere: the same texts, made of two files of which little is kept."""

import dataclasses
import gzip
import hashlib
import json

import numpy as np
import pytest

from judging import datasets
from judging.datasets import again, dataset, files

N = 1056
LABELS = dataset.table("hanna.csv")


def parts():
    """Two made-up files of that shape, each with half of the stories, out of order."""
    order = np.random.default_rng(0).permutation(N).tolist()
    for half in (order[: N // 2], order[N // 2 :]):
        rows = [
            {
                "story_id": k,
                "prompt": f"prompt {k % 96}: “why?”",
                "story": f"story {k}\u2028of two\nlines",
                "scores": {"coherence": 1.0},
                "id": place,
                "generated_reference": "not HANNA's",
            }
            for place, k in enumerate(half)
        ]
        yield json.dumps(rows).encode()


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The registry with made-up stories, none at hand yet; and the second source's bytes."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    data = again.stories(parts())
    own = datasets.info("hanna")
    file = dataclasses.replace(own.again, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    entry = dataclasses.replace(own, files=own.files[:1], again=file)
    for module in (dataset, files):
        monkeypatch.setattr(module, "info", lambda name: entry)
    return entry, data


def test_only_what_is_hannas_is_kept():
    lines = again.stories(parts()).decode().removesuffix("\n").split("\n")
    rows = [json.loads(line) for line in lines]
    assert [row["story_id"] for row in rows] == list(range(N))
    assert {tuple(row) for row in rows} == {("story_id", "system", "prompt", "story")}
    assert [row["system"] for row in rows] == LABELS["system"].tolist()
    assert "not HANNA's" not in "".join(lines)


@pytest.mark.parametrize("where", ["hanna/hanna_stories.jsonl", "hanna_stories.jsonl.gz"])
def test_a_local_copy_is_read_and_gives_the_texts_that_the_first_source_would(
    made, tmp_path, where
):
    entry, data = made
    assert not datasets.load("hanna").has_texts
    path = tmp_path / "data" / where
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    loaded = datasets.load("hanna")
    story = loaded.candidates()[100]
    assert story.id == "story-0100"
    assert story.text == (
        "Prompt: prompt 4: “why?”\n\nGenerated Story: story 100\u2028of two\nlines"
    )
    assert loaded.candidate_ids == tuple(LABELS["candidate"])
    assert loaded.context() is None
    assert entry.there is entry.again
    path.write_bytes(b"{}" if path.suffix != ".gz" else gzip.compress(b"{}"))
    with pytest.raises(datasets.InvalidDataError, match="not the pinned file"):
        datasets.load("hanna", texts=True)


@pytest.mark.parametrize("changed", [None, "coherence", "complexity"])
def test_texts_of_another_version_than_the_labels_are_refused(made, tmp_path, monkeypatch, changed):
    entry, data = made
    (tmp_path / "data" / "hanna_stories.jsonl").write_bytes(data)
    scores = {
        name: values + (0.01 if name == changed else 1e-9)
        for name, values in datasets.load("hanna").scores.items()
    }
    content = dataclasses.replace(dataset.parse(entry, data), scores=scores)
    monkeypatch.setattr(dataset, "parse", lambda *_: content)
    if changed is None:
        assert datasets.load("hanna", texts=True).has_texts
    else:
        with pytest.raises(datasets.InvalidDataError, match="not of the version that the labels"):
            datasets.load("hanna", texts=True)


def test_the_first_source_is_taken_where_both_are_at_hand(made, tmp_path):
    entry, data = made
    (tmp_path / "data" / "hanna_stories.jsonl").write_bytes(data)
    (tmp_path / "data" / "hanna_stories_annotations.csv").write_bytes(b"Story ID\n")
    assert entry.there is entry.main
    with pytest.raises(datasets.InvalidDataError, match="not the pinned file"):
        datasets.load("hanna", texts=True)


def test_it_is_fetched_where_the_first_source_is_out_of_reach(made, monkeypatch):
    entry, data = made
    sent = dict(zip((part.names[0] for part in entry.again.made_of), parts(), strict=True))
    asked = []

    def download(entry, file):
        asked.append(file.url)
        if file.names[0] not in sent:
            raise datasets.DownloadError(f"{file.url} could not be downloaded")
        path = datasets.cache_dir() / file.names[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sent[file.names[0]])
        path.with_name(path.name + ".NOTICE.txt").write_text("a part's")

    monkeypatch.setattr(files, "download", download)
    path = datasets.fetch("hanna")
    assert path.read_bytes() == data
    notice = path.with_name(path.name + ".NOTICE.txt").read_text("utf-8")
    for part in ("Copyright (c) 2022 dig-team", "HPSS", "must not be passed on"):
        assert part in notice
    assert {one.name for one in path.parent.iterdir()} == {path.name, f"{path.name}.NOTICE.txt"}
    assert asked == [entry.main.url, *(part.url for part in entry.again.made_of)]
    assert datasets.load("hanna").has_texts
    datasets.fetch("hanna")
    assert len(asked) == 4, "the parts are not asked for again"
    sent.clear()
    path.unlink()
    with pytest.raises(datasets.DownloadError, match="HPSS") as caught:
        datasets.fetch("hanna")
    assert entry.main.url in str(caught.value)


@pytest.mark.needs("stories")
def test_the_real_stories_join_the_labels_and_carry_their_prompts():
    """1,056 of 1,056: 96 prompts, each with a story of each of eleven systems."""
    loaded = datasets.load("hanna", texts=True)
    texts = loaded.texts[0]
    assert len(texts) == len(set(LABELS["candidate"])) == N
    prompts = [text.partition("\n\nGenerated Story: ")[0] for text in texts]
    assert all(one.startswith("Prompt: ") for one in prompts)
    assert len(set(prompts)) == 96
    assert prompts == prompts[:96] * 11
    assert all(text.partition("\n\nGenerated Story: ")[2].strip() for text in texts)

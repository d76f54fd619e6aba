"""Loading datasets: where the files may lie, what is refused, what the stand-ins are like."""

import csv
import dataclasses
import gzip
import hashlib
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from poe import _paths, datasets
from poe.datasets import standin
from poe.datasets.parsing import parse

REPOSITORY = Path(__file__).resolve().parents[1]
# Read before the fixture below hides it from the tests.
REAL = Path(os.environ.get("POE_DATA_DIR") or REPOSITORY.parent / "shared" / "data")
NAMES = ("summeval", "topicalchat", "hanna", "cmcqrd", "webnlg", "podcast")
FETCHED = ("summeval", "topicalchat", "hanna")
RECORDED = ("llmbar", "pandalm")
SYSTEMS = ("M1", "M2", "M3")
SUMMEVAL = ("coherence", "consistency", "fluency", "relevance")


@pytest.fixture(autouse=True)
def own_places(monkeypatch, tmp_path):
    """No test sees the user's folder or cache, or reaches the network."""
    monkeypatch.delenv("POE_DATA_DIR", raising=False)
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))

    def refuse(*arguments, **options):
        raise AssertionError("the network was used")

    monkeypatch.setattr(datasets, "download", refuse)


def tiny_articles():
    """Two articles with three summaries each, laid out as the source's pickle is."""
    rng = np.random.default_rng(5)
    return {
        f"doc-{c}": {
            "src": f"article {c}",
            "sys_summs": {
                system: {
                    "sys_summ": f"summary {system} of {c}",
                    "scores": {a: float(rng.integers(3, 16)) / 3 for a in SUMMEVAL},
                }
                for system in SYSTEMS
            },
        }
        for c in range(2)
    }


def tiny_entry(data=None):
    data = pickle.dumps(tiny_articles()) if data is None else data
    entry = datasets.info("summeval")
    file = dataclasses.replace(entry.main, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    return dataclasses.replace(entry, contexts=2, candidates=3, files=(file,))


@pytest.fixture
def tiny(monkeypatch):
    """The bytes of a small file that `load("summeval")` takes for the pinned one."""
    data = pickle.dumps(tiny_articles())
    entry = tiny_entry(data)
    monkeypatch.setattr(datasets, "info", lambda name: entry)
    return data


def put(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_registry_pins_every_address():
    assert datasets.names() == NAMES
    assert datasets.recordings() == RECORDED
    published = [*map(datasets.info, NAMES), *map(datasets.recording, RECORDED)]
    pinned = [file for entry in published for file in entry.files if file.url]
    assert {file.dataset for file in pinned} == {*FETCHED, "pandalm"}
    for file in pinned:
        assert len(file.sha256) == 64
        assert len(file.commit) == 40
        assert file.size > 0
        assert f"/{file.commit}/" in file.url
        assert file.url.endswith(file.path)
        assert file.url.startswith("https://raw.githubusercontent.com/")
        assert file.repository.removeprefix("https://github.com/") in file.url


def test_what_is_not_pinned_says_how_to_get_it():
    for entry in [*map(datasets.info, NAMES), *map(datasets.recording, RECORDED)]:
        assert entry.files
        assert len({file.role for file in entry.files}) == len(entry.files)
        assert not entry.main.optional
        for file in entry.files:
            assert file.dataset == entry.name
            assert bool(file.sha256) == bool(file.size)
            if not file.url:
                assert "http" in file.obtain, (entry.name, file.role)


def test_every_dataset_has_licence_notice_and_citation():
    for entry in [*map(datasets.info, NAMES), *map(datasets.recording, RECORDED)]:
        assert entry.licence
        assert entry.notice
        assert entry.citation
        assert entry.bibkey
        assert "{mit}" not in entry.notice
        if entry.licence.startswith("MIT"):
            assert "MIT License, Copyright (c)" in entry.notice
            assert "Permission is hereby granted" in entry.notice


def test_attributes_carry_the_papers_labels():
    labels = {n: [a.label for a in datasets.info(n).attributes] for n in NAMES}
    assert labels == {
        "summeval": ["COH", "CON", "FLU", "REL"],
        "topicalchat": ["COH", "CNT", "ENG", "NAT"],
        "hanna": ["COH", "CMP", "SUR", "REL", "EMP", "ENG"],
        "cmcqrd": ["DIF"],
        "webnlg": ["FLU", "GRA", "SEM"],
        "podcast": ["OVE"],
    }
    fields = {a.name: a.field for a in datasets.info("topicalchat").attributes}
    assert fields["coherency"] == "understandability"
    assert fields["continuity"] == "coherence"


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("sumeval", "did you mean 'summeval'"),
        ("SummEval", "did you mean 'summeval'"),
        ("Topical-Chat", "did you mean 'topicalchat'"),
        ("hellaswag", "there are 'summeval', 'topicalchat'"),
    ],
)
def test_an_unknown_name_suggests_near_ones(wrong, hint):
    for call in (datasets.load, datasets.available, datasets.fetch):
        with pytest.raises(datasets.UnknownDatasetError, match=hint):
            call(wrong)


def test_an_unknown_source_is_refused():
    with pytest.raises(ValueError, match="'real', 'auto', 'stand-in', not 'fake'"):
        datasets.load("summeval", source="fake")


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize(
    "name", ["summeval/data.pkl", "summeval/original/data.pkl", "summeval.pkl", "data.pkl"]
)
def test_every_layout_of_a_data_folder(tiny, monkeypatch, tmp_path, name, ending):
    path = tmp_path / "data" / f"{name}{ending}"
    put(path, tiny)
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path / "data"))
    assert datasets.available("summeval") == path
    for source in ("real", "auto"):
        loaded = datasets.load("summeval", source=source)
        assert loaded.source == "real"
        assert loaded.provenance["read_from"] == str(path)


def test_a_loaded_dataset_holds_the_file_as_it_is(tiny, tmp_path):
    put(tmp_path / "cache" / "summeval" / "data.pkl", tiny)
    loaded = datasets.load("summeval")
    articles = tiny_articles()
    assert loaded.context_ids == ("doc-0", "doc-1")
    assert loaded.candidate_ids == SYSTEMS
    assert loaded.contexts == ("article 0", "article 1")
    assert loaded.texts[1][2] == "summary M3 of 1"
    assert (loaded.n_contexts, loaded.n_candidates) == (2, 3)
    assert loaded.attributes == SUMMEVAL
    for attribute, values in loaded.scores.items():
        assert values.shape == (2, 3)
        assert values[1, 2] == articles["doc-1"]["sys_summs"]["M3"]["scores"][attribute]
    with pytest.raises(ValueError, match="read-only"):
        loaded.scores["fluency"][0, 0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        loaded.name = "other"


def test_the_loader_shows_licence_notice_and_citation(tiny, tmp_path):
    put(tmp_path / "cache" / "summeval" / "data.pkl", tiny)
    loaded = datasets.load("summeval")
    assert "Apache License, Version 2.0" in loaded.provenance["notice"]
    assert "MIT License, Copyright (c) 2021 Alex Fabbri" in loaded.provenance["notice"]
    assert "Fabbri" in loaded.provenance["citation"]
    for part in ("'summeval'", "real", "2 contexts x 3 candidates", "consistency", "Apache-2.0"):
        assert part in repr(loaded)


def test_the_folder_comes_before_the_cache(tiny, monkeypatch, tmp_path):
    put(tmp_path / "cache" / "summeval" / "data.pkl", tiny)
    assert datasets.available("summeval") == tmp_path / "cache" / "summeval" / "data.pkl"
    put(tmp_path / "data" / "data.pkl", tiny)
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path / "data"))
    assert datasets.available("summeval") == tmp_path / "data" / "data.pkl"


@pytest.mark.parametrize("source", ["real", "auto"])
@pytest.mark.parametrize("kind", ["does not exist", "is not a folder"])
def test_a_data_folder_that_is_none(monkeypatch, tmp_path, source, kind):
    place = tmp_path / "elsewhere"
    if kind == "is not a folder":
        place.write_text("a file")
    monkeypatch.setenv("POE_DATA_DIR", str(place))
    with pytest.raises(
        datasets.DataNotFoundError, match=rf"elsewhere', which {kind}.*unset POE_DATA_DIR"
    ):
        datasets.load("summeval", source=source)


def test_a_data_folder_that_lacks_the_file_lists_what_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    with pytest.raises(datasets.DataNotFoundError) as caught:
        datasets.load("topicalchat")
    message = str(caught.value)
    entry = datasets.info("topicalchat")
    for name in entry.main.names:
        assert f"{tmp_path / name}\n" in message
        assert f"{tmp_path / name}.gz\n" in message
    assert str(tmp_path / "cache" / entry.main.name) in message
    for way_out in (entry.main.url, "poe.datasets.fetch('topicalchat')", 'source="stand-in"'):
        assert way_out in message


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_changed_file_is_refused_with_both_checksums(tiny, monkeypatch, tmp_path, ending):
    changed = tiny.replace(b"article 0", b"article 7")
    put(tmp_path / f"data.pkl{ending}", changed)
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    for source in ("real", "auto"):
        with pytest.raises(datasets.InvalidDataError) as caught:
            datasets.load("summeval", source=source)
        message = str(caught.value)
        assert f"expected sha256 {hashlib.sha256(tiny).hexdigest()}" in message
        assert f"got {hashlib.sha256(changed).hexdigest()}" in message
        assert "replace it with a good copy of https://" in message


def test_a_truncated_gzip_file_and_a_decompression_bomb(tiny, monkeypatch, tmp_path):
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path))
    path = tmp_path / "data.pkl.gz"
    path.write_bytes(gzip.compress(tiny)[:-20])
    with pytest.raises(datasets.InvalidDataError, match=r"data\.pkl\.gz cannot be read"):
        datasets.load("summeval")
    path.write_bytes(gzip.compress(bytes(10**7)))
    with pytest.raises(datasets.InvalidDataError, match=rf"more than {len(tiny)} bytes"):
        datasets.load("summeval")


def test_a_damaged_cache_says_how_to_replace_it(tiny, tmp_path):
    put(tmp_path / "cache" / "summeval" / "data.pkl", tiny[:-1])
    with pytest.raises(datasets.InvalidDataError, match=r"poe\.datasets\.fetch\('summeval'\)"):
        datasets.load("summeval")


def test_auto_falls_back_without_the_network():
    assert datasets.available("summeval") is None
    loaded = datasets.load("summeval", source="auto")
    assert loaded.source == "stand-in"
    assert "none of the places" in loaded.provenance["reason"]
    # The control: "real" would have gone to the network here.
    with pytest.raises(AssertionError, match="the network was used"):
        datasets.load("summeval")


def test_the_cache_folder_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.setattr("sys.platform", "linux")
    assert datasets.cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("POE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert datasets.cache_dir() == tmp_path / "xdg" / "poe"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.cache_dir() == Path.home() / ".cache" / "poe"
    monkeypatch.setattr("sys.platform", "darwin")
    assert datasets.cache_dir() == Path.home() / "Library" / "Caches" / "poe"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert datasets.cache_dir() == tmp_path / "local" / "poe" / "Cache"


# What a file must look like. The checksum would stop these earlier; the parser is asked alone.


def parsed(articles):
    return parse(tiny_entry(), {"all": pickle.dumps(articles)}, {})


def drop_article(articles):
    del articles["doc-1"]


def drop_summary(articles):
    del articles["doc-0"]["sys_summs"]["M3"]


def reorder_systems(articles):
    summaries = articles["doc-1"]["sys_summs"]
    articles["doc-1"]["sys_summs"] = {name: summaries[name] for name in ("M2", "M1", "M3")}


def score(value):
    def change(articles):
        articles["doc-1"]["sys_summs"]["M2"]["scores"]["fluency"] = value

    return change


def drop_attribute(articles):
    del articles["doc-1"]["sys_summs"]["M2"]["scores"]["fluency"]


def number_for_text(articles):
    articles["doc-1"]["src"] = 3.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop_article, "1 articles where 2 were expected"),
        (drop_summary, "2 summaries of article 'doc-0' where 3 were expected"),
        (reorder_systems, "article 'doc-1' has the systems M2, M1, M3, not M1, M2, M3"),
        (score(float("nan")), "fluency of system 'M2' in context 'doc-1' is nan, outside 1 to 5"),
        (score(float("inf")), "is inf, outside 1 to 5"),
        (score(5.5), "fluency of system 'M2' in context 'doc-1' is 5.5, outside 1 to 5"),
        (score(None), "not laid out as expected"),
        (drop_attribute, "not laid out as expected .KeyError: 'fluency'"),
        (number_for_text, "3.0 stands where a text was expected"),
    ],
)
def test_the_parser_says_what_is_wrong(change, message):
    articles = tiny_articles()
    assert parsed(articles).n_contexts == 2
    change(articles)
    with pytest.raises(datasets.InvalidDataError, match=message):
        parsed(articles)


def tiny_dialogues():
    fields = [a.field for a in datasets.info("topicalchat").attributes]
    return [
        {
            "source": f"dialogue {c}",
            "system_id": system,
            "system_output": f"{system} to {c}",
            "scores": dict.fromkeys(fields, 1.0),
        }
        for c in range(2)
        for system in SYSTEMS
    ]


def parsed_dialogues(items):
    entry = dataclasses.replace(datasets.info("topicalchat"), contexts=2, candidates=3)
    data = items if isinstance(items, bytes) else json.dumps(items).encode()
    return parse(entry, {"all": data}, {})


def test_the_dialogue_parser_maps_the_papers_attributes():
    items = tiny_dialogues()
    items[4]["scores"] |= {"understandability": 0.25, "coherence": 2.5}
    loaded = parsed_dialogues(items)
    assert loaded.attributes == ("coherency", "continuity", "engagingness", "naturalness")
    assert loaded.scores["coherency"][1, 1] == 0.25
    assert loaded.scores["continuity"][1, 1] == 2.5
    assert loaded.texts[1][1] == "M2 to 1"


def test_the_dialogue_parser_says_what_is_wrong():
    mixed = tiny_dialogues()
    mixed[5]["source"] = "dialogue 0"
    with pytest.raises(datasets.InvalidDataError, match="dialogue 1 mixes responses"):
        parsed_dialogues(mixed)
    with pytest.raises(datasets.InvalidDataError, match="5 responses where 6 were expected"):
        parsed_dialogues(tiny_dialogues()[:5])
    with pytest.raises(datasets.InvalidDataError, match="not a JSON file"):
        parsed_dialogues(b"<html>")


# Stand-ins.

SHAPES = {
    "summeval": (100, 16),
    "topicalchat": (60, 6),
    "hanna": (1, 1056),
    "cmcqrd": (1, 658),
    "webnlg": (223, 8),
    "podcast": (179, 15),
}
RATERS = dict.fromkeys(NAMES, 3) | {"podcast": 1}


@pytest.mark.parametrize("name", NAMES)
def test_stand_ins_have_the_shape_and_scale_of_the_real_data(name):
    made = datasets.load(name, source="stand-in")
    assert made.source == "stand-in"
    assert (made.n_contexts, made.n_candidates) == SHAPES[name]
    assert len(set(made.context_ids)) == made.n_contexts
    assert [len(row) for row in made.texts] == [made.n_candidates] * made.n_contexts
    for attribute in datasets.info(name).attributes:
        values, raters = made.scores[attribute.name], RATERS[name]
        assert values.shape == SHAPES[name]
        assert np.isfinite(values).all()
        if np.isinf(attribute.high):
            assert len(np.unique(values)) == values.size
            continue
        assert values.min() >= attribute.low
        assert values.max() <= attribute.high
        # The best stories of HANNA do not reach the top in every attribute; the others' do.
        assert values.max() == attribute.high or name == "hanna"
        np.testing.assert_allclose(raters * values, np.rint(raters * values), atol=1e-12)
        # Equal ratings are equal floats, or ties would go unnoticed.
        assert len(np.unique(values)) == len(np.unique(np.rint(raters * values)))


@pytest.mark.parametrize("name", NAMES)
def test_stand_ins_say_that_they_are_stand_ins(name):
    made = datasets.load(name, source="stand-in")
    texts = [*filter(None, made.contexts), *(text for row in made.texts for text in row)]
    assert all("stand-in" in text and "placeholder" in text for text in texts)
    assert len(set(texts)) == len(texts)
    assert all(name.startswith("stand-in") for name in made.candidate_ids)
    assert len(set(made.candidate_ids)) == made.n_candidates
    assert "stand-in" in repr(made)
    assert "no real label" in made.provenance["source"]


def tied_contexts(values):
    return int((np.ptp(values, axis=1) == 0).sum())


def test_the_summeval_stand_in_has_the_character_of_the_real_data():
    scores = datasets.load("summeval", source="stand-in").scores
    assert [tied_contexts(scores[a]) for a in SUMMEVAL] == [0, 4, 2, 0]
    for attribute in ("consistency", "fluency"):
        assert (scores[attribute] == 5).mean() > 0.6
    for attribute in ("coherence", "relevance"):
        assert (scores[attribute] == 5).mean() < 0.15
        assert scores[attribute].std() > 0.7


@pytest.mark.parametrize("name", ["summeval", "topicalchat", "hanna", "webnlg"])
def test_stand_in_attributes_are_related_but_not_the_same(name):
    scores = datasets.load(name, source="stand-in").scores.values()
    within = np.stack([(s - s.mean(axis=1, keepdims=True)).ravel() for s in scores])
    correlation = np.corrcoef(within)[np.triu_indices(len(within), 1)]
    assert correlation.min() > 0.2
    assert correlation.max() < 0.9


@pytest.mark.parametrize("name", NAMES)
def test_stand_ins_follow_their_seed(name):
    entry = datasets.info(name)
    one, again, other = (standin.make(entry, seed=s) for s in (1, 1, 2))
    for attribute in one.attributes:
        np.testing.assert_array_equal(one.scores[attribute], again.scores[attribute])
        assert not np.array_equal(one.scores[attribute], other.scores[attribute])


@pytest.mark.parametrize(
    ("name", "digest"), [("summeval", "6693b0109720062c"), ("topicalchat", "1ad176914d293a34")]
)
def test_stand_ins_are_the_same_on_every_machine(name, digest):
    scores = datasets.load(name, source="stand-in").scores
    thirds = b"".join(np.rint(3 * s).astype("<i4").tobytes() for s in scores.values())
    assert hashlib.sha256(thirds).hexdigest()[:16] == digest


# The real files, where they are.


@pytest.fixture
def real(monkeypatch):
    def load(name):
        if not REAL.is_dir():
            pytest.skip(f"no real data: {REAL} is no folder; POE_DATA_DIR can name another")
        monkeypatch.setenv("POE_DATA_DIR", str(REAL))
        if datasets.available(name) is None:
            pytest.skip(f"no real data: {REAL} lacks the file of {name}")
        return datasets.load(name)

    return load


def test_the_real_summeval(real):
    loaded = real("summeval")
    assert loaded.source == "real"
    assert (loaded.n_contexts, loaded.n_candidates) == (100, 16)
    order = "M11 M13 M1 M14 M15 M12 M5 M17 M20 M23 M2 M0 M22 M8 M10 M9"
    assert loaded.candidate_ids == tuple(order.split())
    means = {a: round(float(values.mean()), 3) for a, values in loaded.scores.items()}
    known = {"coherence": 3.413, "consistency": 4.660, "fluency": 4.673, "relevance": 3.777}
    assert means == pytest.approx(known, abs=0.0011)  # 3.4125 rounds either way
    assert [tied_contexts(values) for values in loaded.scores.values()] == [0, 4, 2, 0]
    for values in loaded.scores.values():
        assert (values.min(), values.max()) == (1, 5)
        np.testing.assert_allclose(3 * values, np.rint(3 * values), atol=1e-12)
    assert len(set(loaded.contexts)) == 100


def test_the_real_summeval_repeats_texts_in_38_articles(real):
    groups = [sum(1 for text in set(row) if row.count(text) > 1) for row in real("summeval").texts]
    assert sum(1 for count in groups if count) == 38
    assert sum(groups) == 45


def test_the_real_topicalchat(real):
    loaded = real("topicalchat")
    assert (loaded.n_contexts, loaded.n_candidates) == (60, 6)
    assert loaded.candidate_ids[0] == "Original Ground Truth"
    assert loaded.candidate_ids[5] == "New Human Generated"
    ranges = {a: (v.min(), v.max()) for a, v in loaded.scores.items()}
    assert ranges.pop("coherency") == (0, 1)
    assert set(ranges.values()) == {(1, 3)}
    assert [tied_contexts(values) for values in loaded.scores.values()] == [0, 0, 0, 0]
    # People write the best responses, in every respect.
    for values in loaded.scores.values():
        assert values[:, [0, 5]].mean() > values[:, 1:5].mean() + 0.3


@pytest.mark.parametrize("name", FETCHED)
def test_the_real_scores_against_an_independent_table(real, name):
    """The flat table was converted from another copy of the same scores."""
    loaded = real(name)
    table = REAL / name / "human_scores.csv"
    if not table.is_file():
        pytest.skip(f"no {table.name} beside the file of {name}")
    with table.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == loaded.n_contexts * loaded.n_candidates
    for attribute in datasets.info(name).attributes:
        column = f"mean_{attribute.source_name}" if name == "hanna" else attribute.field
        flat = np.array([float(row[column]) for row in rows])
        np.testing.assert_allclose(loaded.scores[attribute.name].ravel(), flat, atol=1e-6)


# Where the package finds its own files.


def test_data_dir_prefers_the_checkout_and_knows_the_wheel(tmp_path):
    package = tmp_path / "site" / "poe"
    with pytest.raises(FileNotFoundError, match=r"site.data.datasets\.toml.*reinstall"):
        _paths.data_dir(package)
    put(package / "_data" / "datasets.toml", b"")
    (tmp_path / "site" / "data").mkdir()  # somebody else's folder of that name
    assert _paths.data_dir(package) == package / "_data"
    put(tmp_path / "site" / "data" / "datasets.toml", b"")
    assert _paths.data_dir(package) == tmp_path / "site" / "data"
    assert (_paths.data_dir() / "published").is_dir()

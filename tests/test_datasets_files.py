"""HANNA's two files and the layouts of a user's own copies, on files made on the spot."""

import csv
import dataclasses
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from poe import datasets
from poe.cli import main
from poe.datasets.parsing import parse

REPOSITORY = Path(__file__).resolve().parents[1]
REAL = Path(os.environ.get("POE_DATA_DIR") or REPOSITORY.parent / "shared" / "data")
WRITERS = ("Human", "GPT-2")
STORIES = 2 * 96


@pytest.fixture(autouse=True)
def own_places(monkeypatch, tmp_path):
    """No test sees the user's folder or cache, or reaches the network."""
    monkeypatch.setenv("POE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("POE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()

    def refuse(*arguments, **options):
        raise AssertionError("the network was used")

    monkeypatch.setattr(datasets, "download", refuse)


def put(tmp_path, name, data):
    path = tmp_path / "data" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def as_csv(rows, columns=None):
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, columns or list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


# HANNA: the scores file, and the stories in a file of their own.


def hanna_entry():
    return dataclasses.replace(datasets.info("hanna"), candidates=STORIES)


def hanna_fields():
    return [attribute.field for attribute in datasets.info("hanna").attributes]


def ratings():
    """Three ratings of every story, by field: (stories, 3)."""
    rng = np.random.default_rng(3)
    return {field: rng.integers(1, 6, (STORIES, 3)) for field in hanna_fields()}


def scores_file(given):
    rows = []
    for w, writer in enumerate(WRITERS):
        own = slice(96 * w, 96 * (w + 1))
        cells = {f: json.dumps(list(values[own].mean(axis=1))) for f, values in given.items()}
        rows.append({"Model": writer, **cells, "BLEU Ξ§": "[0.5]"})
    return as_csv(rows)


def story_rows(given):
    """The authors' layout: three rows a story, not sorted, with columns we do not use."""
    rows = [
        {
            "Story ID": k,
            "Prompt": f"prompt {k % 96}, with a comma",
            "Human": "the human story",
            "Story": f'story {k}\nits second line, "quoted"',
            "Model": WRITERS[k // 96],
            **{field: int(values[k, r]) for field, values in given.items()},
            "Worker ID": f"worker-{r}",
            "Name": "Ada",
        }
        for r in range(3)
        for k in range(STORIES)
    ]
    return rows


def parsed_hanna(stories=None, scores=None):
    data = {"scores": scores_file(ratings()) if scores is None else scores}
    if stories is not None:
        data["stories"] = as_csv(stories) if isinstance(stories, list) else stories
    return parse(hanna_entry(), data, {})


def test_hanna_without_its_stories_has_scores_and_says_so():
    loaded = parsed_hanna()
    assert (loaded.n_contexts, loaded.n_candidates) == (1, STORIES)
    assert not loaded.has_texts
    assert loaded.texts == ()
    assert "scores only" in repr(loaded)
    assert loaded.systems[95:97] == WRITERS
    assert loaded.candidate_ids[100] == "story-0100"
    given = ratings()
    for attribute in datasets.info("hanna").attributes:
        expected = given[attribute.field].mean(axis=1)
        np.testing.assert_array_equal(loaded.scores[attribute.name][0], expected)
    with pytest.raises(datasets.DataNotFoundError, match=r"poe data fetch hanna\); a judge"):
        loaded.candidates()


def test_hanna_with_its_stories_gives_them_with_their_prompts():
    loaded = parsed_hanna(story_rows(ratings()))
    assert loaded.has_texts
    assert loaded.context() is None
    story = loaded.candidates()[100]
    assert story.id == "story-0100"
    assert story.text == (
        'Prompt: prompt 4, with a comma\n\nGenerated Story: story 100\nits second line, "quoted"'
    )
    scores = parsed_hanna().scores["surprise"]
    np.testing.assert_array_equal(loaded.scores["surprise"], scores)


def test_loading_takes_the_stories_where_they_are(monkeypatch, tmp_path):
    given = ratings()
    scores, stories = scores_file(given), as_csv(story_rows(given))
    entry = hanna_entry()
    pinned = dataclasses.replace(entry.main, sha256="", size=0)
    beside = dataclasses.replace(entry.file("stories"), sha256="", size=0)
    entry = dataclasses.replace(entry, files=(pinned, beside))
    monkeypatch.setattr(datasets, "info", lambda name: entry)
    put(tmp_path, "hanna/hanna_metric_scores_llm.csv", scores)
    assert not datasets.load("hanna").has_texts
    put(tmp_path, "hanna/hanna_stories_annotations.csv", stories)
    loaded = datasets.load("hanna")
    assert loaded.has_texts
    assert loaded.provenance["source"].count("dig-team/hanna-benchmark-asg, commit") == 2
    assert "hanna_stories_annotations.csv" in loaded.provenance["read_from"]


def edit(position, **cells):
    def change(rows):
        rows[position] |= cells
        return rows

    return change


def every(key, value):
    """Change a column in all three rows of story 7."""

    def change(rows):
        for row in rows:
            if row["Story ID"] == 7:
                row[key] = value
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit(7, Coherence=""), "Coherence of row 8, story 7 is '', not a number"),
        (edit(7, Story="another"), "row 200, story 7 has another text than the rows before"),
        (every("Story", "  "), "text of row 8, story 7 is empty"),
        (every("Prompt", ""), "prompt of row 8, story 7 is empty"),
        (edit(7, **{"Story ID": 5000}), "row 8 has Story ID '5000', not a whole number from 0"),
        (edit(7, **{"Story ID": "x"}), "row 8 has Story ID 'x'"),
        (
            lambda rows: [row for row in rows if row["Story ID"] not in (7, 9)],
            "lacks 2 of 192 stories, the first with Story ID 7",
        ),
        (every("Empathy", 0), "3 ratings of Empathy for story 7 have mean 0, but the scores file"),
    ],
)
def test_a_wrong_stories_file_is_refused_with_its_row(change, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        parsed_hanna(change(story_rows(ratings())))


def test_files_that_are_not_hannas():
    rows = [{k: v for k, v in row.items() if k != "Story"} for row in story_rows(ratings())]
    with pytest.raises(datasets.InvalidDataError, match="lacks the columns 'Story'; it has 'Story"):
        parsed_hanna(rows)
    with pytest.raises(datasets.InvalidDataError, match="not UTF-8"):
        parsed_hanna("Story ID,Prompt\n0,caf\xe9".encode("latin-1"))
    short = scores_file({f: values[:100] for f, values in ratings().items()})
    with pytest.raises(datasets.InvalidDataError, match="4 values of Coherence for GPT-2 where 96"):
        parsed_hanna(scores=short)
    ragged = as_csv(story_rows(ratings())) + b"1,2\r\n"
    with pytest.raises(datasets.InvalidDataError, match="has not the 13 cells of the header"):
        parsed_hanna(ragged)


# CMCQRD: the user's own copy.


def passages():
    return [
        {
            "id": name,
            "context": f"Passage {name}.",
            "level": "B2",
            "questions": [
                {
                    "question": f"Question {q} on {name}?",
                    "options": ["one", "two", "three", "four"],
                    "question_difficulty": 10 * p + q,
                }
                for q in range(3)
            ],
        }
        for p, name in enumerate(("a", "b"))
    ]


def load_own(tmp_path, name, file, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    put(tmp_path, file, data)
    return datasets.load(name)


def load_cmcqrd(tmp_path, content):
    return load_own(tmp_path, "cmcqrd", "cmcqrd/cmcqrd.json", content)


def test_cmcqrd_shows_passage_question_and_numbered_options(tmp_path):
    loaded = load_cmcqrd(tmp_path, passages())
    assert loaded.source == "real"
    assert loaded.candidate_ids == ("a/1", "a/2", "a/3", "b/1", "b/2", "b/3")
    np.testing.assert_array_equal(loaded.scores["difficulty"], [[0, 1, 2, 10, 11, 12]])
    assert loaded.candidates()[4].text == (
        "Passage b.\n\nQuestion 1 on b?\n1) one\n2) two\n3) three\n4) four"
    )
    assert loaded.context() is None
    assert "6 questions on 2 passages; the papers have 658" in loaded.provenance["count"]
    assert "not pinned" in loaded.provenance["sha256"]


def at(*path, value):
    def change(rows):
        here = rows
        for step in path[:-1]:
            here = here[step]
        if value is None:
            del here[path[-1]]
        else:
            here[path[-1]] = value
        return rows

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            at(1, "context", value=None),
            "passage 2 has no key 'context'; its keys are 'id', 'level'",
        ),
        (at(1, "context", value=" "), "context of passage 2 is empty"),
        (at(1, "context", value=7), "7 stands where a text was expected .context of passage 2"),
        (at(0, "questions", value=[]), "questions of passage 1: an empty list"),
        (at(0, "questions", value="x"), "questions of passage 1: of type str, not a list"),
        (at(0, "questions", 2, value="x"), "question 3 of passage 1 is of type str, not an object"),
        (
            at(0, "questions", 2, "question", value=None),
            "question 3 of passage 1 has no key 'quest",
        ),
        (at(0, "questions", 2, "question", value=""), "text of question 3 of passage 1 is empty"),
        (at(0, "questions", 2, "options", value=["x"]), "question 3 of passage 1 has 1 option,"),
        (
            at(0, "questions", 2, "options", 1, value=""),
            "option 2 of question 3 of passage 1 is em",
        ),
        (at(0, "questions", 2, "question_difficulty", value=None), "no key 'question_difficulty'"),
        (
            at(0, "questions", 2, "question_difficulty", value="hard"),
            "question_difficulty of question 3 of passage 1 is 'hard', not a number",
        ),
        (
            at(0, "questions", 2, "question_difficulty", value=float("nan")),
            "question_difficulty of question 3 of passage 1 is nan, not a number",
        ),
        (at(0, "questions", 2, "question_difficulty", value=True), "is True, not a number"),
        (
            at(0, "questions", 2, "question_difficulty", value=float("inf")),
            "difficulty of system 'a/3' in context 'all' is inf",
        ),
        (at(1, "id", value="a"), "two passages have the id 'a'"),
        (lambda rows: {"passages": rows}, "the file: of type dict, not a list"),
        (lambda rows: [], "the file: an empty list"),
        (lambda rows: b"<html>", "not a JSON file"),
    ],
)
def test_a_wrong_copy_of_cmcqrd_is_refused_by_field(tmp_path, change, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        load_cmcqrd(tmp_path, change(passages()))


def test_without_a_copy_one_learns_how_to_get_it(tmp_path, monkeypatch):
    with pytest.raises(datasets.DataNotFoundError) as caught:
        datasets.load("cmcqrd")
    assert str(tmp_path / "data" / "cmcqrd" / "cmcqrd.json") in str(caught.value)
    assert "agree to the licence at http" in str(caught.value)
    monkeypatch.delenv("POE_DATA_DIR")
    for call in (datasets.load, datasets.fetch):
        with pytest.raises(datasets.DataNotFoundError, match="agree to the licence at http"):
            call("cmcqrd")
    assert datasets.load("cmcqrd", source="auto").source == "stand-in"


# WebNLG.


def webnlg_rows():
    return [
        {
            "id": k,
            "mr": f"a{c} | likes | b<br>a{c} | knows | c",
            "text": f"{team} on {c}",
            "team": team,
            "fluency": 1 + k % 3,
            "grammar": 2.5,
            "semantics": 3,
        }
        for k, (c, team) in enumerate((c, t) for c in range(3) for t in ("Zeta", "Alpha"))
    ]


def test_webnlgs_reference_texts_are_left_out(tmp_path):
    rows = webnlg_rows()
    rows.append(rows[0] | {"team": "webnlg", "text": "the reference"})
    assert load_webnlg(tmp_path, rows).candidate_ids == ("Alpha", "Zeta")


def load_webnlg(tmp_path, rows):
    return load_own(tmp_path, "webnlg", "webnlg/all_data_final_averaged.csv", as_csv(rows))


def test_webnlg_groups_the_texts_by_their_triples(tmp_path):
    loaded = load_webnlg(tmp_path, webnlg_rows())
    assert (loaded.n_contexts, loaded.n_candidates) == (3, 2)
    assert loaded.candidate_ids == ("Alpha", "Zeta")
    assert loaded.texts[1] == ("Alpha on 1", "Zeta on 1")
    np.testing.assert_array_equal(loaded.scores["fluency"], [[2, 1], [1, 3], [3, 2]])
    assert loaded.contexts[2] == (
        "The following are semantic triples of the form (subject|relation|object)\n\n"
        "a2 | likes | b\na2 | knows | c"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "triples-002 has the systems Zeta, not Alpha, Zeta"),
        (edit(3, team="Zeta"), "row 4 is a second text by 'Zeta' on the same triples"),
        (edit(3, fluency="good"), "fluency of row 4 is 'good', not a number"),
        (edit(3, grammar=9), "grammar of system 'Alpha' in context 'triples-001' is 9, outside 1"),
        (edit(3, text=""), "the text of row 4 is empty"),
        (lambda rows: [{"mr": "x", "text": "y"}], "lacks the columns 'team', 'fluency'"),
    ],
)
def test_a_wrong_copy_of_webnlg(tmp_path, change, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        load_webnlg(tmp_path, change(webnlg_rows()))


def test_an_empty_table_of_webnlg(tmp_path):
    with pytest.raises(datasets.InvalidDataError, match="a header and no rows"):
        load_own(
            tmp_path,
            "webnlg",
            "webnlg.csv",
            as_csv([], ["mr", "text", "team", "fluency", "grammar", "semantics"]),
        )


# Podcast.


def summaries():
    return [
        {
            "transcript": f"episode {e} says this",
            "summary": f"{system} on {e}",
            "score": "BFGE"[(e + n) % 4],
            "attributes": {},
            "episode_id": f"e{e}",
            "system_id": system,
        }
        for e in range(2)
        for n, system in enumerate(("R1", "A1", "A2") if e == 0 else ("A2", "A1", "R1"))
    ]


def load_podcast(tmp_path, items):
    return load_own(tmp_path, "podcast", "podcast/podcast_summary_assessment.json", items)


def test_podcast_puts_systems_in_one_order_and_grades_in_numbers(tmp_path):
    loaded = load_podcast(tmp_path, summaries())
    assert loaded.context_ids == ("e0", "e1")
    assert loaded.candidate_ids == ("R1", "A1", "A2")
    assert loaded.texts[1] == ("R1 on 1", "A1 on 1", "A2 on 1")
    np.testing.assert_array_equal(loaded.scores["overall"], [[0, 1, 2], [3, 2, 1]])
    context = loaded.context(1)
    assert (context.id, context.text) == ("e1", "episode 1 says this")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (edit(4, score="A"), "score of item 5 is 'A', not one of B, F, G, E"),
        (edit(4, transcript="else"), "item 5 has another transcript of episode 'e1'"),
        (edit(4, system_id="A2"), "item 5 is a second summary of episode 'e1' by 'A2'"),
        (edit(4, system_id="A9"), "episode 'e1' has the systems A2, A9, R1, not A1, A2, R1"),
        (edit(4, summary=""), "the summary of item 5 is empty"),
        (lambda items: [*items, 3], "item 7 has not the keys transcript"),
        (lambda items: {}, "not a list of summaries"),
    ],
)
def test_a_wrong_copy_of_podcast(tmp_path, change, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        load_podcast(tmp_path, change(summaries()))


# What all of them share.


@pytest.mark.parametrize("name", datasets.names())
def test_candidates_and_context_are_what_judges_take(name):
    made = datasets.load(name, source="stand-in")
    items = made.candidates(made.n_contexts - 1)
    assert [item.id for item in items] == list(made.candidate_ids)
    assert [item.text for item in items] == list(made.texts[-1])
    context = made.context(0)
    if datasets.info(name).shared_context:
        assert (context.id, context.text) == (made.context_ids[0], made.contexts[0])
    else:
        assert context is None


def test_data_list_names_every_file_and_what_to_do(tmp_path, capsys):
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    for name in (*datasets.names(), *datasets.recordings()):
        assert f"\n{name}: " in f"\n{out}"
    for name in ("summeval", "topicalchat", "hanna", "pandalm"):
        assert f"get it with: poe data fetch {name}" in out
    assert "stories: not on this machine; get it with: poe data fetch hanna" in out
    assert f"it goes to {tmp_path / 'data' / 'cmcqrd' / 'cmcqrd.json'}\n" in out
    put(tmp_path, "cmcqrd.json", b"[]")
    assert main(["data", "list"]) == 0
    assert str(tmp_path / "data" / "cmcqrd.json") in capsys.readouterr().out


def test_a_digest_at_second_hand_is_called_one(tmp_path, capsys):
    """HANNA's stories: nobody here has had the file, so a difference may be the digest's fault."""
    stories, scores = (datasets.info("hanna").file(role) for role in ("stories", "scores"))
    assert (stories.secondhand, scores.secondhand) == (True, False)
    doubt = "so it may be the digest that is wrong"
    for file, doubted in ((stories, True), (scores, False)):
        path = put(tmp_path, file.names[0], b"another file")
        with pytest.raises(datasets.InvalidDataError, match="is not the pinned file") as error:
            datasets.read_verified(file, path)
        assert (doubt in str(error.value)) == doubted
    main(["data", "list"])
    lines = [line for line in capsys.readouterr().out.splitlines() if "never computed" in line]
    assert len(lines) == 1
    assert lines[0].strip().startswith("stories:")


def test_data_fetch_of_what_has_no_address(capsys):
    assert main(["data", "fetch", "podcast"]) == 1
    error = capsys.readouterr().err
    assert "no pinned public address" in error
    assert "podcast_summary_assessment.json" in error
    assert "Traceback" not in error


def test_the_real_hanna(monkeypatch):
    if not (REAL / "hanna").is_dir():
        pytest.skip("no real data: HANNA's scores are not on this machine: poe data fetch hanna")
    monkeypatch.setenv("POE_DATA_DIR", str(REAL))
    loaded = datasets.load("hanna")
    assert loaded.source == "real"
    assert (loaded.n_contexts, loaded.n_candidates) == (1, 1056)
    order = [
        "Human",
        "BertGeneration",
        "CTRL",
        "GPT",
        "GPT-2_(tag)",
        "GPT-2",
        "RoBERTa",
        "XLNet",
        "Fusion",
        "HINT",
        "TD-VAE",
    ]
    assert [name.replace(" ", "_") for name in dict.fromkeys(loaded.systems)] == order
    # Three raters, so every mean is a third; people's stories are far above the rest.
    coherence = loaded.scores["coherence"][0]
    np.testing.assert_allclose(3 * coherence, np.rint(3 * coherence), atol=1e-9)
    by_writer = coherence.reshape(11, 96).mean(axis=1)
    assert round(by_writer[0], 2) == 4.43
    assert (round(by_writer[1:].min(), 1), round(by_writer[1:].max(), 1)) == (2.4, 3.3)

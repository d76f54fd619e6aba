"""Your own texts: what a file may look like, and what is said where it may not."""

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poe import datasets
from poe.datasets import read_texts

CSV = '''id,text,context,score
a,"First text, with a comma",Task 1,3
b,"Second
on two lines, ""quoted""",Task 2,
c,Third,Task 1,4.5
'''


def write(tmp_path, content, name="texts.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_csv_file_and_its_groups(tmp_path):
    own = read_texts(write(tmp_path, CSV))
    assert own.ids == ("a", "b", "c")
    assert len(own) == 3
    assert own.items[1].text == 'Second\non two lines, "quoted"'
    assert own.contexts == ("Task 1", "Task 2", "Task 1")
    np.testing.assert_array_equal(own.scores, [3, np.nan, 4.5])
    one, two = own.groups()
    assert [item.id for item in one.items] == ["a", "c"]
    assert (one.context.text, two.context.text) == ("Task 1", "Task 2")
    assert one.context.id != two.context.id
    np.testing.assert_array_equal(one.scores, [3, 4.5])


def test_without_context_and_score_there_is_one_group(tmp_path):
    own = read_texts(
        write(tmp_path, b"\xef\xbb\xbftext,id,note\r\nOne,1,x\r\nTwo,2,y\r\n")
    )  # Excel's
    assert own.ids == ("1", "2")
    assert own.scores is None
    (group,) = own.groups()
    assert group.context is None
    assert np.isnan(group.scores).all()


def test_a_jsonl_file_says_the_same(tmp_path):
    rows = [
        {"id": "a", "text": "First text, with a comma", "context": "Task 1", "score": 3},
        {"id": "b", "text": 'Second\non two lines, "quoted"', "context": "Task 2", "score": None},
        {"id": "c", "text": "Third", "context": "Task 1", "score": "4.5"},
    ]
    own = read_texts(write(tmp_path, "\n".join(map(json.dumps, rows)) + "\n\n", "texts.jsonl"))
    same = read_texts(write(tmp_path, CSV))
    assert (own.items, own.contexts) == (same.items, same.contexts)
    np.testing.assert_array_equal(own.scores, same.scores)


TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), min_size=1
).filter(str.strip)


@settings(deadline=None, max_examples=50)
@given(texts=st.lists(TEXTS, min_size=1, max_size=5, unique_by=str.strip))
def test_any_text_survives_both_formats(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("own")
    stream = io.StringIO(newline="")
    csv.writer(stream).writerows([("id", "text"), *enumerate(texts)])
    lines = [
        json.dumps({"id": k, "text": text}, ensure_ascii=False) for k, text in enumerate(texts)
    ]
    for name, content in (("a.csv", stream.getvalue()), ("a.jsonl", "\n".join(lines))):
        own = read_texts(write(folder, content, name))
        assert [item.text for item in own.items] == texts


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id;text\na;b\n", "the header has 'id;text', and needs 'id' and 'text', with commas"),
        ("id,text\na,One\nb,  \n", "line 3, id 'b': the text is empty"),
        ("id,text\na,One\nb,Two\na,Three\n", "line 4, id 'a': was there before"),
        ("id,text,score\na,One,good\n", "line 2, id 'a': the score is 'good', not a number"),
        ("id,text\na,caf\xe9\n".encode("latin-1"), "is not UTF-8 .*0xe9"),
    ],
)
def test_a_csv_that_cannot_be_used_is_refused_by_line_and_id(tmp_path, content, message):
    with pytest.raises(datasets.InvalidDataError, match=message) as caught:
        read_texts(write(tmp_path, content))
    assert "texts.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1, "text": "a"}\n{"id": 2}\n', "line 2, id 2: needs 'id' and 'text', and has"),
        ('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n', "id '1': was there before"),
    ],
)
def test_a_jsonl_that_cannot_be_used_is_refused_by_line_and_id(tmp_path, content, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        read_texts(write(tmp_path, content, "texts.jsonl"))


def test_a_file_that_is_not_there_or_of_another_kind(tmp_path):
    with pytest.raises(datasets.DataNotFoundError, match=r"texts\.csv: cannot be read"):
        read_texts(tmp_path / "texts.csv")
    with pytest.raises(datasets.InvalidDataError, match=r"save it as \.csv or \.jsonl"):
        read_texts(write(tmp_path, CSV, "texts.xlsx"))

"""Your own texts: what a file may look like, and what is said where it may not."""

import csv
import importlib.util
import io
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging import datasets
from judging.practice.reading.tables import as_name
from judging.practice.reading.texts import read_texts
from judging.quoting import csv_text

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
        (
            "id,essay text\na,b\n",
            "no column is called 'text', .*; is it --column text='essay text'",
        ),
        ("id,text\na,b,c\n", "line 2: 3 cells where the header has 2; a cell with commas"),
        ("id,text\na\x1bb,c\n", r"line 2, id 'a\\x1bb': .* control character .*U\+001B"),
        (
            'id,text\na,"b\nc"\n ,d\ne,\n',
            "line 4, id ' ': the id is empty; and 1 more like it, next: .*line 5",
        ),
        ("id,text\na,One\nb,  \n", "line 3, id 'b': the text is empty"),
        ("id,text\na,One\nb,Two\na,Three\n", "line 4, id 'a': this id appears twice"),
        ("id,text,score\na,One,good\n", "line 2, id 'a': the score is 'good', not a number"),
        (
            b"id,text\na,caf\x81\n",
            "is not text in the encoding cp1252 .*at byte 13.*--set enc",
        ),
    ],
)
def test_a_csv_that_cannot_be_used_is_refused_by_line_and_id(tmp_path, content, message):
    with pytest.raises(datasets.InvalidDataError, match=message) as caught:
        read_texts(write(tmp_path, content))
    assert "texts.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1, "text": "a"}\n{"id": 2}\n', "line 2, id 2: the text is empty"),
        ('{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n', "id '1': this id appears twice"),
        ('{"id": "\\ud800", "text": "a"}\n', r"line 1, id '\\ud800': .*half of a character"),
        ('{"id": 1, "text": "\\ud800"}\n', "line 1, id 1: the text has half of .*letter 1"),
        ('{"text": "a"}\n{"text":', r"line 2: not JSON \(.*one object a line"),
        ('[{"text": "a"}, 3]', "row 2: not an object"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_jsonl_that_cannot_be_used_is_refused_by_line_and_id(tmp_path, content, message):
    with pytest.raises(datasets.InvalidDataError, match=message):
        read_texts(write(tmp_path, content, "texts.jsonl"))


def test_a_file_that_is_not_there_or_of_another_kind(tmp_path):
    with pytest.raises(datasets.DataNotFoundError, match=r"texts\.csv: cannot be read"):
        read_texts(tmp_path / "texts.csv")
    with pytest.raises(datasets.InvalidDataError, match=r"save it as \.csv, .* or \.xlsx"):
        read_texts(write(tmp_path, CSV, "texts.docx"))
    for name, sentence in (("t.parquet", "not a Parquet file"), ("t.xlsx", "Excel|openpyxl")):
        with pytest.raises(datasets.InvalidDataError, match=sentence):
            read_texts(write(tmp_path, CSV, name))


# Tables as they come ---------------------------------------------------------------------------


def tables(folder):
    """One table as different programs save it; the first is the text that the rest is."""
    frame = pd.read_csv(io.StringIO(CSV), keep_default_na=False)
    frame.columns = ["ID", "Text ", "Context", "SCORE"]
    yield write(folder, frame.to_csv(index=False), "utf8.csv")
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "cp1252"):
        accented = frame.to_csv(index=False).replace("Third", "Thírd")
        yield write(folder, accented.encode(encoding), f"{encoding}.csv")
    german = frame.assign(SCORE=["3,0", "", "4,5"])
    yield write(folder, german.to_csv(index=False, sep=";"), "german.csv")
    yield write(folder, frame.to_csv(index=False, sep="\t"), "a.tsv")
    yield write(folder, frame.to_json(orient="records"), "a.json")
    frame["SCORE"] = pd.to_numeric(frame["SCORE"])
    yield write(folder, frame.to_json(orient="records", lines=True) + "\n\n", "a.jsonl")
    frame.set_index("ID").to_parquet(folder / "a.parquet")
    yield folder / "a.parquet"
    yield frame
    yield frame.set_index("ID")
    if importlib.util.find_spec("openpyxl"):
        frame.to_excel(folder / "a.xlsx", index=False)
        yield folder / "a.xlsx"


def test_a_table_says_the_same_however_it_was_saved(tmp_path):
    same = read_texts(write(tmp_path, CSV))
    for table in tables(tmp_path):
        own = read_texts(table)
        assert own.ids == same.ids, table
        texts = [item.text.replace("í", "i") for item in own.items]
        assert texts == [item.text for item in same.items], table
        assert own.contexts == same.contexts, table
        np.testing.assert_array_equal(own.scores, same.scores)
        assert bool(own.notes) == ("cp1252" in str(table)), "what was guessed is said"


def test_columns_with_other_names_and_none_for_ids(tmp_path):
    path = write(tmp_path, "Essay,Mark\nOne,3\n\nTwo,\n")
    own = read_texts(path, text_column="essay", score_column="mark")
    assert own.ids == ("1", "2")
    (group,) = own.groups()
    assert group.gold == {"1": 3.0}
    assert "--column id=NAME" in own.notes[0]
    with pytest.raises(datasets.InvalidDataError, match=r"is it --column score=.Mark"):
        read_texts(path, text_column="Essay", score_column="marks")
    frame = pd.DataFrame({"id": [7.0, None], "text": ["a", "b"]})
    with pytest.raises(datasets.InvalidDataError, match="row 2, id nan: the id is empty"):
        read_texts(frame)
    assert read_texts(frame.fillna(8)).ids == ("7", "8")


def test_names_come_back_from_a_csv_that_no_spreadsheet_runs():
    names = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "'=1", "''@", "＝1", "'quoted'"]
    text = csv_text(pd.DataFrame({"=id": names, "score": np.arange(8.0) - 4}))
    (head, _), *rows = csv.reader(io.StringIO(text))
    assert head == "'=id"
    assert not [name for name, _ in rows if name[0] in "=＝+-@\t\r"]
    assert [as_name(name) for name, _ in rows] == names
    assert rows[0][1] == "-4.0", "numbers stay numbers"

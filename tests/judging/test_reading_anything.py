"""Tables and texts in the forms in which spreadsheets, programs and other libraries hold them."""

import io
import json
import os
import subprocess
import sys
import threading
from datetime import date, datetime

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import judging
from judging.errors import DataNotFoundError, InvalidDataError
from judging.practice.cli import main
from judging.practice.reading.tables import as_name, is_table, read_table
from judging.practice.reading.texts import read_texts

ROWS = [
    {"id": "a", "text": "The sun rose slowly."},
    {"id": "b", "text": "Rain."},
    {"id": "c", "text": "A long morning of quiet light."},
]
IDS = ("a", "b", "c")
CSV = "id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in ROWS)


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        tuple(ROWS),
        pd.DataFrame(ROWS),
        pd.DataFrame(ROWS).set_index("id"),
        pd.DataFrame(ROWS).convert_dtypes(),
        nw.from_native(pd.DataFrame(ROWS)),
        nw.from_native(pd.DataFrame(ROWS)).lazy(),
    ],
    ids=["list", "tuple", "pandas", "its index", "its own kinds", "any library's", "not yet made"],
)
def test_rows_however_they_are_held(source):
    own = read_texts(source)
    assert own.ids == IDS
    assert [one.text for one in own.items] == [row["text"] for row in ROWS]
    assert is_table(source)
    assert set(judging.rank(source, "demo", attribute="longer").to_frame()["name"]) == set(IDS)


@pytest.fixture
def essays(tmp_path):
    folder = tmp_path / "essays"
    folder.mkdir()
    for row in reversed(ROWS):
        (folder / f"{row['id']}.txt").write_text(row["text"] + "\n", encoding="utf-8")
    return folder


def test_a_folder_has_a_text_a_file(essays, capsys):
    (essays / ".DS_Store").write_bytes(b"\0")
    (essays / "marks.ods").write_bytes(b"PK")
    (essays / "drafts").mkdir()
    own = read_texts(essays)
    assert own.ids == IDS
    assert [one.text for one in own.items] == [row["text"] for row in ROWS]
    assert own.notes == (f"{essays}: read 3 of 4 files, those ending in .txt or .md",)
    words = ["--judge", "demo", "--attribute", "longer", "--store", str(essays.parent / "s.sqlite")]
    assert main(["rank", str(essays), *words]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name}  " in shown for name in IDS)


def test_files_of_a_folder_that_share_a_name_keep_their_ends(essays):
    (essays / "a.md").write_text("Another a.")
    assert read_texts(essays).ids == ("a.md", "a.txt", "b.txt", "c.txt")


def test_a_folder_without_texts_and_an_empty_text_are_named(essays):
    (essays / "b.txt").write_text(" \n")
    with pytest.raises(InvalidDataError, match=r"essays, file b\.txt.*the text is empty"):
        read_texts(essays)
    for one in essays.iterdir():
        one.unlink()
    with pytest.raises(InvalidDataError, match=r"a folder has a text a file, \.txt or \.md; none"):
        read_texts(essays)


def test_a_text_of_a_folder_that_cannot_be_read_is_named(essays, monkeypatch):
    def refused(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refused)
    with pytest.raises(DataNotFoundError, match=r"a\.txt: cannot be read \(Permission denied"):
        read_texts(essays)


def test_a_series_is_named_by_its_index():
    named = pd.Series({row["id"]: row["text"] for row in ROWS})
    assert set(judging.rank(named, "demo", attribute="longer").to_frame()["name"]) == set(IDS)
    plain = pd.Series([row["text"] for row in ROWS])
    assert set(judging.rank(plain, "demo", attribute="longer").to_frame()["name"]) == {*"012"}


@pytest.mark.parametrize("source", [None, 5, len])
def test_what_is_no_texts_is_named(source):
    with pytest.raises(TypeError, match="give a path, a data frame, a list of texts"):
        judging.rank(source, "demo", attribute="longer")


def test_texts_that_are_none_are_named():
    for wrong in (5, None, ["x"], {"text": 1}):
        with pytest.raises(InvalidDataError, match="which is no string"):
            judging.rank(["one", "two", wrong], "demo", attribute="longer")


# JSON -----------------------------------------------------------------------------------------


def columns_of(rows):
    return {name: {str(k): row[name] for k, row in enumerate(rows)} for name in rows[0]}


@pytest.mark.parametrize(
    "saved",
    [
        ROWS,
        columns_of(ROWS),
        {name: [row[name] for row in ROWS] for name in ROWS[0]},
        {"data": ROWS, "next": None},
        {"columns": ["id", "text"], "index": [0, 1, 2], "data": [list(r.values()) for r in ROWS]},
    ],
    ids=["records", "columns", "lists", "data", "split"],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_json_in_the_forms_that_programs_save(saved, indent, tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(saved, indent=indent))
    assert read_texts(path).ids == IDS


def test_what_pandas_writes_is_read(tmp_path):
    frame = pd.DataFrame(ROWS)
    for orient in ("columns", "records", "split", "table"):
        path = tmp_path / f"{orient}.json"
        frame.to_json(path, orient=orient)
        assert read_texts(path).ids == IDS, orient
    frame.to_json(tmp_path / "lines.jsonl", orient="records", lines=True)
    assert read_texts(tmp_path / "lines.jsonl").ids == IDS


def test_one_object_is_one_row_and_uneven_columns_are_none(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"id": "a", "text": "alone"}')
    assert read_texts(path).ids == ("a",)
    path.write_text('{"id": {"0": "a"}, "text": {"1": "b"}}')
    with pytest.raises(InvalidDataError, match="which is no text"):
        read_texts(path)


def test_the_content_of_a_chat(tmp_path):
    path = tmp_path / "t.json"
    parts = [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}]
    path.write_text(json.dumps([{"id": "a", "text": parts}]))
    assert read_texts(path).items[0].text == "One.\nTwo."
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    path.write_text(json.dumps([{"id": "a", "text": chat}]))
    with pytest.raises(InvalidDataError, match="a chat of 2 messages; give the content of the one"):
        read_texts(path)
    pictures = [{"type": "image_url", "image_url": "x"}]
    path.write_text(json.dumps([{"id": "a", "text": pictures}]))
    with pytest.raises(InvalidDataError, match="which is no text"):
        read_texts(path)


# Spreadsheets ---------------------------------------------------------------------------------


def test_the_line_with_which_excel_names_its_separator(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sep=;\nid;text;score\na;x, y;1,5\nb;;2\n")
    with pytest.raises(InvalidDataError, match=r"t\.csv, line 4, id 'b': the text is empty"):
        read_texts(path)
    path.write_text("\ufeffsep=;\r\nid;text;score\r\na;x, y;1,5\r\nb;z;2\r\n", encoding="utf-8")
    own = read_texts(path)
    assert own.ids == ("a", "b")
    assert own.scores.tolist() == [1.5, 2.0]
    path.write_text("sep=;\nid;text\na;b;c\n")
    with pytest.raises(InvalidDataError, match="line 3: 3 cells where the header has 2"):
        read_texts(path)


@pytest.fixture
def workbook(tmp_path, monkeypatch):
    """Sheets of rows as a workbook would be read, without the library that reads it."""

    def made(**sheets):
        path = tmp_path / "t.xlsx"
        path.write_bytes(b"PK\x03\x04")

        def read_excel(content, **options):
            assert isinstance(content, io.BytesIO)
            assert options == {
                "sheet_name": None, "header": None, "dtype": object, "keep_default_na": False
            }  # fmt: skip
            return {
                name: pd.DataFrame(rows, dtype=object).fillna("") for name, rows in sheets.items()
            }

        monkeypatch.setattr(pd, "read_excel", read_excel)
        return path

    return made


BODY = [["id", "text"], ["a", "x"], [None, None], ["b", "y"]]


def test_a_title_above_the_header_is_passed(workbook):
    path = workbook(one=[["My essays, 2026", None], [None, None], *BODY])
    table = read_table(path)
    assert list(table.columns) == ["id", "text"]
    assert table.index.tolist() == [4, 6]  # the rows as the spreadsheet numbers them
    assert "what stands above row 3 was taken for a title" in table.attrs["notes"][0]
    table = read_table(workbook(one=BODY))
    assert (table.index.tolist(), table.attrs["notes"]) == ([2, 4], [])


def test_one_column_has_no_title(workbook):
    table = read_table(workbook(one=[["text"], ["first"], ["second"]]))
    assert table["text"].tolist() == ["first", "second"]


def test_sheets(workbook, capsys):
    path = workbook(Notes=[[None]], Essays=BODY, More=[["id", "text"], ["z", "w"]])
    own = read_texts(path)
    assert own.ids == ("a", "b")
    assert "the sheet 'Essays' was read, and not 'More'; --set sheet" in own.notes[0]
    other = read_texts(path, sheet="More")
    assert (other.ids, other.notes) == (("z",), ())
    with pytest.raises(InvalidDataError, match=r"no sheet is called 'Mroe'; it has 'Notes', 'Ess"):
        read_texts(path, sheet="Mroe")
    with pytest.raises(InvalidDataError, match="there are no rows in it"):
        read_texts(path, sheet="Notes")
    asked = ["rank", str(path), "--attribute", "longer", "--judge", "demo", "--dry-run"]
    assert main([*asked, "--set", "sheet=More"]) == 1
    assert "needs at least two different texts" in capsys.readouterr().err


def test_a_sheet_of_what_has_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    with pytest.raises(InvalidDataError, match=r"only a workbook \(.xlsx\) has sheets"):
        read_texts(path, sheet="one")


def test_days_and_numbers_of_a_workbook_are_names_and_texts(workbook):
    assert as_name(datetime(2026, 11, 3)) == "2026-11-03"
    assert as_name(pd.Timestamp("2026-11-03")) == "2026-11-03"
    assert as_name(datetime(2026, 11, 3, 9, 30)) == "2026-11-03 09:30:00"
    assert as_name(date(2026, 11, 3)) == "2026-11-03"
    own = read_texts(workbook(one=[["id", "text"], [datetime(2026, 1, 2), 42], [7.0, "no"]]))
    assert own.ids == ("2026-01-02", "7")
    assert own.items[0].text == "42"


def test_columns_without_a_name_and_anything_in_them_are_no_columns(workbook):
    table = read_table(workbook(one=[["id", None, "text", None], ["a", None, "x", "left"]]))
    assert list(table.columns) == ["id", "text", "column 4"]


# What has no name -----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("content", [CSV, json.dumps(ROWS), "\n".join(map(json.dumps, ROWS))])
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input_is_told_by_how_it_begins(name, content):
    command = [sys.executable, "-m", "judging", "rank", name, "--judge", "demo"]
    command += ["--attribute", "longer", "--store", "no.sqlite", "--dry-run", "--json"]
    done = subprocess.run(command, input=content, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["calls"] == 6


def test_a_pipe_with_a_name(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[CSV])
    writer.start()
    assert read_texts(tmp_path / "pipe").ids == IDS
    writer.join()


def test_what_is_wrong_with_standard_input_is_said_of_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"id,text\na,\n")))
    with pytest.raises(InvalidDataError, match="standard input, line 2, id 'a': the text is empty"):
        read_texts("-")


def test_comparisons_come_the_same_ways(monkeypatch):
    votes = [
        {"first": "a", "second": "b", "p": 0.9},
        {"first": "b", "second": "c", "p": 0.7},
        {"first": "c", "second": "a", "p": 0.3},
    ]
    expected = judging.read(pd.DataFrame(votes))
    text = pd.DataFrame(votes).to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    for source in (votes, "-"):
        c = judging.read(source)
        assert c.items == expected.items
        np.testing.assert_array_equal(c.p, expected.p)
    boards = [judging.leaderboard(source) for source in (votes, pd.DataFrame(votes))]
    np.testing.assert_allclose(boards[0].plain.scores, boards[1].plain.scores)

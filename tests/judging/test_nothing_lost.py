"""What is not used is said: prompts of one system, texts that are the same, rows without a word."""

import unicodedata

import pytest

from judging.errors import InvalidDataError
from judging.practice.board import read_answers
from judging.practice.cli import main
from judging.practice.reading.texts import read_texts
from judging.practice.trust import read_people
from judging.quoting import quoted

WORDS = ("Short.", "A longer text with several words in it.", "Something else entirely, at length.")


def answers(**prompts):
    """A row for each prompt of each system; the answers differ."""
    rows = [(name, prompt) for name, given in prompts.items() for prompt in given]
    return [
        {"system": name, "prompt": prompt, "answer": f"{name}'s answer, number {k}."}
        for k, (name, prompt) in enumerate(rows)
    ]


# Leaderboards -----------------------------------------------------------------------------------


def test_prompts_are_the_same_that_differ_in_the_space_around_them():
    composed, apart = (unicodedata.normalize(form, "Un café?") for form in ("NFC", "NFD"))
    found = read_answers(
        answers(base=["one", "two", composed], new=["one ", "\ttwo\n", f"{apart} "])
    )
    assert found.prompts == ("one", "two", composed)
    assert (found.texts != "").all()
    assert found.notes == ()


# Texts ------------------------------------------------------------------------------------------


def test_names_that_look_the_same_are_the_same():
    composed, apart = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    rows = [
        {"id": name, "text": text} for name, text in zip((composed, apart), WORDS, strict=False)
    ]
    with pytest.raises(InvalidDataError, match="this id appears twice"):
        read_texts(rows)
    assert read_texts([rows[1], {"id": "b", "text": "B."}]).ids == (composed, "b")


def test_labels_that_are_left_out_are_counted(tmp_path):
    (tmp_path / "scores.csv").write_text("id,score\na,1\nb,\nc,2\nd,\n")
    assert read_people(tmp_path / "scores.csv").notes == (
        f"{tmp_path / 'scores.csv'}: 2 rows without a score left out",
    )
    (tmp_path / "choices.csv").write_text("first,second,winner\na,b,a\nb,c,\nc,a,c\n")
    (note,) = read_people(tmp_path / "choices.csv").notes
    assert note.endswith("choices.csv: 1 row without a verdict left out")


def test_notes_of_a_table_of_comparisons_are_said(tmp_path, capsys):
    (tmp_path / "v.csv").write_bytes("first,second,p\né,b,0.7\nb,c,0.6\nc,é,0.4\n".encode("cp1252"))
    for command in ("fit", "leaderboard"):
        assert main([command, str(tmp_path / "v.csv")]) == 0
        assert "was read as Windows-1252" in capsys.readouterr().out


# Links ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["outside", "inside", "nowhere", "folder"])
def test_links_in_a_folder_of_texts_are_refused(target, tmp_path, capsys):
    folder = tmp_path / "essays"
    folder.mkdir()
    for name, text in zip("ab", WORDS, strict=False):
        (folder / f"{name}.txt").write_text(text)
    (tmp_path / "outside").write_text("root:x:0:0")
    places = {"outside": tmp_path / "outside", "inside": folder / "a.txt", "folder": tmp_path}
    (folder / "c.txt").symlink_to(places.get(target, tmp_path / "nowhere"))
    store = tmp_path / "s.sqlite"
    command = ["rank", str(folder), "--attribute", "plainer", "--judge", "demo"]
    assert main([*command, "--store", str(store)]) == 1
    assert "'c.txt' is a link" in capsys.readouterr().err
    assert not store.exists()


# Sentences --------------------------------------------------------------------------------------


@pytest.mark.parametrize("longest", range(4, 60))
def test_what_is_quoted_ends_after_a_word(longest):
    text = "a page that was not found on the server, and more"
    said = quoted(text, longest)
    assert len(said) <= longest or said == text
    if said != text:
        whole = said.removesuffix("...")
        assert said.endswith("...")
        assert text.startswith(whole)
        assert text[len(whole)] == " " or " " not in text[: longest - 3]

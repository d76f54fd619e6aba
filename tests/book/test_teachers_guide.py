"""The teacher's guide: its marks and minutes add up, its numbers are computed."""

import re
from pathlib import Path

import numpy as np

import poe
from book.tools.concepts import PICTURE, direct, drawn, needs, words
from book.tools.pages import find_pages

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "book" / "teachers-guide.md").read_text(encoding="utf-8")


def test_a_chapter_promises_the_minutes_that_are_counted() -> None:
    counted = re.findall(
        r"^\| \[(\d+)(?:, second page)?\]\(([\w-]+\.md)\) \| \d+ \| \d+ \| (\d+) \|$",
        GUIDE,
        re.MULTILINE,
    )
    chapters = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9]*.md"))
    assert [name for _, name, _ in counted] == chapters
    assert {int(number) for number, _, _ in counted} == set(range(1, 16))
    for _, name, minutes in counted:
        said = re.search(r"\*\*Time\*\*: (.+)", (ROOT / "notebooks" / name).read_text("utf-8"))[1]
        promised = int(re.findall(r"(\d+) minutes", said)[0])
        assert abs(promised - int(minutes)) <= 5, (name, promised, minutes)


def test_a_repeat_lowers_the_mean_resistance_less_than_a_new_pair() -> None:
    """The example of chapter 6: everything but Ben and Dan, once."""
    ada, ben, cleo, dan = range(4)
    asked = [(ada, ben), (ben, cleo), (cleo, dan), (dan, ada), (ada, cleo)]

    def mean(more: list[tuple[int, int]]) -> str:
        resistances = poe.effective_resistance(4, asked + more)
        return f"{resistances[np.triu_indices(4, 1)].mean():.2f}"

    now, again, new = mean([]), mean([(ada, cleo)]), mean([(ben, dan)])
    words = f"falls from {now} to {again} with one more comparison of Ada and Cleo, and to {new}"
    assert words in GUIDE


def test_the_points_of_the_plan_are_its_exercises() -> None:
    """One each, from a chapter that has been read by then; the parts add up to all points."""
    plan = GUIDE[GUIDE.index("## Path C") :].split("\n### ")[0]
    of = {
        label: int(page.name[:2])
        for page in (ROOT / "notebooks").glob("[01]*.md")
        for label in re.findall(r"^:label: (ex-[\w-]+)$", page.read_text("utf-8"), re.M)
    }
    known, total = set[int](), 0
    for row in re.findall(r"^\| \d \|.*$", plan, re.M):
        known |= {int(n) for n in re.findall(r"\((\d\d)-", row)}
        exercises = re.findall(r"<(ex-[\w-]+)>", row)
        (points,) = re.findall(r"\| (\d) \| [^|]+ \| \d+ \|$", row)
        assert int(points) == len(exercises)
        assert {of[label] for label in exercises} <= known
        total += len(exercises)
    whole, *parts = map(
        int, re.findall(r"(\d+)(?: points)? ?(?=:|for)", plan.split("There are ")[1].split("\n")[0])
    )
    assert total == parts[0]
    assert sum(parts) == whole


def test_the_map_is_what_the_chapters_ask_for() -> None:
    """Nothing but the arrows and what follows from them, and its words say the same."""
    pages = find_pages(ROOT)
    assert PICTURE.read_text("utf-8") == drawn(pages), "python -m book.tools.concepts"
    pairs = needs(pages)
    assert {chapter for pair in pairs for chapter in pair} == set(range(1, 16))
    known = np.zeros((16, 16), bool)
    known[tuple(np.array(list(pairs)).T)] = True
    longer, power = np.zeros_like(known), known
    for _ in range(15):  # by two arrows or more
        power = power @ known
        longer |= power
    assert set(direct(pairs)) == {(a, b) for a, b in pairs if not longer[a, b]}
    assert f"{words(direct(pairs))}." in GUIDE
    assert 'font-size="12.5"' in drawn(pages), "at 360 pixels, the width of a telephone"

"""The teacher's guide: its marks and minutes add up, its numbers are computed."""

import re
from pathlib import Path

import numpy as np

import poe

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "book" / "teachers-guide.md").read_text(encoding="utf-8")


def test_the_marks_add_up() -> None:
    table = GUIDE[GUIDE.index("## An assessment") :]
    total = int(re.search(r"(\d+) marks\n", table)[1])
    assert sum(int(n) for n in re.findall(r"^\| \d\. .*? \| (\d+) \|", table, re.M)) == total


def test_no_session_has_more_slides_than_minutes() -> None:
    """The minutes themselves are the course kit's, see the tests of the kit."""
    totals = [int(m) for m in re.findall(r"^\| \d \|.*\| (\d+) \|$", GUIDE, re.MULTILINE)]
    assert len(totals) == 4 + 7
    assert max(totals) <= 90


def test_a_chapter_promises_the_minutes_that_are_counted() -> None:
    counted = re.findall(
        r"^\| \[(\d+)(?:, second page)?\]\(([\w-]+\.md)\) \| \d+ \| \d+ \| (\d+) \|$",
        GUIDE,
        re.MULTILINE,
    )
    chapters = sorted(path.name for path in (ROOT / "notebooks").glob("[0-9]*.md"))
    assert [name for _, name, _ in counted] == chapters
    assert {int(number) for number, _, _ in counted} == set(range(1, 16))
    for number, name, minutes in counted:
        said = re.search(r"\*\*Time\*\*: (.+)", (ROOT / "notebooks" / name).read_text("utf-8"))[1]
        reading = said if number == "15" else said.split(",")[0]  # 15 is in two parts
        promised = sum(map(int, re.findall(r"(\d+) (?:minutes|for the second)", reading)))
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

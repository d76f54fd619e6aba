"""The back matter: what it names exists, and nothing that must be there is missing."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import pytest

from poe.cli import _parser as parser

ROOT = Path(__file__).resolve().parent.parent


def page(name: str) -> str:
    """Text of a page of book/ or notebooks/."""
    for folder in ("book", "notebooks"):
        if (path := ROOT / folder / name).exists():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(name)


def section(text: str, title: str) -> str:
    return text[text.index(f"## {title}\n") :].split("\n## ", 1)[0]


def rows(text: str) -> list[list[str]]:
    """Cells of all table rows but heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not row[0].startswith(":-") and row[0] != "paper"]


def numbers(row: list[str]) -> set[int]:
    """The equations of a row's first cell: "7", "9, 10", "37 to 39"; none for "§ 3.5"."""
    if row[0].startswith("§"):
        return set()
    if " to " in row[0]:
        low, high = map(int, row[0].split(" to "))
        return set(range(low, high + 1))
    return {int(number) for number in row[0].split(",")}


def labels() -> dict[str, str]:
    """Labels of numbered equations and the pages they are on."""
    return {
        label: path.name
        for path in (ROOT / "notebooks").glob("*.md")
        for label in re.findall(r"^\$\$ \((eq-[\w-]+)\)$", path.read_text(encoding="utf-8"), re.M)
    }


def resolve(name: str) -> object:
    """What a dotted name stands for; attributes come before modules of the same name."""
    first, *parts = name.split(".")
    found: object = importlib.import_module(first)
    for part in parts:
        if not hasattr(found, part):
            importlib.import_module(f"{getattr(found, '__name__', name)}.{part}")
        found = getattr(found, part)
    return found


def named(row: list[str]) -> tuple[str, str]:
    """The function and the test of a row."""
    function, test = re.fullmatch(r"`([\w.]+)`<br>`([\w.:]+)`", row[-1]).groups()
    return function, test


EQUATIONS = page("equations.md")
ALL = rows(EQUATIONS)
# The numbered equations of both versions. The second's are those of the sheet the book was written
# from: what is missing are lines of arrays. The first's 18 is such a line.
SECOND = {*range(1, 17), 25, *range(30, 33), *range(37, 56), *range(60, 76)}
FIRST = set(range(1, 40)) - {18}


class TestEquations:
    @pytest.mark.parametrize(
        ("title", "wanted"),
        [
            ("Second version", SECOND),
            ("First version", FIRST),
            ("Comparative assessment", set(range(1, 11))),
            ("Several judges", set(range(1, 9))),
        ],
    )
    def test_every_number_has_a_row(self, title, wanted):
        found = [number for row in rows(section(EQUATIONS, title)) for number in numbers(row)]
        assert len(found) == len(set(found)), "an equation has two rows"
        assert set(found) == wanted

    def test_a_missing_row_would_be_noticed(self):
        part = section(EQUATIONS, "Second version")
        without = re.sub(r"^\| 12 \|.*\n", "", part, flags=re.M)
        found = {number for row in rows(without) for number in numbers(row)}
        assert SECOND - found == {12}

    @pytest.mark.parametrize("row", ALL, ids=lambda row: row[0])
    def test_every_place_exists(self, row):
        known = labels()
        chapter = re.search(r"\[(\d+)\]\(((\d\d)-[\w-]+\.md)\)", row[-2])
        assert chapter
        assert int(chapter[1]) == int(chapter[3])
        assert (ROOT / "notebooks" / chapter[2]).exists()
        cited = re.findall(r"\{eq\}`([\w-]+)`", row[-3])
        assert cited or row[-3] == "in the text"
        if cited:
            assert known[cited[0]] == chapter[2]
            assert set(cited) <= set(known)

    @pytest.mark.parametrize("name", sorted({named(row)[0] for row in ALL}))
    def test_every_function_exists(self, name):
        assert name.startswith("poe.")
        assert callable(resolve(name))

    @pytest.mark.parametrize("name", sorted({named(row)[1] for row in ALL}))
    def test_every_test_exists(self, name):
        file, _, test = name.partition("::")
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert re.search(rf"^ *def {test}\(", text, re.M)

    def test_a_wrong_name_would_be_noticed(self):
        with pytest.raises((ImportError, AttributeError)):
            resolve("poe.debias.median_bias")


class TestNotation:
    NAMES = sorted(set(re.findall(r"`(poe\.[a-z][\w.]*[A-Za-z])\b", page("notation.md"))))

    @pytest.mark.parametrize("name", NAMES)
    def test_every_name_exists(self, name):
        resolve(name)

    def test_names_were_found(self):
        assert {"poe.fit", "poe.win_ratio", "poe.effective_resistance"} <= set(self.NAMES)

    def test_every_symbol_has_one_row_in_its_section(self):
        for part in page("notation.md").split("\n## ")[1:]:
            symbols = [
                row[0] for row in rows(part) if row[0] not in ("symbol", "in the paper's tables")
            ]
            assert len(symbols) == len(set(symbols)), part.splitlines()[0]


class TestGlossary:
    TERMS = re.findall(r"^(\S.*)\n  \S", page("glossary.md"), re.M)

    def test_it_is_in_alphabetical_order(self):
        letters = [re.sub(r"[^a-z ]", "", term.lower()) for term in self.TERMS]
        assert letters == sorted(letters)

    def test_it_is_neither_short_nor_repetitive(self):
        assert len(self.TERMS) >= 60
        assert len(set(self.TERMS)) == len(self.TERMS)

    def test_every_equation_it_leads_to_exists(self):
        cited = set(re.findall(r"\{eq\}`([\w-]+)`", page("glossary.md") + page("notation.md")))
        assert cited
        assert cited <= set(labels())


class TestCommands:
    """Options and subcommands that the pages name are those of the command line."""

    PAGES = ("bring-your-own.md", "scorecard.md", "claims.md", "reproduction.md", "timings.md")

    @staticmethod
    def commands() -> list[list[str]]:
        text = "\n".join(page(name) for name in TestCommands.PAGES).replace("\\\n", " ")
        lines = re.findall(r"^poe .*|(?<=`)poe [^`\n]+(?=`)", text, re.M)
        return [shlex.split(line, comments=True)[1:] for line in lines]

    def test_every_command_is_understood(self, capsys):
        found = self.commands()
        assert len(found) > 15
        for words in found:
            try:
                parser().parse_args(words)
            except SystemExit:
                short = capsys.readouterr().err
                assert "the following arguments are required" in short, f"{words}: {short}"

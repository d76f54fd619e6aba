"""The back matter: what it names exists, and nothing that must be there is missing."""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = {p.name: p.read_text(encoding="utf-8") for d in ("book", "notebooks")
         for p in (ROOT / d).glob("*.md")}  # fmt: skip
# Labels of numbered equations and the pages they are on.
LABELS = {
    label: name
    for name, text in TEXTS.items()
    for label in re.findall(r"^\$\$ \((eq-[\w-]+)\)$", text, re.M)
}
# The numbered equations of the papers. Of version 2 they are those of the sheet that the book was
# written from: what is missing are lines of arrays. Version 1's 18 is such a line.
NUMBERED = {
    "Second version": {*range(1, 17), 25, *range(30, 33), *range(37, 56), *range(60, 76)},
    "First version": set(range(1, 40)) - {18},
    "Comparative assessment": set(range(1, 11)),
    "Several judges": set(range(1, 9)),
}
# A few that docstrings cite: a label that moves takes its number along.
MEANT = {
    "3.1": "eq-win-ratio",
    "3.2": "eq-average-probability",
    "3.3": "eq-bradley-terry",
    "3.5": "eq-pearson",
    "3.7": "eq-summary-level",
    "3.9": "eq-system-level",
    "4.5": "eq-zermelo",
    "4.9": "eq-bt-prior",
    "5.1": "eq-poe-product",
    "5.4": "eq-poe-soft-bt",
    "5.5": "eq-poe-gaussian",
    "7.5": "eq-soft-covariance",
    "7.6": "eq-soft-better",
}


def rows(text: str) -> list[list[str]]:
    """Cells of all table rows but heads and rules."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not row[0].startswith(":-") and row[0] != "paper"]


def numbers(text: str) -> list[int]:
    """The equations in the first cells: "7", "9, 10", "37 to 39"; none for "§ 3.5"."""
    found: list[int] = []
    for first, *_ in rows(text):
        if not first.startswith("§"):
            ends = list(map(int, re.split(", | to ", first)))
            found += range(ends[0], ends[1] + 1) if " to " in first else ends
    return found


def resolve(name: str) -> object:
    """What a dotted name stands for; attributes come before modules of the same name."""
    first, *parts = name.split(".")
    found: object = importlib.import_module(first)
    for part in parts:
        if not hasattr(found, part):
            importlib.import_module(f"{getattr(found, '__name__', name)}.{part}")
        found = getattr(found, part)
    return found


class TestEquations:
    TEXT = TEXTS["equations.md"]

    def test_every_number_has_one_row(self):
        for title, wanted in NUMBERED.items():
            part = self.TEXT[self.TEXT.index(f"## {title}\n") :].split("\n## ", 1)[0]
            assert sorted(numbers(part)) == sorted(wanted), title

    def test_every_place_function_and_test_exists(self):
        for row in rows(self.TEXT):
            chapter = re.search(r"\[(\d+)\]\((0?\1-[\w-]+\.md)\)", row[-2])
            assert chapter, row
            assert chapter[2] in TEXTS
            cited = re.findall(r"\{eq\}`([\w-]+)`", row[-3])
            assert cited or row[-3] == "in the text", row
            assert set(cited) <= set(LABELS), row
            assert not cited or LABELS[cited[0]] == chapter[2], row
            function, file, test = re.fullmatch(
                r"`((?:poe|judging|reproduction)\.[\w.]+)`<br>`(.+)::(\w+)`", row[-1]
            ).groups()
            assert callable(resolve(function)), function
            source = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert re.search(rf"^ *def {test}\(", source, re.M), f"{file}::{test}"

    def test_a_wrong_name_would_be_noticed(self):
        with pytest.raises((ImportError, AttributeError)):
            resolve("poe.debias.median_bias")


def numbered() -> dict[str, str]:
    """Labels of the chapters' equations by number, counted as Sphinx does."""
    labels, last = {}, Counter()  # a second page goes on
    for name in sorted(name for name in TEXTS if re.match(r"\d\d-", name)):
        for label in (label for label, page in LABELS.items() if page == name):
            last[name[:2]] += 1
            labels[f"{int(name[:2])}.{last[name[:2]]}"] = label
    return labels


# On one line each: a number may stand on the line after its "book eq.".
SOURCES = [
    " ".join(path.read_text(encoding="utf-8").split())
    for package in ("poe", "judging", "reproduction", "studies")
    for path in sorted((ROOT / package).rglob("*.py"))
]


def test_equation_numbers_in_docstrings_are_those_of_the_book():
    labels = numbered()
    cited = {
        number
        for source in SOURCES
        for group in re.findall(r"book eqs?\. ([\d., and]+\d)", source)
        for number in re.findall(r"\d+\.\d+", group)
    }
    assert len(cited) >= 10
    assert {"2.2", "14.8", "15.15"} <= cited, "numbers of judging and reproduction are read too"
    assert cited <= labels.keys()
    assert {number: labels[number] for number in MEANT} == MEANT


def mistaken(source: str) -> list[str]:
    """Where a source gives an equation of the paper and one of the book that is not the same."""
    part = TestEquations.TEXT.split("## Second version\n", 1)[1].split("\n## ", 1)[0]
    same: dict[int, set[str]] = {}
    for row in rows(part):
        for number in numbers(f"| {row[0]} | |"):
            same.setdefault(number, set()).update(re.findall(r"\{eq\}`([\w-]+)`", row[2]))
    labels, wrong = numbered(), []
    paper = r"(?i)\bpaper(?: [\w.]+ and)? eqs?\. ([\d, andto]+\d)(?:[^;()]*;|,)"
    book = r" *book eqs?\. ([\d., and]+\d)"
    for papers, books in re.findall(paper + book, " ".join(source.split())):
        ends = [int(n) for n in re.findall(r"\d+", papers)]
        ours = range(ends[0], ends[1] + 1) if " to " in papers else ends
        wanted = set().union(*(same.get(n, set()) for n in ours))
        known = [labels[n] for n in re.findall(r"\d+\.\d+", books)]
        wrong += [f"{papers}: {label}" for label in known if not {label} & wanted]
    return wrong


def test_docstrings_give_the_paper_and_the_book_the_same_equation():
    assert [one for source in SOURCES for one in mistaken(source)] == []
    assert mistaken("(paper eqs. 9 to 11, closed form; book eqs. 6.4 and 6.6)")  # one too low


def test_notation_has_each_symbol_once():
    for part in TEXTS["notation.md"].split("\n## ")[1:]:
        heads = ("symbol", "in the paper's tables")
        symbols = [row[0] for row in rows(part) if row[0] not in heads]
        assert len(symbols) == len(set(symbols)), part.splitlines()[0]


def test_glossary_is_in_order_and_leads_to_what_exists():
    terms = re.findall(r"^(\S.*)\n  \S", TEXTS["glossary.md"], re.M)
    letters = [re.sub(r"[^a-z ]", "", term.lower()) for term in terms]
    assert letters == sorted(letters)
    assert len(set(terms)) == len(terms) >= 60
    cited = set(re.findall(r"\{eq\}`([\w-]+)`", TEXTS["glossary.md"] + TEXTS["notation.md"]))
    assert cited
    assert cited <= set(LABELS)

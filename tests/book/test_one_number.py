"""One quantity has one value, wherever it is quoted: in pages, chapters and the README.

What is read is what a reader reads, the text of the rendered pages. A quantity is a sentence with
a gap; it must be found in as many places as are named, or the sentence was reworded and is no
longer watched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from tests.needs import HTML

pytestmark = pytest.mark.xdist_group("one_number")  # one worker reads the pages
ROOT = Path(__file__).resolve().parents[2]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
ARTICLE = re.compile(r"<article.*</article>", re.DOTALL)
SCRIPTS = re.compile(r"<(pre|script|style)\b.*?</\1>", re.DOTALL)
UNREAD = ".math, .cell_input, .printed"


@dataclass(frozen=True)
class Quantity:
    """A number that several pages quote: the sentences around it, and where they must be."""

    name: str
    sentences: str  # a pattern; its groups are the value, whichever of them is there
    places: tuple[str, ...]


QUANTITIES = (
    Quantity(
        "by how much the product leads",
        r"leads counting wins by (\S+ to \S+) points|product of experts leads, by (\S+ to \S+) p",
        ("index", "what-is-new", "measured-judge", "README"),
    ),
    Quantity(
        "comparisons that Holm's correction is for",
        r"correction for all (\d+) comparisons",
        ("results", "measured-judge", "README"),
    ),
    Quantity(
        "printed gain over counting wins",
        r"beats counting wins by ([\d.]+) points on summaries"
        r"|In print the product gains ([\d.]+) points on SummEval",
        ("results", "12-small-n"),
    ),
    Quantity("slips in the papers", r"(\d+) slips in (?:the )?four papers", ("errata", "letter")),
    Quantity(
        "sentences that were checked",
        r"Of the papers' (\d+) sentences that we could check|of (\d+) claims\b",
        ("results", "claims"),
    ),
    Quantity(
        "predictions of the papers' numbers that fail",
        r"and (\d+) differ, \d+ of them|Of the (\d+) that differ",
        ("results", "README"),
    ),
    Quantity(
        "numbers foretold that lay inside",
        r"(\d+ of \d+) lay in their (?:95% )?intervals",
        ("what-is-new", "judges-foretold"),
    ),
    Quantity(
        "intervals with a chosen prior",
        r"a (?:prior, and a )?95% interval holds (\d+ to \d+)% of the time; average",
        ("what-is-new", "beyond"),
    ),
    Quantity(
        "intervals averaged over it",
        r"average over the strength,? and it holds (\d+ to \d+)%"
        r"|averaged over the strength of the prior hold in (\d+ to \d+)%",
        ("what-is-new", "beyond"),
    ),
    Quantity(
        "calls that choosing pairs saves",
        r"next pair cleverly(?:, by the paper's rule,)? saves (\d+)%|on average, the paper's (\d+)%"
        r"|by the answers so far saves (\d+)%",
        ("what-is-new", "where-the-field-went"),
    ),
    Quantity(
        "hours for 300 long texts",
        r"a hundred words, (\d+) if five hundred|essays of 500 words some (\d+) hours",
        ("index", "bring-your-own"),
    ),
)


def plain(text: str) -> str:
    """One kind of space, minus and apostrophe, and no space before a per cent sign."""
    text = text.translate(
        str.maketrans({"\N{MINUS SIGN}": "-", "\N{RIGHT SINGLE QUOTATION MARK}": "'"})
    )
    return re.sub(r" (?=[%,.;])", "", " ".join(text.split()))


@cache
def texts() -> dict[str, str]:
    """What is read: the article of every page but the log of changes, and the README."""
    found = {}
    for path in sorted(HTML.glob("*.html")):
        article = ARTICLE.search(path.read_text("utf-8"))
        if article is None or path.stem == "changelog":
            continue
        soup = BeautifulSoup(SCRIPTS.sub(" ", article[0]), "html.parser")
        for unread in soup.select(UNREAD):
            unread.decompose()
        found[path.stem] = plain(soup.get_text(" "))
    return found | {"README": plain((ROOT / "README.md").read_text("utf-8"))}


def values(quantity: Quantity, read: dict[str, str]) -> dict[str, list[str]]:
    """The value of a quantity on every page that quotes it, as often as it does."""
    pattern = re.compile(quantity.sentences)
    quoted = {
        page: [next(filter(None, match.groups())) for match in pattern.finditer(text)]
        for page, text in read.items()
    }
    return {page: values for page, values in quoted.items() if values}


def alike(one: str, other: str) -> bool:
    """Whether two values are one, at the fewer decimals of the two."""
    pairs = list(zip(NUMBER.findall(one), NUMBER.findall(other), strict=False))
    if len(pairs) != max(len(NUMBER.findall(one)), len(NUMBER.findall(other))):
        return False
    for a, b in pairs:
        places = min(len(x.partition(".")[2]) for x in (a, b))
        if abs(round(float(a), places) - round(float(b), places)) > 1e-9:
            return False
    return True


@pytest.mark.needs("book")
@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda quantity: quantity.name)
def test_a_quantity_has_one_value(quantity: Quantity) -> None:
    found = values(quantity, texts())
    assert set(quantity.places) <= found.keys(), "a sentence was reworded: watch the new one"
    first, *others = [value for quoted in found.values() for value in quoted]
    assert all(alike(first, other) for other in others), found


@pytest.mark.needs("book")
def test_the_count_of_failures_is_the_length_of_the_list() -> None:
    (count,) = re.findall(r"that we could check, (\d+) fail", texts()["results"])
    page = BeautifulSoup((HTML / "results.html").read_text("utf-8"), "html.parser")
    assert len(page.select(".failures li")) == int(count)


@pytest.mark.needs("book")
def test_what_lay_outside_and_inside_adds_up() -> None:
    (inside, all_) = re.findall(r"(\d+) of (\d+) lay in their", texts()["what-is-new"])[0]
    (outside, too) = re.findall(r"(\d+) of (\d+) and \d+ of \d+ lay outside", texts()["results"])[0]
    assert all_ == too
    assert int(inside) + int(outside) == int(all_)


def test_two_values_would_be_noticed() -> None:
    slips = next(one for one in QUANTITIES if one.name == "slips in the papers")
    read = {"errata": "46 slips in four papers.", "letter": "we noted 45 slips in the four papers"}
    found = values(slips, read)
    assert found == {"errata": ["46"], "letter": ["45"]}
    assert not alike("46", "45")
    assert alike("6", "6.3")
    assert alike("93 to 100", "93 to 100")
    assert not alike("93 to 100", "93 to 99")
    assert not alike("3.9 ± 0.9", "3.9")
    assert plain("3.9 % \N{MINUS SIGN}1") == "3.9% -1"

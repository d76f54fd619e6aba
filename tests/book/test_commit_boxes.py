"""Every "Before you read on" asks before it tells: an answer is taken, and veiled before."""

import re

import pytest

from book.tools.pages import read_page
from book.tools.slides import without_slides
from tests.needs import ROOT

BOX = re.compile(r":::\{admonition\} Before you read on\n(.*?)\n:::\n", re.DOTALL)
PLACE = re.compile(r'<div class="jc-commit" ([^>]*)></div>')
MARK = '\n\n<div class="jc-told"></div>\n\n'
WHY = re.compile(r"\b(because|since)\b")
HEADING = re.compile(r"^#{1,4} ", re.MULTILINE)
PAGES = [
    *sorted((ROOT / "notebooks").glob("[0-9]*.md")),  # the chapters
    *(ROOT / "book" / name for name in ("beyond.md", "read-again.md")),
]
# What gives an answer away, in the words, captions and pictures of its page.
TELLS = {
    "01-reader": r"It is Reader 1|to the kind Reader 1|Ben and Dan at reader 1|marker =",
    "01-twice": r"V_\{\\text\{grade\}\}|about as much either way|as much as one grade",
    "01-authors": r"ask about both|sampled at temperature 1|took part in 30",
    "02-places": r"[Aa]lmost nothing happens|With Ada shown first and with Dan shown first",
    "02-bias": r"It is the bias|hardly sees a difference|difference \{difference",
    "02-temperature": r"no answer crosses|does not notice",
    "02-space": r"tokens without the space|like any other, because",
    "02-draws": r"It takes four|draw\{'s'",
    "03-second": r"with Ben second|Ben and Cleo change places|1\.5/3|another that says",
    "03-levels": r"Only the dataset level|inside the article all fall",
    "03-connected": r"It is 40 per cent|of all sets fall apart|\"any set\"|from above 0\.9",
    "03-systems": r"Yes, they will|knows only the systems|one judge beats|systems alone",
    "03-calls": r"It needs about|most clearly below 100 calls",
    "04-cleo": r"It is 9\.3|expected \{10 \* share",
    "04-finite": r"for a good judge hardly ever|Good judges break the model",
    "04-arrow": r"It is a single one|a way back|Dan has also beaten|Dan beats Ada",
    "04-large": r"They follow the wins minus",
    "04-weak": r"The weak ones",
    "05-ring": r"0\.25|a quarter of the excess",
    "05-product": r"The product is narrower|narrower than each expert|sd / np\.sqrt\(3\)",
    "06-score": r"4 s_A = 0\.8",
    "06-least": r"\bR = 1\$|it is the largest|Ben and Dan 1\b",
    "06-full": r"Nothing is left, because|\bin disguise|are average probabilities|rank alike",
    "07-claims": r"underconfident|overconfident|soft-eighty-[14]",
    "07-small": r"both orders averaged|[Ff]ar below the diagonal|taste for the first place",
    "08-liar": r"Ben wins|It is Ben|weighs more than several|poe\.fit\(answered",
    "08-floor": r"All between|flat floor|is flat at 0\.3",
    "08-slips": r"slips stand out|Laplacian line is clearly the highest",
    "09-left": r"There is, in how sure|if it lifts them",
    "09-rings": r"they contain rings|quality cancels",
    "09-averaged": r"are the same numbers, and must be|\"both orders\"\}",
    "09-once": r"It is the joint fit|with the joint fit|the joint fit about",
    "10-chain": r"3 ohms apart",
    "10-price": r"times ideal|down to|greedy at 2\.0",
    "11-tokens": r"265|five second ones",
    "11-scores": r"Read as a tree they cost|judges-topical-shared",
    "11-place": r"all but vanished|put first what varies least",
    "11-roofline": r"Generating is expensive|wait for its memory|waits for its memory",
    "12-guess": r"Pure guessing reaches|looks like a guesser",
    "12-contexts": r"reach this|dots of guesses|the tables in which a guesser",
    "12-scoring": r"sixty dialogues cannot tell",
    "12-gain": r"small-gain-summ|By about 6|\(PoE-BT\) gains with",
    "13-exact": r"For Ben and Dan it is exact|exact \{exact",
    "13-sort": r"inherits a wrong decision",
    "14-bet": r"one chance in six|long tails",
    "14-sharper": r"a sharper judge does not|treats every answer as",
    "14-looks": r"crowns one of two equals",
    "15-three": r"outvotes two mediocre|= 4 \.",
    "15-opposite": r"None, because|A square root",
    "15-llmbar": r"most trusted columns are the worst|below chance",
    "15-fourth": r"an adversary cancels",
    "15-reorder": r"It cannot, because|never reorders",
    "15-orders": r"pay for the other order|no average removes",
    "beyond-believed": r"is believed after n answers|of 0\.400|It is half",
    "05-decided": r"where certainty is earned, and loses",
}


def shown(path):
    """A page as its readers see it: without the cells of its slides."""
    page = read_page(path)
    if not page.executes:
        return page.text
    cells = without_slides(page.notebook()).cells
    return "\n\n".join(
        cell.source if cell.cell_type == "markdown" else f"```\n{cell.metadata}{cell.source}\n```"
        for cell in cells
        if "remove-cell" not in cell.metadata.get("tags", [])
    ).replace("\\n", "\n")


def without_reason(text):
    """Boxes that the next sentence does not answer with a reason."""
    found = []
    for box in BOX.finditer(text):
        first = re.split(r"(?<=\.)\s|\n\n", text[box.end() :].lstrip(), maxsplit=1)[0]
        if first.startswith("```") or not WHY.search(first):
            found.append(name_of(box[0]))
    return found


def name_of(box):
    found = re.search(r'data-name="([^"]+)"', box)
    return found[1] if found else ""


def faults(text):
    """What is wrong with the boxes of a page, in words."""
    found = []
    for box in BOX.findall(text):
        places = PLACE.findall(box)
        if len(places) != 1:
            found.append(f"no place for an answer: {box[-60:]!r}")
            continue
        data = dict(re.findall(r'data-(\w+)="([^"]*)"', places[0]))
        options = data.get("options", "").split("|")
        if data["answer"] in options and len(set(options)) == len(options) > 1:
            continue
        number = re.fullmatch(r"-?\d+(\.\d+)?", data["answer"])
        if options != [""] or not number or "tolerance" not in data:
            found.append(f"{data['name']}: {data['answer']!r} cannot be answered")
    return found


def leaks(text, tells):
    """Where an answer of a page can be read before it is given, in words."""
    boxes, found = list(BOX.finditer(text)), []
    ends = [box.start() for box in boxes[1:]] + [len(text)]
    for box, end in zip(boxes, ends, strict=True):
        name = name_of(box[0])
        veiled, mark, after = text[box.end() : end].partition(MARK)
        if not mark or MARK in after:
            found.append(f"{name}: one end mark must follow")
            continue
        above = text[: box.start()] + PLACE.sub("", box[0])
        section = HEADING.split(after)[0]
        for where, part in (("above", above), ("below the veil", section)):
            if given := re.search(tells[name], part):
                found.append(f"{name}: {given[0]!r} stands {where}")
        if not re.search(tells[name], veiled):
            found.append(f"{name}: the veil covers no answer")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_question_takes_an_answer(page):
    assert not faults(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_an_answer_gives_its_reason_in_its_first_sentence(page):
    assert not without_reason(shown(page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_answer_is_read_before_it_is_given(page):
    assert not leaks(shown(page), TELLS)


def test_names_are_used_once():
    names = [
        name
        for page in PAGES
        for name in re.findall(r'jc-commit" data-name="([^"]+)"', page.read_text("utf-8"))
    ]
    assert len(names) > 40
    assert len(set(names)) == len(names)
    assert set(names) == set(TELLS)


@pytest.mark.parametrize(
    "place",
    [
        "",
        '<div class="jc-commit" data-name="a" data-options="yes|no" data-answer="maybe"></div>',
        '<div class="jc-commit" data-name="a" data-answer="about ten"></div>',
        '<div class="jc-commit" data-name="a" data-answer="10"></div>',
        '<div class="jc-commit" data-name="a" data-options="yes|yes" data-answer="yes"></div>',
    ],
)
def test_a_box_without_an_answer_is_noticed(place):
    text = f":::{{admonition}} Before you read on\n:class: question\n\nWhy?\n\n{place}\n:::\n"
    assert faults(text)


def test_an_answer_without_a_reason_is_noticed():
    """The negative control: the reason comes later, or code comes first."""
    box = ':::{admonition} Before you read on\n\nHow?\n\n<div data-name="a"></div>\n:::\n\n'
    assert without_reason(f"{box}It is 0.4, because\nof this.") == []
    for after in ("It is 0.4. It is because", "40\n\nbecause", "```\nbecause\n```\n\n40, because"):
        assert without_reason(box + after) == ["a"]


ASKED = """## Rings

Five answers.

:::{admonition} Before you read on
:class: question

How much?

<div class="jc-commit" data-name="a" data-answer="10" data-tolerance="1"></div>
:::

A sum.

It is 10.
"""


def test_an_answer_above_its_veil_or_below_it_is_noticed():
    """The negative control."""
    tells = {"a": r"\b10\b"}
    good = f"{ASKED.rstrip()}{MARK}And so on.\n\n## Later\n\nThe 10 again.\n"
    assert leaks(good, tells) == []
    for bad in (
        ASKED,
        f"{ASKED.rstrip()}{MARK}Again: 10.\n\n## Later\n",
        ASKED.replace("\n\nIt is", f"{MARK}It is"),
        good.replace("Five answers.", "Ten, or 10."),
        good.replace("How much?", "Is it 10?"),
        good.replace("It is 10.", "It is so."),
        good + ASKED.replace("## Rings", MARK),
    ):
        assert leaks(bad, tells), bad

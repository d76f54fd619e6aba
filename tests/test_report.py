"""The report: true to the fit, self-contained, escaped, and readable without seeing it."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.special import expit, stdtr, stdtrit

import poe
from poe import report as module
from poe.judges import Answer, Store, Text, TextJudge, prompts
from poe.judges.demo import DemoJudge
from poe.report import next_pairs, position, prospects, report

EVIL = "</style><script>alert('1')</script> & \"b\" <b>x</b>"
VOID = {"meta", "br", "img", "link"}


class Little(DemoJudge):
    """The demo judge, of whose probability little is on the labels."""

    def answer(self, questions):
        for k, said in super().answer(questions):
            yield k, Answer(tuple(x + np.log(0.1 + 0.05 * (k % 4)) for x in said.log_p), tokens=5)


def ranked(n=12, *, judge=None, budget=60, ids=None, attribute="easier to read", **options):
    words = ["cat", "considerable", "tree", "documentation", "sea"]
    texts = [
        Text(
            ids[k] if ids else f"t{k}",
            " ".join(words[(k * j) % 5] for j in range(1, 9)) + f" {k}. " + (EVIL if ids else ""),
        )
        for k in range(n)
    ]
    prompt = prompts.for_attribute(attribute)
    judged = TextJudge(judge or DemoJudge(), prompt, texts, store=Store(":memory:"))
    return poe.rank(texts, judged, budget=budget, **options)


@pytest.fixture(scope="module")
def found():
    return ranked()


def page_of(*found, **options):
    given = {"attribute": "easier to read", "command": "poe rank x.csv", "made": "2030-01-02"}
    return report(found, **{**given, **options})


class Page(HTMLParser):
    """Tags, attributes, visible text, and what is wrong with the nesting."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.wrong, self.words = [], [], [], []
        self.feed(text)
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"/{tag}")

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def all(self, name):
        return [attrs for tag, attrs in self.tags if tag == name]


# The page ----------------------------------------------------------------------------------


def test_it_is_well_formed_and_loads_nothing(found):
    text = page_of(found)
    page = Page(text)
    assert page.wrong == []
    assert not [a for _, a in page.tags if {"src", "href", "srcset", "onload"} & set(a)]
    assert not {"script", "link", "iframe", "img"} & {tag for tag, _ in page.tags}
    assert "http" not in text
    assert "url(" not in text
    assert "@import" not in text
    assert Page("<p><b>x</p>").wrong, "the check finds what is not well formed"


def test_it_is_made_for_all_readers(found):
    page = Page(page_of(found))
    assert page.all("html")[0]["lang"] == "en"
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["aria-labelledby"] for a in page.all("section")} <= set(ids)
    for attrs in page.all("svg"):
        assert attrs.get("aria-label") or attrs.get("aria-hidden") == "true"
    assert all(a["scope"] in ("col", "row") for a in page.all("th"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert max(np.diff(levels)) <= 1
    assert all(a["tabindex"] == "0" for a in page.all("div") if a.get("class") == "scroll")


def test_every_part_is_there(found):
    text = page_of(found)
    for said in (
        "demo (readability), not a language model",
        "simulated: no language model was asked",
        "no evidence about language models",
        "how well the judge agrees with people",
        "Which text is easier to read, Text A or Text B?",
        "poe rank x.csv",
        "2030-01-02",
        f"poe {poe.__version__}",
        found.judged.prompt.digest[:12],
    ):
        assert said in text


def test_what_users_write_is_escaped():
    ids = [EVIL, "\"'<i>", "a & b", "<!--", "t4"]
    found = ranked(5, ids=ids, budget=20)
    text = page_of(found, attribute=EVIL, command=f"poe rank {EVIL}", thing="<u>text")
    page = Page(text)
    assert page.wrong == []
    assert not {"script", "b", "i", "u"} & {tag for tag, _ in page.tags}
    assert text.count("<style>") == text.count("</style>") == 1
    shown = "".join(page.words)
    for name in ids:
        assert name in shown
    assert shown.count(EVIL) >= 6, "ids, texts, the attribute and the command are all shown"
    assert "script" in {tag for tag, _ in Page(f"<p>{EVIL}</p>").tags}, "the check finds markup"


def test_a_judge_that_hardly_says_a_label():
    text = page_of(ranked(judge=Little()))
    assert "Much of the time the judge was about to say something else" in text
    assert "below 0.5 in 60 of 60 answers" in text
    assert "Much of the time" not in page_of(ranked())


def test_stopping_early_is_said_to_be_optimistic(found):
    early = ranked(until=[poe.top_known(1, 0.5)])
    assert "a little too high" in page_of(early)
    assert "a little too high" not in page_of(found)


# The facts ---------------------------------------------------------------------------------


def test_neighbours_are_those_of_the_fit(found):
    near, order = module.neighbours(found.fit, 0.95), found.fit.ranking()
    assert [upper for upper, *_ in near] == order[:-1]
    assert [lower for _, lower, *_ in near] == order[1:]
    c = found.fit.covariance()
    for (_, _, p, verdict), i, j in zip(near, *places_of(order, found), strict=True):
        gap = found.fit.scores[i] - found.fit.scores[j]
        error = np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j])
        assert p == pytest.approx(stdtr(found.fit.freedom, gap / error))
        assert (verdict == "settled") == (p >= 0.95)


def places_of(order, found):
    places = [found.fit.items.index(name) for name in order]
    return places[:-1], places[1:]


def test_position_in_probabilities(found):
    at = position(found)
    assert at.equal.rate == pytest.approx(expit(-found.fit.bias), abs=1e-3)
    half = stdtrit(found.fit.freedom, 0.975) * found.fit.bias_se
    low = expit(-found.fit.bias - half)
    assert at.equal.low == pytest.approx(low, abs=1e-3)
    assert at.equal.low < at.equal.rate < at.equal.high
    made = found.comparisons
    assert at.counted.rate == pytest.approx(np.mean(made.p > 0.5))
    assert position(ranked(expert="laplacian")).equal is None


def test_prospects_are_what_a_fit_with_more_answers_gives():
    """Add the next comparisons with the answers that agree, and fit: the same standard error."""
    found = ranked(10, budget=30, covariance="curvature")
    fit = found.fit
    now, later, *_ = prospects(found)
    assert (now.calls, later.calls) == (0, 10)
    more = module._upcoming(found, 10)
    d = fit.scores[more[:, 0]] - fit.scores[more[:, 1]]
    c = fit.comparisons
    grown = poe.Comparisons.from_pairs(
        np.vstack([c.pairs, more]),
        np.append(c.p, expit(d - fit.bias)),
        items=c.items,
    )

    def error(comparisons):
        again = poe.fit(comparisons, bias=fit.bias, covariance="curvature")
        return np.sqrt((again.standard_errors() ** 2).mean())

    assert later.error / now.error == pytest.approx(error(grown) / error(c), rel=1e-4)


def test_nothing_is_left_to_ask():
    found = ranked(4, budget=12)
    assert len(prospects(found)) == 1
    assert len(next_pairs(found, 5)) == 0
    assert "no more to say" in page_of(found)

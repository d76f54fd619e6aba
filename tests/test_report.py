"""The report: true to the fit, self-contained, escaped, and readable without seeing it."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.special import expit

import poe
from poe.judges import prompts
from poe.judges.asking import TextJudge
from poe.judges.demo import DemoJudge
from poe.judges.questions import Answer, Text
from poe.judges.ranking import TextRanking, rank_texts
from poe.report import facts, figures, report, svg
from poe.report.html import Markup, join, table, tag
from poe.report.sections import percent

EVIL = "</style><script>alert('1')</script> & \"b\" <b>x</b>"
VOID = {"meta", "br", "img", "link"}


class Memory:
    """A store in memory."""

    def __init__(self):
        self.kept = {}

    def missing(self, judge, questions):
        return [k for k, question in enumerate(questions) if question.key not in self.kept]

    def ask(self, judge, questions, progress=None):
        new = [questions[k] for k in self.missing(judge, questions)]
        for k, answer in judge.answer(new):
            self.kept[new[k].key] = answer
        return [self.kept[question.key] for question in questions]


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
    judged = TextJudge(judge or DemoJudge(), prompt, texts, store=Memory())
    return rank_texts(judged, budget=budget, **options)


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
    for anchor in ("ranking", "certainty", "coverage", "position", "mass", "convergence", "next",
                   "texts", "method"):  # fmt: skip
        assert f'id="{anchor}"' in text
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


def test_long_texts_are_cut():
    judged = TextJudge(
        DemoJudge(),
        prompts.for_attribute("clearer"),
        [Text("a", "word " * 5000), Text("b", "Other."), Text("c", "A third.")],
        store=Memory(),
    )
    text = page_of(rank_texts(judged, budget=6))
    assert len(text) < 60_000
    assert "[…]" in text


def test_several_contexts():
    made = []
    for c in range(2):
        texts = [Text(f"{c}-{k}", "very " * k + "end.") for k in range(4)]
        prompt = prompts.for_attribute("clearer", context="Task")
        context = Text(f"context-{c + 1}", f"Write <b>about</b> {c}")
        judged = TextJudge(DemoJudge(), prompt, texts, store=Memory(), context=context)
        made.append(rank_texts(judged, budget=12, name=context.id))
    page = Page(page_of(*made))
    assert page.wrong == []
    headings = "".join(page.words)
    assert "Context 1: Write <b>about</b> 0" in headings
    assert "8 texts ranked" in headings
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_a_judge_that_hardly_says_a_label():
    text = page_of(ranked(judge=Little()))
    assert "Much of the time the judge was about to say something else" in text
    assert "below 0.5 in 60 of 60 answers" in text
    assert "Much of the time" not in page_of(ranked())


def test_stopping_early_is_said_to_be_optimistic(found):
    early = ranked(until=[poe.top_known(1, 0.5)])
    assert "a little too high" in page_of(early)
    assert "a little too high" not in page_of(found)


def test_the_palette_is_the_books():
    from pathlib import Path

    plots = pytest.importorskip("poe.plots")
    css = (Path(poe.__file__).parent / "report" / "report.css").read_text()
    assert plots.METHODS["PoE-BT"].colour.lower() in css
    assert plots.METHODS["BT"].colour.lower() in css
    assert plots.METHODS["avg-prob"].colour.lower() in css


def test_matplotlib_is_not_needed():
    import subprocess
    import sys

    code = "import poe.report, poe.cli, sys; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# The facts ---------------------------------------------------------------------------------


def test_neighbours_are_those_of_the_fit(found):
    near = facts.neighbours(found.fit)
    order = found.fit.ranking()
    assert near["upper"].tolist() == order[:-1]
    assert near["lower"].tolist() == order[1:]
    for row in near.itertuples():
        assert row.p == pytest.approx(found.fit.prob_better(row.upper, row.lower))
    assert (near["gap"] >= 0).all()


def test_top_sets_are_those_of_the_fit(found):
    sets = facts.top_sets(found.fit)
    assert [k for k, _ in sets] == list(range(1, 11))
    assert sets[2][1] == found.fit.prob_top_set(3)
    assert len(facts.top_sets(ranked(3, budget=6).fit)) == 2


def test_position_in_probabilities(found):
    at = facts.position(found)
    assert at.equal.rate == pytest.approx(expit(-found.fit.bias), abs=1e-3)
    low = expit(-found.fit.bias - 1.959964 * found.fit.bias_se)
    assert at.equal.low == pytest.approx(low, abs=1e-3)
    assert at.equal.low < at.equal.rate < at.equal.high
    made = found.ranking.comparisons
    assert at.counted.rate == pytest.approx(np.mean(made.p > 0.5))
    assert facts.position(ranked(expert="laplacian")).equal is None


def test_a_gaussian_bias_is_a_probability_too():
    found = ranked(expert="gaussian", judge=DemoJudge(lean=1.0, noise=0.2))
    at = facts.position(found)
    alpha = found.fit.expert.alpha if hasattr(found.fit.expert, "alpha") else 1.0
    assert at.equal.rate == pytest.approx(0.5 - found.fit.bias / alpha, abs=2e-3)
    assert at.equal.low > 0.5


def test_prospects_are_what_a_fit_with_more_answers_gives():
    """Add the next comparisons with the answers that agree, and fit: the same standard error."""
    found = ranked(10, budget=30, intervals="decisions")
    fit = found.fit
    now, later, *_ = facts.prospects(found)
    assert (now.calls, later.calls) == (0, 10)
    more = facts._upcoming(found, 10)
    d = fit.scores[more[:, 0]] - fit.scores[more[:, 1]]
    c = fit.comparisons
    grown = poe.Comparisons.from_pairs(
        np.vstack([c.pairs, more]),
        np.append(c.p, expit(d - fit.bias)),
        items=c.items,
    )

    def error(comparisons):
        again = poe.fit(comparisons, bias=fit.bias)
        return np.sqrt((again.standard_errors() ** 2).mean())

    assert later.error / now.error == pytest.approx(error(grown) / error(c), rel=1e-4)


def test_nothing_is_left_to_ask():
    found = ranked(4, budget=12)
    assert len(facts.prospects(found)) == 1
    assert len(facts.next_pairs(found, 5)) == 0
    assert "no more to say" in page_of(found)


def test_next_pairs_are_new(found):
    pairs = facts.next_pairs(found, 6)
    asked = {
        frozenset(pair)
        for pair in found.ranking.comparisons.to_table()[["first", "second"]].to_numpy()
    }
    upcoming = [frozenset(pair) for pair in pairs[["first", "second"]].to_numpy()]
    assert len(asked) == 60 < 66
    assert sum(pair not in asked for pair in upcoming) == 6


def test_history_ends_where_the_ranking_does(found):
    rows = found.history
    assert rows["asked"].tolist() == found.ranking.rounds["asked"].tolist()
    assert rows["agreement"].iloc[-1] == pytest.approx(1.0)
    last = np.sqrt((found.fit.standard_errors() ** 2).mean())
    assert rows["error"].iloc[-1] == pytest.approx(last)


def test_scores_of_an_unknown_few_are_not_compared():
    found = ranked(4, budget=12)
    some = TextRanking(**{**found.__dict__, "gold": {"t0": 1.0, "t1": 2.0}})
    assert some.agreement() is None


# Drawing -----------------------------------------------------------------------------------


def test_scales_and_ticks():
    scale = svg.around([-1.0, 3.0, float("nan")])
    assert (scale.low, scale.high) == (-1.0, 3.0)
    assert scale.x(-1.0) == "2.00%"
    assert scale.x(3.0) == "98.00%"
    assert scale.x(99.0) == "98.00%"
    assert float(scale.y(3.0, 100)) < float(scale.y(-1.0, 100))
    for low, high in ((-1.0, 3.0), (0.0, 0.017), (-4e4, 9e5), (2.0, 2.0)):
        marks = svg.ticks(svg.around([low, high]))
        assert 3 <= len(marks) <= 12
        assert np.allclose(np.diff(marks), np.diff(marks)[0])


def test_dots_are_where_their_numbers_are():
    drawn = figures.strips([("a", 1.0, 0.0, 2.0)], svg.Scale(0.0, 4.0), label="x")
    assert 'cx="26.00%"' in drawn, "2% + 96% / 4"
    assert 'x1="2.00%"' in drawn
    assert 'x2="50.00%"' in drawn


def test_bars_are_as_high_as_their_counts():
    drawn = figures.histogram(
        np.array([0, 0, 1]), np.array([-0.5, 0.5, 1.5]), label="x", below=("0", "1"), unit="y"
    )
    heights = [float(h) for h in re.findall(r'height="([\d.]+)" class="main fill"', drawn)]
    assert heights[0] == pytest.approx(2 * heights[1])


def test_coverage_puts_the_first_in_the_row():
    c = poe.Comparisons(first=["b"], second=["a"], p=[0.2], items=["a", "b"])
    drawn = figures.coverage(c, [1, 0], label="x")  # b is the best
    assert re.search(r'x="1" y="0" width="1" height="1" class="second"', drawn)
    assert "b before a: P(first is better) = 0.20" in drawn


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "under 1%"), (0.004, "under 1%"), (0.5, "50%"), (0.994, "99%"), (1.0, "over 99%")],
)
def test_percentages_never_claim_certainty(share, shown):
    assert percent(share) == shown


def test_strings_are_escaped_and_markup_is_not():
    assert tag("p", "<b>", class_='a"b') == '<p class="a&quot;b">&lt;b&gt;</p>'
    assert tag("p", tag("b", "x"), None, 3, ["y", "<"]) == "<p><b>x</b>3y&lt;</p>"
    assert join([Markup("<i>")]) == "<i>"
    assert tag("td", aria_hidden=False, tabindex=0) == '<td tabindex="0"></td>'
    made = table(["a"], [["<x>"]], caption="<c>", numbers=[])
    assert "<x>" not in made
    assert "&lt;c&gt;" in made

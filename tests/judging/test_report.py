"""The report: true to the fit, self-contained, escaped, and readable without seeing it."""

import base64
import dataclasses
import errno
import itertools
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, stdtrit
from scipy.stats import pearsonr

import judging
from judging import prompts
from judging.judges import Answer, Store, Text, TextJudge
from judging.judges.demo import DemoJudge
from judging.practice.asking.ending import Stop
from judging.practice.cli import main
from judging.practice.findings import Partial
from judging.practice.ranking import findings, readings, words
from judging.practice.ranking.readings import next_pairs, position
from judging.practice.ranking.report import _orders, _to_label, report
from judging.practice.ranking.settings import Asking, Fitting
from judging.practice.sentences import say

EVIL = "</style><script>alert('1')</script> & \"b\" <b>x</b>"
LIMIT = Stop("limit", "the limit of 60 calls is reached")
VOID = {"meta", "br", "img", "link", "input"}


def ranked(n=12, *, judge=None, budget=60, ids=None, attribute="easier to read", **options):
    words = ["cat", "considerable", "tree", "documentation", "sea"]
    texts = [
        Text(
            ids[k] if ids else f"t{k}",
            " ".join(words[(k * j) % 5] for j in range(1, 9)) + f" {k}. " + (EVIL if ids else ""),
        )
        for k in range(n)
    ]
    options.setdefault("orders", "one")
    prompt = prompts.for_attribute(attribute)
    judged = TextJudge(judge or DemoJudge(), prompt, texts, store=Store(":memory:"))
    asking, fitting = (
        kind(**{name: options.pop(name) for name in kind.__annotations__ if name in options})
        for kind in (Asking, Fitting)
    )
    return judging.rank(texts, judged, budget=budget, asking=asking, fitting=fitting, **options)


@pytest.fixture(scope="module")
def found():
    return ranked()


def page_of(*found, **options):
    given = {"attribute": "easier to read", "command": "judging rank x.csv", "made": "2030-01-02"}
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
    links = [a for _, a in page.tags if {"src", "href", "srcset", "onload"} & set(a)]
    assert [a["href"][:21] for a in links] == ["data:text/csv;charset"], "the ranking itself"
    assert not {"script", "link", "iframe", "img"} & {tag for tag, _ in page.tags}
    assert "http" not in text.replace("http-equiv", "")
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


def test_what_users_write_is_escaped():
    ids = [EVIL, "\"'<i>", "a & b", "<!--", "t4"]
    found = ranked(5, ids=ids, budget=20)
    text = page_of(found, attribute=EVIL, command=f"judging rank {EVIL}", thing="<u>text")
    page = Page(text)
    assert page.wrong == []
    assert not {"script", "b", "i", "u"} & {tag for tag, _ in page.tags}
    assert text.count("<style>") == text.count("</style>") == 1
    shown = "".join(page.words)
    for name in ids:
        assert name in shown
    assert shown.count(EVIL) >= 6, "ids, texts, the attribute and the command are all shown"
    assert "script" in {tag for tag, _ in Page(f"<p>{EVIL}</p>").tags}, "the check finds markup"


def test_every_pair_is_said_only_of_every_pair():
    c = list(itertools.combinations(range(4), 2))
    both = [*c, *((j, i) for i, j in c)]
    assert _orders(len(both), len(c), 4).case == "all"
    assert _orders(4, 2, 4).case == "both"


class Blind(DemoJudge):
    """A judge that nearly always says the first, whatever it reads."""

    def answer(self, questions):
        for k, said in super().answer(questions):
            p = expit(4.0 + 0.2 * np.subtract(*said.log_p))
            yield k, Answer((np.log(p), np.log1p(-p)), tokens=5)


def test_how_much_of_a_judge_is_its_place():
    found = ranked(judge=Blind())
    d = np.abs(np.subtract.outer(found.fit.scores, found.fit.scores))
    i, j = found.comparisons.pairs.T
    assert np.mean(d[i, j] < -found.fit.bias) > 0.9
    first = np.mean(found.comparisons.p > 0.5)
    assert readings.drowned(found.fit, found.level) == 2 * first - 1 > 0.9


def test_the_first_line_says_what_a_manager_wants(found):
    advice, first, settled, people = findings.findings(found).verdict
    assert (first.case, first.items.names, first.of) == ("probable", ("t5",), 12)
    assert first.p == found.fit.prob_top(1).max()
    i, j = np.triu_indices(12, 1)
    names = found.fit.items
    better = [found.fit.prob_better(names[a], names[b]) for a, b in zip(i, j, strict=True)]
    assert settled.share == np.mean([max(p, 1 - p) >= 0.95 for p in better])
    page = page_of(found, thing="essay")
    assert all(say(one, "essay") in page for one in (advice, first, settled, people))
    part = dataclasses.replace(found, stop=LIMIT, gold={f"t{k}": k for k in range(12)})
    assert Partial() in findings.findings(part).verdict
    assert "This ranking is partial" in page_of(part)


def test_many_texts_are_not_many_rows_but_all_are_there(tmp_path):
    ids = [EVIL, "=1+1", *(f"essay {k}" for k in range(298))]
    found = ranked(300, ids=ids, budget=1200, rule="random", batch=1200, top=5)
    text = judging.report(found, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == text
    page = Page(text)
    assert page.wrong == []
    assert len(page.all("tr")) < 250
    assert "default-src 'none'; style-src 'unsafe-inline'\"" in text
    table = found.to_frame()
    (link,) = (a["href"] for a in page.all("a"))
    saved = tmp_path / "again.csv"
    saved.write_bytes(base64.b64decode(link.partition("base64,")[2]))
    again = pd.read_csv(saved)
    names = [" ".join(name.removeprefix("'").split()) for name in again["name"]]
    assert names == [" ".join(name.split()) for name in table["name"]]
    np.testing.assert_allclose(again["score"], table["score"])
    shown = {
        int(row)
        for row in re.findall(r'<th scope="row" data-label="Rank" class=num>(\d+)</th>', text)
    }
    maybe = table.query("rank_low <= 5 < rank_high")["rank"].tolist()
    assert {1, 20, 291, 300} <= shown
    assert set(maybe[:20]) <= shown, "those around the open place are shown"


# The facts ---------------------------------------------------------------------------------


def test_neighbours_are_those_of_the_fit(found):
    near, order = readings.neighbours(found.fit, 0.95), found.fit.ranking()
    places = [found.fit.items.index(name) for name in order]
    assert [upper for upper, *_ in near] == order[:-1]
    assert [lower for _, lower, *_ in near] == order[1:]
    for (upper, lower, p, verdict), i, j in zip(near, places[:-1], places[1:], strict=True):
        gap = found.fit.scores[i] - found.fit.scores[j]
        z = gap / found.fit.difference_se(upper, lower)
        assert p == pytest.approx(found.fit.luck.better(z))
        assert (verdict == "settled") == (p >= 0.95)


def test_it_says_from_when_on_the_order_was_nearly_the_final_one(found):
    asked, agreement = (found.history[name].to_numpy() for name in ("asked", "agreement"))
    lasting = [(agreement[k:] >= 0.95).all() for k in range(len(asked))]
    assert not lasting[0]
    said = " ".join("".join(Page(page_of(found)).words).split())
    assert f"calls, at least 0.95 from {asked[lasting.index(True)]} on." in said


def test_position_in_probabilities(found):
    at = position(found.fit, found.level)
    assert at.equal.rate == pytest.approx(expit(-found.fit.bias), abs=1e-3)
    half = stdtrit(found.fit.freedom, 0.975) * found.fit.bias_se
    low = expit(-found.fit.bias - half)
    assert at.equal.low == pytest.approx(low, abs=1e-3)
    assert at.equal.low < at.equal.rate < at.equal.high
    made = found.comparisons
    assert at.counted.rate == pytest.approx(np.mean(made.p > 0.5))
    assert position(ranked(expert="laplacian").fit, 0.95).equal is None


def test_nothing_is_left_to_ask():
    found = ranked(4, budget=12)
    assert len(next_pairs(found, 5)) == 0
    assert "no more to say" in page_of(found)


# In Python --------------------------------------------------------------------------------------


def test_a_ranking_shows_itself_in_a_few_lines(tmp_path):
    found = ranked(30, ids=[EVIL, *(f"essay {k}" for k in range(29))], budget=120)
    assert len(repr(found)) < 250
    assert "30 texts" in repr(found)
    small = Page(found._repr_html_())
    assert small.wrong == []
    assert len([tag for tag, _ in small.tags if tag == "tr"]) == 1 + 8 + 1 + 3
    assert "script" not in {tag for tag, _ in small.tags}
    assert "partial" in repr(dataclasses.replace(found, stop=LIMIT))


# On the command line ------------------------------------------------------------------------------


def test_a_report_that_fails_costs_neither_the_ranking_nor_the_table(folder, capsys, monkeypatch):
    names = ["=cmd|'x'!A0", "@b", "-c", "plain"]
    rows = "".join(f"{name},Text {k} {'very ' * k}long.\n" for k, name in enumerate(names))
    Path("t.csv").write_text("ID,Essay\n" + rows)
    asked = ["rank", "t.csv", "--column", "text=essay", "--attribute", "longer"]
    asked += ["--judge", "demo", "--quiet", "--out", "s.csv"]
    assert main(asked) == 0
    Path("r.html").write_text("as before")
    write = Path.write_bytes

    def full(self, content):
        if "html" in self.name:
            write(self, content[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    capsys.readouterr()
    Path("s.csv").unlink()
    assert main([*asked, "--report", "r.html"]) == 1
    shown = capsys.readouterr()
    assert all(name in shown.out for name in names), "the ranking was printed"
    assert shown.err == "judging: r.html was not written: No space left on device\n"
    assert len(pd.read_csv("s.csv")) == 4
    assert not [line for line in Path("s.csv").read_text().splitlines() if ",=" in line]
    assert {file.name for file in folder.iterdir()} >= {"s.csv", "t.csv"}
    assert [(path.name, path.read_text()) for path in folder.glob("*html*")] == [
        ("r.html", "as before")
    ]


def test_no_escape_sequence_reaches_the_terminal(folder, capsys):
    evil = "a\x1b]0;title\x07b"
    Path("t.csv").write_text(f"id,te\x1b[31mxt\n{evil},One\nb,Two\n")
    asked = ["rank", "t.csv", "--attribute", "longer", "--judge", "demo", "--quiet"]
    assert main(asked) == 1
    Path("t.csv").write_text(f"id,text\n{evil},One\nb,Two\n")
    assert main(asked) == 1
    shown = capsys.readouterr()
    assert "control character" in shown.err
    assert "\x1b" not in shown.out + shown.err
    assert "\x1b" not in words.in_text([ranked(5, ids=["\u202ea", *"bcde"], budget=20)])
    assert "\u202e" not in words.in_text([ranked(5, ids=["\u202ea", *"bcde"], budget=20)])


def of_lengths(*scores_and_words):
    """Rankings of which nothing is known but scores and numbers of words."""
    for scores, many in scores_and_words:
        texts = [Text(f"t{k}", "a " * count) for k, count in enumerate(many)]
        ids = tuple(text.id for text in texts)
        yield SimpleNamespace(
            fit=SimpleNamespace(items=ids, scores=np.array(scores, dtype=float)),
            judged=SimpleNamespace(texts=texts[::-1]),
        )


def test_scores_that_go_with_length_are_noticed():
    rng = np.random.default_rng(0)
    many = rng.integers(20, 200, size=(3, 14))
    some = 2.0 * np.log(many) + 0.5 * rng.standard_normal(many.shape)
    one = readings.along_length(of_lengths((some[0], many[0])))
    assert one == pytest.approx(pearsonr(some[0], np.log(many[0])).statistic)
    r = [pearsonr(s, np.log(w)).statistic for s, w in zip(some, many, strict=True)]
    assert readings.along_length(of_lengths(*zip(some, many, strict=True))) == pytest.approx(
        np.mean(r)
    )
    assert readings.along_length(of_lengths((-some[0], many[0]))) == pytest.approx(-one)
    # What may be chance, or is weak, is no news: three texts in order; 400 at r about 0.3.
    assert readings.along_length(of_lengths(([1, 2, 3.2], [20, 40, 80]))) is None
    weak = rng.integers(20, 200, size=400)
    noisy = (np.log(weak) - np.log(weak).mean()) / np.log(weak).std() + 3 * rng.standard_normal(400)
    assert readings.along_length(of_lengths((noisy, weak))) is None
    assert readings.along_length(of_lengths((some[0], np.full(14, 50)))) is None


def test_chance_alone_is_hardly_ever_taken_for_a_taste_for_length():
    rng, told = np.random.default_rng(1), 0
    for _ in range(1000):
        told += (
            readings.along_length(of_lengths((rng.standard_normal(12), rng.integers(20, 200, 12))))
            is not None
        )
    assert told <= 10 + 3 * np.sqrt(10)


def test_texts_called_by_numbers_are_named_in_their_order():
    fit = SimpleNamespace(items=list(range(200, 0, -1)))
    named = _to_label(SimpleNamespace(fit=fit, level=0.95))
    assert len(set(named)) > 20
    assert {*map(len, named)} >= {2, 3}, "else their order as words is the same"
    assert named == sorted(named, key=int)

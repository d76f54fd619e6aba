"""Addresses that have moved, and where they lead: links from elsewhere keep working.

A page that is gone leaves a page that leads on; a part that stands on another page now is looked
up by the page where it stood, when somebody comes with its old address.
"""

from __future__ import annotations

import json
from pathlib import Path

from book.tools.pages import BuildError

PAGES = {  # a page that is gone -> where its content is
    "figures-large": "figures.html",
    "position-bias": "09-positional-bias.html",
    "reproduction": "how-it-was-made.html#reproduction",
    "scorecard": "results.html",
    "timings": "how-it-was-made.html#timings",
    "why-cells-deviate": "diagnoses.html",
}
PARTS = {  # page -> its parts that have moved -> the page where they are, under the same name
    "02-prompt-based-classifier": dict.fromkeys(
        (
            *("reading-answers-in-practice", "ex-spellings", "ex-draws", "equation-eq-spellings"),
            *("equation-eq-sampled-answers", "equation-eq-draws-needed"),
            *("equation-eq-expected-score", "equation-eq-scores-as-answers"),
        ),
        "02-reading-answers.html",
    ),
    "14-how-sure": dict.fromkeys(
        (
            *("when-the-answers-choose-the-pairs", "sure-adaptive", "the-same-essays-judged-twice"),
            *("when-to-stop", "planning-a-budget", "sure-plan", "ex-sure-rule", "sure-walk"),
            *("a-walk-through-judging-rank", "equation-eq-sure-stopping"),
            *("equation-eq-sure-budget", "equation-eq-sure-separate"),
        ),
        "14-when-to-stop.html",
    ),
    "15-several-judges": dict.fromkeys(
        (
            *("judges-second-part", "second-part-a-network-that-reads-the-texts"),
            *("judges-context", "what-a-network-learns", "a-network-from-scratch"),
            *("judges-confidence", "the-slope-is-skill-times-certainty", "fig-live-slope"),
            *("judges-orders", "a-second-judge-or-both-orders", "fig-judges-orders"),
            *("the-same-methods-on-recorded-answers", "fig-judges-table1"),
            *("equation-eq-judges-bottleneck", "equation-eq-judges-line"),
            *("equation-eq-judges-loss", "equation-eq-judges-posterior"),
            *("equation-eq-judges-certainty", "equation-eq-judges-shrunk"),
        ),
        "15-when-networks-read.html",
    ),
    "results": dict.fromkeys(
        ("claims", "ten-headline-claims", "one-row-per-table", "what-the-words-and-marks-mean"),
        "claims.html",
    ),
    "measured-judge": {
        **dict.fromkeys(
            (
                *("measured-predicted", "predicted-before-it-was-asked"),
                *("planted", "a-truth-that-needs-no-people"),
            ),
            "judges-foretold.html",
        ),
        **dict.fromkeys(
            (
                *("measured-wordings-page", "which-words-to-ask-with"),
                *("measured-marks", "scoring-one-text-at-a-time"),
                "grades-and-comparisons-together",
                "do-its-marks-and-its-comparisons-contradict-each-other",
                *("measured-length", "length-and-taking-it-out"),
                *("are-its-probabilities-calibrated", "with-all-calls", "what-was-asked"),
            ),
            "judges-otherwise.html",
        ),
    },
    "bring-your-own": dict.fromkeys(
        (
            *("what-it-costs", "what-to-choose", "answers-that-you-have-already"),
            *("a-leaderboard-of-systems", "a-question-of-your-own", "a-judge-that-reads"),
            *("a-judge-of-your-own-a-function-of-positions", "an-expert-of-your-own"),
            *("several-machines", "what-else-there-is"),
        ),
        "reference.html",
    ),
}
LEADS_ON = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="robots" content="noindex">
<title>This page has moved</title>
<link rel="canonical" href="{address}">
<meta http-equiv="refresh" content="0; url={address}">
</head>
<body><p>This page has moved <a href="{address}">here</a>.</p></body>
</html>
"""
LOOK_UP = """\
<script>{{
  const to = {table}[location.hash.slice(1).split("--")[0]]; // what follows is a figure's state
  if (to) location.replace(to + location.hash);
}}</script>
"""


def leave_redirects(html: Path) -> None:
    """Let old addresses lead to the pages of a rendered book that it has."""
    for name, address in PAGES.items():
        old, new = html / f"{name}.html", html / address.partition("#")[0]
        if old.exists():
            raise BuildError(f"{old.name} is a page again: take it out of book/tools/moved.py")
        if new.exists():
            old.write_text(LEADS_ON.format(address=address), encoding="utf-8")
    for name, table in PARTS.items():
        page = html / f"{name}.html"
        if page.exists():
            text = page.read_text(encoding="utf-8")
            script = LOOK_UP.format(table=json.dumps(table))
            page.write_text(text.replace("</head>", f"{script}</head>", 1), encoding="utf-8")

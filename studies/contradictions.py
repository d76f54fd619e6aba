"""How often a judge's marks and its comparisons contradict each other (TrustJudge).

Wang and others (2025, arXiv:2509.21117) find that in 23% of pairs the text with the lower mark wins
the comparison, and in 15% where the mark is the mean of its distribution and not its mode and the
comparison uses both orders. Here, for every pair of texts that a judge marked as well as compared:

    likeliest, one order     a call contradicts where the text whose likeliest mark is lower is
                             preferred, or one is where both marks are equal
    expected, one order      the same by expected marks
    expected, both orders    by expected marks and the mean of both orders' probabilities

Declared before any of this was computed. Their claim holds for a judge and data set where
"expected, both orders" is below "likeliest, one order" by two standard errors over contexts. We
expect that it holds in all four, if only because equal likeliest marks, of which these judges give
many, count as contradicted; hence beside it the same among the pairs whose likeliest marks differ
("apart"), where we expect it for Qwen alone (chance 0.7): the place decides SmolLM2's calls.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from poe.arrays import Floats
from reproduction import answers
from reproduction.measured_tables import DATASETS, asked, group, rows_of
from reproduction.settings import Settings

WAYS = ("likeliest, one order", "expected, one order", "expected, both orders")


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, data set, attribute (and "mean"), way and which pairs: "all" or "apart".

    value : per cent of pairs that are contradicted; of the way "A - B" the difference. se : over
    contexts, those without such pairs left out.
    """
    rows = list[dict[str, object]]()
    for which, dataset in product(answers.MODELS, DATASETS):
        parts = []
        for one in group(dataset, "poe", which):
            if alone := asked(dataset, one.attribute, "g-eval", which):
                there = [c for c in one.contexts if c in alone.contexts]
                here, marks = ([x.contexts.index(c) for c in there] for x in (one, alone))
                part = replace(
                    one, contexts=tuple(there), log_p=one.log_p[here], gold=one.gold[here]
                )
                parts.append((part, shares(part.p, np.exp(alone.log_p[marks]))))
        if parts:
            some, found = zip(*parts, strict=True)
            rows += rows_of(some, found, columns=("way", "pairs"))
    made = pd.DataFrame(rows).drop(columns=["common", "draw_se"])
    return made.assign(**settings.how("measured", "none"))


def shares(p: Floats, marks: Floats) -> dict[tuple[str, str], Floats]:
    """Contradicted pairs by way and which pairs, (1, C), from p (C, N, N) and marks (C, N, L)."""
    i, j = np.nonzero(~np.eye(p.shape[-1], dtype=bool))
    expected = marks @ np.arange(marks.shape[-1]) / marks.sum(axis=-1)
    likeliest = marks.argmax(axis=-1).astype(float)
    averaged = (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0
    apart = likeliest[:, i] != likeliest[:, j]
    found: dict[tuple[str, str], Floats] = {}
    for way, mark, said in zip(
        WAYS, (likeliest, expected, expected), (p, p, averaged), strict=True
    ):
        wrong = np.sign(mark[:, i] - mark[:, j]) != np.sign(said[:, i, j] - 0.5)
        found[way, "all"] = wrong.mean(axis=1)[None]
        count = apart.sum(axis=1)
        some = (wrong & apart).sum(axis=1) / np.maximum(count, 1)
        found[way, "apart"] = np.where(count > 0, some, np.nan)[None]
    for pairs in ("all", "apart"):
        found[f"{WAYS[-1]} - {WAYS[0]}", pairs] = found[WAYS[-1], pairs] - found[WAYS[0], pairs]
    return found

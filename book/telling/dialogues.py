"""One context at a time: every answer of the models that were asked, and what people said.

The first context is on the page; book/_static/dialogues.js writes another into the same cells.
"""

from __future__ import annotations

import json

import numpy as np
from markupsafe import Markup

import poe
from book.telling.pages import Cell, badge, table
from reproduction.answers import MODELS
from reproduction.measured_tables import Asked, asked


def browser(attribute: str, dataset: str = "topicalchat") -> Markup:
    """The answers of each model about one context, with a choice of contexts.

    Only contexts that all models were asked about. Probabilities that the row, shown first, is
    better than the column, in per cent; beside them the scores of the product of soft
    Bradley-Terry experts, both orders of a pair, and people's mean.
    """
    every = [asked(dataset, attribute, which=name) for name in reversed(MODELS)]
    models = [one for one in every if one is not None]
    if not models:
        raise LookupError(f"no model was asked about {dataset} {attribute}")
    contexts = sorted(set.intersection(*(set(one.contexts) for one in models)))
    pages = [[text for one in models for text in values(one, context)] for context in contexts]
    size = models[0].gold.shape[1]
    each = size * (size + 1)  # per model: a square without its diagonal, scores and people
    shown = [_square(one, pages[0][k * each :][:each]) for k, one in enumerate(models)]
    options = Markup().join(
        Markup('<option value="{}">{}</option>').format(k, context + 1)
        for k, context in enumerate(contexts)
    )
    box = Markup(
        '<div class="dialogues"><p><label>Dialogue <select>{}</select></label> {}, {}</p>{}'
        '<script type="application/json">{}</script></div>'
    )
    return box.format(
        options, attribute, badge("measured"), Markup().join(shown), Markup(json.dumps(pages))
    )


def values(one: Asked, context: int) -> list[str]:
    """What stands in the cells of one model's square, row by row: probabilities, score, people."""
    at = one.contexts.index(context)
    p, gold = one.p[at], one.gold[at]
    size = len(gold)
    pairs = np.argwhere(~np.eye(size, dtype=bool))
    answers = poe.Comparisons.from_pairs(pairs, p[tuple(pairs.T)], items=size)
    scores = poe.fit(answers.symmetrised()).scores
    said: list[str] = []
    for i in range(size):
        said += [f"{100 * p[i, j]:.0f}" for j in range(size) if j != i]
        said += [
            f"{round(scores[i], 1) + 0.0:.1f}".replace("-", "\N{MINUS SIGN}"),
            f"{gold[i]:.1f}",
        ]
    return said


def _square(one: Asked, said: list[str]) -> Markup:
    size, left = one.gold.shape[1], iter(said)
    letters = [chr(ord("A") + k) for k in range(size)]
    rows = []
    for i, letter in enumerate(letters):
        cells = [
            Cell("", {})
            if j == i
            else Cell(value := next(left), {"class": "p", "data-at": "", "style": f"--p:{value}"})
            for j in range(size)
        ]
        rows.append([letter, *cells, *(Cell(next(left), {"data-at": ""}) for _ in range(2))])
    heads = [one.system.split("-")[0], *letters, "score", "people"]
    return table(heads, rows, name="comparison answers")

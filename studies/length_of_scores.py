"""Length: how far a judge's scores of SummEval go with the number of words, and without it.

Let s be a judge's scores of the texts of an article, from all its calls by PoE-BT or as expected
marks, and w the logarithms of the numbers of words, both less their means in the article. One
coefficient b = sum s w / sum w^2 of all articles, which needs no label and no further call, takes
the length out: s - b w. Compared are Spearman's correlations with people of s and of s - b w, means
over articles, and of s and of people's scores with w.

Declared before any of this was computed here. Known by then, since a reader had computed them with
code of their own and told us: Qwen's scores correlate with length by +46 to +58 (marks +40 to
+50), people's by -10 for coherence and +8 to +13 for the others; without length Qwen's coherence
gains 5.3 +- 2.9 (comparisons, 30 articles), 6.6 +- 2.2 (marks), 11.0 +- 4.0 (comparative-1) and
10.3 +- 4.3 (comparative-2); the others move by -3.3 to +1.8, and SmolLM2 has at most +9 of length
and nothing to gain. New are Qwen's numbers and words, and every attribute of SmolLM2 by itself.

 1. All of Qwen's scores but with `words`, where it is at chance, have a correlation with length
    above +20.
 2. Without length Qwen agrees better with people about coherence with every prompt (poe,
    comparative-1, comparative-2, numbers, marks), words left out.
 3. No gain or loss about another attribute is clear (Holm, over all rows).
 4. SmolLM2's correlations with length lie within 15 of zero and its gains within 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from judging.machine import data_dir
from poe.arrays import Floats
from reproduction import answers
from reproduction.baselines.papers import expected_score
from reproduction.measured_tables import TEMPLATES, group
from reproduction.settings import Settings, bootstrap_se
from reproduction.significance import words as said
from reproduction.small import METHODS, per_context
from reproduction.twins import ATTRIBUTES, labels

DATASET, MARKS = "summeval", "g-eval"
QUANTITIES = ("with length", "people", "people, without length", "gain")


@dataclass(frozen=True, eq=False)
class Scored:
    """What a judge made of one attribute with one prompt: scores and gold (C, N), and log words."""

    system: str
    attribute: str
    template: str
    scores: Floats
    gold: Floats
    log_words: Floats


@cache
def log_words() -> Floats:
    """(C, N) of all of SummEval's summaries."""
    table = pd.read_csv(data_dir() / "labels" / f"{DATASET}.csv")
    return np.log(table["words"].to_numpy(dtype=float)).reshape(-1, labels(DATASET).n_candidates)


def scored() -> Iterator[Scored]:
    """All comparisons and marks of SummEval."""
    for which, model in answers.MODELS.items():
        for template in TEMPLATES:
            for one in group(DATASET, template, which):
                s = METHODS["PoE-BT"](one.all_calls()).reshape(one.gold.shape)
                length = log_words()[list(one.contexts)]
                yield Scored(model.name, one.attribute, template, s, one.gold, length)
        for attribute in ATTRIBUTES[DATASET].values():
            try:
                contexts, log_p = answers.answers(DATASET, attribute, MARKS, model)
            except LookupError:
                continue
            marks = expected_score(np.exp(log_p), np.arange(1.0, log_p.shape[-1] + 1.0)).scores
            gold = labels(DATASET).scores[attribute][contexts]
            yield Scored(model.name, attribute, MARKS, marks, gold, log_words()[contexts])


def without(scores: Floats, length: Floats) -> tuple[Floats, float]:
    """Scores (C, N) with one coefficient of length (C, N) taken out, and the coefficient."""
    s, w = (x - x.mean(axis=-1, keepdims=True) for x in (scores, length))
    b = float((s * w).sum() / (w**2).sum())
    return s - b * w, b


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, attribute, prompt ("g-eval": marks) and quantity of `QUANTITIES`, times 100.

    value, se : over articles. people length : the correlation of people's scores with length.
    coefficient : b, in the unit of the scores. word : of a gain, `significance.words`.
    """
    rows = []
    for one in scored():
        left, b = without(one.scores, one.log_words)
        as_given, after = per_context(one.scores, one.gold), per_context(left, one.gold)
        each = (per_context(one.scores, one.log_words), as_given, after, after - as_given)
        rows += [
            {
                "system": one.system,
                "attribute": one.attribute,
                "template": one.template,
                "contexts": len(one.gold),
                "quantity": name,
                "value": 100.0 * float(np.nanmean(x)),
                "se": 100.0 * bootstrap_se(x[None]),
                "people length": 100.0 * float(np.nanmean(per_context(one.gold, one.log_words))),
                "coefficient": b,
            }
            for name, x in zip(QUANTITIES, each, strict=True)
        ]
    made = pd.DataFrame(rows)
    word = said(made[made["quantity"] == "gain"]).reindex(made.index).fillna("")
    end = {"kind": "measured", "labels": "real", "draws": 1, "seed": settings.seed}
    return made.assign(word=word, **end)

"""A real judge on one large set: Table 3's shape after N, 2N and 4N calls about HANNA's stories.

The table exists once a quarter of the calls is kept (data/targets.toml, `asked`).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.arrays import Indices
from reproduction import answers
from reproduction.measured_tables import model_of
from reproduction.settings import Settings
from reproduction.twins import ATTRIBUTES, labels
from studies.few_calls import Rankings, agreements, asked, rankings

RESAMPLES = 200  # of the stories
DATASET = "hanna"


def table(settings: Settings) -> pd.DataFrame:
    """A row an attribute (and "mean") and quantity of `few_calls.agreements`.

    value : Spearman times 100, or a difference of two. se : its error over stories, drawn again
    with their scores and ratings, alike for all quantities and attributes, so differences are
    paired; the calls stay as they were. calls : that were asked of an attribute.
    """
    model = answers.MODELS[model_of(settings)]
    values, drawn, made = {}, {}, {}
    for name in ATTRIBUTES[DATASET].values():
        calls, logits = asked(name, model)
        if not len(calls):
            continue
        gold = labels(DATASET).scores[name][0]
        by, made[name] = rankings(calls, logits, len(gold)), logits.size
        values[name] = agreements(by, gold)
        rng = np.random.default_rng([settings.seed, 46])
        again = rng.integers(len(gold), size=(RESAMPLES, len(gold)))
        drawn[name] = pd.DataFrame(agreements(_drawn(by, at), gold[at]) for at in again)
    if len(values) > 1:
        made["mean"] = min(made.values())
        alike = [q for q in next(iter(values.values())) if all(q in of for of in values.values())]
        mean = {q: float(np.mean([of[q] for of in values.values()])) for q in alike}
        values["mean"], drawn["mean"] = mean, sum(of[alike] for of in drawn.values()) / len(drawn)
    rows = [
        {
            "system": model.name,
            "dataset": DATASET,
            "attribute": name,
            "quantity": quantity,
            "value": value,
            "se": float(drawn[name][quantity].std(ddof=1)),
            "calls": made[name],
        }
        for name, of in values.items()
        for quantity, value in of.items()
    ]
    end = {"kind": "measured", "labels": "real", "draws": settings.draws, "seed": settings.seed}
    return pd.DataFrame(rows).assign(**end)


def _drawn(by: Rankings, at: Indices) -> Rankings:
    """The scores of some stories."""
    return {size: {m: scores[at] for m, scores in of.items()} for size, of in by.items()}

"""A position bias of each text: what it brings where pairs are asked in one order only.

The judges are all that answered every pair of a context (`measured_tables`). Calls are drawn from
their answers; scores come from `studies.hierarchical.posteriors`, with one bias of a context and
with one of each text besides, their strengths averaged over, and pooled over all contexts or known
from each alone. Designs: "one order", K pairs, the order by lot; "mixed", half of the calls as
pairs in both orders. Each is held against the scores that all answers of the same judge give
("itself") and against people's, the mean of Spearman's correlations in contexts; and 95% intervals
of differences against the former.

Declared before it was run. The text bias is falsified where, pooled over contexts and in one order,
its gain against the judge itself is not above two standard errors for some judge and data set;
where the evidence of some judge prefers one bias; where the mean gain against people, over judges
and data sets, is below zero; where its intervals cover less than 92%.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Literal
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import stdtr

from poe.arrays import Floats, Indices
from poe.choose.selection import select_stack
from poe.comparisons import Comparisons
from reproduction import ask_model
from reproduction.measured_tables import DATASETS, TEMPLATES, Asked, group
from reproduction.settings import Settings, bootstrap_se, by_context
from reproduction.small import per_context
from studies.hierarchical import Posterior, pooled, spectra
from studies.orders import all_answers

CALLS = {6: (12,), 16: (48, 96)}  # of a context, by its number of texts
DESIGNS = {"one order": ("all", "alone"), "mixed": ("all",)}  # and what is pooled
LEAST_COVER = 92.0
BIASES: dict[str, Literal["fit", "texts"]] = {"_one": "fit", "_texts": "texts"}

Found = dict[str, Floats]


def table(settings: Settings) -> pd.DataFrame:
    """A row a judge, data set, attribute, template, number of calls and design.

    attribute "mean" : of each context over attributes and templates, and then over contexts.
    itself, people : correlations with text biases, times 100, and with _one those with one bias;
    _gain : their difference, _se its error over contexts. nats : evidence gained, of a draw and
    cell, NaN for mixed calls, whose opinions are not the same ones. share : of the variance of
    texts, what is bias. cover : per cent of 95% intervals.
    """
    every = [
        one
        for dataset, template, which in product(DATASETS, TEMPLATES, ask_model.MODELS)
        for one in group(dataset, template, which)
        if one.whole
    ]
    jobs = [
        (k, calls, design)
        for k, one in enumerate(every)
        for calls in CALLS[one.gold.shape[1]]
        for design in DESIGNS
    ]
    done = settings.map(lambda job: judged(every[job[0]], *job[1:], settings), jobs)
    together: dict[tuple[object, ...], list[tuple[Asked, Found]]] = {}
    for (k, *how), by_pool in done.items():
        one = every[k]
        for pool, values in by_pool.items():
            together.setdefault((one.system, one.dataset, *how, pool), []).append((one, values))
    rows = []
    for (system, dataset, *how), parts in together.items():
        several = [[part] for part in parts]
        for some in [*several, parts]:
            one = some[0][0]
            rows.append(
                {
                    "system": system,
                    "dataset": dataset,
                    "attribute": "mean" if some is parts else one.attribute,
                    "template": "" if some is parts else one.template,
                    **dict(zip(("k", "design", "pooled"), how, strict=True)),
                    **_numbers(some),
                }
            )
    return pd.DataFrame(rows).assign(**settings.how("measured", "real"))


def judged(one: Asked, calls: int, design: str, settings: Settings) -> dict[str, Found]:
    """Fit both models to draws of a judge's answers, by what is pooled.

    Each by quantity and model, (draws, C).
    """
    contexts, n = one.gold.shape
    name = f"{one.system}/{one.dataset}/{one.attribute}/{one.template}/{design}"
    rng = np.random.default_rng([settings.seed, 34, calls, crc32(name.encode())])
    answers, target = one.p, all_answers(one.p)
    found: dict[str, dict[str, list[Floats]]] = {pool: {} for pool in DESIGNS[design]}
    for _ in range(max(settings.draws // 10, 2)):
        asked = [
            Comparisons.from_pairs(pairs, answers[k][tuple(pairs.T)], items=n)
            for k, pairs in enumerate(drawn(contexts, n, calls, design, rng))
        ]
        for label, bias in BIASES.items():
            every = [spectra(c, bias=bias) for c in asked]
            for pool, by_quantity in found.items():
                each = [
                    pooled(some) for some in ([every] if pool == "all" else [[x] for x in every])
                ]
                mixtures = [x for some in each for x in some]
                scores = np.stack([x.scores for x in mixtures])
                evidence = (
                    sum(some[0].evidence for some in each) if design == "one order" else np.nan
                )
                cover = [covers(*both) for both in zip(mixtures, target, strict=True)]
                for what, values in (
                    ("itself", per_context(scores, target)),
                    ("people", per_context(scores, one.gold)),
                    ("share", np.array([x.weight @ x.share for x in mixtures])),
                    ("cover", np.array(cover)),
                    ("evidence", np.full(contexts, evidence)),
                ):
                    by_quantity.setdefault(what + label, []).append(values)
    return {
        pool: {what: np.stack(values) for what, values in by_quantity.items()}
        for pool, by_quantity in found.items()
    }


def covers(mixture: Posterior, target: Floats) -> float:
    """Share of differences (of items a third of the list apart) inside their 95% intervals.

    A central interval of a mixture has inside it what lies between 2.5 and 97.5% of its
    distribution.
    """
    i = np.arange(len(target))
    j = (i + len(target) // 3) % len(target)
    scale = mixture.difference_scales(i, j)
    off = target[i] - target[j] - (mixture.centre[:, i] - mixture.centre[:, j])
    return float(
        (np.abs(mixture.weight @ stdtr(mixture.freedom, off / scale) - 0.5) <= 0.475).mean()
    )


def drawn(contexts: int, n: int, calls: int, design: str, rng: np.random.Generator) -> Indices:
    """(C, calls, 2): every pair once, or a third of the pairs in both orders: half of the calls."""
    if design == "one order":
        return select_stack(contexts, n, calls, rule="no-repeat", seed=rng)
    twice = calls // 4
    pairs = select_stack(contexts, n, calls - twice, rule="no-repeat", seed=rng)
    return np.concatenate([pairs, pairs[:, :twice, ::-1]], axis=1)


def _numbers(parts: Sequence[tuple[Asked, Found]]) -> dict[str, float]:
    """Numbers of one cell or several, on the contexts that any of them has."""
    places = sorted({c for one, _ in parts for c in one.contexts})

    def of(what: str) -> Floats:
        each = []
        for one, values in parts:
            spread = np.full((len(values[what]), len(places)), np.nan)
            spread[:, [places.index(c) for c in one.contexts]] = values[what]
            each.append(spread)
        return np.stack(each)

    numbers: dict[str, float] = {"contexts": len(places)}
    for versus in ("itself", "people"):
        one, texts = 100.0 * of(f"{versus}_one"), 100.0 * of(f"{versus}_texts")
        numbers[f"{versus}_one"] = float(np.nanmean(by_context(one)))
        numbers[versus] = float(np.nanmean(by_context(texts)))
        numbers[f"{versus}_gain"] = float(np.nanmean(by_context(texts - one)))
        numbers[f"{versus}_se"] = bootstrap_se(texts - one)
    gained = by_context(of("evidence_texts") - of("evidence_one"))
    numbers["nats"] = float(gained.mean() if np.isnan(gained).all() else np.nanmean(gained))
    numbers["share"] = float(np.nanmean(of("share_texts")))
    for label, name in (("_texts", "cover"), ("_one", "cover_one")):
        numbers[name] = 100.0 * float(np.nanmean(of("cover" + label)))
    return numbers

"""Whether a slope that needs no label says which judge to trust (Qian and others 2026, BT-sigma).

Their model gives each judge k a sigma_k, P_k(i before j) = expit((s_i - s_j) / sigma_k), found with
the scores from the comparisons alone; 1 / sigma_k is the slope a_k of `judging.panel.products`
(book eq. 15.15). Judges of one panel have compared the same texts, both orders of every pair, whose
mean counts, and a judge's slope is one number for all contexts. It is held against what it is to
tell, the judge's agreement with people, beside the share of cyclic triples, which they propose as a
sign of a judge's quality.

Declared before it was run: the slope tells judges apart in a panel where its rank correlation with
agreement is positive, and fails where it is not. (In a first run each order counted by itself, and
judges that decide for one position nearly always left panels of decisions without a finite fit.)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from judging import metrics
from judging.panel.judgements import PanelError
from judging.panel.products import fit_panel
from poe.arrays import Floats
from poe.comparisons import Comparisons
from poe.errors import NotConvergedError
from reproduction.measured_tables import TEMPLATES, asked
from reproduction.settings import Settings
from reproduction.small import per_context
from reproduction.twins import labels, stream, twins

CONTEXTS = 30  # of twins; measured judges have those that all of a panel answered about
FEWEST = 20  # contexts that a panel shares: agreement over fewer tells no judge from another
SPREAD = 2.0  # of the scores, in logits of the typical judge: decisions of one judge are separable


@dataclass(frozen=True, eq=False)
class Panel:
    """p : (C, N, N) of each judge, row shown first. gold : (C, N) people's scores."""

    name: str
    kind: str
    dataset: str
    attribute: str
    p: Mapping[str, Floats]
    gold: Floats


def panels(settings: Settings) -> Iterator[Panel]:
    """Real models with several prompts, and the papers' judges' twins, alone and with them."""
    for dataset, attribute in (("topicalchat", "coherency"), ("summeval", "coherence")):
        gold = labels(dataset).scores[attribute]
        models = {
            f"{one.system}, {template}": one
            for which in ("qwen", "smollm2")
            for template in TEMPLATES
            if (one := asked(dataset, attribute, template, which)) is not None and one.whole
        }
        some = shared({name: one.contexts for name, one in models.items()})
        real = {
            name: one.p[[one.contexts.index(context) for context in some]]
            for name, one in models.items()
            if set(some) <= set(one.contexts)
        }
        simulated = {
            judge: twin.answer(
                gold[some], np.random.default_rng([settings.seed, 57, stream(twin)])
            ).matrix()
            for (judge, about), twin in twins(dataset).items()
            if about == attribute
        }
        about = (dataset, attribute)
        if len(real) > 2:
            yield Panel("models", "measured", *about, real, gold[some])
        yield Panel("twins", "simulated", *about, simulated, gold[some])
        yield Panel("both", "measured/simulated", *about, {**real, **simulated}, gold[some])


def shared(contexts: Mapping[str, Sequence[int]]) -> list[int]:
    """At most CONTEXTS that judges share; one joins while FEWEST are left, most asked first."""
    most = sorted(contexts.values(), key=len, reverse=True)
    common = set(most[0])
    for own in most[1:]:
        if len(common & set(own)) >= FEWEST:
            common &= set(own)
    return sorted(common)[:CONTEXTS]


def table(settings: Settings) -> pd.DataFrame:
    """A row a panel, judge and kind of answer.

    answers : "probabilities" or "decisions". slope, slope_se : a_k. value, se : agreement with
    people, mean Spearman over contexts x 100. cycles : per cent of triples. rank : Spearman of
    slope and agreement over the panel, x 100; by_cycles : of few cycles and agreement.
    """
    every = list(panels(settings))
    jobs = [(k, hard) for k in range(len(every)) for hard in (False, True)]
    by_job = settings.map(lambda job: _rows(every[job[0]], job[1]), jobs)
    results = pd.DataFrame([row for rows in by_job.values() for row in rows])
    return results.assign(labels="real", draws=settings.draws, seed=settings.seed)


def _rows(panel: Panel, hard: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    skills = slopes(panel.p, hard=hard)
    for name, p in panel.p.items():
        averaged = (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0
        each = 100.0 * per_context(np.nansum(averaged - 0.5, axis=-1), panel.gold)
        known = each[~np.isnan(each)]
        rows.append(
            {
                "panel": panel.name,
                "dataset": panel.dataset,
                "attribute": panel.attribute,
                "kind": panel.kind,
                "system": name,
                "contexts": len(p),
                "answers": "decisions" if hard else "probabilities",
                "slope": skills.loc[name, "sharpness"] if skills is not None else np.nan,
                "slope_se": skills.loc[name, "sharpness_se"] if skills is not None else np.nan,
                "value": known.mean(),
                "se": known.std(ddof=1) / np.sqrt(len(known)),
                "cycles": 100.0 * cyclic(averaged),
            }
        )
    agreement = np.array([row["value"] for row in rows])
    both = {"rank": [row["slope"] for row in rows], "by_cycles": [-row["cycles"] for row in rows]}
    correlations = {
        name: np.nan if np.isnan(values).any() else 100.0 * metrics.spearman(values, agreement)
        for name, values in both.items()
    }
    return [row | correlations for row in rows]


def slopes(judges: Mapping[str, Floats], *, hard: bool) -> pd.DataFrame | None:
    """Each judge's slope by name, None where the answers do not settle the panel's scores."""
    answers: dict[Hashable, Comparisons] = {}
    for name, p in judges.items():
        contexts, n, _ = p.shape
        first, second = np.nonzero(~np.eye(n, dtype=bool))
        start = n * np.arange(contexts)[:, None]
        pairs = np.stack([start + first, start + second], axis=-1).reshape(-1, 2)
        averaged = ((p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0)[:, first, second].ravel()
        averaged = np.where(averaged == 0.5, 0.5, averaged > 0.5) if hard else averaged
        weight = np.full(len(averaged), 0.5)  # either way round: one answer
        answers[name] = Comparisons.from_pairs(pairs, averaged, items=contexts * n, weight=weight)
    try:
        return fit_panel(answers, spread=SPREAD).skills().set_index("judge")
    except (PanelError, NotConvergedError):
        return None


def cyclic(p: Floats) -> float:
    """Share of triples of texts that a judge prefers in a circle; p (C, N, N), orders averaged."""
    i, j, k = np.array(list(combinations(range(p.shape[-1]), 3))).T
    beats = np.nan_to_num(p) > 0.5
    wins = np.stack([beats[:, i, j], beats[:, j, k], beats[:, k, i]])
    return float(np.mean(wins.sum(axis=0) % 3 == 0))

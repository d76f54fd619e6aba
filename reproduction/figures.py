"""poe_v2's figures: which judge, dataset, attribute and designs each panel shows.

Judge, dataset and attribute of every panel are those of its caption. The numbers of calls at which
a curve is computed are ours: the papers print none on their axes that the text at hand keeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduction import curves, large
from reproduction.curves import Panel
from reproduction.large import Large
from reproduction.settings import Settings
from reproduction.sweep import labels
from reproduction.table3 import large_draws
from reproduction.twins import Twin

SMALL: dict[str, Panel] = {
    "figure1a": ("Llama2-13B", "summeval", "relevance"),
    "figure1b": ("FlanT5-11B", "topicalchat", "engagingness"),
    "figure5a": ("FlanT5-3B", "summeval", "consistency"),
    "figure5b": ("Mistral-7B", "summeval", "coherence"),
    "figure5c": ("Llama2-13B", "summeval", "fluency"),
    "figure5d": ("FlanT5-11B", "topicalchat", "coherency"),
    "figure5e": ("Llama2-7B", "topicalchat", "continuity"),
    "figure5f": ("Llama2-13B", "topicalchat", "naturalness"),
}
SELECTED: Panel = ("FlanT5-3B", "summeval", "coherence")
LARGE: dict[str, Panel] = {
    "figure2": ("Mistral-7B", "hanna", "coherence"),
    "figure3": ("Llama2-13B", "cmcqrd", "difficulty"),
    "figure6a": ("Llama2-7B", "hanna", "surprise"),
    "figure6b": ("Llama2-7B", "cmcqrd", "difficulty"),
    "figure6c": ("Llama2-13B", "hanna", "coherence"),
    "figure6d": ("Llama2-13B", "hanna", "surprise"),
    "figure6e": ("Mistral-7B", "hanna", "coherence"),
    "figure6f": ("Mistral-7B", "hanna", "complexity"),
}
BOTH_DESIGNS: dict[str, Panel] = {
    "figure4": ("Mistral-7B", "hanna", "coherence"),
    "figure8a": ("Llama2-7B", "hanna", "coherence"),
    "figure8b": ("Mistral-7B", "cmcqrd", "difficulty"),
    "figure8c": ("Llama2-13B", "hanna", "complexity"),
}
DEBIASED: dict[str, Panel] = {
    "figure7a": ("Llama2-7B", "hanna", "coherence"),
    "figure7b": ("Mistral-7B", "hanna", "coherence"),
}
ANALYSED: dict[str, Panel] = {
    "a": ("FlanT5-3B", "summeval", "coherence"),
    "b": ("Llama2-13B", "topicalchat", "continuity"),
}


class Design(NamedTuple):
    """Which calls of a panel, and what is done with them."""

    rule: str
    bias: str
    methods: tuple[str, ...]
    times: tuple[int, ...]


TIMES = (2, 3, 5, 10, 20, 50, 100)  # calls an item
TIMES_DESIGNS = (2, 3, 5, 10, 20, 50)
BINS = 10


def small(settings: Settings, name: str) -> pd.DataFrame:
    """Efficiency curve of one panel, SummEval or TopicalChat."""
    return curves.run(settings, {name: SMALL[name]})


def selection(settings: Settings) -> pd.DataFrame:
    """Figure 1c."""
    return curves.selected(settings, "figure1c", SELECTED)


def large_panel(settings: Settings, name: str) -> pd.DataFrame:
    """Efficiency curve of one panel, HANNA or CMCQRD, all methods, symmetric."""
    rows = [Design("symmetric", "none", large.METHODS, TIMES)]
    return _large(settings, name, LARGE[name], rows)


def designs(settings: Settings, name: str) -> pd.DataFrame:
    """Symmetric against non-symmetric with plug-in bias; and the averages, non-symmetric."""
    rows = [
        Design("symmetric", "none", ("win-ratio", "avg-prob", "PoE-BT", "PoE-g"), TIMES_DESIGNS),
        Design("no-repeat", "plug-in", ("PoE-BT", "PoE-g"), TIMES_DESIGNS),
        Design("no-repeat", "none", ("win-ratio", "avg-prob"), TIMES_DESIGNS),
    ]
    return _large(settings, name, BOTH_DESIGNS[name], rows)


def debiased(settings: Settings, name: str) -> pd.DataFrame:
    """Non-symmetric, with and without plug-in bias."""
    rows = [
        Design("no-repeat", "plug-in", ("PoE-BT", "PoE-g"), TIMES_DESIGNS),
        Design("no-repeat", "none", ("win-ratio", "avg-prob", "PoE-BT", "PoE-g"), TIMES_DESIGNS),
    ]
    return _large(settings, name, DEBIASED[name], rows)


def _large(
    settings: Settings,
    name: str,
    of: Panel,
    designs: Sequence[Design],
) -> pd.DataFrame:
    system, dataset, attribute = of
    judge = settings.judge(dataset, system, attribute)
    n = labels(dataset, settings.source).n_candidates
    jobs = {}
    for rule, bias, methods, times in designs:
        for each in times:
            count = each * n
            what = Large(dataset, settings.source, count, rule, bias, methods, settings.seed)
            jobs[rule, bias, count] = (judge, what)
    found = large.run(
        list(jobs.values()),
        draws=large_draws(settings),
        workers=settings.workers,
        progress=settings.progress,
    )
    rows = []
    for (rule, bias, count), job in jobs.items():
        for method in job[1].methods:
            values = 100.0 * found[job][method]
            rows.append(curves.point(settings, name, of, count, method, rule, values, bias))
    return pd.DataFrame(rows)


def joint(settings: Settings, letter: str) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and score differences of all calls of one judge: Figures 9 and 10."""
    system, dataset, attribute = ANALYSED[letter]
    judge: Twin = settings.judge(dataset, system, attribute)
    gold = labels(dataset, settings.source).scores[attribute]
    made = judge.answer(gold, np.random.default_rng([settings.seed, 9]), draws=1)
    p = made.matrix()[0]
    gap = gold[:, :, None] - gold[:, None, :]
    off = ~np.eye(gold.shape[1], dtype=bool)
    return p[:, off].ravel(), gap[:, off].ravel()


def figure9(settings: Settings) -> pd.DataFrame:
    """Counts of probability and score difference, on a grid; the correlation of each panel."""
    rows = []
    for letter, of in ANALYSED.items():
        p, gap = joint(settings, letter)
        counts, at_p, at_gap = np.histogram2d(p, gap, bins=(20, 21))
        correlation = float(np.corrcoef(p, gap)[0, 1])
        for i, j in np.ndindex(counts.shape):
            rows.append(
                {
                    **_about(settings, f"figure9{letter}", of),
                    "p": (at_p[i] + at_p[i + 1]) / 2.0,
                    "difference": (at_gap[j] + at_gap[j + 1]) / 2.0,
                    "count": int(counts[i, j]),
                    "value": 100.0 * correlation,
                }
            )
    return pd.DataFrame(rows)


def figure10(settings: Settings) -> pd.DataFrame:
    """Mean and variance of the score difference in ten equal bins of the probability's range."""
    rows = []
    for letter, of in ANALYSED.items():
        p, gap = joint(settings, letter)
        edges = np.linspace(p.min(), p.max(), BINS + 1)
        place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, BINS - 1)
        for b in range(BINS):
            inside = gap[place == b]
            rows.append(
                {
                    **_about(settings, f"figure10{letter}", of),
                    "p": (edges[b] + edges[b + 1]) / 2.0,
                    "count": len(inside),
                    "value": inside.mean() if len(inside) else np.nan,
                    "variance": inside.var() if len(inside) else np.nan,
                }
            )
    return pd.DataFrame(rows)


def _about(settings: Settings, panel: str, of: Panel) -> dict[str, object]:
    system, dataset, attribute = of
    return {
        "panel": panel,
        "system": system,
        "dataset": dataset,
        "attribute": attribute,
        "kind": settings.kind(settings.judge(dataset, system, attribute)),
        "labels": labels(dataset, settings.source).source,
        "draws": 1,
        "seed": settings.seed,
    }

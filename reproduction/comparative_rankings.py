"""comparative_assessment: rankings from all of a judge's decisions, its Tables 8 and 11."""

from __future__ import annotations

import numpy as np
import pandas as pd

from poe.baselines import likelihood_ranking
from poe.comparisons import Comparisons, Floats
from reproduction import sweep
from reproduction.comparative import decided, judge_of, matrices
from reproduction.contexts import attributes
from reproduction.published import load
from reproduction.settings import Settings, identity, spread
from reproduction.sweep import labels, per_context
from reproduction.twins import Twin

LIKELIHOOD_DRAWS = 10  # of Table 11: a search in every context


def table8(settings: Settings) -> pd.DataFrame:
    """Pairs ordered from all calls among n summaries, against all sixteen and the human scores.

    FlanT5-3B, coherence; n of the sixteen drawn at random in each context and draw.
    """
    judge = judge_of(settings, "summeval", "FlanT5-3B", "coherence")
    gold = labels("summeval", settings.source).scores["coherence"]
    printed = load("table8", paper="comparative_assessment")
    values: dict[str, list[float]] = {id_: [] for id_ in printed["id"]}
    rng = np.random.default_rng([settings.seed, 8])
    draws = min(settings.draws, 25)
    for p in matrices(judge, gold, settings.seed, draws):
        won = np.nan_to_num(np.sign(p - 0.5))
        final = won.sum(axis=-1) - won.sum(axis=-2)
        for _, row in printed.iterrows():
            n = int(row["note"].split(" = ")[1].split()[0]) if "n = " in row["note"] else 16
            chosen = np.sort(rng.permuted(np.tile(np.arange(16), (len(gold), 1)), axis=1)[:, :n])
            values[row["id"]].append(_consistent(won, final, gold, chosen, row["method"]))
    rows = []
    for _, row in printed.iterrows():
        value, se = spread(100.0 * np.array(values[row["id"]]))
        rows.append(
            {
                **identity(row),
                "value": value,
                "se": se,
                "boot_se": np.nan,
                "run_sd": 100.0 * float(np.std(values[row["id"]], ddof=1)),
                "role": "predicted",
                "kind": settings.kind(judge),
                "labels": labels("summeval", settings.source).source,
            }
        )
    return pd.DataFrame(rows).assign(draws=draws, seed=settings.seed)


def _consistent(won: Floats, final: Floats, gold: Floats, chosen: Floats, method: str) -> float:
    """Share of the pairs among the chosen that have the same order, ties in ours half."""
    rows = np.arange(len(gold))[:, None]
    part = won[rows[..., None], chosen[:, :, None], chosen[:, None, :]]
    ours = part.sum(axis=-1) - part.sum(axis=-2)
    theirs = (final if method == "final" else gold)[rows, chosen]
    a = np.sign(ours[:, :, None] - ours[:, None, :])
    b = np.sign(theirs[:, :, None] - theirs[:, None, :])
    decided = b != 0
    return float(((a * b)[decided].mean() + 1.0) / 2.0)


def table11(settings: Settings) -> pd.DataFrame:
    """The likeliest ranking against the win-ratio, FlanT5-3B on SummEval."""
    printed = load("table11", paper="comparative_assessment")
    rows = []
    for _, row in printed.iterrows():
        name = attributes("SummEval", row["attribute"])[0]
        judge = judge_of(settings, "summeval", row["system"], name)
        found = decided(judge, settings.source, settings.seed, settings.draws)
        each = found.correlation["standard"]
        # How one judge scatters is the same for both rankings, and a few draws cannot tell.
        scatter = np.sqrt(len(each)) * spread(100.0 * np.nanmean(each, axis=-1))[1]
        if row["method"] == "likelihood":
            each = _likeliest(judge, settings, name)
        values = 100.0 * np.nanmean(each, axis=-1)
        rows.append(
            {
                **identity(row),
                "value": float(values.mean()),
                "se": scatter / np.sqrt(len(values)),
                "boot_se": 100.0 * sweep.bootstrap_se(each),
                "run_sd": scatter,
                "role": "predicted",
                "kind": settings.kind(judge),
                "draws": len(values),
                "labels": labels("summeval", settings.source).source,
            }
        )
    return pd.DataFrame(rows).assign(seed=settings.seed)


def _likeliest(judge: Twin, settings: Settings, name: str) -> Floats:
    gold = labels("summeval", settings.source).scores[name]
    n = gold.shape[1]
    pairs = np.array([(i, j) for i in range(n) for j in range(n) if i != j])
    found = []
    draws = min(settings.draws, LIKELIHOOD_DRAWS)
    for p in matrices(judge, gold, settings.seed, draws):
        ranks = []
        for context in p:
            c = Comparisons.from_pairs(pairs, context[pairs[:, 0], pairs[:, 1]], items=n)
            best = likelihood_ranking(c, floor=1e-9, restarts=1)
            ranks.append(best.scores)
        found.append(per_context(np.stack(ranks), gold, "spearman"))
    return np.stack(found)

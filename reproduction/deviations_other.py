"""Why cells of comparative_assessment and of poe_v2's Table 9 deviate: two more suspicions.

As in `deviations`, `change` is what a variant does to a cell on the same draws.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from poe.baselines import pairs_ranking
from poe.comparisons import Floats
from poe.metrics import spearman
from reproduction import comparative, facts, large
from reproduction.contexts import attributes, facts_key
from reproduction.decisions import bias_for, pair_gaps
from reproduction.published import load
from reproduction.settings import Settings, identity
from reproduction.sweep import labels, per_context
from reproduction.twins import Twin, stream, twins

PROMPT_TABLES = ("table1", "table3", "table5", "table6", "table9", "table10")
PROMPT_DRAWS = 10
SORTS = {  # PairS: both orders of a call, beam in contexts of sixteen
    "both orders, beam 1": (True, 1),
    "one order, beam 10": (False, 10),
    "one order, beam 1": (False, 1),
}


def prompts(settings: Settings) -> pd.DataFrame:
    """The biases of the two prompts apart, each from its own first-position rate.

    One row a cell of Tables 1, 3, 5, 6, 9 and 10: of the prompt it is about, or the mean over both.
    The rates are "calibrated".
    """
    rows = []
    draws = min(settings.draws, PROMPT_DRAWS)
    printed = pd.concat([comparative.cells(name) for name in PROMPT_TABLES])
    for done, (_, row) in enumerate(printed.iterrows()):
        dataset = facts_key(row["dataset"])
        name = attributes(row["dataset"], row["attribute"])[0]
        plain = twins(dataset)[row["system"], name].of_earlier_paper()
        wanted = (row["prompt"],) if row["prompt"] in ("1", "2") else ("1", "2")
        apart = [_with_prompt(plain, row, prompt, settings) for prompt in wanted]
        found = [_decided(judge, row, settings, draws) for judge in (plain, *apart)]
        after = np.mean(found[1:], axis=0)
        rate = row["metric"] == "first-position rate"
        rows.append(
            {
                **identity(row),
                "variant": "prompts apart",
                "value": float(after.mean()),
                "change": float((after - found[0]).mean()),
                "role": "calibrated" if rate else "predicted",
                "labels": labels(dataset, settings.source).source,
            }
        )
        if settings.progress:
            settings.progress(done + 1, len(printed))
    return pd.DataFrame(rows).assign(kind="simulated", draws=draws, seed=settings.seed)


def _decided(judge: Twin, row: pd.Series, settings: Settings, draws: int) -> Floats:
    found = comparative.decided(judge, settings.source, settings.seed, draws)
    return comparative.values_of(found, row)[0]


def _with_prompt(judge: Twin, row: pd.Series, prompt: str, settings: Settings) -> Twin:
    """The judge with the bias that gives that prompt's first-position rate."""
    table = "table5" if judge.dataset == "summeval" else "table9"
    place = f"{row['system']}/{row['dataset']}-{row['attribute']}"
    rate = facts.number(f"comparative_assessment/{table}/{place}/prompt{prompt}")
    gaps = pair_gaps(labels(judge.dataset, settings.source).scores[judge.attribute])
    scale = judge.sharpness
    return replace(judge, bias=scale * bias_for(gaps, judge.rho, judge.noise / scale, rate))


def sorting(settings: Settings) -> pd.DataFrame:
    """PairS of Table 9 with calls in one order, and with other beams.

    On HANNA's stories the sort is greedy in any case, so there only the orders change.
    """
    rows = []
    printed = load("table9")
    printed = printed[printed["method"] == "PAIRS-beam"]
    for done, (_, row) in enumerate(printed.iterrows()):
        key = facts_key(row["dataset"])
        judge = twins(key)[row["system"], attributes(row["dataset"], row["attribute"])[0]]
        gold = labels(key, settings.source).scores[judge.attribute]
        rng = [settings.seed, stream(judge), 8]
        before = _sorted(judge, gold, rng, both=True, beam=1 if key == "hanna" else 10)
        for name, (both, beam) in SORTS.items():
            after = _sorted(judge, gold, rng, both=both, beam=1 if key == "hanna" else beam)
            rows.append(
                {
                    **identity(row, "dataset", "attribute"),
                    "variant": name,
                    "value": after,
                    "change": after - before,
                    "role": "predicted",
                    "labels": labels(key, settings.source).source,
                }
            )
        if settings.progress:
            settings.progress(done + 1, len(printed))
    return pd.DataFrame(rows).assign(kind="simulated", draws=1, seed=settings.seed)


def _sorted(judge: Twin, gold: Floats, seed: list[int], *, both: bool, beam: int) -> float:
    """Spearman times 100 of PairS; the same taste and errors for the same seed."""
    rng = np.random.default_rng(seed)
    if len(gold) == 1:
        ask = large.twin_answers(judge, gold[0], rng)
        ranked = pairs_ranking(
            lambda a, b: float(ask(np.array([[a, b]]))[0]),
            range(gold.shape[1]),
            beam=beam,
            both_orders=both,
            seed=0,
        )
        return 100.0 * float(spearman(ranked.scores, gold[0]))
    p = judge.answer(gold, rng, draws=1).matrix()[0]
    if both:
        p = (p + 1.0 - np.swapaxes(p, -1, -2)) / 2.0
    scores = [_order(one, beam) for one in p]
    return 100.0 * float(np.nanmean(per_context(np.stack(scores), gold, "spearman")))


def _order(p: Floats, beam: int) -> Floats:
    return pairs_ranking(lambda a, b: float(p[a, b]), range(len(p)), beam=beam).scores

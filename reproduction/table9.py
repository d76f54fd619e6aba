"""Table 9 of poe_v2: PoE-BT against two other ways of using a judge, G-Eval and PairS.

PoE-BT is that of Tables 1 and 3 (K = 3N calls and 5N symmetric comparisons). PairS sorts, so it
runs on the twins as they are, both orders averaged as its authors do: a beam of 10 in contexts of
sixteen, and the greedy variant on HANNA's 1056 stories. The paper states neither.

G-Eval scores a text alone. A twin of an absolute scorer is the human quality mixed with its own
taste, rho_a z + sqrt(1 - rho_a^2) e: it never sees a pair, and one number, its correlation with
people, is all there is to calibrate. That number is printed for Llama2-7B on SummEval in the
other paper (comparative_assessment Table 1). For Mistral-7B and for HANNA nothing is printed
but the cell itself, which would predict nothing: these are not attempted.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from poe.baselines import pairs_ranking
from poe.comparisons import Floats
from poe.metrics import spearman
from reproduction import facts, large, sweep, table3
from reproduction.contexts import attributes, facts_key
from reproduction.large import Large
from reproduction.published import load
from reproduction.settings import Settings, identity, spread
from reproduction.sweep import Setting, labels, per_context
from reproduction.twins import Twin, calibration_cells, perceived, stream

BEAM = 10
PAIRS_DRAWS = 4  # PairS asks one call after the other, so it cannot be stacked
UNKNOWN = ("Mistral-7B", "HANNA")


def run(settings: Settings) -> pd.DataFrame:
    """One row a cell that can be attempted."""
    printed = load("table9")
    rows = []
    for done, (_, row) in enumerate(printed.iterrows()):
        if row["method"] == "G-Eval" and (row["system"] in UNKNOWN or row["dataset"] in UNKNOWN):
            continue
        key, name = facts_key(row["dataset"]), attributes(row["dataset"], row["attribute"])[0]
        # PairS sorts, so it may ask about any pair.
        sorts = row["method"] == "PAIRS-beam"
        judge = settings.judge(key, row["system"], name, every=sorts)
        values, boot, role, kind = _values(settings, judge, row)
        value, se = spread(100.0 * values)
        rows.append(
            {
                **identity(row, "dataset", "attribute"),
                "value": value,
                "se": se,
                "boot_se": boot,
                "run_sd": 100.0 * float(values.std(ddof=1)),
                "role": role,
                "kind": kind,
                "labels": labels(key, settings.source).source,
                "draws": len(values),
            }
        )
        if settings.progress:
            settings.progress(done + 1, len(printed))
    return pd.DataFrame(rows).assign(seed=settings.seed)


def _values(settings: Settings, judge: Twin, row: pd.Series) -> tuple[Floats, float, str, str]:
    kind, hanna = settings.kind(judge), row["dataset"] == "HANNA"
    gold = labels(judge.dataset, settings.source).scores[judge.attribute]
    if row["method"] == "G-Eval":
        each = _absolute(gold, facts.number(_scored(row)) / 100.0, settings)
        return np.nanmean(each, axis=-1), 100.0 * sweep.bootstrap_se(each), "predicted", "simulated"
    if row["method"] == "PAIRS-beam":
        values, boot = _sorted(judge, gold, settings, beam=1 if hanna else BEAM)
        return values, boot, "predicted", kind
    if hanna:
        n = gold.shape[1]
        what = Large("hanna", settings.source, 2 * 5 * n, seed=settings.seed)
        draws = table3.large_draws(settings)
        found = large.run([(judge, what)], draws=draws, workers=settings.workers)
        cell = f"poe_v2/table3/{row['system']}/K5N/HANNA-{row['attribute']}/PoE-BT"
        role = "calibrated" if cell in calibration_cells("hanna") else "predicted"
        return found[judge, what]["PoE-BT"], np.nan, role, kind
    setting = Setting("summeval", settings.source, 48, seed=settings.seed)
    blocks = sweep.run_blocks([(judge, setting)], draws=settings.draws, workers=settings.workers)
    each = blocks[judge, setting]["PoE-BT", "spearman"]
    return np.nanmean(each, axis=-1), 100.0 * sweep.bootstrap_se(each), "predicted", kind


def _scored(row: pd.Series) -> str:
    return f"comparative_assessment/table1/{row['system']}/SummEval-{row['attribute']}/G-Eval"


def _absolute(gold: Floats, wanted: float, settings: Settings) -> Floats:
    """Correlations (draws, C) of twins of an absolute scorer with that mean correlation."""
    rng = np.random.default_rng([settings.seed, 9])
    taste = rng.standard_normal((settings.draws, *gold.shape))

    def each(rho: float) -> Floats:
        return per_context(perceived(gold, rho, taste), gold, "spearman")

    rho = brentq(lambda r: float(np.nanmean(each(r))) - wanted, 0.0, 0.999, xtol=1e-4)
    return each(float(rho))


def _sorted(judge: Twin, gold: Floats, settings: Settings, *, beam: int) -> tuple[Floats, float]:
    """Correlations of PairS, (draws,), and their bootstrap error over contexts times 100."""
    name = stream(judge)
    found = []
    for number in range(min(settings.draws, PAIRS_DRAWS)):
        rng = np.random.default_rng([settings.seed, number, name, 7])
        scores = np.empty(gold.shape)
        for context in range(len(gold)) if len(gold) > 1 else ():
            if context == 0:
                p = judge.answer(gold, rng, draws=1).matrix()[0]
            scores[context] = _order(p[context], beam, number)
        if len(gold) == 1:
            ask = getattr(judge, "ask", None) or large.twin_answers(judge, gold[0], rng)
            ranked = pairs_ranking(
                lambda a, b: float(ask(np.array([[a, b]]))[0]),  # noqa: B023
                range(gold.shape[1]),
                beam=beam,
                both_orders=True,
                seed=number,
            )
            scores[0] = ranked.scores
        found.append(scores)
    stack = np.stack(found)
    if len(gold) == 1:
        return np.asarray(
            spearman(stack[:, 0], np.broadcast_to(gold[0], stack[:, 0].shape))
        ), np.nan
    each = per_context(stack, gold, "spearman")
    return np.nanmean(each, axis=-1), 100.0 * sweep.bootstrap_se(each)


def _order(p: Floats, beam: int, seed: int) -> Floats:
    symmetric = (p + 1.0 - p.T) / 2.0
    ranked = pairs_ranking(lambda a, b: float(symmetric[a, b]), range(len(p)), beam=beam, seed=seed)
    return ranked.scores
